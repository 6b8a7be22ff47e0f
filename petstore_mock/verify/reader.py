"""One connection to a service. The service may hang, reset, send a wrong length or speak another protocol."""

from __future__ import annotations

import contextlib
import socket
import ssl
import zlib
from select import select
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httptools

from petstore_mock.common.masking import printable
from petstore_mock.common.real import monotonic
from petstore_mock.common.refusing import refuse
from petstore_mock.http.response import Head, Response, is_field
from petstore_mock.journal.exchange import is_base_url, joined

if TYPE_CHECKING:
    from petstore_mock.http.request import ApiRequest

_MOST_HEAD: Final = 64 * 1024
_MOST_BODY: Final = 8 * 1024 * 1024
_BLOCK: Final = 64 * 1024


class FailedError(Exception):
    """No whole response arrived. If its head is readable, ``response`` is the part that arrived.

    The kind is ``cut`` for a connection that closed or failed, ``silence`` for a timeout, and ``frame`` for bytes that
    are not HTTP/1, do not match the head, or are too many.
    """

    def __init__(self, kind: str, words: str, response: Response | None = None) -> None:
        super().__init__(words)
        self.kind, self.response = kind, response


class _Reading:
    """One response, built from the callbacks of the httptools parser."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._body = bytearray()
        self._fields: list[tuple[str, str]] = []
        self._values: dict[str, str] = {}  # of the head's fields, by lower-case name
        self._status = 0  # until the head is complete
        self._size = 0
        self.is_whole = self.has_more = self.closes = False

    def on_message_begin(self) -> None:
        self.has_more = self.is_whole

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._status:  # a field after the head is a trailer
            self._fields.append((name.decode("latin-1"), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        status, self.closes = self._parser.get_status_code(), not self._parser.should_keep_alive()
        self._status = status if status >= 200 or status == 101 else 0
        self._values = joined(self._fields)

    def on_body(self, block: bytes) -> None:
        self._body += block

    def on_message_complete(self) -> None:
        self.is_whole = self._status > 0
        if not self.is_whole:  # an interim response, such as 103
            self._fields.clear()

    def feed(self, block: bytes) -> None:
        """Read a block. An empty block means that the connection closed."""
        problem = ""
        self._size += len(block)
        try:
            self._parser.feed_data(block)
        except httptools.HttpParserError as error:
            problem = f"the response is not HTTP/1 ({error}): {printable(block[:40].decode('latin-1'))}"
        if self._status == 101:
            problem = "the service switched protocols, but the request has no Upgrade"
        elif self.is_whole and (problem or self.has_more):
            problem = f"more bytes arrived than the {len(self._body)} bytes of the body"
        elif len(self._body) > _MOST_BODY or (not self._status and self._size > _MOST_HEAD):
            problem = f"{'the body' if self._status else 'the head'} does not end within {self._size} bytes"
        if problem:
            raise self.failed("frame", problem)
        if not block and not self.is_whole:
            self.is_whole = self._status > 0 and self._values.keys().isdisjoint({"content-length", "transfer-encoding"})
            if not self.is_whole:
                raise self.failed("cut", f"the connection closed: {self.came}")

    @property
    def came(self) -> str:
        of_length = f" of {self._values['content-length']}" if "content-length" in self._values else ""
        return f"{len(self._body)}{of_length} bytes of the body arrived" if self._status else "no whole head arrived"

    def failed(self, kind: str, words: str) -> FailedError:
        self.closes = True
        return FailedError(kind, words, self._response() if self._status else None)

    def response(self) -> Response:
        if self._values.get("content-encoding", "").lower() in {"gzip", "x-gzip"}:
            decoder = zlib.decompressobj(wbits=31)
            with contextlib.suppress(zlib.error):
                self._body[:] = decoder.decompress(self._body, _MOST_BODY)
            if not decoder.eof:
                words = f"Content-Encoding is gzip, but the body is no gzip of at most {_MOST_BODY} bytes"
                raise self.failed("frame", words)
        return self._response()

    def _response(self) -> Response:
        fields = [field for field in self._fields if is_field(*field) and field[0].lower() != "date"]
        date = self._values.get("date", "").encode("ascii", "replace")
        return Response(Head(self._status, fields), bytes(self._body), date)


class Connection:
    """A connection to the service at ``url``. It stays open for the next request if the service allows it."""

    def __init__(self, url: object) -> None:
        text = url if isinstance(url, str) and is_base_url(url) else ""
        parts = urlsplit(text)
        is_plain = text.isascii() and text.isprintable() and not {*" ?"} & {*text}
        if not parts.hostname or "@" in parts.netloc or not is_plain:
            # The message does not show the address, because it may hold a password.
            words = "expected an ASCII base address with http:// or https:// and without a user"
            refuse(f"{words}, such as http://127.0.0.1:8080/v1; got an invalid one")
        self.host, self.base, self.is_tls = parts.netloc, parts.path.rstrip("/"), parts.scheme == "https"
        self._peer = parts.hostname, parts.port or (443 if self.is_tls else 80)
        self._socket: socket.socket | None = None

    @property
    def hint(self) -> str:
        """A hint if no readable response arrives. It leaves out the address of a proxy, which may hold a password."""
        words = "if this port speaks TLS, use https://"
        if self.is_tls:
            words = "if this port speaks no TLS, use http://; to trust another certificate authority, set SSL_CERT_FILE"
        name = "https" if self.is_tls else "http"
        if name in getproxies() and not proxy_bypass(self._peer[0]):
            words += (
                f"; {name.upper()}_PROXY is set, but verify uses no proxy: run it with direct access to the service"
            )
        return words

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def send(self, request: ApiRequest, *, timeout: float) -> Response:
        """Send a request and return its response. The whole response must arrive within ``timeout`` seconds."""
        deadline = monotonic() + timeout
        fields = b"".join(name + b": " + value + b"\r\n" for name, value in request.fields)
        head = f"{request.method} {request.target} HTTP/1.1\r\n".encode("latin-1") + fields + b"\r\n"
        reading = _Reading()
        try:
            # A kept connection may close at any time, and a create can't be retried.
            connection = self._open(deadline, anew=request.method != "GET")
            # The service may have responded before it closed.
            with contextlib.suppress(ConnectionError):
                connection.sendall(head + request.body)
            while not reading.is_whole:
                connection.settimeout(_left(deadline))
                reading.feed(connection.recv(_BLOCK))
                if monotonic() > deadline and not reading.is_whole:
                    raise TimeoutError  # noqa: TRY301  # each recv has its own timeout, so a slow body could take longer
            return reading.response()
        except TimeoutError:
            raise reading.failed("silence", f"{reading.came} within {timeout:.3g} s") from None
        except (OSError, ValueError) as error:  # ssl raises ValueError for some host names
            words = getattr(error, "strerror", None) or error
            raise reading.failed("cut", f"the connection failed: {words}") from None
        finally:
            if reading.closes or not reading.is_whole:
                self.close()

    def _open(self, deadline: float, *, anew: bool) -> socket.socket:
        if self._socket is not None and (anew or select([self._socket], [], [], 0)[0]):
            self.close()  # the service closed it, or sent bytes that belong to no request
        if self._socket is None:
            # create_connection() waits for each address of a name in turn.
            count = len(socket.getaddrinfo(*self._peer, type=socket.SOCK_STREAM))
            self._socket = socket.create_connection(self._peer, timeout=_left(deadline) / count)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.is_tls:
                self._socket.settimeout(_left(deadline))
                context = ssl.create_default_context()
                self._socket = context.wrap_socket(self._socket, server_hostname=self._peer[0])
        self._socket.settimeout(_left(deadline))
        return self._socket


def _left(deadline: float) -> float:
    return float(max(deadline - monotonic(), 0.001))
