"""Measures how many mutants of the package the suite kills: ``make mutation``.

A mutant is the package with one small fault in its source. It is killed if a test fails twice with it, and passes
without it. Each mutant runs in a copy of the checkout: first the tests of its room, then the whole suite, until a test
fails. Results go into a file, so a later run continues. A surviving mutant takes as long as the suite.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_PACKAGE: Final = "petstore_mock"
_CACHE: Final = ROOT / ".cache" / "mutation"
_RESULTS: Final = _CACHE / "results.jsonl"
_COPY: Final = _CACHE / "copy"
_WORKERS: Final = 4
# With the tests that `make test` leaves out because they take seconds.
_TESTS: Final = "not peers and not slow and not soak"
_PYTEST: Final = ("-m", "pytest", "-q", "--tb=no", "--hypothesis-profile=ci", "-o", "cache_dir=.cache/failed")
_FAILED: Final = _COPY / ".cache" / "failed" / "v" / "cache" / "lastfailed"
_SUSPECTS: Final = 3  # failing tests that are run again
_FACTOR: Final = 3  # a run may take this many times the seconds of the suite without a mutant

KINDS: Final = ("negated condition", "swapped comparison", "changed constant", "dropped call", "return None")
_SWAPPED: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}


@dataclass(frozen=True)
class Mutant:
    """One change of one file: the bytes from ``start`` to ``end`` become ``new``."""

    file: str
    line: int
    kind: str
    old: str
    new: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.kind}: {self.old[:80]!r} -> {self.new[:80]!r}"

    def apply(self, source: bytes) -> bytes:
        """Return the source with the fault."""
        assert source[self.start : self.end] == self.old.encode(), f"the source of {self} has changed"
        return source[: self.start] + self.new.encode() + source[self.end :]


def draw(folder: Path, package: str, seed: str) -> Iterator[Mutant]:
    """Yield mutants of ``folder/package`` in an order drawn by ``seed``; each kind comes equally often.

    With one draw over all places, half of the mutants would change a constant, and most constants are texts.
    """
    random = Random(seed)
    found: dict[str, list[Mutant]] = {kind: [] for kind in KINDS}
    for path in sorted((folder / package).rglob("*.py")):
        for mutant in mutants_of(path.read_bytes(), str(path.relative_to(folder))):
            found[mutant.kind].append(mutant)
    for mutants in found.values():
        random.shuffle(mutants)
    while any(found.values()):
        yield from (mutants.pop() for kind in KINDS if (mutants := found[kind]))


def mutants_of(source: bytes, file: str) -> Iterator[Mutant]:
    """Yield every mutant of one module."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node, kind, new in _changes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        old = source[start:end].decode()
        changed = new or f"(not ({old}))"
        if isinstance(node, ast.Compare) and kind == "swapped comparison":
            start = starts[(node.left.end_lineno or 0) - 1] + (node.left.end_col_offset or 0)
            right = node.comparators[0]
            end = starts[right.lineno - 1] + right.col_offset
            old = source[start:end].decode()
            changed = old.replace(*_SWAPPED[type(node.ops[0])], 1)
        if changed != old:
            yield Mutant(file, node.lineno, kind, old, changed, start, end)


