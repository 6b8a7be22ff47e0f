"""The door, ten thousand worlds behind one listener, and a hundred worlds behind nginx with one or two stubs."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from os import cpu_count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from benchmarks import wrk
from benchmarks.bodies import ANIMALS, KEY
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import HOST, free_port, processor_seconds_of, resident_bytes, started
from benchmarks.servers import HEADERS, nginx_missing, nginx_program
from benchmarks.timing import ENVIRONMENT, ROOT, percentile

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

__all__ = ["measure"]

_KIB: Final = 1024
_US: Final = 1e6
_LARGEST_WORLD: Final = 20 * _KIB
_MOST_SLOWER: Final = 1.25
_LONGEST_MAKING: Final = 0.002  # seconds
_MOST_COST: Final = 0.03  # two runs of the same code differ by this much on an idle machine
_ASKED_IN_TURN: Final = 1000  # addresses in one run of wrk
_WITHOUT_UVLOOP: Final = "import sys; sys.modules['uvloop'] = None; from petstore_mock.cli import main; main()"
_CREATED: Final = b'{"name":"Rex","categoryId":1}'
_SPREAD: Final = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    map $uri $world {{ "~^/w/(?<name>[^/]+)/" $name; default ""; }}
    upstream stubs {{ hash $world consistent; {servers} keepalive 64; keepalive_requests 1000000000; }}
    server {{
        listen {host}:{port};
        keepalive_requests 1000000000;
        location / {{
            proxy_pass http://stubs;
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Connection "";
            proxy_next_upstream off;
            proxy_buffering off;
        }}
    }}
}}
"""


