"""Clients whose calls never come to an end, without a request: the machine ends them and says so."""

from __future__ import annotations

import http.client
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from petstore_mock import Behaviour, PetStoreMock, faults
from petstore_mock.stateful import ClientBugError, check_client, client_machine
from petstore_mock.stateful import watchdog as watchdog_module
from petstore_mock.stateful.scenario import Scenario
from petstore_mock.stateful.search import shrink
from petstore_mock.stateful.steps import CloseConnections, GetUnknown, Inject, ListPets, RevokeKey
from tests.clients.buggy_living import LockNotReleased
from tests.clients.correct import HttpClientPets, Json
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by
from tests.platforms import POSIX_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = leavings.EXPECTED

LISTS_AFTER_A_FAILURE = Scenario(Behaviour(), (GetUnknown(404), ListPets()))


def replay(client: type[HttpClientPets], course: Scenario = LISTS_AFTER_A_FAILURE) -> ClientBugError | None:
    machine = client_machine(lambda petstore: client(petstore.url, petstore.api_key), patience=0.5)
    with machine.run, machine.run.waiting.unlimited():
        return machine.replay(course)


class PollsALock(LockNotReleased):
    """Comes back to Python now and then while it waits."""

    def take(self) -> None:
        while not self.lock.acquire(timeout=0.02):
            pass


class FailsWithTheLock(LockNotReleased):
    """Keeps the lock after every answer that is no success."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Json:
        self.take()
        answer = self.checked(super(LockNotReleased, self).ask(method, path, body), 200)
        self.lock.release()
        return answer


class PollsWithTheLock(PollsALock, FailsWithTheLock):
    """Both."""


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog_module, "STANDSTILL", 1.0)


@POSIX_SIGNALS
@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("client", [FailsWithTheLock, PollsWithTheLock])
def test_a_call_that_waits_for_a_lock_for_ever_is_ended(client: type[HttpClientPets]) -> None:
    error = replay(client)
    assert error is not None
    assert "list_pets() neither returned nor sent a request for 1 s (§1: " in error.sentence
    assert "RunawayError" not in str(error)


@POSIX_SIGNALS
@pytest.mark.usefixtures("_short")
def test_a_lock_is_given_up_where_nobody_heeds_the_keyboard() -> None:
    """A shell starts what runs in the background with SIGINT ignored."""
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        error = replay(FailsWithTheLock)
    finally:
        signal.signal(signal.SIGINT, former)
    assert error is not None
    assert "neither returned nor sent a request" in error.sentence
    assert signal.getsignal(signal.SIGURG) is signal.SIG_DFL


@POSIX_SIGNALS
@pytest.mark.usefixtures("_short")
def test_the_signal_means_nothing_between_calls() -> None:
    machine = client_machine(lambda petstore: FailsWithTheLock(petstore.url, petstore.api_key), patience=0.5)
    with machine.run, machine.run.waiting.unlimited():
        assert machine.replay(LISTS_AFTER_A_FAILURE) is not None
        signal.raise_signal(signal.SIGURG)
    assert signal.getsignal(signal.SIGURG) is signal.SIG_DFL


@POSIX_SIGNALS
def test_a_run_without_a_thread_to_be_had_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    watchdog = watchdog_module.Watchdog(1.0)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        watchdog.start()
    watchdog.stop()
    assert signal.getsignal(signal.SIGURG) is signal.SIG_DFL


@pytest.mark.usefixtures("_short")
def test_a_call_that_waits_in_another_thread_is_ended_where_python_can() -> None:
    found: list[ClientBugError | None] = []
    thread = threading.Thread(target=lambda: found.append(replay(PollsWithTheLock)), daemon=True)
    thread.start()
    thread.join(20)
    assert found
    assert found[0] is not None
    assert "neither returned nor sent a request" in found[0].sentence


class AsksElsewhere(HttpClientPets):
    """Takes every 401 for a key that has just been rotated, and asks again in a thread of its own."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.pool = ThreadPoolExecutor(1)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Json:
        return self.pool.submit(self.ask_again, method, path, body).result()

    def ask_again(self, method: str, path: str, body: bytes | None) -> Json:
        while True:
            answer = self.send(method, path, body)
            if answer.status != 401:
                return answer


