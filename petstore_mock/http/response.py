"""A response of the core, and its bytes as HTTP/1.1 (RFC 9112)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from petstore_mock.common.refusing import refuse
from petstore_mock.interface.conditions import reason_phrase

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from petstore_mock.common.real import Event

# A token (RFC 9110 §5.6.2).
_FIELD_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# The value of a field (RFC 9110 §5.5).
_FIELD_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

# Responses without content (RFC 9110 §6.4.1, §15.3.6).
BODILESS_STATUSES: Final = frozenset({204, 205, 304})
# Without Content-Length (RFC 9110 §8.6); a 205 has length 0.
UNSIZED_STATUSES: Final = frozenset({204, 304})

# Header fields that the adapters set. Some faults and gaps make them wrong or leave them out.
FRAMING: Final = frozenset({"connection", "content-length", "date", "transfer-encoding"})

# RFC 9112 §7.1.1, §7.1.2: a client ignores extensions and trailer fields that it does not know.
_EXTENSION: Final = b';part="1; 2"'
_TRAILERS: Final = b'X-Trace: 1\r\nETag: "trailer"\r\n'

# More than one, so that a client which reads only the first chunk fails.
_CHUNKS: Final = 3


def is_field(name: str, value: str) -> bool:
    """Return whether HTTP allows a header field (RFC 9110 §5); values are sent as Latin-1."""
    return _FIELD_NAME.fullmatch(name) is not None and _FIELD_VALUE.fullmatch(value) is not None


def without_fields(fields: Iterable[tuple[str, str]], names: Container[str]) -> list[tuple[str, str]]:
    """Return the header fields except those with some names, which are in lower case."""
    return [field for field in fields if field[0].lower() not in names]


class Head:
    """The status and the header fields of a response, immutable. Adapters add Date and the fields of the framing."""

    __slots__ = ("fields", "status", "wire")

    def __init__(self, status: int, fields: Sequence[tuple[str, str]] = ()) -> None:
        for name, value in fields:
            if not is_field(name, value):
                refuse(f"expected a header field that HTTP allows; got {name!r}: {value!r}")
        self.status = status
        self.fields = tuple(fields)
        lines = [f"HTTP/1.1 {status} {reason_phrase(status)}", *map(": ".join, fields)]
        if self.get("upgrade") is not None:
            # RFC 9110 §7.8; not in ``fields``, because WSGI forbids it.
            lines.append("Connection: Upgrade")
        self.wire = ("\r\n".join(lines) + "\r\n").encode("latin-1")

    def get(self, name: str) -> str | None:
        """Return the first value of the header ``name``, or None."""
        wanted = name.lower()
        for field, value in self.fields:
            if field.lower() == wanted:
                return value
        return None

    def with_fields(self, *more: tuple[str, str]) -> Head:
        """Return a copy in which ``more`` replace the fields of the same names; an empty value removes a field."""
        names = {name.lower() for name, _ in more}
        added = [field for field in more if field[1]]
        return Head(self.status, without_fields(self.fields, names) + added)


@dataclass(frozen=True, slots=True)
class WireFormat:
    """The form in which a behaviour sends responses over a socket. Under WSGI, the server decides it."""

    # The gap answer_framing.
    chunked: bool = False
    # The gap connection: the connection ends after the response.
    close: bool = False
    # The gap header_names.
    lower_case: bool = False
    # The rest is only for faults: another version or reason phrase, a head without Date or without spaces, a body that
    # ends with the connection, and unusual chunks.
    version: str = "1.1"
    reason: str | None = None
    without_date: bool = False
    without_spaces: bool = False
    until_close: bool = False
    chunk_extras: bool = False


PLAIN: Final = WireFormat()


@dataclass(slots=True, eq=False, repr=False)
class Response:
    """A response of the core."""

    head: Head
    body: bytes
    # The time of the fake's clock (RFC 9110 §6.6.1).
    date: bytes
    wire_format: WireFormat = PLAIN
    # Head and body in one piece, which a connection caches for the next request.
    wire: bytes = b""

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.head.status


class StreamError(Exception):
    """A stream ended early. The sender ends the connection, so that the client sees that a part is missing."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A response whose body is made while it is sent, such as the events of the control door.

    ``chunks`` may raise StreamError. The sender of a stream closes it afterwards.
    """

    head: Head
    date: bytes
    chunks: Iterator[bytes]
    # Set when the client reads so slowly that parts of the body are lost.
    overflowed: Event | None = None
    # Whether its end is marked on the wire; otherwise the end of the connection is its end.
    chunked: bool = False

    def close(self) -> None:
        """Release the code that makes the body."""
        close = getattr(self.chunks, "close", None)
        if close is not None:
            close()


def frame_stream(stream: Stream, *, modern: bool, closing: bool) -> tuple[bytes, bool]:
    """Return the head of ``stream`` as bytes to send, and whether its parts must be sent as chunks."""
    chunked = stream.chunked and modern
    lines = [stream.head.wire, b"Date: ", stream.date, b"\r\n"]
    if chunked:
        lines.append(b"Transfer-Encoding: chunked\r\n")
    if closing or not chunked:
        lines.append(b"Connection: close\r\n")
    lines.append(b"\r\n")
    return b"".join(lines), chunked


def chunk(part: bytes) -> bytes:
    """Return a part of a body as a chunk (RFC 9112 §7.1); an empty part marks the end of the body."""
    return b"%x\r\n%b\r\n" % (len(part), part)


def frame(
    response: Response, *, modern: bool, bodiless: bool, closing: bool, chunked: bool | None = None
) -> tuple[bytes, bytes]:
    """Return the head and the body of ``response`` as bytes to send."""
    form = response.wire_format
    if chunked is None:
        chunked = form.chunked
    can_be_chunked = modern and not bodiless
    framing, body = _framing(response, chunked=chunked and can_be_chunked)
    ends_with_connection = form.until_close and response.status not in UNSIZED_STATUSES
    lines = [_first_lines(response)]
    if not form.without_date:
        lines += [b"Date: ", response.date, b"\r\n"]
    lines.append(framing)
    # RFC 9112 §9.3: otherwise the version of HTTP says as much.
    if closing or ends_with_connection:
        lines.append(b"Connection: close\r\n")
    elif not modern:
        lines.append(b"Connection: keep-alive\r\n")
    lines.append(b"\r\n")
    head = b"".join(lines)
    if bodiless:
        body = b""
    return _spelt(head, form), body


def _first_lines(response: Response) -> bytes:
    """Return the status line and the fields of a response."""
    form = response.wire_format
    wire = response.head.wire
    if form.version == "1.1" and form.reason is None:
        return wire
    _, _, fields = wire.partition(b"\r\n")
    reason = reason_phrase(response.status) if form.reason is None else form.reason
    return f"HTTP/{form.version} {response.status} {reason}\r\n".encode("latin-1") + fields


def _framing(response: Response, *, chunked: bool) -> tuple[bytes, bytes]:
    """Return the header line that frames a body, and the framed body."""
    body = response.body
    form = response.wire_format
    if response.status in UNSIZED_STATUSES:
        return b"", b""
    if form.until_close:
        return b"", body
    if chunked:
        coding = b"Chunked" if form.chunk_extras else b"chunked"
        return b"Transfer-Encoding: %b\r\n" % coding, _in_chunks(body, extras=form.chunk_extras)
    return b"Content-Length: %d\r\n" % len(body), body


def _spelt(head: bytes, form: WireFormat) -> bytes:
    """Return a head in the spelling of a form."""
    if not form.lower_case and not form.without_spaces:
        return head
    lines = head.split(b"\r\n")
    for number, line in enumerate(lines[1:], 1):
        name, colon, value = line.partition(b":")
        if form.lower_case:
            name = name.lower()
        if form.without_spaces:
            value = value.lstrip()
        lines[number] = name + colon + value
    return b"\r\n".join(lines)


def _in_chunks(body: bytes, *, extras: bool) -> bytes:
    size = len(body) // _CHUNKS + 1
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    if not extras:
        return b"".join(map(chunk, (*pieces, b"")))
    parts = [b"0%X%b\r\n%b\r\n" % (len(piece), _EXTENSION, piece) for piece in pieces]
    return b"".join([*parts, b"0", _EXTENSION, b"\r\n", _TRAILERS, b"\r\n"])
