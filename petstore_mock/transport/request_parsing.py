"""Reads requests off the wire: one function validates a head, one class decodes a chunked body. No I/O.

The syntax is llhttp's to validate (through httptools); what it lets pass and HTTP does not is validated here. A head is
read whole and on its own, and bodies are framed by what it says, never by the parser that read it. So an
``Upgrade`` cannot swallow a body, a trailer cannot become a header field, and a head that came before means the
same again: :func:`read_head` is a pure function of the bytes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import httptools

from petstore_mock.common.masking import cut
from petstore_mock.messages.request import KNOWN_METHODS, NO_FIELDS, RequestFields
from petstore_mock.transport.head_rules import (
    AUTHORITY,
    FIELD_LIMIT,
    HEAD_LIMIT,
    HOST_AND_PORT,
    LINE_LIMIT,
    RequestError,
    check_host,
    check_transfer_coding,
    is_asked_to_continue,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ChunkedBody", "RequestError", "RequestHead", "probe", "read_beginning", "read_head"]

KNOWN_FIELDS: Final = 1024  # header sections that are remembered: those of a client's requests are often the same ...
KNOWN_FIELDS_SIZE: Final = 2048  # ... and short, in bytes
_SHOWN_TOKEN: Final = 40

_TOKEN: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 §5.6.2
_PROTOCOL: Final = re.compile(rb"[A-Z]+/[0-9]+(\.[0-9]+)?")  # HTTP/2.0, RTSP/1.0
_UNSAFE_TARGET: Final = re.compile(rb"[^!-~]|#")  # RFC 9112 §3.2: visible ASCII, and never a fragment
_TRANSFER_ENCODING: Final = re.compile(rb"^transfer-encoding:[ \t]*([^\r\n]*?)[ \t]*\r$", re.IGNORECASE | re.MULTILINE)
_LINE_FAULT: Final = re.compile(rb"\0|(?<!\r)\n")
_OWS: Final = b" \t"
_TLS: Final = b"\x16"  # the type of a record that holds a handshake, such as a ClientHello
_END_OF_JSON: Final = re.compile(rb'["}\]]')  # no token has one of these
_LEFT_OVER: Final = ", not with what is left of a body: Content-Length counts bytes, not characters"


class RequestHead:
    """One request's head, validated. It isn't changed after that: requests with the same head share it.

    Attributes:
        method: the method token.
        target: the target in origin-form, ``*`` or, for CONNECT, an authority.
        fields: the header fields as (name, value), without white space around the value.
        length: the declared length of the body in bytes, 0 when there is none, -1 when it is chunked.
        keep_alive: the client wants the connection kept.
        modern: HTTP/1.1 (and not 1.0).
        version: the same in HTTP's own words.
        expects: the client waits for ``100 (Continue)`` before it sends the body.
        bodiless: the answer must have no body, since the method is HEAD.
        mounted: the target leads to the mounted application.
        plain: none of this needs care: HTTP/1.1, the connection is kept, and the answer may have a body.
    """

    __slots__ = (
        "bodiless",
        "expects",
        "fields",
        "keep_alive",
        "length",
        "method",
        "modern",
        "mounted",
        "plain",
        "target",
        "version",
    )

    def __init__(self, method: str, target: str, fields: RequestFields, *, modern: bool) -> None:
        self.method = method
        self.target = target
        self.fields = fields
        self.modern = modern
        self.version = "HTTP/1.1" if modern else "HTTP/1.0"
        self.length = 0
        self.keep_alive = modern
        self.expects = False
        self.bodiless = method == "HEAD"
        self.mounted = False
        self.plain = False

    def __repr__(self) -> str:
        return f"<RequestHead {self.method} {self.target}>"  # never the fields: one is the key

    def closing(self) -> RequestHead:
        """Return a copy after whose answer the connection closes, whatever the client wished."""
        copy = RequestHead(self.method, self.target, self.fields, modern=self.modern)
        copy.keep_alive = False
        copy.mounted = self.mounted
        return copy


class _Collector:
    """Takes the fields from the parser."""

    __slots__ = ("complete", "fields")

    def __init__(self) -> None:
        self.fields: list[tuple[bytes, bytes]] = []
        self.complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.fields.append((name, value.rstrip(_OWS)))  # llhttp strips what leads and leaves what trails

    def on_headers_complete(self) -> None:
        self.complete = True


def read_head(raw: bytes, *, over_tls: bool = False) -> RequestHead:
    """Validate a head.

    Args:
        raw: its bytes, with the empty line that ends it.
        over_tls: whether it came over TLS, as an ``https://`` target must (RFC 9110 §7.4).

    Raises:
        RequestError: HTTP does not allow it; has the head as far as it could be read.
    """
    line, _, rest = raw.partition(b"\r\n")
    method, target, modern = _read_line(line)
    head = RequestHead(method, target, NO_FIELDS, modern=modern)
    try:
        _complete(head, rest, len(raw), over_tls=over_tls)
    except RequestError as error:
        error.head = head
        raise
    return head


def _complete(head: RequestHead, rest: bytes, size: int, *, over_tls: bool) -> None:
    """Read what follows the line of a head of ``size`` bytes."""
    if size > HEAD_LIMIT:
        raise RequestError("header_too_large", f"{size} bytes, the limit is {HEAD_LIMIT}")
    head.fields = _known_fields(rest) if len(rest) <= KNOWN_FIELDS_SIZE else _split_fields(rest)
    values = head.fields.by_name
    if head.method not in KNOWN_METHODS:
        raise RequestError("unknown_method", cut(head.method, _SHOWN_TOKEN))
    check_host(values, required=head.modern)
    if head.method == "CONNECT" or not head.target.startswith("/"):
        _reduce_target(head, over_tls=over_tls)
    _read_framing(head, values)


def probe(partial: bytearray, scanned: int) -> None:
    """Refuse a head that is still to come in full when it is hopeless already; ``scanned`` bytes were looked at.

    Without this, a client that speaks TLS or HTTP/0.9, or ends lines with a bare LF, would wait for the timeout.
    """
    try:
        _probe(partial, scanned)
    except RequestError as error:
        error.head = error.head or read_beginning(partial)
        raise


def read_beginning(partial: bytes | bytearray) -> RequestHead | None:
    """Return who asks for what in a head that won't be read in full, as far as that goes; None if there is no method.

    A refusal needs it: an answer to HEAD has no body (RFC 9110 §9.3.2).
    """
    line, ended, _ = bytes(partial).partition(b"\r\n")
    method, space, _ = line.partition(b" ")
    if not space or not _TOKEN.fullmatch(method):
        return None
    try:
        if ended:
            name, target, modern = _read_line(line)
            return RequestHead(name, target, NO_FIELDS, modern=modern)
    except RequestError:
        pass
    return _targetless(method)


def _probe(partial: bytearray, scanned: int) -> None:
    if not scanned and partial[:1] == _TLS:  # a NUL comes soon in it
        raise RequestError("malformed_request", _no_method(partial))
    if _LINE_FAULT.search(partial, scanned):  # it may look back before where it starts
        raise RequestError("malformed_request", "a NUL, or a line that does not end in CRLF")
    end = partial.find(b"\r\n")
    if end >= 0:
        if end > scanned - 2:  # it has just come
            _read_line(bytes(partial[:end]))
        if len(partial) > HEAD_LIMIT:
            raise RequestError("header_too_large", f"more than {HEAD_LIMIT} bytes")
    elif len(partial) > LINE_LIMIT:
        raise RequestError("uri_too_long", f"a request line of more than {LINE_LIMIT} bytes")
    elif not scanned and not _TOKEN.match(partial):
        raise RequestError("malformed_request", _no_method(partial))


def _no_method(start: bytes | bytearray) -> str:
    if start[:1] == _TLS:
        return "this is TLS: the fake speaks plain HTTP, so the address must begin with http://"
    left_over = _END_OF_JSON.search(start.partition(b" ")[0]) is not None
    return f"the request line must begin with a method{_LEFT_OVER if left_over else ''}"


def _read_line(line: bytes) -> tuple[str, str, bool]:
    """Take the request line apart (RFC 9112 §3), which llhttp reads too kindly."""
    method, _, rest = line.partition(b" ")
    if not _TOKEN.fullmatch(method):
        raise RequestError("malformed_request", _no_method(line))
    try:
        target, modern = _read_target(rest, len(line))
    except RequestError as error:
        error.head = _targetless(method)
        raise
    return method.decode("ascii"), target, modern


def _targetless(method: bytes | bytearray) -> RequestHead:
    """Return who asked, where the target can't be read: an answer to HEAD has no body even so (RFC 9110 §9.3.2)."""
    return RequestHead(method.decode("ascii"), "-", NO_FIELDS, modern=True)


