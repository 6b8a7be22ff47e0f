"""Waits in tasks: of asyncio, trio and anyio, cancelled, and hundreds at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import freezegun
import pytest
import trio

from petstore_mock import PetStoreMockError, VerificationError
from tests.client import Client

Face = Any  # PetStoreMock or RemotePetStore

BACKENDS = ("asyncio", "trio")


def send_soon(client: Client) -> threading.Thread:
    """Send a request in another thread."""
    thread = threading.Timer(0.05, client.list)
    thread.start()
    return thread


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_task_waits_under_any_library(petstore: Face, client: Client, backend: str) -> None:
    async def wait() -> tuple[int, list[str]]:
        beats: list[str] = []
        found: list[Any] = []

        async def wait_for_request() -> None:
            found.extend(await petstore.journal.wait_for_async("listPets", timeout=30))
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(wait_for_request)
            sender = send_soon(client)
            while True:
                beats.append("beat")
                await anyio.sleep(0.001)
        sender.join()
        with pytest.raises(VerificationError, match="getPet"):
            await petstore.journal.wait_for_async("getPet", timeout=0.02)
        return len(found), beats

    number, beats = anyio.run(wait, backend=backend)
    assert number == 1
    assert len(beats) > 2, "other tasks run during the wait"


@pytest.mark.parametrize("run", [lambda main: asyncio.run(main()), trio.run], ids=BACKENDS)
def test_wait_for_refuses_to_block_a_loop(petstore: Face, run: Callable[[Any], None]) -> None:
    async def main() -> None:
        with pytest.raises(PetStoreMockError, match=r"await journal\.wait_for_async"):
            petstore.journal.wait_for("listPets", timeout=0)

    run(main)
    with pytest.raises(VerificationError):
        petstore.journal.wait_for("listPets", timeout=0)


def threads_of_waits() -> int:
    return sum(thread.name == "petstore-mock-waits" for thread in threading.enumerate())


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cancelled_wait_holds_nothing(petstore: Face, backend: str) -> None:
    async def main() -> None:
        for _ in range(20):
            with anyio.move_on_after(0.001):
                await petstore.journal.wait_for_async("listPets", timeout=3600)

    waiting = threading.Thread(target=lambda: anyio.run(main, backend=backend), daemon=True)
    waiting.start()
    waiting.join(60)
    assert not waiting.is_alive(), "the end of the loop must not wait for the timeout"
    deadline = time.monotonic() + 60
    while threads_of_waits() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threads_of_waits() == 0


@pytest.mark.seconds
def test_hundreds_of_waits_take_no_thread_of_the_loop(petstore: Face, client: Client) -> None:
    async def main() -> list[int]:
        waits = [asyncio.create_task(petstore.journal.wait_for_async("listPets", timeout=60)) for _ in range(300)]
        await asyncio.sleep(0)
        # The client's own threads still begin, however many tasks wait.
        assert (await asyncio.to_thread(client.list)).status == 200
        return [len(found) for found in await asyncio.gather(*waits)]

    before = threading.active_count()
    assert asyncio.run(main()) == [1] * 300
    assert threading.active_count() - before < 5


def test_a_wait_ends_in_time_although_the_time_is_frozen(petstore: Face) -> None:
    async def main() -> None:
        with pytest.raises(VerificationError, match=r"0\.05 s"):
            await petstore.journal.wait_for_async("listPets", timeout=0.05)

    with freezegun.freeze_time("2030-01-01"):
        asyncio.run(main())


@pytest.mark.parametrize("carrier", ["home"], indirect=True)
def test_a_wait_counts_from_the_last_reset(petstore: Face, client: Client) -> None:
    async def main() -> list[Any]:
        wait = asyncio.create_task(petstore.journal.wait_for_async("listPets", times=2, timeout=60))
        await asyncio.sleep(0)
        client.list()
        petstore.reset()
        await asyncio.sleep(0)
        client.list()
        await asyncio.sleep(0.01)
        assert not wait.done()
        client.list()
        found: list[Any] = await wait
        return found

    assert [exchange.number for exchange in asyncio.run(main())] == [1, 2]


def test_criteria_of_a_response_are_met_when_it_goes_out(petstore: Face, client: Client) -> None:
    async def main() -> list[Any]:
        wait = asyncio.create_task(petstore.journal.wait_for_async("listPets", status=200, timeout=60))
        await asyncio.to_thread(client.list)
        found: list[Any] = await wait
        return found

    assert [exchange.status for exchange in asyncio.run(main())] == [200]
