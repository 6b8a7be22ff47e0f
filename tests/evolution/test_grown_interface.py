"""Rows, schemas and executors are enough for new operations, fields and parameters: every room follows from them.

``additions.py`` has rows of every effect, kind of values and relation. A copy of the package gets them, as a developer
would add them. On this copy run ``looks.py``, with a test for each room, and the tests that follow from the rows
(``tests/unit/interface/test_every_row.py``).
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

import petstore_mock
from tests.evolution import additions
from tests.evolution.copies import ROOT, run_python
from tests.evolution.mutant_runs import wrong_mutants

PACKAGE: Final = Path(petstore_mock.__file__).parent
# The helpers of the derived tests, and these tests.
DERIVED: Final = ("tests/client.py", "tests/observer.py", "tests/unit/interface/test_every_row.py")


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the grown copy of the package."""
    folder = tmp_path_factory.mktemp("grown")
    grow(folder)
    return folder


@pytest.mark.seconds
def test_each_room_follows_from_the_table(grown: Path) -> None:
    shutil.copy(Path(__file__).with_name("looks.py"), grown)
    run_tests(grown, "looks.py")


@pytest.mark.slow
@pytest.mark.parametrize("room", ["machine", "verify"])
def test_room_knows_the_grown_table(grown: Path, room: str) -> None:
    file = f"looks_{room}.py"
    shutil.copy(Path(__file__).with_name(file), grown)
    run_tests(grown, file)


@pytest.mark.seconds
@pytest.mark.parametrize("step", [pytest.param(20, marks=pytest.mark.slow), 500])
def test_mutants_of_the_grown_table_break_only_their_clause(grown: Path, step: int) -> None:
    # Optional parameters that set a field: with and without a default, and in the header.
    names = ("rent-temper-default-ignored", "rent-born-lost", "weigh-weight-lost")
    assert wrong_mutants(grown, *names, first=3, step=step) == []


@pytest.mark.seconds
def test_rules_for_each_row_hold_for_the_grown_table(grown: Path) -> None:
    derive(grown)
    run_tests(grown, "--import-mode=importlib", DERIVED[-1])


def derive(folder: Path) -> None:
    """Give a copy the tests that follow from the rows."""
    for name in DERIVED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)


def run_tests(folder: Path, *arguments: str, counts: bool = True) -> None:
    options = ("-q", "--color=no", "-p", "no:cacheprovider", "-o", "pythonpath=.", f"--rootdir={folder}")
    run_python(folder, "-m", "pytest", *options, *arguments, counts=counts)


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        ("schemas/NewPet.json", '"format": "date"', '"format": "uuid"', "a type and a format that a row of"),
        ("schemas/NewPet.json", '"maxItems": 10', '"contains": {"type": "string"}', "got contains"),
        ("schemas/NewPet.json", '"items": {"type": "string"}, ', "", "the keywords items"),
        ("schemas/NewPet.json", '"exclusiveMinimum": 0', '"exclusiveMinimum": 0, "x": 1', "got x"),
        (
            "interface/table.py",
            '"POST",\n        path="/pets/{petId}/rest"',
            '"PUT",\n        path="/pets/{petId}/home"',
            "one row",
        ),
        ("schemas/NewPet.json", '"status": {', '"state": {', "expected /properties/status in schemas/NewPet.json"),
        ("interface/table.py", 'gap="invalid_birthday"', 'gap="invalid_day"', "invalid_birthday, invalid_day in one"),
        ("interface/table.py", 'gap="invalid_birthday",', "", "got invalid_birthday in one"),
        ("interface/table.py", 'null="null_additions"', 'null="null_things"', "got null_things in one"),
        ("core/pipeline.py", '    "groomPet": groom_pet,\n', "", "unmatched: groomPet"),
        ("interface/table.py", "samples=(4.5, 30, 0.25),", "", "expected samples in the row of weight"),
        (
            "interface/table.py",
            'effect="changes",\n        success=204',
            'effect="replaces",\n        success=204',
            "expected a body in the row of calmPet",
        ),
    ],
)
def test_row_that_contradicts_another_is_refused_at_import(
    grown: Path, tmp_path: Path, file: str, before: str, after: str, words: str
) -> None:
    copy = changed(grown, tmp_path, file, before, after)
    (copy / "start.py").write_text("from petstore_mock import PetStoreMock\n", encoding="utf-8")
    told = run_python(copy, "start.py", code=1)
    assert words in told


