"""Reads requests from bytes, without I/O.

llhttp (httptools) reads field lines. This module reads each head separately and frames the body itself. So an
``Upgrade`` can't swallow a body, a trailer can't become a header field, and :func:`read_head` is a pure function.

The work for a request is linear in its size, however it is cut into packets: ``Reader`` remembers how far it has looked
at an incomplete head, and :class:`ChunkReader` at a body.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import httptools

from petstore_mock.common.masking import cut
from petstore_mock.common.sized import SizedCache
from petstore_mock.http.request import NO_FIELDS, Fields
from petstore_mock.transport.chunks import ChunkReader, RequestError

# Apache accepts 100 fields and 8 KiB a line; Node and h11 accept 16 KiB a head. The fake accepts at least as much.
LINE_LIMIT: Final = 16 * 1024
HEAD_LIMIT: Final = 64 * 1024
FIELD_LIMIT: Final = 100
# RFC 3986 §3.2 without userinfo, and with the zones that RFC 6874 adds.
_IPV6: Final = rb"\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9\-._~]+)?\]"
_NAME: Final = rb"(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
_AUTHORITY: Final = re.compile(rb"(?:%b|%b)(?::[0-9]*)?" % (_IPV6, _NAME))
# A token (RFC 9110 §5.6.2).
_TOKEN: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_LINE: Final = re.compile(rb"(%b) ([!-~]+) HTTP/1\.([01])" % _TOKEN.pattern)
# The method and the target, if the line has them. The target is whole, because a cut key can't be masked.
_BEGINNING: Final = re.compile(rb"(?:([!-.0-~]+) +)?((?:/|(?<= ))[^ \r\n]*)")
# Such as HTTP/2.0 and RTSP/1.0.
_PROTOCOL: Final = re.compile(rb"[A-Z]+/[0-9]+(\.[0-9]+)?")
_ABSOLUTE: Final = re.compile(r"(https?)://([^/?]*)(.*)", re.IGNORECASE)
_LINE_FAULT: Final = re.compile(rb"\0|(?<!\r)\n")
_EMPTY_LINES: Final = re.compile(rb"(?:\r\n)+")
_CLOSE: Final = re.compile(rb"(?:^|,)[ \t]*close[ \t]*(?:,|$)", re.IGNORECASE)
_KEEP_ALIVE: Final = re.compile(rb"(?:^|,)[ \t]*keep-alive[ \t]*(?:,|$)", re.IGNORECASE)
_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})
# Clients send the same fields again and again, often below different request lines.
_known_fields: Final = SizedCache[bytes, Fields](limit=1024 * 1024, largest=16 * 1024)
_NO_METHOD: Final = "the request line must begin with a method"
# The type of a record that holds a ClientHello (RFC 8446 §5.1).
TLS: Final = b"\x16"
_NO_TLS: Final = "this port speaks plain HTTP, and the client sent TLS; use http://"


@dataclass(slots=True)
class RequestHead:
    """The head of a request. Requests with equal heads share it, so it must not change."""

    method: str = "-"
    target: str = "-"
    fields: Fields = NO_FIELDS
    # Whether it is HTTP/1.1.
    modern: bool = True
    # The length of the body; -1 for chunks.
    length: int = 0
    keep_alive: bool = False
    # Whether it is HTTP/1.1, kept alive, and not HEAD.
    plain: bool = False
    # Whether it has Expect: 100-continue.
    expects: bool = False

    @property
    def bodiless(self) -> bool:
        return self.method == "HEAD"


class Reader:
    """Reads the requests of one connection in order. Its methods raise RequestError.

    ``head`` is the head of a request with an incomplete body, or None. With a ``refusal``, it refuses every request.
    """

    def __init__(self, *, over_tls: bool, refusal: str = "") -> None:
        self.buffer = bytearray()
        self.head: RequestHead | None = None
        self._chunks: ChunkReader | None = None
        self._over_tls = over_tls
        self._refusal = refusal
        # Bytes of an incomplete head that are checked, so that each byte is checked once.
        self._checked = 0
        # Whether the request line of an incomplete head is complete and valid.
        self._has_line = False

    @property
    def in_head(self) -> bool:
        """Whether the buffer has an incomplete head."""
        return self.head is None and bool(self.buffer) and self.buffer != b"\r"

    @property
    def size(self) -> int:
        """The size of a chunked body so far, in bytes."""
        return 0 if self._chunks is None else len(self._chunks.body)

    def take_head(self) -> RequestHead | None:
        """Remove the next head from the buffer and return it; None while it is incomplete."""
        buffer = self.buffer
        if self._refusal:
            raise RequestError("malformed_request", self._refusal)
        # RFC 9112 §2.2: ignore empty lines before a request line.
        empty_lines = _EMPTY_LINES.match(buffer)
        if empty_lines is not None:
            del buffer[: empty_lines.end()]
        # An empty line ends the head. It may begin within the bytes that were checked before.
        last_line = buffer.find(b"\r\n\r\n", max(0, self._checked - 3))
        end = last_line + 4
        if last_line < 0:
            if self.in_head:
                self._check_beginning()
            return None
        self._checked = 0
        self._has_line = False
        self.head = read_head(bytes(buffer[:end]), over_tls=self._over_tls)
        self._chunks = None
        if self.head.length < 0:
            self._chunks = ChunkReader(HEAD_LIMIT, FIELD_LIMIT, _check_trailers)
        del buffer[:end]
        return self.head

    def _check_beginning(self) -> None:
        """Refuse an incomplete head that can't become valid."""
        # Otherwise a client that speaks TLS or HTTP/0.9, or ends lines with a bare LF, would wait for the timeout.
        buffer = self.buffer
        checked = self._checked
        if not _TOKEN.match(buffer[:1]):
            problem = _NO_TLS if buffer[:1] == TLS else _NO_METHOD
            raise RequestError("malformed_request", problem)
        if _LINE_FAULT.search(buffer, checked):
            raise RequestError("malformed_request", "expected lines that end in CRLF, without NUL")
        if not self._has_line:
            end = buffer.find(b"\r\n", max(0, checked - 1))
            self._has_line = end >= 0
            if self._has_line:
                _read_line(bytes(buffer[:end]))
            else:
                check_line(len(buffer))
        if len(buffer) > HEAD_LIMIT:
            raise RequestError("header_too_large", f"expected at most {HEAD_LIMIT} bytes")
        self._checked = len(buffer)

    def take_body(self) -> bytes | None:
        """Remove the body of ``head`` from the buffer and return it; None while it is incomplete."""
        length = 0 if self.head is None else self.head.length
        if self._chunks is not None:
            if not self._chunks.take(self.buffer):
                return None
            body = bytes(self._chunks.body)
        elif len(self.buffer) < length:
            return None
        else:
            body = bytes(self.buffer[:length])
            del self.buffer[:length]
        self.head = None
        return body

    def beginning(self) -> RequestHead:
        """Return the readable part of the head of a refused request."""
        if self.head is not None:
            return self.head
        line, _, rest = bytes(self.buffer).partition(b"\r\n")
        beginning = _BEGINNING.match(line)
        if beginning is None:
            return RequestHead()
        fields = NO_FIELDS
        with suppress(RequestError):
            fields = _read_fields(rest[: rest.find(b"\r\n\r\n") + 4])
        method = beginning[1] or b"-"
        target = beginning[2] or b"-"
        is_modern = not line.endswith(b"HTTP/1.0")
        return RequestHead(method.decode("latin-1"), target.decode("latin-1"), fields, is_modern)


