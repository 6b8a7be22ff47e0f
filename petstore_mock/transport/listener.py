"""The listener: pytest-httpserver's expectation API on top, our own wire beneath.

An expectation answers what it matches, but never a request that is reserved for the fake, such as those for its own
paths; everything else goes to the fake. The base class's no-match path is never taken: there, one request for the fake
while an ordered expectation is pending would fail the server for good.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from petstore_mock.common.wording import counted
from petstore_mock.errors import PetStoreMockError
from petstore_mock.messages.response import Head
from petstore_mock.transport.environ import environ_of
from petstore_mock.transport.server import WireServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from pytest_httpserver import RequestHandler, RequestMatcher

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.transport.handler import Handler
    from petstore_mock.transport.mounted import MountedApp
    from petstore_mock.transport.tls_connection import ServerTls

    ToAnswer: TypeAlias = Callable[[], tuple[Head, bytes]]

__all__ = ["Listener"]

# Of the log, and of what went wrong: a test that looks back further than this has lost sight of it, and a million
# requests must not fill the memory. The journal keeps as many.
_KEPT_REQUESTS: Final = 10_000
_KEPT_BYTES: Final = 32 * 1024 * 1024
_KEPT_PROBLEMS: Final = 100

_OURS: Final = frozenset(
    {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}
)  # the wire's to say


class Listener(HTTPServer):
    """Serves a handler on a port; ``expect_request`` and its like stub what the handler does not know.

    Its log keeps the newest 10,000 requests, or 32 MiB of bodies. A question that earlier ones could decide raises.

    Args:
        handler: the core.
        host: where to listen.
        port: 0 for any free port; it is kept over a stop and a start, as a service that restarts keeps its own.
        tls: how it speaks TLS; None for plain HTTP.
        mounted: a WSGI application of paths of its own.
        reserved: says of a request that it is for the handler, whatever an expectation may match.

    Attributes:
        wire: the server beneath.
    """

    def __init__(
        self,
        handler: Handler,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        tls: ServerTls | None = None,
        mounted: MountedApp | None = None,
        reserved: Callable[[ApiRequest], bool] | None = None,
    ) -> None:
        super().__init__(host=host, port=port, ssl_context=None if tls is None else tls.context)
        self._logging = threading.Lock()
        self._sizes: deque[int] = deque()  # of the bodies of each request in the log
        self._size = 0  # of all of them
        self._logged = 0  # in all: those in the log, and those that are gone
        self._reserved = reserved
        self._clears = 0  # how often the expectations began anew
        self.wire = WireServer(handler, host, port, expectations=_ListenerExpectations(self), mounted=mounted, tls=tls)

    def is_running(self) -> bool:
        """Say whether it listens."""
        return self.wire.is_running

    def start(self) -> None:
        """Bind, and serve from a thread of its own.

        Raises:
            PetStoreMockError: the port is taken or the address is none of this machine's, or it listens already.
        """
        self.wire.start()
        self.port = self.wire.port

    def stop(self) -> None:
        """Close the port and every connection, whatever is held there; harmless when it does not listen."""
        self.wire.stop()

    def close_connections(self, numbers: frozenset[int] | None = None) -> None:
        """Close the kept connections that are idle, or those of ``numbers``; it is done when this returns."""
        self.wire.close_connections(numbers)

    @property
    def open_connections(self) -> int:
        """How many connections are open."""
        return self.wire.open_connections

    def match(self, request: ApiRequest) -> ToAnswer | None:
        """Find the expectation that answers ``request``, and use it up if it is meant for one request only."""
        if self._reserved is not None and self._reserved(request):
            return None
        environ = environ_of(request, self.host, self.port)
        asked = Request(environ)
        asked.get_data()
        try:
            expectation = self._take(asked)
        except BaseException as error:  # noqa: BLE001  # a matcher that the test's author wrote; as in _answer()
            self._note_error(error)
            failure = _plain(500, f"a matcher raised {type(error).__name__}: {error}")
            return lambda: failure
        if expectation is None:
            return None
        clears = self._clears
        return lambda: self._answer(expectation, asked, clears)

    def clear(self) -> None:
        """Forget the expectations, and what went wrong with them; a handler that is still at work is not heard."""
        self._clears += 1
        super().clear()

    def _take(self, asked: Request) -> RequestHandler | None:
        """Choose as the base class does: the pending ordered one, then those for one request, then the lasting."""
        ordered, oneshot = self.ordered_handlers, self.oneshot_handlers
        if ordered and ordered[0].matcher.match(asked):
            expectation = ordered.pop(0)
            self._update_waiting_result()
            return expectation
        found = oneshot.match(asked)
        if found is not None:
            oneshot.remove(found)
            self._update_waiting_result()
            return found
        found = self.handlers.match(asked)
        if found is None and any(later.matcher.match(asked) for later in ordered[1:]):
            self.add_assertion(f"expected first: {ordered[0].matcher!r}; got {asked.method} {asked.full_path}")
        return found

    def _answer(self, expectation: RequestHandler, asked: Request, clears: int) -> tuple[Head, bytes]:
        """Call what the test's author registered; what it raises is kept for ``check`` and answered 500.

        What it raises after a :meth:`clear` is of an earlier test, and not kept for the present one.
        """
        try:
            response: Any = expectation.respond(asked)
            if not isinstance(response, Response):
                response = Response(response)
            answer = _framed(response, asked)
        except AssertionError as error:
            if clears == self._clears:
                self.add_assertion(error)
            return _plain(500, f"an assertion failed: {error}")
        except BaseException as error:  # noqa: BLE001  # pytest.fail() raises no Exception; all belong to the test
            if clears == self._clears:
                self._note_error(error)
            return _plain(500, f"the handler raised {type(error).__name__}: {error}")
        if clears == self._clears:
            self._note(asked, response, len(asked.get_data()) + len(answer[1]))
        return answer

    def _note(self, asked: Request, response: Response, size: int) -> None:
        """Put an exchange into the log, and let the oldest ones go."""
        with self._logging:
            log, sizes = self.log, self._sizes
            log.append((asked, response))
            sizes.append(size)
            self._size += size
            self._logged += 1
            while len(log) > 1 and (len(log) > _KEPT_REQUESTS or self._size > _KEPT_BYTES):
                del log[0]
                self._size -= sizes.popleft()

    def clear_log(self) -> None:
        """Forget the requests that the expectations answered."""
        with self._logging:
            super().clear_log()
            self._sizes.clear()
            self._size = self._logged = 0

    def add_assertion(self, obj: str | AssertionError) -> None:
        """Keep what went wrong for ``check``; of a million requests, no more than the first."""
        if len(self.assertions) < _KEPT_PROBLEMS:
            super().add_assertion(obj)

    def _note_error(self, error: BaseException) -> None:
        if len(self.handler_errors) < _KEPT_PROBLEMS:
            self.handler_errors.append(error)  # type: ignore[arg-type]  # pytest.fail() raises no Exception

    def iter_matching_requests(self, matcher: RequestMatcher) -> Iterable[tuple[Request, Response]]:
        """Return the requests of the log that match, with their answers; the base class's assertions ask here.

        Raises:
            PetStoreMockError: earlier requests are gone, which may have matched as well.
        """
        gone = self._logged - len(self.log)
        if gone > 0:
            raise PetStoreMockError(
                f"expected a question that the latest {len(self.log)} requests of httpserver can answer; its log keeps "
                f"{_KEPT_REQUESTS} requests or {_KEPT_BYTES >> 20} MiB, and {counted(gone, 'earlier one')} "
                f"{'is' if gone == 1 else 'are'} gone: ask sooner, or reset() or httpserver.clear_log() in between"
            )
        return super().iter_matching_requests(matcher)


class _ListenerExpectations:
    """A listener's expectations, as the wire asks for them."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.match = listener.match

    def expected(self) -> bool:
        listener = self._listener
        return bool(listener.handlers or listener.oneshot_handlers or listener.ordered_handlers)


def _framed(response: Response, asked: Request) -> tuple[Head, bytes]:
    response.direct_passthrough = False
    body = response.get_data()
    fields = [
        field for field in response.get_wsgi_headers(asked.environ).to_wsgi_list() if field[0].lower() not in _OURS
    ]
    response.close()
    return Head(response.status_code, fields), body


def _plain(status: int, text: str) -> tuple[Head, bytes]:
    return Head(status, [("Content-Type", "text/plain; charset=utf-8")]), f"{text}\n".encode()
