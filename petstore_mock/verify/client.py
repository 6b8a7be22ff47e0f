"""One connection that survives whatever answers: hanging, resetting, lying about lengths, speaking no HTTP.

A reader of its own rather than ``http.client``: one deadline holds for the whole answer, however slowly it drips.
"""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import zlib
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from petstore_mock.common.real_time import RealTime
from petstore_mock.common.sockets import is_readable
from petstore_mock.errors import PetStoreMockError
from petstore_mock.verify.exchange import Failure, WholeAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.verify.exchange import FailureKind, Fields

__all__ = ["FailedError", "ServiceConnection"]

_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\x00-\x08\x0a-\x1f\x7f]*)?")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")
_LENGTH: Final = re.compile(r"[0-9]{1,15}")
_MOST_HEAD: Final = 64 * 1024
_MOST_BODY: Final = 64 * 1024 * 1024
_HANDSHAKE: Final = 3.0  # seconds
_BLOCK: Final = 64 * 1024
_SHOWN: Final = 40  # bytes of garbage
_CODINGS: Final = {"gzip", "x-gzip"}


class FailedError(Exception):
    """There is no answer that could be read."""

    def __init__(self, kind: FailureKind, words: str) -> None:
        super().__init__(words)
        self.failure = Failure(kind, words)


