"""Measures how many mutants of the package the tests kill: ``python -m tools.mutation run``.

Each mutant runs against the test files that reach its line. Results go into a file, so a later run continues.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from coverage import CoverageData

from tools.mutants import Mutant, draw

ROOT: Final = Path(__file__).parents[1]
_CACHE: Final = ROOT / ".cache" / "mutation"
_RESULTS: Final = _CACHE / "results.jsonl"
_PACKAGE: Final = "petstore_mock"
_AT_ONCE: Final = 2
_GIT: Final = shutil.which("git") or "git"
_PYTEST: Final = ("-m", "pytest", "-q", "--tb=no", "--hypothesis-profile=ci", "-o", "cache_dir=.cache/failed")
_QUICK: Final = 15.0  # seconds of the first batch of test files; each later batch may take four times the previous
_SUSPECTS: Final = 3  # failing tests that are run again
_START: Final = 15.0  # seconds for pytest to start and end, without tests
_FACTOR: Final = 3  # a run may take _START, and this many times its usual seconds
_LIVE: Final[set[subprocess.Popen[bytes]]] = set()  # runs that a signal must end
_VERDICT: Final = frozenset({0, 1, 5})  # exit codes of a complete pytest run


@dataclass(frozen=True)
class Run:
    """A run of pytest: its failing tests, and whether it was stopped or broke down."""

    failed: tuple[str, ...]
    seconds: float
    is_whole: bool


class Checkout:
    """A copy of the checkout whose interpreter imports the copy's package in every process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._python = folder / ".venv" / "bin" / "python"
        self._writes = 0

    def renew(self) -> None:
        """Copy the files that git knows, and make an interpreter that imports this copy first."""
        shutil.rmtree(self.folder, ignore_errors=True)
        listed = subprocess.run([_GIT, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        venv = self.folder / ".venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        known = [path for path in sys.path if path.endswith("site-packages")]
        packages = next(venv.glob("lib/python*/site-packages"))
        # Python reads this file first. Python ignores .pth files in the listed folders, such as an editable install's.
        (packages / "_checkout.pth").write_text("\n".join([str(self.folder), *known]) + "\n")
        for path in known:
            for starts_coverage in Path(path).glob("*cov*.pth"):  # in child processes
                shutil.copy2(starts_coverage, packages)
        for script in Path(sys.executable).parent.iterdir():
            target = venv / "bin" / script.name
            if not target.exists() and script.is_file() and script.read_bytes()[:2] == b"#!":
                body = script.read_text().partition("\n")[2]
                target.write_text(f"#!{self._python}\n{body}")
                target.chmod(0o755)

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Apply ``mutant`` in the block."""
        source = (ROOT / mutant.file).read_bytes()
        self._write(mutant.file, mutant.apply(source))
        try:
            yield
        finally:
            self._write(mutant.file, source)

    def _write(self, name: str, source: bytes) -> None:
        path = self.folder / name
        path.write_bytes(source)
        self._writes += 1
        moment = time.time() + 2 * self._writes  # Python compares the age of bytecode and source in whole seconds
        os.utime(path, (moment, moment))

    def pytest(self, tests: Sequence[str], limit: float, *before: str, workers: int = 0) -> Run:
        """Run tests, for at most ``limit`` seconds; ``before`` are arguments of Python."""
        failed = self.folder / ".cache" / "failed" / "v" / "cache" / "lastfailed"
        failed.unlink(missing_ok=True)
        command = [str(self._python), *before, *_PYTEST]
        command += ["-n", str(workers), "--dist", "worksteal", *tests] if workers else list(tests)
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        _LIVE.add(process)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _LIVE.discard(process)
            _end(process)
        names = json.loads(failed.read_text()) if failed.exists() else {}
        # A pytest that breaks down before its first test exits with 1 too, but names no failing test.
        is_whole = code in _VERDICT and (code == 1) is bool(names)
        return Run(tuple(names), time.perf_counter() - started, is_whole)


def _stop(_number: int, _frame: object) -> None:
    """End all runs and this process at a signal. Each result is already written."""
    for process in list(_LIVE):
        _end(process)
    os._exit(1)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill all processes of a run that are left: its process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# Which test files reach a line


@dataclass(frozen=True)
class Reach:
    """The reach of a test file: lines by module, its seconds, and the tests that fail without a mutant."""

    file: str
    seconds: float
    failing: tuple[str, ...]
    lines: dict[str, frozenset[int]]


def record_reach(checkout: Checkout, file: str) -> Reach:
    """Return the reach of a test file, from an earlier run if the package and the file are unchanged."""
    digest = sha256((ROOT / file).read_bytes())
    for path in sorted((ROOT / _PACKAGE).rglob("*.py")):
        digest.update(path.read_bytes())
    kept = _CACHE / "reach" / f"{digest.hexdigest()[:16]}.json"
    if not kept.exists():
        data = checkout.folder / ".cache" / "reach"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir(parents=True)
        tracing = ("-m", "coverage", "run", f"--data-file={data / 'data'}")
        run = checkout.pytest([file], 1800, *tracing)
        lines: dict[str, set[int]] = {}
        for part in data.iterdir():
            found = CoverageData(str(part))
            found.read()
            for measured in found.measured_files():
                module = str(Path(measured).relative_to(checkout.folder))
                lines.setdefault(module, set()).update(found.lines(measured) or ())
        document = {"file": file, "seconds": run.seconds, "failing": run.failed}
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({**document, "lines": {name: sorted(found) for name, found in lines.items()}}))
    document = json.loads(kept.read_text())
    reached = {name: frozenset(found) for name, found in document["lines"].items()}
    return Reach(file, document["seconds"], tuple(document["failing"]), reached)


def _statement_lines(mutant: Mutant) -> range:
    """Return the lines on which the tracer may have seen the mutant's code."""
    return range(mutant.line, mutant.line + 1 + mutant.old.count("\n"))


def _batches(mutant: Mutant, reaches: Iterable[Reach]) -> Iterator[list[Reach]]:
    """Yield the test files that reach the mutant: quick ones first, since they kill most mutants."""
    found = [one for one in reaches if not one.lines.get(mutant.file, frozenset()).isdisjoint(_statement_lines(mutant))]
    found.sort(key=lambda one: one.seconds)
    room = _QUICK
    while found:
        batch = [found.pop(0)]
        while found and sum(one.seconds for one in batch) + found[0].seconds <= room:
            batch.append(found.pop(0))
        yield batch
        room *= 4


# Kills


def killer(checkout: Checkout, mutant: Mutant, reaches: Iterable[Reach]) -> str:
    """Return the test or whole run that fails twice with the mutant and passes without it. Empty if there is none."""
    for batch in _batches(mutant, reaches):
        files = [one.file for one in batch]
        known = {test for one in batch for test in one.failing}
        limit = _START + _FACTOR * sum(one.seconds for one in batch)
        with checkout.mutated(mutant):
            run = checkout.pytest(files, limit, workers=2)
            suspects = [test for test in run.failed if test not in known][:_SUSPECTS]
            again = checkout.pytest(suspects or files, limit, workers=2) if suspects or not run.is_whole else run
        if again is run:
            continue
        clean = checkout.pytest(suspects or files, limit, workers=2)
        killing = [test for test in suspects if test in again.failed and test not in clean.failed]
        if clean.is_whole and killing:
            return killing[0]
        if clean.is_whole and not run.is_whole and not again.is_whole:
            return f"an incomplete run of {' '.join(files)}"
    return ""


@dataclass(frozen=True)
class Result:
    """The outcome of a mutant: a line of the results."""

    mutant: Mutant
    killer: str
    reached: bool
    seconds: float

    def __str__(self) -> str:
        said = f"killed by {self.killer}" if self.killer else "survived" if self.reached else "not reached"
        return f"{self.mutant}\n    {said}, {self.seconds} s"


def run(count: int, seed: str) -> None:
    """Measure those of the first ``count`` mutants that have no result."""
    drawn = list(islice(draw(ROOT, _PACKAGE, seed), count))
    free: SimpleQueue[Checkout] = SimpleQueue()
    for number in range(_AT_ONCE):
        checkout = Checkout(_CACHE / f"copy-{number}")
        checkout.renew()
        free.put(checkout)

    @contextmanager
    def checked_out() -> Iterator[Checkout]:
        checkout = free.get()
        try:
            yield checkout
        finally:
            free.put(checkout)

    def reach_of(file: str) -> Reach:
        with checked_out() as checkout:
            return record_reach(checkout, file)

    known = {result.mutant for result in _results()}
    left = [mutant for mutant in drawn if mutant not in known]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reaches = list(pool.map(reach_of, _test_files())) if left else []

        def result_of(mutant: Mutant) -> Result:
            started = time.perf_counter()
            with checked_out() as checkout:
                by = killer(checkout, mutant, reaches)
            reached = any(True for _ in _batches(mutant, reaches))
            return Result(mutant, by, reached, round(time.perf_counter() - started, 1))

        for future in as_completed([pool.submit(result_of, mutant) for mutant in left]):
            result = future.result()
            with _RESULTS.open("a", encoding="utf-8") as lines:
                lines.write(f"{json.dumps(asdict(result))}\n")
            print(result, flush=True)
    show(drawn)


def _test_files() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py"))


def _results() -> list[Result]:
    lines = _RESULTS.read_text().splitlines() if _RESULTS.exists() else []
    return [Result(**{**found, "mutant": Mutant(**found["mutant"])}) for found in map(json.loads, lines)]


def show(drawn: Sequence[Mutant]) -> None:
    """Print how many mutants the tests kill, and each mutant that survives."""
    found = {result.mutant: result for result in _results()}
    measured = [found[mutant] for mutant in drawn if mutant in found]
    killed = [result for result in measured if result.killer]
    print(f"{len(measured)} of {len(drawn)} mutants measured, {len(killed)} of them killed")
    for result in measured:
        if not result.killer:
            print(result)


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--count", type=int, default=300, help="the number of mutants (default: 300)")
    parser.add_argument("--seed", default="2026")
    options = parser.parse_args()
    if options.command == "run":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _stop)
        run(options.count, options.seed)
    else:
        show(list(islice(draw(ROOT, _PACKAGE, options.seed), options.count)))


if __name__ == "__main__":
    main()
