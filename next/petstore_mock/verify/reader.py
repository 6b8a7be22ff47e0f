"""One connection to a service, whatever it does: it may hang, reset, lie about lengths or speak no HTTP."""

from __future__ import annotations

import contextlib
import socket
import ssl
import zlib
from select import select
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import SplitResult, urlsplit

import httptools

from petstore_mock.common.masking import printable
from petstore_mock.common.real import monotonic
from petstore_mock.common.refusing import refuse, require
from petstore_mock.http.response import Head, Response, is_field

if TYPE_CHECKING:
    from collections.abc import Sequence

# ``connect``: no connection. ``silence``: a timeout. ``cut``: the connection ended too soon. ``frame``: the bytes are
# no HTTP/1 response, or other bytes than its head announces.
FailureKind = Literal["connect", "silence", "cut", "frame"]

_MOST_HEAD: Final = 64 * 1024
_MOST_BODY: Final = 8 * 1024 * 1024
_BLOCK: Final = 64 * 1024
_HANDSHAKE: Final = 3.0  # seconds
_SHOWN: Final = 40  # bytes of garbage


class FailedError(Exception):
    """No whole response came; ``response`` is what could be read of one whose head is readable."""

    def __init__(self, kind: FailureKind, words: str, response: Response | None = None) -> None:
        super().__init__(words)
        self.kind = kind
        self.words = words
        self.response = response