def check_line(size: int) -> None:
    """Refuse a request line that is too long. ``size`` is in bytes."""
    if size > LINE_LIMIT:
        raise RequestError("uri_too_long", f"expected a request line of at most {LINE_LIMIT} bytes; got {size}")


def check_head(line: int, fields: Fields) -> None:
    """Refuse a head that HTTP forbids or the fake does not serve; ``line`` is the size of its first line in bytes."""
    check_line(line)
    size = line + fields.size + len("\r\n\r\n")
    if size > HEAD_LIMIT:
        raise RequestError("header_too_large", f"expected at most {HEAD_LIMIT} bytes; got {size}")
    if len(fields) > FIELD_LIMIT:
        raise RequestError("header_too_large", f"expected at most {FIELD_LIMIT} fields; got {len(fields)}")
    # RFC 9112 §3.2.
    hosts = fields.by_name.get(b"host", ())
    if len(hosts) > 1:
        raise RequestError("bad_host", f"got {len(hosts)} Host fields")
    if hosts and _AUTHORITY.fullmatch(hosts[0]) is None:
        raise RequestError("bad_host", f"expected host or host:port as Host; got {_shown(hosts[0])!r}")
    # RFC 9110 §10.1.1.
    for expected in fields.by_name.get(b"expect", ()):
        if expected.lower() != b"100-continue":
            raise RequestError("expectation_failed", f"expected 100-continue; got {_shown(expected)!r}")


def read_head(raw: bytes, *, over_tls: bool) -> RequestHead:
    """Return the head of ``raw``, which ends with an empty line. Raises RequestError."""
    line, _, rest = raw.partition(b"\r\n")
    method, target, modern = _read_line(line)
    fields = _read_fields(rest)
    check_head(len(line), fields)
    if modern and b"host" not in fields.by_name:
        raise RequestError("bad_host", "got no Host field")
    head = RequestHead(method, target, fields, modern)
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is not None and method != "CONNECT":
        _reduce_target(head, absolute, over_tls=over_tls)
    _read_framing(head)
    return head


