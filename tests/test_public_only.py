"""The tests outside ``tests/unit`` use public names only, so that they hold for any implementation.

Ruff refuses private attributes (SLF001). This test finds imports, and names in strings, such as patch targets.
"""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import petstore_mock

TESTS: Final = Path(__file__).parent
# Not checked: the unit tests, the tests of the edited copy, and this file, which quotes refused names.
OTHERS: Final = (TESTS / "unit", TESTS / "evolution", Path(__file__))
MODULES: Final = {"checks", "faults", "stateful", "strategies", "verify"}
NAMES: Final[dict[str | None, set[str]]] = {
    # `python -m petstore_mock.adapter` is a program.
    None: MODULES | {*petstore_mock.__all__, "__version__", "__file__", "__path__", "__all__", "adapter"},
    **{name: {*importlib.import_module(f"petstore_mock.{name}").__all__} for name in MODULES},
}
DOTTED: Final = re.compile(r"\bpetstore_mock\.(\w+)(?:\.(\w+))?")
IMPORTED: Final = re.compile(r"\bfrom petstore_mock(?:\.(\w+))? import (?:\(([^)]*)\)|(.*))")
PRIVATE: Final = re.compile(r"\b(?:getattr|setattr|object)\([\w.]+, [\"']_[A-Za-z]")


def breaches(source: str) -> list[str]:
    """Return each use of a name that is not public."""
    found = PRIVATE.findall(source)
    for one in DOTTED.finditer(source):
        if one[1] not in NAMES[None] or (one[2] and one[1] in MODULES and one[2] not in NAMES[one[1]]):
            found.append(one[0])
    for one in IMPORTED.finditer(source):
        names = {name.split()[0] for name in re.split(r"[#\\]", one[2] or one[3])[0].split(",") if name.strip()}
        if not names <= NAMES.get(one[1], set()):
            found.append(one[0])
    return found


def test_files_use_public_names_only() -> None:
    files = [file for file in TESTS.rglob("*.py") if not {*OTHERS} & {file, *file.parents}]
    assert TESTS / "clients" / "correct.py" in files
    found = {str(file): refused for file in files if (refused := breaches(file.read_text(encoding="utf-8")))}
    assert found == {}, "use a public name, or move the test to tests/unit"


@pytest.mark.parametrize(
    ("source", "is_public"),
    [
        ("import petstore_mock.core.world", False),
        ("from petstore_mock import core", False),
        ("from petstore_mock import cli as command", False),
        ("from petstore_mock.errors import PetStoreMockError", False),
        ("from petstore_mock.faults import kinds", False),
        ("from petstore_mock.stateful.search import find_bug", False),
        ("patch('petstore_mock.journal.journal.Journal.add')", False),
        ("inner('''\nfrom petstore_mock import faults, core\n''')", False),
        ("f'petstore_mock.core.{name}'", False),
        ("monkeypatch.setattr(module, '_LIMIT', 3)", False),
        ("patch.object(server, '_accept')", False),
        ("from petstore_mock import PetStoreMock, connect, faults\nfrom x import y", True),
        ("from petstore_mock.faults import reset as reset_fault", True),
        ("petstore_mock.__version__, petstore_mock.PetStoreMock, petstore_mock.faults.reset()", True),
        ("getattr(petstore, 'api_key')", True),
    ],
)
def test_a_name_that_is_not_public_is_refused(source: str, is_public: bool) -> None:
    assert (breaches(source) == []) is is_public


def test_a_process_in_another_folder_imports_the_package_of_this_checkout(tmp_path: Path) -> None:
    program = "import petstore_mock; print(petstore_mock.__file__)"
    shown = subprocess.check_output([sys.executable, "-c", program], cwd=tmp_path, text=True)
    assert [Path(shown.strip())] == [Path(petstore_mock.__file__)] == [TESTS.parent / "petstore_mock" / "__init__.py"]
