"""Buggy clients in Python are found through their adapter too; correct ones have no bug there either."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.adapter.conftest import Check
from tests.stateful.corpora import CASES

ROOT: Final = Path(__file__).parents[2]
MODULE: Final = """
import os
from tests.clients.correct import make_correct
from tests.stateful.corpora import CASES

name = os.environ["PETSTORE_CLIENT"]
make_client = CASES[name].make if name in CASES else make_correct(name)
"""
# One client for each kind of check. The checks of the process itself see nothing here.
FOUND: Final = (
    *("LimitZeroForNone", "KeyOnlyForWriting", "NameUnescaped", "StatusTakenForGranted", "NothingForMissing"),
    *("CreatesAgainWhenUnreadable", "RetryAfterOn429Only", "MissingRemembered", "HostWithoutPort"),
)
CORRECT: Final = ("http.client", "requests", "httpx")


@pytest.fixture
def python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the command of the adapter for clients in Python."""
    (tmp_path / "client_of_a_test.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    return [sys.executable, "-m", "petstore_mock.adapter", "client_of_a_test:make_client"]


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("name", FOUND)
def test_a_buggy_client_is_found_in_a_process_of_its_own(
    check: Check, python: list[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert name in CASES
    monkeypatch.setenv("PETSTORE_CLIENT", name)
    code, out, error = check(python, "--first", "--examples", "20", "--seed", "1", "--patience", "4")
    assert (code, error) == (1, ""), out


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_client_has_no_bug_in_a_process_of_its_own(
    check: Check, python: list[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("PETSTORE_CLIENT", name)
    code, out, error = check(python, "--examples", "20", "--seed", "1", "--patience", "4")
    assert (code, error) == (0, ""), out
