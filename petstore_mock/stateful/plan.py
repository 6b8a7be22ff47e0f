"""The directed scenarios of a run: those that take real time, and one for each environment."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from petstore_mock import faults as kinds
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.strategies.plans import PlannedFault
from petstore_mock.strategies.scenario import Act, Ask, Pick, Scenario, Step, Together
from petstore_mock.strategies.scenarios import (
    PLACES,
    QUICK_FAULTS,
    REDIRECTIONS,
    argument_schemas,
    pairs,
    plain_ask,
    planned,
    sample_changes,
    sample_values,
    two_pets,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from petstore_mock.faults import Fault
    from petstore_mock.interface.table import Operation

_SLOW: Final = (
    kinds.hang(),
    kinds.delay(0.05),
    kinds.dribble(10_000),
    kinds.rate_limited(1),
    kinds.respond(503, headers={"Retry-After": "1"}),
)
# Longer than any call may take, for clients that say how long that is.
_LONG: Final = (
    kinds.rate_limited(86_400),
    kinds.respond(503, headers={"Retry-After": "1000000000"}),
    kinds.rate_limited("2999-12-31"),
    kinds.rate_limited(10**12),  # more than a clock can hold
)
FLAWS: Final = (kinds.tls.wrong_host(), kinds.tls.expired(), kinds.tls.untrusted_root(), kinds.tls.handshake_hang())
_ROUNDS: Final = 4  # of calls, so that a key of the gap key_rotation is retired within them
_MORE_THAN_A_PAGE: Final = 25
_LIMITED: Final = 7  # calls, so that the fifth request is refused
_SEED: Final = Act("seed")  # a plausible animal
_EDGE_IDS: Final = (1_234_567, 2**53 + 1, -1)


def ask(operation: str) -> Ask:
    """Return the plainest call of an operation."""
    return plain_ask(OPERATIONS[operation])


def waits(
    operations: Iterable[str], faults: Collection[Fault] | None, vary: Collection[str], *, long: bool
) -> list[Scenario]:
    """Return a scenario for each fault that takes real time, operation and commit point; and for the rate limit.

    Args:
        operations: the operations of the client.
        faults: the faults to choose from; None for the machine's own.
        vary: the gaps that may differ.
        long: whether the client grants a ``Retry-After`` so many seconds at most.
    """
    rows = [OPERATIONS[name] for name in operations]
    own = (*_SLOW, *(_LONG if long else ()))
    chosen = own if faults is None else [fault for fault in faults if fault.takes_time or fault.tells_to_wait]
    found: list[Scenario] = []
    for fault, row in product(chosen, rows):
        ask = plain_ask(row)
        found += [Scenario(steps=(_SEED, ask, one, ask, ask)) for one in planned(fault, row)]
    clocks = (0, 1, -1) if long else (0,)
    limits = [name for name in GAPS["rate_limit"].alternatives if name != GAPS["rate_limit"].default]
    if "rate_limit" in vary:
        for limit, hours in product(limits, clocks):
            for row in rows:
                steps: tuple[Step, ...] = (_SEED, *[plain_ask(row)] * _LIMITED)
                found.append(Scenario(Behaviour().replace({"rate_limit": limit}), steps, hours_ahead=hours))
    return found


def surrounded(
    operations: Iterable[str], environments: Iterable[str | None], faults: Collection[Fault] | None
) -> Iterator[Scenario]:
    """Yield a scenario for each environment; None stands for the process as it is."""
    rows = [OPERATIONS[name] for name in operations]
    asks = [plain_ask(row) for row in rows]
    odd = [Ask(row.name, {row.path_parameter.name: value}) for row in rows if row.path_parameter for value in _EDGE_IDS]
    looks = [one for one in asks if not OPERATIONS[one.operation].commits]
    changed: list[Step] = []
    for change in sample_changes():
        changed += [Act("update", {"pet": Pick(), **change}), *looks]
    met: list[Step] = []
    for fault, ask in product(
        (kinds.rate_limited("2020-01-01"), kinds.rate_limited(0)) if faults is None else (), asks
    ):
        met += [PlannedFault(fault=fault, on=ask.operation), ask]
    for name in environments:
        limit = {"rate_limit": "retry_after_date"} if name == "time_zone" and faults is None else {}
        steps: tuple[Step, ...] = (Act("seed_many", {"count": 3}), *asks, *asks, *odd, *changed, *met)
        yield Scenario(Behaviour().replace(limit), steps, environment=name)


def faulty(operations: Iterable[str], faults: Collection[Fault] | None) -> Iterator[Scenario]:
    """Yield a scenario for each operation, in which it meets each fault that takes no time."""
    own = (*QUICK_FAULTS, *REDIRECTIONS)
    chosen = own if faults is None else [one for one in faults if not (one.takes_time or one.tells_to_wait)]
    for row in map(OPERATIONS.__getitem__, operations):
        steps: list[Step] = [_SEED]
        for fault in chosen:
            for one in planned(fault, row):
                steps += [one, plain_ask(row)]
        yield Scenario(steps=tuple(steps))


def valued(operations: Iterable[str]) -> Iterator[Scenario]:
    """Yield a scenario for each operation, in which each argument has each of its sample values."""
    for row in map(OPERATIONS.__getitem__, operations):
        plain = plain_ask(row)
        found = {name: schema for name, schema in argument_schemas(row).items() if name not in _in_path(row)}
        odd = [{**plain.arguments, name: value} for name, schema in found.items() for value in sample_values(schema)]
        yield Scenario(steps=tuple(Ask(row.name, arguments) for arguments in odd))


def _in_path(row: Operation) -> set[str]:
    return set() if row.path_parameter is None else {row.path_parameter.name}


def meeting(operations: Iterable[str]) -> Iterator[Scenario]:
    """Yield a scenario for each two calls that are made at once: the first is held before each of its lines in turn."""
    rows = [OPERATIONS[name] for name in operations]
    for first, second in pairs(rows):
        places = [(hold, then) for hold in range(1, PLACES) for then in (None, hold + 3)]
        together = [Together(first, second, *held) for held in places]
        yield Scenario(steps=(*two_pets(), *map(plain_ask, rows), *together))


def leaning(operations: Iterable[str], vary: Collection[str]) -> Iterator[Scenario]:
    """Yield a scenario for each alternative of a gap, so that each is shown at least once."""
    rows = [OPERATIONS[name] for name in operations]
    asks = [plain_ask(row) for row in rows]
    gone = [Ask(row.name, {row.path_parameter.name: Pick("vanished")}) for row in rows if row.path_parameter]
    steps: tuple[Step, ...] = (
        Act("seed_many", {"count": _MORE_THAN_A_PAGE}),
        *asks * _ROUNDS,
        Act("remove", {"pet": Pick()}),
        *gone,
    )
    for name in vary:
        for alternative in list(GAPS[name].alternatives)[1:] if name != "rate_limit" else ():
            yield Scenario(Behaviour().replace({name: alternative}), steps)


def flawed(operation: str) -> Iterator[Scenario]:
    """Yield a scenario for each flaw of a TLS handshake."""
    for flaw in FLAWS:
        yield Scenario(steps=(PlannedFault(fault=flaw, times=12), plain_ask(OPERATIONS[operation])))
