"""One example: what a client does on its scene, step by step, and how it is checked. Knows no Hypothesis."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from petstore_mock.common.real_time import RealTime
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful.bug_report import ClientBugError, explain
from petstore_mock.stateful.checks import concurrency, conduct, lifecycle
from petstore_mock.stateful.checks.outcome import answer_problem, observe
from petstore_mock.stateful.checks.output import output_problem
from petstore_mock.stateful.checks.program import program_problem
from petstore_mock.stateful.checks.representation import shown_problem
from petstore_mock.stateful.checks.requests import asks_for, wire_problem
from petstore_mock.stateful.model.actor import Result
from petstore_mock.stateful.model.call import NO_CALL, Call, Outcome, Problem
from petstore_mock.stateful.model.oracle import Contradiction
from petstore_mock.stateful.run import MOST_LASTING
from petstore_mock.stateful.scene import Scene
from petstore_mock.stateful.watchdog import PAIR, attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from petstore_mock.contract.interface import OperationName
    from petstore_mock.core.fault_rule import CommitPoint
    from petstore_mock.faults import Fault
    from petstore_mock.journal.entry import Entry
    from petstore_mock.stateful.model.actor import Actor
    from petstore_mock.stateful.model.adapter import AdaptedClient
    from petstore_mock.stateful.model.oracle import Oracle
    from petstore_mock.stateful.run import CheckRun
    from petstore_mock.stateful.scenario import Scenario
    from petstore_mock.stateful.steps import Step

__all__ = ["Example"]

_T = TypeVar("_T")
_WATCHED_RESULTS: Final = 2  # how many earlier results are held against their copies
_LARGEST_WATCHED: Final = 50  # animals
_CLOSING: Final = 0.002  # seconds that a service takes to close a connection
_NO_WAIT: Final = 0.01  # seconds up to which a call has not waited


class Example:
    """One example of the machine.

    Args:
        run: what all examples share.
        beginning: its world; of its steps none has happened yet.

    Attributes:
        scene: its worlds and clients, and what others do there.
    """

    def __init__(self, run: CheckRun, beginning: Scenario) -> None:
        run.begin_example(beginning)
        self._run = run
        self._before = run.listeners.open_connections()  # what a failure that Hypothesis keeps may still hold open
        self._beginning = beginning
        self._steps: list[Step] = []
        self._results: list[Result] = []
        self._threads = lifecycle.Threads()
        self._failed = False
        self._leaves_faults = False  # whether one met no request that every client sends
        try:
            self.scene = Scene(run, beginning)
        except ClientBugError as bug:  # it can't be made there
            bug.scenario = beginning
            raise

    @property
    def scenario(self) -> Scenario:
        """What has happened so far."""
        return replace(self._beginning, steps=tuple(self._steps))

    @property
    def oracle(self) -> Oracle:
        """What may be true in the world of the client whose turn it is."""
        return self.scene.actor.oracle

    def take(self, step: Step) -> None:
        """Let one thing happen.

        Raises:
            ClientBugError: a client did wrong.
        """
        before = self.scene.script.fingerprint
        self._steps.append(step)
        step.perform(self)
        if self.scene.script.fingerprint == before:  # there was nothing to change, or no time to wait
            self._steps.pop()

    def catch_up(self) -> None:
        """Take what rules of a subclass have done for granted: what they asked, and what they changed."""
        for actor in self.scene.actors:
            actor.seen = len(actor.petstore.journal)
            actor.oracle.catch_up(actor.petstore.pets, actor.seen)

    def inject(self, fault: Fault, *, on: OperationName, times: int | None, after: int, at: CommitPoint) -> bool:
        """Plan a fault, a sequence without ``times``; False when real waiting is over for this run."""
        if_told = fault.tells_to_wait
        if if_told or fault.takes_time:
            question = (self.scene.script.fingerprint, str(fault), on, times, after, at)
            if not self._run.waiting.allows(question, if_told=if_told):
                return False
        self.scene.inject(fault, on=on, times=times, after=after, at=at)
        return True

    # What the client does

    def repeat(self) -> None:
        """Let the client make its latest call again."""
        last = self.scene.actor.last
        if last is not None:
            self.call(last.operation, **last.arguments)

    def create(self, name: str, category_id: int, status: str | None) -> None:
        """Let the client add an animal."""
        self.call("createPet", name=name, category_id=category_id, status=status)

    def plain_call(self, operation: OperationName) -> None:
        """Let the client make a plain call of an operation."""
        if operation == "listPets":
            self.call("listPets")
        elif operation == "createPet":
            self.create("Rex", 1, None)
        else:
            self.call("getPet", pet_id=next(iter(self.oracle.pets), 1))

    def spoil(self) -> None:
        """Change what the latest call returned, as a caller may do with what it owns."""
        if not self._results:
            return
        result = self._results.pop()
        name = self.scene.script.name_result(result.place)
        value, path = result.value, name
        with contextlib.suppress(Exception):  # what can't be changed can't be spoilt, whatever it says to that
            if result.call.operation == "listPets":
                value, path = value[0], f"{name}[0]"
            if isinstance(value, Mapping):
                value["name"] = "spoilt"  # type: ignore[index]  # or it is suppressed
                self.scene.script.add(f"{path}['name'] = 'spoilt'")
            else:
                value.name = "spoilt"
                self.scene.script.add(f"{path}.name = 'spoilt'")
        with contextlib.suppress(Exception):
            result.value.clear()
            self.scene.script.add(f"{name}.clear()")

    def call(self, operation: OperationName, **arguments: Any) -> None:  # noqa: ANN401  # those of the three methods
        """Let the client make a call, and check it.

        Raises:
            ClientBugError: the client did wrong.
        """
        actor = self.scene.actor
        call = Call(operation, {name: value for name, value in arguments.items() if value is not None})
        waits, if_told = self.scene.may_take_time(operation)
        question = (self.scene.script.fingerprint, actor.name, str(call))
        if (waits or if_told) and not self._run.waiting.allows(question, if_told=not waits):
            return
        listeners = self._run.listeners
        connections = listeners.open_connections()
        self._threads.before_call()
        listeners.leaks.clear()
        self._leave_out_what_came_before(actor)
        started = RealTime.perf_counter()
        outcome = self._make(call, actor)
        outcome.seconds = RealTime.perf_counter() - started
        begun = self._threads.after_call()
        if begun and self._run.lasting_threads < MOST_LASTING:
            self._run.lasting_threads += not self._threads.end_soon(begun)
        if (waits or if_told) and outcome.seconds > _NO_WAIT:
            self._run.waiting.spend(outcome.seconds, if_told=not waits)
        if outcome.error is not None:
            actor.await_request()
        entries = actor.petstore.journal[actor.seen :]
        actor.seen += len(entries)
        if outcome.error is not None and any(entry.fault is not None and entry.fault.needs_socket for entry in entries):
            # The service closes what it has broken; a client that uses it again is to meet that, and no race.
            listeners.settles_at(max(connections - 1, 0), _CLOSING)
        self._leaves_faults |= _met_a_fault_by_itself(call, entries)
        actor.last = call
        self.scene.script.needs_adapter |= not actor.client.is_plain
        self._run.report.count(entries)
        problem = self._check(call, outcome, entries)
        if problem is not None and problem.question is not None:
            self._run.report.ask(problem.question)
            problem = None
        if problem is not None:
            self._fail(call, problem, outcome)
        place = self.scene.script.add_call(actor.name, call, raises=outcome.error is not None or _may_raise(entries))
        outcome.error = None  # its traceback holds a frame that holds the outcome
        try:
            if outcome.value is not None and _size(outcome.value) <= _LARGEST_WATCHED:
                result = Result(place, outcome.value, call, self._run.reader)
                self._results = [*self._results[1 - _WATCHED_RESULTS :], result]
        except Exception:  # noqa: BLE001, S110  # an object of the client's own that can't be copied is not watched
            pass

    def call_at_once(self, calls: tuple[Call, Call], hold: int, then: int | None) -> None:
        """Let the client make two calls at once, and check both.

        Args:
            calls: the calls; two of the same can't be told apart, and are not made.
            hold: before which of the client's own lines the first is held.
            then: before which of them the second is held in its turn.

        Raises:
            ClientBugError: the client did wrong.
        """
        actor, run, scene = self.scene.actor, self._run, self.scene
        met = any(scene.may_meet_fault(call.operation) or any(scene.may_take_time(call.operation)) for call in calls)
        self._leave_out_what_came_before(actor)
        if calls[0] == calls[1] or met or run.watchdog.shared:
            return
        run.listeners.leaks.clear()
        made = [partial(call.on, actor.client) for call in calls]
        whole = attempt(run.watchdog, actor.petstore, PAIR, run.companion.meet, *made, hold, then)
        outcomes = [whole, whole] if whole.value is None else [self._outcome(future) for future in whole.value]
        whole.value = None
        for call, outcome in zip(calls, outcomes, strict=True):
            if outcome.error is not None:
                actor.await_request(partial(asks_for, call))
        entries = actor.petstore.journal[actor.seen :]
        actor.seen += len(entries)
        scene.script.needs_adapter |= not actor.client.is_plain
        run.report.count(entries)
        run.report.calls += 1
        actor.last = calls[1]
        asked = [f"lambda: {actor.name}.{call.code()}" for call in calls]
        code = concurrency.at_once_code(asked, hold, then)
        for place, problem in self._check_both(calls, outcomes, entries):
            journal = f"{actor.world}.journal"
            told = concurrency.told_of_two(problem, calls, place, entries, code=code, journal=journal)
            self._fail(calls[place], told, outcomes[place])
        for outcome in outcomes:
            outcome.error = None  # as in call()
        scene.script.add(code)

    def _outcome(self, future: Future[Any]) -> Outcome:
        """Return what came of one of two calls."""
        error = future.exception()
        if isinstance(error, PetStoreMockError):
            raise error
        outcome = Outcome(error=error) if error is not None else Outcome(value=future.result())
        self._classify(outcome)
        return outcome

    def _check_both(
        self, calls: tuple[Call, Call], outcomes: Sequence[Outcome], entries: Sequence[Entry]
    ) -> Iterator[tuple[int, Problem]]:
        """Yield what is wrong with one of two calls, and which it is."""
        actor, reader = self.scene.actor, self._run.reader
        others = [other for other in self.scene.actors if other is not actor]
        for place, (call, outcome) in enumerate(zip(calls, outcomes, strict=True)):
            problem = self._ended_by_force(call, outcome, entries)
            if problem is not None and outcome.ended == "stood still":
                problem.words = concurrency.EACH_WAITS
            problem = problem or conduct.stray_problem(call, entries, others)
            problem = problem or concurrency.wire_problem_of_one(call, calls[1 - place], outcome, entries, actor)
            problem = problem or conduct.key_in_error_problem(call, outcome, actor.petstore.api_key)
            problem = problem or output_problem(self._run.output, f"{call}", "{call}")
            if problem is not None:
                yield place, problem
        read = self._explained(lambda: concurrency.observe_both(calls, outcomes, entries, actor.oracle))
        for place, (call, outcome) in enumerate(zip(calls, outcomes, strict=True)):
            own = [entry for entry in entries if asks_for(call, entry)] or entries
            problem = self._explained(
                partial(answer_problem, call, outcome, own, actor.oracle, read, reader=reader)
            ) or self._changed_result(call)
            problem = problem or self._left_open(call)
            if problem is not None:
                yield place, problem

    def _leave_out_what_came_before(self, actor: Actor) -> None:
        """Take what a thread from the start has sent between two calls for nobody's."""
        sent = len(actor.petstore.journal)
        asks_by_itself = self._run.begins_threads or actor.client.tasks_go_on
        if asks_by_itself and sent > actor.seen and not self._threads.were_begun:
            self._run.watchdog.shared = True
        if self._run.watchdog.shared:
            actor.seen = sent

    def _make(self, call: Call, actor: Actor) -> Outcome:
        """Make the call under the watchdog's eye."""
        try:
            outcome = attempt(self._run.watchdog, actor.petstore, call.operation, call.on, actor.client)
        except BaseException:  # somebody's at the keyboard, or a mistake in make_client: nothing else is to be told
            self._failed = True
            raise
        self._classify(outcome)
        return outcome

    def _classify(self, outcome: Outcome) -> None:
        if outcome.error is not None and not outcome.was_ended:
            with contextlib.suppress(Exception):  # what classify does not know is a bug of the client
                outcome.kind = self._run.classify(outcome.error)

    # Judgement

    def _explained(self, look: Callable[[], _T]) -> _T:
        """Return what ``look`` says of the answers of the fake, which must not contradict themselves."""
        try:
            return look()
        except Contradiction as error:
            self._failed = True
            raise PetStoreMockError(
                f"the fake contradicts itself, which is a bug in petstore_mock: {error}\n{self.scene.script}"
            ) from error

    def _check(self, call: Call, outcome: Outcome, entries: Sequence[Entry]) -> Problem | None:
        actor, shared = self.scene.actor, self._run.watchdog.shared
        others = [other for other in self.scene.actors if other is not actor]
        problem = conduct.stray_problem(call, entries, others, shared=shared, threads=self._threads.were_begun)
        problem = problem or conduct.leak_problem(call, actor, self.scene.elsewhere)
        if problem is None and not entries:
            problem = conduct.earlier_key_problem(call, outcome, self._run.listeners.leaks)
        if problem is None:
            problem = self._ended_by_force(call, outcome, entries)
            if problem is not None:
                return problem
            problem = wire_problem(call, outcome, entries, actor, shared=shared)
        if problem is not None and entries and shared:
            problem.sentence += ", or a thread did so that the client has started"
        elif problem is not None and entries and (self._threads.were_begun or actor.client.tasks_go_on):
            problem.await_threads(go_on=self._threads.go_on or actor.client.tasks_go_on)
        problem = problem or conduct.key_in_error_problem(call, outcome, actor.petstore.api_key)
        problem = problem or output_problem(self._run.output, f"{call}", "{call}")
        if problem is not None or not entries:
            return problem
        problem = self._explained(partial(self._answer_problem, call, outcome, entries, shared=shared))
        problem = problem or self._changed_result(call)
        if problem is not None and (_may_raise(entries) or self.scene.may_meet_fault(call.operation)):
            problem.allow_failures(call.operation)
        return problem or self._left_open(call)

    def _answer_problem(
        self, call: Call, outcome: Outcome, entries: Sequence[Entry], *, shared: bool
    ) -> Problem | None:
        oracle, reader, own_faults = self.oracle, self._run.reader, self._beginning.any_fault
        read = observe(call, outcome, entries, oracle)
        problem = answer_problem(call, outcome, entries, oracle, read, reader=reader, own_faults=own_faults)
        if problem is None or not shared:
            return problem
        # Nobody knows which answer was the call's, and which a thread's that asked the same.
        each = [[entry] for entry in entries if asks_for(call, entry)]
        told = (answer_problem(call, outcome, one, oracle, read, reader=reader, own_faults=own_faults) for one in each)
        return problem if None not in told else None

    def _ended_by_force(self, call: Call, outcome: Outcome, entries: Sequence[Entry]) -> Problem | None:
        """Return what is wrong with a call that the watchdog had to end."""
        if outcome.ended == "hung":
            return conduct.timeout_problem(call, self._run.watchdog.patience, outcome.seconds)
        if outcome.ended == "ran away":
            return conduct.runaway_problem(call, entries)
        if outcome.ended == "stood still":
            watchdog = self._run.watchdog
            stood, again = watchdog.stood, watchdog.comes_to_a_standstill
            watchdog.comes_to_a_standstill = True
            return conduct.standstill_problem(call, stood, entries, again=again, limit=watchdog.limit)
        return None

    def _changed_result(self, call: Call) -> Problem | None:
        """Return an earlier result that this call has changed under its owner's hands."""
        for result in self._results:
            if result.is_changed:
                name = self.scene.script.keep_result(result.place)
                check = ("{call}", f"assert {name} == kept")
                words = "what a call returned belongs to the caller"
                return Problem(f"{call} changed what {result.call} had returned", "4", words, check)
        return None

    def _left_open(self, call: Call) -> Problem | None:
        most = self._before + conduct.MOST_CONNECTIONS * len(self.scene.actors)
        listeners = self._run.listeners
        return (
            None
            if listeners.comes_down_to(most)
            else conduct.connections_problem(call, listeners.open_connections() - self._before)
        )

    def _fail(self, call: Call, problem: Problem, outcome: Outcome) -> None:
        self._failed = True
        actor = self.scene.actor
        unfired = any(handle.never_fired for handle in self.scene.faults)
        if unfired or self._leaves_faults:  # for which a mock answers at the end of its block
            ends = (f"{one.world}.cancel_faults()  # what was planned may come to nothing" for one in self.scene.actors)
            problem.check = (*problem.check, *ends)
        bug = explain(
            problem,
            self.scene.script,
            actor=actor.name,
            petstore=actor.world,
            call=call,
            outcome=outcome,
            journals=self.scene.journals(),
        )
        bug.scenario = self.scenario
        outcome.error = None  # Hypothesis keeps failures, and an exception of a library may hold a connection open
        raise bug

    # The end

    def end(self) -> None:
        """Close the clients and the worlds.

        Raises:
            ClientBugError: a client does not close as it should.
        """
        self._leaves_faults |= any(handle.never_fired for handle in self.scene.faults)  # which no cancelled one is
        for handle in self.scene.faults:
            handle.cancel()
        self._results.clear()
        try:
            clients = [actor.client for actor in self.scene.actors]
            for actor in self.scene.actors:
                self._close(actor)
            if not self._failed:
                self._check_threads(clients)
            clients.clear()
            if not self._failed:
                self._check_closed()
                self._check_program()
        finally:
            self.scene.close()

    def _close(self, actor: Actor) -> None:
        """Close a client, and check how it does it unless it has failed already."""
        watchdog = self._run.watchdog
        shown = None if self._failed else shown_problem(actor.client.client, actor.petstore.api_key)
        outcome = attempt(watchdog, actor.petstore, "close", actor.client.close)
        tasks_left = actor.client.tasks_left
        self._run.lasting_tasks += actor.client.tasks_go_on
        del actor.client
        if self._failed:
            return
        problem = shown or output_problem(self._run.output, "close()", "{client}.close()")
        problem = problem or lifecycle.left_tasks_problem(tasks_left)
        if problem is not None:
            self.scene.actor = actor
            self._fail(NO_CALL, problem, Outcome())
        for other in self.scene.actors:  # a request without a key reaches the other world
            entries = other.petstore.journal[other.seen :]
            other.seen += len(entries)
            problem = lifecycle.close_problem(outcome, other.world, entries, watchdog.standstill)
            if problem is not None:
                self.scene.actor = actor
                watchdog.comes_to_a_standstill |= outcome.ended == "stood still"
                self._fail(NO_CALL, problem, outcome)

    def _check_threads(self, clients: list[AdaptedClient]) -> None:
        can_be_closed = clients and all(client.can_be_closed for client in clients)
        if not any(client.can_be_closed for client in clients):
            clients.clear()  # what can't be closed has but to be forgotten
        count = self._threads.left(brief=self._run.threads_were_left > 0)
        self._run.threads_were_left += bool(count)
        if count and self._run.threads_were_left > 1:  # the first may have filled a pool that all examples share
            self.scene.script.counts_threads = True
            self._fail(NO_CALL, lifecycle.threads_problem(count), Outcome())
        if can_be_closed and not count and self._threads.go_on and self._run.held_threads < MOST_LASTING:
            self._run.held_threads += 1  # each look takes its time, and those of a pool of all clients never end
            held = self._threads.ended_by(clients.clear)
            if held:
                self._run.held_threads = 0
                self.scene.script.counts_threads = True
                self._fail(self.scene.actor.last or NO_CALL, lifecycle.held_threads_problem(held), Outcome())

    def _check_closed(self) -> None:
        listeners = self._run.listeners
        if listeners.comes_down_to(self._before):
            return
        problem = lifecycle.unclosed_problem(listeners.open_connections() - self._before)
        self._fail(self.scene.actor.last or NO_CALL, problem, Outcome())

    def _check_program(self) -> None:
        known = self._run.variables
        changes = [
            one for one in self.scene.program.end() if one.is_sure and not (one.variables and one.variables <= known)
        ]
        problem = program_problem("the client", changes)
        if problem is not None:
            self.scene.script.watches_program = True
            self._fail(NO_CALL, problem, Outcome())


def _size(value: Any) -> int:  # noqa: ANN401  # whatever a client returns
    """Return how many animals it holds, more or less."""
    return len(value) if isinstance(value, (Mapping, Sequence)) else 1


def _may_raise(entries: Sequence[Entry]) -> bool:
    """Whether a client that makes less of its answers than this one may raise: one was no plain success."""
    return any(entry.fault is not None or entry.condition is not None for entry in entries)


def _met_a_fault_by_itself(call: Call, entries: Sequence[Entry]) -> bool:
    """Whether a fault met what a client asked beyond the one request of its call."""
    met = (entry for place, entry in enumerate(entries) if place or entry.operation != call.operation)
    return any(entry.fault is not None for entry in met)
