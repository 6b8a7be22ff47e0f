"""``python -m benchmarks``: measures everything in one run and writes ``benchmarks/RESULTS.md``.

With ``--trees OLD NEW`` it compares the packages of two folders instead, and prints the result.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final

from benchmarks import boot, fixture_cost, throughput, trees
from benchmarks.goals import Plan, Result
from benchmarks.report import describe, report, titled

MEASUREMENTS: Final[Mapping[str, Callable[[Plan], Result]]] = {
    "throughput": throughput.measure,
    "first_seconds": throughput.first_seconds,
    "boot": boot.measure,
    "fixture_cost": fixture_cost.measure,
}
_RESULTS: Final = Path(__file__).with_name("RESULTS.md")


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help=f"one of {', '.join(MEASUREMENTS)}; with --trees, one of {', '.join(trees.MEASUREMENTS)}",
    )
    parser.add_argument("--quick", action="store_true", help="few repeats: shows only that the benchmarks run")
    parser.add_argument(
        "--trees",
        nargs=2,
        type=Path,
        metavar=("OLD", "NEW"),
        help="compare the packages of two folders with each other",
    )
    arguments = parser.parse_args(given)
    known = [*(trees.MEASUREMENTS if arguments.trees else MEASUREMENTS)]
    unknown = [name for name in arguments.only or () if name not in known]
    if unknown:
        parser.error(f"expected --only to name one of {', '.join(known)}; got {', '.join(unknown)}")
    return arguments


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(143)  # each `with` block then ends its processes


def _compare(arguments: argparse.Namespace) -> tuple[str, bool]:
    """Compare two trees. Return the text, and whether a measurement failed."""
    facts, began = describe(), time.perf_counter()
    old, new = arguments.trees
    table, failures = trees.compare(Plan(quick=arguments.quick), old, new, arguments.only or ())
    facts += [f"{(time.perf_counter() - began) / 60:.1f} minutes", str(old), str(new), *failures]
    return f"{titled(table)}\n\n" + "".join(f"- {fact}\n" for fact in facts), bool(failures)


def _measure(arguments: argparse.Namespace) -> tuple[str, bool]:
    """Measure everything, or only what the arguments name. Return the report, and whether a measurement failed."""
    began, computer = datetime.now(UTC), describe()
    results: dict[str, Result] = {}
    failures: dict[str, str] = {}
    for name in arguments.only or MEASUREMENTS:
        print(f"{name} ...", file=sys.stderr)
        try:
            results[name] = MEASUREMENTS[name](Plan(quick=arguments.quick))
        except Exception as error:  # noqa: BLE001  # the others are still worth measuring
            failures[name] = f"{type(error).__name__}: {error}"
            print(failures[name], file=sys.stderr)
    minutes = (datetime.now(UTC) - began).total_seconds() / 60
    facts = [f"Taken on {began:%d %B %Y} in one run of {minutes:.1f} minutes by `make bench`", *computer]
    if arguments.quick:
        facts.append("**A quick run: it shows only that the benchmarks run. Its figures are not reliable**")
    return report(facts, results, failures), bool(failures)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and write the results; return 0 unless a measurement failed."""
    arguments = _arguments(given)
    signal.signal(signal.SIGTERM, _end)
    text, has_failed = _compare(arguments) if arguments.trees else _measure(arguments)
    if arguments.trees or arguments.only or arguments.quick:
        print(text, end="")
    else:
        _RESULTS.write_text(text, encoding="utf-8")
    return int(has_failed)


if __name__ == "__main__":
    raise SystemExit(main())
