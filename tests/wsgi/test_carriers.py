"""A response is the same over every carrier: its fields, their order, cookies, codings, streams and the journal."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Final

import httpx
import pytest
import requests
from werkzeug import Request, Response
from werkzeug.test import Client

from petstore_mock import PetStoreMock, VerificationError, faults
from tests.wire.raw import KEY, PATIENCE, eventually

BASE: Final = "http://petstore.test"
AUTH: Final = {"Authorization": f"Bearer {KEY}"}
# Each carrier may add these, and a socket must.
FRAMING: Final = {"connection", "content-length", "date", "transfer-encoding"}
COOKIES: Final = ["a=1; Path=/", "b=2; Path=/; HttpOnly", "a=3; Path=/v1"]

Pairs = list[tuple[str, str]]


@dataclass
class Received:
    """A response: its status, its fields in order, and its body, which is read part by part."""

    status: int
    fields: Pairs
    parts: Iterator[bytes]
    close: Callable[[], object]
    cookies: dict[str, str] = field(default_factory=dict)


Send = Callable[[str, str], Received]


def over_requests(stack: ExitStack, session: requests.Session, base: str) -> Send:
    session.trust_env = False
    stack.enter_context(session)

    def send(method: str, target: str) -> Received:
        response = session.request(method, base + target, headers=AUTH, stream=True, timeout=PATIENCE)
        fields = [*response.raw.headers.items()]
        cookies = {cookie.path + cookie.name: str(cookie.value) for cookie in session.cookies}
        return Received(response.status_code, fields, response.iter_content(None), response.close, cookies)

    return send


def over_httpx(stack: ExitStack, client: httpx.Client, base: str) -> Send:
    stack.enter_context(client)

    def send(method: str, target: str) -> Received:
        response = client.send(client.build_request(method, base + target, headers=AUTH), stream=True)
        fields = [(name.decode(), value.decode()) for name, value in response.headers.raw]
        cookies = {cookie.path + cookie.name: str(cookie.value) for cookie in client.cookies.jar}
        return Received(response.status_code, fields, response.iter_bytes(), response.close, cookies)

    return send


def over_werkzeug(client: Client) -> Send:
    def send(method: str, target: str) -> Received:
        response = client.open(target, method=method, headers=AUTH, base_url=BASE)
        parts = iter(response.iter_encoded())
        if response.content_encoding == "gzip":
            parts = iter([gzip.decompress(b"".join(parts))])
        cookies = {cookie.path + cookie.key: cookie.value for cookie in client._cookies.values()}  # type: ignore[union-attr]  # noqa: SLF001
        return Received(response.status_code, [*response.headers.items()], parts, response.close, cookies)

    return send


CARRIERS: dict[str, Callable[[ExitStack, PetStoreMock], Send]] = {
    "requests, socket": lambda stack, mock: over_requests(stack, requests.Session(), mock.url.removesuffix("/v1")),
    "httpx, socket": lambda stack, mock: over_httpx(stack, httpx.Client(trust_env=False), mock.url.removesuffix("/v1")),
    "requests_session": lambda stack, mock: over_requests(stack, mock.requests_session(), BASE),
    "httpx.WSGITransport": lambda stack, mock: over_httpx(
        stack, httpx.Client(transport=httpx.WSGITransport(app=mock.app)), BASE
    ),
    "werkzeug": lambda _, mock: over_werkzeug(Client(mock.app)),
}


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def petstore(stack: ExitStack) -> PetStoreMock:
    return stack.enter_context(PetStoreMock(api_key=KEY, seed=3))


@pytest.fixture(params=CARRIERS)
def carrier(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def send(stack: ExitStack, petstore: PetStoreMock, carrier: str) -> Send:
    return CARRIERS[carrier](stack, petstore)


def own(received: Received) -> Pairs:
    """Return the fields that no carrier adds, with lower-case names: HTTP gives the case no meaning."""
    return [(name.lower(), value) for name, value in received.fields if name.lower() not in FRAMING]


def length(received: Received) -> list[str]:
    return [value for name, value in received.fields if name.lower() == "content-length"]


def ends_early(received: Received) -> bool:
    """Read to the end, and return whether the client noticed that a part is missing. Each library has its own error."""
    try:
        for _ in received.parts:
            pass
    except Exception:  # noqa: BLE001
        return True
    finally:
        received.close()
    return False


def body_of(received: Received) -> bytes:
    with closing(received):
        return b"".join(received.parts)


# Fields, cookies, codings

REPEATED: Final = {"Set-Cookie": COOKIES, "X-Second": "2", "X-First": ["1", "0"], "Vary": ["Accept", "Origin"]}


def plan_fault(petstore: PetStoreMock) -> Pairs:
    petstore.inject(faults.respond(200, json=[], headers=REPEATED), on="listPets")
    return []


def plan_expectation(petstore: PetStoreMock) -> Pairs:
    def respond(_: Request) -> Response:
        response = Response("[]", content_type="application/json")
        for name, values in REPEATED.items():
            for value in [values] if isinstance(values, str) else values:
                response.headers.add(name, value)
        return response

    petstore.httpserver.expect_request("/other").respond_with_handler(respond)
    return []


@pytest.mark.parametrize(("plan", "target"), [(plan_fault, "/v1/pets"), (plan_expectation, "/other")])
def test_fields_keep_their_order_and_each_cookie_arrives(
    petstore: PetStoreMock, send: Send, plan: Callable[[PetStoreMock], Pairs], target: str
) -> None:
    plan(petstore)
    received = send("GET", target)
    expected = [("set-cookie", value) for value in COOKIES]
    expected += [("x-second", "2"), ("x-first", "1"), ("x-first", "0"), ("vary", "Accept"), ("vary", "Origin")]
    assert [pair for pair in own(received) if pair[0] in {"set-cookie", "x-second", "x-first", "vary"}] == expected
    assert json.loads(body_of(received)) == []
    assert received.cookies == {"/a": "1", "/b": "2", "/v1a": "3"} or "v1" not in target
    jar = SimpleCookie("; ".join(value for name, value in received.fields if name.lower() == "set-cookie"))
    assert jar["b"].value == "2"


def test_a_session_sends_back_the_cookies_that_it_received(petstore: PetStoreMock, send: Send) -> None:
    petstore.inject(
        faults.respond(200, json=[], headers={"Set-Cookie": ["a=1; Path=/", "b=2; Path=/"]}), on="listPets", times=1
    )
    body_of(send("GET", "/v1/pets"))
    body_of(send("GET", "/v1/pets"))
    assert petstore.journal.last.headers["cookie"] == "a=1; b=2"


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
@pytest.mark.parametrize("target", ["/v1/pets", "/v1/pets?limit=0", "/v1/pets/1", "/v1/nowhere", "/v1/pets/9"])
def test_each_carrier_receives_what_a_socket_carries(
    stack: ExitStack, petstore: PetStoreMock, send: Send, method: str, target: str
) -> None:
    petstore.clock.freeze()
    one, two = send(method, target), CARRIERS["requests, socket"](stack, petstore)(method, target)
    assert (one.status, own(one), body_of(one)) == (two.status, own(two), body_of(two))
    assert length(one) == length(two)


def test_the_order_of_request_fields_is_that_of_a_socket(stack: ExitStack, petstore: PetStoreMock) -> None:
    orders = []
    for name in ("requests, socket", "requests_session"):
        body_of(CARRIERS[name](stack, petstore)("GET", "/v1/pets"))
        orders.append([field for field, _ in petstore.journal.last.fields])
    assert orders[0] == orders[1]


def test_a_content_coding_is_decoded(petstore: PetStoreMock, send: Send) -> None:
    def respond(_: Request) -> Response:
        return Response(gzip.compress(b"abc" * 100), headers={"Content-Encoding": "gzip", "X-A": "b"})

    petstore.httpserver.expect_request("/zipped").respond_with_handler(respond)
    received = send("GET", "/zipped")
    assert ("x-a", "b") in own(received)
    assert body_of(received) == b"abc" * 100


# Streams


class Source:
    """The parts of a streamed response. Each waits until the client has read the one before it."""

    def __init__(self, *parts: bytes, endless: bool = False, error: Exception | None = None) -> None:
        self.parts, self.endless, self.error = list(parts), endless, error
        self.wanted = threading.Semaphore(1)
        self.closed = threading.Event()

    def __call__(self, _: Request) -> Response:
        response = Response(self.run(), content_type="text/plain")
        response.call_on_close(self.closed.set)
        return response

    def run(self) -> Iterator[bytes]:
        while self.parts or self.endless:
            assert self.wanted.acquire(timeout=PATIENCE), "the client never got the part before"
            yield self.parts.pop(0) if self.parts else b"more "
        if self.error is not None:
            raise self.error


def test_a_streamed_response_arrives_part_by_part(petstore: PetStoreMock, send: Send) -> None:
    source = Source(b"one ", b"two ", b"", b"three")
    petstore.httpserver.expect_request("/stream").respond_with_handler(source)
    received = send("GET", "/stream")
    assert petstore.journal.last.in_flight
    parts = []
    source.wanted.release()  # for the empty part
    for part in received.parts:
        parts.append(part)
        source.wanted.release()
    received.close()
    assert b"".join(parts) == b"one two three"
    eventually(lambda: not petstore.journal.last.in_flight, "the end of the response")
    entry = petstore.journal.last
    assert (entry.status, entry.outcome, entry.response_body) == (200, None, b"one two three")
    assert source.closed.wait(PATIENCE)


@pytest.mark.parametrize("end", ["close", "stop", "reset"])
def test_an_endless_response_ends_with_its_client_a_stop_and_a_reset(
    petstore: PetStoreMock, send: Send, end: str
) -> None:
    source = Source(b"first ", endless=True)
    petstore.httpserver.expect_request("/endless").respond_with_handler(source)
    received = send("GET", "/endless")
    assert next(received.parts).startswith(b"first")
    {"close": received.close, "stop": petstore.stop, "reset": petstore.reset}[end]()
    source.wanted.release(3)
    assert end == "close" or ends_early(received)
    assert source.closed.wait(PATIENCE)
    if end != "reset":
        eventually(lambda: not petstore.journal.last.in_flight, "the end of the response")
        assert petstore.journal.last.outcome in {"client gone", "reset"}


def test_a_large_stream_is_not_collected(petstore: PetStoreMock, send: Send) -> None:
    """The journal keeps its first 64 KiB."""
    petstore.httpserver.expect_request("/large").respond_with_handler(lambda _: Response(iter([b"x" * 50_000] * 40)))
    assert len(body_of(send("GET", "/large"))) == 2_000_000
    eventually(lambda: not petstore.journal.last.in_flight, "the end of the response")
    entry = petstore.journal.last
    assert (len(entry.response_body), entry.response_size) == (65_536, 2_000_000)


def test_an_exception_within_a_stream_cuts_the_response_and_fails_the_test(petstore: PetStoreMock, send: Send) -> None:
    source = Source(b"first ", error=ZeroDivisionError("mine"))
    petstore.httpserver.expect_request("/broken").respond_with_handler(source)
    received = send("GET", "/broken")
    assert ends_early(received)
    with pytest.raises(VerificationError, match="mine"):
        petstore.verify()
    assert (petstore.journal.last.status, petstore.journal.last.outcome) == (200, "truncated")
    petstore.reset()


def test_head_of_a_streamed_response_ends_at_once(petstore: PetStoreMock, send: Send) -> None:
    source = Source(endless=True)
    petstore.httpserver.expect_request("/endless").respond_with_handler(source)
    received = send("HEAD", "/endless")
    assert (received.status, body_of(received)) == (200, b"")
    assert source.closed.wait(PATIENCE)


# The journal


def test_a_response_of_an_expectation_is_announced_when_it_is_complete(petstore: PetStoreMock, send: Send) -> None:
    announced: list[tuple[int | None, bool]] = []
    petstore.journal.listen(lambda exchange: announced.append((exchange.status, exchange.in_flight)))
    petstore.httpserver.expect_request("/a").respond_with_data("a", status=202)
    assert body_of(send("GET", "/a")) == b"a"
    assert announced == [(None, True), (202, False)]
