"""Strategies for the bytes of clients: valid, nearly valid and invalid requests, some with random changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.wire.raw import AUTH, REX, get, post
from tests.wire.test_malformed import BROKEN_TARGETS, FORBIDDEN, HOST, ODD_TARGETS

CHUNKED: Final = post(b"", framing="Transfer-Encoding: chunked")
EXTENSIONS: Final = (
    *(b"", b"", b"", b";a", b";a=b", b';a="b c"', b';a="\\""', b"; a = b", b" ;a", b";", b";=b", b";a=", b';a="b'),
    *(b" ", b"\t", b";a;b=c", b";a=\x01", b";\xe9", b";a=b c", b"g", b"_1", b".0"),
)
SIZES: Final = (b"%x", b"%x", b"%x", b"%X", b"0%x", b"000000000000000000%x", b"0x%x", b"+%x", b"-%x", b" %x", b"%x ")
LENGTHS: Final = ("", "+{}", "-{}", "0{}", "{} ", "\t{}", "{}, {}", "{},", "{}_0", "0x{}", "{}.0", "9" * 25)
# Field lines. Most of them leave a valid request valid.
FIELDS: Final = (
    *(b"X-A: b\r\n", b"X-Empty:\r\n", b"x-obs: \xe9\xff\r\n", b"X-Tab:\t a\tb \r\n", b"Connection: keep-alive\r\n"),
    *(b"Connection: Upgrade\r\nUpgrade: h2c\r\n", b"Connection:\r\n", b"Upgrade: x\r\n", b"Expect: 100-continue\r\n"),
    *(b"Connection: close, keep-alive\r\n", b"Connection:x,close\r\n", b"Proxy-Connection: keep-alive\r\n"),
    *(b"TE: trailers\r\n", b"Trailer: X-B\r\n", b"Content-Encoding: gzip\r\n", b"Expect: 200-ok\r\n", b"Expect:\r\n"),
    *(b"Host: y\r\n", b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"X(: y\r\n", b" lead: y\r\n"),
    *(b"X-Many: y\r\n" * 110, b"X-Del: \x7f\r\n", b"X-Vt: \x0b\r\n", b"X-Long: " + b"a" * 66_000 + b"\r\n"),
)
TOKENS: Final = (
    *(bytes([one]) for one in b"\r\n\0 \t:,;#?%/\x7f\x0b\x0c\x80\xff"),
    *(b"\r\n", b"\r\n\r\n", b"0\r\n\r\n", b"1\r\na\r\n", b"HTTP/1.1", b"GET / HTTP/1.1\r\n", *FIELDS[:20]),
)
WHOLE: Final = st.sampled_from(
    [
        *(get(), post(), get("/v1/pets/%31"), get("http://x:80/v1/pets"), get("/v1/pets#a"), get("/v1/%ZZ")),
        *(get(method=method) for method in ("HEAD", "OPTIONS", "PUT", "TRACE", "QUERY", "M-SEARCH", "G(T")),
        *(get(version="1.0"), post(version="1.0"), get("/v1/pets", "Connection: keep-alive", version="1.0")),
        *(post(body) for body in (b"", b"null", b"\xff", b"\r\n", b"0\r\n\r\n", get(), REX.replace(b"R", b"\\u0000"))),
        *(post(framing="Content-Length: " + length.replace("{}", str(len(REX)))) for length in LENGTHS),
        *(target + b" HTTP/1.1" + HOST for target in (*BROKEN_TARGETS, *ODD_TARGETS, b"CONNECT x:80", b"OPTIONS *")),
        *(sent for sent, *_ in FORBIDDEN),
    ]
)
TRAILERS: Final = (b"", b"", b"", b"X-B : c\r\n", b"X: \x01\r\n", AUTH.encode() + b"\r\n", b"X-B\r\n", b"X-B: c\r\n")


@st.composite
def chunked(draw: DrawFn) -> bytes:
    """Draw a chunked request, valid or not."""
    parts = [
        draw(st.sampled_from(SIZES)) % len(piece) + draw(st.sampled_from(EXTENSIONS)) + b"\r\n" + piece + b"\r\n"
        for piece in pieces(REX, draw(st.lists(st.integers(0, 40), max_size=3)))
    ]
    last = draw(st.sampled_from([b"0", b"0", b"0", b"00", b"0 ", b"0x0", b"-0", b""]))
    trailers = draw(st.sampled_from([*TRAILERS, *FIELDS]))
    return b"".join([CHUNKED, *parts, last, draw(st.sampled_from(EXTENSIONS)), b"\r\n", trailers, b"\r\n"])


@st.composite
def requests(draw: DrawFn) -> bytes:
    """Draw a request, sometimes with an additional field or with random changes."""
    data: bytes = draw(WHOLE | chunked())
    line, end, rest = data.partition(b"\r\n")
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        rest = draw(st.sampled_from(FIELDS)) + rest if end else rest
    data = line + end + rest
    for _ in range(draw(st.sampled_from([0] * 6 + [1, 1, 2]))):
        at, token = draw(st.integers(0, len(data))), draw(st.sampled_from(TOKENS) | st.binary(min_size=1, max_size=4))
        span = at + draw(st.integers(0, 12))
        data = draw(
            st.sampled_from(
                [data[:at] + token + data[at:], data[:at] + data[span:], data[:span] + data[at:], data[:at]]
            )
        )
    return data


def streams() -> st.SearchStrategy[bytes]:
    """Draw the bytes that a client sends on one connection: pipelined requests."""
    return st.lists(requests(), min_size=1, max_size=5).map(b"".join)


def pieces(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    """Return ``data`` in pieces for several sends, cut at ``cuts`` modulo its length."""
    bounds = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(bounds) if start < end]
