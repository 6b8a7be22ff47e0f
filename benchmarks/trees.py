"""Two trees side by side: ``python -m benchmarks --trees OLD NEW``, each a folder with a ``petstore_mock`` package."""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

from benchmarks import fixture_cost
from benchmarks.bodies import KEY, NEW_PET
from benchmarks.goals import Plan, Table
from benchmarks.processes import HOST, Running, isolated, started
from benchmarks.servers import options_of_the_fake

_IN_TURN: Final = 100  # requests
_UNITS: Final = {"µs": 1e6, "ms": 1e3}

# The tree comes before the installed package in sys.path. The import of uvloop fails, as without the extra `fast`.
_SERVE: Final = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); sys.modules['uvloop'] = None; "
    "runpy.run_module('petstore_mock', run_name='__main__', alter_sys=True)"
)


class _Rows:
    """The seconds of each row: one value for each round and side."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, list[float]]] = {}

    def add(self, what: str, side: str, seconds: float) -> None:
        """Add a value. The last word of ``what`` is the unit in the table."""
        self._values.setdefault(what, {}).setdefault(side, []).append(seconds)

    def table(self) -> Table:
        """Return the medians of both sides, and for the old side the longest round divided by the shortest."""
        rows = []
        for what, values in self._values.items():
            if len(values) == 1:
                continue  # the other side failed
            old, new = median(values["old"]), median(values["new"])
            unit = _UNITS[what.rpartition(" ")[2]]
            ratio = f"{new / old:.2f}" if old else "-"  # a quick run may be shorter than a tick of the CPU clock
            spread = f"{max(values['old']) / min(values['old']):.2f}" if len(values["old"]) > 1 else "-"
            rows.append([what, f"{old * unit:.1f}", f"{new * unit:.1f}", ratio, spread])
        return Table("Medians of alternate runs", ["what", "old", "new", "new/old", "max/min of old"], rows)


def _in_process(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    for _ in range(plan.pick(7, 2)):
        for side, tree in trees.items():
            taken = isolated("tree:in_process", tree=tree, rounds=plan.pick(20, 4))
            for operation, seconds in taken.items():
                rows.add(f"in process, {operation}, µs", side, seconds)


def _fixture(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    tests = plan.pick(500, 200)
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        empty, ours = Path(name) / "empty", Path(name) / "ours"
        fixture_cost.write(empty, fixture_cost.EMPTY, tests)
        fixture_cost.write(ours, fixture_cost.FIXTURE, tests)
        for _ in range(plan.pick(15, 3)):
            for side, tree in trees.items():
                without = fixture_cost.run(empty, fixture_cost.EMPTY).median
                seconds = fixture_cost.run(ours, fixture_cost.FIXTURE, tree).median
                rows.add("time that the fixture adds to a test, µs", side, seconds - without)


def _plugin(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    """Measure the CPU time of a run of one empty test. Each figure includes pytest itself."""
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        folder = Path(name) / "plugin"
        fixture_cost.write(folder, fixture_cost.PLUGIN, 1)
        for _ in range(plan.pick(30, 3)):
            for side, tree in trees.items():
                seconds = fixture_cost.run(folder, fixture_cost.PLUGIN, tree).processor
                rows.add("a run of pytest that only loads the plugin, processor time, ms", side, seconds)


def _stub(tree: Path) -> AbstractContextManager[Running]:
    return started(lambda port, _: [sys.executable, "-c", _SERVE, str(tree), *options_of_the_fake(port)], "/v1/pets")


def _boot(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    for _ in range(plan.pick(15, 2)):
        for side, tree in trees.items():
            with _stub(tree) as stub:
                rows.add("boot to the first 200, ms", side, stub.ready_after)


_HEAD: Final = f"HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {KEY}\r\n"
_BODY_HEAD: Final = f"Content-Type: application/json\r\nContent-Length: {len(NEW_PET)}\r\n\r\n"
_REQUESTS: Final = {
    "list": f"GET /v1/pets {_HEAD}\r\n".encode(),
    "get": f"GET /v1/pets/1 {_HEAD}\r\n".encode(),
    "create": f"POST /v1/pets {_HEAD}{_BODY_HEAD}".encode() + NEW_PET,
}


def _over_the_socket(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    """Send one request after the other on a kept connection, to a stub in a new process."""
    for operation, request in _REQUESTS.items():
        with ExitStack() as stack:  # new stubs for each operation, so no store has grown
            stubs = {side: stack.enter_context(_stub(tree)) for side, tree in trees.items()}
            clients = {
                side: stack.enter_context(closing(socket.create_connection((HOST, stub.port), timeout=10)))
                for side, stub in stubs.items()
            }
            spent = dict.fromkeys(trees, 0.0)
            rounds = plan.pick(100, 20)
            for number in range(-1, rounds):  # the first is the warm-up
                for side, client in clients.items():
                    before = stubs[side].processor_seconds()
                    taken = [_seconds(client, request) for _ in range(_IN_TURN)]
                    if number >= 0:
                        spent[side] += stubs[side].processor_seconds() - before
                        rows.add(f"socket, {operation}, µs", side, median(taken))
            for side, seconds in spent.items():
                rows.add(f"socket, {operation}, processor time of the stub, µs", side, seconds / rounds / _IN_TURN)


def _seconds(client: socket.socket, request: bytes) -> float:
    """Send a request and return the seconds until its whole response has arrived."""
    began = perf_counter()
    client.sendall(request)
    response = client.recv(65536)
    while not _is_whole(response):
        response += client.recv(65536)
    taken = perf_counter() - began
    if not response.startswith(b"HTTP/1.1 20"):
        raise RuntimeError(f"expected a success; got {response[:200]!r}")
    return taken


def _is_whole(response: bytes) -> bool:
    head, end, body = response.partition(b"\r\n\r\n")
    return bool(end) and len(body) >= int(head.lower().partition(b"content-length:")[2].split()[0])


def _machine(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    for _ in range(plan.pick(3, 1)):
        for side, tree in trees.items():
            examples = plan.pick(200, 10)
            seconds = isolated("tree:verdict", tree=tree, library="http.client", examples=examples)
            rows.add(f"check_client(), {examples} examples, ms", side, seconds)


MEASUREMENTS: Final = {
    "in_process": _in_process,
    "socket": _over_the_socket,
    "boot": _boot,
    "fixture": _fixture,
    "plugin": _plugin,
    "machine": _machine,
}


def compare(plan: Plan, old: Path, new: Path, only: Sequence[str] = ()) -> tuple[Table, list[str]]:
    """Measure both trees alternately: all ``MEASUREMENTS``, or ``only`` some of them.

    Returns:
        The table, and the errors of the measurements that failed, for example because a tree lacks a module.

    Raises:
        ValueError: a folder has no package.
    """
    for tree in (old, new):
        if not (tree / "petstore_mock" / "__init__.py").is_file():
            raise ValueError(f"expected a folder with a petstore_mock package; got {tree}")
    trees = {"old": old.resolve(), "new": new.resolve()}
    rows, failures = _Rows(), []
    for name in only or MEASUREMENTS:
        try:
            MEASUREMENTS[name](rows, trees, plan)
        except Exception as error:  # noqa: BLE001  # the others are still worth measuring
            failures.append(f"{name} not measured: {type(error).__name__}: {error}")
    return rows.table(), failures
