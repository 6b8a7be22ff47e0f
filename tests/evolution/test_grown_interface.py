"""Rows, schemas and one executor are enough for a new operation, field and parameter: every room follows from them.

``looks.py`` has the tests of the rooms. It runs on a copy of the package whose interface has three additions: the
operation retirePet, the optional field ``colours`` and the parameter ``colour``. The real interface is unlikely to take
these names.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import petstore_mock
from tests.programs import run

PACKAGE: Final = Path(petstore_mock.__file__).parent
ROOT: Final = PACKAGE.parent
PYTHON: Final = (sys.executable, "-m")
# The run on the copy must not get these variables: coverage would count its lines, and pytest would add our options.
OF_THIS_RUN: Final = ("COVERAGE_", "PYTEST_")

COLOURS: Final = {"description": "Colours", "type": "array", "items": {"type": "string"}, "maxItems": 10}
COLOUR: Final = {"description": "Returns only animals with this colour", "type": "string"}

FIELD: Final = """\
    Field(
        name="colours",
        samples=(["brown"], ["grey", "white"]),
        sentence=Sentence("2", "NewPet: colours, array of strings: the animal's colours"),
    ),
"""
PARAMETER: Final = """\
            Parameter(
                name="colour", relation="contains", field="colours", sentence=Sentence("4.1", "colour: string")
            ),
"""
OPERATION: Final = """\
    Operation(
        name="retirePet",
        method="PUT",
        path="/pets/{petId}",
        section="4.9",
        summary="Remove an animal",
        effect="removes",
        success=204,
        errors=(401, 404),
        parameters=(
            Parameter(
                name="petId",
                where="path",
                relation="identifies",
                gap="malformed_pet_id",
                sentence=Sentence("4.9", "petId: required, integer, int64"),
            ),
        ),
    ),
"""
EXECUTOR: Final = '''\
def retire_pet(call: Call) -> Response | Refusal:
    """Remove the animal."""
    store, pet_id = call.world.store, call.route.pet_id
    if store.get(pet_id) is None or store.hides(pet_id):
        return Refusal("absent_pet", detail=f"petId {pet_id}")
    if call.commit:
        store.remove(pet_id)
    return success(call)


'''


def test_each_room_follows_from_the_table(tmp_path: Path) -> None:
    grow(tmp_path)
    shutil.copy(Path(__file__).with_name("looks.py"), tmp_path)
    options = ("-q", "--color=no", "-p", "no:cacheprovider", f"--rootdir={tmp_path}")
    run(*PYTHON, "pytest", *options, "looks.py", cwd=tmp_path, without=OF_THIS_RUN)


def grow(folder: Path) -> None:
    """Copy package and schemas into ``folder``, edit them like a developer, and run the generator."""
    shutil.copytree(PACKAGE, folder / "petstore_mock", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "schemas", folder / "schemas")
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "static_types.py", folder / "tools")

    table = folder / "petstore_mock" / "interface" / "table.py"
    insert(table, ")\n\n_OPERATIONS: Final = (", FIELD)
    insert(table, '        ),\n        response="Pets",', PARAMETER)
    insert(table, ")\n\nFIELDS: Final", OPERATION)
    pipeline = folder / "petstore_mock" / "core" / "pipeline.py"
    insert(pipeline, "EXECUTORS: Final", EXECUTOR)
    insert(pipeline, '    "getPet": get_pet,', '    "retirePet": retire_pet,\n')

    add_property(folder, "NewPet", "colours", COLOURS)
    add_property(folder, "Pet", "colours", COLOURS)
    add_property(folder, "listPets.parameters", "colour", COLOUR)
    schemas = folder / "schemas"
    shutil.copy(schemas / "getPet.parameters.json", schemas / "retirePet.parameters.json")
    run(*PYTHON, "tools.static_types", cwd=folder, without=OF_THIS_RUN)


def insert(file: Path, before: str, text: str) -> None:
    """Insert ``text`` in front of ``before``, which must occur once."""
    source = file.read_text(encoding="utf-8")
    assert source.count(before) == 1, f"{file.name}: {before!r}"
    file.write_text(source.replace(before, text + before), encoding="utf-8")


def add_property(folder: Path, schema: str, name: str, rules: dict[str, Any]) -> None:
    file = folder / "schemas" / f"{schema}.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    document["properties"][name] = rules
    file.write_text(json.dumps(document), encoding="utf-8")
