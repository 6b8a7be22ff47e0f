"""Buggy clients in Python are found through their adapter too; correct ones have no bug there either."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Final, cast

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


COUNTS_THREADS: Final = """
import threading

class make_client:
    def __init__(self, petstore): ...
    def list_pets(self): return threading.active_count()
"""


def test_the_requests_of_a_client_share_a_thread(tmp_path: Path) -> None:
    (tmp_path / "counts_threads.py").write_text(COUNTS_THREADS, encoding="utf-8")
    command = [sys.executable, "-m", "petstore_mock.adapter", "counts_threads:make_client"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdin=pipe, stdout=pipe, text=True, bufsize=1) as adapter:
        to_adapter, replies = cast("IO[str]", adapter.stdin), cast("IO[str]", adapter.stdout)

        def ask(number: int, **request: object) -> int:
            to_adapter.write(f"{json.dumps({'id': number, 'client': 'a', **request})}\n")
            count: int = json.loads(replies.readline())["ok"]
            return count

        ask(1, do="open", url="http://127.0.0.1:9", api_key="key", timeout=1)
        counts = [ask(number, do="call", operation="listPets", arguments={}) for number in range(2, 9)]
        to_adapter.close()
    # A request may arrive while the thread of the client ends its work.
    assert max(counts) <= 3


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
