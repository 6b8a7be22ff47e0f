"""Runs Python on a copy of the package, whose lines can count towards the coverage of the package."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import petstore_mock
from tests.programs import run

ROOT: Final = Path(petstore_mock.__file__).parent.parent
# The copy must not get these variables: coverage would look for the original, and pytest would add our options.
_OF_THIS_RUN: Final = ("COVERAGE_", "PYTEST_")
# The files that the copy changes. Their lines are not those of the original.
EDITED: Final = ("core/pipeline.py", "interface/gaps.py", "interface/static.py", "interface/table.py")


def run_python(folder: Path, *arguments: str, code: int = 0, counts: bool = False) -> str:
    """Run Python on a copy, and return what it printed.

    Args:
        folder: the folder of the copy.
        arguments: those of Python.
        code: the expected exit code; another one fails the test.
        counts: whether the lines that ran count, if coverage measures this process. pyproject.toml maps the folder
            ``grown0`` of a copy to the package.
    """
    counts = counts and "COVERAGE_PROCESS_CONFIG" in os.environ
    tracer = _tracer() if counts else ()
    return run(sys.executable, *tracer, *arguments, cwd=folder, without=_OF_THIS_RUN, code=code)


def _tracer() -> tuple[str, ...]:
    data = os.environ.get("COVERAGE_FILE", ROOT / ".coverage")
    omitted = ",".join(f"*/petstore_mock/{file}" for file in EDITED)
    options = (f"--rcfile={ROOT / 'pyproject.toml'}", f"--data-file={data}", f"--omit={omitted}")
    return ("-m", "coverage", "run", "--parallel-mode", *options)
