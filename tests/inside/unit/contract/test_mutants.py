"""The register of mutants fits the clauses of ``verify``; that each is caught is held by ``tests/verify``."""

from __future__ import annotations

import re

from petstore_mock.contract.mutants import MUTANTS
from petstore_mock.verify.clauses import CLAUSES

# Bytes that are no HTTP are no matter of the pipeline, where mutants hook in: `faults` has them.
_WITHOUT_MUTANT = {"1-http"}


def test_there_are_at_least_sixty_mutants() -> None:
    assert len(MUTANTS) >= 60


def test_every_clause_has_a_mutant_unless_there_is_a_reason() -> None:
    ids = {clause.id for clause in CLAUSES}
    broken = {mutant.clause for mutant in MUTANTS.values()}
    assert broken == ids - _WITHOUT_MUTANT


def test_mutants_stand_in_the_order_of_the_clauses() -> None:
    order = [clause.id.partition("-")[0] for clause in CLAUSES]
    sections = [mutant.clause.partition("-")[0] for mutant in MUTANTS.values()]
    assert sections == sorted(sections, key=order.index)


def test_each_mutant_has_a_name_and_words_of_its_own() -> None:
    assert len({mutant.words for mutant in MUTANTS.values()}) == len(MUTANTS)
    for name, mutant in MUTANTS.items():
        assert mutant.name == name
        assert re.fullmatch(r"[a-z0-9-]+", name)
        assert mutant.operations
        assert (mutant.before is None) != (mutant.after is None)