def _read_line(line: bytes) -> tuple[str, str, bool]:
    """Return method, target and whether it is HTTP/1.1 (RFC 9112 §3). llhttp is too lenient for this line."""
    check_line(len(line))
    valid = _LINE.fullmatch(line)
    if valid is not None:
        return valid[1].decode("ascii"), valid[2].decode("ascii"), valid[3] == b"1"
    method, _, rest = line.partition(b" ")
    target, _, version = rest.rpartition(b" ")
    if not _TOKEN.fullmatch(method):
        raise RequestError("malformed_request", _NO_METHOD)
    if version in {b"HTTP/1.1", b"HTTP/1.0"}:
        raise RequestError("malformed_target", "percent-encode every character except visible ASCII (RFC 3986 §2.1)")
    if target and _PROTOCOL.fullmatch(version):
        raise RequestError("unknown_http_version", _shown(version))
    raise RequestError("malformed_request", "expected a request line like 'METHOD TARGET HTTP/1.1'")


def _reduce_target(head: RequestHead, target: re.Match[str], *, over_tls: bool) -> None:
    """Change the absolute form to the origin form; its authority replaces Host (RFC 9112 §3.2.2)."""
    scheme = target[1].lower()
    authority = target[2].encode()
    path = target[3]
    has_host = authority[:1] not in {b"", b":"}
    if not has_host or _AUTHORITY.fullmatch(authority) is None:
        raise RequestError("malformed_target", "expected a target with a valid host")
    # RFC 9110 §7.4; HTTP does not forbid the reverse.
    if scheme == "https" and not over_tls:
        raise RequestError("misdirected_request", "the client sent it over plain HTTP")
    if not path:
        # RFC 9112 §3.2.4.
        path = "*" if head.method == "OPTIONS" else "/"
    if path.startswith("?"):
        path = f"/{path}"
    head.target = path
    fields: list[tuple[bytes, bytes]] = []
    for name, value in head.fields:
        fields.append((name, authority if name.lower() == b"host" else value))
    head.fields = Fields(fields)


def _read_framing(head: RequestHead) -> None:
    """Set the length of the body and whether the connection is kept (RFC 9112 §6 and §9.3)."""
    values = head.fields.by_name
    options = b",".join(values.get(b"connection", ()))
    wants_more = head.modern or _KEEP_ALIVE.search(options) is not None
    wants_end = head.method == "CONNECT" or _CLOSE.search(options) is not None
    head.keep_alive = wants_more and not wants_end
    head.plain = head.modern and head.keep_alive and not head.bodiless
    # HTTP/1.0 ignores it (RFC 9110 §10.1.1).
    head.expects = head.modern and b"expect" in values
    if b"content-length" in values:
        # llhttp accepts only digits, and only one field.
        head.length = int(values[b"content-length"][0])
    codings = b",".join(values.get(b"transfer-encoding", ())).lower()
    if codings:
        _check_codings(codings, modern=head.modern)
        head.length = -1


def _check_codings(codings: bytes, *, modern: bool) -> None:
    # llhttp accepts `gzip, chunked`.
    if codings.replace(b" ", b"") != b"chunked":
        raise RequestError("unknown_transfer_coding", f"expected chunked; got {_shown(codings)!r}")
    if not modern:
        raise RequestError("malformed_request", "HTTP/1.0 has no Transfer-Encoding")


def _read_fields(section: bytes) -> Fields:
    """Return the field lines that llhttp has validated and split. The section ends with an empty line."""
    fields = _known_fields.get(section)
    if fields is None:
        fields = Fields(_parse_fields(section))
        _known_fields.keep(section, fields, len(section) + fields.weight)
    return fields


def _parse_fields(section: bytes) -> list[tuple[bytes, bytes]]:
    parser = _FieldParser()
    try:
        # A fixed request line, because llhttp treats CONNECT differently.
        httptools.HttpRequestParser(parser).feed_data(b"POST / HTTP/1.1\r\n" + section)
    except httptools.HttpParserUpgrade:
        # RFC 9110 §7.8: a server may ignore Upgrade; an HTTP/1.1 body follows.
        pass
    except httptools.HttpParserError as error:
        raise RequestError("malformed_request", str(error)) from None
    if not parser.is_complete:
        raise RequestError("malformed_request", "expected an empty line at the end of the header fields")
    return parser.fields


def _check_trailers(section: bytes) -> None:
    """Refuse a trailer section that is invalid, or that has a field of the framing (RFC 9110 §6.5.1)."""
    for name, _ in _parse_fields(section):
        if name.lower() in _FRAMING:
            raise RequestError("malformed_request", f"expected no {name.decode('latin-1')} in trailers")


class _FieldParser:
    """Collects the fields that llhttp reads."""

    def __init__(self) -> None:
        self.fields: list[tuple[bytes, bytes]] = []
        self.is_complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        # llhttp strips leading white space only.
        self.fields.append((name, value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        self.is_complete = True


def _shown(text: bytes) -> str:
    return cut(text.decode("latin-1"), 80)
