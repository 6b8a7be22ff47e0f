"""The checks read results and exceptions of clients of any shape, and refuse unusable clients."""

from __future__ import annotations

import asyncio
import enum
import http.client
import json
import re
import socket
import ssl
import time
import urllib.error
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, NamedTuple

import aiohttp
import anyio
import httpcore
import httpx
import pytest
import requests
import urllib3

from petstore_mock import PetStoreMock, PetStoreMockError, checks
from tests.clients.correct import ApiError as ClientError
from tests.clients.correct import HttpClientPets
from tests.clients.shapes import maker_of


class Status(enum.Enum):
    SOLD = "sold"


class Row(NamedTuple):
    pet_id: int
    name: str
    category_id: int
    status: Status | None = None


REX = {"id": 1, "name": "Rex", "categoryId": 2, "status": "sold"}


@pytest.mark.parametrize(
    "value",
    [
        REX,
        {**REX, "further": True},
        {"pet_id": 1, "name": "Rex", "category_id": 2, "status": Status.SOLD},
        Row(1, "Rex", 2, Status.SOLD),
        SimpleNamespace(id=1, name="Rex", categoryId=2, status="sold", further=None),
    ],
    ids=["itself", "further", "snake", "tuple", "object"],
)
def test_an_animal_of_any_shape_is_read(value: Any) -> None:
    assert checks.read_pet(value) == REX


@pytest.mark.parametrize("value", ["Rex", 7, None, [REX]])
def test_a_value_without_fields_is_no_animal(value: Any) -> None:
    with pytest.raises(TypeError, match=r"an object with the fields id, name, categoryId(,| and) status"):
        checks.read_pet(value)


class ApiError(Exception):
    def __init__(self, **given: Any) -> None:
        super().__init__()
        vars(self).update(given)


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


REQUEST = httpx.Request("GET", "http://127.0.0.1/")
ERRORS: list[tuple[BaseException, Any]] = [
    (ApiError(status=404), 404),
    (ApiError(response=SimpleNamespace(status_code=429)), 429),
    (httpx.HTTPStatusError("", request=REQUEST, response=httpx.Response(500)), 500),
    (urllib.error.HTTPError("", 410, "", http.client.HTTPMessage(), None), 410),
    (caused(ApiError(), requests.ReadTimeout()), "timeout"),
    (TimeoutError(), "timeout"),
    (httpcore.ReadTimeout(), "timeout"),
    (ssl.SSLCertVerificationError(), "transport"),
    (urllib3.exceptions.MaxRetryError(urllib3.HTTPConnectionPool("a"), "/"), "transport"),
    (aiohttp.ServerDisconnectedError(), "transport"),
    (json.JSONDecodeError("", "", 0), "protocol"),
    (http.client.IncompleteRead(b""), "protocol"),
    (asyncio.IncompleteReadError(b"", 1), "protocol"),
    (asyncio.LimitOverrunError("", 1), "protocol"),
    (EOFError(), "transport"),
    (ssl.SSLError(), "transport"),
    (ssl.SSLEOFError(), "transport"),
    (socket.gaierror(), "transport"),
    (httpcore.ReadError(), "transport"),
    (httpcore.WriteError(), "transport"),
    (httpcore.ConnectError(), "transport"),
    (httpcore.ProxyError(), "transport"),
    (httpcore.PoolTimeout(), "timeout"),
    (httpcore.RemoteProtocolError(), "protocol"),
    (anyio.EndOfStream(), "transport"),
    (anyio.BrokenResourceError(), "transport"),
    (caused(ApiError(), httpcore.ReadError()), "transport"),
    (caused(ValueError("no JSON"), json.JSONDecodeError("", "", 0)), "protocol"),
    (caused(RuntimeError("no response"), httpcore.ReadTimeout()), "timeout"),
    (requests.exceptions.ChunkedEncodingError(), "protocol"),
    (aiohttp.ClientPayloadError(), "protocol"),
    (aiohttp.ContentTypeError(None, (), status=200), "protocol"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("error", "kind"), ERRORS, ids=[f"{number}" for number in range(len(ERRORS))])
def test_each_exception_is_classified(error: BaseException, kind: checks.Kind) -> None:
    assert checks.classify_exception(error) == kind


@pytest.mark.parametrize("error", [ApiError(), RuntimeError("no"), caused(KeyError("status"), ApiError(status=404))])
def test_the_error_for_an_unknown_exception_gives_advice(error: Exception) -> None:
    with pytest.raises(checks.UnknownErrorError, match="or pass classify="):
        checks.classify_exception(error)


# Clients


def refused(make_client: Any, **options: Any) -> str:
    with PetStoreMock() as petstore, pytest.raises(PetStoreMockError) as error:
        checks.watched(make_client, petstore, **options)
    return str(error.value)


def test_a_class_and_a_client_without_methods_are_refused() -> None:
    assert re.search(r"one of list_pets, create_pet(,| and) get_pet\b", refused(lambda _: object()))
    assert "return an instance" in refused(lambda _: HttpClientPets)


def test_a_method_without_a_required_argument_is_refused() -> None:
    client = SimpleNamespace(create_pet=lambda name: name)
    assert "whose create_pet takes name and categoryId" in refused(lambda _: client)


def test_a_wrong_value_of_methods_is_refused() -> None:
    make_client = maker_of(HttpClientPets)
    assert "did you mean" in refused(make_client, methods={"list_pet": "all"})
    assert "target=7" in refused(make_client, methods={"list_pets": 7})


def test_a_client_may_lack_methods() -> None:
    with PetStoreMock() as petstore:
        petstore.seed(id=7, name="Rex", categoryId=1)

        def make_client(petstore: PetStoreMock) -> Any:
            pets = HttpClientPets(petstore.url, petstore.api_key)
            return SimpleNamespace(find=pets.get_pet, close=pets.close)

        with checks.watched(make_client, petstore, methods={"get_pet": "find"}) as client:
            assert client.get_pet(7)["name"] == "Rex"
            assert not hasattr(client, "list_pets")
            with pytest.raises(ClientError, match="404"):
                client.get_pet(8)


def test_no_task_outlasts_the_close() -> None:
    """The task ignores that it is cancelled."""
    ticks: list[float] = []

    class Client:
        async def get_pet(self, pet_id: int) -> Any:
            self.task = asyncio.create_task(self.tick())
            return {"id": pet_id}

        async def tick(self) -> None:
            while True:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.005)
                ticks.append(time.monotonic())

        async def close(self) -> None:
            await asyncio.sleep(0)

    with PetStoreMock() as petstore:
        client = checks.watched(lambda _: Client(), petstore, checks=[])
        client.get_pet(7)
        client.close()
    closed = time.monotonic() + 0.5
    time.sleep(1)
    assert ticks
    assert ticks[-1] < closed
