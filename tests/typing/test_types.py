"""Misspelt gaps, operations and fields are errors for mypy and pyright, and what is right is none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

SCHEMAS = Path(__file__).parents[2] / "schemas"
RIGHT, WRONG = Path(__file__).parent / "right.py", Path(__file__).parent / "wrong.py"
# Each line of wrong.py with the codes that its error may have.
EXPECTED = {
    number: set(match[1].split(" or "))
    for number, line in enumerate(WRONG.read_text(encoding="utf-8").splitlines(), 1)
    if (match := re.search(r"# ([a-z]+-[a-z]+(?: or [a-z]+-[a-z]+)*): ", line))
}

# pyright's words for what mypy calls so.
PYRIGHT = {"reportCallIssue": "call-arg", "reportArgumentType": "arg-type"}


def check(found: list[tuple[str, int, str]], said: object) -> None:
    """Hold each error, as file, line and code of mypy, against the comments of wrong.py."""
    assert [one for one in found if one[0] != WRONG.stem] == [], said
    assert {line for _, line, _ in found} == EXPECTED.keys(), said
    assert [one for one in found if one[2] not in EXPECTED[one[1]]] == [], said


def mypy(folder: Path, *files: Path) -> tuple[list[tuple[str, int, str]], str]:
    """Return the errors as file, line and code, and all that mypy printed."""
    if find_spec("mypy") is None:
        pytest.skip("mypy is not installed: 'make lint' does it")
    settings = folder / "mypy.ini"
    settings.write_text("[mypy]\nstrict = true\n", encoding="utf-8")
    command: list[str | Path] = [sys.executable, "-m", "mypy", f"--config-file={settings}", f"--cache-dir={folder}"]
    said = subprocess.run([*command, *files], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"(\w+)\.py:(\d+): error: .*\[([a-z-]+)\]", said)
    return [(file, int(line), code) for file, line, code in found], said


@pytest.mark.slow
def test_mypy_refuses_what_is_misspelt_and_accepts_what_is_right(tmp_path: Path) -> None:
    check(*mypy(tmp_path, RIGHT, WRONG))


def calls_of_all_names() -> Iterator[tuple[str, bool]]:
    """Yield a call for each gap with each alternative, and for each field; and whether it is right."""
    command = [sys.executable, "-m", "petstore_mock", "gaps", "--format=json"]
    for gap in json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["gaps"]:
        for alternative in gap["alternatives"]:
            yield f"petstore.configure({gap['name']}={alternative!r})", True
            yield f"Behaviour({gap['name']}={alternative!r})", True
        yield f"petstore.configure({gap['name']}='{gap['alternatives'][0]}_')", False
    pet, new_pet = (json.loads((SCHEMAS / f"{name}.json").read_bytes())["properties"] for name in ("Pet", "NewPet"))
    for name, schema in {**pet, **new_pet}.items():
        value = 5 if schema.get("type") == "integer" else "sold"
        yield f"petstore.seed({name}={value!r})", True
        yield f"petstore.update(1, {name}={value!r})", name != "id"
        yield f"petstore.seed({name}=b'')", False


@pytest.mark.slow
def test_each_gap_and_each_field_of_the_schema_is_a_keyword_with_its_values(tmp_path: Path) -> None:
    calls = list(calls_of_all_names())
    assert len(calls) > 100
    head = "from petstore_mock import Behaviour, PetStoreMock\npetstore = PetStoreMock()\n"
    source = tmp_path / "drawn.py"
    source.write_text(head + "\n".join(call for call, _ in calls), encoding="utf-8")
    found, said = mypy(tmp_path, source)
    assert {line for _, line, _ in found} == {line for line, (_, right) in enumerate(calls, 3) if not right}, said


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
    errors = [one for one in said if one["severity"] == "error"]
    places = [(Path(one["file"]).stem, one["range"]["start"]["line"] + 1, one["rule"]) for one in errors]
    check([(file, line, PYRIGHT.get(rule, rule)) for file, line, rule in places], said)
