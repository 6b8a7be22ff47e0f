"""What the usual libraries do by themselves is no bug of the client that is built on them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import aiohttp
import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter

from petstore_mock import faults
from petstore_mock.stateful.steps import CloseConnections, GetUnknown, Inject, Redirect, Seed, Step, Switch
from tests.clients.correct import TIMEOUT, ApiError, HttpClientPets, Json, RequestsPets, Urllib3Pets
from tests.inside.stateful.playing import play

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from petstore_mock import PetStoreMock


def said(make_client: Json, *steps: Step) -> str | None:
    found = play(make_client, *steps)
    return None if found is None else found.sentence


def met_by_each(fault: faults.Fault, times: int = 1) -> list[Step]:
    return [Inject(fault, operation, times) for operation in ("listPets", "createPet", "getPet")]


class AiohttpPets:
    """On aiohttp, a session for each call."""

    def __init__(self, petstore: PetStoreMock) -> None:
        self.url, self.headers = petstore.url, petstore.headers

    def call(self, method: str, path: str, **given: Json) -> Json:
        async def ask() -> Json:
            timeout = aiohttp.ClientTimeout(total=TIMEOUT)
            async with (
                aiohttp.ClientSession(headers=self.headers, timeout=timeout) as session,
                session.request(method, self.url + path, **given) as response,
            ):
                response.raise_for_status()
                if response.status != (201 if method == "POST" else 200):
                    raise ApiError(response.status)
                return await response.json()

        return asyncio.run(ask())

    def list_pets(self, **query: Json) -> Json:
        return self.call("GET", "/pets", params=query)

    def create_pet(self, *, category_id: int, **fields: Json) -> Json:
        return self.call("POST", "/pets", json={"categoryId": category_id, **fields})

    def get_pet(self, pet_id: int) -> Json:
        return self.call("GET", f"/pets/{pet_id}")


class AiohttpSession(AiohttpPets):
    """Keeps its session, and a loop that goes on in a thread."""

    def __init__(self, petstore: PetStoreMock) -> None:
        super().__init__(petstore)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.session = self.wait_for(self.open())

    async def open(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(headers=self.headers, timeout=aiohttp.ClientTimeout(total=TIMEOUT))

    def wait_for(self, answer: Coroutine[Any, Any, Json]) -> Json:
        return asyncio.run_coroutine_threadsafe(answer, self.loop).result()

    def call(self, method: str, path: str, **given: Json) -> Json:
        async def ask() -> Json:
            async with self.session.request(method, self.url + path, **given) as response:
                response.raise_for_status()
                return await response.json()

        return self.wait_for(ask())

    def close(self) -> None:
        self.wait_for(self.session.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


def test_aiohttp_notices_closed_connections_while_its_loop_goes_on() -> None:
    closed: list[Step] = [CloseConnections(operation) for operation in ("listPets", "createPet", "getPet")]
    assert said(AiohttpSession, Seed(), *closed, *closed) is None


def test_what_aiohttp_says_of_an_answer_that_it_could_not_read_is_no_status() -> None:
    """It calls one whose chunks are malformed a 400, as if the client's request had been."""
    assert said(AiohttpPets, *met_by_each(faults.malformed_chunk())) is None


def test_no_warning_comes_of_looking_at_what_aiohttp_raises() -> None:
    """Its exceptions have a code, which is deprecated, beside a status, which may be 0; warnings are errors here."""
    assert said(AiohttpPets, GetUnknown(404), Redirect(307, "listPets", "round")) is None


class RequestsAskAgain(RequestsPets):
    """Asks again after some statuses, as the documentation of urllib3 shows it."""

    def __init__(self, petstore: PetStoreMock) -> None:
        super().__init__(petstore.url, petstore.api_key)
        self.session.mount("http://", HTTPAdapter(max_retries=urllib3.Retry(2, status_forcelist=[502])))


class Urllib3AsksAgain(Urllib3Pets):
    def __init__(self, petstore: PetStoreMock) -> None:
        super().__init__(petstore.url, petstore.api_key)
        self.pool = urllib3.PoolManager(timeout=TIMEOUT, retries=urllib3.Retry(2, status_forcelist=[502]))


@pytest.mark.parametrize("client", [RequestsAskAgain, Urllib3AsksAgain])
def test_a_library_that_gave_up_asking_again_tells_the_status_in_its_own_way(client: Json) -> None:
    """In the text of an exception that is the reason of another."""
    assert said(client, *met_by_each(faults.server_error(502), times=12)) is None


class TriesAgain(RequestsPets):
    """Tries again whenever requests raises, which also ends redirections in a circle so, after 30 of them."""

    def list_pets(self, **query: Json) -> Json:
        for _ in range(2):
            with contextlib.suppress(requests.RequestException):
                return super().list_pets(**query)
        return super().list_pets(**query)


@pytest.mark.parametrize("status", [408, 421, 425, 429, 451])
def test_a_client_may_send_a_request_again_that_was_refused(status: int) -> None:
    """Even createPet: a status of the client's doing says that nothing was done, 408 that it may try again."""

    class AsksAgain(HttpClientPets):
        def ask(self, method: str, path: str, body: bytes | None = None) -> Json:
            answer = super().ask(method, path, body)
            return answer if answer.status != status else super().ask(method, path, body)

    def make_client(petstore: PetStoreMock) -> Json:
        return AsksAgain(petstore.url, petstore.api_key)

    assert said(make_client, *met_by_each(faults.respond(status))) is None


def test_a_client_may_try_again_to_follow_redirections() -> None:
    def make_client(petstore: PetStoreMock) -> Json:
        return TriesAgain(petstore.url, petstore.api_key)

    assert said(make_client, Redirect(307, "listPets", "round")) is None


class UrllibPets(AiohttpPets):
    """On urllib, which takes the key along to wherever it is redirected, unless it is told so for this header."""

    def call(self, method: str, path: str, **given: Json) -> Json:
        body = json.dumps(given["json"]).encode() if "json" in given else None
        request = Request(f"{self.url}{path}?{urlencode(given.get('params', {}))}", body, method=method)
        request.add_unredirected_header("Authorization", self.headers["Authorization"])
        request.add_unredirected_header("Content-Type", "application/json")
        try:
            with build_opener(ProxyHandler({})).open(request, timeout=TIMEOUT) as response:
                if response.status != (201 if method == "POST" else 200):
                    raise ApiError(response.status)
                return json.loads(response.read())
        except HTTPError as error:
            with error:
                raise ApiError(error.code) from None


def test_a_client_may_leave_its_key_out_wherever_it_is_redirected() -> None:
    """Whichever of two worlds is asked without one then."""
    redirected: list[Step] = [
        Redirect(status, operation, where)
        for status in (301, 303, 307)
        for operation in ("listPets", "createPet", "getPet")
        for where in ("elsewhere", "here", "relative")
    ]
    switch: Step = Switch()
    assert said(UrllibPets, *redirected, switch, *redirected, switch, *redirected) is None