def _read_target(rest: bytes, size: int) -> tuple[str, bool]:
    """Return the target from what follows the method in a line of ``size``, and whether the version is HTTP/1.1."""
    if size > LINE_LIMIT:
        raise RequestError("uri_too_long", f"a request line of {size} bytes, the limit is {LINE_LIMIT}")
    target, space, version = rest.rpartition(b" ")
    if not space:
        raise RequestError("malformed_request", "the request line has no HTTP version (HTTP/0.9 is not spoken)")
    if version not in {b"HTTP/1.1", b"HTTP/1.0"}:
        if _PROTOCOL.fullmatch(version):
            raise RequestError("unknown_http_version", shown(version, _SHOWN_TOKEN))
        raise RequestError("malformed_request", "the request line is not 'METHOD TARGET HTTP/1.1'")
    if not target:
        raise RequestError("malformed_target", "between method and version stands a target")
    if unsafe := _UNSAFE_TARGET.search(target):
        what = "a fragment ('#')" if unsafe[0] == b"#" else f"the byte 0x{unsafe[0][0]:02x}: percent-encode it"
        raise RequestError("malformed_target", f"the target holds {what}")
    return target.decode("ascii"), version == b"HTTP/1.1"


def _split_fields(rest: bytes) -> RequestFields:
    """Let llhttp validate and split field lines."""
    if b"transfer-encoding" in rest.lower():
        check_transfer_coding(_TRANSFER_ENCODING.findall(rest))  # which llhttp would call malformed, whatever it is
    if rest.count(b"\r\n") > FIELD_LIMIT + 1:
        raise RequestError("header_too_large", f"more than {FIELD_LIMIT} fields")
    collector = _Collector()
    try:
        # The line was validated: what llhttp makes of its method (it knows fewer, and more) must not matter.
        httptools.HttpRequestParser(collector).feed_data(b"POST / HTTP/1.1\r\n" + rest)
    except httptools.HttpParserUpgrade:
        pass  # RFC 9110 §7.8: a server may ignore Upgrade; what follows is an HTTP/1.1 body
    except httptools.HttpParserError as error:
        raise RequestError("malformed_request", str(error)) from None
    if not collector.complete:
        raise RequestError("malformed_request", "the header section does not end")
    return RequestFields(collector.fields)


