"""``python -m benchmarks``: measures everything in one run and writes ``benchmarks/RESULTS.md``."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.goals import Plan, Result
from benchmarks.report import Report

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
    "machine_steps",
)
_RESULTS: Final = Path(__file__).with_name("RESULTS.md")


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", action="append", choices=MEASUREMENTS, metavar="NAME", help=f"one of {', '.join(MEASUREMENTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="few repeats: tells that it works, not how fast it is")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write here; a part or a quick run is printed")
    return parser.parse_args(given)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(143)  # so that every block ends its processes


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and write the results; return 0 unless a measurement failed."""
    arguments = _arguments(given)
    signal.signal(signal.SIGTERM, _end)
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
