"""One example: a scenario, played in worlds of its own, with the same lines as its pasted test."""

from __future__ import annotations

import sys
import threading
import traceback
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from petstore_mock import faults
from petstore_mock.checks import Call, Outcome, WatchedClient
from petstore_mock.checks.reading import literal
from petstore_mock.checks.scenario import Pick, PlannedFault, Together
from petstore_mock.checks.watched import Found
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.table import OPERATIONS
from petstore_mock.stateful.environments import environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.checks.scenario import Scenario, Step
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.run import Run

_MOST_PETS: Final = 120  # with more animals than this, other actors add none by seed_many
_FRAMES: Final = 8  # of a traceback, at most; around a lock, a library may add several
_LEFT_OUT: Final = (threading.__file__, __file__.rpartition("stateful")[0])
_KNOWN_STANDSTILL: Final = 2.0  # seconds without a request, after the first call that stood still
_DEFAULTS: Final = {"times": None, "on": None, "after": 0, "at": "before_commit"}  # of ``inject()``


class World:
    """A mock, and the names of the mock and its client in the pasted test."""

    def __init__(self, client: str, name: str, petstore: PetStoreMock) -> None:
        self.client, self.name, self.petstore = client, name, petstore
        self._known: dict[int, None] = {}  # ids, the newest last
        self._vanished: list[int] = []

    def ids(self) -> list[int]:
        """Return the ids of the animals, the newest last."""
        now = dict.fromkeys(pet["id"] for pet in self.petstore.pets)
        self._vanished += [one for one in self._known if one not in now]
        self._known = dict.fromkeys(one for one in (*self._known, *now) if one in now)
        return list(self._known)

    def chosen(self, value: Any) -> Any:  # noqa: ANN401  # an argument is any value
        """Return the id for a pick, or the value itself; without a matching animal, an unknown id."""
        if not isinstance(value, Pick):
            return value
        known = self.ids()
        ids = known if value.which == "known" else self._vanished
        return ids[-1 - value.index % len(ids)] if ids else 1 if value.which == "known" else 404

    def call(self, step: Call) -> Call:
        """Return the call of a step with ids instead of picks."""
        return Call(step.operation, {name: self.chosen(value) for name, value in step.arguments.items()})


