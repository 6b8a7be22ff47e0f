"""The directed scenarios of a run: those that take real time, and those that show each thing once."""

from __future__ import annotations

from itertools import chain, product
from typing import TYPE_CHECKING, Final

from petstore_mock import faults as kinds
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.gaps import GAPS
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.strategies.plans import SLOW_FAULTS, PlannedFault, is_quick, planned
from petstore_mock.strategies.scenario import Act, Pick, Scenario, Together
from petstore_mock.strategies.scenarios import PLACES, Blocks, plain_ask, two_pets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from petstore_mock.faults import Fault
    from petstore_mock.strategies.scenarios import Block

# Longer than any call may take, for clients that say how long that is.
_LONG: Final = (
    kinds.rate_limited(86_400),
    kinds.respond(503, headers={"Retry-After": "1000000000"}),
    kinds.rate_limited("2999-12-31"),
    kinds.rate_limited(10**12),  # more than a clock can hold
)
_NO_WAITS: Final = (kinds.rate_limited("2020-01-01"), kinds.rate_limited(0))
_FLAWS: Final = (kinds.tls.wrong_host(), kinds.tls.expired(), kinds.tls.untrusted_root(), kinds.tls.handshake_hang())
_ROUNDS: Final = 4  # of calls, so that a key of the gap key_rotation is retired within them
_MORE_THAN_A_PAGE: Final = 25
_LIMITED: Final = 7  # calls, so that the fifth request is refused


def waits(blocks: Blocks, faults: Collection[Fault] | None, vary: Collection[str], *, long: bool) -> Iterator[Scenario]:
    """Yield a scenario for each fault that takes real time, operation and commit point; and for the rate limit.

    Args:
        blocks: those of the client.
        faults: the faults to choose from; None for the machine's own.
        vary: the gaps that may differ.
        long: whether the client grants a ``Retry-After`` so many seconds at most.
    """
    own = (*SLOW_FAULTS, *(_LONG if long else ()))
    chosen = own if faults is None else [fault for fault in faults if not is_quick(fault)]
    for fault in planned(chosen, blocks.rows):
        ask = plain_ask(OPERATIONS[fault.on])
        yield Scenario(steps=(Act("seed"), ask, fault, ask, ask))
    limits = list(GAPS["rate_limit"].alternatives)[1:] if "rate_limit" in vary else []
    for limit, hours, ask in product(limits, (0, 1, -1) if long else (0,), blocks.plain):
        yield Scenario(Behaviour().replace({"rate_limit": limit}), (Act("seed"), *[ask] * _LIMITED), hours_ahead=hours)


def surrounded(blocks: Blocks, environments: Iterable[str], faults: Collection[Fault] | None) -> Iterator[Scenario]:
    """Yield a scenario for each environment."""
    dated: list[Block] = [(fault, plain_ask(OPERATIONS[fault.on])) for fault in planned(_NO_WAITS, blocks.rows)]
    for name in environments:
        steps: Block = (Act("seed_many", {"count": 3}), *blocks.plain, *blocks.plain)
        if name == "time_zone" and faults is None:
            yield Scenario(Behaviour(rate_limit="retry_after_date"), (*steps, *chain(*dated)), environment=name)
        else:
            yield Scenario(steps=(*steps, *chain(*blocks.values())), environment=name)


def leaning(blocks: Blocks, vary: Collection[str]) -> Iterator[Scenario]:
    """Yield a scenario for each alternative of a gap, so that each is shown at least once."""
    many, remove = Act("seed_many", {"count": _MORE_THAN_A_PAGE}), Act("remove", {"pet": Pick()})
    for name in vary:
        for alternative in list(GAPS[name].alternatives)[1:] if name != "rate_limit" else ():
            steps: Block = (many, *blocks.plain * _ROUNDS, remove, *blocks.gone)
            yield Scenario(Behaviour().replace({name: alternative}), steps)


def meeting(blocks: Blocks) -> Iterator[Scenario]:
    """Yield a scenario for each two calls that are made at once: the first is held before each of its lines in turn."""
    places: Sequence[tuple[int, int | None]] = [(hold, then) for hold in range(1, PLACES) for then in (None, hold + 3)]
    for first, second in blocks.pairs():
        together = [Together(first, second, *held) for held in places]
        yield Scenario(steps=(*two_pets(), *blocks.plain, *together))


def flawed(blocks: Blocks) -> Iterator[Scenario]:
    """Yield a scenario for each flaw of a TLS handshake."""
    for flaw in _FLAWS:
        yield Scenario(steps=(PlannedFault(fault=flaw, times=12), blocks.plain[0]))
