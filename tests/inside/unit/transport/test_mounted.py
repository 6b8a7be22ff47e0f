"""The threads of a mounted application: so many, and no more."""

from __future__ import annotations

import threading

import pytest

from petstore_mock.transport.mounted import CallThreads

PATIENCE = 30  # seconds


def test_later_calls_wait_for_a_thread_that_becomes_free() -> None:
    threads = CallThreads(most=2)
    started, free, done = threading.Semaphore(0), threading.Event(), threading.Semaphore(0)
    before = threading.active_count()

    def call() -> None:
        started.release()
        free.wait(PATIENCE)
        done.release()

    for _ in range(5):
        threads.run(call)
    assert all(started.acquire(timeout=PATIENCE) for _ in range(2))
    assert threading.active_count() == before + 2
    assert not started.acquire(blocking=False)
    free.set()
    assert all(done.acquire(timeout=PATIENCE) for _ in range(5))


def test_calls_wait_when_the_system_gives_no_further_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = CallThreads()
    started, free, done = threading.Event(), threading.Event(), threading.Semaphore(0)
    working: list[threading.Thread] = []

    def first() -> None:
        working.append(threading.current_thread())
        started.set()
        free.wait(PATIENCE)

    threads.run(first)
    assert started.wait(PATIENCE)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    threads.run(done.release)
    free.set()
    assert done.acquire(timeout=PATIENCE)
    working[0].join(PATIENCE)
    with pytest.raises(RuntimeError, match="new thread"):
        threads.run(done.release)
