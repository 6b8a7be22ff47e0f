"""Requests to the control door of a stub: JSON over HTTP, by the standard library; a refusal raises at the call."""

from __future__ import annotations

import http.client
import json
import re
import ssl
import threading
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlencode, urlsplit

from petstore_mock.common.door_path import DOOR_PATH
from petstore_mock.common.masking import cut
from petstore_mock.common.paths import as_path
from petstore_mock.common.sockets import is_readable
from petstore_mock.contract.interface import BASE_PATH
from petstore_mock.control.admission import TOKEN_HEADER, check_token
from petstore_mock.errors import PetStoreMockError
from petstore_mock.transport.trust import Trust

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

__all__ = ["Door", "NotThereError"]

_PATIENCE: Final = 30.0  # seconds for an answer, beyond those that the question itself takes
_FIRST_ERROR: Final = 400
_SHOWN: Final = 300  # characters of an answer that nobody expected
_BY_NAME: Final = re.compile(rf"(?P<root>.*?)(?:/w/(?P<name>[^/]+))?(?:{BASE_PATH}|{DOOR_PATH})?/*")
_REPEATABLE: Final = frozenset({"GET", "PUT", "DELETE"})  # RFC 9110 §9.2.2


class NotThereError(PetStoreMockError):
    """The door knows nothing of that name or number: there is none, or it is gone."""


