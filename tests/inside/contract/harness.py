"""One client for all doors: a request goes over WSGI (inside werkzeug's lint), over ASGI or over a real socket.

None is a client library: whatever a test writes as a target or a header arrives as it was written. Each answer is
held against what every answer owes (:func:`check_every_answer`) before a test sees it.
"""

from __future__ import annotations

import http.client
import io
import json
import re
import socket
import sys
import warnings
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote

from werkzeug.middleware.lint import HTTPWarning, LintMiddleware, WSGIWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from petstore_mock import PetStoreMock
    from petstore_mock.journal.entry import Entry

Fields = tuple[tuple[str, str], ...]

_FIXDATE = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    fields: Fields
    body: bytes

    def all(self, name: str) -> list[str]:
        return [value for field, value in self.fields if field.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        found = self.all(name)
        assert len(found) <= 1, f"{name} came {len(found)} times"
        return found[0] if found else None

    def json(self) -> Any:  # noqa: ANN401  # a JSON value is any value
        return json.loads(self.body)

    @property
    def message(self) -> str:
        message = self.json()["message"]
        assert isinstance(message, str)
        return message


class Transport(Protocol):
    """Carries a request to the fake as it is written."""

    name: str

    def send(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes | None) -> Answer: ...

    def close(self) -> None: ...


class WsgiTransport:
    """Calls the app with an environ built by hand."""

    name = "wsgi"

    def __init__(self, petstore: PetStoreMock) -> None:
        self._bare = petstore.app
        self._linted = LintMiddleware(petstore.app)

    def send(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes | None) -> Answer:
        path, _, query = target.partition("?")
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_URI": target,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "127.0.0.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body or b""),
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        if body is not None:
            environ["CONTENT_LENGTH"] = str(len(body))
        for name, value in headers:
            key = name.upper().replace("-", "_")
            key = key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"
            environ[key] = f"{environ[key]},{value}" if key in environ else value  # as CGI gateways fold
        # A target that begins with no slash is nothing that WSGI allows; a sloppy server passes it on all the same.
        app: Callable[..., Any] = self._linted if path.startswith("/") else self._bare
        started: list[tuple[str, list[tuple[str, str]]]] = []

        def start_response(status: str, fields: list[tuple[str, str]], _info: object = None) -> Callable[[bytes], None]:
            started.append((status, fields))
            return lambda _data: None

        with warnings.catch_warnings():
            # Three rules of the lint are no rules of HTTP: a 204 carries no Content-Length (RFC 9110 §8.6), the answer
            # to HEAD says how long the one to GET would be (§9.3.2), and Location may be relative (§10.2.2).
            warnings.filterwarnings("ignore", "Absolute URLs required for location header", HTTPWarning)
            warnings.filterwarnings("ignore", "204 responses must have an empty content length", HTTPWarning)
            if method == "HEAD":
                warnings.filterwarnings("ignore", "Content-Length and the number of bytes sent", WSGIWarning)
            parts = app(environ, start_response)
            try:
                content = b"".join(parts)
            finally:
                if hasattr(parts, "close"):
                    parts.close()
        ((status, fields),) = started
        return Answer(int(status.split()[0]), tuple(fields), content)

    def close(self) -> None:
        """Nothing is held."""


class AsgiTransport:
    """Calls the app with a scope built by hand. Nothing in it has to wait, so it needs no event loop."""

    name = "asgi"

    def __init__(self, petstore: PetStoreMock) -> None:
        self._app = petstore.asgi

    def send(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes | None) -> Answer:
        path, _, query = target.partition("?")
        fields = [("Host", "127.0.0.1"), *headers, *([] if body is None else [("Content-Length", str(len(body)))])]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "root_path": "",
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 80),
        }
        # In pieces, as a server reads them.
        pieces = [(body or b"")[at : at + 40_000] for at in range(0, max(1, len(body or b"")), 40_000)]
        received = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        received[-1] = {"type": "http.request", "body": pieces[-1]} if len(pieces) == 1 else received[-1]
        if len(pieces) > 1:
            received.append({"type": "http.request", "body": b"", "more_body": False})
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return received.pop(0)

        async def take(message: Any) -> None:  # noqa: ANN401  # a mapping, as ASGI has it
            sent.append(dict(message))

        running = self._app(scope, receive, take)
        try:
            running.send(None)
        except StopIteration:
            pass
        else:
            raise AssertionError("the app waits for something that nobody will give it")
        start, *rest = sent
        assert start["type"] == "http.response.start"
        assert all(message["type"] == "http.response.body" for message in rest)
        assert not rest[-1].get("more_body", False)
        assert all(name == name.lower() for name, _ in start["headers"])
        answered = tuple((_as_on_the_wire(name.decode("latin-1")), v.decode("latin-1")) for name, v in start["headers"])
        return Answer(start["status"], answered, b"".join(message["body"] for message in rest))

    def close(self) -> None:
        """Nothing is held."""


def _as_on_the_wire(name: str) -> str:
    """Write a name of ASGI, which has them all in lower case, as servers write it."""
    return "WWW-Authenticate" if name == "www-authenticate" else name.title()


