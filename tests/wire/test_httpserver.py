"""``httpserver``: the expectations of pytest-httpserver for paths without a route, such as those of §4.4."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer, RequestMatcher
from werkzeug import Request, Response

from petstore_mock import PetStoreMock, VerificationError
from tests.wire.raw import KEY, PATIENCE, Raw, eventually, get, post

ORDERS = "/v1/store/orders"


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(api_key=KEY) as petstore:
        yield petstore


@pytest.fixture
def server(petstore: PetStoreMock) -> HTTPServer:
    return petstore.httpserver


@pytest.fixture
def client(petstore: PetStoreMock) -> Iterator[Raw]:
    with Raw(petstore) as client:
        yield client


def bodies(client: Raw, *targets: str) -> list[bytes]:
    """Send a GET to each target; return the bodies of the expectations, or an empty one for a 404 of the fake."""
    received = [client.call(get(target)) for target in targets]
    return [b"" if one.status == 404 else one.body for one in received]


# Matching


def test_expectation_serves_a_path_without_a_route(petstore: PetStoreMock, server: HTTPServer, client: Raw) -> None:
    assert (isinstance(server, HTTPServer), server.is_running(), server.url_for("/v1")) == (True, True, petstore.url)
    petstore.clock.freeze()
    petstore.clock.travel_to("2030-12-04T00:00:00")
    server.expect_request(ORDERS).respond_with_json([1], status=202, headers={"X-A": "b"})
    received = client.call(get(f"{ORDERS}?x=y"))
    assert (received.status, received.json(), received.fields["x-a"]) == (202, [1], "b")
    assert received.fields["date"] == "Wed, 04 Dec 2030 00:00:00 GMT"
    assert [client.call(get(target)).status for target in ("/v1/store", "//[")] == [404, 404]
    entry = petstore.journal[0]
    assert (entry.target, entry.status, entry.by_expectation) == (f"{ORDERS}?x=y", 202, True)
    assert (entry.response_body, entry.is_violation, entry.operation) == (received.body, False, None)
    server.assert_request_made(RequestMatcher(ORDERS))
    server.check()


def test_expectation_does_not_override_the_paths_of_the_fake(server: HTTPServer, client: Raw) -> None:
    server.expect_request(re.compile(".*")).respond_with_data("never", status=299)
    for target in ("/v1/pets", "/v1/pets?x=1", "/v1/p%65ts", "/v1/pets/1", "/v1/pets/x"):
        assert client.call(get(target)).status in {200, 400, 404}
        assert client.call(get(target, method="PUT")).status == 405
    assert server.log == []


def test_handler_sees_the_whole_request(server: HTTPServer, client: Raw) -> None:
    seen: list[Request] = []

    def respond(request: Request) -> Response:
        seen.append(request)
        return Response("ok")

    server.expect_request("/a/ü", query_string={"x": "ü"}, headers={"X-One": "1, 2"}).respond_with_handler(respond)
    for version in (b"1.1", b"1.0"):
        client.send(
            b"POST /a/%%C3%%BC?x=%%C3%%BC HTTP/%b\r\nHost: h.example:81\r\nCookie: a=1; b=2\r\nX_Spoof: 1\r\n"
            b"X-One: 1\r\nx-one: 2\r\nAuthorization: Bearer k\r\nContent-Length: 3\r\n\r\nabc" % version
        ).response()
    request = seen[0]
    assert (request.get_data(), request.args["x"], request.host) == (b"abc", "ü", "h.example:81")
    assert dict(request.cookies) == {"a": "1", "b": "2"}
    assert request.headers["Authorization"] == "Bearer k"
    assert "X-Spoof" not in request.headers
    assert [one.environ["SERVER_PROTOCOL"] for one in seen] == ["HTTP/1.1", "HTTP/1.0"]


def test_oneshot_and_ordered_expectations_are_used_up(server: HTTPServer, client: Raw) -> None:
    server.expect_oneshot_request("/a").respond_with_data("once")
    server.expect_ordered_request("/1").respond_with_data("one")
    server.expect_ordered_request("/2").respond_with_data("two")
    assert bodies(client, "/a", "/a") == [b"once", b""]
    assert bodies(client, "/other", "/1", "/1", "/other", "/2", "/2") == [b"", b"one", b"", b"", b"two", b""]
    server.check()


@pytest.mark.parametrize("how", ["clear", "reset"])
def test_unmet_ordered_expectation_fails_the_test_until_a_clear(
    petstore: PetStoreMock, server: HTTPServer, client: Raw, how: str
) -> None:
    server.expect_ordered_request("/1").respond_with_data("one")
    server.expect_ordered_request("/2").respond_with_data("two")
    assert bodies(client, "/2") == [b""]
    with pytest.raises(VerificationError, match=r"/1"):
        petstore.verify()
    server.clear()
    server.expect_oneshot_request("/never", headers=petstore.headers).respond_with_data("once")
    with pytest.raises(VerificationError, match="/never") as failure:
        petstore.verify()
    assert KEY not in str(failure.value)
    server.clear() if how == "clear" else petstore.reset()
    assert bodies(client, "/never", "/1") == [b"", b""]
    petstore.verify()


# The response


def test_handler_does_not_change_the_framing(server: HTTPServer, client: Raw) -> None:
    headers = {"Transfer-Encoding": "chunked", "Connection": "x", "Content-Length": "99", "Date": "never"}
    headers["Keep-Alive"] = "timeout=9"
    server.expect_request("/a").respond_with_data("hi", headers=headers)
    server.expect_request("/empty").respond_with_data(status=204)
    server.expect_request("/stream").respond_with_response(Response(iter([b"a", b"b"])))
    received = client.call(get("/a"))
    assert (received.body, set(received.fields)) == (b"hi", {"date", "content-type", "content-length"})
    assert received.fields["date"] != "never"
    assert "content-length" not in client.call(get("/empty")).fields
    assert bodies(client, "/stream") == [b"ab"]
    assert client.call(get("/a", method="HEAD")).fields["content-length"] == "2"
    assert client.call(get("/a", version="1.0")).fields["connection"] == "close"
    assert client.is_closed()


def test_body_for_an_expectation_may_be_large_and_wait_for_100_continue(server: HTTPServer, client: Raw) -> None:
    server.expect_request("/big").respond_with_handler(lambda request: Response(str(len(request.get_data()))))
    body = b"a" * 3_000_000
    assert client.call(get("/big", "Content-Length: 2", "Expect: 100-continue", method="POST")).status == 100
    assert client.send(b"hi").response().body == b"2"
    assert client.call(post(body).replace(b"/v1/pets", b"/big")).body == b"3000000"
    assert client.call(post(body)).status == 413


# Exceptions in handlers and matchers


@pytest.mark.parametrize(
    "error",
    [ZeroDivisionError("mine"), AssertionError("mine"), pytest.fail.Exception("mine"), SystemExit("mine")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("whose", ["handler", "matcher"])
def test_exception_in_a_handler_or_matcher_is_500_and_fails_the_test(
    petstore: PetStoreMock, client: Raw, error: BaseException, whose: str
) -> None:
    def fail(*_: object) -> Any:
        raise error

    petstore.inject(404, on="getPet", times=1)
    expected = petstore.httpserver.expect_request(
        "/a", headers={"X": "y"}, header_value_matcher=fail if whose == "matcher" else None
    )
    expected.respond_with_handler(fail) if whose == "handler" else expected.respond_with_data("a")
    assert client.call(get("/a", "X: y")).status == 500
    with pytest.raises(VerificationError, match=r"(?s)never fired.*mine"):
        petstore.verify()
    petstore.cancel_faults()
    petstore.reset()


# Handlers that wait


class Gate:
    """A handler that waits until it is opened."""

    def __init__(self, error: Exception | None = None) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        self.error = error

    def __call__(self, _: Request) -> Response:
        self.entered.set()
        self.opened.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return Response("at last")


def test_handler_that_waits_blocks_only_its_own_connection(
    petstore: PetStoreMock, server: HTTPServer, client: Raw
) -> None:
    gate = Gate()
    server.expect_request("/block").respond_with_handler(gate)
    with Raw(petstore) as other:
        client.call(get("/v1/pets/7"))  # the service caches the request
        client.send(get("/block") + get("/v1/pets/7"))
        assert gate.entered.wait(PATIENCE)
        assert [other.call(get()).status for _ in range(20)] == [200] * 20
    client.half_close()
    assert [entry.target for entry in petstore.journal].count("/v1/pets/7") == 1
    gate.opened.set()
    assert client.response().body == b"at last"
    assert client.response().status == 404
    assert client.is_closed()
    blocked = next(entry for entry in petstore.journal if entry.target == "/block")
    assert blocked.duration > 0


def test_client_may_close_while_its_handler_waits(petstore: PetStoreMock, server: HTTPServer) -> None:
    gate = Gate()
    server.expect_request("/a").respond_with_handler(gate)
    client = Raw(petstore).send(get("/a"))
    assert gate.entered.wait(PATIENCE)
    client.reset()
    gate.opened.set()
    eventually(lambda: petstore.journal[-1].status == 200, "the response journalled")


@pytest.mark.parametrize("error", [ValueError("boom"), AssertionError("boom"), None], ids=repr)
def test_handler_that_ends_after_a_clear_leaves_nothing_behind(
    server: HTTPServer, client: Raw, error: Exception | None
) -> None:
    """The handler belongs to the earlier test and must not fail the next one."""
    gate = Gate(error)
    server.expect_request("/a").respond_with_handler(gate)
    client.send(get("/a"))
    assert gate.entered.wait(PATIENCE)
    server.clear()
    gate.opened.set()
    assert client.response().status == (200 if error is None else 500)
    server.check()
    assert server.log == []


def test_stop_waits_for_no_handler(petstore: PetStoreMock, server: HTTPServer, client: Raw) -> None:
    gate = Gate()
    server.expect_request("/a").respond_with_handler(gate)
    client.send(get("/a"))
    assert gate.entered.wait(PATIENCE)
    began = time.perf_counter()
    petstore.stop()
    assert time.perf_counter() - began < 0.2
    gate.opened.set()
