"""One example: a scenario, played by watched clients in worlds of their own, as its pasted test does it."""

from __future__ import annotations

import sys
import threading
import traceback
from contextlib import ExitStack, suppress
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Self

from petstore_mock import faults
from petstore_mock.checks import Call, Outcome
from petstore_mock.checks.watched import Found, WatchedClient
from petstore_mock.checks.wording import literal
from petstore_mock.common.guards import is_array
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.stateful.environments import ANOTHER_ZONE, environment, time_zone
from petstore_mock.strategies.plans import PlannedFault
from petstore_mock.strategies.scenario import Act, Ask, Own, Pick, Scenario, Step, Together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from petstore_mock.core.fault_plan import FaultHandle
    from petstore_mock.faults import Fault
    from petstore_mock.interface.table import Operation
    from petstore_mock.mock.face import PetStore
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.run import Run

_MOST_PETS: Final = 120  # from which on no other actor adds many
_FRAMES: Final = 3  # of a traceback that are shown
_FRAMES_OF_A_WAIT: Final = 8  # libraries have some of their own around a lock
_LEFT_OUT: Final = (threading.__file__, __file__.rpartition("stateful")[0])
_KNOWN_STANDSTILL: Final = 2.0  # seconds, once it is known that the client comes to a standstill


class Actor(WatchedClient):
    """A client and its world, whose animals another actor knows."""

    def __init__(self, example: Example, name: str, world: str, petstore: PetStoreMock) -> None:
        options = example.run.options
        self.name, self.world = name, world
        self.calls = 0
        self.latest: Any = None  # result, while nothing else has happened
        self.error: Exception | None = None  # of the latest call that raised one
        self._known: dict[int, None] = {}  # ids, the newest last
        self._vanished: list[int] = []
        super().__init__(
            options.make_client,
            petstore,
            checks=example.checks,
            classify=options.classify,
            read_pet=options.read_pet,
            methods=options.methods,
            quiet=True,
            patience=options.patience,
            longest_wait=options.longest_wait,
            others=[example.elsewhere, *(actor.petstore for actor in example.actors)],
        )
        self.limits = example.run.limits

    @property
    def lost_thread(self) -> int:
        """The thread of a call that had to be left behind; 0 for none."""
        return self._player.ident if self._player.is_lost else 0

    def _call(self, row: Operation, *positional: Any, **given: Any) -> Any:  # noqa: ANN401
        self.calls += 1
        try:
            self.latest = super()._call(row, *positional, **given)
        except Found:
            raise
        except Exception as error:
            self.error = error
            raise
        return self.latest

    def take(self, step: Callable[[Any, Any], object]) -> None:
        """Take a step of the test's own, to which calls raise the errors of the client."""
        self._quiet = False
        try:
            step(self, self.petstore)
        finally:
            self._quiet, self.latest = True, None

    def meet(self, petstore: PetStore) -> None:
        """Know a world to which the client should send nothing."""
        self._others = (*self._others, petstore)

    def ids(self) -> list[int]:
        """Return the ids of the animals in its world, the newest last."""
        now = dict.fromkeys(pet["id"] for pet in self.petstore.pets)
        self._vanished += [one for one in self._known if one not in now]
        self._known = dict.fromkeys(one for one in (*self._known, *now) if one in now)
        return list(self._known)

    def chosen(self, value: Any) -> Any:  # noqa: ANN401  # an argument is any value
        """Return the id that a pick stands for, one that was never there if there is none; or another value."""
        if not isinstance(value, Pick):
            return value
        known = self.ids()
        ids = known if value.which == "known" else self._vanished
        return ids[-1 - value.index % len(ids)] if ids else 1 if value.which == "known" else 404


