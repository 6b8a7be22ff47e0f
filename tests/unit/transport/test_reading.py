"""The reader takes whole requests off the wire, and refuses bytes that HTTP does not allow."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock.transport.reading import FIELD_LIMIT, HEAD_LIMIT, LINE_LIMIT, Reader, RequestError

if TYPE_CHECKING:
    from collections.abc import Iterable

GET = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-One:  two \t\r\n\r\n"
HOST = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /p HTTP/1.1\r\nHost: x\r\n"
LONG = POST + b"Content-Length: 11\r\n\r\nhello world"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS = CHUNKED + b"5\r\nhello\r\n6;a=b\r\n\r\n\r\n\r\n\r\n0\r\nHost: y\r\n\r\n"
UPGRADE = LONG.replace(b"Host: x\r\n", b"Host: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n")

Request = tuple[str, str, tuple[tuple[bytes, bytes], ...], bytes]


def read(pieces: Iterable[bytes], *, over_tls: bool = False) -> list[Request]:
    reader, found = Reader(over_tls=over_tls), []
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


@pytest.mark.parametrize(
    ("sent", "condition"),
    [
        (b"\x16\x03\x01", "malformed_request"),
        (b"GET /\r\n", "malformed_request"),
        (b"GET / HTTP/1.1\n", "malformed_request"),
        (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "malformed_request"),
        (POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n", "malformed_request"),
        (CHUNKED + b"x\r\n", "malformed_request"),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", "unknown_transfer_coding"),
        (POST + b"Expect: 200-ok\r\n\r\n", "expectation_failed"),
        (b"GET / HTTP/1.1\r\n\r\n", "bad_host"),
        (HOST + b"Host: x\r\n\r\n", "bad_host"),
        (b"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", "bad_host"),
        (b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", "unknown_method"),
        (b"GET / HTTP/2.0\r\n", "unknown_http_version"),
        (b"GET /\xff HTTP/1.1\r\n", "malformed_target"),
        (b"GET https://x/ HTTP/1.1\r\nHost: x\r\n\r\n", "misdirected_request"),
        (b"GET /" + b"a" * LINE_LIMIT, "uri_too_long"),
        (HOST + b"A: " + b"b" * HEAD_LIMIT, "header_too_large"),
        (HOST + b"A: b\r\n" * FIELD_LIMIT + b"\r\n", "header_too_large"),
    ],
)
def test_bytes_that_http_forbids_are_refused(sent: bytes, condition: str) -> None:
    with pytest.raises(RequestError) as caught:
        read([sent])
    assert caught.value.condition == condition


@pytest.mark.parametrize(
    ("line", "target", "host"),
    [
        (b"GET http://h:81/a?b HTTP/1.1", "/a?b", b"h:81"),
        (b"GET https://h?b HTTP/1.1", "/?b", b"h"),
        (b"CONNECT h:443 HTTP/1.1", "h:443", b"x"),
    ],
)
def test_absolute_target_becomes_a_path(line: bytes, target: str, host: bytes) -> None:
    """RFC 9112 §3.2.2."""
    ((_, found, fields, _),) = read([line + b"\r\nHost: x\r\n\r\n"], over_tls=True)
    assert (found, fields) == (target, ((b"Host", host),))


@pytest.mark.parametrize(
    ("part", "method", "target"),
    [
        (b"HEAD /a HTTP/1.1\r\nHo", "HEAD", "/a"),
        (b"HEAD /a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", "HEAD", "/a"),
        (b"HEAD /a", "HEAD", "/a"),
        (b"\0", "-", "-"),
    ],
)
def test_refused_request_is_known_as_far_as_it_came(part: bytes, method: str, target: str) -> None:
    reader = Reader(over_tls=False)
    reader.buffer += part
    with contextlib.suppress(RequestError):
        reader.take_head()
    head = reader.beginning()
    assert (head.method, head.target, head.bodiless) == (method, target, method == "HEAD")