class Example:
    """One example."""

    def __init__(self, run: Run, scenario: Scenario, *, alone: bool = True) -> None:
        self.run, self.scenario = run, scenario
        # While other examples run, facts about the process can't be attributed to this one.
        self._checks = [one for one in run.checks if alone or "process" not in one.needs]
        self.lines: list[str] = []  # the steps so far, as lines of the pasted test
        self.taken = 0
        self.found: Found | None = None
        self.worlds: dict[str, World] = {}
        self._names: dict[str, Any] = {"faults": faults}  # the names in the lines
        self._clients: list[WatchedClient] = []
        self._stack = ExitStack()
        self.raised = ""  # the client's lines, if the sentence alone does not explain the bug

    @property
    def waited(self) -> bool:
        """Whether the machine had to give up on a call."""
        outcome = None if self.found is None else self.found.outcome
        return outcome is not None and outcome.ended is not None

    def play(self) -> Self:
        """Play the steps and keep the first failed check; raise errors of the mock and of ``make_client``."""
        scenario, run = self.scenario, self.run
        run.report.begin_example(scenario.behaviour)
        with self._stack:
            if scenario.environment is not None:
                self._stack.enter_context(environment(scenario.environment))
            self._names["elsewhere"] = self._stack.enter_context(run.mock("elsewhere").fresh())
            try:
                self._begin("client", "petstore")
                for self.taken, step in enumerate(scenario.steps, 1):
                    self._take(step)
                for world in reversed(self.worlds.values()):
                    world.petstore.cancel_faults()
                    self._names[world.client].close()
            except Found as found:
                self.found, self.raised = found, self._stack_of(found.outcome)
                if found.outcome is not None and found.outcome.ended == "stood still":
                    run.limits.standstill = min(_KNOWN_STANDSTILL, run.limits.standstill)
            finally:
                self._end()
        return self

    def _end(self) -> None:
        for client in self._clients:
            with suppress(Found):  # the first failed check counts
                client.close()
            self.run.report.calls += client.calls
        for world in self.worlds.values():
            world.petstore.cancel_faults()  # no fault is required to fire
            self.run.report.count(world.petstore.journal)

    def _begin(self, client: str, name: str) -> None:
        run, scenario, options = self.run, self.scenario, self.run.options
        mock = run.mock("ipv6" if scenario.environment == "ipv6" else "petstore")
        key = run.new_key() if scenario.odd_key else None
        petstore = self._stack.enter_context(mock.fresh(behaviour=scenario.behaviour, api_key=key))
        others = [self._names["elsewhere"], *(world.petstore for world in self.worlds.values())]
        self._world = self.worlds[name] = World(client, name, petstore)
        made = partial(WatchedClient, options.make_client, petstore, others=others, checks=self._checks, quiet=True)
        try:
            watched = made(classify=options.classify, read_pet=options.read_pet, methods=options.methods)
        except (Found, PetStoreMockError):
            raise
        except Exception as error:
            if scenario.environment is None:  # the environment is not the cause, so this is an error of the test
                raise
            outcome = Outcome(error=error)
            why = " (the base address may be any valid URL)" if scenario.environment == "ipv6" else ""
            sentence = f"make_client {outcome}{why}."
            raise Found(sentence, outcome) from None
        watched.limits = run.limits
        for one in self._clients:
            one.others.append(petstore)
        self._clients.append(watched)
        self._names |= {client: watched, name: petstore}
        if not run.operations:
            run.meet(watched.client.operations, petstore)

    # Steps

    def _do(self, line: str, action: Callable[[], object] | None = None) -> None:
        """Run a line of the pasted test, or ``action`` if the values of the line may have no Python source."""
        self.lines.append(line)
        if action is None:
            # The example runs the very text that the pasted test shows, so the two can't differ. Its values come from
            # the scenario, and ``literal`` and ``repr`` quote them.
            exec(line, self._names)  # noqa: S102
        else:
            action()

    def _take(self, step: Step) -> None:
        if isinstance(step, Call):
            self._ask(step)
        elif isinstance(step, PlannedFault):
            self._inject(step)
        elif isinstance(step, Together):
            self._together(step)
        elif step.kind == "spoil":
            self._do(f"{self._world.client}.spoil()")
        elif step.kind == "switch":
            self._switch()
        elif step.kind == "own":
            self._own(step.arguments["step"], self._names[self._world.client])
        else:
            self._act(step.kind, dict(step.arguments))

    def _ask(self, step: Call) -> None:
        world = self._world
        if step.operation in self.run.operations:
            call = world.call(step)
            positional, keywords = call.python
            method = getattr(self._names[world.client], call.row.client_method)
            self._do(f"{world.client}.{call.code}", partial(method, *positional, **keywords))

    def _together(self, step: Together) -> None:
        world = self._world
        pair = world.call(step.first), world.call(step.second)
        if pair[0] != pair[1] and {call.operation for call in pair} <= self.run.operations.keys():
            code = ", ".join(f"checks.Call({call.operation!r}, {literal(call.arguments)})" for call in pair)
            then = "" if step.then is None else f", then={step.then}"
            action = partial(self._names[world.client].at_once, *pair, hold=step.hold, then=step.then)
            self._do(f"{world.client}.at_once({code}, hold={step.hold}{then})", action)

    def _switch(self) -> None:
        if "other" in self.worlds:
            self._world = self.worlds["petstore" if self._world.name == "other" else "other"]
        else:
            self._begin("other_client", "other")

    def _own(self, name: str, client: WatchedClient) -> None:
        world = self._world
        client.quiet = False  # your step gets the errors of its calls
        try:
            action = partial(self.run.steps[name], client, world.petstore)
            self._do(f"{name}({world.client}, {world.name})", action)
        except (Found, PetStoreMockError):
            raise
        except Exception as error:  # noqa: BLE001  # your step may raise anything
            if error is not client.raised:  # else a call raised the error, and the checks allowed it
                outcome = Outcome(error=error)
                words = f"failed: {error}" if isinstance(error, AssertionError) else f"{outcome}"
                raise Found(f"{name} {words} (a step of your test).", outcome) from None
        finally:
            client.quiet = True

    def _inject(self, step: PlannedFault) -> None:
        world, code = self._world, repr(step.fault)
        row = OPERATIONS.get(step.on or "")
        if row is not None:
            ids = {one.name: world.chosen(Pick()) for one in row.parameters if one.where == "path"}
            code = code.replace("{own}", row.path.format(**ids))
        for name in ("petstore", "elsewhere"):  # the targets of redirections
            code = code.replace(f"'{{{name}}}", f"{world.name if name == 'petstore' else name}.url + '")
        given = [f"{name}={value!r}" for name, usual in _DEFAULTS.items() if (value := getattr(step, name)) != usual]
        self._do(f"{world.name}.inject({', '.join([code, *given])})")

    def _act(self, kind: str, given: dict[str, Any]) -> None:
        world, ids = self._world, self._world.ids()
        positional = [world.chosen(given.pop(name)) for name in ("pet", "count", "at") if name in given]
        is_void = kind in {"update", "remove"} and positional[0] not in ids
        if is_void or (kind == "seed_many" and len(ids) > _MOST_PETS):
            return
        if given.get("id") in ids:
            del given["id"]
        written = [*map(literal, positional), *(f"{name}={literal(value)}" for name, value in given.items())]
        self._do(f"{world.name}.{kind}({', '.join(written)})")

    def _stack_of(self, outcome: Outcome | None) -> str:
        """Return the client's lines that raised an unknown exception, or in which a call waits."""
        if outcome is not None and outcome.ended is not None:
            lost = next((client.player.ident for client in self._clients if client.player.is_lost), 0)
            frame = sys._current_frames().get(lost)  # noqa: SLF001  # public by its documentation
            return "".join(_own(traceback.extract_stack(frame)).format()).rstrip() if frame is not None else ""
        if outcome is None or outcome.error is None or outcome.kind is not None:
            return ""
        told = traceback.TracebackException.from_exception(outcome.error)
        told.stack = _own(told.stack)
        return "".join(told.format(chain=False)).rstrip()


def _own(stack: traceback.StackSummary) -> traceback.StackSummary:
    own = [line for line in stack if not line.filename.startswith((*_LEFT_OUT, "<"))]
    return traceback.StackSummary.from_list(own[-_FRAMES:])
