"""The suite under other interpreters and other versions of pytest: ``nox``, or ``nox -s suite-3.13``.

Interpreters that are not installed are skipped, and said to be. What the suite itself needs is pytest 9; its settings
are handed to an older one in a file of its own.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

import nox

nox.options.sessions = ["suite", "older_pytest"]
nox.options.error_on_missing_interpreters = False

ROOT: Final = Path(__file__).parent
PYTHONS: Final = ["3.11", "3.12", "3.13", "3.14"]
PYTESTS: Final = ["7.4", "8.0", "8.4"]  # 9 is what `suite` has
# The latest of each that takes the older pytest; others of the group do not care.
COMPANIONS: Final = {"7.4": ["pytest-asyncio==0.23.8"], "8.0": ["pytest-asyncio==0.23.8"], "8.4": []}
# What pytest 9 calls `strict`.
STRICT: Final = ("--strict-config", "--strict-markers")


@nox.session(python=PYTHONS)
def suite(session: nox.Session) -> None:
    """Run the whole suite, or what is named behind ``--``."""
    session.install("--editable", ".[hypothesis]", "--group", "test")
    session.run("python", "-m", "pytest", "-n", "2", "--dist", "worksteal", *session.posargs)


@nox.session(python=PYTHONS)
@nox.parametrize("pytest", PYTESTS, ids=PYTESTS)
def older_pytest(session: nox.Session, pytest: str) -> None:
    """Run the suite, or what is named behind ``--``, under a pytest that its users may have."""
    session.install("--editable", ".[hypothesis]", *_without_pytest(), f"pytest=={pytest}.*", *COMPANIONS[pytest])
    settings = Path(session.create_tmp()) / "suite.ini"  # pytest.ini would be every inner run's as well
    settings.write_text(_settings(), encoding="utf-8")
    command = ("python", "-m", "pytest", "-c", str(settings), f"--rootdir={ROOT}", *STRICT, "-n", "2")
    session.run(*command, *(session.posargs or [str(ROOT / "tests")]))


def _project() -> dict[str, dict[str, dict[str, list[str]]]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _without_pytest() -> list[str]:
    names = nox.project.dependency_groups(_project(), "test")
    return [name for name in names if not name.startswith(("pytest>", "pytest-asyncio"))] + ["pytest-asyncio"]


def _settings() -> str:
    """Return the settings of the suite as versions before 9 read them: what is relative is so to the file."""
    ours = _project()["tool"]["pytest"]
    values = {
        "addopts": " ".join(f'"{option}"' for option in ours["addopts"]),
        "pythonpath": str(ROOT),
        "markers": "".join(f"\n    {marker}" for marker in ours["markers"]),
        "asyncio_mode": ours["asyncio_mode"],
        "filterwarnings": "".join(f"\n    {one}" for one in ours["filterwarnings"]),
    }
    return "[pytest]\n" + "".join(f"{name} = {value}\n" for name, value in values.items())