class SocketTransport:
    """Writes requests on one kept connection."""

    name = "socket"

    def __init__(self, petstore: PetStoreMock) -> None:
        scheme, _, address = petstore.url.partition("://")
        host, _, port = address.partition("/")[0].partition(":")
        self._address = (host, int(port))
        self._tls = petstore.tls.client_context() if scheme == "https" else None
        self._socket: socket.socket | None = None

    def send(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes | None) -> Answer:
        fields = [("Host", f"{self._address[0]}:{self._address[1]}"), *headers]
        if body is not None:
            fields.append(("Content-Length", str(len(body))))
        head = "\r\n".join([f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields)])
        return self.send_raw(f"{head}\r\n\r\n".encode("latin-1") + (body or b""), method)

    def send_raw(self, data: bytes, method: str = "GET") -> Answer:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=5)
            # Else the first request waits 40 ms for an acknowledgement of the handshake that the other side delays.
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                self._socket = self._tls.wrap_socket(self._socket, server_hostname=self._address[0])
        self._socket.sendall(data)
        response = http.client.HTTPResponse(self._socket, method=method)
        try:
            response.begin()
            content = response.read()
            fields = tuple((name, str(value)) for name, value in response.getheaders())
            if response.will_close:
                self.close()
        finally:
            response.close()
        return Answer(response.status, fields, content)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Service:
    """A fake and the way to it.

    Attributes:
        petstore: the object that users hold.
        over: ``wsgi``, ``asgi`` or ``socket``, under TLS as well.
    """

    def __init__(self, petstore: PetStoreMock, transport: Transport) -> None:
        self.petstore = petstore
        self._transport = transport

    @property
    def over(self) -> str:
        return self._transport.name

    def send(
        self,
        method: str,
        target: str,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
    ) -> Answer:
        """Send exactly this, and hold the answer against what every answer owes."""
        answer = self.bare(method, target, headers, body)
        check_every_answer(answer, method, self.petstore)
        return answer

    def bare(
        self, method: str, target: str, headers: Sequence[tuple[str, str]] = (), body: bytes | None = None
    ) -> Answer:
        """Send exactly this, for an answer that a fault may have spoilt."""
        return self._transport.send(method, target, headers, body)

    def authed(self, method: str, target: str, body: bytes | None = None, *more: tuple[str, str]) -> Answer:
        """Send with a valid key."""
        return self.send(method, target, [*self.petstore.headers.items(), *more], body)

    def list(self, query: str = "") -> Answer:
        return self.authed("GET", f"/v1/pets{query}")

    def get(self, pet_id: object) -> Answer:
        return self.authed("GET", f"/v1/pets/{pet_id}")

    def post(self, body: bytes, content_type: str = "application/json") -> Answer:
        return self.authed("POST", "/v1/pets", body, ("Content-Type", content_type))

    def create(self, **fields: object) -> Answer:
        return self.post(json.dumps(fields).encode())

    def created(self, **fields: object) -> dict[str, Any]:
        answer = self.create(**fields)
        assert answer.status == 201, answer
        document: dict[str, Any] = answer.json()
        return document

    def close(self) -> None:
        self._transport.close()


def check_every_answer(answer: Answer, method: str, petstore: PetStoreMock) -> None:
    """Hold an answer against what HTTP and the interface demand of each."""
    assert answer.status != 500, answer
    assert answer.status < 500 or answer.status in {501, 505}, answer  # no fault was planned
    dates = answer.all("Date")
    assert len(dates) == 1, dates  # RFC 9110 §6.6.1
    assert _FIXDATE.fullmatch(dates[0])
    assert abs(parsedate_to_datetime(dates[0]).timestamp() - petstore.clock.now()) < 60
    names = [name.lower() for name, _ in answer.fields]
    assert len(names) == len(set(names)), names
    if method == "HEAD" or answer.status in {204, 304}:
        assert answer.body == b""
    else:
        length = answer.header("Content-Length")
        assert length is None or int(length) == len(answer.body)
        json_type = petstore.behaviour.content_type == "with_charset"
        assert answer.header("Content-Type") == f"application/json{'; charset=utf-8' if json_type else ''}"
        answer.body.decode("utf-8")
        if answer.status >= 400:
            check_error_body(answer, petstore)
    if answer.status == 204:
        assert answer.header("Content-Length") is None
    if answer.status == 401:
        challenge = answer.header("WWW-Authenticate")
        assert challenge is not None
        assert re.match(r'Bearer realm="[^"\\]+"(, |$)', challenge)  # RFC 6750 §3
    if answer.status == 405:
        assert answer.header("Allow")  # RFC 9110 §15.5.6


def check_error_body(answer: Answer, petstore: PetStoreMock) -> None:
    """The interface's Error (§2): exactly code, message and status, and status is the HTTP status (§7)."""
    error = answer.json()
    expected = {"code", "message", "status"}
    if petstore.behaviour.extra_response_fields == "none":
        assert set(error) == expected
    assert expected <= set(error)
    assert isinstance(error["code"], str)
    assert error["code"]
    assert isinstance(error["message"], str)
    assert error["message"]
    assert type(error["status"]) is int
    assert error["status"] == answer.status
    assert len(answer.body) < 16 * 1024, "an error must stay readable, whatever was sent"
    assert petstore.api_key not in error["message"]


def last_entry(service: Service) -> Entry:
    """Return the journal's entry of the latest request."""
    return service.petstore.journal.kept[-1]  # also while the public queries are tested


def condition_of(service: Service) -> str | None:
    """Return why the latest request was refused, in the journal's words."""
    condition = last_entry(service).condition
    return None if condition is None else condition.name