class _Stub:
    """A running stub."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.pid = process.pid
        self.port = port


@contextmanager
def _stub(*options: str) -> Generator[_Stub]:
    command = [sys.executable, "-c", _WITHOUT_UVLOOP, "serve", "--quiet", "--port", "0", "--log-format", "json"]
    process = subprocess.Popen(
        [*command, "--api-key", KEY, "--seed", str(ANIMALS), *options],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        yield _Stub(process, int(url.rpartition(":")[2].partition("/")[0]))
    finally:
        process.terminate()
        process.communicate(timeout=10)


def _ask(connection: http.client.HTTPConnection, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401  # a JSON value
    fields = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), fields)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status < http.HTTPStatus.BAD_REQUEST, content
    return json.loads(content) if content else None


def _make(port: int, names: Sequence[str], *, seed: int) -> list[float]:
    """Make worlds through the door, all with the same key; return the seconds that each took."""
    taken = []
    with closing(http.client.HTTPConnection(HOST, port, timeout=30)) as connection:
        for name in names:
            began = perf_counter()
            _ask(connection, "PUT", f"/w/{name}/__petstore/world", {"seed": seed, "api_key": KEY})
            taken.append(perf_counter() - began)
    return taken


def measure(plan: Plan) -> Result:
    """Measure the door and the worlds."""
    result = Result()
    _measure_door(result, plan)
    _measure_memory(result, plan)
    if problem := wrk.missing():
        result.notes.append(f"{problem}: no figure for load.")
        return result
    _measure_cost(result, plan)
    _measure_many(result, plan)
    if problem := nginx_missing():
        result.notes.append(f"{problem}: no figure for two stubs.")
    else:
        _measure_two(result, plan)
    return result


def _measure_door(result: Result, plan: Plan) -> None:
    """Call the door, with one request after another on a kept connection."""
    count = plan.pick(2000, 100)
    calls: dict[str, tuple[str, str, object]] = {
        "health": ("GET", "/__petstore/health", None),
        "show a world": ("GET", "/w/one/__petstore/world", None),
        "add an animal": ("POST", "/w/one/__petstore/pets", {"name": "Rex"}),
        "plan a fault": ("POST", "/w/one/__petstore/faults", {"fault": 503, "times": 1}),
        "reset a world": ("POST", "/w/one/__petstore/world/reset", None),
    }
    rows = []
    with _stub() as stub, closing(http.client.HTTPConnection(HOST, stub.port, timeout=30)) as connection:
        _make(stub.port, ["one"], seed=ANIMALS)
        for name, (method, path, body) in calls.items():
            taken = []
            for _ in range(count):
                began = perf_counter()
                _ask(connection, method, path, body)
                taken.append(perf_counter() - began)
            rows.append(_row(name, taken))
            _ask(connection, "POST", "/w/one/__petstore/world/reset")
        making = _make(stub.port, [f"made-{number}" for number in range(count)], seed=0)
        rows.append(_row("make a world", making))
    result.tables.append(
        Table("Calls through the door, one client on http.client", ["call", "per second", "median µs", "p99 µs"], rows)
    )
    result.figures["world_made"] = Figure(f"{median(making) * 1000:.2f} ms", median(making) < _LONGEST_MAKING)


def _row(name: str, taken: list[float]) -> list[str]:
    rate, p99 = len(taken) / sum(taken), percentile(taken, 0.99)
    return [name, f"{rate:,.0f}", f"{median(taken) * _US:,.0f}", f"{p99 * _US:,.0f}"]


def _measure_memory(result: Result, plan: Plan) -> None:
    count = plan.pick(10_000, 1_000)
    rows, weights = [], {}
    for seed in (0, ANIMALS):
        with _stub() as stub:
            _make(stub.port, [f"warm-{number}" for number in range(100)], seed=seed)
            before = resident_bytes(stub.pid)
            _make(stub.port, [f"world-{number}" for number in range(count - 100)], seed=seed)
            weights[seed] = (resident_bytes(stub.pid) - before) / (count - 100)
        rows.append([f"{seed} animals", f"{count:,}", f"{weights[seed] / _KIB:.1f}"])
    result.figures["world_memory"] = Figure(f"{weights[0] / _KIB:.1f} KiB", weights[0] <= _LARGEST_WORLD)
    result.tables.append(Table("Resident memory of a world", ["with", "worlds", "KiB a world"], rows))


def _measure_cost(result: Result, plan: Plan) -> None:
    """Measure the service with an open and with a closed door."""
    rates: dict[str, dict[str, list[float]]] = {}
    times: dict[str, dict[str, list[float]]] = {}
    asked = {
        "list": ("GET", "/v1/pets", b""),
        "get": ("GET", "/v1/pets/1", b""),
        "create": ("POST", "/v1/pets", _CREATED),
    }
    for _ in range(plan.pick(7, 1)):
        for name, options in (("shut", ("--no-control",)), ("open", ())):  # new stubs: they keep created animals
            with _stub(*options) as stub:
                _ask_once(stub.port, "/__petstore/health" if name == "open" else "/v1/pets")  # its first request
                for what, (method, path, body) in asked.items():
                    rate, spent = _load(stub, path, plan.pick(2, 1), method=method, body=body)
                    rates.setdefault(name, {}).setdefault(what, []).append(rate)
                    times.setdefault(name, {}).setdefault(what, []).append(spent)
    ratios = {what: median(times["open"][what]) / median(times["shut"][what]) for what in asked}
    rows = [[f"{name}, per second", *(f"{median(rates[name][what]):,.0f}" for what in asked)] for name in rates]
    rows += [[f"{name}, processor µs", *(f"{median(times[name][what]):.1f}" for what in asked)] for name in times]
    rows.append(["open / shut, processor", *(f"{ratios[what]:.2f}" for what in asked)])
    result.tables.append(Table("Requests to the service, door open or shut", ["door", *asked], rows))
    words = ", ".join(f"{what} {ratio:.2f}" for what, ratio in ratios.items())
    result.figures["door_cost"] = Figure(words, max(ratios.values()) <= 1 + _MOST_COST)


def _ask_once(port: int, path: str) -> None:
    with closing(http.client.HTTPConnection(HOST, port, timeout=30)) as connection:
        connection.request("GET", path)
        connection.getresponse().read()


def _load(stub: _Stub, paths: str, seconds: int, *, method: str = "GET", body: bytes = b"") -> tuple[float, float]:
    """Return the requests per second, and the CPU time per request in µs, which other programs do not affect."""
    headers = {**HEADERS, "Content-Type": "application/json"} if body else HEADERS
    before = processor_seconds_of(stub.pid)
    load = wrk.load(stub.port, paths, headers, seconds=seconds, method=method, body=body)
    return load.rate, (processor_seconds_of(stub.pid) - before) / load.requests * _US


def _addresses(names: Sequence[str]) -> str:
    return " ".join(f"/w/{name}/v1/pets" for name in names)


def _measure_many(result: Result, plan: Plan) -> None:
    """Compare one world with ten thousand worlds. wrk sends requests to a thousand of these in turn."""
    count, seconds = plan.pick(10_000, 1_000), plan.pick(2, 1)
    names = [f"world-{number:05}" for number in range(count)]
    rates: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    with _stub() as few, _stub() as many:
        _make(few.port, names[:1], seed=ANIMALS)
        _make(many.port, names, seed=ANIMALS)
        asked = {
            "one world, the only one": (few, names[:1]),
            f"one world of {count:,}": (many, names[:1]),
            f"one world under {_ASKED_IN_TURN:,} spellings": (few, _spellings(names[0])),
            f"{_ASKED_IN_TURN:,} worlds of {count:,} in turn": (
                many,
                [f"%{ord(name[0]):x}{name[1:]}" for name in names[:: count // _ASKED_IN_TURN]],
            ),
        }
        for _ in range(plan.pick(7, 1)):
            for what, (stub, chosen) in asked.items():
                rate, spent = _load(stub, _addresses(chosen), seconds)
                rates.setdefault(what, []).append(rate)
                times.setdefault(what, []).append(spent)
    rows = [[what, f"{median(rates[what]):,.0f}", f"{median(times[what]):.1f}"] for what in rates]
    result.tables.append(Table("Lists of 20 at /w/NAME", ["worlds", "per second", "processor µs"], rows))
    result.notes.append(
        "Requests to a thousand worlds have a thousand different heads. So we compare them with requests to one world "
        "whose name is spelt in a thousand ways (RFC 3986 §6.2.2). The difference is the cost of the worlds."
    )
    alone, beside, spelt, turn = map(median, times.values())
    words = f"one of the worlds {beside / alone:.2f}, 1,000 worlds in turn {turn / spelt:.2f}"
    result.figures["worlds_load"] = Figure(words, beside / alone <= _MOST_SLOWER)


def _spellings(name: str) -> list[str]:
    """Return a thousand spellings of the name, which all mean the same."""
    return [
        "".join(f"%{ord(one):x}" if number >> place & 1 else one for place, one in enumerate(name))
        for number in range(1, _ASKED_IN_TURN + 1)
    ]


def _rate(port: int, paths: str, seconds: int) -> float:
    return wrk.load(port, paths, HEADERS, seconds=seconds).rate


def _measure_two(result: Result, plan: Plan) -> None:
    """Compare one stub with two stubs behind nginx. wrk and nginx run on the same computer."""
    rates: dict[str, list[float]] = {}
    names = [f"world-{number}" for number in range(100)]
    with ExitStack() as stack:
        ports = {}
        direct = free_port()
        for count in (1, 2):
            port = free_port()
            allowed = ("--allowed-host", f"{HOST}:{port}")
            stubs = [stack.enter_context(_stub(*allowed)) for _ in range(count)]
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="petstore-bench-")))
            servers = " ".join(f"server {HOST}:{stub.port} max_fails=0;" for stub in stubs)
            text = _SPREAD.format(folder=folder, host=HOST, port=port, servers=servers)
            (folder / "nginx.conf").write_text(text)
            command = [
                nginx_program(),
                "-e",
                str(folder / "error.log"),
                "-p",
                str(folder),
                "-c",
                f"{folder}/nginx.conf",
            ]
            stack.enter_context(started(command, port, "/__petstore/health", {}, folder))
            _make(port, names, seed=ANIMALS)
            ports[f"{count} behind nginx"] = port
            if count == 1:
                direct = stubs[0].port
        ports = {"1 without nginx": direct, **ports}
        for _ in range(plan.pick(5, 1)):
            for name, port in ports.items():
                rates.setdefault(name, []).append(_rate(port, _addresses(names), plan.pick(2, 1)))
    base = rates["1 behind nginx"]
    rows = [
        [name, f"{median(values):,.0f}", f"{median(a / b for a, b in zip(values, base, strict=True)):.2f}"]
        for name, values in rates.items()
    ]
    result.tables.append(
        Table("Lists of 20 per second, 100 worlds in turn", ["stubs", "per second", "ratio to 1 behind nginx"], rows)
    )
    result.notes.append(f"wrk, nginx and the stubs share the {cpu_count()} cores of the computer.")
