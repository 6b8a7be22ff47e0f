"""``httpserver``: the expectations of pytest-httpserver for paths without a route, such as those of §4.4.

Requests bypass the dispatch of the base class. If the fake got a request while an ordered expectation is pending, that
dispatch would fail all later requests.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from pytest_httpserver import HTTPServer
from pytest_httpserver.httpserver import RequestHandlerList
from werkzeug import Request, Response
from werkzeug.test import EnvironBuilder

from petstore_mock.common.masking import cut
from petstore_mock.common.refusing import Stays
from petstore_mock.http.response import FRAMING, Head, StreamError, without_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pytest_httpserver import RequestHandler

    from petstore_mock.http.request import ApiRequest
    from petstore_mock.transport.server import Server

# The response of an expectation: its head, and its body or the parts of a streamed body.
Stubbed = tuple[Head, "bytes | Parts"]

# Characters of a matcher, whose repr has the whole expected body.
_SHOWN: Final = 500
# Keep-Alive may contradict the fake's Connection field.
_SET_BY_FAKE: Final = FRAMING | {"keep-alive"}
# These fields are wrong for the decoded body.
_LENGTHS: Final = ("content-length", "transfer-encoding")


class Listener(Stays, HTTPServer):
    """The ``HTTPServer`` of pytest-httpserver on top of the fake's server."""

    def __init__(self, server: Server) -> None:
        super().__init__(host=server.host, port=server.port)
        self._server = server
        # How often clear() was called.
        self._clears = 0

    def is_running(self) -> bool:
        return self._server.is_alive

    def start(self) -> None:
        self._server.start()

    def stop(self) -> None:
        self._server.stop()

    def clear(self) -> None:
        """Drop the expectations and their problems; a handler that still runs adds no more."""
        self._clears += 1
        super().clear()

    @property
    def expects(self) -> bool:
        """Whether there is any expectation."""
        return bool(self.handlers or self.oneshot_handlers or self.ordered_handlers)

    def match(self, request: ApiRequest) -> Callable[[], Stubbed] | None:
        """Return a function that makes the response of the matching expectation; None if no expectation matches."""
        asked = _as_werkzeug(request, self.url_for("/"))
        asked.get_data()
        clears = self._clears
        try:
            expectation = self._take(asked)
        except BaseException as error:  # the test's matcher raised; as in _respond()
            failure = self._failed(error, clears, "a matcher")
            return lambda: failure
        if expectation is None:
            return None
        return lambda: self._respond(expectation, asked, clears)

    def _take(self, asked: Request) -> RequestHandler | None:
        """Choose like the base class: the next ordered, then a one-shot, then a permanent expectation."""
        ordered = self.ordered_handlers
        candidates = [*ordered[:1], *self.oneshot_handlers, *self.handlers]
        expectation = RequestHandlerList(candidates).match(asked)
        if expectation is not None:
            for used_up in (ordered, self.oneshot_handlers):
                if expectation in used_up:
                    used_up.remove(expectation)
            self._update_waiting_result()
        elif RequestHandlerList(ordered[1:]).match(asked):
            expected = f"expected a request for {ordered[0].matcher!r} first"
            self.add_assertion(f"{expected}; got {asked.method} {asked.full_path}")
        return expectation

    def _respond(self, expectation: RequestHandler, asked: Request, clears: int) -> Stubbed:
        """Call the test's handler, in a thread. If it raises, the client gets a 500 and the test fails."""
        try:
            made: Any = expectation.respond(asked)
            response = made if isinstance(made, Response) else Response(made)
            # A file of werkzeug's send_file is passed through; it is read into the body, and so has a length.
            streams = response.is_streamed and not response.direct_passthrough
            response.direct_passthrough = False
            body = self._parts(response, asked, clears) if streams else response.get_data()
            fields = response.get_wsgi_headers(asked.environ).to_wsgi_list()
            if not streams:
                response.close()
            head = Head(response.status_code, without_fields(fields, _SET_BY_FAKE))
        except BaseException as error:  # pytest.fail() raises BaseException
            return self._failed(error, clears, "the handler")
        if clears == self._clears:
            self.log.append((asked, response))
        return head, body

    def _parts(self, response: Response, asked: Request, clears: int) -> Parts:
        """Return the parts of a streamed body, each as soon as the test's iterator returns it."""
        parts = response.get_app_iter(asked.environ)
        return Parts(iter(parts), response.close, lambda error: self._failed(error, clears, "the body of a response"))

    def _failed(self, error: BaseException, clears: int, whose: str) -> Stubbed:
        problems: list[Any] = self.assertions if isinstance(error, AssertionError) else self.handler_errors
        # Otherwise the error belongs to an earlier test.
        if clears == self._clears:
            problems.append(error)
        text = f"{whose} raised {type(error).__name__}: {error}\n"
        return Head(500, [("Content-Type", "text/plain; charset=utf-8")]), text.encode()

    def problems(self) -> list[str]:
        """Return failures and unmet expectations. Clear failures."""
        problems = [f"an assertion failed: {error}" for error in self.assertions]
        problems += [f"{type(error).__name__}: {error}" for error in self.handler_errors]
        problems += _unmet("an ordered expectation", self.ordered_handlers)
        problems += _unmet("an expectation for one request", self.oneshot_handlers)
        self.clear_assertions()
        self.clear_handler_errors()
        return [f"httpserver: {problem}" for problem in problems]


def _unmet(kind: str, expectations: Iterable[RequestHandler]) -> list[str]:
    return [f"{kind} was not met: {cut(repr(handler.matcher), _SHOWN)}" for handler in expectations]


class Parts:
    """The parts of a streamed body. An exception of the test's iterator fails the test, and ends the stream early."""

    def __init__(
        self, parts: Iterator[bytes], close: Callable[[], object], failed: Callable[[BaseException], object]
    ) -> None:
        self._parts = parts
        self._failed = failed
        self.close = close

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._parts)
        except StopIteration:
            raise
        except BaseException as error:
            self._failed(error)
            raise StreamError from error


def _as_werkzeug(request: ApiRequest, base_url: str) -> Request:
    path, _, query = request.target.partition("?")
    headers: list[tuple[str, str]] = []
    for name, value in request.fields.as_text():
        is_ambiguous = "_" in name
        if not is_ambiguous and name.lower() not in _LENGTHS:
            headers.append((name, value))
    builder = EnvironBuilder(
        base_url=base_url,
        query_string=query,
        method=request.method,
        input_stream=BytesIO(request.body),
        content_length=len(request.body),
        headers=headers,
        environ_overrides={"SERVER_PROTOCOL": request.version, "REQUEST_URI": request.target},
    )
    # The constructor would read an authority in //x/y.
    builder.path = path
    return builder.get_request()
