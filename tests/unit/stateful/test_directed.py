"""The directed scenarios against the tables: each row meets every client in every run."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from petstore_mock.checks.check import Call
from petstore_mock.checks.scenario import Act, PlannedFault, Scenario
from petstore_mock.faults import respond
from petstore_mock.faults.kinds import REQUEST_KINDS
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.schemas import arguments
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.stateful.directed import FAMILIES
from petstore_mock.stateful.run import Options
from petstore_mock.strategies.plans import planned
from petstore_mock.strategies.scenarios import Blocks
from petstore_mock.strategies.sent import DIRECTED, QUICK, SLOW, UNUSUAL
from petstore_mock.strategies.values import samples


def played(*names: str, **options: Any) -> list[Scenario]:
    """Return the scenarios of some families; of all by default."""
    chosen = Options(lambda _: None, **options)
    families = [family for family in FAMILIES if not names or family.name in names]
    return list(chain.from_iterable(family.scenarios(Blocks(None), chosen) for family in families))


def steps(*names: str, **options: Any) -> list[Any]:
    return [step for scenario in played(*names, **options) for step in scenario.steps]


def test_each_kind_of_fault_is_sent_or_known_as_unusual() -> None:
    every = chain(chain.from_iterable(QUICK.values()), chain.from_iterable(SLOW.values()), UNUSUAL)
    assert {part.kind for fault in every for part in fault.parts} == {*REQUEST_KINDS}


def test_each_fault_meets_each_operation_at_each_commit_point() -> None:
    redirection = respond(307, headers={"Location": "{petstore}{own}#top"})
    sent = [*chain.from_iterable((*DIRECTED.values(), *SLOW.values())), redirection]
    met = {step for step in steps("faults", "waits") if isinstance(step, PlannedFault)}
    assert met == {*planned(sent, OPERATIONS.values())}


@pytest.mark.parametrize("row", OPERATIONS.values(), ids=lambda row: row.name)
def test_each_error_that_the_interface_declares_is_sent_once_and_for_as_long_as_the_client_asks(row: Any) -> None:
    errors = {status for status in row.statuses if status >= 400}
    for family, times in (("faults", 1), ("outages", None)):
        plans = [step for step in steps(family) if isinstance(step, PlannedFault)]
        assert errors <= {plan.fault.status for plan in plans if (plan.on, plan.times) == (row.name, times)}


def test_each_alternative_of_each_gap_is_played() -> None:
    every = {(name, other) for name, gap in GAPS.items() for other in [*gap.alternatives][1:]}
    shown = chain.from_iterable(scenario.behaviour.differences().items() for scenario in played("gaps", "waits"))
    assert {*shown} == every


def test_each_sample_value_of_each_argument_is_passed() -> None:
    passed: dict[tuple[str, str], list[Any]] = {}
    for step in steps("arguments"):
        for name, value in step.arguments.items() if isinstance(step, Call) else ():
            passed.setdefault((step.operation, name), []).append(value)
    for row in OPERATIONS.values():
        for name, rules in arguments(row).items():
            assert [value for value in samples(rules) if value not in passed[row.name, name]] == []


def test_each_operation_is_called_after_each_act_of_another_actor() -> None:
    followed: dict[str, set[str]] = {}
    for scenario in played("other actors"):
        act = ""
        for step in scenario.steps:
            if isinstance(step, Act):
                act = step.kind
            elif isinstance(step, Call):
                followed.setdefault(act, set()).add(step.operation)
    for act in ("switch", "close_connections", "revoke_key", "seed", "remove"):
        is_of_animals = act in {"seed", "remove"}
        asked = {row.name for row in OPERATIONS.values() if not (is_of_animals and row.commits)}
        assert followed[act] >= asked, act


def test_your_faults_replace_those_of_the_machine() -> None:
    plans = [step for step in steps(faults=[503]) if isinstance(step, PlannedFault)]
    assert {plan.fault.status for plan in plans} == {503}
