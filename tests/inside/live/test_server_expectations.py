"""pytest-httpserver's expectations in front of the handler: what they match is theirs, everything else is not."""

from __future__ import annotations

import io
import re
import threading
import time
import urllib.parse
from typing import TYPE_CHECKING

import pytest
from pytest_httpserver import HTTPServer, RequestMatcher
from werkzeug import Request, Response

from petstore_mock import PetStoreMock
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.messages.response import ApiResponse
from petstore_mock.transport.listener import Listener
from tests.inside.live.raw import DATE, Answer, Echo, RawClient, answer, eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import Head


class Journalling(Echo):
    """A handler that takes note of what expectations answer, as the core does."""

    def __init__(self) -> None:
        super().__init__()
        self.matched: list[tuple[str, int, Sequence[tuple[str, str]], bytes]] = []

    def expectation_matched(self, request: ApiRequest) -> Callable[[Head, bytes], ApiResponse]:
        def answer(head: Head, body: bytes) -> ApiResponse:
            self.matched.append((request.target, head.status, head.fields, body))
            return ApiResponse(head, body, DATE)

        return answer


class Gate:
    """A handler that waits until it is opened; how many threads there are would not tell that it does."""

    def __init__(self, error: Exception | None = None) -> None:
        self.thread: threading.Thread | None = None
        self._error = error
        self._opened = threading.Event()

    def __call__(self, _: Request) -> Response:
        self.thread = threading.current_thread()
        self._opened.wait(5)
        if self._error is not None:
            raise self._error
        return Response("at last")

    def await_entry(self) -> None:
        eventually(lambda: self.thread is not None, "the handler called")

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def core() -> Journalling:
    return Journalling()


@pytest.fixture
def listener(core: Journalling) -> Iterator[Listener]:
    with Listener(core) as listener:
        yield listener


@pytest.fixture
def client(listener: Listener) -> Iterator[RawClient]:
    with RawClient(listener) as client:
        yield client


def post(client: RawClient, target: str, body: bytes, *fields: str) -> Answer:
    lines = "".join(f"{field}\r\n" for field in fields)
    head = f"POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{lines}\r\n"
    return client.send(head.encode() + body).answer()


# The listener


def test_listener_is_an_httpserver(listener: Listener) -> None:
    assert isinstance(listener, HTTPServer)
    assert listener.is_running()
    assert listener.url_for("/v1") == f"http://127.0.0.1:{listener.port}/v1"


def test_without_expectations_everything_is_the_handlers(client: RawClient, core: Journalling) -> None:
    assert post(client, "/a", b"hello").body == b"hello"
    assert core.last.target == "/a"


def test_taken_port_raises_and_exits_nothing(listener: Listener, core: Journalling) -> None:
    with pytest.raises(PetStoreMockError, match=f"port={listener.port}"):
        Listener(core, port=listener.port).start()


def test_listener_can_stop_and_start_again(listener: Listener) -> None:
    port = listener.port
    listener.stop()
    assert not listener.is_running()
    listener.stop()
    listener.start()
    assert listener.port == port
    with RawClient(listener) as client:
        assert client.get().status == 200


def test_listener_closes_idle_connections(listener: Listener, client: RawClient) -> None:
    client.get()
    assert listener.open_connections == 1
    listener.close_connections()
    assert client.is_closed()
    assert listener.open_connections == 0


# Which expectation


def test_matching_expectation_wins_over_the_handler(listener: Listener, client: RawClient, core: Journalling) -> None:
    listener.expect_request("/v1/store/orders").respond_with_json([1], status=202, headers={"X-A": "b"})
    got = client.get("/v1/store/orders?x=y")
    assert (got.status, got.body, got.fields["x-a"]) == (202, b"[\n    1\n]", "b")
    assert got.fields["content-type"] == "application/json"
    assert got.fields["date"] == DATE.decode()
    assert core.requests == []
    assert client.get("/v1/store").status == 200
    assert [request.target for request in core.requests] == ["/v1/store"]
    listener.check()


