"""Plays a printed test in a new process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final, Literal

Verdict = Literal["fails", "passes", "unknown"]

IN_REPLAY: Final = "PETSTORE_MOCK_REPLAY"
_LONGEST: Final = 30.0  # seconds
_FAILS: Final = 81  # exit codes that Python itself does not use
_PASSES: Final = 82
_BEFORE: Final = """
import os, sys
sys.path[:] = {path!r}
"""
_AFTER: Final = f"""
try:
    test_client()
except AssertionError:
    os._exit({_FAILS})
os._exit({_PASSES})
"""


def is_replay() -> bool:
    """Whether this process plays a printed test. Then the module of the test must not begin a run of its own."""
    return IN_REPLAY in os.environ


def replayed(test: str) -> Verdict:
    """Return whether a printed test fails in a new process."""
    program = "\n".join([_BEFORE.format(path=sys.path), test, _AFTER])
    try:
        done = subprocess.run(  # noqa: S603  # the test that the report prints
            [sys.executable, "-c", program],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_LONGEST,
            env={**os.environ, IN_REPLAY: "1"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    verdicts: dict[int, Verdict] = {_FAILS: "fails", _PASSES: "passes"}
    return verdicts.get(done.returncode, "unknown")
