"""Misspelt gaps, operations and fields are errors for mypy and pyright, and what is right is none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from petstore_mock import Behaviour
from petstore_mock.contract.behaviour import GapChoices
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.interface import PetChanges, PetFields
from petstore_mock.contract.schemas import default_schemas

HERE = Path(__file__).parents[2] / "typing"
RIGHT, WRONG = HERE / "right.py", HERE / "wrong.py"
EXPECTED = {
    (number, match[1])
    for number, line in enumerate(WRONG.read_text(encoding="utf-8").splitlines(), 1)
    if (match := re.search(r"# ([a-z]+-[a-z]+): ", line))
}

# pyright's words for what mypy calls so.
PYRIGHT = {"call-arg": "reportCallIssue", "arg-type": "reportArgumentType"}


def test_keywords_of_configure_are_the_gaps_with_their_alternatives() -> None:
    hints = get_type_hints(GapChoices)
    assert {name: get_args(hint) for name, hint in hints.items()} == {
        name: tuple(gap.alternatives) for name, gap in GAPS.items()
    }
    assert hints == get_type_hints(Behaviour)


def test_keywords_of_seed_and_update_are_the_fields_of_the_schema() -> None:
    fields = set(default_schemas().properties("Pet"))
    assert set(get_type_hints(PetFields)) == fields
    assert set(get_type_hints(PetChanges)) == fields - {"id"}


@pytest.mark.slow
def test_mypy_refuses_what_is_misspelt_and_accepts_what_is_right(tmp_path: Path) -> None:
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed: 'make lint' does it")
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nstrict = true\n", encoding="utf-8")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "mypy",
        f"--config-file={settings}",
        f"--cache-dir={tmp_path}",
        RIGHT,
        WRONG,
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.findall(r"(\w+)\.py:(\d+): error: .*\[([a-z-]+)\]", said)
    assert {(int(line), code) for file, line, code in found if file == "wrong"} == EXPECTED, said
    assert not [line for line in said.splitlines() if line.startswith(str(RIGHT))], said


@pytest.mark.slow
def test_pyright_refuses_what_is_misspelt_and_accepts_what_is_right() -> None:
    if find_spec("pyright") is None:
        pytest.skip("pyright is not installed: 'make lint' does it")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        RIGHT,
        WRONG,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)["generalDiagnostics"]
    found = {
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["rule"])
        for one in said
        if one["severity"] == "error"
    }
    assert found == {(WRONG.name, line, PYRIGHT[code]) for line, code in EXPECTED}, said
