"""Reading requests, without a socket: what a head means, and where a chunked body ends."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock.transport.head_rules import FIELD_LIMIT, HEAD_LIMIT, LINE_LIMIT
from petstore_mock.transport.request_parsing import (
    KNOWN_FIELDS_SIZE,
    ChunkedBody,
    RequestError,
    probe,
    read_head,
)

GET = b"GET / HTTP/1.1\r\nHost: x\r\n"


def encode(chunks: list[bytes], extension: bytes, trailers: bytes) -> bytes:
    lines = [b"%x%b\r\n%b\r\n" % (len(chunk), extension, chunk) for chunk in chunks if chunk]
    return b"".join(lines) + b"0\r\n" + trailers + b"\r\n"


def feed(body: ChunkedBody, data: bytes, sizes: list[int]) -> bytes:
    """Feed ``data`` in pieces; return what was left over."""
    for size in sizes:
        if body.complete:
            break
        used = body.feed(data[:size])
        whole = used == len(data[:size])
        assert whole or body.complete
        data = data[used:]
    return data


@given(
    chunks=st.lists(st.binary(max_size=20) | st.sampled_from([b"\r\n\r\n", b"\n\r\n", b"0\r\n\r\n"]), max_size=6),
    extension=st.sampled_from([b"", b";a=b"]),
    trailers=st.sampled_from([b"", b"X: y\r\n", b"X: y\r\nZ:\r\n"]),
    following=st.sampled_from([b"", b"\r\n", b"GET / HTTP/1.1\r\n\r\n", b"0\r\n\r\n", b"\0"]),
    sizes=st.lists(st.integers(1, 30), max_size=20),
)
def test_chunked_body_ends_where_it_ends_however_it_is_cut(
    chunks: list[bytes], extension: bytes, trailers: bytes, following: bytes, sizes: list[int]
) -> None:
    body = ChunkedBody()
    data = encode(chunks, extension, trailers) + following
    assert feed(body, data, [*sizes, len(data)]) == following
    assert body.complete
    assert b"".join(body.chunks) == b"".join(chunks)
    assert body.size == len(b"".join(chunks))


def test_chunked_body_is_not_complete_before_its_end() -> None:
    whole = encode([b"ab", b"c"], b"", b"X: y\r\n")
    for end in range(len(whole)):
        body = ChunkedBody()
        assert body.feed(whole[:end]) == end
        assert not body.complete


@given(st.binary(max_size=200))
def test_whatever_comes_is_a_head_or_refused(raw: bytes) -> None:
    with contextlib.suppress(RequestError):
        assert read_head(raw + b"\r\n\r\n").target


@given(st.binary(max_size=60), st.lists(st.integers(1, 20), max_size=10))
def test_probe_refuses_only_what_is_refused_as_a_whole(raw: bytes, sizes: list[int]) -> None:
    """It looks ahead; it must not be stricter than the judge."""
    partial, scanned = bytearray(), 0
    try:
        for size in sizes:
            partial += raw[scanned : scanned + size]
            if partial:
                probe(partial, scanned)
            scanned = len(partial)
    except RequestError:
        with pytest.raises(RequestError):
            read_head(bytes(partial) + b"\r\n\r\n")


@pytest.mark.parametrize("rest", [b'"}', b"}", b'a","categoryId":1}', b"1]}"])
def test_what_is_left_of_a_body_is_told_as_such(rest: bytes) -> None:
    """As of a client that counts characters: the first body was too short, and this begins the next head."""
    for refuse in (
        lambda: read_head(rest + b"GET / HTTP/1.1\r\n\r\n"),
        lambda: probe(bytearray(rest + b"GET /\r\n"), 0),
    ):
        with pytest.raises(RequestError, match="Content-Length counts bytes, not characters"):
            refuse()


@pytest.mark.parametrize("start", [b"\x80", b"(GET", b'(GET "}', b'\x16\x03"}'])
def test_another_beginning_is_told_nothing_of_bodies(start: bytes) -> None:
    with pytest.raises(RequestError) as caught:
        probe(bytearray(start + b" / HTTP/1.1\r\n"), 0)
    assert "Content-Length" not in caught.value.detail


@pytest.mark.parametrize("fault", [b"GET / HTTP/1.1\r\nA: b\nC", b"GET / HTTP/1.1\r\nA: \0"])
def test_probe_finds_a_fault_wherever_it_was_cut(fault: bytes) -> None:
    for at in range(1, len(fault)):
        with pytest.raises(RequestError):
            probe_twice(fault, at)


def probe_twice(data: bytes, at: int) -> None:
    partial = bytearray(data[:at])
    probe(partial, 0)
    probe(partial + data[at:], at)


def test_probe_accepts_a_line_ending_that_was_cut() -> None:
    partial = bytearray(b"GET / HTTP/1.1\r")
    probe(partial, 0)
    probe(partial + b"\n", len(partial))


def test_probe_bounds_a_head_that_does_not_end() -> None:
    head = GET + b"X: " + b"a" * HEAD_LIMIT
    with pytest.raises(RequestError, match="header_too_large"):
        probe(bytearray(head), 0)


def test_limits_are_the_longest_that_is_read() -> None:
    """Each limit itself is within, for what is whole and for what is still to come."""
    start, end = GET + b"X: ", b"\r\n\r\n"
    longest = start + b"a" * (HEAD_LIMIT - len(start) - len(end)) + end
    assert len(read_head(longest).fields) == 2
    probe(bytearray(longest), 0)
    too_long = start + b"a" + longest[len(start) :]
    for refuse in (read_head, lambda raw: probe(bytearray(raw), 0)):
        with pytest.raises(RequestError, match="header_too_large"):
            refuse(too_long)


def test_limit_of_a_line_is_the_longest_that_is_read() -> None:
    rest = b" HTTP/1.1\r\nHost: x\r\n\r\n"
    longest = b"GET /" + b"a" * (LINE_LIMIT - len(b"GET / HTTP/1.1"))
    assert len(read_head(longest + rest).target) == LINE_LIMIT - len(b"GET  HTTP/1.1")
    probe(bytearray(longest + rest[:9]), 0)
    probe(bytearray(longest + rest), 0)
    for refuse in (read_head, lambda raw: probe(bytearray(raw), 0)):
        with pytest.raises(RequestError, match="uri_too_long"):
            refuse(longest + b"a" + rest)
    with pytest.raises(RequestError, match="uri_too_long"):
        probe(bytearray(longest + b"a" + rest[:9]), 0)


def test_limit_of_fields_is_the_most_that_are_read() -> None:
    most = GET + b"X: y\r\n" * (FIELD_LIMIT - 1)
    assert len(read_head(most + b"\r\n").fields) == FIELD_LIMIT
    with pytest.raises(RequestError, match="header_too_large"):
        read_head(most + b"X: y\r\n\r\n")


def test_limit_of_trailers_is_the_most_that_is_read() -> None:
    start = b"0\r\nX: "
    ChunkedBody().feed(start + b"a" * (HEAD_LIMIT - len(start)))
    with pytest.raises(RequestError, match="header_too_large"):
        ChunkedBody().feed(start + b"a" * (HEAD_LIMIT - len(start) + 1))


def test_head_that_the_parser_finds_incomplete_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can't be, by the parser's own rules; if ever it is, half a head must not pass for a whole one."""

    class Deaf:
        def __init__(self, _: object) -> None: ...
        def feed_data(self, _: bytes) -> None: ...

    monkeypatch.setattr("httptools.HttpRequestParser", Deaf)
    with pytest.raises(RequestError, match="does not end"):
        read_head(GET + b"Never-Read: before\r\n\r\n")


