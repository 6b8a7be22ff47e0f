"""The client of the tests: sends a request exactly as it is written, over WSGI, a socket or TLS.

Target, fields and body arrive exactly as the test writes them. ``send()`` checks each response against the schemas
(``tests/observer.py``). ``bare()`` checks nothing: use it if a fault has spoilt the response.
"""

from __future__ import annotations

import http.client
import io
import json
import socket
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self
from urllib.parse import urlsplit
from wsgiref.util import setup_testing_defaults

from werkzeug.middleware.lint import HTTPWarning, LintMiddleware, WSGIWarning

from petstore_mock import PetStoreMock, PetStoreMockError, RemotePetStore
from tests.observer import hold

Field = tuple[str, str]
Rules = list[tuple[str, str]]

JSON: Final = ("Content-Type", "application/json")
REX: Final = b'{"name":"Rex","categoryId":1}'


@dataclass(frozen=True)
class Response:
    """A response as it was received."""

    status: int
    fields: tuple[Field, ...]
    body: bytes

    def all(self, name: str) -> list[str]:
        """Return the values of a field, one for each field line."""
        return [value for field, value in self.fields if field.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        """Return the value of a field that must not be repeated, or None."""
        found = self.all(name)
        assert len(found) <= 1, f"expected {name} at most once; it arrived {len(found)} times"
        return found[0] if found else None

    def json(self) -> Any:
        """Decode the body."""
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """The message of an error."""
        return str(self.json()["message"])


class Carrier(Protocol):
    """Carries a request to the fake."""

    def send(self, method: str, target: str, fields: Sequence[Field], body: bytes | None) -> Response: ...

    def close(self) -> None: ...


class Client:
    """A client of one world.

    Attributes:
        petstore: the world, in this process or another.
        over: ``wsgi``, or ``socket``, which speaks TLS for an https address. The default is ``socket`` if the fake
            listens, else ``wsgi``.
    """

    def __init__(self, petstore: Any, over: str | None = None) -> None:  # PetStoreMock or RemotePetStore
        self.petstore: PetStoreMock = petstore
        self.over = over = over or ("socket" if _is_listening(petstore) else "wsgi")
        self._mount = urlsplit(petstore.url).path.removesuffix("/v1") if over == "socket" else ""
        self._carrier: Carrier = _CARRIERS[over](petstore)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._carrier.close()

    # Requests

    def send(self, method: str, target: str, fields: Sequence[Field] = (), body: bytes | None = None) -> Response:
        """Send exactly this, and check the response against the rules for every response."""
        response = self.bare(method, target, fields, body)
        hold(response, method, self.petstore.behaviour, self.petstore.clock.now())
        return response

    def bare(self, method: str, target: str, fields: Sequence[Field] = (), body: bytes | None = None) -> Response:
        """Send exactly this. Check nothing, because a fault may have spoilt the response."""
        return self._carrier.send(method, self._mount + target, fields, body)

    def authed(self, method: str, target: str, body: bytes | None = None, *fields: Field) -> Response:
        """Send with the world's key."""
        return self.send(method, target, [*self.petstore.headers.items(), *fields], body)

    def list(self, query: str = "") -> Response:
        return self.authed("GET", f"/v1/pets{query}")

    def get(self, pet_id: object) -> Response:
        return self.authed("GET", f"/v1/pets/{pet_id}")

    def post(self, body: bytes, *fields: Field) -> Response:
        """Send a body; as JSON, unless ``fields`` are given."""
        return self.authed("POST", "/v1/pets", body, *(fields or (JSON,)))

    def create(self, **members: object) -> Response:
        return self.post(json.dumps(members).encode())

    def created(self, **members: object) -> dict[str, Any]:
        """Create an animal, and return it."""
        response = self.create(**members)
        assert response.status == 201, response
        pet: dict[str, Any] = response.json()
        return pet

    def status(
        self,
        operation: str = "listPets",
        *,
        query: str = "",
        pet_id: int = 1,
        body: object = None,
        key: str | None = None,
        fields: Sequence[Field] = (),
    ) -> int | None:
        """Call an operation that may meet a fault. Return the status, or None for a lost response."""
        path = f"/v1/pets/{pet_id}" if operation == "getPet" else f"/v1/pets{query}"
        head = [("Authorization", f"Bearer {key or self.petstore.api_key}"), *fields]
        try:
            if operation == "createPet":
                content = REX if body is None else json.dumps(body).encode()
                return self.bare("POST", path, [*head, JSON], content).status
            return self.bare("GET", path, head).status
        except (ConnectionError, http.client.HTTPException):
            return None

    # The latest request in the journal of the fake

    @property
    def last(self) -> Any:
        """The exchange of the latest request."""
        return self.petstore.journal[-1]

    @property
    def refusal(self) -> str | None:
        """Why the fake refused the latest request: the name of the condition in the journal, or None."""
        condition = self.last.condition
        return None if condition is None else condition.name

    @property
    def broken(self) -> Rules:
        """The rules that the latest request broke, as path and rule."""
        return [(one.path, one.rule) for one in self.last.violations]


def _is_listening(petstore: PetStoreMock | RemotePetStore) -> bool:
    try:
        return bool(petstore.url)
    except PetStoreMockError:
        return False


class _Wsgi:
    """Calls the app with an environ, inside werkzeug's lint."""

    def __init__(self, petstore: PetStoreMock) -> None:
        self._bare = petstore.app
        self._linted = LintMiddleware(petstore.app)

    def send(self, method: str, target: str, fields: Sequence[Field], body: bytes | None) -> Response:
        path = target.partition("?")[0]
        environ = _environ(method, target, fields, body)
        # WSGI requires a leading slash, but some servers pass on other targets. The lint would refuse them.
        app: Callable[..., Any] = self._linted if path.startswith("/") else self._bare
        started: list[tuple[str, list[Field]]] = []

        def start_response(status: str, head: list[Field], _info: object = None) -> Callable[[bytes], None]:
            started.append((status, head))
            return lambda _data: None

        with warnings.catch_warnings():
            # Three rules of the lint differ from HTTP. A 204 has no Content-Length (RFC 9110 §8.6). A response to HEAD
            # has the Content-Length of the response to GET (§9.3.2). Location may be relative (§10.2.2).
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
        ((status, head),) = started
        return Response(int(status.split()[0]), tuple(head), content)

    def close(self) -> None:
        """Do nothing, because no connection is open."""


def _environ(method: str, target: str, fields: Sequence[Field], body: bytes | None) -> dict[str, Any]:
    path, _, query = target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "REQUEST_URI": target,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.input": io.BytesIO(body or b""),
    }
    setup_testing_defaults(environ)
    if body is not None:
        environ["CONTENT_LENGTH"] = str(len(body))
    for name, value in fields:
        key = name.upper().replace("-", "_")
        key = key if key == "CONTENT_TYPE" else f"HTTP_{key}"
        # CGI gateways join repeated fields with commas. A Host of the test replaces the default.
        environ[key] = f"{environ[key]},{value}" if key in environ and key != "HTTP_HOST" else value
    return environ


class _Socket:
    """Writes requests on one keep-alive connection."""

    def __init__(self, petstore: PetStoreMock | RemotePetStore) -> None:
        parts = urlsplit(petstore.url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._address = (parts.hostname, parts.port)
        self._tls = petstore.tls.client_context() if parts.scheme == "https" else None
        self._socket: socket.socket | None = None

    def send(self, method: str, target: str, fields: Sequence[Field], body: bytes | None) -> Response:
        head = [*fields]
        if not any(name.lower() == "host" for name, _ in fields):
            head.insert(0, ("Host", f"{self._address[0]}:{self._address[1]}"))
        if body is not None:
            head.append(("Content-Length", str(len(body))))
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in head), "", ""]
        try:
            return self._exchange("\r\n".join(lines).encode("latin-1") + (body or b""), method)
        except BaseException:
            self.close()
            raise

    def _exchange(self, data: bytes, method: str) -> Response:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=30)
            # Without this option, the first TLS request waits 40 ms: the other side acknowledges the handshake late.
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
        return Response(response.status, fields, content)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


_CARRIERS: Final[dict[str, Callable[[Any], Carrier]]] = {"wsgi": _Wsgi, "socket": _Socket}
