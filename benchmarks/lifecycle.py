"""Start and stop of the listener, without connections, and with hung responses and open connections."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from statistics import median
from time import perf_counter
from typing import Final

from pytest_httpserver import HTTPServer

from benchmarks.bodies import KEY
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import HOST
from benchmarks.timing import isolated
from petstore_mock import PetStoreMock, faults

__all__ = ["cycles", "measure"]

_START: Final = 0.010  # seconds
_STOP: Final = 0.050
_HUNG: Final = 5
_IDLE: Final = 20
_PEER_TIMES: Final = 10  # each takes half a second


def cycles(*, times: int) -> dict[str, list[float]]:
    """Return the seconds of starts and stops. Call this in a new process."""
    with PetStoreMock():
        pass  # imports the modules
    taken: dict[str, list[float]] = {"start": [], "stop": [], "stop, hung": []}
    for _ in range(times):
        petstore = PetStoreMock()
        start = perf_counter()
        petstore.start()
        taken["start"].append(perf_counter() - start)
        start = perf_counter()
        petstore.stop()
        taken["stop"].append(perf_counter() - start)
        taken["stop, hung"].append(_stop_hung())
    return taken | _peer(min(times, _PEER_TIMES))


def _peer(times: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {"pytest-httpserver: start": [], "pytest-httpserver: stop": []}
    for _ in range(times):
        server = HTTPServer(host=HOST, port=0)
        start = perf_counter()
        server.start()
        taken["pytest-httpserver: start"].append(perf_counter() - start)
        start = perf_counter()
        server.stop()
        taken["pytest-httpserver: stop"].append(perf_counter() - start)
    return taken


def _stop_hung() -> float:
    with ExitStack() as stack:
        petstore = PetStoreMock(api_key=KEY).start()
        petstore.inject(faults.hang(), on="listPets")
        port = petstore.httpserver.port
        for number in range(_HUNG + _IDLE):
            client = stack.enter_context(socket.create_connection((HOST, port)))
            if number < _HUNG:
                client.sendall(f"GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode())
        petstore.journal.wait_for("listPets", times=_HUNG, timeout=10)
        start = perf_counter()
        petstore.stop()
        return perf_counter() - start


def measure(plan: Plan) -> Result:
    """Measure starts and stops."""
    taken = isolated("lifecycle:cycles", times=plan.pick(100, 10))
    result = Result()
    rows = [
        [name, f"{median(values) * 1000:.2f}", f"{max(values) * 1000:.2f}", str(len(values))]
        for name, values in taken.items()
    ]
    start, stop, hung = (median(taken[name]) for name in ("start", "stop", "stop, hung"))
    result.figures["lifecycle"] = Figure(
        f"start {start * 1000:.1f} ms, stop {stop * 1000:.1f} ms, with {_HUNG} hung and {_IDLE} idle connections "
        f"{hung * 1000:.1f} ms",
        start <= _START and stop <= _STOP and hung <= _STOP,
    )
    result.tables.append(Table("Start and stop of the listener", ["what", "median ms", "max ms", "times"], rows))
    return result