def test_fields_of_one_name_keep_their_order_and_values() -> None:
    head = read_head(GET + b"A: 1\r\na: 2 \t\r\nA:\r\n\r\n")
    assert head.fields == ((b"Host", b"x"), (b"A", b"1"), (b"a", b"2"), (b"A", b""))


def test_heads_with_the_same_lines_share_their_fields() -> None:
    """A thousand worlds, or a thousand animals, differ in the target alone; long sections are not kept."""
    lines = b" HTTP/1.1\r\nHost: x\r\nShared: %b\r\n\r\n"
    short, long = lines % b"a", lines % (b"a" * KNOWN_FIELDS_SIZE)
    one, other = read_head(b"GET /1" + short), read_head(b"POST /2" + short)
    assert one.fields is other.fields
    assert (one.target, other.target, other.method) == ("/1", "/2", "POST")
    assert read_head(b"GET /1" + long).fields is not read_head(b"GET /2" + long).fields


def test_representation_of_a_head_shows_no_field() -> None:
    head = read_head(GET + b"Authorization: Bearer secret\r\n\r\n")
    assert repr(head) == "<RequestHead GET />"
    assert repr(head.closing()) == "<RequestHead GET />"


def test_closing_copy_closes_and_shares_the_rest() -> None:
    head = read_head(b"HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n")
    copy = head.closing()
    assert (copy.method, copy.target, copy.fields, copy.bodiless) == ("HEAD", "/a", head.fields, True)
    assert head.keep_alive
    assert not copy.keep_alive
    assert not copy.plain
