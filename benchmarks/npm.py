"""The peers from npm: installed once into ``.cache/bench``, in the exact versions of ``peers/package.json``."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from benchmarks.timing import ROOT

__all__ = ["missing", "package", "program", "version"]

_WANTED: Final = Path(__file__).parent / "peers" / "package.json"
_FOLDER: Final = ROOT / ".cache" / "bench"
_PATIENCE: Final = 300.0  # seconds; a minute is usual
_JAVA: Final = frozenset({"wiremock"})


def package(name: str) -> Path:
    """Return the folder of an installed package."""
    return _FOLDER / "node_modules" / name


def program(name: str, binary: str) -> list[str]:
    """Return the command of a package's program, without the shell that npm wraps around it."""
    manifest = json.loads((package(name) / "package.json").read_text())
    entry = manifest["bin"] if isinstance(manifest["bin"], str) else manifest["bin"][binary]
    return ["node", str(package(name) / entry)]


def version(name: str) -> str:
    """Return the installed version of a package."""
    found: str = json.loads((package(name) / "package.json").read_text())["version"]
    return found


def missing(name: str) -> str:
    """Return why a package can't run, or an empty text. The first call installs all packages."""
    runtime = "java" if name in _JAVA else "node"
    if shutil.which(runtime) is None:
        return f"{runtime} is not installed"
    problem = _install()
    return problem if not (package(name) / "package.json").exists() else ""


@cache
def _install() -> str:
    """Install the packages of ``package.json`` unless they are installed. Return the problem, or an empty text."""
    if shutil.which("npm") is None:
        return "npm is not installed"
    stamp = _FOLDER / "package.json"
    wanted = _WANTED.read_text()
    if stamp.exists() and stamp.read_text() == wanted and (_FOLDER / "node_modules").exists():
        return ""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    stamp.write_text(wanted)
    command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(  # npm, found on PATH
            command, cwd=_FOLDER, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        stamp.unlink()
        return f"npm install took more than {_PATIENCE:g} s"
    if done.returncode:
        stamp.unlink()
        return f"npm install failed with exit code {done.returncode}"
    return ""
