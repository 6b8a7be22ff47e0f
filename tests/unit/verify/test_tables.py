"""The tables of ``verify`` match each other: clauses, mutants, probes and gaps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from petstore_mock import PetStoreMock
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.schemas import parameters, properties, schema
from petstore_mock.interface.table import ANIMAL, ERROR, FIELDS, OPERATIONS
from petstore_mock.verify import verify
from petstore_mock.verify.clauses import CLAUSES, PROBES, read_backs
from petstore_mock.verify.mutants import MUTANTS
from tests.sentences import HELD, PASSAGES, UNSEEN, sentences

# One mutant of four breaks its clause within a run of the quick tests; the others do so in the checks of CI.
SAMPLED = [pytest.param(name, marks=pytest.mark.seconds if index % 4 else ()) for index, name in enumerate(MUTANTS)]


@pytest.mark.parametrize("name", SAMPLED)
def test_each_mutant_breaks_only_its_clause(name: str) -> None:
    with PetStoreMock(seed=30, mutant=name) as petstore:
        verdict = verify(petstore.url, api_key=petstore.api_key, allow_create=40, rate=1e6)
    assert [clause.id for clause in verdict.broken] == [MUTANTS[name].clause]
    assert verdict.exit_code == 1


def test_each_clause_has_a_unique_id_and_a_probe() -> None:
    ids = [clause.id for clause in CLAUSES]
    assert len({*ids}) == len(ids)
    after = [probe for row in OPERATIONS.values() for probes in read_backs(row) for probe in probes]
    probes = (*PROBES, *after)
    assert [clause.id for clause in CLAUSES if not any(map(clause.is_shown_by, probes))] == []


def test_each_operation_has_the_section_of_its_sentence() -> None:
    named = {one.text.removeprefix("Operation name: "): one.section for one in PASSAGES if "Operation name" in one.text}
    assert named == {name: row.section for name, row in OPERATIONS.items()}


def test_operations_on_the_page_have_the_path_the_parameters_and_the_statuses_of_their_rows() -> None:
    for row in OPERATIONS.values():
        texts = [text for section, text in sentences() if section == row.section]
        assert f"Method and path: {row.method} {row.path}" in texts
        assert {int(text[:3]) for text in texts if re.match(r"\d{3}: ", text)} == row.statuses
        parameters = [cells for text in texts if len(cells := text.split("; ")) > 2]
        in_table = [cells[0] for cells in parameters]
        assert in_table == [one.name for one in row.parameters if one.name in in_table]
        for cells in parameters:
            default = schema(row.parameters_schema)["properties"][cells[0]].get("default", "none")
            assert cells[3] == str(default), f"the default of {cells[0]}"
        for one in row.parameters:
            lines = [text for text in texts if text.startswith(f"{one.where.capitalize()} parameter")]
            assert one.name in in_table or any(one.name in line for line in lines), one.place
    rows = [text.split("; ") for section, text in sentences() if section == "7" and re.match(r"\d{3}; ", text)]
    named = {int(status): names.split(", ") for status, names, _ in rows}
    assert named == {status: [row.name for row in OPERATIONS.values() if status in row.errors] for status in named}


def test_fields_on_the_page_are_required_as_in_the_schemas() -> None:
    rows = [text.split("; ") for section, text in sentences() if section == "2"]
    on_the_page = {cells[0]: cells[3] == "yes" for cells in rows if len(cells) == 5}
    assert on_the_page == {name: name in schema("Pet")["required"] for name in FIELDS}


def numbers_in(text: str) -> set[float]:
    """Return the numbers of a text, except those of words such as int64."""
    return {float(number) for number in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text)}


def numbers_of(rules: Mapping[str, Any]) -> set[float]:
    """Return the bounds of a schema and its default. The bounds of int64 have a name, so no text repeats them."""
    names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "default")
    numbers = {float(rules[name]) for name in names if isinstance(rules.get(name), (int, float))}
    return {number for number in numbers if abs(number) < 2**62}


def test_numbers_on_the_page_and_in_the_sentences_are_the_bounds_of_the_schemas() -> None:
    """The rows of the page's tables begin with a name. A parameter in a path has a line of its own."""
    described = [("2", name, properties(ANIMAL)[name], row.sentence.text) for name, row in FIELDS.items()]
    for row in OPERATIONS.values():
        of_row = parameters(row)
        described += [(row.section, one.name, of_row[one.name], one.sentence.text) for one in row.parameters]
    for section, name, rules, sentence in described:
        on_the_page = [
            text
            for at, text in sentences()
            if at == section and (text.startswith(f"{name}; ") or f"parameter: {name}, " in text)
        ]
        assert on_the_page, name
        for text in (sentence, *on_the_page):
            assert numbers_in(text) == numbers_of(rules), text


def test_members_of_bodies_on_the_page_are_required_as_in_the_schemas() -> None:
    """A table about another schema than an animal's has four columns: name, type, required, and meaning."""
    rows = [text.split("; ") for section, text in sentences() if section == "2"]
    on_the_page = {cells[0]: cells[2] == "yes" for cells in rows if len(cells) == 4}
    others = [ERROR, *(row.body for row in OPERATIONS.values() if row.body not in {None, "NewPet"})]
    wanted: dict[str, bool] = {}
    for other in others:
        rules = schema(str(other))
        wanted |= {name: name in rules.get("required", ()) for name in rules["properties"]}
    assert on_the_page == wanted


def test_sentences_of_the_interface_cover_all_clauses_and_gaps() -> None:
    assert {name for one in PASSAGES for name in one.clauses} == {clause.id for clause in CLAUSES}
    assert {name for one in PASSAGES for name in one.gaps} == {*GAPS}
    assert [one.text for one in PASSAGES if bool(one.clauses or one.gaps) is bool(one.why)] == []


@pytest.mark.parametrize("rows", [HELD, UNSEEN])
def test_each_row_names_one_sentence_of_the_interface(rows: dict[str, dict[str, str]]) -> None:
    for section, begins in rows.items():
        texts = [text for at, text in sentences() if at == section]
        assert {begin: sum(text.startswith(begin) for text in texts) for begin in begins} == dict.fromkeys(begins, 1)
