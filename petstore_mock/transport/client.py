"""The package's own HTTP client, for ``ready``, ``connect()`` and ``verify``.

Another process may hang, reset, flood, redirect, or speak another protocol. So a request has a deadline for its whole
response and a limit of bytes, and it ends in one of two ways: a whole response, or a :class:`FailedError` with one
printable sentence. The client follows no redirect and uses no proxy.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import zlib
from select import select
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import httptools

from petstore_mock.common.masking import printable
from petstore_mock.common.real import monotonic
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import shown_url
from petstore_mock.http.request import Headers
from petstore_mock.http.response import UNSIZED_STATUSES, Head, Response, is_field
from petstore_mock.journal.exchange import is_base_url

if TYPE_CHECKING:
    from petstore_mock.common.values import Json
    from petstore_mock.http.request import ApiRequest

MEBIBYTE: Final = 1024 * 1024

_MOST_HEAD: Final = 64 * 1024
_BLOCK: Final = 64 * 1024
_SWITCHING_PROTOCOLS: Final = 101
_FIRST_FINAL: Final = 200  # lower statuses are interim responses, such as 103 (RFC 9110 §15.2)
_GZIP: Final = frozenset({"gzip", "x-gzip"})
# How OpenSSL names the alerts of a service that lacks a client certificate, or refuses one (RFC 8446 §6.2).
_ALERTS_OF_CERTIFICATES: Final = frozenset(
    {
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_HANDSHAKE_FAILURE",
        "TLSV13_ALERT_CERTIFICATE_REQUIRED",
        "TLSV1_ALERT_UNKNOWN_CA",
    }
)
_GZIP_WINDOW: Final = 31  # makes zlib expect the header of gzip


class FailedError(Exception):
    """No whole response arrived. If its head is readable, ``response`` is the part that arrived.

    The kind is ``cut`` for a connection that closed or failed, ``silence`` for a timeout, and ``frame`` for bytes that
    are not HTTP/1, do not match the head, or are too many.
    """

    def __init__(
        self, kind: str, words: str, response: Response | None = None, *, error: Exception | None = None
    ) -> None:
        super().__init__(printable(words))
        self.kind = kind
        self.response = response
        self._error = error

    @property
    def distrust(self) -> bool:
        """Whether we do not trust the certificate of the service."""
        return isinstance(self._error, ssl.SSLCertVerificationError)

    @property
    def lacks_peer(self) -> bool:
        """Whether nothing listens at the address, or the name has no address."""
        return isinstance(self._error, (ConnectionRefusedError, socket.gaierror))

    @property
    def may_ask_certificate(self) -> bool:
        """Whether the service refused the TLS handshake as services do that ask for a client certificate."""
        return isinstance(self._error, ssl.SSLError) and self._error.reason in _ALERTS_OF_CERTIFICATES


class _Reading:
    """One response, built from the callbacks of the httptools parser."""

    def __init__(self, most_body: int) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._most_body = most_body
        # Chunks have a size line each. A service that sends tiny chunks must not use up our time and memory.
        self._most_bytes = 2 * most_body + _MOST_HEAD
        self._body = bytearray()
        self._fields: list[tuple[str, str]] = []
        # The fields of the head, by lower-case name.
        self._values: dict[str, str] = {}
        # 0 until the head is complete.
        self._status = 0
        self._size = 0
        self.is_whole = False
        self.has_more = False
        self.closes = False

    # The callbacks of the parser

    def on_message_begin(self) -> None:
        self.has_more = self.is_whole

    def on_header(self, name: bytes, value: bytes) -> None:
        # A field after the head is a trailer.
        if not self._status:
            self._fields.append((name.decode("latin-1"), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self.closes = not self._parser.should_keep_alive()
        if status >= _FIRST_FINAL or status == _SWITCHING_PROTOCOLS:
            self._status = status
        self._values = Headers.of(self._fields)

    def on_body(self, block: bytes) -> None:
        self._body += block

    def on_message_complete(self) -> None:
        self.is_whole = self._status > 0
        if not self.is_whole:
            self._fields.clear()

    # Reading

    def feed(self, block: bytes) -> None:
        """Read a block. An empty block means that the connection closed."""
        self._size += len(block)
        problem = self._problem(self._parse(block))
        if problem:
            raise self.failed("frame", problem)
        if not block and not self.is_whole:
            # Without a length, the body ends with the connection (RFC 9112 §6.3).
            is_sized = "content-length" in self._values or "transfer-encoding" in self._values
            self.is_whole = self._status > 0 and not is_sized
            if not self.is_whole:
                raise self.failed("cut", f"the connection closed: {self.came}")

    def _parse(self, block: bytes) -> str:
        """Pass a block to the parser, and return what is wrong with it."""
        try:
            self._parser.feed_data(block)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if self.is_whole and self._status in UNSIZED_STATUSES:
                # Bytes behind such a head may come before or after it is read. So they must change nothing.
                self.closes = True
                self.has_more = False
                return ""
            return f"the response is not HTTP/1 ({error}): {block[:40].decode('latin-1')}"
        return ""

    def _problem(self, syntax: str) -> str:
        """Return what is wrong with the response so far. ``syntax`` is the problem of the parser."""
        if self._status == _SWITCHING_PROTOCOLS:
            return "the service switched protocols, but the request has no Upgrade"
        has_surplus = syntax or self.has_more
        if self.is_whole and has_surplus:
            return f"more bytes arrived than the {len(self._body)} bytes of the body"
        if not self._status and self._size > _MOST_HEAD:
            return f"the head does not end within {self._size} bytes"
        if len(self._body) > self._most_body or self._size > self._most_bytes:
            return f"the body does not end within {self._size} bytes"
        return syntax

    @property
    def came(self) -> str:
        if not self._status:
            return "no whole head arrived"
        size = str(len(self._body))
        length = self._values.get("content-length")
        if length is not None:
            size = f"{size} of {length}"
        return f"{size} bytes of the body arrived"

    def failed(self, kind: str, words: str, *, error: Exception | None = None) -> FailedError:
        self.closes = True
        response = self._response(self._body) if self._status else None
        return FailedError(kind, words, response, error=error)

    def response(self) -> Response:
        """Return the whole response. A body in gzip is decoded."""
        if self._values.get("content-encoding", "").lower() not in _GZIP:
            return self._response(self._body)
        decoder = zlib.decompressobj(wbits=_GZIP_WINDOW)
        body = b""
        with contextlib.suppress(zlib.error):
            body = decoder.decompress(self._body, self._most_body)
        if not decoder.eof:
            words = f"Content-Encoding is gzip, but the body is no gzip of at most {self._most_body} bytes"
            raise self.failed("frame", words)
        return self._response(body)

    def _response(self, body: bytes | bytearray) -> Response:
        fields = [field for field in self._fields if is_field(*field) and field[0].lower() != "date"]
        date = self._values.get("date", "").encode("ascii", "replace")
        return Response(Head(self._status, fields), bytes(body), date)


class Connection:
    """A connection to the service at ``url``. It stays open for the next request if the service allows it.

    Args:
        url: the base address of the service.
        most_body: the largest number of bytes of a body.
        context: how to check the certificate of the service. The default trusts the authorities of the system and
            of the environment variable ``SSL_CERT_FILE``.
    """

    def __init__(self, url: object, *, most_body: int, context: ssl.SSLContext | None = None) -> None:
        text = url if isinstance(url, str) else ""
        is_plain = text.isascii() and text.isprintable() and {" ", "?"}.isdisjoint(text)
        if not is_plain or not is_base_url(text):
            words = "expected an ASCII base address with http:// or https:// and without a user"
            refuse(f"{words}, such as http://127.0.0.1:8080/v1; got {shown_url(url)!r}")
        parts = urlsplit(text)
        self.host = parts.netloc
        self.base = parts.path.rstrip("/")
        self.is_tls = parts.scheme == "https"
        usual_port = 443 if self.is_tls else 80
        self.peer = parts.hostname or "", parts.port or usual_port
        self._most_body = most_body
        self._context = context
        self._socket: socket.socket | None = None

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The header fields of a request after which the connection closes."""
        return [("Host", self.host), ("Accept-Encoding", "identity"), ("Connection", "close")]

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def send(self, request: ApiRequest, *, timeout: float) -> Response:
        """Send a request and return its response. The whole response must arrive within ``timeout`` seconds."""
        deadline = monotonic() + timeout
        fields = b"".join(name + b": " + value + b"\r\n" for name, value in request.fields)
        head = f"{request.method} {request.target} HTTP/1.1\r\n".encode("latin-1") + fields + b"\r\n"
        reading = _Reading(self._most_body)
        try:
            # A kept connection may close at any time, and a create can't be retried.
            connection = self._open(deadline, anew=request.method != "GET")
            # The service may have responded before it closed.
            with contextlib.suppress(ConnectionError, ssl.SSLEOFError):
                _send_all(connection, head + request.body, deadline)
            # Each recv has its own timeout, so the loop looks at the deadline: a slow body may come byte by byte.
            while not reading.is_whole:
                connection.settimeout(_left(deadline))
                reading.feed(connection.recv(_BLOCK))
            return reading.response()
        except TimeoutError:
            raise reading.failed("silence", f"{reading.came} within {timeout:.3g} s") from None
        except (OSError, ValueError) as error:
            # ssl raises ValueError for some host names.
            words = getattr(error, "strerror", None) or error
            raise reading.failed("cut", f"the connection failed: {words}", error=error) from None
        finally:
            if reading.closes or not reading.is_whole:
                self.close()

    def _open(self, deadline: float, *, anew: bool) -> socket.socket:
        if self._socket is not None:
            # A readable connection was closed by the service, or holds bytes that belong to no request.
            is_readable = select([self._socket], [], [], 0)[0]
            if anew or is_readable:
                self.close()
        if self._socket is None:
            # create_connection() waits for each address of a name in turn.
            count = len(socket.getaddrinfo(*self.peer, type=socket.SOCK_STREAM))
            self._socket = socket.create_connection(self.peer, timeout=_left(deadline) / count)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.is_tls:
                self._socket.settimeout(_left(deadline))
                context = self._context or ssl.create_default_context()
                self._socket = context.wrap_socket(self._socket, server_hostname=self.peer[0])
        return self._socket


def _send_all(connection: socket.socket, data: bytes, deadline: float) -> None:
    """Send data before a deadline. ``sendall`` of a TLS socket has a timeout for each record instead."""
    rest = memoryview(data)
    while rest:
        connection.settimeout(_left(deadline))
        rest = rest[connection.send(rest) :]


def _left(deadline: float) -> float:
    left: float = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def media_type(response: Response) -> str:
    """Return the media type of a response, in lower case and without parameters."""
    return (response.head.get("Content-Type") or "").partition(";")[0].strip().lower()


def json_body(response: Response) -> Json:
    """Return the body as a JSON value.

    Raises:
        ValueError: the body is not JSON, or its values are nested too deep.
    """
    try:
        return json.loads(response.body)
    except RecursionError:
        raise ValueError("the values are nested too deep") from None
