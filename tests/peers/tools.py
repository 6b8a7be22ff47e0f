"""Where ``make peers`` has put other people's programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["HERE", "NODE_MODULES", "PYTHON_BIN", "node_tool", "openapi_document", "python_tool", "run", "serving"]

HERE: Final = Path(__file__).parent
CACHE: Final = HERE.parents[1] / ".cache"
PYTHON_BIN: Final = CACHE / "peers" / "bin"
NODE_MODULES: Final = CACHE / "npm" / "node_modules"


def python_tool(name: str) -> str:
    """Return the path of a program from ``requirements.txt``."""
    return _existing(PYTHON_BIN / name)


def node_tool(name: str) -> str:
    """Return the path of a program from ``package.json``."""
    return _existing(NODE_MODULES / ".bin" / name)


def _existing(path: Path) -> str:
    if not path.exists():
        pytest.skip(f"{path.name} is not installed: 'make peers' does it")
    return str(path)


def run(*command: str, cwd: Path, environment: Mapping[str, str] | None = None, timeout: float = 240) -> str:
    """Run a program and return what it printed; fails with all of it when the program does."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
    )
    if done.returncode != 0:
        pytest.fail(f"{command[0]} exited with {done.returncode}:\n{done.stdout}")
    return done.stdout


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Run the stub in a process of its own; gives the address of its console."""
    command = [sys.executable, "-m", "petstore_mock", "serve", "--port", "0", "--log-format", "json", "--quiet"]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["control_url"]
        finally:
            process.terminate()


def openapi_document(folder: Path) -> Path:
    """Write our OpenAPI document, as the command prints it, into a folder; return its path."""
    path = folder / "openapi.json"
    path.write_text(run(sys.executable, "-m", "petstore_mock", "openapi", cwd=folder), encoding="utf-8")
    return path
