"""The work for a request is linear in its size, whatever its bytes are and however they arrive."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Final

import pytest

from petstore_mock.common.sized import SizedCache
from petstore_mock.transport.chunks import RequestError
from petstore_mock.transport.reading import FIELD_LIMIT, HEAD_LIMIT, Reader

SIZE: Final = 1_000_000
HEAD: Final = b"POST /v1/pets HTTP/1.1\r\nHost: x\r\n"
CHUNKED: Final = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
END: Final = b"0\r\n\r\n"


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[at : at + size] for at in range(0, len(data), size))


def read(data: bytes, size: int = 65536) -> tuple[list[bytes], str]:
    """Let a reader take ``data`` in pieces; return the bodies that it read and the condition of a refusal."""
    reader, bodies = Reader(over_tls=False), list[bytes]()
    try:
        for piece in pieces(data, size):
            reader.buffer += piece
            while reader.head or reader.take_head():
                body = reader.take_body()
                if body is None:
                    break
                bodies.append(body)
    except RequestError as error:
        return bodies, str(error.args[0])
    return bodies, ""


def seconds(act: Callable[[], object]) -> float:
    """Return the least processor time of some runs. A busy computer lengthens most of them."""
    times = []
    for _ in repeat(None, 7):
        began = time.process_time()
        act()
        times.append(time.process_time() - began)
    return max(min(times), 1e-4)


def is_cheaper(act: Callable[[], object], bound: float, other: Callable[[], object]) -> bool:
    """Whether an act takes less than ``bound`` times the processor time of another one.

    A computer may be busy for a whole measurement, so one that fails is repeated.
    """
    return any(seconds(act) < bound * seconds(other) for _ in range(5))


def chunk(content: bytes) -> bytes:
    return CHUNKED + b"%x\r\n%b\r\n" % (len(content), content) + END


@pytest.mark.untraced
@pytest.mark.parametrize("content", [b"\n", b"\r\n", b"0\r\n\r\n", b"\0"], ids=repr)
def test_the_data_of_a_chunk_costs_the_same_whatever_it_is(content: bytes) -> None:
    hostile, plain = content * (SIZE // len(content)), b"x" * SIZE
    assert read(chunk(hostile)) == ([hostile], "")
    assert is_cheaper(lambda: read(chunk(hostile)), 5, lambda: read(chunk(plain)))


@pytest.mark.untraced
def test_a_chunk_for_each_byte_costs_little_more_than_the_search_for_its_size() -> None:
    body, size = b"x" * 60_000, re.compile(rb"([0-9A-Fa-f]{1,16})\r\n")
    data = CHUNKED + b"1\r\nx\r\n" * len(body) + END
    assert read(data) == ([body], "")

    def search() -> None:
        for _ in body:
            assert size.match(data, len(CHUNKED))

    assert is_cheaper(lambda: read(data), 6, search)


LARGE: Final[dict[str, Callable[[int], bytes]]] = {
    "value": lambda size: HEAD + b"A: " + b"b" * size,
    "target": lambda size: b"GET /" + b"a" * (size // 3),
    "fields": lambda size: HEAD + b"A:\r\n" * (size // 4),
    "extension": lambda size: CHUNKED + b"1;" + b"a" * size,
    "trailer": lambda size: CHUNKED + b"0\r\nA: " + b"b" * size,
    "method": lambda size: b"A" * (size // 3),
}


@pytest.mark.untraced
@pytest.mark.parametrize("make", LARGE.values(), ids=LARGE)
def test_small_packets_cost_no_more_for_each_byte_of_a_large_head(make: Callable[[int], bytes]) -> None:
    """Twice as many bytes, four at a time, take about twice the time."""
    half, whole = make(20_000), make(40_000)
    assert is_cheaper(lambda: read(whole, 4), 3.5, lambda: read(half, 4))


HOSTILE: Final = {
    "empty lines": b"\r\n" * 30_000,
    "options of Connection": HEAD + b"Connection: " + b"," * 60_000 + b"\r\n\r\n",
    "spaces in Connection": HEAD + b"Connection: ," + b" " * 60_000 + b"x\r\n\r\n",
    "one name": HEAD + b"A:\r\n" * 15_000 + b"\r\n",
    "trailers": CHUNKED + b"0\r\n" + b"A:\r\n" * 15_000 + b"\r\n",
}


@pytest.mark.untraced
@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_sixty_kilobytes_cost_about_as_much_as_many_requests(data: bytes) -> None:
    """1,500 requests have the same size. No single request costs more than they do together."""
    request = HEAD + b"\r\n"
    many = request * (60_000 // len(request))
    assert is_cheaper(lambda: read(data), 1, lambda: read(many))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 65536])
def test_packets_of_any_size_have_the_same_meaning(size: int) -> None:
    bodies = [b"", b"\r\n0\r\n\r\n", b"x" * 100]
    chunks = b"".join(b'%X;a="b"\r\n%b\r\n' % (1, bytes([byte])) for byte in bodies[1])
    data = b"\r\n" + HEAD + b"\r\n" + CHUNKED + chunks + b"0\r\nA: b\r\nHost: y\r\n\r\n" + chunk(bodies[2])
    assert read(data, size) == (bodies, "")


WRONG: Final = [
    (CHUNKED + b"1;" + b"a" * HEAD_LIMIT, "header_too_large"),
    (CHUNKED + b"0\r\nA: " + b"a" * HEAD_LIMIT, "header_too_large"),
    (CHUNKED + b"0\r\n" + b"A: b\r\n" * (FIELD_LIMIT + 1), "header_too_large"),
    (CHUNKED + b"0\r\nA: b\n\n", "malformed_request"),
    (CHUNKED + b"0\r\nTransfer-Encoding: chunked\r\n\r\n", "malformed_request"),
    (CHUNKED + b"1\r\nab", "malformed_request"),
    (CHUNKED + b"1\n", "malformed_request"),
    (CHUNKED + b"1 \r\n", "malformed_request"),
    (CHUNKED + b"10000000000000000\r\n", "malformed_request"),
    (HEAD + b"A: b\nC", "malformed_request"),
    (HEAD + b"A: b\0", "malformed_request"),
]


@pytest.mark.parametrize("size", [1, 65536])
@pytest.mark.parametrize(("data", "condition"), WRONG, ids=range(len(WRONG)))
def test_wrong_bytes_are_refused_in_packets_of_any_size(data: bytes, condition: str, size: int) -> None:
    assert read(data, size) == ([], condition)


def test_a_cache_has_a_bound_in_bytes() -> None:
    cache = SizedCache[int, bytes](limit=1000, largest=400)
    for number in range(100):
        cache.keep(number, b"x" * 300, 300)
        assert sum(map(len, cache.values())) <= 1000
        assert cache[number]
    cache.keep(-1, b"x" * 500, 500)
    assert -1 not in cache
