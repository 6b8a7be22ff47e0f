"""The directed scenarios: every client meets each of them in every run, before anything is drawn.

A family is a row of ``FAMILIES``. The search plays the families in their order, and the documents list them.
"""

from __future__ import annotations

from petstore_mock.strategies.scenarios import END, PLACES, TWO_PETS, Blocks, redirected  # needs Hypothesis

# isort: split
from dataclasses import replace
from itertools import chain, filterfalse, product
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from petstore_mock import faults as kinds
from petstore_mock.checks.scenario import IN_A_PAUSE, Act, Interrupt, PlannedFault, Scenario, Together
from petstore_mock.interface.behaviour import Behaviour
from petstore_mock.interface.gaps import GAPS
from petstore_mock.stateful.environments import is_there
from petstore_mock.strategies.plans import SLOW_FAULTS, is_quick, others_of
from petstore_mock.strategies.sent import DIRECTED, REFUSALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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
_OUTAGES: Final = (kinds.server_error(503), kinds.reset())
_PASSING: Final = (*_OUTAGES, kinds.server_error(500), kinds.respond(502), kinds.rate_limited(0))
_MOVED: Final = redirected("{petstore}{own}#top")  # a request has no fragment
_FLAWS: Final = (kinds.tls.wrong_host(), kinds.tls.expired(), kinds.tls.untrusted_root(), kinds.tls.handshake_hang())
_ROUNDS: Final = 4  # of calls: enough to retire a key with the gap key_rotation
_FEW: Final = 4  # sample values of a field
SEVERAL: Final = Act("seed_many", {"count": 3})
_MANY: Final = Act("seed_many", {"count": 25})  # more than a page
_PLACES: Final = 7  # awaits, or reads from a connection, at which a call is interrupted
_EQUAL_CALLS: Final = 27  # as many as show that memory grows
_LIMITED: Final = 7  # calls: more than the rate limit allows
_RATE_LIMIT: Final = next(name for name, gap in GAPS.items() if gap.makes_wait)


Scenarios: TypeAlias = "Iterator[Scenario]"


class Family(NamedTuple):
    """Some directed scenarios."""

    name: str
    words: str  # what the client meets, for the documents
    scenarios: Callable[[Blocks, Options], Scenarios]
    takes_time: bool = False  # the search plays these scenarios side by side


def _certificates(blocks: Blocks, options: Options) -> Scenarios:
    if options.tls:
        for flaw in _FLAWS:
            yield Scenario(steps=(PlannedFault(fault=flaw, times=12), blocks.plain[0]))


def _arguments(blocks: Blocks, options: Options) -> Scenarios:
    calls = blocks.values(options.strategies)
    for plain in blocks.plain:
        own = [call for call in calls if call.operation == plain.operation]
        yield Scenario(steps=(SEVERAL, *own, *blocks.plain))


def _other_actors(blocks: Blocks, _: Options) -> Scenarios:
    for kind in blocks.others():
        yield Scenario(steps=(SEVERAL, *_flat(kind)))


def _interrupts(blocks: Blocks, options: Options) -> Scenarios:
    for place in range(1, _PLACES):
        interrupts = [Interrupt(ask, place) for ask in blocks.plain]
        yield Scenario(steps=(SEVERAL, *blocks.plain, *interrupts, *blocks.plain))
    if options.chosen_faults is None:
        steps = _flat(
            (replace(fault, times=None), Interrupt(ask, IN_A_PAUSE), END) for fault, ask in blocks.meetings(_PASSING)
        )
        yield Scenario(steps=(SEVERAL, *steps))


def _lives(blocks: Blocks, _: Options) -> Scenarios:
    for look in blocks.looks:
        yield Scenario(steps=(SEVERAL, *[look] * _EQUAL_CALLS))
    # Another client ends first.
    switch = Act("switch")
    yield Scenario(steps=(SEVERAL, *blocks.plain, switch, *blocks.plain, Act("reuse"), switch, *blocks.plain))
    for end in ("leave", "reuse"):
        yield Scenario(steps=(SEVERAL, *blocks.plain, Act("close_connections"), *blocks.plain, Act(end)))


# Faults


def quick_subjects(options: Options) -> Mapping[str, Iterable[Fault]]:
    """Return the faults that take no time, by subject."""
    if options.chosen_faults is None:
        return DIRECTED
    return {"your faults": list(filter(is_quick, options.chosen_faults))}


def slow_faults(options: Options) -> Iterable[Fault]:
    if options.chosen_faults is not None:
        return filterfalse(is_quick, options.chosen_faults)
    if options.longest_wait is None:
        return SLOW_FAULTS
    return (*SLOW_FAULTS, *_LONG)


def quick_faults(blocks: Blocks, options: Options) -> Scenarios:
    for faults in quick_subjects(options).values():
        # A client that read the response may have left a part of it for the next call.
        steps = _flat((fault, ask, *[ask] * fault.fault.row.readable) for fault, ask in blocks.meetings(faults))
        yield Scenario(steps=(_MANY, *steps))


