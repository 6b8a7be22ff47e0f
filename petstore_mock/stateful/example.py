"""One example: a scenario, played by clients in worlds of their own, and checked step by step."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from petstore_mock import faults
from petstore_mock.checks import Call, Finding, Outcome, Process
from petstore_mock.checks.attending import attend
from petstore_mock.checks.check import Broken, Check, attempt
from petstore_mock.checks.process import settled
from petstore_mock.checks.wording import literal
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.table import BASE_PATH, OPERATIONS
from petstore_mock.stateful.actor import Actor, Found, Scene
from petstore_mock.stateful.environments import ANOTHER_ZONE, environment, time_zone
from petstore_mock.strategies.plans import PlannedFault
from petstore_mock.strategies.scenario import Act, Ask, Own, Pick, Scenario, Step, Together

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petstore_mock.faults import Fault
    from petstore_mock.mock.face import Handle
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.run import Run

_MOST_PETS: Final = 120  # from which on no other actor adds many


class Example(Scene):
    """One example."""

    def __init__(self, run: Run, scenario: Scenario, *, alone: bool = True) -> None:
        self._stack, self._worlds = ExitStack(), ExitStack()
        self._enter_environment(scenario.environment)
        super().__init__(run, scenario, alone=alone)
        self.lines: list[str] = []  # of a pasted test: the steps so far
        self.used: set[str] = set()  # the further mocks that they name
        self.found: Found | None = None
        self._redirection: Handle | None = None
        self.taken = 0

    def _enter_environment(self, name: str | None) -> None:
        if name == "time_zone":
            self._stack.enter_context(time_zone(ANOTHER_ZONE))
        elif name not in {None, "ipv6"}:
            self._stack.enter_context(environment(str(name)))

    # Around it, in the thread that waits

    def start(self, *, here: bool = False) -> None:
        """Begin to play in a thread, or play in this one."""
        self.run.report.begin_example(self.scenario.behaviour)
        first = self._new_world()  # worlds begin and end in one thread
        if self.other_mock is not None:
            self.elsewhere = self._worlds.enter_context(self.other_mock.fresh())
        play = partial(self._play, first)
        if here:
            self.player.future.set_result(play())
        else:
            self.player.play(play)

    @property
    def waits(self) -> bool:
        """Whether a call had to be ended."""
        outcome = None if self.found is None else self.found.outcome
        return self.player.lost is not None or (outcome is not None and outcome.ended is not None)

    def finish(self) -> None:
        """Look at what is left once it is done or lost; errors of the mock and of ``make_client`` pass through."""
        lost, calling, settings = self.player.lost, self.calling, self.leave()
        if lost is not None and calling is not None:
            if lost.ended == "stood still":
                self.run.note_standstill()
            self.found = calling[0].lost(lost, calling[1], lost.waited)
        elif lost is None:
            self.player.future.result()
        if not self.scenario.steps:  # a test may set variables in make_client
            self.run.sets_variables |= "os.environ" in settings
        changed = [name for name in settings if name != "os.environ" or not self.run.sets_variables]
        if changed and self.found is None:
            self._judge_process(Process(settings=changed))

    def leave(self) -> list[str]:
        """End its worlds and its thread; return the changed settings of the program."""
        self.player.end()
        settings = [] if self.watch is None else self.watch.end()
        for actor in self.actors:
            actor.petstore.cancel_faults()  # none of them need have fired
        self._worlds.close()
        self._stack.close()
        return settings

    def _judge_process(self, facts: Process) -> None:
        actor = self.actors[-1]
        try:
            actor.judge(actor.observed(doing="the client" if facts.settings else "close()", process=facts))
        except Found as found:
            self.found = found

    # In its own thread

    def _play(self, first: PetStoreMock) -> None:
        try:
            self._new_actor("client", "petstore", first)
            for taken, step in enumerate(self.scenario.steps, 1):
                self.taken = taken
                self._take(step)
            self._end()
        except Found as found:
            self.found = found
        finally:
            for actor in self.actors:
                if hasattr(actor, "client"):
                    attempt(actor.client.close, self.run.options.classify)
                    del actor.client

    def _new_world(self) -> PetStoreMock:
        key = self.run.new_key() if self.scenario.odd_key else None
        petstore = self._worlds.enter_context(self.mock.fresh(behaviour=self.scenario.behaviour, api_key=key))
        if self.scenario.hours_ahead:
            petstore.clock.advance(hours=self.scenario.hours_ahead)
        return petstore

    def _new_actor(self, name: str, world: str, petstore: PetStoreMock) -> None:
        self.actors.append(Actor(self, name, world, petstore))
        try:
            self.actors[-1].begin()
        except (Found, PetStoreMockError):
            raise
        except Exception as error:
            if self.scenario.environment is None:  # it could be made before
                raise
            outcome = Outcome(error=error)
            raise _says("make_client", f"{outcome}", "the service has an address like any other", outcome) from None
        self.actor = self.actors[-1]
        if not self.run.operations:
            self.run.meet(self.actor.client, petstore)

    def _end(self) -> None:
        for actor in self.actors:
            actor.petstore.cancel_faults()
        closed = all(actor.client.closing is not None for actor in self.actors)
        for actor in self.actors:
            actor.close()
        if self.watch is None:
            return
        facts = Process(threads=self.watch.threads_left(self._forget, closed=closed), allowed_connections=self.before)
        settled(lambda: self.connections() <= self.before)
        facts.connections = self.connections()
        self._judge_process(facts)

    def _forget(self) -> None:
        for actor in self.actors:
            del actor.client

    # Steps

    def _take(self, step: Step) -> None:
        if isinstance(step, Ask):
            if step.operation in self.actor.client.operations:
                self.ask(self._call(step))
        elif isinstance(step, Act):
            self._act(step.kind, dict(step.arguments))
        elif isinstance(step, PlannedFault):
            self._inject(step)
        elif isinstance(step, Together):
            self._together(step)
        elif isinstance(step, Own):
            self._own(step.name)
        else:
            self._switch()

    def _call(self, ask: Ask) -> Call:
        return Call(ask.operation, {name: self._chosen(value) for name, value in ask.arguments.items()})

    def _chosen(self, value: Any) -> Any:  # noqa: ANN401  # an argument is any value
        return self.actor.model.chosen(value) if isinstance(value, Pick) else value

    def ask(self, call: Call) -> None:
        """Let the client whose turn it is make a call."""
        self.lines.append(f"{self.actor.name}.{call.code}")
        self.actor.call(call).error = None  # its traceback may hold a connection open
        if self._redirection is not None:  # it would lead another call astray
            self._redirection.cancel()
            self._redirection = None
            self.lines.append("redirection.cancel()")

    def _together(self, step: Together) -> None:
        calls = self._call(step.first), self._call(step.second)
        if {call.operation for call in calls} <= self.actor.client.operations.keys():
            asked = ", ".join(f"checks.Call({call.operation!r}, {literal(call.arguments)})" for call in calls)
            places = f"hold={step.hold}" + ("" if step.then is None else f", then={step.then}")
            self.lines.append(f"{self.actor.name}.at_once({asked}, {places})")
            self.actor.at_once(*calls, hold=step.hold, then=step.then)

    def _own(self, name: str) -> None:
        self.lines.append(f"{name}({self.actor.name}, {self.actor.world})")
        caller = Caller(self)
        try:
            self.run.options.steps[name](caller, self.actor.petstore)
        except (Found, PetStoreMockError):
            raise
        except Exception as error:  # noqa: BLE001  # a test's own code raises anything
            if error is not caller.error:  # an error of a call is allowed: the checks have seen it
                outcome = Outcome(error=error)
                words = f"failed: {error}" if isinstance(error, AssertionError) else f"{outcome}"
                raise _says(name, words, "a step of the test's own says so", outcome) from None
        self.actor.model.apply(self.actor.petstore.pets)

    def _switch(self) -> None:
        if len(self.actors) == 1:
            self.used.add("other")
            self._new_actor("other_client", "other", self._new_world())
        else:
            self.actor = self.actors[1 - self.actors.index(self.actor)]

    def _inject(self, step: PlannedFault) -> None:
        fault, code = self._led(step.fault, step.on)
        if fault.row.meets_handshakes:
            self.flaw = fault
        times = "" if fault.kind == "sequence" else f", times={step.times}"
        after = f", after={step.after}" if step.after else ""
        at = f", at={step.at!r}" if step.at != "before_commit" else ""
        on = "" if step.on is None else f", on={step.on!r}"
        self._did(f"inject({code}{times}{on}{after}{at})")
        handle = replace(step, fault=fault).inject(self.actor.petstore)
        if fault is not step.fault:
            self.lines[-1] = f"redirection = {self.lines[-1]}"
            self._redirection = handle

    def _led(self, fault: Fault, on: str | None) -> tuple[Fault, str]:
        """Return a fault with the places that its Location leads to, and its code."""
        fields: Mapping[str, str] = fault.arguments.get("headers") or {}
        location = fields.get("Location", "")
        if not ("{" in location or location.startswith(BASE_PATH)):
            return fault, repr(fault)
        path = "/pets"
        if on is not None and OPERATIONS[on].path_parameter is not None:
            path = OPERATIONS[on].path.partition("{")[0] + str(self.actor.model.chosen(Pick()))
        path = location.replace("{own}", path).replace("{elsewhere}", "").replace("{petstore}", "")
        url, code = "", repr(path)
        if "{elsewhere}" in location and self.elsewhere is not None:
            url, code = self.elsewhere.url, f"elsewhere.url + {path!r}"
            self.used.add("elsewhere")
        elif "{petstore}" in location:
            url, code = self.actor.petstore.url, f"{self.actor.world}.url + {path!r}"
        made = faults.respond(fault.status or 307, headers={"Location": url + path})
        return made, f"faults.respond({fault.status}, headers={{'Location': {code}}})"

    def _act(self, kind: str, given: dict[str, Any]) -> None:
        petstore, model = self.actor.petstore, self.actor.model
        picked = model.chosen(given.pop("pet")) if "pet" in given else 0
        if kind == "spoil":
            if self.lines and self.actor.spoil():
                self.lines[-1] = f"spoil({self.lines[-1]})"
            return
        if (kind in {"update", "remove"} and picked not in model.pets) or (
            kind == "seed_many" and len(model.pets) > _MOST_PETS
        ):
            return
        if kind == "seed" and given.get("id") in model.pets:
            del given["id"]
        positional = (
            [picked] if kind in {"update", "remove"} else [given.pop(name) for name in ("count", "at") if name in given]
        )
        owner, name = (petstore.clock, "clock.travel_to") if kind == "travel_to" else (petstore, kind)
        getattr(owner, kind)(*positional, **given)
        written = [*map(literal, positional), *(f"{name}={literal(value)}" for name, value in given.items())]
        self._did(f"{name}({', '.join(written)})")
        if kind in {"seed", "seed_many", "update", "remove"}:
            model.apply(petstore.pets)

    def _did(self, code: str) -> None:
        self.lines.append(f"{self.actor.world}.{code}")


class Caller:
    """The client as a step of the test's own gets it: each call of its methods is checked; the error is raised."""

    def __init__(self, example: Example) -> None:
        self._example = example
        self.error: BaseException | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # a method of the interface
        row = next((row for row in OPERATIONS.values() if row.client_method == name), None)
        if row is None:
            message = f"the client has no method {name}"
            raise AttributeError(message)
        return partial(self._call, row.name)

    def _call(self, operation: str, *positional: Any, **given: Any) -> Any:  # noqa: ANN401
        outcome = self._example.actor.call(Call.of(OPERATIONS[operation], positional, given))
        self.error = outcome.error
        if outcome.error is not None:
            raise outcome.error
        return outcome.value


def _says(subject: str, sentence: str, words: str, outcome: Outcome) -> Found:
    """Return a finding that no check of an observation makes."""
    check = Check(subject, "1", words, frozenset(), lambda _: None)
    return Found(Finding(check, subject, Broken(sentence, "1", words)), outcome)


def play_all(run: Run, scenarios: Sequence[Scenario], *, alone: bool = True, here: bool = False) -> list[Example]:
    """Play scenarios, side by side or ``here`` in this thread; return the examples, each with what it found."""
    examples = [Example(run, scenario, alone=alone) for scenario in scenarios]
    try:
        for example in examples:
            example.start(here=here)
        attend([example.player for example in examples])
    except BaseException:
        for example in examples:
            example.leave()
        raise
    for example in examples:
        example.finish()
    return examples
