"""Clients that leave a part of a call to a thread: what it sends is of that call, and of none that comes later."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from typing import TYPE_CHECKING, ClassVar

import pytest

from petstore_mock.stateful.checks.lifecycle import MOST_THREADS, Threads
from petstore_mock.stateful.steps import CreatePet, GetKnown, GetUnknown, ListPets, Step, Switch
from tests.clients.correct import HttpClientPets, Json
from tests.clients.shapes import AsyncPets, by_key
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import play, raised_by, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock import PetStoreMock

pytestmark = leavings.EXPECTED

LIST: Step = ListPets()
CREATE: Step = CreatePet()


@contextlib.contextmanager
def begun(count: int) -> Iterator[tuple[Threads, threading.Event]]:
    """Begin threads in a call; they end with the event, or with the block."""
    threads, ended = Threads(), threading.Event()
    threads.before_call()
    started = [threading.Thread(target=ended.wait) for _ in range(count)]
    for thread in started:
        thread.start()
    assert threads.after_call() == {*started}
    yield threads, ended
    ended.set()
    for thread in started:
        thread.join()


def test_threads_that_end_soon_after_they_are_told_to_are_not_left() -> None:
    with begun(MOST_THREADS + 1) as (threads, ended):
        threading.Timer(0.02, ended.set).start()
        assert threads.left(brief=False) == 0


@pytest.mark.parametrize(("count", "left"), [(MOST_THREADS, 0), (MOST_THREADS + 1, MOST_THREADS + 1)])
def test_threads_that_do_not_end_are_left_if_they_are_more_than_a_pool_has(count: int, left: int) -> None:
    with begun(count) as (threads, _):
        assert threads.left(brief=True) == left


def test_an_errand_is_told_from_a_thread_that_lasts() -> None:
    with begun(1) as (threads, ended):
        (thread,) = threads.started
        assert not threads.end_soon([thread])
        ended.set()
        assert threads.end_soon([thread])


class Warms(HttpClientPets):
    """Asks for something more once it has answered, by a client of its own."""

    path = "/pets?limit=1"

    def warm(self) -> None:
        time.sleep(0.02)  # the next call would be over by then
        other = HttpClientPets(f"http://{self.host}:{self.port}{self.base}", self.key)
        with contextlib.closing(other):
            other.ask("GET", self.path)

    def list_pets(self, **given: Json) -> Json:
        pets = super().list_pets(**given)
        threading.Thread(target=self.warm, daemon=True).start()
        return pets


class WarmsThePet(Warms):
    path = "/pets/1"


def test_what_a_thread_of_a_call_sends_is_told_of_that_call() -> None:
    error = told(Warms, LIST, CreatePet(), GetKnown())
    assert error is not None
    assert error.sentence.startswith("list_pets() sent GET /v1/pets?limit=1, with limit=1, which was not given (§4.1")
    assert isinstance(raised_by(error.test, by_key(Warms)), AssertionError), error.test
    assert raised_by(error.test, by_key(HttpClientPets)) is None, error.test


def test_what_a_thread_of_a_call_may_ask_is_not_held_against_the_next_call() -> None:
    later: list[Step] = [GetUnknown(7)] * 40
    assert told(WarmsThePet, CreatePet(), LIST, *later) is None


class Refreshes(HttpClientPets):
    """Has a worker that asks again after each call."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.asked: queue.Queue[bool] = queue.Queue()
        self.worker: threading.Thread | None = None
        self.other = HttpClientPets(url, key)

    def work(self) -> None:
        while self.asked.get():
            with contextlib.suppress(OSError):
                self.other.ask("GET", "/pets?limit=3")

    def list_pets(self, **given: Json) -> Json:
        if self.worker is None:
            self.worker = threading.Thread(target=self.work, daemon=True)
            self.worker.start()
        pets = super().list_pets(**given)
        self.asked.put(item=True)
        return pets

    def close(self) -> None:
        super().close()
        if self.worker is not None:
            self.asked.put(item=False)
            self.worker.join()
        self.other.close()


def test_what_a_lasting_thread_sends_may_be_of_an_earlier_call() -> None:
    error = told(Refreshes, LIST)
    assert error is not None
    assert ", or a thread or a task did so that one of its calls has started" in error.sentence
    assert "time.sleep(0.1)" in error.test


class WarmsInATask(AsyncPets):
    """Asks for the list in a task after each create, which nobody waits for."""

    seconds: ClassVar = 0.0

    async def create_pet(self, **fields: Json) -> Json:
        pet = await super().create_pet(**fields)
        self.task = asyncio.create_task(self.warm())
        return pet

    async def warm(self) -> None:
        await asyncio.sleep(self.seconds)
        await super().list_pets()

    async def aclose(self) -> None:
        if hasattr(self, "task"):
            await self.task
        await super().aclose()


class WarmsLater(WarmsInATask):
    """Does so after a while, in which another client asks."""

    seconds: ClassVar = 0.15

    async def list_pets(self, **query: Json) -> Json:
        pets = await super().list_pets(**query)
        await asyncio.sleep(0.2)
        return pets


class KeyOfTheLatest(AsyncPets):
    """Sends the key of the client that was made last."""

    latest: ClassVar[Json] = {}

    def __init__(self, petstore: PetStoreMock) -> None:
        super().__init__(petstore)
        self.latest.update(petstore.headers)

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        return await super().ask(method, path, success, headers=self.latest, **given)


class ChecksByTheLatest(KeyOfTheLatest):
    """Asks as it should, and once more with the key of the client that was made last."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        answer = await AsyncPets.ask(self, method, path, success, **given)
        if method == "GET":
            await super().ask(method, path, success, **given)
        return answer


class WarmsAndLives(WarmsInATask):
    """Has a task that lives as long as it does, beside those that end soon."""

    async def create_pet(self, **fields: Json) -> Json:
        if not hasattr(self, "lasting"):
            self.lasting = asyncio.create_task(asyncio.sleep(3600))
        return await super().create_pet(**fields)

    async def aclose(self) -> None:
        if hasattr(self, "lasting"):
            self.lasting.cancel()
        await super().aclose()


@pytest.mark.parametrize("client", [WarmsInATask, WarmsAndLives])
def test_what_a_task_of_a_call_asks_is_not_held_against_the_next_call(client: type[AsyncPets]) -> None:
    assert play(client, *[CREATE, ListPets(limit=3)] * 5) is None


def test_what_a_task_of_another_client_sends_is_not_held_against_this_one() -> None:
    assert play(WarmsLater, CREATE, Switch()) is None


@pytest.mark.parametrize("client", [KeyOfTheLatest, ChecksByTheLatest])
def test_a_request_with_the_key_of_another_asynchronous_client_is_told(client: type[AsyncPets]) -> None:
    found = play(client, *[Switch(), ListPets()] * 3)
    assert found is not None
    assert "with the key of another client" in found.sentence


def test_a_thread_that_another_one_is_about_to_start_is_no_error() -> None:
    """``threading.enumerate()`` has it already, and ``join()`` raises."""
    assert Threads().end_soon([threading.Thread()])
