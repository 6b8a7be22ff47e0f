"""A grammar of what clients send: requests that are right but for a part or two, then bytes changed at random."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn

__all__ = ["KEY", "pieces", "streams"]

KEY: Final = "fuzz-key"

_T = TypeVar("_T")


class Part(Generic[_T]):
    """A part of a request: its usual values, and odd ones."""

    def __init__(self, usual: Sequence[_T], *odd: _T) -> None:
        self.usual = st.sampled_from(usual)
        self.odd = st.sampled_from(odd)
        PARTS.append(self)


PARTS: Final[list[Part[Any]]] = []


class Pick(Protocol):
    """Choose a part of the request that is being made."""

    def __call__(self, part: Part[_T]) -> _T:
        """Return one of what ``part`` may be."""


METHODS: Final = Part(
    [b"POST", b"GET"],
    *(b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"PATCH", b"TRACE", b"CONNECT", b"QUERY"),
    *(b"post", b"FOO", b"M-SEARCH", b"PRI", b"G\xc3\x89T", b"GE(T", b""),
)
TARGETS: Final = Part(
    [b"/v1/pets"],
    *(b"/v1/pets?limit=1", b"/v1/pets/1", b"/v1/pets/%31", b"/v1/pets/", b"/v1//pets", b"/v1/store/orders", b"/"),
    *(b"http://x/v1/pets", b"HTTP://x:80/v1/pets?status=sold", b"http://x", b"https://x/v1/pets", b"http:///v1/pets"),
    *(b"*", b"x:80", b"x", b"[::1]:80", b"", b"/v1/pets#a", b"/v1/pets?limit=1#a", b"/v1/p ets", b"/v1/pets/\xc3\xa9"),
    *(b"/v1/%ZZ", b"/v1/pets/%", b"/v1/pets/%FF", b"/v1/pets/%00", b"/v1%2Fpets", b"/v1/pets?%", b"/../v1/pets"),
    *(b"/v1/pets\0", b"/" + b"a" * 17_000, b"/v1/pets?a=" + b"%41" * 300),
)
VERSIONS: Final = Part(
    [b"HTTP/1.1"],
    *(b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.2", b"HTTP/0.9", b"HTTP/1.10", b"http/1.1", b"RTSP/1.0", b"HTTP/1", b"1.1"),
    *(b"", b"HTTP/1.1 ", b"HTTP/11", b"\tHTTP/1.1"),
)
HOSTS: Final = Part(
    [b"Host: x\r\n"],
    *(b"", b"Host: a.example:8080\r\n", b"hOST:\tx \r\n", b"Host: [::1]:80\r\n", b"Host:\r\n", b"Host: x y\r\n"),
    *(b"Host: x\r\nHost: x\r\n", b"Host: x/y\r\n", b"Host : x\r\n", b"Host: a@b\r\n", b"Host: x,y\r\n"),
)
CREDENTIALS: Final = Part(
    [f"Authorization: Bearer {KEY}\r\n".encode()],
    *(b"", b"Authorization: Bearer wrong\r\n", b"Authorization: Basic eDp5\r\n", b"Authorization:\r\n"),
    *(f"authorization: bearer   {KEY}\r\n".encode(), f"Authorization: Bearer {KEY}\r\n".encode() * 2),
)
TYPES: Final = Part(
    [b"Content-Type: application/json\r\n"],
    *(b"", b"Content-Type: text/plain\r\n", b"content-type: Application/JSON; charset=utf-8\r\n", b"Content-Type:\r\n"),
)
EXTRAS: Final = Part(
    [
        *(b"X-A: b\r\n", b"X-Empty:\r\n", b"x-obs: \xe9\xff\r\n", b"X-Tab:\t a\tb \r\n", b"Connection: keep-alive\r\n"),
        *(b"Connection: Keep-Alive, X-A\r\n", b"Connection: Upgrade\r\nUpgrade: h2c\r\n", b"Connection:\r\n"),
        *(b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"Upgrade: x\r\n", b"Proxy-Connection: keep-alive\r\n"),
        *(b"Expect: 100-continue\r\n", b"Expect: 100-Continue\r\n", b"TE: trailers\r\n", b"Trailer: X-B\r\n"),
        *(b"Accept: text/html\r\n", b"Content-Encoding: gzip\r\n"),
    ],
    *(b"Connection: close\r\n", b"Connection: close, keep-alive\r\n", b"Connection: CLOSE\r\n"),
    *(b"Connection:x,close\r\n", b"Expect: 200-ok\r\n", b"Expect:\r\n", b"X-Folded: a\r\n b\r\n", b"X-Ctl: a\x01b\r\n"),
    *(b"X-Del: \x7f\r\n", b"X-Nul: \0\r\n", b"X-Lf: a\nb\r\n", b"X-Cr: a\rb\r\n", b"No colon\r\n", b": none\r\n"),
    *(b"X(: y\r\n", b" lead: y\r\n"),
    *(b"X-Many: y\r\n" * 110, b"X-Vt: \x0b\r\n", b"X-Long: " + b"a" * 66_000 + b"\r\n"),
)
BODIES: Final = Part(
    [b'{"name":"Rex","categoryId":1}'],
    *(b"", b"{}", b"null", b'{"name":"\xc3\xa9\\u0000","categoryId":-9223372036854775808,"status":"sold"}', b"\xff"),
    *(b'{"name":"a\r\n\r\nb","categoryId":1}', b"\r\n", b"0\r\n\r\n", b"POST /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n"),
)
TRAILERS: Final = Part(
    [b""],
    *(b"X-B: c\r\n", b"Authorization: Bearer wrong\r\n", b"Host: y\r\n", b"Content-Length: 5\r\n", b"X: a\r\n b\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"X-B\r\n", b"X-B : c\r\n", b"X: \x01\r\n", b"Connection: close\r\n"),
)
EXTENSIONS: Final = Part(
    [b""],
    *(b";a", b";a=b", b';a="b c"', b';a="\\""', b"; a = b", b" ;a", b";", b";=b", b";a=", b';a="b', b" ", b"\t"),
    *(b";a;b=c", b";a=\x01", b";\xe9", b";a=b c", b"g", b"_1", b".0"),
)
SIZES: Final = Part([b"%x"], b"%X", b"0%x", b"000000000000000000%x", b"0x%x", b"+%x", b"-%x", b" %x", b"%x ")
LAST_SIZES: Final = Part([b"0"], b"00", b"0 ", b"0x0", b"-0", b"")
FRAMINGS: Final = Part(["length", "chunked"], "none", "both", "odd length", "odd length")
CODINGS: Final = Part(
    [b"chunked"],
    *(b"Chunked", b"chunked,", b",chunked", b"gzip", b"gzip, chunked", b"chunked, chunked", b"identity", b""),
    *(b"xchunked", b'"chunked"', b"chunked;a=b", b"chunked\r\nTransfer-Encoding: gzip"),
)
ODD_LENGTHS: Final = st.sampled_from(
    [b"%d", b"+%d", b"-%d", b"0%d", b"%d ", b"\t%d", b"%d, %d", b"%d,", b"%d_0", b"0x%d", b"%d.0", b"", b"9" * 25]
)
LINE_ENDS: Final = Part([b"\r\n"], b"\n", b"\r\r\n")
LEADS: Final = Part([b""], b"\r\n", b"\r\n\r\n", b"\n", b" ")
EXTRA_COUNTS: Final = Part([0, 0, 1], 2, 3)
COUNTS: Final = st.integers(1, 5)
TOKENS: Final = st.sampled_from(
    [
        *(b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\0", b" ", b"\t", b":", b",", b";", b"#", b"?", b"%", b"/", b"\x7f"),
        *(b"\x0b", b"\x0c", b"\x80", b"\xff", b"0\r\n\r\n", b"1\r\na\r\n", b"HTTP/1.1", b"GET / HTTP/1.1\r\n"),
        *(b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: x\r\n", b"Expect: 100-continue\r\n"),
    ]
)

INSERTED: Final = TOKENS | st.binary(min_size=1, max_size=4)
SPANS: Final = st.integers(1, 12)
MUTATIONS: Final = st.sampled_from(["insert", "replace", "delete", "double", "end"])
MUTATION_COUNTS: Final = st.sampled_from([0, 0, 0, 0, 0, 0, 1, 1, 2])
CHUNK_CUTS: Final = st.lists(st.integers(0, 40), max_size=3)
ODD_PARTS: Final = st.lists(st.sampled_from(PARTS), max_size=2)


def chunked(pick: Pick, body: bytes, cuts: Sequence[int]) -> bytes:
    """Encode ``body`` in chunks, not always as it should be."""
    out = [pick(SIZES) % len(piece) + pick(EXTENSIONS) + b"\r\n" + piece + b"\r\n" for piece in pieces(body, cuts)]
    return b"".join(out) + pick(LAST_SIZES) + pick(EXTENSIONS) + b"\r\n" + pick(TRAILERS) + b"\r\n"


def framed(draw: DrawFn, pick: Pick, body: bytes) -> tuple[bytes, bytes]:
    """Return the field lines that frame ``body``, and it as they say, or nearly."""
    kind = pick(FRAMINGS)
    lines = b""
    if kind in {"length", "both"}:
        lines = b"Content-Length: %d\r\n" % len(body)
    if kind in {"chunked", "both"}:
        lines += b"Transfer-Encoding: " + pick(CODINGS) + b"\r\n"
        body = chunked(pick, body, draw(CHUNK_CUTS))
    elif kind == "odd length":
        form = draw(ODD_LENGTHS)
        number = max(0, len(body) + draw(st.integers(-3, 3)))
        value = form % ((number,) * form.count(b"%d"))
        lines = (b"Content-Length: " + value + b"\r\n") * draw(st.integers(1, 2))
    return lines, body


@st.composite
def requests(draw: DrawFn) -> bytes:
    """Draw one request of which all parts are usual but two at most."""
    odd = draw(ODD_PARTS)

    def pick(part: Part[_T]) -> _T:
        return draw(part.odd if part in odd else part.usual)

    method = pick(METHODS)
    line = b" ".join([method, pick(TARGETS), pick(VERSIONS)]) + pick(LINE_ENDS)
    lines = [pick(HOSTS), pick(CREDENTIALS)]
    body = b""
    if method == b"POST" or FRAMINGS in odd:
        framing, body = framed(draw, pick, pick(BODIES))
        lines += [pick(TYPES), framing]
    for _ in range(pick(EXTRA_COUNTS)):
        lines.insert(draw(st.integers(0, len(lines))), pick(EXTRAS))
    return pick(LEADS) + line + b"".join(lines) + b"\r\n" + body


@st.composite
def mutated(draw: DrawFn, data: bytes) -> bytes:
    """Insert, delete, double or replace bytes of ``data`` at random places."""
    for _ in range(draw(MUTATION_COUNTS)):
        at = draw(st.integers(0, len(data)))
        match draw(MUTATIONS):
            case "insert":
                data = data[:at] + draw(INSERTED) + data[at:]
            case "replace":
                token = draw(INSERTED)
                data = data[:at] + token + data[at + len(token) :]
            case "delete":
                data = data[:at] + data[at + draw(SPANS) :]
            case "double":
                data = data[: at + draw(SPANS)] + data[at:]
            case "end":
                data = data[:at]
    return data


@st.composite
def streams(draw: DrawFn) -> bytes:
    """Draw all that one client sends on one connection: pipelined requests, each mutated now and then."""
    return b"".join([draw(mutated(draw(requests()))) for _ in range(draw(COUNTS))])


def pieces(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    """Cut ``data`` at the places that ``cuts`` name modulo its length, for several sends."""
    bounds = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(bounds) if start < end]