def changed(grown: Path, folder: Path, file: str, before: str, after: str) -> Path:
    """Return a copy of the grown copy in which the first ``before`` in a file is ``after``."""
    copy = folder / "copy"
    shutil.copytree(grown, copy, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    path = copy / (file if file.startswith("schemas") else f"petstore_mock/{file}")
    source = path.read_text(encoding="utf-8")
    assert before in source
    path.write_text(source.replace(before, after, 1), encoding="utf-8")
    return copy


# A mistake in a row, and a derived test that fails for it.
MISTAKES: Final = [
    ("table.py", 'field="born"', 'field="birthday"', "test_relation_of_a_parameter"),
    ("table.py", 'field="born"', 'field="isChipped"', "test_relation_of_a_parameter"),
    ("table.py", 'relation="contains"', 'relation="equals"', "test_relation_of_a_parameter"),
    ("table.py", 'relation="sets"', 'relation="equals"', "test_relation_of_a_parameter"),
    ("table.py", 'relation="after"', 'relation="before"', "test_sentence_of_a_filter_says_its_relation"),
    ("table.py", 'relation="after"', 'relation="equals"', "test_sentence_of_a_filter_says_its_relation"),
    (
        "core/pipeline.py",
        "call.route.arguments.items() if name in FIELDS}",
        '{"born": call.route.arguments.get("born", "2020-01-01")}.items()}',
        "test_optional_parameter_that_sets_a_field",
    ),
    (
        "core/pipeline.py",
        "call.route.arguments.items() if name in FIELDS}",
        'call.route.arguments.items() if name == "born"}',
        "test_success_has_the_effect",
    ),
    (
        "core/pipeline.py",
        "call.route.arguments.items() if name in FIELDS}",
        'call.route.arguments.items() if name in call.exchange.request.target or name == "born"}',
        "test_optional_parameter_that_sets_a_field",
    ),
    ("table.py", '("2021-06-15", "2019-12-31", "2020-02-29")', '("2021-06-31",)', "test_samples_of_a_member"),
    ("table.py", 'samples=("Too loud"', 'samples=("?"', "test_samples_of_a_member"),
    ("table.py", 'sets="motto"', 'sets="saying"', "test_sentence_of_a_member"),
    ("table.py", '                sets="motto",\n', "", "test_sentence_of_a_member"),
    (
        "core/pipeline.py",
        "given = call.operation.fields_in(",
        'given = {"born": call.body["until"]} | call.operation.fields_in(',
        "test_success_has_the_effect",
    ),
    ("core/pipeline.py", "fields_in(call.body or {}, ", "fields_in({}, ", "test_success_has_the_effect"),
    ("table.py", '                name="until",', '                name="till",', "test_row_of_an_operation"),
    ("table.py", 'gap="malformed_category",', "", "test_gap_decides_about_an_invalid_parameter"),
    ("table.py", 'gap="malformed_category",', 'gap="malformed_pet_id",', "test_gap_of_a_parameter"),
    ("table.py", 'null="null_additions",', "", "test_gap_decides_about_null"),
    ("schemas/Look.json", '"number"', '["number", "null"]', "test_null_is_no_value"),
]


@pytest.mark.seconds
@pytest.mark.parametrize(("file", "before", "after", "test"), MISTAKES)
def test_mistake_in_a_row_is_noticed(
    grown: Path, tmp_path: Path, file: str, before: str, after: str, test: str
) -> None:
    copy = changed(grown, tmp_path, file if "/" in file else f"interface/{file}", before, after)
    derive(copy)
    options = ("-q", "-x", "-p", "no:cacheprovider", "--import-mode=importlib", "-o", "pythonpath=.", "-k", test)
    told = run_python(copy, "-m", "pytest", *options, f"--rootdir={copy}", DERIVED[-1], code=1)
    assert "1 failed" in told


def grow(folder: Path) -> None:
    """Copy package and schemas into ``folder``, edit them like a developer, and run the generator."""
    shutil.copytree(PACKAGE, folder / "petstore_mock", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "schemas", folder / "schemas")
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "static_types.py", folder / "tools")

    table = folder / "petstore_mock" / "interface" / "table.py"
    insert(table, ")\n\n_OPERATIONS: Final = (", additions.FIELD_ROWS)
    insert(table, '        ),\n        response="Pets",\n        response_words="At most', additions.PARAMETER_ROWS)
    insert(table, ")\n\nFIELDS: Final", additions.OPERATION_ROWS)
    before = '    Gap(\n        "validate",\n        "unknown_query",'
    insert(folder / "petstore_mock" / "interface" / "gaps.py", before, additions.GAP_ROW)
    pipeline = folder / "petstore_mock" / "core" / "pipeline.py"
    insert(pipeline, "EXECUTORS: Final", additions.EXECUTORS)
    insert(pipeline, '    "getPet": get_pet,', additions.EXECUTOR_ROWS)
    replace(pipeline, "table import OPERATIONS", "table import FIELDS, OPERATIONS")
    write_schemas(folder / "schemas")
    run_python(folder, "-m", "tools.static_types")


