"""The time that the core takes for one request, whatever a client puts into it."""

from __future__ import annotations

import json
import time

import pytest

from petstore_mock.core.registry import Worlds
from petstore_mock.core.world import Host, World
from petstore_mock.http.request import ApiRequest, Fields

KEY = "of-the-test"
LINE = 16_000  # bytes of a target: the transport refuses more than 16 KiB
BODY = 64 * 1024  # bytes; an adapter asks for the limit of a longer body
# The unit is the time of a request with one wrong parameter: 60 microseconds.
OF_TARGET = 250
OF_NAMES = 130  # a body in which only names are wrong
OF_VALUES = 250  # the time of reading 64 KiB of small values


def query(*parts: str) -> str:
    """Return a target whose query has as many parts as a request line can hold. ``{}`` is the number of a part."""
    texts: list[str] = []
    while len("&".join(texts)) < LINE - 200:
        texts += [part.format(len(texts)) for part in parts]
    return f"/v1/pets?{'&'.join(texts)}"


def members(name: str) -> bytes:
    """Return an object of as many members as fit into the body. ``{}`` is the number of a member."""
    most = BODY // (len(name) + 12)
    return json.dumps({name.format(number): number for number in range(most)}).encode()[:BODY]


TARGETS = {
    "unknown names": query("p{}=1"),
    "names like a known one": query("limit{}=1"),
    "long names": query("limit" * 18 + "{}=1"),
    "a repeated parameter": query("limit=1"),
    "a repeated unknown name": query("x=1"),
    "broken percent-encoding": query("%ff"),
    "incomplete percent-encoding": query("%"),
    "empty parts": "/v1/pets?" + "&" * LINE,
    "path segments": "/v1" + "/pets" * (LINE // 5),
    "slashes": "/" * LINE,
    "dots": "/.." * (LINE // 3),
    "digits": f"/v1/pets?limit={'9' * LINE}",
    "digits of an identifier": f"/v1/pets/{'9' * LINE}",
    "a long value": f"/v1/pets?status={'sold' * (LINE // 4)}",
    "a long name of a world": f"/w/{'a' * LINE}/v1/pets",
}
NAMES = {
    "members": members("m{}"),
    "members like a known one": members("categoryId{}"),
    "long members": members("categoryId" * 9 + "{}"),
    "a repeated member": b"{%s}" % b",".join([b'"name":"x"'] * 6000),
}
VALUES = {
    "an array": b'{"name":[%s]}' % b",".join([b"1"] * 30_000),
    "an array of objects": b'{"name":[%s]}' % b",".join([b'{"a":1}'] * 8000),
    "nested arrays": b"[" * (BODY // 2) + b"]" * (BODY // 2),
    "digits": b'{"name":"Rex","categoryId":%s}' % (b"9" * BODY),
    "a long text": b'{"name":"Rex","categoryId":1,"status":"%s"}' % (b"x" * BODY),
    "escapes": b'{"name":"%s","categoryId":1}' % (rb"\ud800" * (BODY // 6)),
    "no UTF-8": b'{"name":"%s"}' % (b"\xff" * BODY),
}
HEADERS = {
    "fields of one name": [(b"X-A", b"1")] * 100,
    "keys": [(b"Authorization", b"Bearer k%d" % number) for number in range(100)],
    "a long key": [(b"Authorization", b"Bearer " * 2000)],
    "a long coding": [(b"Content-Encoding", b"gzip, " * 2000)],
}


def seconds(worlds: Worlds, method: str, target: str, body: bytes, *pairs: tuple[bytes, bytes]) -> float:
    """Return the processor time of a request: the shortest of several, because other work disturbs some."""
    least = float("inf")
    for _ in range(5):
        kind = (b"Content-Type", b"application/json")
        fields = [(b"Authorization", f"Bearer {KEY}".encode()), kind, *pairs]
        started = time.process_time()
        worlds.handle(ApiRequest(method, target, Fields(fields), body))
        least = min(least, time.process_time() - started)
    return least


def is_within(bound: float, worlds: Worlds, method: str, target: str, body: bytes, *pairs: tuple[bytes, bytes]) -> bool:
    """Whether a request takes less than a bound. A computer may be busy for all requests of one measurement."""
    return any(seconds(worlds, method, target, body, *pairs) < bound for _ in range(5))


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    return Worlds(World(Host(), {"api_key": KEY, "seed": 20}))


@pytest.fixture(scope="module")
def plain(worlds: Worlds) -> float:
    """Return the time of a request with one wrong parameter."""
    return min(seconds(worlds, "GET", f"/v1/pets?lim={number}{'x' * 600}", b"") for number in range(10))


@pytest.mark.untraced
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_takes_a_bounded_time(name: str, worlds: Worlds, plain: float) -> None:
    assert is_within(OF_TARGET * plain, worlds, "GET", TARGETS[name], b"")


@pytest.mark.untraced
@pytest.mark.parametrize("name", [*NAMES, *VALUES])
def test_a_body_takes_a_bounded_time(name: str, worlds: Worlds, plain: float) -> None:
    most = OF_NAMES if name in NAMES else OF_VALUES
    assert is_within(most * plain, worlds, "POST", "/v1/pets", {**NAMES, **VALUES}[name])


@pytest.mark.untraced
@pytest.mark.parametrize("name", HEADERS)
def test_header_fields_take_a_bounded_time(name: str, worlds: Worlds, plain: float) -> None:
    assert is_within(OF_TARGET * plain, worlds, "POST", "/v1/pets", b"{}", *HEADERS[name])
