"""Waiting for requests that a client sends in its own time."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
import trio

from petstore_mock import PetStoreMockError, VerificationError
from petstore_mock.journal.waiting import wait_async, wait_blocking
from tests.inside.core import Core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.journal.entry import Entry

PATIENCE = 30  # seconds; only a wait that is never woken takes so long


@pytest.fixture
def core() -> Core:
    return Core()


@pytest.fixture
def send_later(core: Core) -> Iterator[Callable[[int], None]]:
    """Sends so many lists from another thread, once somebody waits for them."""
    threads = []

    def send(count: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while not core.journal.listeners and time.monotonic() < deadline:
            time.sleep(0.001)
        for _ in range(count):
            core.list()

    def start(count: int) -> None:
        thread = threading.Thread(target=send, args=(count,))
        threads.append(thread)
        thread.start()

    yield start
    for thread in threads:
        thread.join(PATIENCE)


def test_wait_for_is_woken_by_the_request(core: Core, send_later: Callable[[int], None]) -> None:
    send_later(3)
    found = core.journal.wait_for("listPets", times=3, timeout=PATIENCE)
    assert [entry.number for entry in found] == [1, 2, 3]
    assert core.journal.listeners == ()


def test_wait_for_counts_what_came_before(core: Core) -> None:
    core.list()
    assert [entry.number for entry in core.journal.wait_for(timeout=0)] == [1]


def test_wait_for_raises_when_too_few_came(core: Core) -> None:
    core.list()
    core.create()
    with pytest.raises(VerificationError) as failure:
        core.journal.wait_for("createPet", times=2, timeout=0.01)
    lines = str(failure.value).splitlines()
    assert lines[0] == "expected createPet 2 times within 0.01 s; it came once, among 2 requests"
    assert lines[2].startswith("    2 POST /v1/pets 201 ")
    assert core.journal.listeners == ()


@pytest.mark.parametrize(
    ("times", "timeout", "words"),
    [
        (0, 1, "times as a whole number of at least 1; got times=0"),
        (1, -1, "timeout in seconds, 0 to 86400; got timeout=-1"),
        (1, float("inf"), "got timeout=inf"),
        (1, 10**400, "got timeout=1000"),
        (1, float("nan"), "got timeout=nan"),
        (1, "1", r"got timeout='1' \(str\)"),
    ],
)
def test_impossible_wait_raises(core: Core, times: int, timeout: float, words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        core.journal.wait_for("listPets", times, timeout)


def test_wait_for_unknown_operation_raises_at_once(core: Core) -> None:
    with pytest.raises(PetStoreMockError, match="Did you mean 'listPets'"):
        core.journal.wait_for("listPet", timeout=PATIENCE)  # type: ignore[arg-type]  # the mistake that is meant


def test_wait_for_is_found_though_older_entries_are_gone() -> None:
    core = Core(journal_limit=2)
    for _ in range(3):
        core.list()
    assert len(core.journal.wait_for("listPets", times=2, timeout=0)) == 2
    with pytest.raises(PetStoreMockError, match="are gone"):
        core.journal.wait_for("listPets", times=3, timeout=0)


# Event loops


def test_wait_for_async_is_woken_under_asyncio(core: Core, send_later: Callable[[int], None]) -> None:
    send_later(2)
    found = asyncio.run(core.journal.wait_for_async("listPets", times=2, timeout=PATIENCE))
    assert len(found) == 2
    assert core.journal.listeners == ()


def test_wait_for_async_is_woken_under_trio(core: Core, send_later: Callable[[int], None]) -> None:
    send_later(2)
    found = trio.run(lambda: core.journal.wait_for_async("listPets", times=2, timeout=PATIENCE))
    assert len(found) == 2


def test_a_loop_of_what_only_looks_like_another_thread_is_none_of_ours(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under gevent, to asyncio every thread is the one in which the listener's loop runs."""
    core.list()

    async def wait() -> None:
        with pytest.raises(PetStoreMockError, match="asyncio runs in this thread"):
            core.journal.wait_for("listPets")
        other = threading.get_ident() + 1
        monkeypatch.setattr(threading, "get_ident", lambda: other)
        try:
            assert len(core.journal.wait_for("listPets", timeout=0)) == 1
        finally:
            monkeypatch.undo()

    asyncio.run(wait())


def test_wait_for_async_leaves_the_loop_running(core: Core, send_later: Callable[[int], None]) -> None:
    """Another task gets its turns while one waits."""
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def main() -> None:
        other = asyncio.create_task(take_turns())
        send_later(1)
        await core.journal.wait_for_async("listPets", timeout=PATIENCE)
        other.cancel()

    asyncio.run(main())
    assert turns > 0


@pytest.mark.parametrize("run", [asyncio.run, lambda coroutine: trio.run(lambda: coroutine)], ids=["asyncio", "trio"])
def test_wait_for_async_raises_when_too_few_came(core: Core, run: Callable[[object], object]) -> None:
    with pytest.raises(VerificationError, match=r"expected getPet once within 0\.01 s; no request came"):
        run(core.journal.wait_for_async("getPet", timeout=0.01))
    assert core.journal.listeners == ()


def test_wait_for_async_ends_while_a_test_has_frozen_the_time(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    """freezegun replaces the monotonic clock as well, by which asyncio's timers go."""
    monkeypatch.setattr(time, "monotonic", lambda: 1.0)
    with pytest.raises(VerificationError, match="no request came"):
        asyncio.run(core.journal.wait_for_async("getPet", timeout=0.01))


@pytest.mark.parametrize(
    "wait", [wait_blocking, lambda *given: asyncio.run(wait_async(*given))], ids=["plain", "asyncio"]
)
def test_a_wait_that_is_woken_again_and_again_ends_all_the_same(
    core: Core, wait: Callable[[object, Callable[[], bool], float], bool]
) -> None:
    looks = 0

    def done() -> bool:
        nonlocal looks
        looks += 1
        core.list()  # a busy client that asks for something else meanwhile
        return looks > 100_000

    assert not wait(core.journal, done, 0.01)


@pytest.mark.parametrize("run", [asyncio.run, trio.run], ids=["asyncio", "trio"])
def test_wait_for_inside_an_event_loop_names_its_twin(core: Core, run: Callable[[object], object]) -> None:
    async def main() -> None:
        core.journal.wait_for("listPets", timeout=0)

    argument = main() if run is asyncio.run else main
    with pytest.raises(
        PetStoreMockError, match=r"runs in this thread: await journal\.wait_for_async\(\.\.\.\) instead"
    ):
        run(argument)


def test_imported_trio_that_does_not_run_is_no_event_loop(core: Core) -> None:
    assert "trio" in sys.modules
    core.list()
    assert len(core.journal.wait_for("listPets", timeout=0)) == 1


def test_wait_without_any_event_loop_library_blocks_plainly(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("asyncio", "trio"):
        monkeypatch.delitem(sys.modules, name)
    core.list()
    assert len(core.journal.wait_for("listPets", timeout=0)) == 1


def test_wait_whose_loop_is_closed_harms_nobody(core: Core) -> None:
    """The fake announces a request from its own thread, and must not fail for a waiter who has gone."""

    async def main() -> None:
        waiting = asyncio.create_task(core.journal.wait_for_async("getPet", timeout=PATIENCE))
        await asyncio.sleep(0)  # its first turn, in which it begins to listen
        left.extend(core.journal.listeners)
        waiting.cancel()

    left: list[Callable[[Entry], object]] = []
    asyncio.run(main())
    assert core.journal.listeners == ()
    core.journal.listen(left[0])
    assert core.list().status == 200
    assert core.world.errors == []
