"""The session of requests that calls the fake without a socket, and a client of httpx that calls the WSGI app."""

from __future__ import annotations

import gzip
import io
import json
import re
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


def over_wsgi(petstore: PetStoreMock) -> httpx.Client:
    return httpx.Client(transport=httpx.WSGITransport(app=petstore.app))


@pytest.fixture(params=["requests", "httpx"])
def call(request: pytest.FixtureRequest, petstore: PetStoreMock) -> Caller:
    """Give ``call(method, url, ...)``; both libraries take the same keywords."""
    client: Any = petstore.requests_session() if request.param == "requests" else over_wsgi(petstore)

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
    compressed = gzip.compress(json.dumps(petstore.pets).encode())
    petstore.inject(faults.respond(200, body=compressed, headers={"Content-Encoding": "gzip"}), on="listPets", times=1)
    assert json.loads(call("GET")[2]) == petstore.pets


def test_a_body_beyond_the_limit_is_refused(call: Caller) -> None:
    assert call("POST", json={**REX, "name": "x" * 2_000_000})[0] == 413


def test_a_body_may_be_a_stream(petstore: PetStoreMock) -> None:
    json_type = {**petstore.headers, "Content-Type": "application/json"}
    whole = json.dumps(REX).encode()
    session = petstore.requests_session()
    bodies: list[Any] = [io.BytesIO(whole), iter([whole[:5], whole[5:]]), whole.decode(), bytearray(whole)]
    for body in bodies:
        assert session.post(URL, data=body, headers=json_type).status_code == 201
    client = over_wsgi(petstore)
    assert client.post(URL, content=iter([whole[:5], whole[5:]]), headers=json_type).status_code == 201
    assert len(petstore.pets) == 8


def test_a_delay_is_waited_for(petstore: PetStoreMock, call: Caller) -> None:
    petstore.inject(faults.delay(0.05), times=1)
    began = time.perf_counter()
    assert call("GET", timeout=PATIENCE)[0] == 200
    assert time.perf_counter() - began >= 0.05
    assert petstore.journal.last.outcome == "delayed"


def test_a_delay_beyond_the_timeout_is_a_timeout(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(PATIENCE), on="createPet", times=1)
    with pytest.raises(requests.ReadTimeout):
        petstore.requests_session().post(URL, json=REX, headers=petstore.headers, timeout=0.02)
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


def test_a_missing_library_is_named(petstore: PetStoreMock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(PetStoreMockError, match="pip install requests"):
        petstore.requests_session()


# The same answers as over the socket

LIST = "/v1/pets"
JSON = {"Content-Type": "application/json"}
POST = {"headers": JSON}
BODY = json.dumps(REX).encode()
ASKED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "long target": ("GET", f"{LIST}?x={'a' * 20_000}", {}),
    "many fields": ("GET", LIST, {"headers": {f"X-{number}": "1" for number in range(120)}}),
    "large field": ("GET", LIST, {"headers": {"X": "a" * 70_000}}),
    "two words for a host": ("GET", LIST, {"headers": {"Host": "a b/c"}}),
    "unknown expectation": ("GET", LIST, {"headers": {"Expect": "200-maybe"}}),
    "known expectation": ("POST", LIST, {"headers": {**JSON, "Expect": "100-continue"}, "data": BODY}),
    "head": ("HEAD", f"{LIST}/1", {}),
    "head of nothing": ("HEAD", f"{LIST}/99", {}),
    "options": ("OPTIONS", LIST, {}),
    "unknown method": ("FOO", LIST, {}),
    "trace": ("TRACE", LIST, {}),
    "no body": ("POST", LIST, POST),
    "no type": ("POST", LIST, {"data": BODY}),
    "chunks": ("POST", LIST, {**POST, "data": [BODY[:5], BODY[5:]]}),
    "chunks with a trailer": (
        "POST",
        LIST,
        {"headers": {**JSON, "Trailer": "Authorization"}, "data": [BODY]},
    ),
    "too many chunks": ("POST", LIST, {**POST, "data": [b" " * 65_536] * 20}),
    "a body where none belongs": ("GET", LIST, {**POST, "data": BODY}),
    "a coding of content": ("POST", LIST, {"headers": {**JSON, "Content-Encoding": "gzip"}, "data": BODY}),
    "an upgrade": ("GET", LIST, {"headers": {"Connection": "Upgrade", "Upgrade": "h2c"}}),
    "a range": ("GET", LIST, {"headers": {"Range": "bytes=0-1"}}),
    "percent": ("GET", f"{LIST}/%31", {}),
    "no percent": ("GET", f"{LIST}/%zz", {}),
    "dots": ("GET", f"{LIST}/../pets", {}),
    "slashes": ("GET", "/v1//pets", {}),
}


def _ask(client: Any, url: str, asked: str, headers: dict[str, str]) -> tuple[int, dict[str, str], str]:  # noqa: ANN401
    method, target, options = ASKED[asked]
    given = {
        "timeout": PATIENCE,
        **options,
        "headers": {"Host": "pets.example", **headers, **options.get("headers", {})},
    }
    chunks = given.get("data")
    if isinstance(chunks, list):
        given["data"] = iter(chunks)
    if isinstance(client, httpx.Client) and "data" in given:
        given["content"] = given.pop("data")
    response = client.request(method, url + target, **given)
    fields = {name.lower(): value for name, value in response.headers.items()}
    for name in ("date", "connection"):  # the second is the socket's
        fields.pop(name, None)
    text = re.sub(r"\d{5} bytes, the limit", "many bytes, the limit", response.text)  # http.client adds a field
    return response.status_code, fields, text


# httpx's transport decodes the path, and so loses that it was wrong.
@pytest.mark.parametrize(
    ("library", "asked"),
    [
        (library, asked)
        for library in ("requests", "httpx")
        for asked in ASKED
        if (library, asked) != ("httpx", "no percent")
    ],
)
def test_an_answer_is_the_same_over_the_socket(library: str, asked: str) -> None:
    told = []
    for over_socket in (False, True):
        with PetStoreMock(seed=3, api_key="a-key", self_check=True) as petstore:
            if over_socket:
                client: Any = requests.Session() if library == "requests" else httpx.Client()
            else:
                client = petstore.requests_session() if library == "requests" else over_wsgi(petstore)
            with client:
                told.append(_ask(client, petstore.url.removesuffix("/v1"), asked, petstore.headers))
            petstore.tenant.excuse()
    assert told[0] == told[1]


@pytest.mark.parametrize(("coding", "status"), [("gzip", 400), ("gzip, chunked", 501), ("chunked", 400)])
def test_a_length_that_nobody_could_read_is_refused(petstore: PetStoreMock, coding: str, status: int) -> None:
    session = petstore.requests_session()
    answer = session.post(URL, data=BODY, headers={**petstore.headers, **JSON, "Transfer-Encoding": coding})
    assert answer.status_code == status
    assert len(petstore.pets) == 3


def test_httpx_over_wsgi_may_send_chunks(petstore: PetStoreMock) -> None:
    with httpx.Client(transport=httpx.WSGITransport(app=petstore.app), headers=petstore.headers) as client:
        assert client.post(URL, content=iter([BODY[:5], BODY[5:]]), headers=JSON).status_code == 201
        assert client.post(URL, content=iter([b" " * 65_536] * 20), headers=JSON).status_code == 413
