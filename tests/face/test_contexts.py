"""Blocks of ``fresh()`` in threads, in tasks, nested, and ended in any order."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from petstore_mock import PetStoreMock
from tests.client import Client


def send_without_a_key(petstore: PetStoreMock, over: str = "wsgi") -> None:
    """Send a request that names no world: only the context can say which world it belongs to."""
    with Client(petstore, over) as client:
        assert client.bare("GET", "/v1/pets").status == 401


def counts(*worlds: PetStoreMock) -> list[int]:
    return [len(world.journal) for world in worlds]


def in_threads(*functions: Callable[[], object]) -> None:
    """Run the functions at once, and raise the first error."""
    errors: list[BaseException] = []

    def run(function: Callable[[], object]) -> None:
        try:
            function()
        except BaseException as error:  # noqa: BLE001  # raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Let the interpreter switch between threads as often as it can."""
    former = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(former)


@pytest.mark.usefixtures("quick_switches")
def test_blocks_in_threads_lose_no_world() -> None:
    petstore = PetStoreMock()

    def work() -> None:
        for _ in range(60):
            with petstore.fresh() as outer:
                with petstore.fresh() as inner:
                    send_without_a_key(petstore)
                    assert counts(inner, outer) == [1, 0]
                send_without_a_key(petstore)
                assert counts(outer) == [1]

    in_threads(*[work] * 4)
    send_without_a_key(petstore)
    assert counts(petstore) == [1], "no ended world is still the current one"


def test_tasks_have_their_own_block() -> None:
    petstore = PetStoreMock()

    async def work(turns: int) -> None:
        with petstore.fresh() as world:
            for turn in range(turns):
                await asyncio.sleep(0)
                send_without_a_key(petstore)
                assert counts(world) == [turn + 1]

    async def main() -> None:
        await asyncio.gather(*(work(turns) for turns in (5, 1, 3)))

    asyncio.run(main())
    assert counts(petstore) == [0]


def test_blocks_may_end_in_any_order() -> None:
    petstore = PetStoreMock()
    first, second, third = petstore.fresh(), petstore.fresh(), petstore.fresh()
    for world in (first, second, third):
        world.__enter__()
    first.__exit__(None, None, None)
    send_without_a_key(petstore)
    third.__exit__(None, None, None)
    send_without_a_key(petstore)
    second.__exit__(None, None, None)
    send_without_a_key(petstore)
    assert counts(petstore, first, second, third) == [1, 0, 1, 1]


def test_a_block_may_end_in_another_thread() -> None:
    petstore = PetStoreMock()
    world = petstore.fresh()
    in_threads(world.__enter__)
    send_without_a_key(petstore)
    assert counts(petstore, world) == [0, 1], "a thread without a block sends to the newest world"
    world.__exit__(None, None, None)
    other = petstore.fresh()
    other.__enter__()
    in_threads(lambda: other.__exit__(None, None, None))
    send_without_a_key(petstore)
    assert counts(petstore, other) == [1, 0]


def test_requests_over_the_wire_belong_to_the_newest_world() -> None:
    with PetStoreMock() as petstore, petstore.fresh() as outer:
        opened, sent = threading.Event(), threading.Event()
        inner = petstore.fresh()

        def open_a_block() -> None:
            with inner:
                opened.set()
                assert sent.wait(30)

        def send() -> None:
            assert opened.wait(30)
            send_without_a_key(petstore, "socket")
            sent.set()

        in_threads(open_a_block, send)
        send_without_a_key(petstore, "socket")
        assert counts(petstore, outer, inner) == [0, 1, 1]


def test_a_key_identifies_its_world_in_every_context() -> None:
    petstore = PetStoreMock()
    with petstore.fresh() as world, Client(petstore, "wsgi") as client:
        assert client.list().status == 200
        assert counts(petstore, world) == [1, 0]


@pytest.mark.usefixtures("quick_switches")
def test_mocks_in_threads_are_independent() -> None:
    def work() -> None:
        for _ in range(8):
            with PetStoreMock(seed=1) as petstore, petstore.fresh(seed=2) as other:
                send_without_a_key(petstore, "socket")
                assert counts(petstore, other) == [0, 1]
                assert [len(petstore.pets), len(other.pets)] == [1, 2]

    in_threads(*[work] * 3)
