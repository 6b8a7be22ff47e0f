"""The WSGI application under servers and clients of third parties, and through an adapter for ASGI."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any
from wsgiref.handlers import SimpleHandler
from wsgiref.util import is_hop_by_hop, setup_testing_defaults

import httpx
import pytest
import requests
from a2wsgi import WSGIMiddleware

from petstore_mock import PetStoreMock, PetStoreMockError, faults

REX = {"name": "Rex", "categoryId": 1}


@pytest.fixture
def petstore() -> PetStoreMock:
    return PetStoreMock(seed=1)


def asgi(petstore: PetStoreMock, act: Callable[[httpx.AsyncClient], Awaitable[Any]]) -> Any:
    """Return what ``act`` returns for a client of the adapted application, on a new loop."""

    async def run() -> Any:
        adapt: Any = WSGIMiddleware  # its types are stricter than those of httpx
        transport = httpx.ASGITransport(app=adapt(petstore.app))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://petstore.test/v1", headers=petstore.headers
        ) as client:
            return await act(client)

    return asyncio.run(run())


def test_httpx_calls_the_wsgi_application_and_the_asgi_adapter(petstore: PetStoreMock) -> None:
    with httpx.Client(transport=httpx.WSGITransport(app=petstore.app), headers=petstore.headers) as client:
        assert client.post("http://petstore.test/v1/pets", json=REX).status_code == 201
        chunks = iter([b'{"name":', b'"Tom","categoryId":1}'])
        headers = {"Content-Type": "application/json"}
        assert client.post("http://petstore.test/v1/pets", content=chunks, headers=headers).status_code == 201
    assert asgi(petstore, lambda client: client.get("/pets")).json() == petstore.pets
    assert [entry.operation for entry in petstore.journal] == ["createPet", "createPet", "listPets"]


def test_a_delay_does_not_block_other_requests(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(600), on="createPet", times=1)

    async def act(client: httpx.AsyncClient) -> list[int]:
        held = asyncio.create_task(client.post("/pets", json=REX))
        await petstore.journal.wait_for_async("createPet", timeout=30)
        listed = await client.get("/pets")
        petstore.reset()
        return [listed.status_code, (await held).status_code]

    assert asgi(petstore, act) == [200, 503]


@pytest.mark.parametrize(("status", "name"), [(407, "Proxy-Authenticate"), (426, "Upgrade")])
def test_fields_that_a_wsgi_application_must_not_send_are_left_out(
    petstore: PetStoreMock, status: int, name: str
) -> None:
    """PEP 3333 reserves them for the server; wsgiref responds with 500 if an application sends one."""
    assert is_hop_by_hop(name)
    petstore.inject(status, off_contract=True)
    environ: dict[str, Any] = {"PATH_INFO": "/v1/pets", "HTTP_AUTHORIZATION": petstore.headers["Authorization"]}
    setup_testing_defaults(environ)
    sent = io.BytesIO()
    SimpleHandler(io.BytesIO(), sent, io.StringIO(), environ).run(petstore.app)
    assert sent.getvalue().startswith(f"HTTP/1.0 {status} ".encode())
    assert f"\r\n{name}:".encode() not in sent.getvalue()


def test_a_session_of_requests_waits_for_a_delay_and_refuses_a_reset(petstore: PetStoreMock) -> None:
    with petstore.requests_session() as session:
        petstore.inject(faults.delay(0.05), times=1)
        listed = session.get("https://api.petstore.test/v1/pets", params={"limit": 1}, headers=petstore.headers)
        assert listed.json() == petstore.pets
        entry = petstore.journal.last
        assert (entry.query, entry.headers["host"], entry.duration >= 0.05) == (
            {"limit": "1"},
            "api.petstore.test",
            True,
        )
        petstore.inject(faults.reset())
        with pytest.raises(PetStoreMockError, match=r"petstore\.url"):
            session.get("https://api.petstore.test/v1/pets", headers=petstore.headers)


def test_a_session_of_requests_passes_the_whole_body_after_a_refused_head(petstore: PetStoreMock) -> None:
    content = b"x" * 70_000
    with petstore.requests_session() as session:
        assert session.post("https://api.petstore.test/v1/pets", data=content).status_code == 401
    entry = petstore.journal.last
    assert (entry.body_size, entry.request.oversized) == (70_000, False)


LIST = "/v1/pets"
BODY = b'{"name":"Rex","categoryId":1}'
TYPED = {"Content-Type": "application/json"}
ASKED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "HEAD": ("HEAD", f"{LIST}/1", {}),
    "HEAD of an absent animal": ("HEAD", f"{LIST}/99", {}),
    "options": ("OPTIONS", LIST, {}),
    "an unknown method": ("FOO", LIST, {}),
    "a long target": ("GET", f"{LIST}?x={'a' * 20_000}", {}),
    "many fields": ("GET", LIST, {"headers": {f"X-{number}": "1" for number in range(120)}}),
    "an unknown expectation": ("GET", LIST, {"headers": {"Expect": "200-maybe"}}),
    "no body": ("POST", LIST, {"headers": TYPED}),
    "no type": ("POST", LIST, {"data": BODY}),
    "a body": ("POST", LIST, {"headers": TYPED, "data": BODY}),
    "chunks": ("POST", LIST, {"headers": TYPED, "data": [BODY[:5], BODY[5:]]}),
    "too many chunks": ("POST", LIST, {"headers": TYPED, "data": [b" " * 65_536] * 20}),
    "GET with a body": ("GET", LIST, {"headers": TYPED, "data": BODY}),
    "a percent": ("GET", f"{LIST}/%31", {}),
    "slashes": ("GET", "/v1//pets", {}),
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_session_of_requests_receives_what_a_socket_sends(asked: str) -> None:
    method, target, options = ASKED[asked]
    received = []
    for over_socket in (False, True):
        with PetStoreMock(seed=3, api_key="a-key") as petstore:
            with requests.Session() if over_socket else petstore.requests_session() as session:
                session.trust_env = False
                given = {**options, "headers": {**petstore.headers, **options.get("headers", {})}}
                if isinstance(given.get("data"), list):
                    given["data"] = iter(given["data"])
                response = session.request(method, petstore.url.removesuffix("/v1") + target, timeout=30, **given)
            fields = {name.lower(): value for name, value in response.headers.items()}
            for name in ("date", "connection"):  # only the socket sends Connection
                fields.pop(name, None)
            condition = petstore.journal.last.condition
            received.append((response.status_code, fields, response.text[:60], condition and condition.name))
    assert received[0] == received[1]