_known_fields = lru_cache(KNOWN_FIELDS)(_split_fields)  # which heads with the same lines share


def _reduce_target(head: RequestHead, *, over_tls: bool) -> None:
    """Allow the other forms of RFC 9112 §3.2 where they belong; reduce the absolute form to the origin form."""
    target = head.target
    if head.method == "CONNECT":
        if HOST_AND_PORT.fullmatch(target.encode()) is None:
            raise RequestError("malformed_target", "the target of CONNECT is 'host:port'")
        return
    if target == "*" and head.method == "OPTIONS":
        return
    scheme, separator, remainder = target.partition("://")
    if not separator or scheme.lower() not in {"http", "https"}:
        raise RequestError("malformed_target", "a target begins with '/', 'http://' or 'https://'")
    end = min((at for at in map(remainder.find, "/?") if at >= 0), default=len(remainder))
    authority, path = remainder[:end].encode(), remainder[end:]
    if authority[:1] in {b"", b":"} or AUTHORITY.fullmatch(authority) is None:  # RFC 9110 §4.2.1: never an empty host
        raise RequestError("malformed_target", "the target names no valid host")
    if scheme.lower() == "https" and not over_tls:  # the other way round, no sentence of HTTP forbids it
        raise RequestError("misdirected_request", "an https:// target came over plain HTTP")
    if not path and head.method == "OPTIONS":
        path = "*"  # RFC 9112 §3.2.4
    head.target = path if path.startswith(("/", "*")) else "/" + path
    # RFC 9112 §3.2.2: the authority replaces what Host says.
    head.fields = RequestFields((name, authority if name.lower() == b"host" else value) for name, value in head.fields)


