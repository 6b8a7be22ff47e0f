"""The session of requests and the client of httpx that call the fake without a socket."""

from __future__ import annotations

import io
import json
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import requests

from petstore_mock import PetStoreMock, PetStoreMockError, faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Caller = Callable[..., tuple[int, dict[str, str], bytes]]

PATIENCE = 30  # seconds; only what hangs takes so long
URL = "https://api.petstore.test/v1/pets"
REX = {"name": "Rex", "categoryId": 1}


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    petstore = PetStoreMock(self_check=True, seed=3)
    yield petstore
    petstore.reset()


@pytest.fixture(params=["requests", "httpx"])
def call(request: pytest.FixtureRequest, petstore: PetStoreMock) -> Caller:
    """Give ``call(method, url, ...)``; both libraries take the same keywords."""
    client: Any = petstore.requests_session() if request.param == "requests" else petstore.httpx_client()

    def call(method: str, url: str = URL, **options: Any) -> tuple[int, dict[str, str], bytes]:  # noqa: ANN401
        headers = {**petstore.headers, **options.pop("headers", {})}
        response = client.request(method, url, headers=headers, **options)
        return response.status_code, dict(response.headers), response.content

    return call


def test_lists_and_creates(petstore: PetStoreMock, call: Caller) -> None:
    status, headers, body = call("POST", json=REX)
    assert (status, headers.get("Content-Type") or headers["content-type"]) == (201, "application/json")
    assert json.loads(body) == petstore.pets[-1]
    assert json.loads(call("GET", params={"limit": 2})[2]) == petstore.pets[:2]
    assert petstore.journal.last.query == {"limit": "2"}
    assert petstore.journal.last.headers["host"] == "api.petstore.test"
    petstore.verify()


def test_errors_are_answers(call: Caller) -> None:
    assert call("GET", f"{URL}/99")[0] == 404
    assert call("POST", json={"name": 1})[0] == 400
    assert call("GET", headers={"Authorization": "Bearer wrong"})[0] == 401


def test_head_has_no_body_and_tells_its_length(petstore: PetStoreMock, call: Caller) -> None:
    status, headers, body = call("HEAD")
    assert (status, body) == (200, b"")
    lengths = {value for name, value in headers.items() if name.lower() == "content-length"}
    assert lengths == {str(len(json.dumps(petstore.pets, separators=(",", ":"))))}


def test_a_coded_answer_is_decoded(petstore: PetStoreMock, call: Caller) -> None:
    petstore.configure(content_coding="gzip")
    assert json.loads(call("GET")[2]) == petstore.pets


def test_a_body_beyond_the_limit_is_refused(call: Caller) -> None:
    assert call("POST", json={**REX, "name": "x" * 2_000_000})[0] == 413


def test_a_body_may_be_a_stream(petstore: PetStoreMock) -> None:
    json_type = {**petstore.headers, "Content-Type": "application/json"}
    whole = json.dumps(REX).encode()
    session = petstore.requests_session()
    for body in (io.BytesIO(whole), iter([whole[:5], whole[5:]]), whole.decode()):
        assert session.post(URL, data=body, headers=json_type).status_code == 201
    client = petstore.httpx_client()
    assert client.post("/pets", content=iter([whole[:5], whole[5:]]), headers=json_type).status_code == 201
    assert len(petstore.pets) == 7


def test_a_delay_is_waited_for(petstore: PetStoreMock, call: Caller) -> None:
    petstore.inject(faults.delay(0.05), times=1)
    began = time.perf_counter()
    assert call("GET", timeout=PATIENCE)[0] == 200
    assert time.perf_counter() - began >= 0.05
    assert petstore.journal.last.outcome == "delayed"


def test_a_delay_beyond_the_timeout_is_a_timeout(petstore: PetStoreMock, call: Caller) -> None:
    petstore.inject(faults.delay(PATIENCE), on="createPet", times=1)
    with pytest.raises((requests.ReadTimeout, httpx.ReadTimeout)):
        call("POST", json=REX, timeout=0.02)
    assert len(petstore.pets) == 3
    assert petstore.journal.last.outcome == "client gone"


def test_the_pair_of_timeouts_of_requests_counts(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(PATIENCE), times=1)
    with pytest.raises(requests.ReadTimeout):
        petstore.requests_session().get(URL, headers=petstore.headers, timeout=(PATIENCE, 0.02))


def test_a_fault_of_the_connection_raises(petstore: PetStoreMock, call: Caller) -> None:
    petstore.inject(faults.reset(), times=1)
    with pytest.raises(PetStoreMockError, match=r"needs a socket: give the client petstore\.url instead of"):
        call("GET")


def test_httpx_has_a_base_address_of_its_own(petstore: PetStoreMock) -> None:
    assert petstore.httpx_client(headers=petstore.headers).get("/pets").status_code == 200
    assert petstore.httpx_client(base_url="https://x.test").get("/v1/pets").status_code == 401
    with PetStoreMock() as listening:
        assert str(listening.httpx_client().base_url) == f"{listening.url}/"


@pytest.mark.parametrize("library", ["requests", "httpx"])
def test_a_missing_library_is_named(petstore: PetStoreMock, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    make = petstore.requests_session if library == "requests" else petstore.httpx_client
    with pytest.raises(PetStoreMockError, match=f"pip install {library}"):
        make()
