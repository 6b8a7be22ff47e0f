"""``verify`` on a grown interface: clauses, probes and mutants for each new operation, field and parameter."""

from __future__ import annotations

from typing import Any

import pytest

from petstore_mock import PetStoreMock
from petstore_mock.interface.bodies import short
from petstore_mock.interface.kinds import wrong_parameters
from petstore_mock.interface.schemas import parameters, required_arguments
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.verify import Verdict, verify
from petstore_mock.verify.clauses import CLAUSES
from petstore_mock.verify.mutants import MUTANTS

IDS = [clause.id for clause in CLAUSES]


def verdict_of(behaviour: Any) -> Verdict:
    with PetStoreMock(seed=22, behaviour=behaviour) as petstore:
        return verify(
            petstore.url, api_key=petstore.api_key, allow_create=120, rate=1e6, max_requests=1000, deadline=100
        )


@pytest.mark.parametrize("null", ["reject", "as_omitted"])
def test_the_fake_keeps_every_clause_of_the_grown_interface(null: str) -> None:
    verdict = verdict_of({"null_additions": null})
    unseen = {clause.id: clause for clause in verdict.clauses if clause.result != "holds"}
    # With the animals that this run creates, a page is full, so a list need not show each of them.
    assert {name: clause.result for name, clause in unseen.items()} in ({}, {"4.96-listed": "not_observable"}), unseen


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda row: row.name)
def test_each_operation_has_clauses_and_mutants(operation: Any) -> None:
    own = [name for name in IDS if name.startswith(f"{operation.section}-")]
    assert len(own) >= 2, own
    assert any(operation.name in mutant.operations for mutant in MUTANTS.values())
    wanted = {f"{operation.section}-{operation.verb}", f"{operation.section}-created"}
    assert wanted & {*IDS}
    if operation.identifier is not None:
        assert f"{operation.section}-absent" in IDS
    for parameter in operation.setting:
        assert any(name.startswith(f"{operation.section}-") and name.endswith("-set") for name in IDS), parameter
        assert f"{operation.section}-refused-not-kept" in IDS
        rules = parameters(operation)[parameter.name]
        start = f"{operation.section}-{short(parameter.name)}"
        if parameter.where != "path" and not parameter.gap:
            assert {f"{start}-{end}" for end in wrong_parameters(rules)} <= {*IDS}
        if parameter.name not in required_arguments(operation):
            end = "default-ignored" if "default" in rules else "lost"
            assert any(operation.name in one.operations and name.endswith(end) for name, one in MUTANTS.items())
    if operation.does.keeps and operation.body is not None:
        assert f"{operation.section}-kept" in IDS
        assert any(name.startswith(operation.section) and name.endswith("-type") for name in IDS)
    if operation.does.replaces:
        assert f"{operation.section}-replaced" in IDS
    if operation.does.ends:
        assert f"{operation.section}-gone" in IDS
    for parameter in operation.filters:
        if operation.shows_many:
            assert any(name.startswith(operation.section) and name.endswith("-filter") for name in IDS), parameter
