"""The listener: pytest-httpserver's expectation API on top, our own wire beneath.

What an expectation matches is answered by it, whatever the fake would say; everything else goes to the fake. The base
class's no-match path is never taken: there, one request for the fake while an ordered expectation is pending would
fail the server for good.
"""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from petstore_mock.messages.response import Head
from petstore_mock.transport.server import WireServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from pytest_httpserver import RequestHandler

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.transport.handler import Handler

    Answer: TypeAlias = Callable[[], tuple[Head, bytes]]

__all__ = ["Listener"]

_OURS: Final = frozenset(
    {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}
)  # the wire's to say


class Listener(HTTPServer):
    """Serves a handler on a port; ``expect_request`` and its like stub what the handler does not know.

    Args:
        handler: the core.
        host: where to listen.
        port: 0 for any free port; it is kept over a stop and a start, as a service that restarts keeps its own.
    """

    def __init__(self, handler: Handler, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host=host, port=port)
        self._clears = 0  # how often the expectations began anew
        self._wire = WireServer(handler, host, port, expectations=_ListenerExpectations(self))

    def is_running(self) -> bool:
        """Say whether it listens."""
        return self._wire.is_running

    def start(self) -> None:
        """Bind, and serve from a thread of its own.

        Raises:
            PetStoreMockError: the port is taken or the address is none of this machine's, or it listens already.
        """
        self._wire.start()
        self.port = self._wire.port

    def stop(self) -> None:
        """Close the port and every connection, whatever is held there; harmless when it does not listen."""
        self._wire.stop()

    def close_connections(self) -> None:
        """Close the kept connections that are idle; it is done when this returns."""
        self._wire.close_connections()

    @property
    def open_connections(self) -> int:
        """How many connections are open."""
        return self._wire.open_connections

    def match(self, request: ApiRequest) -> Answer | None:
        """Find the expectation that answers ``request``, and use it up if it is meant for one request only."""
        environ = _environ(request, self.host, self.port)
        asked = Request(environ)
        asked.get_data()
        try:
            expectation = self._take(asked)
        except BaseException as error:  # noqa: BLE001  # a matcher that the test's author wrote; as in _answer()
            self.handler_errors.append(error)  # type: ignore[arg-type]
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
                self.handler_errors.append(error)  # type: ignore[arg-type]
            return _plain(500, f"the handler raised {type(error).__name__}: {error}")
        if clears == self._clears:
            self.log.append((asked, response))
        return answer


class _ListenerExpectations:
    """A listener's expectations, as the wire asks for them."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.match = listener.match

    def expected(self) -> bool:
        listener = self._listener
        return bool(listener.handlers or listener.oneshot_handlers or listener.ordered_handlers)


def _environ(request: ApiRequest, host: str, port: int) -> dict[str, Any]:
    """Put ``request`` in the form that werkzeug reads (PEP 3333)."""
    path, _, query = request.target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "REQUEST_URI": request.target,
        "RAW_URI": request.target,
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "CONTENT_LENGTH": str(len(request.body)),
    }
    for raw, value in request.fields:
        name = raw.decode("latin-1").upper()
        if "_" in name or name in {"CONTENT-LENGTH", "TRANSFER-ENCODING"}:
            continue  # `_` and `-` would become one name; the body is decoded
        name = name.replace("-", "_")
        key = name if name == "CONTENT_TYPE" else f"HTTP_{name}"
        text = value.decode("latin-1")
        separator = "; " if name == "COOKIE" else ","
        environ[key] = f"{environ[key]}{separator}{text}" if key in environ else text
    return environ


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
