"""The clauses, which are the testable statements of the interface, with the probes of a run and the checks.

How this works. ``rows`` has a row for each clause, by subject. This module collects the rows, puts their probes into
the order of sending, and checks an exchange against every clause that it can show.
"""

from __future__ import annotations

from itertools import chain
from json import dumps
from math import ceil
from typing import TYPE_CHECKING, Final

from petstore_mock.common.refusing import refuse
from petstore_mock.interface.schemas import properties
from petstore_mock.interface.table import FIELDS, LABEL
from petstore_mock.verify.evidence import GAP_PROBES
from petstore_mock.verify.probes import OPEN, Phase, Probe, request, sends
from petstore_mock.verify.row import CREATES, SHOWING, Clause, Result, sections, success_clause
from petstore_mock.verify.rows import animals, bodies, effects, fields, keys, lists, messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.interface.table import Operation
    from petstore_mock.transport.client import FailedError
    from petstore_mock.verify.seen import History, Seen


_SUBJECTS: Final = (messages, fields, lists, animals, effects, bodies, keys)


def _collected() -> dict[str, Clause]:
    rows: dict[str, Clause] = {}
    for row in sections(chain.from_iterable(subject.rows() for subject in _SUBJECTS)):
        if row.id in rows:
            refuse(f"expected one row for each clause; got two for {row.id}: {rows[row.id].words}, and {row.words}")
        rows[row.id] = row
    return rows


_BY_ID: Final = _collected()
CLAUSES: Final = tuple(_BY_ID.values())


def _in_order() -> Iterator[Probe]:
    own = chain.from_iterable(row.probes for row in CLAUSES if row.after is None)
    by_phase: dict[Phase, list[Probe]] = {phase: [] for phase in Phase}
    for probe in (*own, *GAP_PROBES, *_simplest()):
        by_phase[probe.phase].append(probe)
    by_phase[Phase.LISTS_AGAIN] = by_phase[Phase.LISTS]
    for probes in by_phase.values():
        yield from probes


def _simplest() -> Iterator[Probe]:
    """Yield the simplest create for a service that refuses every plain one."""
    for operation in CREATES:
        if operation.body is not None and LABEL in properties(operation.body):
            label = {LABEL: dumps(FIELDS[LABEL].samples[0])}
            yield sends(operation, label, phase=Phase.SIMPLEST_CREATE, expected=OPEN)


PROBES: Final = tuple(_in_order())


def read_backs(operation: Operation) -> list[list[Probe]]:
    """Return the requests that show what a success of an operation left, by clause. One of each tuple is enough."""
    return [row.probes for row in CLAUSES if row.after is operation]


# Their responses show whether the service still responds and accepts the key.
CONTROLS: Final = tuple(request(operation, "1", phase=Phase.LISTS) for operation in SHOWING)
# About as many requests as a run needs, with those that follow a create or repeat a request.
ENOUGH_REQUESTS: Final = 100 * ceil(1.5 * len(PROBES) / 100)


def checks(seen: Seen, history: History) -> Iterator[tuple[str, Result]]:
    """Yield the results of one exchange, each with the id of its clause."""
    if seen.failure is not None:
        yield from _of_failure(seen, seen.failure, history)
        return
    # A single failure may be an outage.
    if seen.has_failed and not history.fails_again(seen):
        return
    # The interface does not show how a service treats other media types.
    if seen.probe.media_type != "application/json" and seen.probe.has_key:
        return
    for row in CLAUSES:
        if row.is_shown_by(seen.probe):
            for result in row.check(seen, history):
                yield row.id, result


def _of_failure(seen: Seen, failure: FailedError, history: History) -> Iterator[tuple[str, Result]]:
    has_own_clause = bool(seen.probe.shows) and seen.probe.expected.status != 0
    if not has_own_clause and not history.fails_again(seen):
        return
    blamed = seen.probe.shows if has_own_clause else success_clause(seen.operation)
    yield "1-http" if failure.kind == "frame" else blamed, Result(holds=False, expected="a whole response")


def plan(allow_create: int, max_requests: int) -> Iterator[str]:
    """Yield a line for each of ``PROBES`` that a run may send. Placeholders stay: responses give their values."""
    allowed = [probe for probe in PROBES if allow_create or not probe.operation.commits]
    for probe in allowed[:max_requests]:
        key = f"Authorization: {probe.key}" if probe.key else ""
        yield "  ".join(part for part in (probe.line, key, probe.body) if part)