class ServiceConnection:
    """At most one connection to the service at ``url``, kept as long as the service keeps it.

    Raises:
        PetStoreMockError: ``url`` is no base address.
    """

    def __init__(self, url: str) -> None:
        if "@" in url.partition("//")[2].partition("/")[0]:  # said first: no other words are to show a password
            raise PetStoreMockError("expected a base address without a user; pass the key as api_key")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise PetStoreMockError(f"expected a base address; got url={url!r}: {error}") from None
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise PetStoreMockError(
                f"expected a base address such as http://127.0.0.1:8080/v1; got url={url!r} ({type(url).__name__})"
            )
        if not all("!" <= character <= "~" for character in url):
            raise PetStoreMockError(
                "expected a base address of printable ASCII characters, its path percent-encoded and its host as "
                f"xn--...; got url={url!r}"
            )
        self._host, self.is_tls = parts.hostname, parts.scheme == "https"
        self._port = port or (443 if self.is_tls else 80)
        self._authority = parts.netloc
        self.base = parts.path.rstrip("/")
        self._socket: socket.socket | None = None
        self._buffer = b""
        self._deadline = 0.0
        self._timeout = 0.0

    def close(self) -> None:
        """Close the connection, if one is open."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._buffer = b""

    def ask(
        self, method: str, target: str, fields: Sequence[tuple[str, str]], body: bytes | None, *, timeout: float
    ) -> WholeAnswer:
        """Send a request and return its answer.

        Args:
            method: the method.
            target: the target, from the base address on.
            fields: header fields beside ``Host`` and ``Content-Length``.
            body: the body, if there is one.
            timeout: seconds until the answer must be whole.

        Raises:
            FailedError: no whole answer came.
        """
        self._timeout = timeout
        self._deadline = RealTime.monotonic() + timeout
        head = [f"{method} {self.base}{target} HTTP/1.1", f"Host: {self._authority}"]
        head += [f"{name}: {value}" for name, value in fields]
        if body is not None:
            head.append(f"Content-Length: {len(body)}")
        request = "\r\n".join([*head, "", ""]).encode("latin-1") + (body or b"")
        try:
            # What is sent to a connection that the service closes just then is lost: a create is to be sure of its own.
            self._open(anew=method != "GET")
            broken = self._send(request)
            answer = self._read(broken)
        except BaseException:
            self.close()
            raise
        if answer.closes:
            self.close()
        return answer

    def speaks_tls(self, *, timeout: float) -> bool:
        """Whether the port of an address that begins with ``http://`` shakes hands, with whatever certificate."""
        if self.is_tls:
            return False
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent to it
        try:
            with (
                socket.create_connection((self._host, self._port), timeout=min(timeout, _HANDSHAKE)) as plain,
                context.wrap_socket(plain, server_hostname=self._host),
            ):
                return True
        except (OSError, ValueError):
            return False

    # The socket

    def _open(self, *, anew: bool) -> None:
        if self._socket is not None and (anew or self._is_stale(self._socket)):
            self.close()
        if self._socket is not None:
            return
        try:
            plain = socket.create_connection((self._host, self._port), timeout=self._left())
        except TimeoutError:
            raise FailedError("connect", f"no connection within {self._timeout:g} s") from None
        except (OSError, UnicodeError) as error:
            raise FailedError("connect", f"no connection: {_words(error)}") from None
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self.is_tls:
            self._socket = plain
            return
        try:
            plain.settimeout(self._left())
            self._socket = ssl.create_default_context().wrap_socket(plain, server_hostname=self._host)
        except (OSError, ValueError) as error:
            plain.close()
            raise FailedError("connect", f"no TLS connection: {_words(error)}") from None

    @staticmethod
    def _is_stale(connection: socket.socket) -> bool:
        """Whether there is something to read before anything was asked: the end, or what nobody asked for."""
        try:
            return is_readable(connection)
        except (OSError, ValueError):
            return True

    def _left(self) -> float:
        return max(self._deadline - RealTime.monotonic(), 0.001)

    def _send(self, request: bytes) -> OSError | None:
        """Send, and return why not all of it went: an answer may be there all the same, as to a body too large."""
        assert self._socket is not None  # noqa: S101  # for the type checker: it was opened
        try:
            self._socket.settimeout(self._left())
            self._socket.sendall(request)
        except TimeoutError:
            raise FailedError("silence", f"took no more of the request for {self._timeout:g} s") from None
        except OSError as error:
            return error
        return None

    def _more(self, what: str) -> bool:
        """Read on; False at the end of the connection."""
        assert self._socket is not None  # noqa: S101  # as above
        if RealTime.monotonic() >= self._deadline:
            raise FailedError("silence", f"{what} within {self._timeout:g} s")
        try:
            self._socket.settimeout(self._left())
            block = self._socket.recv(_BLOCK)
        except TimeoutError:
            raise FailedError("silence", f"{what} within {self._timeout:g} s") from None
        except OSError as error:
            raise FailedError("cut", f"the connection broke ({_words(error)}), {what}") from None
        self._buffer += block
        return bool(block)

    # The answer

    def _read(self, broken: OSError | None) -> WholeAnswer:
        while True:
            minor, status, fields = self._head(broken)
            if status == 101:
                raise FailedError("not_http", "101: it switched protocols unasked")
            if status >= 200:
                break
        names: dict[str, list[str]] = {}
        for name, value in fields:
            names.setdefault(name.lower(), []).append(value)
        body, is_ended_by_close = self._body(status, names)
        tokens = {token.strip().lower() for value in names.get("connection", ()) for token in value.split(",")}
        closes = is_ended_by_close or "close" in tokens or (minor == 0 and "keep-alive" not in tokens)
        if self._buffer:
            raise FailedError("length", f"{len(self._buffer)} bytes came after the {len(body)} that were announced")
        for coding in reversed(",".join(names.get("content-encoding", ())).split(",")):
            body = _decoded(body, coding.strip().lower())
        return WholeAnswer(status, fields, body, closes)

    def _head(self, broken: OSError | None) -> tuple[int, int, Fields]:
        while b"\n\r\n" not in self._buffer and b"\n\n" not in self._buffer:
            begun = self._buffer.split(b"\n", 1)[0].rstrip(b"\r")
            looks_right = b"HTTP/1."[: len(begun)] == begun[:7]
            if len(self._buffer) > _MOST_HEAD or not looks_right:
                raise FailedError("not_http", f"what came is no HTTP/1: {self._buffer[:_SHOWN]!r}")
            if not self._more("no answer came" if not self._buffer else "the head of the answer did not end"):
                if self._buffer:
                    raise FailedError("cut", "the connection ended within the head of the answer")
                after = f" ({_words(broken)})" if broken is not None else ""
                raise FailedError("cut", f"the connection ended before any answer{after}")
        end = min(at + size for mark, size in ((b"\n\r\n", 3), (b"\n\n", 2)) if (at := self._buffer.find(mark)) >= 0)
        head, self._buffer = self._buffer[:end], self._buffer[end:]
        first, *lines = [line.rstrip(b"\r") for line in head.rstrip(b"\r\n").split(b"\n")]
        found = _STATUS_LINE.fullmatch(first)
        if found is None:
            raise FailedError("not_http", f"the answer begins with {first[:_SHOWN]!r}")
        fields = []
        for line in lines:
            part = _FIELD.fullmatch(line)
            if part is None:
                raise FailedError("not_http", f"a header field reads {line[:_SHOWN]!r}")
            fields.append((part[1].decode("ascii"), part[2].decode("latin-1")))
        return int(found[1]), int(found[2]), tuple(fields)

    def _body(self, status: int, names: dict[str, list[str]]) -> tuple[bytes, bool]:
        """Return the body, and whether the end of the connection ended it."""
        if status in {204, 304}:
            return b"", False
        if "transfer-encoding" in names:
            coding = ", ".join(names["transfer-encoding"]).lower()
            if coding != "chunked":
                raise FailedError("not_http", f"the transfer coding is {coding!r}, which nobody asked for")
            return self._chunks(), False
        if "content-length" in names:
            lengths = set(names["content-length"])
            text = lengths.pop()
            if lengths or not _LENGTH.fullmatch(text) or int(text) > _MOST_BODY:
                shown = ", ".join(names["content-length"])
                raise FailedError("length", f"Content-Length is {shown!r}")
            return self._take(int(text)), False
        while self._more("the body of the answer did not end"):
            if len(self._buffer) > _MOST_BODY:
                raise FailedError("length", f"the body of the answer is larger than {_MOST_BODY} bytes")
        body, self._buffer = self._buffer, b""
        return body, True

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            got = f"{len(self._buffer)} of the {count} bytes of the body came"
            if not self._more(got):
                raise FailedError("cut", f"the connection ended when {got}")
        body, self._buffer = self._buffer[:count], self._buffer[count:]
        return body

    def _line(self) -> bytes:
        while b"\n" not in self._buffer:
            if len(self._buffer) > _MOST_HEAD or not self._more("a chunk of the answer did not come"):
                raise FailedError("cut", "the connection ended between two chunks of the answer")
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.rstrip(b"\r")

    def _chunks(self) -> bytes:
        parts: list[bytes] = []
        total = 0
        while True:
            line = self._line()
            found = _CHUNK_SIZE.fullmatch(line)
            size = int(found[1], 16) if found is not None else _MOST_BODY + 1
            total += size
            if found is None or total > _MOST_BODY:
                raise FailedError("length", f"the size of a chunk reads {line[:_SHOWN]!r}")
            if size == 0:
                break
            parts.append(self._take(size))
            if self._line():
                raise FailedError("length", "a chunk is longer than it says")
        while self._line():  # trailers
            pass
        return b"".join(parts)


def _decoded(body: bytes, coding: str) -> bytes:
    if coding not in _CODINGS:
        return body
    decoder = zlib.decompressobj(wbits=31)
    with contextlib.suppress(zlib.error):
        found = decoder.decompress(body, _MOST_BODY)
        if decoder.eof:
            return found
    raise FailedError("length", "the answer is called gzip and is none")


def _words(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
