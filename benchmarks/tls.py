"""TLS beside plain HTTP: one sequential client, load, handshakes, and the start of a listener with certificates."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from benchmarks import wrk
from benchmarks.bodies import ANIMALS, KEY
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import HOST
from benchmarks.servers import HEADERS
from benchmarks.timing import ENVIRONMENT, ROOT, isolated, percentile
from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["measure", "starts"]

_START: Final = 0.050  # seconds
_US: Final = 1e6
_IN_TURN: Final = 50
_WITHOUT_UVLOOP: Final = "import sys; sys.modules['uvloop'] = None; from petstore_mock.cli import main; main()"
_WITH_UVLOOP: Final = "from petstore_mock.cli import main; main()"


def starts(*, times: int) -> dict[str, list[float]]:
    """Return the seconds of starts with TLS, without the imports. Call this in a new process."""
    import_module("trustme")  # imports nearly all that TLS needs
    with PetStoreMock():
        pass  # imports the rest
    taken: dict[str, list[float]] = {"first of a process": [], "later ones": []}
    for number in range(times):
        began = perf_counter()
        petstore = PetStoreMock(tls=True).start()
        taken["later ones" if number else "first of a process"].append(perf_counter() - began)
        petstore.stop()
    return taken


@contextmanager
def _stub(code: str, *options: str) -> Generator[dict[str, Any]]:
    """Run a stub within a ``with`` block, and yield the first line of its output."""
    command = [sys.executable, "-c", code, "serve", "--quiet", "--port", "0", "--api-key", KEY, "--seed", str(ANIMALS)]
    process = subprocess.Popen(
        [*command, "--log-format", "json", *options], cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate(timeout=10)


def _connection(stub: dict[str, Any]) -> http.client.HTTPConnection:
    port = int(stub["url"].rpartition(":")[2].partition("/")[0])
    if "ca_path" not in stub:
        return http.client.HTTPConnection(HOST, port, timeout=10)
    context = ssl.create_default_context(cafile=stub["ca_path"])
    return http.client.HTTPSConnection(HOST, port, timeout=10, context=context)


def _call(connection: http.client.HTTPConnection) -> None:
    connection.request("GET", "/v1/pets", headers=HEADERS)
    answer = connection.getresponse()
    answer.read()
    assert answer.status == http.HTTPStatus.OK


def _call_anew(connection: http.client.HTTPConnection) -> None:
    _call(connection)
    connection.close()  # the next call opens another


def _in_turns(calls: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds + 1):
        for name, call in calls.items():
            for _ in range(_IN_TURN):
                began = perf_counter()
                call()
                taken[name].append(perf_counter() - began)
    return {name: values[_IN_TURN:] for name, values in taken.items()}  # the first turn is the warm-up


def measure(plan: Plan) -> Result:
    """Measure TLS beside plain HTTP."""
    result = Result()
    loops = {"petstore_mock": _WITHOUT_UVLOOP} | (
        {"petstore_mock, extra fast": _WITH_UVLOOP} if find_spec("uvloop") else {}
    )
    with ExitStack() as stack:
        stubs = {
            f"{name}, {scheme}": stack.enter_context(_stub(code, *options))
            for name, code in loops.items()
            for scheme, options in (("http", ()), ("https", ("--tls",)))
        }
        kept = {name: stack.enter_context(closing(_connection(stub))) for name, stub in stubs.items()}
        fresh = {name: stack.enter_context(closing(_connection(stub))) for name, stub in stubs.items()}
        calls: dict[str, Callable[[], None]] = {
            **{f"{name}, kept connection": partial(_call, one) for name, one in kept.items()},
            **{f"{name}, a new connection per call": partial(_call_anew, one) for name, one in fresh.items()},
        }
        taken = _in_turns(calls, plan.pick(40, 4))
        rows = [
            [name, f"{median(values) * _US:,.0f}", f"{percentile(values, 0.99) * _US:,.0f}"]
            for name, values in taken.items()
        ]
        result.tables.append(
            Table("One sequential client on http.client, list of 20", ["server", "median µs", "p99 µs"], rows)
        )
        if problem := wrk.missing():
            result.notes.append(f"{problem}: no figure for load over TLS.")
        else:
            rates = {name: _rate(stub, plan.pick(2, 1), plan.pick(5, 1)) for name, stub in stubs.items()}
            rows = [[name, f"{rate:,.0f}"] for name, rate in rates.items()]
            title = f"{wrk.CONNECTIONS} kept connections, list of 20"
            result.tables.append(Table(title, ["server", "requests per second"], rows))
    began = isolated("tls:starts", times=plan.pick(50, 5))
    first, later = median(began["first of a process"]), median(began["later ones"])
    result.figures["tls_start"] = Figure(
        f"first start of a process, which makes keys and certificates, {first * 1000:.1f} ms; "
        f"later starts {later * 1000:.1f} ms",
        first <= _START and later <= _START,
    )
    return result


def _rate(stub: dict[str, Any], seconds: int, rounds: int) -> float:
    """Return the requests per second: the median of some rounds."""
    scheme = stub["url"].partition(":")[0]
    port = int(stub["url"].rpartition(":")[2].partition("/")[0])
    loads = [wrk.load(port, "/v1/pets", HEADERS, seconds=seconds, scheme=scheme) for _ in range(rounds)]
    return median(load.rate for load in loads)
