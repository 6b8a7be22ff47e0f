"""One example: a scenario, played in worlds of its own, with the same lines as its pasted test."""

from __future__ import annotations

import asyncio
import concurrent.futures
import random
import selectors
import threading
import traceback
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final, Self

from petstore_mock.checks import Call, Finding, Outcome, WatchedClient
from petstore_mock.checks.check import Source
from petstore_mock.checks.scenario import ACTS, IN_A_PAUSE, Interrupt, Pick, PlannedFault, Together
from petstore_mock.checks.watched import Found, LeftError, unmade
from petstore_mock.common.refusing import one_of
from petstore_mock.common.values import without, without_none
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.stateful.environments import environment
from petstore_mock.stateful.lines import ELSEWHERE, Line, Name, placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from petstore_mock.checks.check import Exchanges
    from petstore_mock.checks.scenario import Scenario, Step
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.run import Run

_MOST_PETS: Final = 120  # with more animals than this, other actors add none by seed_many
_FRAMES: Final = 8  # of a traceback, at most; around a lock, a library may add several
# Files and folders whose lines no stack shows: those in which a thread or a loop waits, and the package itself.
_LEFT_OUT: Final = (
    *asyncio.__path__,
    *concurrent.futures.__path__,
    selectors.__file__,
    threading.__file__,
    __file__.rpartition("stateful")[0],
)
_KNOWN_STANDSTILL: Final = 2.0  # seconds without a request, after the first call that stood still
_OF_CLIENTS: Final = frozenset({"spoil", "leave", "reuse"})  # acts on the client of the present world


class PlayedWorld:
    """A mock, and the names of the mock and its client in the pasted test."""

    def __init__(self, client: str, name: str, petstore: PetStoreMock) -> None:
        self.client = client
        self.name = name
        self.petstore = petstore
        self._known: dict[int, None] = {}  # ids, the newest last
        self._vanished: list[int] = []

    def ids(self) -> list[int]:
        """Return the ids of the animals, the newest last."""
        now = dict.fromkeys(pet["id"] for pet in self.petstore.pets)
        for known in [*self._known]:
            if known not in now:
                self._vanished.append(known)
                del self._known[known]
        self._known |= now
        return list(self._known)

    def chosen(self, value: Any) -> Any:  # noqa: ANN401  # an argument is any value
        """Return the id for a pick, or the value itself; without a matching animal, an unknown id."""
        if not isinstance(value, Pick):
            return value
        ids = self.ids()
        unknown = 1
        if value.which == "vanished":
            ids = self._vanished
            unknown = 404
        if not ids:
            return unknown
        return ids[-1 - value.index % len(ids)]

    def call(self, step: Call) -> Call:
        """Return the call of a step with ids instead of picks."""
        return Call(step.operation, {name: self.chosen(value) for name, value in step.arguments.items()})