class _Reading:
    """One response, as httptools' parser reports it."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._fields: list[tuple[str, str]] = []
        self._size = 0
        self.body = bytearray()
        self.status = 0  # from the end of the head on
        self.is_whole = self.has_more = False

    def on_message_begin(self) -> None:
        self.has_more = self.is_whole

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.status:  # else it is a trailer
            self._fields.append((name.decode("latin-1"), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self.status = status if status >= 200 or status == 101 else 0

    def on_body(self, block: bytes) -> None:
        self.body += block

    def on_message_complete(self) -> None:
        self.is_whole = self.status > 0
        if not self.is_whole:  # an interim response
            self._fields.clear()

    def feed(self, block: bytes) -> None:
        self._size += len(block)
        try:
            self._parser.feed_data(block)
        except httptools.HttpParserError as error:
            self.has_more = self.has_more or self.is_whole
            if self.status == 101:
                raise self.failed("frame", "101: it switched protocols unasked") from None
            if not self.status:
                raise self.failed("frame", f"it is not HTTP/1: {printable(str(error))} ({_start(block)})") from None
            if not self.has_more:
                raise self.failed("frame", f"the body is not what the head announces: {error}") from None
        if self.has_more:
            raise self.failed("frame", f"more bytes came than the {len(self.body)} that the head announces")
        if not self.status and self._size > _MOST_HEAD:
            raise self.failed("frame", f"the head has more than {_MOST_HEAD} bytes")
        if len(self.body) > _MOST_BODY:
            raise self.failed("frame", f"the body has more than {_MOST_BODY} bytes")

    def end(self) -> None:
        """Take the end of the connection for the end of the body, where the head announces no other."""
        if not self._size:
            raise FailedError("cut", "the connection ended before any response")
        if not self.status:
            raise FailedError("cut", "the connection ended within the head of the response")
        if self._value("transfer-encoding").lower() == "chunked":
            raise self.failed("cut", "the connection ended within a chunked body")
        if length := self._value("content-length"):
            raise self.failed("cut", f"the connection ended when {len(self.body)} of {length} bytes had come")
        self.is_whole = True

    @property
    def closes(self) -> bool:
        return not self._parser.should_keep_alive()

    def _value(self, name: str) -> str:
        return ", ".join(value for known, value in self._fields if known.lower() == name)

    def failed(self, kind: FailureKind, words: str) -> FailedError:
        return FailedError(kind, words, self._response(bytes(self.body)) if self.status else None)

    def response(self) -> Response:
        coding = self._value("transfer-encoding").lower()
        if coding not in {"", "chunked"}:
            raise self.failed("frame", f"the transfer coding is {coding!r}, which nobody asked for")
        body = bytes(self.body)
        if self._value("content-encoding").lower() in {"gzip", "x-gzip"}:
            decoder = zlib.decompressobj(wbits=31)
            with contextlib.suppress(zlib.error):
                body = decoder.decompress(body, _MOST_BODY)
            if not decoder.eof:
                raise self.failed("frame", "Content-Encoding is gzip, and the body is not")
        return self._response(body)

    def _response(self, body: bytes) -> Response:
        fields = [field for field in self._fields if is_field(*field) and field[0].lower() != "date"]
        return Response(Head(self.status, fields), body, self._value("date").encode("latin-1"))


def _start(block: bytes) -> str:
    return printable(block[:_SHOWN].decode("latin-1"))


def _address(url: object) -> SplitResult:
    """Return the parts of a base address."""
    if not isinstance(url, str):
        refuse(f"expected a base address; got url={url!r} ({type(url).__name__})")
    # Other messages show the address: none may show a password.
    require("@" not in url.partition("//")[2].partition("/")[0], "a base address without a user; pass the key as api_key")
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in {"http", "https"} and parts.hostname and not parts.query and not parts.fragment
        is_right = is_right and parts.port != 0
    except ValueError:
        refuse(f"expected a base address with a port from 1 to 65535; got url={url!r}")
    require(is_right, "a base address such as http://127.0.0.1:8080/v1", url=url)
    printing = all("!" <= character <= "~" for character in url)
    require(printing, "a base address in ASCII, its path percent-encoded and its host as xn--...", url=url)
    return parts


class Connection:
    """At most one connection to the service at ``url``, kept as long as the service keeps it."""

    def __init__(self, url: object) -> None:
        parts = _address(url)
        self.host = parts.netloc
        self.is_tls = parts.scheme == "https"
        self.base = parts.path.rstrip("/")
        self._peer = parts.hostname or "", parts.port or (443 if self.is_tls else 80)
        self._socket: socket.socket | None = None
        self._deadline = 0.0

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def send(
        self, method: str, target: str, fields: Sequence[tuple[str, str]], body: bytes, *, timeout: float
    ) -> Response:
        """Send a request and return the response, which must be whole within ``timeout`` seconds; else raise Failed."""
        self._deadline = monotonic() + timeout
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields), "", ""]
        reading = _Reading()
        try:
            self._open(anew=method != "GET")  # a request on a connection that is being closed is lost
            broken = self._write("\r\n".join(lines).encode("latin-1") + body)
            while not reading.is_whole:
                block = self._read(reading, timeout, broken)
                reading.feed(block) if block else reading.end()
            response = reading.response()
        except BaseException:
            self.close()
            raise
        if reading.closes:
            self.close()
        return response

    def _open(self, *, anew: bool) -> None:
        if self._socket is not None and (anew or select([self._socket], [], [], 0)[0]):
            self.close()  # what is there to read is the end, or was not asked for
        if self._socket is not None:
            return
        try:
            plain = socket.create_connection(self._peer, timeout=self._left())
        except (OSError, UnicodeError) as error:
            raise FailedError("connect", f"no connection: {_words(error)}") from None
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            context = ssl.create_default_context() if self.is_tls else None
            self._socket = plain if context is None else context.wrap_socket(plain, server_hostname=self._peer[0])
        except (OSError, ValueError) as error:
            plain.close()
            raise FailedError("connect", f"no TLS connection: {_words(error)}") from None

    def _left(self) -> float:
        return max(self._deadline - monotonic(), 0.001)

    def _write(self, request: bytes) -> str:
        """Send, and return why not all of it went: a response may be there all the same."""
        assert self._socket is not None  # noqa: S101  # for the type checker: it was opened
        try:
            self._socket.settimeout(self._left())
            self._socket.sendall(request)
        except OSError as error:
            return f" ({_words(error)})"
        return ""

    def _read(self, reading: _Reading, timeout: float, broken: str) -> bytes:
        assert self._socket is not None  # noqa: S101  # as above
        came = f"{len(reading.body)} bytes of the body came, not all" if reading.status else "no whole head came"
        try:
            if monotonic() >= self._deadline:
                raise TimeoutError
            self._socket.settimeout(self._left())
            return self._socket.recv(_BLOCK)
        except TimeoutError:
            raise reading.failed("silence", f"{came} within {timeout:.3g} s") from None
        except OSError as error:
            raise reading.failed("cut", f"the connection broke when {came}: {_words(error)}{broken}") from None

    def speaks_tls(self) -> bool:
        """Whether the port of an address that begins with ``http://`` speaks TLS."""
        if self.is_tls:
            return False
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent
        try:
            with (
                socket.create_connection(self._peer, timeout=_HANDSHAKE) as plain,
                context.wrap_socket(plain, server_hostname=self._peer[0]),
            ):
                return True
        except (OSError, ValueError):
            return False


def _words(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
