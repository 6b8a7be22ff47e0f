"""The tables of ``verify`` match each other: clauses, mutants, probes and gaps."""

from __future__ import annotations

import pytest

from petstore_mock import PetStoreMock
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.mutants import MUTANTS
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.verify import verify
from petstore_mock.verify.clauses import CLAUSES
from petstore_mock.verify.probes import PROBES, READ_BACK
from tests.sentences import HELD, PASSAGES, UNSEEN, sentences


@pytest.mark.untraced
@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_breaks_its_clause_alone(name: str) -> None:
    with PetStoreMock(seed=30, mutant=name) as petstore:
        verdict = verify(petstore.url, api_key=petstore.api_key, allow_create=40, rate=1e6)
    assert [clause.id for clause in verdict.broken] == [MUTANTS[name].clause]
    assert verdict.exit_code == 1


def test_each_clause_has_a_unique_id_and_a_probe() -> None:
    ids = [clause.id for clause in CLAUSES]
    assert len({*ids}) == len(ids)
    probes = (*PROBES, *READ_BACK)
    assert [clause.id for clause in CLAUSES if not any(map(clause.is_shown_by, probes))] == []


def test_each_operation_has_the_section_of_its_sentence() -> None:
    named = {one.text.removeprefix("Operation name: "): one.section for one in PASSAGES if "Operation name" in one.text}
    assert named == {name: row.section for name, row in OPERATIONS.items()}


def test_sentences_of_the_interface_cover_all_clauses_and_gaps() -> None:
    assert {name for one in PASSAGES for name in one.clauses} == {clause.id for clause in CLAUSES}
    assert {name for one in PASSAGES for name in one.gaps} == {*GAPS}
    assert [one.text for one in PASSAGES if bool(one.clauses or one.gaps) is bool(one.why)] == []


@pytest.mark.parametrize("rows", [HELD, UNSEEN])
def test_each_row_names_one_sentence_of_the_interface(rows: dict[str, dict[str, str]]) -> None:
    for section, begins in rows.items():
        texts = [text for at, text in sentences() if at == section]
        assert {begin: sum(text.startswith(begin) for text in texts) for begin in begins} == dict.fromkeys(begins, 1)
