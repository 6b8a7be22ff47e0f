"""The clauses, which are the testable statements of the interface, with the probes of a run and the checks.

How this works. ``rows`` has a row for each clause, by subject. This module collects the rows, puts their probes into
the order of sending, and checks an exchange against every clause that it can show.
"""

from __future__ import annotations

from itertools import chain
from math import ceil
from typing import TYPE_CHECKING, Final

from petstore_mock.verify.evidence import GAP_PROBES
from petstore_mock.verify.probes import Phase, Probe, request
from petstore_mock.verify.row import SHOWING, Result, breach, sections, success_clause
from petstore_mock.verify.rows import animals, bodies, effects, failures, fields, keys, lists, messages
from petstore_mock.verify.rows.checks import failing_value, has_to_succeed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.interface.table import Operation
    from petstore_mock.transport.client import FailedError
    from petstore_mock.verify.row import Probes
    from petstore_mock.verify.seen import History, Seen


_SUBJECTS: Final = (messages, fields, lists, animals, effects, bodies, failures, keys)
CLAUSES: Final = sections(chain.from_iterable(subject.rows() for subject in _SUBJECTS))


def _in_order() -> Probes:
    own = chain.from_iterable(row.probes for row in CLAUSES if row.after is None)
    by_phase: dict[Phase, list[Probe]] = {phase: [] for phase in Phase}
    for probe in (*own, *GAP_PROBES):
        by_phase[probe.phase].append(probe)
    by_phase[Phase.LISTS_AGAIN] = [probe for probe in by_phase[Phase.LISTS] if probe.is_valid]
    yield from chain.from_iterable(by_phase.values())


PROBES: Final = tuple(_in_order())


def read_backs(operation: Operation) -> list[list[Probe]]:
    """Return the requests that show what a success of an operation left, by clause. One of each tuple is enough."""
    return [row.probes for row in CLAUSES if row.after is operation]


# Their responses show whether the service still responds and accepts the key.
CONTROLS: Final = tuple(request(operation, "1", phase=Phase.LISTS) for operation in SHOWING)
# About as many requests as a run needs, with those that follow a create or repeat a request.
ENOUGH_REQUESTS: Final = 100 * ceil(1.4 * len(PROBES) / 100)


def checks(seen: Seen, history: History) -> Iterator[tuple[str, Result]]:
    """Yield the results of one exchange, each with the id of its clause."""
    if seen.failure is not None:
        yield from _of_failure(seen, seen.failure, history)
        return
    if seen.status_anew:
        yield _of_connection(seen, history)
        return
    # A single failure may be an outage.
    if seen.has_failed and not history.fails_again(seen):
        return
    # The interface does not show how a service treats other media types.
    if seen.is_of_other_type and not seen.has_failed:
        return
    for row in CLAUSES:
        if row.is_shown_by(seen.probe):
            for result in row.check(seen, history):
                yield row.id, result


def _of_connection(seen: Seen, history: History) -> tuple[str, Result]:
    """Blame the request before on the connection: its body, or its key."""
    former = history.exchanges[max(seen.number - 2, 0)]
    clause = "1-http"
    words = "its body is no part of this one"
    if seen.is_success:
        clause = seen.probe.shows
        words = "its key does not count for this one"
    return clause, breach(f"{seen.status_anew}, as on a new connection; the request before was {former.line}: {words}")


def _of_failure(seen: Seen, failure: FailedError, history: History) -> Iterator[tuple[str, Result]]:
    blamed = success_clause(seen.operation)
    if seen.probe.shows and not has_to_succeed(seen):
        blamed = seen.probe.shows
    if not seen.probe.expected.status and not history.fails_again(seen):
        return
    blamed = failing_value(seen, history) or blamed
    if failure.kind == "frame":
        blamed = "1-http"
    yield blamed, breach("a whole response", f"{seen.operation.name}: {failure.kind}")


def plan(allow_create: int, max_requests: int) -> Iterator[str]:
    """Yield a line for each of ``PROBES`` that a run may send. Placeholders stay: responses give their values."""
    allowed = [probe for probe in PROBES if allow_create or not probe.operation.commits]
    for probe in allowed[:max_requests]:
        key = f"Authorization: {probe.key}" if probe.key else ""
        yield "  ".join(filter(None, (probe.line, key, probe.body)))
