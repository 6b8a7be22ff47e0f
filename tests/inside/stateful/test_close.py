"""How clients close is judged as their calls are."""

from __future__ import annotations

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice

import pytest
from hypothesis import settings

from petstore_mock.stateful import ClientBugError, check_client
from petstore_mock.stateful.steps import Switch
from tests.clients.correct import ApiError, HttpClientPets, Json, make_correct
from tests.inside.clients.corpus import find, make_buggy
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by, told
from tests.inside.stateful.test_machine import some_slow

pytestmark = leavings.EXPECTED


SAID = {
    "ThreadsLeft": "a thread went on after the client was closed, until it was forgotten (§1: ",
    "CloseFails": "close() raised RuntimeError (not connected) (§1: ",
    "ResentOnClose": "close() sent POST /v1/pets (§4.2: ",
    "LoggedOutOnClose": "close() sent DELETE /v1/session: The interface has no such path",
}


@pytest.mark.untraced
@pytest.mark.parametrize("name", some_slow(SAID))
def test_how_a_client_closes_is_judged(name: str) -> None:
    error = find(name).error
    assert error is not None
    assert SAID[name] in error.sentence
    assert raised_by(error.test, make_buggy(name)) is not None, error.test
    for correct in ("http.client", "urllib3"):
        assert raised_by(error.test, make_correct(correct)) is None, error.test


class CreatesAndFails(HttpClientPets):
    def close(self) -> None:
        with contextlib.suppress(ApiError):
            self.create_pet(name="Rex", category_id=1)
        super().close()
        raise RuntimeError("not closed")


def test_what_a_close_sends_is_told_before_what_it_raises() -> None:
    with pytest.raises(ClientBugError, match=r"close\(\) sent POST /v1/pets"):
        check_client(lambda petstore: CreatesAndFails(petstore.url, petstore.api_key), settings=settings(database=None))


class UnusedNotClosed(HttpClientPets):
    """Can be closed only once it has been used."""

    def close(self) -> None:
        self.connection.close()  # type: ignore[union-attr]  # the bug


def make_unused(petstore: Json) -> Json:
    return UnusedNotClosed(petstore.url, petstore.api_key)


def test_a_client_that_was_never_used_can_be_closed() -> None:
    with pytest.raises(ClientBugError, match=r"close\(\) raised AttributeError") as caught:
        check_client(make_unused, settings=settings(database=None))
    assert "self.connection.close()" in caught.value.raised
    assert isinstance(raised_by(caught.value.test, make_unused), AttributeError)


class AsksAtOnce(HttpClientPets):
    """Tries its key when it is made."""

    path = "/pets?limit=1"

    def __init__(self, petstore: Json) -> None:
        super().__init__(petstore.url, petstore.api_key)
        self.ask("GET", self.path)


class LogsIn(AsksAtOnce):
    path = "/session"


class CreatesAtOnce(AsksAtOnce):
    path = "/pets"

    def ask(self, method: str, path: str, body: bytes | None = None) -> Json:
        del method, body
        return self.send("POST", path, self.encode(self.body("Rex", 1, None)))


def test_a_client_may_ask_while_it_is_made() -> None:
    """What it asks is not taken for the requests of its first call."""
    check_client(AsksAtOnce, max_examples=10, settings=settings(database=None))


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (LogsIn, "make_client sent GET /v1/session: The interface has no such path"),
        (CreatesAtOnce, "make_client sent POST /v1/pets (§4.2: createPet adds an animal: no caller"),
    ],
)
def test_what_a_client_must_not_ask_while_it_is_made_is_told_of(client: Json, words: str) -> None:
    with pytest.raises(ClientBugError) as caught:
        check_client(partial(client), settings=settings(database=None))
    assert words in caught.value.sentence
    assert raised_by(caught.value.test, client) is not None, caught.value.test
    assert raised_by(caught.value.test, make_correct("http.client")) is None, caught.value.test


class Pooled(HttpClientPets):
    """Has a pool of some threads, and does not wait for their end."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.pool = ThreadPoolExecutor(4)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Json:
        for _ in range(4):
            self.pool.submit(time.sleep, 0.001)
        return self.pool.submit(self.send, method, path, body).result(5)

    def close(self) -> None:
        super().close()
        self.pool.shutdown(wait=False)
        self.pool = ThreadPoolExecutor(4)


def test_some_threads_and_those_of_others_are_not_blamed() -> None:
    ended = threading.Event()
    others = iter([threading.Thread(target=ended.wait, daemon=True) for _ in range(30)])

    def make_client(petstore: Json) -> Json:
        for thread in islice(others, 5):  # while examples go on, and between two calls
            thread.start()
        return Pooled(petstore.url, petstore.api_key)

    try:
        check_client(make_client, max_examples=10, settings=settings(database=None))
    finally:
        ended.set()


def test_a_request_without_a_key_is_told_of_wherever_it_arrives() -> None:
    """It belongs to the world that was opened last."""

    class SaysGoodbye(HttpClientPets):
        def close(self) -> None:
            if self.connection is not None:
                self.connection.request("GET", f"{self.base}/pets")
                self.connection.getresponse().read()
            super().close()

    error = told(SaysGoodbye, Switch(), Switch())
    assert error is not None
    assert "close() sent GET /v1/pets" in error.sentence
    assert "len(other.journal)" in error.test


def test_who_interrupts_a_call_at_the_keyboard_is_told_nothing_of_the_client() -> None:
    """Its request was not judged yet."""

    class Interrupted(HttpClientPets):
        def create_pet(self, **given: Json) -> Json:
            super().create_pet(**given)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_client(lambda petstore: Interrupted(petstore.url, petstore.api_key), settings=settings(database=None))


def test_a_pool_that_all_examples_share_is_no_leak() -> None:
    pool: list[ThreadPoolExecutor] = []

    class Pooled(HttpClientPets):
        def ask(self, method: str, path: str, body: bytes | None = None) -> Json:
            if not pool:
                pool.append(ThreadPoolExecutor(16))
                started = threading.Barrier(17)
                for _ in range(16):
                    pool[0].submit(started.wait)
                started.wait(10)
            return pool[0].submit(super().ask, method, path, body).result(10)

    once = settings(database=None)
    check_client(lambda petstore: Pooled(petstore.url, petstore.api_key), max_examples=3, settings=once)
    pool[0].shutdown()
