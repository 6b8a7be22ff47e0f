"""Lay the checkout as it is after the switch into ``.cache/next``: ``make next`` tests it there.

The copy has neither ``petstore_mock/`` nor ``tests/inside/`` of the checkout. Everything under ``next/`` lies over it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

NOT_YET: Final = "not-yet.txt"
_ROOT: Final = Path(__file__).parents[1]
_TARGET: Final = _ROOT / ".cache" / "next"
_TOOLS: Final = "tools.toml"
_TOOLS_BEGIN: Final = "[tool.importlinter]"


def not_yet(text: str) -> dict[str, str]:
    """Return the reason of each file, folder or test that ``not-yet.txt`` lists."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = (part.strip() for part in line.partition("  # "))
        if not reason or name in found:
            raise ValueError(f"expected 'name  # reason' in {NOT_YET}, each name once; got {line!r}")
        found[name] = reason
    return found


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout  # noqa: S603


def _wanted() -> dict[str, Path]:
    """Return the source of each file of the copy, by its path there."""
    names = _git(_ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    sources = {name: _ROOT / name for name in names if name and (_ROOT / name).is_file()}
    left_out = ("petstore_mock/", "tests/inside/", "next/")
    wanted = {name: path for name, path in sources.items() if not name.startswith(left_out)}
    for name in not_yet((_ROOT / "next" / NOT_YET).read_text(encoding="utf-8")):
        if "::" in name:
            continue  # a test: conftest.py expects its failure
        hidden = [path for path in wanted if path == name or (name.endswith("/") and path.startswith(name))]
        if not hidden:
            raise ValueError(f"expected the files that {NOT_YET} lists; there is no {name}")
        for path in hidden:
            del wanted[path]
    return wanted | {name.removeprefix("next/"): path for name, path in sources.items() if name.startswith("next/")}


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)  # with its time: a newer pyproject.toml installs the packages again


def _replace_tools(tools: Path) -> None:
    """Put the settings of the new package in the place of the last part of ``pyproject.toml``."""
    project = _TARGET / "pyproject.toml"
    newest = max(project.stat().st_mtime, tools.stat().st_mtime)
    head = project.read_text(encoding="utf-8").partition(_TOOLS_BEGIN)[0]
    project.write_text(head + tools.read_text(encoding="utf-8"), encoding="utf-8")
    os.utime(project, (newest, newest))


def _remove_empty_packages() -> None:
    """Remove each folder that holds nothing but bytecode: Python would import it as a namespace package."""
    for cache in list((_TARGET / "petstore_mock").rglob("__pycache__")):
        if not any(cache.parent.glob("*.py")):
            shutil.rmtree(cache.parent, ignore_errors=True)


def main() -> None:
    """Make the copy anew; what ``.gitignore`` names stays, ``.venv`` and caches among it."""
    wanted = _wanted()
    # A repository of its own, so that "git clean" empties the copy and not the checkout.
    _git(_ROOT, "init", "--quiet", str(_TARGET))
    _copy(_ROOT / ".gitignore", _TARGET / ".gitignore")
    _git(_TARGET, "clean", "--force", "-d", "--quiet")
    for name, source in wanted.items():
        _copy(source, _TARGET / name)
    _remove_empty_packages()
    if _TOOLS in wanted:
        _replace_tools(wanted[_TOOLS])


if __name__ == "__main__":
    try:
        main()
    except ValueError as error:
        sys.exit(f"make next: {error}")
