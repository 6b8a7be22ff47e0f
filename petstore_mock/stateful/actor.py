"""A client in its world: makes its calls, and holds what comes of each against the checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.checks import Call, Finding, Observation, Outcome, Process
from petstore_mock.checks.adapting import AdaptedClient
from petstore_mock.checks.attending import Player, UnderWay, client_threads
from petstore_mock.checks.process import MOST_CONNECTIONS, Watch, settled
from petstore_mock.checks.watched import Checked, open_connections
from petstore_mock.strategies.plans import PlannedFault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from petstore_mock.faults import Fault
    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.run import Run
    from petstore_mock.strategies.scenario import Pick, Scenario, Step

_ARRIVES: Final = 0.05  # seconds that the request of a failed call may be under way
_CLOSES: Final = 0.002  # seconds that the service takes to close a broken connection
_MOST_LASTING: Final = 3  # times that threads outlast their call, until it is known that they do
_PAIR_STANDSTILL: Final = 3.0  # seconds; two calls at once meet nothing that a client pauses for


class Found(Exception):  # noqa: N818  # it says what it is
    """A check failed."""

    def __init__(self, finding: Finding, outcome: Outcome | None) -> None:
        super().__init__(str(finding))
        self.finding = finding
        self.outcome = outcome


class Model:
    """What another actor knows of a world: its animals, and those that have vanished."""

    def __init__(self) -> None:
        self.pets: Mapping[int, Mapping[str, Any]] = {}
        self.vanished: list[int] = []
        self._ids: list[int] = []  # the newest last

    def apply(self, pets: Sequence[Mapping[str, Any]]) -> None:
        """Learn which animals there are now."""
        now = {pet["id"]: pet for pet in pets}
        self.vanished += [pet_id for pet_id in self._ids if pet_id not in now]
        self._ids = [pet_id for pet_id in self._ids if pet_id in now] + [one for one in now if one not in self.pets]
        self.pets = now

    def chosen(self, pick: Pick) -> int:
        """Return the id that a pick stands for; one that was never there if there is none to choose."""
        ids = self._ids if pick.which == "known" else self.vanished
        return ids[-1 - pick.index % len(ids)] if ids else 1 if pick.which == "known" else 404


class Scene:
    """What a client acts in: its world, the process, and the other clients."""

    def __init__(self, run: Run, scenario: Scenario, *, alone: bool = True) -> None:
        self.run, self.scenario = run, scenario
        self.player = Player()
        self.actors: list[Actor] = []  # each in a world of its own
        self.calling: tuple[Actor, Call | None] | None = None
        self.flaw: Fault | None = None  # that connections meet in their handshake
        self.mock = run.mock("ipv6" if scenario.environment == "ipv6" else "petstore")
        self.elsewhere: PetStoreMock | None = None
        self._seen_elsewhere = 0
        # Its thread is none of the client's: it begins before the process is observed.
        self.other_mock = run.mock("elsewhere") if any(map(_leads_elsewhere, scenario.steps)) else None
        self.watch = Watch() if alone else None  # the process can't be observed beside other examples
        self.before = self.connections()

    @property
    def most_connections(self) -> int:
        """The connections that may be open."""
        return self.before + MOST_CONNECTIONS * max(1, len(self.actors))

    def connections(self) -> int:
        """Return how many connections of clients are open."""
        return sum(open_connections(mock) for mock in (self.mock, self.other_mock) if mock is not None)

    def foreign(self, actor: Actor) -> list[Exchange]:
        """Return the new requests that reached another world than that of ``actor``."""
        found: list[Exchange] = []
        for other in self.actors:
            if other is not actor and len(other.petstore.journal) > other.seen:
                found += other.petstore.journal[other.seen :]
                other.seen = len(other.petstore.journal)
        if self.elsewhere is not None and len(self.elsewhere.journal) > self._seen_elsewhere:
            found += self.elsewhere.journal[self._seen_elsewhere :]
            self._seen_elsewhere = len(self.elsewhere.journal)
        return found


def _leads_elsewhere(step: Step) -> bool:
    return isinstance(step, PlannedFault) and "{elsewhere}" in str((step.fault.arguments.get("headers") or {}).values())


class Actor(Checked):
    """A client in a world of its own, as an example plays it."""

    def __init__(self, scene: Scene, name: str, world: str, petstore: PetStoreMock) -> None:
        run = scene.run
        super().__init__(petstore, run.checks, run.options.classify, run.options.read_pet, run.limits)
        self.name, self.world = name, world
        self.model = Model()
        self._scene, self._run = scene, run
        self._call: Call | None = None

    def begin(self) -> None:
        """Make the client."""
        options = self._run.options
        self.client = AdaptedClient(options.make_client, self.petstore, methods=options.methods)
        self.judge(self.observed(doing="make_client", process=self.facts()))

    # Calls

    def call(self, call: Call) -> Outcome:
        """Make a call, and check it."""
        self._begin(call)
        connections, before = self._scene.connections(), self.seen
        outcome = super().call(call)
        faults = [one.fault for one in self.petstore.journal[before:]] if outcome.error is not None else []
        if any(fault is not None and fault.row.needs_socket for fault in faults):
            settled(lambda: self._scene.connections() < max(connections, 1), _CLOSES)  # else the next call is a race
        return outcome

    def at_once(self, first: Call, second: Call, *, hold: int = 1, then: int | None = None) -> None:
        """Make two calls at once, and check both; of two alike, nobody could tell which response belongs to which."""
        self._begin(first)
        if first != second:
            limits = self.limits
            self.limits = replace(limits, standstill=min(_PAIR_STANDSTILL, limits.standstill))
            super().at_once(first, second, hold=hold, then=then)
            self.limits = limits

    def _begin(self, call: Call) -> None:
        """Leave out what the client sent between two calls: nobody knows what for."""
        self._call, sent = call, len(self.petstore.journal)
        self._run.sends_by_itself |= sent > self.seen
        self.seen = sent

    def attempt(self, function: Callable[[], Any]) -> Outcome:
        """Call the client; the thread that looks after the example ends a hang."""
        scene, run, threads = self._scene, self._run, client_threads()
        end_hang = self.petstore.stop  # held responses of its world end
        under_way = UnderWay(self.petstore.journal, self.limits, end_hang, handshake=scene.flaw is not None)
        scene.calling = (self, self._call)
        scene.player.under_way = under_way
        try:
            outcome = super().attempt(function)
        finally:
            scene.player.under_way = None
        if under_way.ended == "hung":
            outcome.ended = "hung"
        if client_threads() > threads and run.lasting_threads < _MOST_LASTING:  # they may send requests of the call
            run.lasting_threads += not settled(lambda: client_threads() <= threads, _ARRIVES)
        return outcome

    def spoil(self) -> bool:
        """Change the latest result, as its owner may; return whether there is one."""
        results, self._results = self._results, []
        if results:
            spoil(results[-1].value)
        return bool(results)

    # What is seen

    def facts(self) -> Process | None:
        """Return what the process shows; None while other examples run beside this one."""
        watch, most = self._scene.watch, self._scene.most_connections
        if watch is None:
            return None
        settled(lambda: self._scene.connections() <= most, _ARRIVES)
        return Process(self.client.client, watch.take(), self._scene.connections(), most)

    def observed(self, **given: Any) -> Observation:  # noqa: ANN401  # of an observation
        """Return what happened since the last look."""
        seen = super().observed(**given)
        if any(exchange.executed for exchange in seen.exchanges):
            self.model.apply(self.petstore.pets)
        if "doing" not in given:
            self._run.report.count(seen.exchanges)
        tasks_go_on = hasattr(self, "client") and self.client.tasks_go_on
        seen.pets, seen.flaw, seen.foreign = self.model.pets, self._scene.flaw, self._scene.foreign(self)
        seen.shared = self._run.sends_by_itself or tasks_go_on
        return seen

    def fail(self, finding: Finding, outcome: Outcome | None) -> None:
        """Raise what is wrong."""
        raise Found(finding, outcome)

    def lost(self, under_way: UnderWay, call: Call | None, seconds: float) -> Found | None:
        """Return what is wrong with a call whose thread was left behind."""
        ended = None if under_way.ended == "ran away" else under_way.ended
        outcome = None if ended is None else Outcome(seconds=seconds, ended=ended)
        try:
            self.judge(self.observed(call=call, outcome=outcome, doing="close()"))
        except Found as found:
            return found
        return None

    def close(self) -> None:
        """Close the client, and check how it does so."""
        self._results.clear()
        self._call = None
        outcome = self.attempt(self.client.close)
        process = self.facts()
        if process is not None:
            process.tasks, process.connections = self.client.tasks_left, 0
        self.judge(self.observed(doing="close()", outcome=outcome, process=process))


def spoil(result: Any) -> None:  # noqa: ANN401  # a client returns any object
    """Change a result of a client, as a caller may do with an object of its own.

    Args:
        result: an animal, or a list of them; an object that can't be changed stays as it is.
    """
    try:
        first = result if not isinstance(result, list) else result[0]
        if isinstance(first, dict):
            first["name"] = "spoilt"
        else:
            first.name = "spoilt"
        result.clear()
    except Exception:  # noqa: BLE001, S110  # an immutable result can't be spoilt
        pass