class Example:
    """One example.

    Args:
        run: the run to which the example belongs.
        scenario: the scenario.
        alone: whether no other example runs at the same time.
        chance: the state of ``random`` at the beginning; None for any.
    """

    def __init__(self, run: Run, scenario: Scenario, *, alone: bool = True, chance: int | None = None) -> None:
        self.run = run
        self.scenario = scenario
        self.chance = chance
        # While other examples run, facts about the process can't be attributed to this one.
        self._checks = run.checks
        if not alone:
            self._checks = [check for check in run.checks if "process" not in check.needs]
        self.lines: list[Line] = []  # the steps so far
        self.taken = 0
        self.found: Found | None = None
        self.left = ""  # why the machine went on although a call did not end, if no check failed
        self.worlds: dict[str, PlayedWorld] = {}
        self._objects: dict[str, Any] = {}  # the objects of the lines
        self._clients: list[WatchedClient] = []
        self._stack = ExitStack()
        self._plan: PlannedFault | None = None  # the fault that the next call meets
        self._outage: PlannedFault | None = None  # the latest fault that each request of an operation meets
        self._is_outage_over = False
        self.raised = ""  # the client's lines, if the sentence alone does not explain the bug

    @property
    def waited(self) -> bool:
        """Whether the machine had to give up on a call."""
        return self.found is not None and self.found.ended is not None

    def play(self) -> Self:
        """Play the steps and keep the first failed check; raise errors of the mock and of ``make_client``."""
        report = self.run.report
        report.begin_example(self.scenario.behaviour)
        self.run.progress.show(self.run.phase, report.examples)
        with self._stack:
            self._stack.callback(random.setstate, random.getstate())
            if self.scenario.environment is not None:
                self._stack.enter_context(environment(self.scenario.environment))
            self._objects[ELSEWHERE] = self._stack.enter_context(self.run.mock(ELSEWHERE).fresh())
            try:
                self._play()
            except LeftError as left:
                self.left = left.ended
                if left.ended == "left":
                    self.run.note_pause()
            except Found as found:
                self.keep(found)
            finally:
                self._end()
        return self

    def _play(self) -> None:
        if self.chance is not None:
            random.seed(self.chance)
        self._begin("client", "petstore")
        for step in self.scenario.steps:
            self.taken += 1
            self._take(step)
        for world in reversed(self.worlds.values()):
            world.petstore.cancel_faults()
            self._objects[world.client].close()

    def keep(self, found: Found) -> None:
        """Keep a failed check."""
        self.found = found
        self.raised = self._stack_of(found.outcome)
        if found.ended in {"stood still", "computed"}:
            self.run.limits.standstill = min(_KNOWN_STANDSTILL, self.run.limits.standstill)

    def _end(self) -> None:
        for client in self._clients:
            with suppress(Found):  # the first failed check counts
                client.close()
            self.run.report.calls += client.calls
            self.run.report.unclear += client.unclear
            self.run.report.ignored += client.ignored
        for world in self.worlds.values():
            world.petstore.cancel_faults()  # no fault is required to fire
            self.run.report.count(world.petstore.journal)

    def _begin(self, client: str, name: str) -> None:
        run = self.run
        scenario = self.scenario
        mock = run.mock("ipv6" if scenario.environment == "ipv6" else "petstore")
        key = run.new_key() if scenario.odd_key else None
        petstore = self._stack.enter_context(mock.fresh(behaviour=scenario.behaviour, api_key=key))
        others = [self._objects[ELSEWHERE], *(world.petstore for world in self.worlds.values())]
        self._world = self.worlds[name] = PlayedWorld(client, name, petstore)
        watched = self._watched(petstore, others)
        watched.limits = run.limits
        for former in self._clients:
            former.others.append(petstore)
        self._clients.append(watched)
        self._objects |= {client: watched, name: petstore}
        if not run.operations:
            run.meet(watched.client.operations, petstore)

    def _watched(self, petstore: PetStoreMock, others: Sequence[PetStoreMock]) -> WatchedClient:
        options = self.run.options
        place = self.scenario.environment
        try:
            watched = WatchedClient(
                options.make_client,
                petstore,
                others=others,
                checks=self._checks,
                quiet=True,
                classify=options.classifier,
                read_pet=options.read_pet,
                methods=options.methods,
                patience=options.patience,
                longest_wait=options.longest_wait,
                ignore=[*self.run.ignore],
            )
        except (Found, PetStoreMockError):
            raise
        except Exception as error:
            if place is None:  # the environment is not the cause, so this is an error of the test
                raise
            words = "a client can be made in any environment"
            if place == "ipv6":
                words = "the base address may be any valid URL"
            outcome = Outcome(error=error)
            raise Found(unmade(outcome, words), outcome) from None
        watched.known = self.run.known
        return watched

    # Steps

    def _do(self, owner: str, method: str, *positional: object, **keywords: object) -> None:
        line = Line(owner, method, positional, keywords)
        self.lines.append(line)
        line.play(self._objects)

    def _take(self, step: Step) -> None:
        if isinstance(step, Call):
            self._ask(step)
        elif isinstance(step, PlannedFault):
            self._inject(step)
        elif isinstance(step, Together):
            self._together(step)
        elif isinstance(step, Interrupt):
            self._interrupt(step)
        elif step.kind in _OF_CLIENTS:
            self._do(self._world.client, step.kind)
        elif step.kind == "switch":
            self._switch()
        elif step.kind == "own":
            self._own(one_of(step.arguments["step"], self.run.steps, "step of your test"))
        else:
            self._act(one_of(step.kind, ACTS, "act"), dict(step.arguments))

    def _ask(self, step: Call) -> None:
        world = self._world
        if step.operation not in self.run.operations:
            return
        call = world.call(step)
        journal = world.petstore.journal
        before = len(journal)
        positional, keywords = call.python
        self._do(world.client, call.row.client_method, *positional, **keywords)
        exchanges = journal[before:]
        self._note_outage(step, exchanges)
        plan = self._plan
        self._plan = None
        has_met = any(exchange.fault for exchange in exchanges)
        if plan is not None and has_met:
            self.run.report.requests[plan] = len(exchanges)

    def _note_outage(self, step: Call, exchanges: Exchanges) -> None:
        """Note a call in an outage, or the first one after it."""
        plan = self._outage if exchanges else None
        if plan is None or plan.on != step.operation:
            return
        outage = self.run.report.outage(plan)
        if not self._is_outage_over:
            outage.note(exchanges)
            return
        outage.recovers = exchanges[-1].fault is None
        self._outage = None

    def _together(self, step: Together) -> None:
        world = self._world
        pair = world.call(step.first), world.call(step.second)
        is_known = {step.first.operation, step.second.operation} <= self.run.operations.keys()
        if is_known and pair[0] != pair[1]:
            self._do(world.client, "at_once", *pair, hold=step.hold, **without_none({"then": step.then}))

    def _interrupt(self, step: Interrupt) -> None:
        world = self._world
        is_known = step.call.operation in self.run.operations
        # A synchronous client would make its whole pause.
        if is_known and (step.at < IN_A_PAUSE or self._objects[world.client].client.is_async(step.call)):
            self._do(world.client, "interrupt", world.call(step.call), at=step.at)

    def _switch(self) -> None:
        others = without(self.worlds.values(), self._world)
        if others:
            [self._world] = others
        else:
            self._begin("other_client", "other")

    def _own(self, name: str) -> None:
        world = self._world
        client: WatchedClient = self._objects[world.client]
        self._objects[name] = self.run.steps[name]
        client.quiet = False  # your step gets the errors of its calls
        try:
            self._do(name, "", Name(world.client), Name(world.name))
        except (Found, LeftError, PetStoreMockError, KeyboardInterrupt):
            raise
        except BaseException as error:  # your step may raise anything
            if error is not client.raised:  # else a call raised the error, and the checks allowed it
                outcome = Outcome(error=error)
                says = str(outcome)
                if isinstance(error, AssertionError):
                    says = f"failed: {error}"
                raise Found(Finding("steps", name, name, says, Source("", "a step of your test")), outcome) from None
        finally:
            client.quiet = True

    def _inject(self, step: PlannedFault) -> None:
        world = self._world
        fault = step.fault
        self._plan = step
        row = OPERATIONS.get(step.on or "")
        if row is not None:
            ids = {parameter.name: world.chosen(Pick()) for parameter in row.parameters_in("path")}
            fault = placed(fault, {"{own}": row.path.format(**ids)})
        given = {"times": step.times, "on": step.on, "after": step.after or None}
        if step.at != "before_commit":
            given["at"] = step.at
        if step.times is None and len(fault.parts) == 1:
            self._outage = step
            self._is_outage_over = False
        self._do(world.name, "inject", fault, **without_none(given))

    def _act(self, kind: str, given: dict[str, Any]) -> None:
        world = self._world
        ids = world.ids()
        positional = [world.chosen(given.pop(name)) for name in ACTS[kind].positional]
        is_void = "pet" in ACTS[kind].positional and positional[0] not in ids
        is_full = kind == "seed_many" and len(ids) > _MOST_PETS
        if is_void or is_full:
            return
        if given.get("id") in ids:
            del given["id"]
        self._is_outage_over |= kind == "cancel_faults"
        self._do(world.name, kind, *positional, **given)
        if kind == "close_connections":
            self._objects[world.client].client.notice()

    def _stack_of(self, outcome: Outcome | None) -> str:
        """Return the client's lines that raised an unknown exception, or in which a call waits."""
        if outcome is None:
            return ""
        if outcome.ended is not None:
            return "".join(self._lost_stack().format()).rstrip()
        if outcome.error is None or outcome.kind is not None:
            return ""
        trace = traceback.TracebackException.from_exception(outcome.error)
        trace.stack = _own_lines(trace.stack)
        lines = trace.format_exception_only()
        if trace.stack:
            lines = trace.format(chain=False)
        return "".join(lines).rstrip()

    def _lost_stack(self) -> traceback.StackSummary:
        """Return the client's lines in which a call waits."""
        for client in self._clients:
            if client.player.is_lost:
                return _own_lines(client.player.lost_at)
        return traceback.StackSummary()


def _own_lines(stack: Sequence[traceback.FrameSummary]) -> traceback.StackSummary:
    own = [line for line in stack if not line.filename.startswith((*_LEFT_OUT, "<"))]
    return traceback.StackSummary.from_list(own[-_FRAMES:])
