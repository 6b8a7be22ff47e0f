"""The reader takes whole requests off the wire, and refuses bytes that HTTP does not allow."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock.transport.reading import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable

GET = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-One:  two \t\r\n\r\n"
POST = b"POST /p HTTP/1.1\r\nHost: x\r\n"
LONG = POST + b"Content-Length: 11\r\n\r\nhello world"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS = CHUNKED + b"5\r\nhello\r\n6;a=b\r\n\r\n\r\n\r\n\r\n0\r\nHost: y\r\n\r\n"
UPGRADE = LONG.replace(b"Host: x\r\n", b"Host: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n")

Request = tuple[str, str, tuple[tuple[bytes, bytes], ...], bytes]


def read(pieces: Iterable[bytes]) -> list[Request]:
    reader, found = Reader(over_tls=False), []
    for piece in pieces:
        reader.buffer += piece
        while head := reader.head or reader.take_head():
            body = reader.take_body()
            if body is None:
                break
            found.append((head.method, head.target, tuple(head.fields), body))
    return found


@pytest.mark.parametrize(
    ("sent", "bodies"),
    [
        (GET, [b""]),
        (b"\r\n\r\n" + GET + GET, [b"", b""]),
        (LONG + GET, [b"hello world", b""]),
        (CHUNKS + LONG, [b"hello\r\n\r\n\r\n", b"hello world"]),
        (UPGRADE + GET, [b"hello world", b""]),
    ],
)
def test_requests_are_told_apart(sent: bytes, bodies: list[bytes]) -> None:
    assert [request[3] for request in read([sent])] == bodies
    assert read([GET]) == [("GET", "/a?b=c", ((b"Host", b"x"), (b"X-One", b"two")), b"")]


@given(cuts=st.lists(st.integers(0, 400), max_size=8))
def test_cuts_between_packets_change_nothing(cuts: list[int]) -> None:
    whole = GET + LONG + b"\r\n" + CHUNKS + UPGRADE + CHUNKS + GET
    ends = [0, *sorted(cuts), len(whole)]
    assert read(whole[at:end] for at, end in itertools.pairwise(ends)) == read([whole])
