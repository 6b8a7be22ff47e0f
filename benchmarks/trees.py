"""Two trees side by side: ``python -m benchmarks --trees OLD NEW``, each a folder with a ``petstore_mock`` package."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Final

from benchmarks import fixture_cost
from benchmarks.bodies import ANIMALS, KEY, NEW_PET
from benchmarks.goals import Table
from benchmarks.processes import HOST, free_port, started
from benchmarks.timing import isolated
from benchmarks.tree import new_pets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.goals import Plan
    from benchmarks.processes import Running

__all__ = ["MEASUREMENTS", "compare"]

_HEADERS: Final = {"Authorization": f"Bearer {KEY}"}
_IN_TURN: Final = 100  # requests
_SIZES: Final = (20, 300, 100_000)  # animals in a store that is reset
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


def _resets(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    for _ in range(plan.pick(7, 2)):
        for animals in _SIZES:
            for side, tree in trees.items():
                seconds = isolated("tree:resets", tree=tree, animals=animals, times=plan.pick(300, 30))
                rows.add(f"a change and reset(), {animals:,} animals, µs", side, seconds)


def _first_refusal(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    for _ in range(plan.pick(9, 2)):
        for side, tree in trees.items():
            first, second = isolated("first_refusal:of_the_fixture", tree=tree)
            rows.add("first refusal of a process, ms", side, first)
            rows.add("second refusal of a process, ms", side, second)


def _fixture(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    tests = plan.pick(500, 200)
    with TemporaryDirectory(prefix="petstore-bench-") as name:
        empty, ours = Path(name) / "empty", Path(name) / "ours"
        fixture_cost.write(empty, fixture_cost.EMPTY, tests)
        fixture_cost.write(ours, fixture_cost.OURS, tests)
        for _ in range(plan.pick(15, 3)):
            for side, tree in trees.items():
                without = fixture_cost.seconds_a_test(empty, fixture_cost.EMPTY).median
                seconds = fixture_cost.seconds_a_test(ours, fixture_cost.OURS, tree).median
                rows.add("time that the fixture adds to a test, µs", side, seconds - without)


def _stub(stack: ExitStack, tree: Path) -> Running:
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="petstore-bench-")))
    port = free_port()
    options = ["serve", "--quiet", "--port", str(port), "--api-key", KEY, "--seed", str(ANIMALS)]
    command = [sys.executable, "-c", _SERVE, str(tree), *options]
    return stack.enter_context(started(command, port, "/v1/pets", _HEADERS, folder))


def _boot(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    for _ in range(plan.pick(15, 2)):
        for side, tree in trees.items():
            with ExitStack() as stack:
                rows.add("boot to the first 200, ms", side, _stub(stack, tree).ready_after)


def _requests() -> dict[str, Callable[[], bytes]]:
    """Return the functions that make the bytes of the next request, by operation."""
    head = f"HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {KEY}\r\n"
    listing, getting = f"GET /v1/pets {head}\r\n".encode(), f"GET /v1/pets/1 {head}\r\n".encode()
    bodies = new_pets()

    def create(body: bytes) -> bytes:
        more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return f"POST /v1/pets {head}{more}".encode() + body

    return {
        "list": lambda: listing,
        "get": lambda: getting,
        "create": lambda: create(NEW_PET),
        "create, bodies differ": lambda: create(next(bodies)),
    }


def _over_the_socket(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    """Send one request after the other on a kept connection, to a stub in a new process."""
    for operation, make in _requests().items():
        with ExitStack() as stack:  # new stubs for each operation, so no store has grown
            stubs = {side: _stub(stack, tree) for side, tree in trees.items()}
            clients = {
                side: stack.enter_context(closing(socket.create_connection((HOST, stub.port), timeout=10)))
                for side, stub in stubs.items()
            }
            spent = dict.fromkeys(trees, 0.0)
            rounds = plan.pick(100, 20)
            for number in range(-1, rounds):  # the first is the warm-up
                for side, client in clients.items():
                    before = stubs[side].processor_seconds()
                    taken = [_seconds(client, make()) for _ in range(_IN_TURN)]
                    if number >= 0:
                        spent[side] += stubs[side].processor_seconds() - before
                        rows.add(f"socket, {operation}, µs", side, median(taken))
            for side, seconds in spent.items():
                rows.add(f"socket, {operation}, processor time of the stub, µs", side, seconds / rounds / _IN_TURN)


def _seconds(client: socket.socket, request: bytes) -> float:
    """Send a request and return the seconds until its whole response has arrived."""
    began = perf_counter()
    client.sendall(request)
    response = b"".join(_whole_response(client))
    taken = perf_counter() - began
    if not response.startswith(b"HTTP/1.1 20"):
        raise RuntimeError(f"expected a success; got {response[:200]!r}")
    return taken


def _whole_response(client: socket.socket) -> Iterator[bytes]:
    received = b""
    while b"\r\n\r\n" not in received:
        received += client.recv(65536)
    yield received
    head, _, body = received.partition(b"\r\n\r\n")
    missing = int(head.lower().partition(b"content-length:")[2].split()[0]) - len(body)
    while missing > 0:
        more = client.recv(65536)
        missing -= len(more)
        yield more


def _machine(rows: _Rows, trees: Mapping[str, Path], plan: Plan) -> None:
    for _ in range(plan.pick(3, 1)):
        for side, tree in trees.items():
            examples = plan.pick(200, 10)
            taken = isolated("verdict:verdict", tree=tree, library="http.client", examples=examples)
            rows.add(f"check_client(), {examples} examples, ms", side, taken["seconds"])


MEASUREMENTS: Final = {
    "in_process": _in_process,
    "socket": _over_the_socket,
    "boot": _boot,
    "first_refusal": _first_refusal,
    "resets": _resets,
    "fixture": _fixture,
    "machine": _machine,
}


def compare(plan: Plan, old: Path, new: Path, only: Sequence[str] = ()) -> tuple[Table, list[str]]:
    """Measure both trees alternately.

    Args:
        plan: the thoroughness of the run.
        old: a folder with a package.
        new: another.
        only: some of ``MEASUREMENTS``; all by default.

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