class Door:
    """The way to one stub, for all of its worlds. Thread-safe; connections are kept and used again.

    Args:
        url: the stub's root, its ``/v1`` or ``/w/NAME/v1``, or the address of its control door.
        token: the value of ``Petstore-Control-Token``, where the stub asks for one.
        ca_path: a PEM file of the authority that is to be trusted; what Python trusts by itself for None.

    Attributes:
        root: the address of the stub.
        name: the world that the address names; None without one.
        trust: the authority that is to be trusted; None for what Python trusts by itself.

    Raises:
        PetStoreMockError: the address is none of HTTP, the token none of a header, or the file holds no certificate.
    """

    def __init__(self, url: str, token: str | None = None, ca_path: str | PathLike[str] | None = None) -> None:
        try:
            parts = urlsplit(url)
            self._secure, self._host, self._port = parts.scheme == "https", parts.hostname or "", parts.port
        except (ValueError, TypeError, AttributeError):  # of brackets, of the port; a test may pass anything
            parts = urlsplit("")
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise PetStoreMockError(
                "expected the address of a stub, such as 'http://127.0.0.1:8080', its /v1 or its control_url; "
                f"got url={url!r} ({type(url).__name__})"
            )
        if token:
            check_token(token)
        match = _BY_NAME.fullmatch(parts.path)
        assert match is not None  # noqa: S101  # for the type checker: it takes any path
        self.name = None if match["name"] is None else unquote(match["name"])
        self._path = match["root"].rstrip("/")
        self.root = f"{parts.scheme}://{parts.netloc}{self._path}"
        self._token = token
        self.trust = None if ca_path is None else Trust(str(as_path(ca_path, "ca_path").absolute()))
        self._context = self._trusting()
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def url_of(self, world: str | None) -> str:
        """Return the address of the door of a world; None for the one at the root."""
        return f"{self.root}{_mount(world)}{DOOR_PATH}/"

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        world: str | None = None,
        query: Mapping[str, object] | None = None,
        patience: float = 0.0,
    ) -> Any:  # noqa: ANN401  # a JSON value
        """Send one request, and return what the door answers.

        Args:
            method: the HTTP method.
            path: below ``/__petstore/``.
            body: a JSON value; None for no body.
            world: the name of the world that it is about; None for the one at the root.
            query: the query.
            patience: seconds that the answer itself may take.

        Raises:
            NotThereError: what it is about is not there.
            PetStoreMockError: the door refuses, no door is there, or ``body`` is no JSON value.
        """
        text = f"?{urlencode(query)}" if query else ""
        headers = {"Accept": "application/json"}
        content = None
        if body is not None:
            content = _encoded(body)
            headers["Content-Type"] = "application/json"
        if self._token is not None:
            headers[TOKEN_HEADER] = self._token
        target = f"{self._path}{_mount(world)}{DOOR_PATH}/{path}{text}"
        try:
            status, kind, answer = self._send(method, target, content, headers, _PATIENCE + patience)
        except ssl.SSLCertVerificationError as error:
            raise PetStoreMockError(
                f"expected a certificate that is trusted at {self.root}; {error}: name the file of its authority, "
                "which serve --tls-ca-out writes, as ca_path= (petstore_remote_ca for the fixture), or in the "
                "environment variable SSL_CERT_FILE"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            raise PetStoreMockError(
                f"expected a stub of petstore-mock at {self.root}; {type(error).__name__}: {error}: start it by "
                "'petstore-mock serve', and wait for it by 'petstore-mock ready'"
            ) from None
        return self._value(status, kind, answer)

    def _value(self, status: int, kind: str, answer: bytes) -> Any:  # noqa: ANN401  # a JSON value
        value: Any = None
        if answer:
            try:
                value = json.loads(answer)
            except (ValueError, RecursionError):
                kind = ""
        if status < _FIRST_ERROR and (kind == "application/json" or not answer):
            return value
        if kind == "application/problem+json" and isinstance(value, dict):
            refused = NotThereError if status == http.client.NOT_FOUND else PetStoreMockError
            raise refused(str(value.get("detail") or value.get("title")))
        shown = cut(answer.decode("utf-8", "replace"), _SHOWN)
        raise PetStoreMockError(
            f"expected the control door of a stub of petstore-mock at {self.root}{DOOR_PATH}/; got status {status} and "
            f"{shown!r}: is the door closed (--no-control), or on a port of its own (--control-port)?"
        )

    def _send(
        self, method: str, target: str, content: bytes | None, headers: dict[str, str], timeout: float
    ) -> tuple[int, str, bytes]:
        connection = self._kept()
        if connection is not None and method in _REPEATABLE:
            try:
                return self._exchange(connection, method, target, content, headers, timeout)
            except (ConnectionError, http.client.RemoteDisconnected):  # it was closed while it was idle
                connection = None
        return self._exchange(connection or self._opened(), method, target, content, headers, timeout)

    def _exchange(  # noqa: PLR0917  # what a request consists of
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        content: bytes | None,
        headers: dict[str, str],
        timeout: float,
    ) -> tuple[int, str, bytes]:
        keep = False
        try:
            connection.timeout = timeout
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            connection.request(method, target, content, headers)
            response = connection.getresponse()
            answer = response.read()
            keep = not response.will_close
            return response.status, response.headers.get_content_type(), answer
        finally:
            if keep:
                with self._lock:
                    self._idle.append(connection)
            else:
                connection.close()

    def _trusting(self) -> ssl.SSLContext | None:
        if self.trust is None:
            return None
        try:
            return self.trust.client_context()
        except (OSError, ssl.SSLError) as error:
            raise PetStoreMockError(
                "expected a PEM file with the certificate of the stub's authority, as serve --tls-ca-out writes it; "
                f"got ca_path={self.trust.ca_path!r}: {error}"
            ) from None

    def _opened(self) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, context=self._context)
        return http.client.HTTPConnection(self._host, self._port)

    def _kept(self) -> http.client.HTTPConnection | None:
        """Return a connection that is open and idle, if there is one: what is readable now has been closed."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.sock is not None and not is_readable(connection.sock):
                return connection
            connection.close()

    def close(self) -> None:
        """Close the connections; the next request opens another."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _mount(world: str | None) -> str:
    return "" if world is None else f"/w/{quote(world, safe='')}"


def _encoded(body: object) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise PetStoreMockError(
            f"expected what JSON can carry to a stub in another process; {type(error).__name__}: {error}"
        ) from None
