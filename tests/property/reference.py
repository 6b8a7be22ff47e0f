"""A reference: h11's verdicts about the bytes of a client, and a strict reader of the fake's responses.

If the fake refuses a request that h11 accepts, ``REASONS`` has the sentence of HTTP that allows or demands it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import h11

from tests.wire.raw import Received, parse_head

_DATE: Final = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
_UNBOUNDED: Final = 10**9


@dataclass(frozen=True)
class Verdict:
    """The verdict of h11 about one request; ``rest`` has the body as sent, with chunk sizes and trailers."""

    kind: Literal["whole", "rejected", "incomplete"]
    method: str = ""
    target: str = ""
    version: str = ""
    fields: tuple[tuple[bytes, bytes], ...] = ()
    head: bytes = b""
    rest: bytes = b""
    body: bytes = b""
    why: str = ""

    def values(self, name: bytes) -> list[bytes]:
        return [value for other, value in self.fields if other == name]


def verdicts(data: bytes) -> Iterator[Verdict]:
    """Yield h11's verdict about each request in ``data``, up to the first incomplete one.

    Each request has its own connection of h11, so h11 also reads requests after ``Connection: close``.
    """
    while data:
        data = re.sub(rb"\A(\r\n)+", b"", data)  # RFC 9112 §2.2 ignores empty lines before a request; h11 rejects them
        verdict = Verdict("incomplete") if data == b"\r" else _read_one(data)
        yield verdict
        if verdict.kind != "whole":
            return
        data = data[len(verdict.head) + len(verdict.rest) :]


def _read_one(data: bytes) -> Verdict:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_UNBOUNDED)
    connection.receive_data(data)
    connection.receive_data(b"")
    request: h11.Request | None = None
    head, body = b"", b""
    try:
        while True:
            event = connection.next_event()
            left = len(connection.trailing_data[0])
            if isinstance(event, h11.Request):
                request = event
                head = data[: len(data) - left]
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return Verdict("incomplete")
    except h11.RemoteProtocolError as error:
        incomplete = "peer " in str(error) and "closed connection" in str(error)
        head = data.partition(b"\r\n\r\n")[0] + b"\r\n"
        return Verdict("incomplete" if incomplete else "rejected", head=head, why=str(error))
    assert request is not None
    return Verdict(
        "whole",
        request.method.decode(),
        request.target.decode(),
        request.http_version.decode(),
        tuple(request.headers),
        head,
        data[len(head) : len(data) - left],
        body,
    )


# Why the fake may refuse requests that h11 accepts

_METHODS: Final = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"}
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_HOST: Final = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|([A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(:[0-9]*)?")
_TOKEN: Final = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
_QUOTED: Final = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
_CHUNK_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})((?:;%b(?:=(?:%b|%b))?)*)\r\n" % (_TOKEN, _TOKEN, _QUOTED))
_TRAILER: Final = re.compile(rb"(%b):[ \t]*([!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?[ \t]*\r\n" % _TOKEN)
_FRAMING: Final = {b"content-length", b"transfer-encoding"}


def _is_strictly_chunked(data: bytes) -> bool:
    """Return whether ``data`` is exactly a chunked body of RFC 9112 §7.1, without framing fields as trailers."""
    at = 0
    while line := _CHUNK_LINE.match(data, at):
        at = line.end()
        size = int(line[1], 16)
        if not size:
            while trailer := _TRAILER.match(data, at):
                if trailer[1].lower() in _FRAMING:
                    return False
                at = trailer.end()
            return data[at:] == b"\r\n"
        at += size + 2
        if data[at - 2 : at] != b"\r\n":
            return False
    return False


def _has_odd_target(request: Verdict) -> bool:
    """Return whether the target is invalid for the method (RFC 9112 §3.2)."""
    target = request.target
    if "#" in target:
        return True
    if request.method == "CONNECT":
        match = re.fullmatch(rb"(.+):[0-9]+", target.encode())
        return match is None or _HOST.fullmatch(match[1]) is None
    if target.startswith("/") or (target == "*" and request.method == "OPTIONS"):
        return False
    absolute = re.match(rb"(?i)https?://([^/?:][^/?]*)", target.encode())
    return absolute is None or _HOST.fullmatch(absolute[1]) is None


def decode(text: str) -> str | None:
    """Decode percent-encoded UTF-8 (RFC 3986 §2.1). Return None if it is invalid."""
    if not text.isascii() or re.search("%(?![0-9A-Fa-f]{2})", text):
        return None
    raw = re.sub("%(..)", lambda match: chr(int(match[1], 16)), text).encode("latin-1")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _repeats_its_length(request: Verdict) -> bool:
    lines = re.findall(rb"(?im)^content-length:[^\n]*", request.head)
    return len(lines) > 1 or b"," in b"".join(lines)


# The sentence of HTTP, the statuses that it allows or demands, and the requests that it applies to.
REASONS: Final[tuple[tuple[str, set[int], Callable[[Verdict], object]], ...]] = (
    # The fake does not end the head at a bare LF, so it may find a transfer coding in the following bytes.
    ("RFC 9112 §2.2: a bare LF may end a line", {400, 501}, lambda one: re.search(rb"(?<!\r)\n", one.head)),
    ("RFC 9112 §5.2: folded lines are rejected", {400}, lambda one: re.search(rb"\r\n[ \t]", one.head)),
    ("RFC 9110 §5.5: control characters in a value", {400}, lambda one: _CONTROL.search(one.head)),
    ("RFC 9112 §6.3: a repeated Content-Length may be rejected", {400}, _repeats_its_length),
    (
        "RFC 9112 §6.1: both Content-Length and Transfer-Encoding may be an attempt at smuggling",
        {400},
        lambda one: one.values(b"content-length") and one.values(b"transfer-encoding"),
    ),
    (
        "RFC 9112 §6.1: HTTP/1.0 has no Transfer-Encoding",
        {400},
        lambda one: one.version == "1.0" and one.values(b"transfer-encoding"),
    ),
    (
        "RFC 9112 §7.1: chunks, their extensions and trailers are read strictly, and trailers have no framing fields",
        {400},
        lambda one: one.values(b"transfer-encoding") and not _is_strictly_chunked(one.rest),
    ),
    ("RFC 9112 §3.2: the method does not allow this form of target", {400}, _has_odd_target),
    ("RFC 9110 §7.4: an https target needs TLS", {421}, lambda one: one.target.lower().startswith("https://")),
    ("RFC 3986 §2.1: invalid percent-encoded UTF-8", {400}, lambda one: decode(one.target.partition("?")[0]) is None),
    (
        "RFC 9112 §3.2: Host must be valid",
        {400},
        lambda one: any(_HOST.fullmatch(value) is None for value in one.values(b"host")),
    ),
    ("RFC 9110 §9.1: an unknown method", {501}, lambda one: one.method not in _METHODS),
    ("RFC 9110 §15.6.6: another version", {505}, lambda one: one.version not in {"1.0", "1.1"}),
)


def reason_to_refuse(request: Verdict, status: int) -> str | None:
    """Return why the fake may refuse a request with ``status`` although h11 accepts it, or None."""
    return next((words for words, statuses, holds in REASONS if status in statuses and holds(request)), None)


def reason_to_take(request: Verdict) -> str | None:
    """Return why the fake may execute a request although h11 rejects it, or None."""
    if "Only Transfer-Encoding: chunked is supported" not in request.why:
        return None
    line = re.search(rb"(?im)^transfer-encoding:[ \t,]*chunked[ \t,]*\r$", request.head)
    return line and "RFC 9110 §5.6.1: empty elements of a list are ignored"


# Responses of the fake


def read_responses(data: bytes, methods: Sequence[str]) -> list[Received]:
    """Read the final responses in ``data`` strictly. ``methods`` has the method of each known request."""
    responses: list[Received] = []
    while data:
        head, mark, data = data.partition(b"\r\n\r\n")
        assert mark, f"the head is incomplete: {head!r}"
        received = parse_head(head)
        if received.status < 200:
            assert (received.status, received.fields) == (100, {})
            continue
        fields = received.fields
        assert _DATE.fullmatch(fields["date"])
        assert "transfer-encoding" not in fields  # the default behaviour frames by length
        if received.status == 204:
            assert "content-length" not in fields
        elif methods[len(responses) : len(responses) + 1] != ["HEAD"]:
            size = int(fields["content-length"])
            received, data = replace(received, body=data[:size]), data[size:]
            assert len(received.body) == size, f"the body is incomplete: {received!r}"
        responses.append(received)
        assert fields.get("connection", "keep-alive") in {"close", "keep-alive"}
        assert not data or fields.get("connection") != "close", f"bytes after Connection: close: {data[:80]!r}"
    return responses