def test_expectations_are_told_apart_by_all_that_was_sent(listener: Listener, client: RawClient) -> None:
    body = "grüße".encode()
    listener.expect_request("/a", method="PUT").respond_with_data("method")
    listener.expect_request("/a b/ü", query_string={"q": "ü"}).respond_with_data("path")
    listener.expect_request("/a", headers={"X-One": "1,2", "Content-Type": "text/x"}).respond_with_data("fields")
    listener.expect_request(re.compile("/a"), data=body).respond_with_data("body")
    listener.expect_request("/a", json={"a": 1}).respond_with_data("json")
    assert client.get("/a").body == b""
    assert client.get("/a%20b/%C3%BC?q=%C3%BC").body == b"path"
    assert client.send(b"PUT /a HTTP/1.1\r\nHost: x\r\n\r\n").answer().body == b"method"
    assert client.get("/a", "X-One: 1", "x-one: 2", "Content-Type: text/x").body == b"fields"
    assert post(client, "/a", body).body == b"body"
    assert post(client, "/a", b' {"a":1}').body == b"json"


def test_handler_sees_the_whole_request(listener: Listener, client: RawClient) -> None:
    seen: list[Request] = []

    def respond(request: Request) -> Response:
        seen.append(request)
        return Response("ok")

    listener.expect_request("/a").respond_with_handler(respond)
    client.send(
        b"POST /a?x=%31 HTTP/1.1\r\nHost: h.example:81\r\nCookie: a=1\r\nCookie: b=2\r\nX_Spoof: 1\r\n"
        b"Authorization: Bearer k\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    ).answer()
    request = seen[0]
    assert request.get_data() == b"abc"
    assert request.args["x"] == "1"
    assert request.host == "h.example:81"
    assert dict(request.cookies) == {"a": "1", "b": "2"}
    assert request.headers["Authorization"] == "Bearer k"
    assert "X-Spoof" not in request.headers
    assert request.content_length == 3


def test_answer_that_streams_a_file_is_sent_and_closed(listener: Listener, client: RawClient) -> None:
    """As flask's send_file() and the like make it."""
    closed = []
    response = Response(io.BytesIO(b"a file"), direct_passthrough=True)
    response.call_on_close(lambda: closed.append(True))
    listener.expect_request("/a").respond_with_response(response)
    assert client.get("/a").body == b"a file"
    assert closed


def test_oneshot_answers_once_and_then_the_handler_does(listener: Listener, client: RawClient) -> None:
    listener.expect_oneshot_request("/a").respond_with_data("once")
    assert [client.get("/a").body for _ in range(2)] == [b"once", b""]


def test_ordered_expectations_are_met_in_order_whatever_lies_between(listener: Listener, client: RawClient) -> None:
    """The base class would fail every request from the first that is not the expected one."""
    listener.expect_ordered_request("/1").respond_with_data("one")
    listener.expect_ordered_request("/2").respond_with_data("two")
    bodies = [client.get(target).body for target in ("/other", "/1", "/1", "/other", "/2", "/2")]
    assert bodies == [b"", b"one", b"", b"", b"two", b""]
    assert not listener.permanently_failed
    assert listener.ordered_handlers == []
    listener.check()


def test_ordered_expectation_out_of_turn_is_an_assertion(listener: Listener, client: RawClient) -> None:
    listener.expect_ordered_request("/1").respond_with_data("one")
    listener.expect_ordered_request("/2").respond_with_data("two")
    assert client.get("/2").body == b""
    with pytest.raises(AssertionError, match=r"expected first: .*/1.*; got GET /2"):
        listener.check()


def test_lasting_expectation_takes_what_an_ordered_one_waits_for_in_vain(listener: Listener, client: RawClient) -> None:
    listener.expect_ordered_request("/1").respond_with_data("one")
    listener.expect_ordered_request("/2").respond_with_data("two")
    listener.expect_request("/2").respond_with_data("any time")
    assert client.get("/2").body == b"any time"
    listener.check()


def test_clear_takes_all_expectations_away(listener: Listener, client: RawClient) -> None:
    listener.expect_request("/a").respond_with_data("a")
    listener.expect_ordered_request("/b").respond_with_data("b")
    listener.clear()
    assert client.get("/a").body == client.get("/b").body == b""


def test_baked_expectations_work(listener: Listener, client: RawClient) -> None:
    listener.bake(method="PUT").expect_request("/a").respond_with_data("baked")
    assert client.get("/a").body == b""
    assert client.send(b"PUT /a HTTP/1.1\r\nHost: x\r\n\r\n").answer().body == b"baked"


# What becomes of the answer


def test_answers_of_expectations_are_journalled_and_logged(
    listener: Listener, client: RawClient, core: Journalling
) -> None:
    listener.expect_request("/a").respond_with_data("hi", status=418, content_type="text/x")
    client.get("/a?b")
    target, status, fields, body = core.matched[0]
    assert (target, status, body) == ("/a?b", 418, b"hi")
    assert ("Content-Type", "text/x") in fields
    listener.assert_request_made(RequestMatcher("/a"))
    with pytest.raises(AssertionError):
        listener.assert_request_made(RequestMatcher("/b"))


@pytest.mark.parametrize(
    ("bound", "most", "kept"), [("_KEPT_REQUESTS", 3, 3), ("_KEPT_BYTES", 25, 2), ("_KEPT_BYTES", 5, 1)]
)
def test_log_keeps_the_newest_and_never_tells_half_the_truth(
    listener: Listener, client: RawClient, monkeypatch: pytest.MonkeyPatch, bound: str, most: int, kept: int
) -> None:
    """A million requests must not fill the memory, and a count of those that are left is none of all."""
    monkeypatch.setattr(f"petstore_mock.transport.listener.{bound}", most)
    listener.expect_request("/a").respond_with_data("ten bytes.")
    for number in range(kept):
        client.get(f"/a?{number}")
    listener.assert_request_made(RequestMatcher("/a"), count=kept)
    for number in range(kept, 5):
        client.get(f"/a?{number}")
    assert [request.query_string for request, _ in listener.log] == [b"%d" % number for number in range(5 - kept, 5)]
    with pytest.raises(PetStoreMockError, match=rf"the latest {kept} requests .* {5 - kept} earlier ones are gone"):
        listener.assert_request_made(RequestMatcher("/a"), count=kept)
    listener.clear_log()
    client.get("/a")
    listener.assert_request_made(RequestMatcher("/a"))


@pytest.mark.parametrize("fails", ["handler", "assertion", "matcher", "order"])
def test_what_goes_wrong_with_each_of_many_requests_is_kept_of_the_first(
    listener: Listener, client: RawClient, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    monkeypatch.setattr("petstore_mock.transport.listener._KEPT_PROBLEMS", 3)

    def refuse(_: Request) -> Response:
        raise AssertionError

    if fails == "order":
        listener.expect_ordered_request("/first").respond_with_data("")
        listener.expect_ordered_request("/a").respond_with_data("")
    elif fails == "matcher":
        listener.expect_request("/a").respond_with_data("")
        monkeypatch.setattr(RequestMatcher, "match", lambda *_: 1 / 0)
    else:
        listener.expect_request("/a").respond_with_handler((lambda _: 1 / 0) if fails == "handler" else refuse)  # type: ignore[arg-type,return-value]
    for _ in range(5):
        client.get("/a")
    assert len(listener.handler_errors) + len(listener.assertions) == 3


def test_handler_is_told_which_version_of_http_was_spoken(listener: Listener, client: RawClient) -> None:
    listener.expect_request("/a").respond_with_handler(lambda asked: Response(asked.environ["SERVER_PROTOCOL"]))
    assert client.get("/a").body == b"HTTP/1.1"
    assert client.send(b"GET /a HTTP/1.0\r\n\r\n").answer().body == b"HTTP/1.0"


@pytest.mark.parametrize("came", [lambda _: 1 / 0, lambda _: lambda *_: 1 / 0], ids=["at first", "when answered"])
def test_failure_in_the_journal_is_answered_500(
    listener: Listener, client: RawClient, core: Journalling, monkeypatch: pytest.MonkeyPatch, came: object
) -> None:
    monkeypatch.setattr(core, "expectation_matched", came)
    listener.expect_request("/a").respond_with_data("hi")
    assert client.get("/a").status == 500
    condition, detail, request = core.refusals[0]
    assert (condition, detail) == ("internal_error", "ZeroDivisionError: division by zero")
    assert request is not None
    assert request.target == "/a"


def test_framing_is_the_wires_whatever_the_handler_says(listener: Listener, client: RawClient) -> None:
    headers = {"Transfer-Encoding": "chunked", "Connection": "x", "Content-Length": "99", "Date": "never"}
    listener.expect_request("/a").respond_with_data("hi", headers=headers)
    listener.expect_request("/empty").respond_with_data(status=204)
    got = client.get("/a")
    assert got.body == b"hi"
    assert got.fields.keys() == {"date", "content-type", "content-length"}
    assert got.fields["date"] != "never"
    assert "content-length" not in client.get("/empty").fields
    assert client.send(b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n").answer("HEAD").fields["content-length"] == "2"
    assert client.send(b"GET /a HTTP/1.0\r\n\r\n").answer().fields["connection"] == "close"
    assert client.is_closed()


def test_text_none_and_streams_are_answers(listener: Listener, client: RawClient) -> None:
    listener.expect_request("/text").respond_with_handler(lambda _: "text")  # type: ignore[arg-type,return-value]
    listener.expect_request("/none").respond_with_handler(lambda _: None)  # type: ignore[arg-type,return-value]
    listener.expect_request("/stream").respond_with_response(Response(iter([b"a", b"b"])))
    assert client.get("/text").body == b"text"
    assert client.get("/none").body == b""
    assert [client.get("/stream").body for _ in range(2)] == [b"ab", b"ab"]


def test_post_hooks_run(listener: Listener, client: RawClient) -> None:
    def hook(_: Request, response: Response) -> Response:
        response.headers["X-Hook"] = "1"
        return response

    listener.expect_request("/a").with_post_hook(hook).respond_with_data("a")
    assert client.get("/a").fields["x-hook"] == "1"


def test_redirects_stay_as_the_test_wrote_them(listener: Listener, client: RawClient) -> None:
    listener.expect_request("/a").respond_with_data("", status=302, headers={"Location": "/b"})
    assert urllib.parse.urlsplit(client.get("/a").fields["location"]).path == "/b"


# Failures belong to the test


def test_exception_in_a_handler_is_kept_and_answered_500(listener: Listener, client: RawClient) -> None:
    def respond(_: Request) -> Response:
        raise ZeroDivisionError("in the test")

    listener.expect_request("/a").respond_with_handler(respond)
    assert client.get("/a").status == 500
    with pytest.raises(ZeroDivisionError, match="in the test"):
        listener.check_handler_errors()
    listener.check()


def test_assertion_in_a_handler_is_kept_and_answered_500(listener: Listener, client: RawClient) -> None:
    def respond(request: Request) -> Response:
        assert request.method == "PUT"
        return Response()

    listener.expect_request("/a").respond_with_handler(respond)
    assert client.get("/a").status == 500
    with pytest.raises(AssertionError, match="PUT"):
        listener.check_assertions()


@pytest.mark.parametrize("error", [pytest.fail.Exception("on purpose"), SystemExit(1)])
def test_even_what_is_no_exception_is_kept(listener: Listener, client: RawClient, error: BaseException) -> None:
    def respond(_: Request) -> Response:
        raise error

    listener.expect_request("/a").respond_with_handler(respond)
    assert client.get("/a").status == 500
    with pytest.raises(type(error)):
        listener.check()


def test_expectation_without_a_response_is_an_error(listener: Listener, client: RawClient) -> None:
    listener.expect_request("/a")
    assert client.get("/a").status == 500
    with pytest.raises(Exception, match="no response defined"):
        listener.check()


def test_answer_that_http_does_not_allow_is_an_error(listener: Listener, client: RawClient) -> None:
    listener.expect_request("/a").respond_with_data("a", headers={"X-A": "snow \u2603"})
    assert client.get("/a").status == 500
    with pytest.raises(PetStoreMockError, match="X-A"):
        listener.check()


@pytest.mark.parametrize("error", [ZeroDivisionError("in the matcher"), pytest.fail.Exception("on purpose")])
def test_exception_in_a_matcher_is_kept_and_answered_500(
    listener: Listener, client: RawClient, error: BaseException
) -> None:
    def match(_name: str, _actual: str | None, _expected: str) -> bool:
        raise error

    listener.expect_request("/a", headers={"X": "y"}, header_value_matcher=match).respond_with_data("a")
    assert client.get("/a").status == 500
    with pytest.raises(type(error)):
        listener.check()
    listener.clear()
    assert client.get("/a").status == 200


@pytest.mark.parametrize("error", [pytest.fail.Exception("on purpose"), SystemExit("on purpose")])
def test_even_what_is_no_exception_is_one_of_several_problems(error: BaseException) -> None:
    def respond(_: Request) -> Response:
        raise error

    petstore = PetStoreMock()
    petstore.inject(404, on="getPet", times=1)
    petstore.httpserver.expect_request("/a").respond_with_handler(respond)
    with petstore.start(), RawClient(petstore.httpserver) as client:
        assert client.get("/a").status == 500
        with pytest.raises(VerificationError, match=r"(?s)never fired.*on purpose"):
            petstore.verify()
        with pytest.raises(VerificationError, match=r"never fired[^\n]*$"):
            petstore.verify()
        petstore.reset()


# Waiting


@pytest.mark.parametrize("targets", [("/2", "/fake", "/1"), ("/1", "/fake", "/2")])
def test_wait_ends_when_all_that_is_expected_came(
    listener: Listener, client: RawClient, targets: tuple[str, ...]
) -> None:
    listener.expect_ordered_request("/1").respond_with_data("one")
    listener.expect_oneshot_request("/2").respond_with_data("two")
    with listener.wait(timeout=5) as waiting:
        for target in targets:
            client.get(target)
    assert waiting.result
    assert waiting.elapsed_time < 4


def test_blocking_handler_blocks_its_own_connection_only(listener: Listener, core: Journalling) -> None:
    gate = threading.Event()

    def respond(_: Request) -> Response:
        gate.wait(5)
        return Response("at last")

    listener.expect_request("/block").respond_with_handler(respond)
    get = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"
    with RawClient(listener) as blocked, RawClient(listener) as other:
        blocked.send(get % b"/block" + get % b"/next")
        started = time.perf_counter()
        for _ in range(20):
            assert other.get("/free").status == 200
        assert time.perf_counter() - started < 1
        assert "/next" not in [request.target for request in core.requests]
        gate.set()
        assert blocked.answer().body == b"at last"
        assert blocked.answer().status == 200


def test_known_request_behind_a_blocking_handler_waits_for_it(
    listener: Listener, client: RawClient, core: Journalling
) -> None:
    """A head that was read before takes a shorter way, which must not lead past an answer in the making."""
    gate = threading.Event()
    for target in ("/block", "/next"):
        client.get(target)
    core.requests.clear()
    listener.expect_request("/block").respond_with_handler(lambda _: Response(str(gate.wait(5))))
    for target in ("/block", "/next"):
        client.send(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        with RawClient(listener) as other:
            other.get("/free")  # the server has read the line above by now
    assert [request.target for request in core.requests] == ["/free", "/free"]
    gate.set()
    assert client.answer().body == b"True"
    assert client.answer().status == 200


def test_half_closed_client_gets_its_answer(listener: Listener, client: RawClient) -> None:
    gate = threading.Event()
    listener.expect_request("/a").respond_with_handler(lambda _: Response(str(gate.wait(5))))
    client.send(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
    client.socket.shutdown(1)
    threading.Timer(0.02, gate.set).start()
    assert client.answer().body == b"True"
    assert client.is_closed()


def test_client_that_leaves_a_blocking_handler_is_survived(listener: Listener, core: Journalling) -> None:
    gate = Gate()
    listener.expect_request("/a").respond_with_handler(gate)
    with RawClient(listener) as client:
        client.send(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        gate.await_entry()
        client.reset()
        eventually(lambda: listener.open_connections == 0, "the connection closed")
    gate.open()
    eventually(lambda: len(core.matched) == 1, "the answer journalled")
    with RawClient(listener) as client:
        assert client.get("/b").status == 200


@pytest.mark.parametrize("error", [ValueError("boom"), AssertionError("boom"), None], ids=repr)
def test_handler_that_ends_after_a_clear_leaves_nothing_behind(
    listener: Listener, client: RawClient, error: Exception | None
) -> None:
    """It was the earlier test's, and the next one is not to answer for it."""
    gate = Gate(error)
    listener.expect_request("/a").respond_with_handler(gate)
    client.send(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
    gate.await_entry()
    listener.clear()
    gate.open()
    assert client.answer().status == (200 if error is None else 500)
    listener.check()
    assert listener.log == []


def test_stop_does_not_wait_for_a_blocking_handler(core: Journalling) -> None:
    gate = Gate()
    listener = Listener(core)
    listener.start()
    listener.expect_request("/a").respond_with_handler(gate)
    with RawClient(listener) as client:
        client.send(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        gate.await_entry()
        started = time.perf_counter()
        listener.stop()
        assert time.perf_counter() - started < 0.05
    gate.open()
    assert gate.thread is not None
    gate.thread.join(5)
    assert not gate.thread.is_alive()


# Bodies


def test_body_for_an_expectation_has_no_small_limit(listener: Listener, client: RawClient, core: Journalling) -> None:
    """The fake's limit is for the fake: whose the request is shows when the body has come."""
    core.limit = 100_000
    listener.expect_request("/big").respond_with_handler(lambda request: Response(str(len(request.get_data()))))
    assert post(client, "/big", b"a" * 3_000_000).body == b"3000000"
    assert post(client, "/fake", b"a" * 100_000).status == 200
    assert post(client, "/fake", b"a" * 100_001).status == 413
    assert core.last.oversized


def test_expectation_is_reached_with_100_continue(listener: Listener, client: RawClient, core: Journalling) -> None:
    core.admitted = False
    listener.expect_request("/a").respond_with_data("a")
    head = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    assert client.send(head).answer().status == 100
    assert client.send(b"hi").answer().body == b"a"


def test_core_still_answers_by_itself_when_nothing_matches(
    listener: Listener, client: RawClient, core: Journalling
) -> None:
    listener.expect_request("/a").respond_with_data("a")
    core.answers["/b"] = lambda _: answer(404, b"not here")
    assert client.get("/b").status == 404
    assert core.matched == []
    assert listener.log == []


def test_answer_of_an_expectation_is_of_the_fakes_time() -> None:
    with PetStoreMock(at="2030-12-06") as petstore:
        petstore.clock.freeze()
        petstore.httpserver.expect_request("/v1/store/orders").respond_with_json([])
        with RawClient(petstore.httpserver) as client:
            got = client.get("/v1/store/orders")
        assert got.fields["date"] == "Fri, 06 Dec 2030 00:00:00 GMT"
        assert petstore.journal.last.response_headers["date"] == got.fields["date"]


def test_journal_tells_how_long_an_expectation_took() -> None:
    def respond(_: Request) -> Response:
        time.sleep(0.05)
        return Response()

    with PetStoreMock() as petstore:
        petstore.httpserver.expect_request("/slow").respond_with_handler(respond)
        with RawClient(petstore.httpserver) as client:
            client.get("/slow")
        assert 0.05 <= petstore.journal.last.duration < 5