def _read_framing(head: RequestHead, values: Mapping[bytes, Sequence[bytes]]) -> None:
    """Read from the fields how long the body is and what becomes of the connection (RFC 9112 §6 and §9.3)."""
    options = {option.strip(_OWS).lower() for value in values.get(b"connection", ()) for option in value.split(b",")}
    head.keep_alive = head.method != "CONNECT" and b"close" not in options and (head.modern or b"keep-alive" in options)
    head.plain = head.modern and head.keep_alive and not head.bodiless
    if b"content-length" in values:
        head.length = int(values[b"content-length"][0])  # llhttp lets digits pass, once
    if b"transfer-encoding" in values:
        if not head.modern:
            raise RequestError("malformed_request", "HTTP/1.0 has no Transfer-Encoding")
        head.length = -1
    head.expects = head.modern and is_asked_to_continue(values)  # HTTP/1.0 ignores it (RFC 9110 §10.1.1)


class ChunkedBody:
    """Decodes one chunked body; trailer fields are read and dropped (RFC 9110 §6.5.1).

    The parser doesn't say where in its input a message ended, but a chunked one ends with an empty line and only
    there: it is fed up to each, so what follows the message is never fed to it.
    """

    __slots__ = ("_feed", "_tail", "chunks", "complete", "overhead", "size")

    _HEAD: Final = b"POST / HTTP/1.1\r\nHost: petstore\r\nTransfer-Encoding: chunked\r\n\r\n"

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0
        self.complete = False
        self.overhead = 0
        self._tail = b""
        self._feed = httptools.HttpRequestParser(self).feed_data
        self._feed(self._HEAD)

    def on_body(self, data: bytes) -> None:
        """Take decoded bytes from the parser."""
        self.chunks.append(data)
        self.size += len(data)
        self.overhead = 0

    def on_message_complete(self) -> None:
        """Learn from the parser that the body, its trailers included, is complete."""
        self.complete = True

    def feed(self, data: bytes) -> int:
        """Decode up to the end of ``data`` or of the body; return how much was used. Raises RequestError."""
        start = 0
        while start < len(data) and not self.complete:
            # An empty line may have begun in what was fed before: its last three bytes count.
            known = self._tail
            found = (known + data[start : start + 3]).find(b"\r\n\r\n")
            if found >= 0:
                end = start + found + 4 - len(known)
            else:
                found = data.find(b"\r\n\r\n", start)
                end = found + 4 if found >= 0 else len(data)
            piece = data[start:end]
            self._tail = (known + piece[-3:])[-3:]
            self.overhead += len(piece)
            try:
                self._feed(piece)
            except httptools.HttpParserError as error:
                raise RequestError("malformed_request", str(error)) from None
            if self.overhead > HEAD_LIMIT:  # endless trailers, or an endless chunk extension
                raise RequestError("header_too_large", f"more than {HEAD_LIMIT} bytes of trailers")
            start = end
        return start
