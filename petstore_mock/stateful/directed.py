"""The directed scenarios: every client meets each of them in every run, before anything is drawn."""

from __future__ import annotations

from petstore_mock.strategies.scenarios import PLACES, TWO_PETS, Blocks  # needs Hypothesis

# isort: split
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

from petstore_mock import faults as kinds
from petstore_mock.checks.check import Call
from petstore_mock.checks.scenario import Act, Scenario, Together
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.gaps import GAPS
from petstore_mock.stateful.environments import is_there
from petstore_mock.strategies.plans import ERRORS, QUICK_FAULTS, SLOW_FAULTS, is_quick

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from petstore_mock.checks.scenario import Step
    from petstore_mock.faults import Fault
    from petstore_mock.stateful.run import Options
    from petstore_mock.strategies.scenarios import Block

# Waits that are longer than a usual longest_wait=. The last one is beyond the last date of most clocks.
_LONG: Final = (
    kinds.rate_limited(86_400),
    kinds.respond(503, headers={"Retry-After": "1000000000"}),
    kinds.rate_limited("2999-12-31"),
    kinds.rate_limited(10**12),
)
_NO_WAITS: Final = (kinds.rate_limited("2020-01-01"), kinds.rate_limited(0))
_REFUSALS: Final = (kinds.bad_request(), kinds.unauthorized(), kinds.not_found(), kinds.server_error(503))
FLAWS: Final = (kinds.tls.wrong_host(), kinds.tls.expired(), kinds.tls.untrusted_root(), kinds.tls.handshake_hang())
_ROUNDS: Final = 4  # of calls: enough to retire a key with the gap key_rotation
SEVERAL: Final = Act("seed_many", {"count": 3})
_MANY: Final = Act("seed_many", {"count": 25})  # more than a page
_LIMITED: Final = 7  # calls: more than the rate limit allows
_RATE_LIMIT: Final = next(name for name, gap in GAPS.items() if gap.makes_wait)


def known(blocks: Blocks, options: Options) -> Iterator[Scenario]:
    """Yield the scenarios with each sample argument, and with each act of another actor."""
    for kind in (blocks.values(options.strategies), *blocks.others()):
        yield Scenario(steps=(SEVERAL, *_flat(kind)))


def waits(blocks: Blocks, options: Options) -> Iterator[Scenario]:
    """Yield a scenario for each slow fault, operation and commit point, and for each alternative of the rate limit."""
    for fault, ask in blocks.meetings(_slow_faults(options)):
        yield Scenario(steps=(Act("seed"), ask, fault, ask, ask))
    if _RATE_LIMIT not in options.gaps:
        return
    clocks: list[Block] = [()]
    if options.longest_wait is not None:
        clocks += [(Act("clock.advance", {"hours": hours}),) for hours in (1, -1)]
    for limit, clock, ask in product(_others(_RATE_LIMIT), clocks, blocks.plain):
        behaviour = Behaviour().replace({_RATE_LIMIT: limit})
        yield Scenario(behaviour, (*clock, Act("seed"), *[ask] * _LIMITED))


def _slow_faults(options: Options) -> Iterable[Fault]:
    if options.chosen_faults is not None:
        return [fault for fault in options.chosen_faults if not is_quick(fault)]
    return (*SLOW_FAULTS, *_LONG) if options.longest_wait is not None else SLOW_FAULTS


def shown_once(blocks: Blocks, options: Options) -> Iterator[Scenario]:
    """Yield the scenarios with environments, redirections, gaps, and two calls at once."""
    yield from _in_environments(blocks, options)
    is_own = options.chosen_faults is None
    lost = _lost(blocks, options)
    yield Scenario(steps=(SEVERAL, *_flat(blocks.redirections() if is_own else ())))
    # After a lost response, a client may look for the animal. With some alternatives, it does not find the animal.
    steps = (*lost, _MANY, *blocks.plain * _ROUNDS, *blocks.removal)
    for name in options.gaps:
        if name != _RATE_LIMIT:
            for alternative in _others(name):
                yield Scenario(Behaviour().replace({name: alternative}), steps)
    if options.concurrent:
        yield from _at_once(blocks)


def quick_faults(blocks: Blocks, options: Options) -> Scenario:
    """Return the scenario with each quick fault. The lost responses are last, so close() meets a lost connection."""
    meetings = blocks.meetings(_quick_faults(options))
    return Scenario(steps=(_MANY, *_flat(meetings), *_refused(blocks, options), *_lost(blocks, options)))


def _refused(blocks: Blocks, options: Options) -> list[Step]:
    """Return the steps in which each request of a call is refused, however often the client sends it."""
    steps: list[Step] = []
    if options.chosen_faults is None:
        for fault, ask in blocks.meetings(_REFUSALS):
            steps += [replace(fault, times=None), ask, Act("cancel_faults")]
    return steps


def _lost(blocks: Blocks, options: Options) -> list[Step]:
    return _flat(blocks.meetings([kinds.reset()])) if options.chosen_faults is None else []


def _in_environments(blocks: Blocks, options: Options) -> Iterator[Scenario]:
    asks = [step for step in _flat(blocks.values(options.strategies)) if isinstance(step, Call)]
    numbers = [ask for ask in asks if not any(isinstance(value, str) for value in ask.arguments.values())]
    steps: Block = (SEVERAL, *blocks.plain, *blocks.plain, *numbers)
    for name in options.environment:
        is_excluded = name == "ipv6" and options.tls
        if is_excluded or not is_there(name):
            continue
        if name == "time_zone" and options.chosen_faults is None:
            dates = Behaviour().replace({_RATE_LIMIT: "retry_after_date"})
            yield Scenario(dates, (*steps, *_flat(blocks.meetings(_NO_WAITS))), environment=name)
        else:
            yield Scenario(steps=steps, environment=name)


def _quick_faults(options: Options) -> Iterable[Fault]:
    if options.chosen_faults is None:
        return (*QUICK_FAULTS, *ERRORS)
    return [fault for fault in options.chosen_faults if is_quick(fault)]


def _at_once(blocks: Blocks) -> Iterator[Scenario]:
    """Yield the scenarios with two calls at once.

    There are two steps for each line at which the first call stops: the second call does not stop, or stops later.
    """
    places = [(hold, then) for hold in range(1, PLACES) for then in (None, hold + 3)]
    for first, second in blocks.pairs():
        yield Scenario(steps=(TWO_PETS, *blocks.plain, *(Together(first, second, *held) for held in places)))


def _others(gap: str) -> list[str]:
    """Return the alternatives of a gap without its default."""
    return list(GAPS[gap].alternatives)[1:]


def _flat(blocks: Iterable[Block]) -> list[Step]:
    return [step for block in blocks for step in block]
