"""The ASGI app as its users meet it: httpx and Starlette, under asyncio and trio; delays, and clients that leave."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from petstore_mock import PetStoreMock, PetStoreMockError, VerificationError, faults

with warnings.catch_warnings():  # newer ones prefer a successor of httpx, and say so
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

PATIENCE = 30  # seconds; only what hangs takes so long
REX = {"name": "Rex", "categoryId": 1}

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:  # noqa: ANN401
    return request.param


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    petstore = PetStoreMock(self_check=True, seed=1)
    yield petstore
    petstore.reset()


@asynccontextmanager
async def client_of(petstore: PetStoreMock) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=petstore.asgi), base_url="http://petstore.test/v1", headers=petstore.headers
    ) as client:
        yield client


async def test_lists_and_creates_on_the_same_world(petstore: PetStoreMock) -> None:
    async with client_of(petstore) as client:
        created = await client.post("/pets", json=REX)
        listed = await client.get("/pets", params={"limit": 5})
    assert created.status_code == 201
    assert listed.json() == petstore.pets
    assert [entry.operation for entry in petstore.journal] == ["createPet", "listPets"]
    petstore.verify()


async def test_version_is_that_which_the_server_was_asked_in(petstore: PetStoreMock) -> None:
    async def by_http_2(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        await petstore.asgi({**scope, "http_version": "2"}, receive, send)

    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=by_http_2), base_url="http://petstore.test"
    ) as client:
        await client.get("/v1/pets")
    assert petstore.journal.last.request.version == "HTTP/2"


@pytest.mark.parametrize(
    ("version", "status", "name", "value"),
    [
        ("1.1", 407, "Proxy-Authenticate", 'Basic realm="petstore"'),
        ("1.1", 426, "Upgrade", "HTTP/3.0"),
        ("2", 407, "Proxy-Authenticate", 'Basic realm="petstore"'),
        ("2", 426, "Upgrade", None),  # RFC 9113 §8.2.2
    ],
)
async def test_fields_that_http_demands_with_a_status_go_out_as_far_as_its_version_has_them(
    petstore: PetStoreMock, version: str, status: int, name: str, value: str | None
) -> None:
    petstore.inject(status, off_contract=True)

    async def by_version(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        await petstore.asgi({**scope, "http_version": version}, receive, send)

    transport = httpx.ASGITransport(app=by_version)
    async with httpx.AsyncClient(transport=transport, base_url="http://petstore.test/v1") as client:
        answer = await client.get("/pets", headers=petstore.headers)
    assert (answer.status_code, answer.headers.get(name)) == (status, value)


async def test_a_delay_lets_the_others_run(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(PATIENCE), on="createPet", times=1)
    async with client_of(petstore) as client, anyio.create_task_group() as group:

        async def create() -> None:
            assert (await client.post("/pets", json=REX)).status_code == 503  # let go by the reset

        group.start_soon(create)
        with anyio.fail_after(PATIENCE / 2):
            while not petstore.journal.for_operation("createPet"):
                await anyio.lowlevel.checkpoint()
            assert (await client.get("/pets")).status_code == 200
            petstore.reset()
            client.headers = httpx.Headers(petstore.headers)


async def test_a_delay_is_as_long_as_it_says(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(0.05), times=1)
    async with client_of(petstore) as client:
        began = time.perf_counter()
        assert (await client.get("/pets")).status_code == 200
    assert time.perf_counter() - began >= 0.05
    assert petstore.journal.last.outcome == "delayed"
    assert petstore.journal.last.duration >= 0.05


async def test_after_the_commit_the_answer_waits(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(0.02), on="createPet", at="after_commit", times=1)
    async with client_of(petstore) as client:
        assert (await client.post("/pets", json=REX)).status_code == 201
    assert petstore.journal.last.outcome == "delayed"


async def test_a_client_that_gives_up_leaves_nothing_behind(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(PATIENCE), on="createPet", times=1)
    async with client_of(petstore) as client:
        with anyio.move_on_after(0.05):
            await client.post("/pets", json=REX)
            pytest.fail("the answer was held back")
    assert petstore.journal.last.outcome == "client gone"
    assert not petstore.journal.last.executed
    assert len(petstore.pets) == 1


async def test_a_disconnect_ends_the_waiting(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(PATIENCE), on="createPet", times=1)
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/pets",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"authorization", b"Bearer " + petstore.api_key.encode())],
    }
    messages = [
        {"type": "http.request", "body": b'{"name":"Rex",', "more_body": True},
        {"type": "http.request", "body": b'"categoryId":1}'},
        {"type": "http.disconnect"},
    ]
    sent = []

    async def receive() -> Any:  # noqa: ANN401
        return messages.pop(0)

    async def send(message: object) -> None:
        sent.append(message)

    with anyio.fail_after(PATIENCE / 2):
        await petstore.asgi(scope, receive, send)
    assert sent == []
    assert petstore.journal.last.outcome == "client gone"
    assert petstore.journal.last.json() == REX


@pytest.mark.parametrize("fault", [faults.hang(), faults.reset(), faults.truncate(), faults.dribble(10)], ids=str)
async def test_a_fault_of_the_connection_raises(petstore: PetStoreMock, fault: faults.Fault) -> None:
    petstore.inject(fault, times=1)
    async with client_of(petstore) as client:
        with pytest.raises(PetStoreMockError, match=r"needs a socket: .* petstore\.url instead of petstore\.asgi"):
            await client.get("/pets")
    with pytest.raises(VerificationError, match="which needs a socket"):
        petstore.verify()


def test_a_body_that_breaks_off_is_refused(petstore: PetStoreMock) -> None:
    scope = {"type": "http", "method": "POST", "path": "/v1/pets", "headers": [(b"content-length", b"100")]}
    ends: list[tuple[dict[str, Any], str]] = [
        ({"type": "http.disconnect"}, "the connection ended"),
        ({"type": "http.request", "body": b"{"}, "1 of 100"),
    ]
    for end, told in ends:

        async def receive(message: dict[str, Any] = end) -> Any:  # noqa: ANN401
            return message

        async def send(_: object) -> None: ...

        asyncio.run(petstore.asgi(dict(scope), receive, send))
        assert told in petstore.journal.last.reason


def test_other_scopes_are_refused(petstore: PetStoreMock) -> None:
    with pytest.raises(PetStoreMockError, match="got type='websocket'"):
        asyncio.run(petstore.asgi({"type": "websocket"}, None, None))  # type: ignore[arg-type]


def test_starlettes_client_starts_and_stops_it(petstore: PetStoreMock) -> None:
    with TestClient(petstore.asgi, headers=petstore.headers) as client:  # the block runs the lifespan
        assert client.get("/v1/pets").json() == petstore.pets
        assert client.get("/v1/pets/%31").status_code == 200


def test_it_can_be_mounted_in_an_application(petstore: PetStoreMock) -> None:
    client = TestClient(Starlette(routes=[Mount("/fake", app=petstore.asgi)]), headers=petstore.headers)
    assert client.get("/fake/v1/pets?limit=1").json() == petstore.pets
    assert petstore.journal.last.target == "/v1/pets?limit=1"


def test_threads_and_resets_let_a_held_answer_go(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(PATIENCE), times=1)
    with TestClient(petstore.asgi, headers=petstore.headers) as client:
        answers: list[httpx.Response] = []
        thread = threading.Thread(target=lambda: answers.append(client.get("/v1/pets")))
        thread.start()
        petstore.journal.wait_for("listPets", timeout=PATIENCE)
        petstore.reset()
        thread.join(PATIENCE / 2)
    assert [answer.status_code for answer in answers] == [503]
