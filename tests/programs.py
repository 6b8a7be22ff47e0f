"""Runs programs to their end, and reads the gap register as ``petstore-mock gaps`` prints it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

PETSTORE_MOCK = (sys.executable, "-m", "petstore_mock")


def run(
    *command: str | Path,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    without: tuple[str, ...] = (),
    code: int = 0,
    timeout: float = 800,
) -> str:
    """Run a program, and return what it printed.

    Args:
        command: the program and its arguments.
        cwd: its folder.
        environment: variables to add to those of this process.
        without: the program gets no variables of this process with these prefixes.
        code: the expected exit code. Another code fails the test, with the output.
        timeout: in seconds.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(without)}
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**inherited, **(environment or {})},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
    )
    if done.returncode != code:
        pytest.fail(f"{command[0]} exited with {done.returncode}:\n{done.stdout}")
    return done.stdout


@cache
def register() -> Any:
    """Return the gaps and the presets."""
    return json.loads(run(*PETSTORE_MOCK, "gaps", "--format", "json"))


def alternatives() -> dict[str, list[str]]:
    """Return the alternatives of each gap, the default first."""
    return {gap["name"]: gap["alternatives"] for gap in register()["gaps"]}
