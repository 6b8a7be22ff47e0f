"""The suite under other interpreters and other versions of pytest: ``nox``, or ``nox -s suite-3.13``.

nox skips interpreters that are not installed, and reports them. The settings of the suite need pytest 9, so an
older pytest gets them in a temporary file.
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
PYTESTS: Final = ["7.4", "8.0", "8.4"]  # `suite` has 9
# The latest versions that support the older pytest. The other packages of the group support all versions.
COMPANIONS: Final = {"7.4": ["pytest-asyncio==0.23.8"], "8.0": ["pytest-asyncio==0.23.8"], "8.4": []}
# With the tests that `make test` leaves out because they take seconds.
TESTS: Final = "not peers and not slow and not soak"
# pytest 9 has the setting `strict` instead.
STRICT: Final = ("--strict-config", "--strict-markers")


@nox.session(python=PYTHONS)
def suite(session: nox.Session) -> None:
    """Run the whole suite, or the arguments after ``--``."""
    session.install("--editable", ".[hypothesis]", "--group", "test")
    session.run("python", "-m", "pytest", "-n", "2", "--dist", "worksteal", "-m", TESTS, *session.posargs)


@nox.session(python=PYTHONS)
@nox.parametrize("pytest", PYTESTS, ids=PYTESTS)
def older_pytest(session: nox.Session, pytest: str) -> None:
    """Run the suite, or the arguments after ``--``, with an older pytest that users may have."""
    session.install("--editable", ".[hypothesis]", *_without_pytest(), f"pytest=={pytest}.*", *COMPANIONS[pytest])
    settings = Path(session.create_tmp()) / "suite.ini"  # inner runs would read a pytest.ini too
    settings.write_text(_settings(), encoding="utf-8")
    command = ("python", "-m", "pytest", "-c", str(settings), f"--rootdir={ROOT}", *STRICT, "-n", "2")
    session.run(*command, *(session.posargs or [str(ROOT / "tests")]))


def _project() -> dict[str, dict[str, dict[str, list[str]]]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _without_pytest() -> list[str]:
    names = nox.project.dependency_groups(_project(), "test")
    return [name for name in names if not name.startswith(("pytest>", "pytest-asyncio"))] + ["pytest-asyncio"]


def _settings() -> str:
    """Return the settings of the suite in the form of versions before 9. Relative paths become absolute."""
    ours = _project()["tool"]["pytest"]
    values = {
        "addopts": " ".join(f'"{option}"' for option in ours["addopts"]),
        "pythonpath": str(ROOT),
        "markers": "".join(f"\n    {marker}" for marker in ours["markers"]),
        "asyncio_mode": ours["asyncio_mode"],
        "filterwarnings": "".join(f"\n    {one}" for one in ours["filterwarnings"]),
    }
    return "[pytest]\n" + "".join(f"{name} = {value}\n" for name, value in values.items())