def test_a_client_that_asks_without_end_in_a_thread_of_its_own_is_stopped() -> None:
    """The call waits for that thread, and not for anything that Python could end."""
    error = replay(AsksElsewhere, Scenario(Behaviour(), (RevokeKey(),)))
    assert error is not None
    assert "asked again without an end while it was answered 401" in error.sentence


@pytest.mark.usefixtures("_short")
def test_a_call_that_waits_after_its_answer_is_told_of_with_the_answer() -> None:
    class WaitsForMore(HttpClientPets):
        def list_pets(self, **given: Json) -> Json:
            super().list_pets(**given)
            threading.Event().wait()

    error = replay(WaitsForMore)
    assert error is not None
    assert "list_pets() neither returned nor went on for 1 s after it was answered 200" in error.sentence
    assert "and a pause before it asks again is one of seconds" in error.sentence
    assert "threading.Event().wait()" in error.raised
    assert f"Waited in the client:\n\n{error.raised}" in str(error)


def test_a_client_that_waits_less_than_a_standstill_is_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even when the machine has become impatient."""
    monkeypatch.setattr(watchdog_module, "STANDSTILL", 2.0)

    class BacksOff(HttpClientPets):
        def list_pets(self, **given: Json) -> Json:
            time.sleep(1)
            return super().list_pets(**given)

    assert replay(BacksOff) is None


class TimeoutAfterReconnect(HttpClientPets):
    """Sets its timeout on the first connection, and not on one that replaces it."""

    timeout = 0.3

    def connect(self) -> http.client.HTTPConnection:
        if self.connection is not None and self.is_stale(self.connection):
            self.close()
            self.connection = http.client.HTTPConnection(self.host, self.port or 80)
        return super().connect()


def make_reconnecting(petstore: Json) -> Json:
    return TimeoutAfterReconnect(petstore.url, petstore.api_key)


def test_what_a_hang_needs_is_not_shrunk_away() -> None:
    """The machine ends a hang sooner once it is known, and sooner than the client's own timeout."""
    lists = ListPets()
    hang = Inject(faults.hang())
    course = Scenario(Behaviour(), (lists, CloseConnections(), lists, hang))
    machine = client_machine(make_reconnecting, patience=0.6)
    with machine.run, machine.run.waiting.unlimited():
        found = machine.replay(course)
        assert found is not None
        shrunk = shrink(machine, course, found)
    assert "petstore.close_connections()" in shrunk.test
    assert raised_by(shrunk.test, make_reconnecting) is not None, shrunk.test


def test_a_pasted_hang_counts_from_before_its_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a thread that was started may run a while before the one that started it goes on."""

    class NoTimeout(HttpClientPets):
        timeout = None

    found = replay(NoTimeout, Scenario(Behaviour(), (Inject(faults.hang()),)))
    assert found is not None
    start = threading.Timer.start

    def start_and_sleep(timer: threading.Thread) -> None:
        start(timer)
        time.sleep(0.1)

    monkeypatch.setattr(threading.Timer, "start", start_and_sleep)
    assert raised_by(found.test, lambda petstore: NoTimeout(petstore.url, petstore.api_key)) is not None, found.test


def interrupted() -> None:
    raise KeyboardInterrupt


def test_who_interrupts_the_run_at_the_keyboard_ends_it() -> None:
    ask: Callable[[], None] = interrupted

    class Interrupted(HttpClientPets):
        def list_pets(self, **given: Json) -> Json:  # noqa: ARG002
            ask()

    with pytest.raises(KeyboardInterrupt):
        check_client(lambda petstore: Interrupted(petstore.url, petstore.api_key), settings=settings(database=None))


def test_an_interrupt_that_comes_again_at_the_end_of_a_call_ends_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the second is raised where the first is being dealt with."""
    interrupts = iter([True, True, True, False])

    def done(_: watchdog_module.Watchdog) -> str:
        if next(interrupts):
            raise watchdog_module.RunawayError
        return "ran away"

    monkeypatch.setattr(watchdog_module.Watchdog, "done", done)
    with PetStoreMock() as petstore:
        outcome = watchdog_module.attempt(watchdog_module.Watchdog(1.0), petstore, "listPets", dict)
    assert outcome.ended == "ran away"