class Example:
    """One example."""

    def __init__(self, run: Run, scenario: Scenario, *, alone: bool = True) -> None:
        self.run, self.scenario = run, scenario
        # The process can't be observed beside other examples.
        self.checks = [one for one in run.checks if alone or "process" not in one.needs]
        self.lines: list[str] = []  # of a pasted test: the steps so far
        self.used: set[str] = set()  # the further mocks that they name
        self.taken = 0
        self.found: Found | None = None
        self.worlds: dict[str, PetStoreMock] = {}
        self.actors: list[Actor] = []
        self._stack = ExitStack()
        self.stack = ""  # of the client, where the finding does not say where it comes from
        self._redirection: FaultHandle | None = None

    @property
    def waited(self) -> bool:
        """Whether a call had to be ended."""
        outcome = None if self.found is None else self.found.outcome
        return outcome is not None and outcome.ended is not None

    def play(self) -> Self:
        """Take the steps, and keep what a check finds; errors of the mock and of ``make_client`` pass through."""
        scenario, run = self.scenario, self.run
        run.report.begin_example(scenario.behaviour)
        with self._stack:
            if scenario.environment == "time_zone":
                self._stack.enter_context(time_zone(ANOTHER_ZONE))
            elif scenario.environment not in {None, "ipv6"}:
                self._stack.enter_context(environment(str(scenario.environment)))
            self.elsewhere = self._stack.enter_context(run.mock("elsewhere").fresh())
            try:
                self._begin("client", "petstore")
                for self.taken, step in enumerate(scenario.steps, 1):
                    self._take(step)
                for actor in reversed(self.actors):
                    actor.petstore.cancel_faults()
                    actor.close()
            except Found as found:
                self.found, self.stack = found, _stack_of(found, self.actors)
                if found.outcome is not None and found.outcome.ended == "stood still":
                    run.limits.standstill = min(_KNOWN_STANDSTILL, run.limits.standstill)
            finally:
                self._end()
        return self

    def _end(self) -> None:
        for actor in self.actors:
            with suppress(Found):  # the first counts
                actor.close()
        for petstore in self.worlds.values():
            petstore.cancel_faults()  # none of them need have fired
            self.run.report.count(petstore.journal)
        self.run.report.calls += sum(actor.calls for actor in self.actors)

    def _begin(self, name: str, world: str) -> None:
        """Begin a world, and make a client of it."""
        run, scenario = self.run, self.scenario
        mock = run.mock("ipv6" if scenario.environment == "ipv6" else "petstore")
        key = run.new_key() if scenario.odd_key else None
        petstore = self._stack.enter_context(mock.fresh(behaviour=scenario.behaviour, api_key=key))
        self.worlds[world] = petstore
        if scenario.hours_ahead:
            petstore.clock.advance(hours=scenario.hours_ahead)
        try:
            self.actor = Actor(self, name, world, petstore)
        except (Found, PetStoreMockError):
            raise
        except Exception as error:
            if scenario.environment is None:  # it could be made before
                raise
            outcome = Outcome(error=error)
            sentence = f"make_client {outcome} (the service has an address like any other)."
            raise Found(sentence, outcome) from None
        for other in self.actors:
            other.meet(petstore)
        self.actors.append(self.actor)
        if not run.operations:
            run.meet(self.actor.client.operations, petstore)

    # Steps

    def _take(self, step: Step) -> None:
        if isinstance(step, Ask):
            if step.operation in self.actor.client.operations:
                self._ask(self._call(step))
        elif isinstance(step, Act):
            self._act(step.kind, dict(step.arguments))
        elif isinstance(step, PlannedFault):
            self._inject(step)
        elif isinstance(step, Together):
            self._together(step)
        elif isinstance(step, Own):
            self._own(step.name)
        elif len(self.actors) == 1:
            self.used.add("other")
            self._begin("other_client", "other")
        else:
            self.actor = self.actors[1 - self.actors.index(self.actor)]

    def _call(self, ask: Ask) -> Call:
        return Call(ask.operation, {name: self.actor.chosen(value) for name, value in ask.arguments.items()})

    def _ask(self, call: Call) -> None:
        self.lines.append(f"{self.actor.name}.{call.code}")
        positional, keywords = call.python
        getattr(self.actor, call.row.client_method)(*positional, **keywords)
        if self._redirection is not None:  # it would lead another call astray
            self._redirection.cancel()
            self._redirection = None
            self.actor.latest = None
            self.lines.append("redirection.cancel()")

    def _together(self, step: Together) -> None:
        first, second = self._call(step.first), self._call(step.second)
        if first != second and {first.operation, second.operation} <= self.actor.client.operations.keys():
            asked = ", ".join(f"checks.Call({call.operation!r}, {literal(call.arguments)})" for call in (first, second))
            then = "" if step.then is None else f", then={step.then}"
            self._did(f"{self.actor.name}.at_once({asked}, hold={step.hold}{then})")
            self.actor.calls += 2
            self.actor.at_once(first, second, hold=step.hold, then=step.then)

    def _own(self, name: str) -> None:
        self._did(f"{name}({self.actor.name}, {self.actor.world})")
        try:
            self.actor.take(self.run.options.steps[name])
        except (Found, PetStoreMockError):
            raise
        except Exception as error:  # noqa: BLE001  # a test's own code raises anything
            if error is not self.actor.error:  # an error of a call is allowed: the checks have seen it
                outcome = Outcome(error=error)
                words = f"failed: {error}" if isinstance(error, AssertionError) else f"{outcome}"
                raise Found(f"{name} {words} (a step of the test's own says so).", outcome) from None

    def _inject(self, step: PlannedFault) -> None:
        fault, code = self._led(step)
        usual = {"times": None, "on": None, "after": 0, "at": "before_commit"}
        given = [f"{name}={getattr(step, name)!r}" for name in usual if getattr(step, name) != usual[name]]
        redirection = "redirection = " if fault is not step.fault else ""
        self._did(f"{redirection}{self.actor.world}.inject({', '.join([code, *given])})")
        handle = replace(step, fault=fault).inject(self.actor.petstore)
        if redirection:
            self._redirection = handle

    def _led(self, step: PlannedFault) -> tuple[Fault, str]:
        """Return the fault of a step with the place that its Location leads to, and its code."""
        headers: Mapping[str, str] = step.fault.arguments.get("headers", {})
        template = headers.get("Location", "")
        if "{" not in template:
            return step.fault, repr(step.fault)
        row, status = OPERATIONS[step.on], step.fault.status or 307
        own, path = row.path, row.path_parameter
        if path is not None:
            own = own.replace(f"{{{path.name}}}", str(self.actor.chosen(Pick())))
        place = template.replace("{own}", own)
        for name, petstore in {"elsewhere": self.elsewhere, "petstore": self.actor.petstore}.items():
            if place.startswith(f"{{{name}}}"):
                place = place.removeprefix(f"{{{name}}}")
                world = self.actor.world if name == "petstore" else name
                self.used.add(world)
                code = f"faults.respond({status}, headers={{'Location': {world}.url + {place!r}}})"
                return faults.respond(status, headers={"Location": petstore.url + place}), code
        fault = faults.respond(status, headers={"Location": place})
        return fault, repr(fault)

    def _act(self, kind: str, given: dict[str, Any]) -> None:
        actor, ids = self.actor, self.actor.ids()
        if kind == "spoil":
            if actor.latest is not None:
                spoil(actor.latest)
                self.lines[-1] = f"spoil({self.lines[-1]})"
                actor.latest = None
            return
        positional = [actor.chosen(given.pop(name)) for name in ("pet", "count", "at") if name in given]
        is_void = kind in {"update", "remove"} and positional[0] not in ids
        if is_void or (kind == "seed_many" and len(ids) > _MOST_PETS):
            return
        if given.get("id") in ids:
            del given["id"]
        method = f"clock.{kind}" if kind == "travel_to" else kind
        attrgetter(method)(actor.petstore)(*positional, **given)
        written = [*map(literal, positional), *(f"{name}={literal(value)}" for name, value in given.items())]
        self._did(f"{actor.world}.{method}({', '.join(written)})")

    def _did(self, code: str) -> None:
        self.lines.append(code)
        self.actor.latest = None


