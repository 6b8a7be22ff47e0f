"""Clients that ask for more than their calls do: a ping before each, a thread that asks by itself, a frozen clock."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import ClassVar

import pytest
from hypothesis import settings

from petstore_mock import faults
from petstore_mock.stateful import ClientBugError, check_client
from petstore_mock.stateful.steps import CreatePet, GetKnown, GetUnknown, Inject, ListPets, Step
from tests.clients.correct import HttpClientPets, Json
from tests.clients.shapes import by_key
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import play, told

pytestmark = leavings.EXPECTED

QUICK = settings(database=None)
LIST: Step = ListPets()
CREATE: Step = CreatePet()
GET: Step = GetKnown()


class Pings(HttpClientPets):
    """Asks whether the service is there before each call."""

    ping: ClassVar[tuple[str, str]] = ("HEAD", "/pets")

    def ask(self, method: str, path: str, body: bytes | None = None) -> Json:
        other = HttpClientPets(f"http://{self.host}:{self.port}{self.base}", self.key)
        with contextlib.closing(other), contextlib.suppress(OSError):
            other.send(*self.ping, None)
        return super().ask(method, path, body)


class PingsAfterwards(Pings):
    def ask(self, method: str, path: str, body: bytes | None = None) -> Json:
        answer = HttpClientPets.ask(self, method, path, body)
        with contextlib.suppress(OSError):
            self.send(*self.ping, None)
        return answer


PINGS = [
    ("HEAD", "/pets"),
    ("OPTIONS", "/pets"),
    ("OPTIONS", "/pets/1"),
    ("HEAD", "/pets/1"),
    ("HEAD", "/pets?limit=3"),
]


@pytest.mark.parametrize("ping", PINGS)
@pytest.mark.parametrize("kind", [Pings, PingsAfterwards])
def test_a_ping_within_a_call_is_the_clients_own_affair(kind: type[Pings], ping: tuple[str, str]) -> None:
    client = type("Client", (kind,), {"ping": ping})
    assert told(client, LIST, CREATE, LIST, GET, GetUnknown(7)) is None


def test_a_client_that_pings_is_held_to_what_its_calls_ask() -> None:
    class Forgets(Pings):
        def list_pets(self, **given: Json) -> Json:
            super().list_pets(**given)
            return []

    error = told(Forgets, CREATE, LIST)
    assert error is not None
    assert error.sentence.startswith("list_pets() returned 0 animals"), error.sentence


def test_a_client_that_pings_instead_of_asking_is_told() -> None:
    class OnlyPings(HttpClientPets):
        def list_pets(self, **_: Json) -> Json:
            self.send("HEAD", "/pets", None)
            return []

    error = told(OnlyPings, LIST)
    assert error is not None
    assert "without sending GET /pets" in error.sentence


STRANGE = [
    ("HEAD", "/pets/1?x=1"),
    ("DELETE", "/pets"),
    ("TRACE", "/pets"),
    ("BREW", "/pets"),
    ("GET", "/pets/%31"),
    ("GET", "/pets/%zz"),
    ("GET", "/pets?%6cimit=%35"),
    ("GET", "/pets?limit=%GG"),
    ("GET", "/pets?limit=99999999999999999999"),
    ("GET", "/pets/٣"),
    ("OPTIONS", "*"),
    ("GET", "//pets"),
    ("POST", "/pets"),
]


@pytest.mark.parametrize("ping", STRANGE, ids=" ".join)
def test_whatever_a_client_sends_the_machine_tells_of_the_client(ping: tuple[str, str]) -> None:
    class Strange(Pings):
        def send(self, method: str, path: str, body: bytes | None) -> Json:
            return super().send(method, path.encode("utf-8").decode("latin-1"), body)

    Strange.ping = ping
    with contextlib.suppress(ClientBugError):
        check_client(by_key(Strange), max_examples=10, settings=QUICK)


class AsksByItself(HttpClientPets):
    """Has a thread from the start that looks every few milliseconds whether something is new."""

    path: ClassVar[str] = "/pets?limit=3"
    again: ClassVar[float] = 0.005

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.ended = threading.Event()
        self.other = HttpClientPets(url, key)
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self) -> None:
        while not self.ended.wait(self.again):
            with contextlib.suppress(Exception):
                self.other.ask("GET", self.path)

    def close(self) -> None:
        self.ended.set()
        self.thread.join()
        self.other.close()
        super().close()


@pytest.mark.untraced
@pytest.mark.parametrize("path", ["/pets?limit=3", "/pets", "/pets/1"])
def test_what_a_thread_from_the_start_sends_is_of_no_call(path: str) -> None:
    client = type("Client", (AsksByItself,), {"path": path})
    check_client(by_key(client), max_examples=25, settings=QUICK)


def test_a_client_with_a_thread_from_the_start_is_held_to_what_it_returns() -> None:
    class Forgets(AsksByItself):
        def create_pet(self, **given: Json) -> Json:
            return {**super().create_pet(**given), "name": "Tom"}

    error = told(Forgets, CREATE)
    assert error is not None
    assert "returned an animal whose name is 'Tom'" in error.sentence


def test_a_client_with_a_thread_from_the_start_is_held_to_what_it_sends() -> None:
    class Shortens(AsksByItself):
        def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
            return super().create_pet(name=name[:2], category_id=category_id, status=status)

    error = told(Shortens, CREATE)
    assert error is not None
    assert "create_pet(name='Rex', category_id=1) sent name='Re' instead of 'Rex'" in error.sentence


class RealTime:
    monotonic = staticmethod(time.monotonic)


def test_the_machine_ends_under_freezegun() -> None:
    freezegun = pytest.importorskip("freezegun")
    began = RealTime.monotonic()
    with freezegun.freeze_time("2026-01-02"):
        check_client(by_key(HttpClientPets), max_examples=10, settings=QUICK)
    assert RealTime.monotonic() - began < 60


def test_a_bug_is_told_under_freezegun_as_it_is_without() -> None:
    freezegun = pytest.importorskip("freezegun")

    class WaitsForEver(HttpClientPets):
        timeout = None

    def hangs() -> ClientBugError | None:
        return play(by_key(WaitsForEver), Inject(faults.hang()), LIST, patience=0.3)

    with freezegun.freeze_time("2026-01-02"):
        error = hangs()
    assert error is not None
    assert "waited for an answer that never came" in error.sentence
