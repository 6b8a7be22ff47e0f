"""The directed scenarios of a run: those that take real time, and those that show each thing once."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from petstore_mock import faults as kinds
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.gaps import GAPS
from petstore_mock.stateful.environments import is_there
from petstore_mock.strategies.plans import QUICK_FAULTS, SLOW_FAULTS, PlannedFault, is_quick
from petstore_mock.strategies.scenario import Act, Scenario, Together
from petstore_mock.strategies.scenarios import PLACES, Blocks, two_pets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from petstore_mock.stateful.run import Options
    from petstore_mock.strategies.scenario import Step
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
_SEVERAL: Final = Act("seed_many", {"count": 3})
_MANY: Final = Act("seed_many", {"count": 25})  # more than a page
_LIMITED: Final = 7  # calls, so that the fifth request is refused


def _flat(blocks: Iterable[Block]) -> list[Step]:
    return [step for block in blocks for step in block]


def known(blocks: Blocks, options: Options) -> Iterator[Scenario]:
    """Yield the scenarios with each argument, each animal, and each thing that happens behind the client's back."""
    values: list[Block] = [(ask,) for ask in blocks.plain] if options.arguments else [*blocks.values()]
    for kind in (values, blocks.seeds(), blocks.updates(), *blocks.others()):
        yield Scenario(steps=(_SEVERAL, *_flat(kind)))


def waits(blocks: Blocks, options: Options) -> Iterator[Scenario]:
    """Yield a scenario for each fault that takes real time, operation and commit point; and for the rate limit."""
    is_long = options.longest_wait is not None
    own = (*SLOW_FAULTS, *(_LONG if is_long else ()))
    chosen = own if options.faults is None else [fault for fault in options.faults if not is_quick(fault)]
    for fault, ask in blocks.meetings(chosen):
        yield Scenario(steps=(Act("seed"), ask, fault, ask, ask))
    limits = list(GAPS["rate_limit"].alternatives)[1:] if "rate_limit" in options.vary else []
    for limit, hours, ask in product(limits, (0, 1, -1) if is_long else (0,), blocks.plain):
        behaviour = Behaviour().replace({"rate_limit": limit})
        yield Scenario(behaviour, (Act("seed"), *[ask] * _LIMITED), hours_ahead=hours)


def shown_once(blocks: Blocks, options: Options) -> Iterator[Scenario]:
    """Yield scenarios for each environment, each quick fault, each alternative of a gap, and each two calls at once."""
    is_own = options.faults is None
    quick = QUICK_FAULTS if options.faults is None else [one for one in options.faults if is_quick(one)]
    numbers = [one for one in blocks.values() if not any(isinstance(value, str) for value in one[0].arguments.values())]
    steps: Block = (_SEVERAL, *blocks.plain, *blocks.plain)
    for name in options.environments:
        if is_there(name) and not (name == "ipv6" and options.tls):
            dated = name == "time_zone" and is_own
            limit = {"rate_limit": "retry_after_date"} if dated else {}
            met = blocks.meetings(_NO_WAITS) if dated else ()
            yield Scenario(Behaviour().replace(limit), (*steps, *_flat(numbers), *_flat(met)), environment=name)
    lost = _flat(blocks.meetings([kinds.reset()] if is_own else []))
    yield Scenario(steps=(_MANY, *_flat(blocks.meetings(quick)), *lost))  # the client is closed without a connection
    yield Scenario(steps=(_SEVERAL, *_flat(blocks.redirections() if is_own else ())))
    # A client that looks for a lost animal may not find it.
    steps = (*lost, _MANY, *blocks.plain * _ROUNDS, blocks.remove, *blocks.gone)
    for name in options.vary:
        for alternative in list(GAPS[name].alternatives)[1:] if name != "rate_limit" else ():
            yield Scenario(Behaviour().replace({name: alternative}), steps)
    # The first call is held before each of its lines in turn.
    places = [(hold, then) for hold in range(1, PLACES) for then in (None, hold + 3)]
    for first, second in blocks.pairs() if options.concurrent else ():
        yield Scenario(steps=(*two_pets(), *blocks.plain, *(Together(first, second, *held) for held in places)))


def flawed(blocks: Blocks) -> Iterator[Scenario]:
    """Yield a scenario for each flaw of a TLS handshake."""
    for flaw in _FLAWS:
        yield Scenario(steps=(PlannedFault(fault=flaw, times=12), blocks.plain[0]))