def _changes(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Yield nodes with the kind and the text of a change; annotations, docstrings and type imports have none."""
    for node in _executed(tree):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Constant):
                yield test, "negated condition", ""
            case ast.comprehension(ifs=tests):
                yield from ((test, "negated condition", "") for test in tests)
            case ast.Compare(ops=[_]):
                yield node, "swapped comparison", ""
            case ast.Constant(value=bool() | int() | float() | str() | bytes() as value):
                yield node, "changed constant", _other(value)
            case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
                yield node, "dropped call", "None"
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield node, "return None", "return None"


def _other(value: bool | float | str | bytes) -> str:  # noqa: FBT001  # a constant of the source
    """Return another literal, which is also valid in a pattern."""
    if isinstance(value, str):
        return repr(value + "x")
    if isinstance(value, bytes):
        return repr(value + b"x")
    if isinstance(value, bool):
        return repr(not value)
    return repr(value + 1 if isinstance(value, int) else value * 2 + 1)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the executed nodes, but none in f-strings: Python 3.11 does not record the position of their text."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns"} or (name == "body" and _is_for_types(node)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _does_nothing(child):
                yield from _executed(child)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _does_nothing(node: ast.AST) -> bool:
    """Whether ``node`` has no mutants: a docstring, an import, a type, ``__all__`` or an f-string."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Subscript(value=ast.Name(id="Literal")) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
    return False


# The runs


def _renew() -> None:
    """Copy the files that git knows. The copy has an environment of its own, so all its processes import the copy."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607  # found on PATH
    for folder in (_PACKAGE, "tests"):
        shutil.rmtree(_COPY / folder, ignore_errors=True)
    present = [name for name in listed.stdout.split("\0") if (ROOT / name).is_file()]
    for name in present:
        target = _COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    subprocess.run(["make", "VENV=.venv", f"PYTHON={sys.executable}", ".venv/.has-test"], cwd=_COPY, check=True)  # noqa: S607


def _write(name: str, source: bytes) -> None:
    """Write a module of the copy, and remove its bytecode: Python compares ages in whole seconds only."""
    path = _COPY / name
    path.write_bytes(source)
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


def _failing(tests: Sequence[str], limit: float | None, *options: str) -> list[str] | None:
    """Run tests in the copy. Return those that fail, or None if the run did not come to its end within ``limit``."""
    _FAILED.unlink(missing_ok=True)
    command = [str(_COPY / ".venv" / "bin" / "python"), *_PYTEST, "-m", _TESTS, "-n", str(_WORKERS)]
    command += ["--dist", "worksteal"]
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    process = subprocess.Popen(
        [*command, *options, *tests],
        cwd=_COPY,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:  # also after Ctrl-C
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if code == 0:
        return []
    # A pytest that breaks down before its first test names no failing test.
    return list(json.loads(_FAILED.read_text())) if _FAILED.exists() else None


@dataclass(frozen=True)
class Result:
    """The outcome of a mutant: a line of the results. ``killer`` is empty if the mutant survived."""

    mutant: Mutant
    killer: str
    seconds: float

    def __str__(self) -> str:
        outcome = f"killed by {self.killer}" if self.killer else "survived"
        return f"{self.mutant}\n    {outcome}, {self.seconds} s"


def _measured(mutant: Mutant, limit: float) -> Result:
    """Run the tests of the mutant's room and then all tests, until a test kills it."""
    started = time.perf_counter()
    room = Path(mutant.file).parts[1].removesuffix(".py")
    own = [folder for folder in (f"tests/unit/{room}", f"tests/{room}") if (ROOT / folder).is_dir()]
    killer = ""
    for tests in (own, ["tests"]):
        if tests and not killer:
            killer = _killer(mutant, limit, tests)
    return Result(mutant, killer, round(time.perf_counter() - started, 1))


def _killer(mutant: Mutant, limit: float, tests: Sequence[str]) -> str:
    """Return the test that fails twice with the mutant and passes without it. Empty if there is none."""
    source = (ROOT / mutant.file).read_bytes()
    _write(mutant.file, mutant.apply(source))
    try:
        failed = _failing(tests, limit, "-x")
        if failed == []:
            return ""
        again = _failing((failed or tests)[:_SUSPECTS], limit)
    finally:
        _write(mutant.file, source)
    if failed is None and again is None:
        return "a run that did not come to its end"
    suspects = [test for test in again or () if test in (failed or ())]
    if suspects and _failing(suspects, limit) == []:
        return suspects[0]
    return ""


def run(count: int, seed: str) -> None:
    """Measure those of the first ``count`` mutants that have no result, and show which of them survive."""
    drawn = list(islice(draw(ROOT, _PACKAGE, seed), count))
    results = {result.mutant: result for result in _results()}
    left = [mutant for mutant in drawn if mutant not in results]
    if left:
        _renew()
        started = time.perf_counter()
        failing = _failing(["tests"], None)
        assert failing == [], f"these tests fail without a mutant: {failing}"
        limit = _FACTOR * (time.perf_counter() - started)
        for mutant in left:
            results[mutant] = _measured(mutant, limit)
            with _RESULTS.open("a", encoding="utf-8") as lines:
                lines.write(f"{json.dumps(asdict(results[mutant]))}\n")
            print(results[mutant], flush=True)
    survivors = [results[mutant] for mutant in drawn if not results[mutant].killer]
    print(f"{len(drawn) - len(survivors)} of {len(drawn)} mutants are killed. The others:", *survivors, sep="\n")


def _results() -> list[Result]:
    lines = _RESULTS.read_text(encoding="utf-8").splitlines() if _RESULTS.exists() else []
    return [Result(**{**row, "mutant": Mutant(**row["mutant"])}) for row in map(json.loads, lines)]


def main() -> None:
    """Measure mutants."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="the number of mutants (default: 300)")
    parser.add_argument("--seed", default="2026")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the running tests too
    run(options.count, options.seed)


if __name__ == "__main__":
    main()