def _stack_of(found: Found, actors: Iterable[Actor]) -> str:
    """Return the client's lines behind an exception that says nothing, or behind a call that stands still."""
    outcome = found.outcome
    if outcome is not None and outcome.ended is not None:
        lost = max((actor.lost_thread for actor in actors), default=0)
        frame = sys._current_frames().get(lost)  # noqa: SLF001  # public by its documentation
        stack = traceback.StackSummary() if frame is None else traceback.extract_stack(frame)
        return "".join(_own(stack, _FRAMES_OF_A_WAIT).format()).rstrip()
    if outcome is None or outcome.error is None or outcome.kind is not None:
        return ""
    told = traceback.TracebackException.from_exception(outcome.error)
    told.stack = _own(told.stack, _FRAMES)
    return "".join(told.format(chain=False)).rstrip()


def _own(stack: traceback.StackSummary, most: int) -> traceback.StackSummary:
    own = [line for line in stack if not line.filename.startswith(_LEFT_OUT)]
    return traceback.StackSummary.from_list(own[-most:])


def spoil(result: Any) -> None:  # noqa: ANN401  # a client returns any object
    """Change a result of a client, as a caller may do with an object of its own.

    Args:
        result: an animal, or a list of them; an object that can't be changed stays as it is.
    """
    with suppress(Exception):  # an immutable result can't be spoilt
        whole, first = result, result[0] if is_array(result) else result
        if isinstance(first, dict):
            first["name"] = "spoilt"
        else:
            first.name = "spoilt"
        whole.clear()
