"""The complete pass: every single fault, and then pairs of faults within one call.

How this works: the directed scenarios play each single fault, and a run notes how many requests the client sent in that
call. A second fault can matter only if the client sent a second request. So a client that never sends again meets no
pairs. Faults of one operation and commit point after which the client sent the same number of requests count as one:
the first of them is played with each second fault.
"""

from __future__ import annotations

from petstore_mock.strategies.plans import planned  # needs Hypothesis
from petstore_mock.strategies.scenarios import END, met

# isort: split
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from petstore_mock import faults as kinds
from petstore_mock.checks.scenario import PlannedFault, Scenario
from petstore_mock.common.values import grouped
from petstore_mock.core.fault_plan import operations_of
from petstore_mock.stateful.directed import SEVERAL, quick_subjects, slow_faults
from petstore_mock.stateful.profile import Coverage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from petstore_mock.checks.scenario import Step
    from petstore_mock.faults import Fault
    from petstore_mock.stateful.run import Options
    from petstore_mock.strategies.scenarios import Blocks


def single_faults(blocks: Blocks, options: Options) -> list[PlannedFault]:
    """Return every plan of a single fault that a client should meet."""
    return planned([*_quick(options), *slow_faults(options)], blocks.rows)


def pairs(
    singles: Iterable[PlannedFault], requests: Mapping[PlannedFault, int], options: Options
) -> list[PlannedFault]:
    """Return the plans of two faults within one call, for a client that sent so many requests after a single one."""
    first: dict[tuple[str, str, int], PlannedFault] = {}
    for plan in singles:
        sent = requests.get(plan, 0)
        if sent > 1 and len(plan.fault.parts) == 1:
            first.setdefault((plan.on, plan.at, sent), plan)
    plans: list[PlannedFault] = []
    for plan in first.values():
        for second in _quick(options):
            is_met = plan.on in operations_of(second)
            if is_met and len(second.parts) == 1:
                plans.append(replace(plan, fault=kinds.sequence(plan.fault, second), times=None))
    return plans


def scenarios(plans: Iterable[PlannedFault]) -> Iterator[Scenario]:
    """Yield a scenario for each operation and commit point."""
    for group in grouped(((plan.on, plan.at), plan) for plan in plans).values():
        steps: list[Step] = [SEVERAL]
        for plan in group:
            steps += [*met(plan), END]
        yield Scenario(steps=tuple(steps))


def coverage(subject: str, plans: Sequence[PlannedFault], requests: Mapping[PlannedFault, int]) -> Coverage:
    return Coverage(subject, plans, [plan for plan in plans if plan not in requests])


def _quick(options: Options) -> list[Fault]:
    return list(chain.from_iterable(quick_subjects(options).values()))