def write_schemas(folder: Path) -> None:
    """Add the properties to the schemas, and write the schemas of the new operations."""
    for schema in ("NewPet", "Pet"):
        add_properties(folder / f"{schema}.json", additions.FIELDS)
    add_properties(folder / "listPets.parameters.json", additions.PARAMETERS)
    rules = read(folder / "NewPet.json")["properties"]
    for schema, names, required in (("Look", additions.LOOK, []), ("Arrival", additions.ARRIVAL, ["name"])):
        write_schema(folder, schema, names, required, rules)
    pet_id = read(folder / "getPet.parameters.json")["properties"]
    for operation in additions.OF_ONE_PET:
        write_schema(folder, f"{operation}.parameters", ["petId"], ["petId"], pet_id)
    for operation in additions.OF_A_CATEGORY:
        write_schema(folder, f"{operation}.parameters", ["categoryId"], ["categoryId"], rules)
    both = {"categoryId": rules["categoryId"], **pet_id}
    for operation in additions.OF_A_PET_AND_A_CATEGORY:
        write_schema(folder, f"{operation}.parameters", both, [*both], both)
    weighed = {**pet_id, "X-Weight": rules["weight"]}
    for operation in additions.OF_A_SCALE:
        write_schema(folder, f"{operation}.parameters", weighed, ["petId"], weighed)
    rented = {**pet_id, "temper": {**rules["temper"], "default": "lively"}, "born": rules["born"]}
    for operation in additions.OF_A_RENT:
        write_schema(folder, f"{operation}.parameters", rented, ["petId"], rented)
    write_schema(folder, "Weighing", ["chip"], ["chip"], rules)
    for operation in additions.OF_A_MOTTO:
        write_schema(folder, f"{operation}.parameters", ["motto"], ["motto"], rules)
    write_schema(folder, "Transfer", additions.TRANSFER, ["cause"], additions.TRANSFER)
    for operation in additions.WITHOUT_PARAMETERS:
        write_schema(folder, f"{operation}.parameters", [], [], {})


def write_schema(
    folder: Path, name: str, names: Iterable[str], required: list[str], rules: Mapping[str, object]
) -> None:
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "type": "object",
        "properties": {member: rules[member] for member in names},
        # OpenAPI 3.0 allows no empty list.
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }
    (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")


def read(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def add_properties(file: Path, rules: Mapping[str, Mapping[str, object]]) -> None:
    document = read(file)
    document["properties"].update(rules)
    file.write_text(json.dumps(document), encoding="utf-8")


def insert(file: Path, before: str, text: str) -> None:
    """Insert ``text`` in front of ``before``, which must occur once."""
    replace(file, before, text + before)


def replace(file: Path, before: str, text: str) -> None:
    source = file.read_text(encoding="utf-8")
    assert source.count(before) == 1, f"{file.name}: {before!r}"
    file.write_text(source.replace(before, text), encoding="utf-8")


# Names of rows, with other names for them: in the table, the gaps, the executors and the schemas.
RENAMED: Final = {
    r'"listPets': '"browseBeasts',
    r'"createPet': '"enrolBeast',
    r'"getPet': '"meetBeast',
    r"\blistPets\.parameters": "browseBeasts.parameters",
    r"\bcreatePet\.parameters": "enrolBeast.parameters",
    r"\bgetPet\.parameters": "meetBeast.parameters",
    r"\bNewPet\b": "Draft",
    r"\bPetStatus\b": "Availability",
    r"\bcategoryId\b": "kindId",
    r"\bpetId\b": "beastId",
    r'"status"(?=[,:]|\]| *: *\{)': '"state"',
    r'"name"(?=[,:]|\])': '"title"',
    r"(?<=/properties/)name\b": "title",
    r"(?<=/properties/)status\b": "state",
    r'"limit"(?=[,:]|\])': '"most"',
    r"\binvalid_limit\b": "wrong_most",
    r"\binvalid_status_filter\b": "wrong_state",
    r"\bnull_status\b": "state_null",
    r"\bstatus_when_omitted\b": "state_left_out",
    r"\bname_rule\b": "title_limits",
    r"\bcategory_rule\b": "kind_limits",
}
# Names that a condition has as well, and names of the error body (§2), stay.
UNTOUCHED: Final = ("Error.json",)


def rename(folder: Path) -> None:
    """Give the rows of a grown copy other names, where rows and executors stand."""
    package = folder / "petstore_mock"
    files = [package / "interface" / "table.py", package / "interface" / "gaps.py", package / "core" / "pipeline.py"]
    schemas = [file for file in (folder / "schemas").iterdir() if file.name not in UNTOUCHED]
    for file in [*files, *schemas]:
        text = file.read_text(encoding="utf-8")
        for pattern, name in RENAMED.items():
            text = re.sub(pattern, name, text)
        file.write_text(text, encoding="utf-8")
    for file in schemas:
        name = f'"{file.name}'
        for pattern, other in RENAMED.items():
            name = re.sub(pattern, other, name)
        file.rename(file.with_name(name[1:]))
    run_python(folder, "-m", "tools.static_types")


@pytest.mark.seconds
def test_rules_for_each_row_hold_if_every_row_has_another_name(grown: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(grown, copy, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    rename(copy)
    derive(copy)
    run_tests(copy, "--import-mode=importlib", DERIVED[-1], counts=False)
