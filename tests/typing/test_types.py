"""mypy and pyright report misspelt gaps, operations and fields, and accept correct ones.

``right.py`` and ``wrong.py`` have at least one case for each kind of name. ``tests/unit/interface/test_gaps.py`` shows
that the static types have every gap and every field.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

RIGHT, WRONG = Path(__file__).parent / "right.py", Path(__file__).parent / "wrong.py"
# Each line of wrong.py with the codes that its error may have.
EXPECTED = {
    number: set(match[1].split(" or "))
    for number, line in enumerate(WRONG.read_text(encoding="utf-8").splitlines(), 1)
    if (match := re.search(r"# ([a-z]+-[a-z]+(?: or [a-z]+-[a-z]+)*): ", line))
}

# The codes of pyright, and those of mypy for the same errors.
PYRIGHT = {"reportCallIssue": "call-arg", "reportArgumentType": "arg-type"}


def check(found: list[tuple[str, int, str]], printed: object) -> None:
    """Compare each error, as file, line and code of mypy, with the comments of wrong.py."""
    assert [one for one in found if one[0] != WRONG.stem] == [], printed
    assert {line for _, line, _ in found} == EXPECTED.keys(), printed
    assert [one for one in found if one[2] not in EXPECTED[one[1]]] == [], printed


@pytest.mark.slow
def test_mypy_refuses_misspelt_names_and_accepts_correct_ones(tmp_path: Path) -> None:
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed: run 'make lint'")
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nstrict = true\n", encoding="utf-8")
    command: list[str | Path] = [sys.executable, "-m", "mypy", f"--config-file={settings}", f"--cache-dir={tmp_path}"]
    printed = subprocess.run([*command, RIGHT, WRONG], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"(\w+)\.py:(\d+): error: .*\[([a-z-]+)\]", printed)
    check([(file, int(line), code) for file, line, code in found], printed)


@pytest.mark.slow
def test_pyright_refuses_misspelt_names_and_accepts_correct_ones() -> None:
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed: run 'make lint'")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, str(RIGHT), str(WRONG)], capture_output=True, text=True, check=False)
    printed = json.loads(done.stdout)["generalDiagnostics"]
    errors = [one for one in printed if one["severity"] == "error"]
    places = [(Path(one["file"]).stem, one["range"]["start"]["line"] + 1, one["rule"]) for one in errors]
    check([(file, line, PYRIGHT.get(rule, rule)) for file, line, rule in places], printed)
