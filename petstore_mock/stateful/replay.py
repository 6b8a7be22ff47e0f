"""Plays a printed test in a new process."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

IN_REPLAY: Final = "PETSTORE_MOCK_REPLAY"
_LONGEST: Final = 30.0  # seconds
_PASSES: Final = 82  # an exit code that Python itself does not use
_BEFORE: Final = """
import os, sys
sys.path[:] = {path!r}
"""
_AFTER: Final = f"""
test_client()
os._exit({_PASSES})
"""


def is_replay() -> bool:
    """Whether this process plays a printed test. Then the module of the test must not begin a run of its own."""
    return IN_REPLAY in os.environ


def passes_alone(test: str) -> bool:
    """Whether a printed test passes in a new process."""
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
        return False
    return done.returncode == _PASSES