def _outages(blocks: Blocks, options: Options) -> Scenarios:
    if options.chosen_faults is not None:
        return
    steps: list[Step] = []
    for fault, ask in blocks.meetings(REFUSALS):
        steps += [replace(fault, times=None), ask, END]
    for fault, ask in blocks.meetings(_OUTAGES):
        # A call after the outage must not wait for the failures before it.
        steps += [replace(fault, times=None), ask, ask, END, ask, ask]
    for fault, ask in blocks.meetings(_PASSING):
        # A client that sends a call again may lose or repeat an argument.
        steps += [fault, blocks.full(ask)]
    # close() meets a lost connection.
    yield Scenario(steps=(_MANY, *steps, *_lost(blocks, options)))


def _lost(blocks: Blocks, options: Options) -> list[Step]:
    if options.chosen_faults is not None:
        return []
    return _flat(blocks.meetings([kinds.reset()]))


def _waits(blocks: Blocks, options: Options) -> Scenarios:
    for fault, ask in blocks.meetings(slow_faults(options)):
        yield Scenario(steps=(Act("seed"), ask, fault, ask, ask))
    if options.chosen_faults is None:
        for moved, ask in blocks.meetings([_MOVED]):
            # A client may have no timeout for the request that it sends after a redirection.
            hang = replace(moved, fault=kinds.hang())
            yield Scenario(steps=(moved, hang, ask))
    if _RATE_LIMIT not in options.gaps:
        return
    clocks: list[Block] = [()]
    if options.longest_wait is not None:
        clocks += [(Act("clock.advance", {"hours": hours}),) for hours in (1, -1)]
    for limit, clock, ask in product(others_of(_RATE_LIMIT), clocks, blocks.plain):
        behaviour = Behaviour().replace({_RATE_LIMIT: limit})
        yield Scenario(behaviour, (*clock, Act("seed"), *[ask] * _LIMITED))


def _redirections(blocks: Blocks, options: Options) -> Scenarios:
    if options.chosen_faults is None:
        # A client may have stored the redirection of another operation.
        steps = _flat([*blocks.redirections(), *blocks.meetings([_MOVED])])
        yield Scenario(steps=(SEVERAL, *steps, *map(blocks.full, blocks.plain)))


# Surroundings, gaps, and two calls at once


def _environments(blocks: Blocks, options: Options) -> Scenarios:
    asks = blocks.values(options.strategies)
    numbers = [ask for ask in asks if str not in map(type, ask.arguments.values())]
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


def _gaps(blocks: Blocks, options: Options) -> Scenarios:
    # After a lost response, a client may look for the animal. With some alternatives, it does not find the animal.
    steps = (*_lost(blocks, options), _MANY, *blocks.plain * _ROUNDS, *blocks.removal)
    for name in options.gaps:
        if name == _RATE_LIMIT:
            continue
        gap = GAPS[name]
        # An alternative may refuse some of these values.
        values = blocks.samples_of(gap.field, _FEW) if gap.decides == "values" else []
        for alternative in others_of(name):
            yield Scenario(Behaviour().replace({name: alternative}), (*steps, *values))


def _at_once(blocks: Blocks, options: Options) -> Scenarios:
    """Yield the scenarios with two calls at once.

    There are two steps for each line at which the first call stops: the second call does not stop, or stops later.
    """
    if not options.concurrent:
        return
    for first, second in blocks.pairs():
        steps: list[Step] = [TWO_PETS, *blocks.plain]
        for hold in range(1, PLACES):
            steps += [Together(first, second, hold), Together(first, second, hold, hold + 3)]
        yield Scenario(steps=tuple(steps))


FAMILIES: Final = (
    Family("certificates", "with `tls=True`: each flaw of a certificate, and a handshake that hangs", _certificates),
    Family(
        "arguments",
        "each sample value of each argument, also a long text, and one with marks of many languages",
        _arguments,
    ),
    Family(
        "other actors",
        "animals with each sample value, also long ones and many; each change of a field; a removal; a changed result; "
        "the same call twice; a second client with its own key in the same thread; closed connections; a revoked key; "
        "the days after the removal of an operation",
        _other_actors,
    ),
    Family(
        "interrupts",
        "Ctrl-C at a read from the connection, or the cancellation of the task at an await, twelve times each; the "
        "cancellation of a task that pauses before it sends a failed request again",
        _interrupts,
    ),
    Family(
        "life cycle",
        "many equal calls; calls after another client is closed; an error in the `with` "
        "block; a call of a closed client",
        _lives,
    ),
    Family("faults", "each fault that takes no time, for each operation, before and after the commit", quick_faults),
    Family(
        "outages",
        "each request of an operation is refused, fails or is lost, until the outage ends; one request of a call with "
        "each argument fails",
        _outages,
    ),
    Family(
        "waits",
        "each fault that takes time, for each operation, before and after the commit; a redirection, and then no "
        "response; each rate limit",
        _waits,
        takes_time=True,
    ),
    Family("environments", "each environment", _environments),
    Family(
        "redirections",
        "each status of a redirection, to another service, to the same one, to a path, to nowhere, and in a loop; one "
        "to an address with the parameters of the call, and one to an address with a fragment",
        _redirections,
    ),
    Family("gaps", "each alternative of each gap, also after a lost response", _gaps),
    Family("two calls at once", "with `concurrent=True`: each pair of operations, stopped at each line", _at_once),
)


def _flat(blocks: Iterable[Block]) -> list[Step]:
    return list(chain.from_iterable(blocks))
