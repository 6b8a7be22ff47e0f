"""Latency that one sequential client sees, over a kept connection."""

from __future__ import annotations

import http.client
import socket
from contextlib import ExitStack, closing
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Final

from benchmarks.bodies import ANIMALS, KEY
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import HOST
from benchmarks.servers import (
    FAKE,
    FASTAPI,
    FLASK,
    HEADERS,
    HTTPSERVER,
    JSON_SERVER,
    LIMIT,
    MOUNTEBANK,
    PRISM,
    RAW,
    WIREMOCK,
    running,
)
from benchmarks.timing import percentile
from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["measure"]

_STALL: Final = 0.030  # seconds; Nagle with a delayed acknowledgement takes 40 ms
_TIMES_FLOOR: Final = 2.0
_P99: Final = 0.005
_IN_TURN: Final = 50  # calls of one contestant before the next contestant
_US: Final = 1e6
_FLOOR: Final = "raw Python socket, http.client"
_OURS: Final = "petstore_mock, http.client"


def measure(plan: Plan) -> Result:
    """Measure the latency of a list of 20. The contestants take turns."""
    rounds = plan.pick(40, 4)
    result = Result()
    with ExitStack() as stack:
        calls: dict[str, Callable[[], None]] = {}
        for server in (FAKE, RAW, LIMIT, PRISM, WIREMOCK, MOUNTEBANK, JSON_SERVER, HTTPSERVER, FLASK, FASTAPI):
            problem = server.missing()
            if not problem:
                try:
                    process = stack.enter_context(running(server))
                except RuntimeError as error:
                    problem = str(error)
                else:
                    calls[f"{server.name}, http.client"] = _http_client(stack, process.port, server.listing)
                    if server in {FAKE, RAW}:
                        calls[f"{server.name}, raw socket"] = _raw(stack, process.port)
            if problem:
                result.notes.append(f"{server.name} left out: {problem}.")
        inside = stack.enter_context(PetStoreMock(seed=ANIMALS, api_key=KEY))
        port = int(inside.url.rpartition(":")[2].partition("/")[0])
        calls["petstore_mock in the client's process, http.client"] = _http_client(stack, port, "/v1/pets")
        taken = _in_turns(calls, rounds)
    floor, ours = taken[_FLOOR], taken[_OURS]
    ratio, p99 = median(ours) / median(floor), percentile(ours, 0.99)
    stalls = sum(value > _STALL for value in ours)
    result.figures["latency"] = Figure(
        f"{ratio:.2f} times; p99 {p99 * 1000:.2f} ms, {stalls} of {len(ours):,} calls over 30 ms",
        ratio <= _TIMES_FLOOR and p99 < _P99 and not stalls,
    )
    rows = [
        [
            name,
            f"{median(values) * _US:,.0f}",
            f"{percentile(values, 0.99) * _US:,.0f}",
            f"{median(values) / median(floor):.2f}",
            f"{sum(value > _STALL for value in values)} of {len(values):,}",
        ]
        for name, values in taken.items()
    ]
    head = ["server, client", "median µs", "p99 µs", "times the floor", "calls over 30 ms"]
    result.tables.append(Table("One sequential client, list of 20, keep-alive if the server supports it", head, rows))
    result.notes.append(
        "The floor is http.client against a Python socket that sends the same bytes and does not parse the request. "
        "The difference between http.client and a raw socket as the client is the time of http.client itself."
    )
    return result


def _in_turns(calls: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(_IN_TURN):
            call()
    for _ in range(rounds):
        for name, call in calls.items():
            values = taken[name]
            for _ in range(_IN_TURN):
                start = perf_counter()
                call()
                values.append(perf_counter() - start)
    return taken


def _http_client(stack: ExitStack, port: int, path: str) -> Callable[[], None]:
    connection = stack.enter_context(closing(http.client.HTTPConnection(HOST, port, timeout=10)))

    def call() -> None:
        connection.request("GET", path, headers=HEADERS)
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"expected 200 from port {port}; got {answer.status}")

    return call


def _raw(stack: ExitStack, port: int) -> Callable[[], None]:
    client = stack.enter_context(socket.create_connection((HOST, port), timeout=10))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    asked = f"GET /v1/pets HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode()

    def call() -> None:
        client.sendall(asked)
        came = client.recv(65536)
        while not came.endswith(b"]"):
            came += client.recv(65536)

    return call
