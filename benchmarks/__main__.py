"""``python -m benchmarks``: measures everything in one run and writes ``benchmarks/RESULTS.md``.

With ``--trees OLD NEW`` it compares the packages of two folders instead, and prints the result.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import machine, trees
from benchmarks.goals import Plan, Result
from benchmarks.report import Report, titled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

MEASUREMENTS: Final = (
    "throughput",
    "first_seconds",
    "latency",
    "tls",
    "boot",
    "first_refusal",
    "lifecycle",
    "fixture_cost",
    "plugin_cost",
    "variants",
    "in_process",
    "large_store",
    "memory",
    "worlds",
    "verdict",
)
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
    parser.add_argument("--output", type=Path, metavar="FILE", help="file (default: stdout, for full runs RESULTS.md)")
    parser.add_argument(
        "--trees",
        nargs=2,
        type=Path,
        metavar=("OLD", "NEW"),
        help="compare the packages of two folders with each other",
    )
    arguments = parser.parse_args(given)
    known = trees.MEASUREMENTS if arguments.trees else MEASUREMENTS
    if unknown := [name for name in arguments.only or () if name not in known]:
        parser.error(f"expected --only to name one of {', '.join(known)}; got {', '.join(unknown)}")
    return arguments


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(143)  # each `with` block then ends its processes


def _compare(arguments: argparse.Namespace) -> int:
    facts, began = machine.describe(), time.perf_counter()
    old, new = arguments.trees
    table, failures = trees.compare(Plan(quick=arguments.quick), old, new, arguments.only or ())
    facts += [f"{(time.perf_counter() - began) / 60:.1f} minutes", *map(str, arguments.trees), *failures]
    text = f"{titled(table)}\n\n" + "".join(f"- {fact}\n" for fact in facts)
    if arguments.output is None:
        print(text, end="")
    else:
        arguments.output.write_text(text, encoding="utf-8")
    return int(bool(failures))


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and write the results; return 0 unless a measurement failed."""
    arguments = _arguments(given)
    signal.signal(signal.SIGTERM, _end)
    if arguments.trees:
        return _compare(arguments)
    plan, report = Plan(quick=arguments.quick), Report(quick=arguments.quick)
    failed = False
    for name in arguments.only or MEASUREMENTS:
        began = time.perf_counter()
        try:
            result: Result = import_module(f"benchmarks.{name}").measure(plan)
        except Exception as error:  # noqa: BLE001  # the others are still worth measuring
            report.failed(name, error)
            failed = True
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        else:
            report.add(name, result)
            print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
    text = report.render()
    whole = not arguments.only and not arguments.quick
    output = arguments.output or (_RESULTS if whole else None)
    if output is None:
        print(text)
    else:
        output.write_text(text, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
