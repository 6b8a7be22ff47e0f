"""Every way of starting Python imports the package of this checkout, not one that is installed or lies elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import petstore_mock

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "petstore_mock" / "__init__.py"
PROGRAM = "import petstore_mock; print(petstore_mock.__file__)"
SUITE = """
from pathlib import Path

import petstore_mock

def test_shows_its_package():
    Path(__file__).with_name("shown").write_text(petstore_mock.__file__)
"""
AT_EXIT = "import atexit, sys; atexit.register(lambda: print(sys.modules['petstore_mock'].__file__))"
PATIENCE = 60  # seconds


def last_line(*command: str | Path, cwd: Path) -> Path:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(done.stdout.splitlines()[-1])


def test_process_imports_the_package_of_this_checkout() -> None:
    assert Path(petstore_mock.__file__) == PACKAGE


def test_xdist_worker_imports_the_package_of_this_checkout(tmp_path: Path) -> None:
    suite = tmp_path / "test_shown.py"
    suite.write_text(SUITE)
    settings = ("-c", ROOT / "pyproject.toml", f"--rootdir={ROOT}", "-p", "no:cacheprovider")
    last_line(sys.executable, "-m", "pytest", "-n", "1", *settings, suite, cwd=ROOT)
    assert Path((tmp_path / "shown").read_text()) == PACKAGE


def test_child_in_the_root_imports_the_package_of_this_checkout() -> None:
    assert last_line(sys.executable, "-c", PROGRAM, cwd=ROOT) == PACKAGE


def test_child_elsewhere_imports_the_package_of_this_checkout(tmp_path: Path) -> None:
    assert last_line(sys.executable, "-c", PROGRAM, cwd=tmp_path) == PACKAGE


def test_inner_run_imports_the_package_of_this_checkout(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    assert Path((pytester.path / "shown").read_text()) == PACKAGE


def test_console_script_imports_the_package_of_this_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(AT_EXIT)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert last_line(Path(sys.executable).with_name("petstore-mock"), "--version", cwd=tmp_path) == PACKAGE
