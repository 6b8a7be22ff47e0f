"""One example: what a client does on its scene, step by step, and how it is judged. Knows no Hypothesis."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.real_time import RealTime
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful.bug_report import explain
from petstore_mock.stateful.checks.conduct import (
    MOST_CONNECTIONS,
    connections_problem,
    earlier_key_problem,
    key_in_error_problem,
    leak_problem,
    runaway_problem,
    standstill_problem,
    stray_problem,
    timeout_problem,
)
from petstore_mock.stateful.checks.lifecycle import Threads, close_problem, threads_problem, unclosed_problem
from petstore_mock.stateful.checks.logs import log_problem
from petstore_mock.stateful.checks.outcome import answer_problem, observe
from petstore_mock.stateful.checks.requests import asks_for, wire_problem
from petstore_mock.stateful.model.actor import Result
from petstore_mock.stateful.model.call import NO_CALL, Call, Outcome, Problem, close_client, require_answer
from petstore_mock.stateful.model.oracle import Contradiction
from petstore_mock.stateful.scene import Scene
from petstore_mock.stateful.shrinking import takes_time, tells_to_wait
from petstore_mock.stateful.watchdog import attempt

if TYPE_CHECKING:
    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.contract.interface import OperationName
    from petstore_mock.journal.entry import Entry
    from petstore_mock.stateful.model.actor import Actor
    from petstore_mock.stateful.model.call import PetClient
    from petstore_mock.stateful.run import Run

__all__ = ["Example"]

_WATCHED_RESULTS: Final = 2  # how many earlier results are held against their copies
_LARGEST_WATCHED: Final = 50  # animals
_CLOSING: Final = 0.002  # seconds that a service takes to close a connection
_LASTING: Final = 3  # times that threads outlast their call before they are known to be no errand of it
_NO_WAIT: Final = 0.01  # seconds up to which a call has not waited


class Example(Scene):
    """One example of the machine.

    Args:
        run: what all examples share.
        behaviour: what the service does where the interface shows nothing.
        odd_keys: whether every kind of character is in its keys that may be in one.
    """

    def __init__(self, run: Run, behaviour: Behaviour, *, odd_keys: bool = False) -> None:
        run.start_over()
        run.ear.start_over()
        self._before = run.open_connections()  # what a failure that Hypothesis keeps may still hold open
        self._is_limited = "rate_limit" in behaviour.differences()
        self._results: list[Result] = []
        self._threads = Threads()
        self._failed = False
        self._leaves_faults = False  # whether one met no request that every client sends
        super().__init__(run, behaviour, odd_keys=odd_keys)  # makes the first client, for which the above must stand

    # What the client does

    def repeat(self) -> None:
        """Let the client make its latest call again."""
        if self.actor.last is not None:
            self.call(self.actor.last.operation, **self.actor.last.arguments)

    def spoil(self) -> None:
        """Change what the latest call returned, as a caller may do with what it owns."""
        if not self._results:
            return
        result = self._results.pop()
        name = self.script.name_result(result.place)
        value, path = result.value, name
        with contextlib.suppress(Exception):  # what can't be changed can't be spoilt, whatever it says to that
            if not isinstance(value, Mapping):
                value, path = value[0], f"{name}[0]"
            value["name"] = "spoilt"
            self.script.add(f"{path}['name'] = 'spoilt'")
        with contextlib.suppress(Exception):
            result.value.clear()
            self.script.add(f"{name}.clear()")

    def call(self, operation: OperationName, **arguments: Any) -> None:  # noqa: ANN401  # those of the three methods
        """Let the client make a call, and judge it.

        Raises:
            ClientBugError: the client did wrong.
        """
        actor = self.actor
        call = Call(operation, {name: value for name, value in arguments.items() if value is not None})
        waits, told_to = self._may_take_time(operation)
        if (waits or told_to) and not self.run.may_wait((self.script.course, actor.name, str(call)), told_to=not waits):
            return
        self.run.steps += 1
        connections = self.run.open_connections()
        self._threads.before_call()
        self.run.leftovers.clear()
        self._leave_out_what_came_before(actor)
        started = RealTime.perf_counter()
        outcome = self._make(call, actor)
        outcome.seconds = RealTime.perf_counter() - started
        begun = self._threads.after_call()
        if begun and self.run.lasting_threads < _LASTING:
            self.run.lasting_threads += not self._threads.end_soon(begun)
        if (waits or told_to) and outcome.seconds > _NO_WAIT:
            self.run.has_waited(outcome.seconds, told_to=not waits)
        if outcome.error is not None:
            actor.await_request()
        entries = actor.petstore.journal[actor.seen :]
        actor.seen += len(entries)
        if outcome.error is not None and any(entry.fault is not None and entry.fault.delivery for entry in entries):
            # The service closes what it has broken; a client that uses it again is to meet that, and no race.
            self.run.settles_at(max(connections - 1, 0), _CLOSING)
        self._leaves_faults |= _met_a_fault_by_itself(call, entries)
        actor.last = call
        problem = self._judge(call, outcome, entries)
        if problem is not None:
            self._fail(call, problem, outcome)
        place = self.script.add_call(actor.name, call, raises=outcome.error is not None or _may_raise(entries))
        outcome.error = None  # its traceback holds a frame that holds the outcome
        try:
            if isinstance(outcome.value, (Mapping, Sequence)) and len(outcome.value) <= _LARGEST_WATCHED:
                self._results = [*self._results[1 - _WATCHED_RESULTS :], Result(place, outcome.value, call)]
        except Exception:  # noqa: BLE001, S110  # an object of the client's own that can't be copied is not watched
            pass

    def _leave_out_what_came_before(self, actor: Actor) -> None:
        """Take what a thread from the start has sent between two calls for nobody's."""
        sent = len(actor.petstore.journal)
        if self.run.begins_threads and sent > actor.seen and not self._threads.were_begun:
            self.run.asks_by_itself()
        if self.run.shared:
            actor.seen = sent

    def _may_take_time(self, operation: str) -> tuple[bool, bool]:
        """Say whether a call may take real time by itself, and whether it may if the client waits when told to."""
        waits, told_to = False, self._is_limited
        for handle in self._faults:
            if handle.on in {None, operation} and not handle.spent:
                waits = waits or takes_time(handle.fault)
                told_to = told_to or tells_to_wait(handle.fault)
        return waits, told_to

    def _make(self, call: Call, actor: Actor) -> Outcome:
        """Make the call under the watchdog's eye."""
        try:
            outcome = attempt(self.run.watchdog, actor.petstore, call.operation, _answer, call, actor.client)
        except BaseException:  # somebody's at the keyboard, or a mistake in make_client: nothing else is to be told
            self._failed = True
            raise
        if outcome.error is not None and not outcome.was_ended:
            with contextlib.suppress(Exception):  # what classify does not know is a bug of the client
                outcome.kind = self.run.classify(outcome.error)
        return outcome

    # Judgement

    def _judge(self, call: Call, outcome: Outcome, entries: Sequence[Entry]) -> Problem | None:
        actor = self.actor
        others = [other for other in self._actors if other is not actor]
        problem = stray_problem(call, entries, others, shared=self.run.shared) or leak_problem(
            call, actor, self._elsewhere
        )
        if problem is None and not entries:
            problem = earlier_key_problem(call, outcome, self.run.leftovers)
        if problem is None:
            problem = self._ended_by_force(call, outcome, entries)
            if problem is not None:
                return problem
            key, journal = actor.petstore.api_key, actor.petstore.journal
            shared = self.run.shared
            problem = wire_problem(call, outcome, entries, key=key, port=actor.port, journal=journal, shared=shared)
        if problem is not None and entries and self.run.shared:
            problem.sentence += ", or a thread did so that the client has started"
        elif problem is not None and entries and self._threads.were_begun:
            problem.await_threads(go_on=self._threads.go_on)
        problem = problem or key_in_error_problem(call, outcome, actor.petstore.api_key)
        problem = problem or log_problem(self.run.ear, f"{call}", "{call}")
        if problem is not None or not entries:
            return problem
        try:
            read = observe(call, outcome, entries, actor.oracle)
            problem = answer_problem(call, outcome, entries, actor.oracle, read)
            if problem is not None and self.run.shared:
                # Nobody knows which answer was the call's, and which a thread's that asked the same.
                each = [[entry] for entry in entries if asks_for(call, entry)]
                told = (answer_problem(call, outcome, one, actor.oracle, read) for one in each)
                problem = problem if None not in told else None
        except Contradiction as error:
            self._failed = True
            raise PetStoreMockError(
                f"the fake contradicts itself, which is a bug in petstore_mock: {error}\n{self.script}"
            ) from error
        problem = problem or self._changed_result(call)
        if problem is not None and (_may_raise(entries) or self._may_meet_fault(call.operation)):
            problem.allow_failures(call.operation)
        return problem or self._left_open(call)

    def _ended_by_force(self, call: Call, outcome: Outcome, entries: Sequence[Entry]) -> Problem | None:
        """Return what is wrong with a call that the watchdog had to end."""
        if outcome.hung:
            return timeout_problem(call, self.run.patience, outcome.seconds)
        if outcome.ran_away:
            return runaway_problem(call, entries)
        if outcome.stood_still:
            watchdog = self.run.watchdog
            stood, again = watchdog.standstill, watchdog.comes_to_a_standstill
            watchdog.comes_to_a_standstill = True
            return standstill_problem(call, stood, entries, again=again)
        return None

    def _may_meet_fault(self, operation: str) -> bool:
        """Whether another client's call might meet a fault where this one's has not."""
        return any(handle.on in {None, operation} and not handle.spent for handle in self._faults)

    def _changed_result(self, call: Call) -> Problem | None:
        """Return an earlier result that this call has changed under its owner's hands."""
        for result in self._results:
            if result.is_changed:
                name = self.script.keep_result(result.place)
                check = ("{call}", f"assert {name} == kept")
                words = "what a call returned belongs to the caller"
                return Problem(f"{call} changed what {result.call} had returned", "4", words, check)
        return None

    def _left_open(self, call: Call) -> Problem | None:
        most = self._before + MOST_CONNECTIONS * len(self._actors)
        if self.run.comes_down_to(most):
            return None
        self.run.leaks = True
        return connections_problem(call, self.run.open_connections() - self._before)

    def _fail(self, call: Call, problem: Problem, outcome: Outcome) -> None:
        self._failed = True
        if self.run.failing_example is None:
            self.run.failing_example = self.run.examples
        actor = self.actor
        unfired = any(handle.never_fired for handle in self._faults)
        if unfired or self._leaves_faults:  # for which a mock answers at the end of its block
            ends = (f"{one.world}.reset()  # what was planned may come to nothing" for one in self._actors)
            problem.check = (*problem.check, *ends)
        bug = self.run.latest_failure = explain(
            problem,
            self.script,
            actor=actor.name,
            petstore=actor.world,
            call=call,
            outcome=outcome,
            behaviour=self.behaviour,
            journals=self._journals(),
            make_client=self.run.make_client,
            classify=self.run.classify,
        )
        outcome.error = None  # Hypothesis keeps failures, and an exception of a library may hold a connection open
        raise bug

    def _journals(self) -> dict[str, list[Entry]]:
        """Return the requests of the example, by the names that the mocks have in its test."""
        mocks = {actor.world: actor.petstore for actor in self._actors}
        if self._elsewhere is not None:
            mocks["elsewhere"] = self._elsewhere
        return {name: list(mock.journal) for name, mock in mocks.items()}

    # The end

    def end(self) -> None:
        """Close the clients and the worlds.

        Raises:
            ClientBugError: a client does not close as it should.
        """
        self._leaves_faults |= any(handle.never_fired for handle in self._faults)  # which no cancelled one is
        for handle in self._faults:
            handle.cancel()
        self._results.clear()
        try:
            clients = [actor.client for actor in self._actors]
            for actor in self._actors:
                self._close(actor)
            if not self._failed:
                self._check_threads(clients)
            clients.clear()
            if not self._failed:
                self._check_closed()
        finally:
            self._stack.close()

    def _close(self, actor: Actor) -> None:
        """Close a client, and judge how it does it unless it has failed already."""
        watchdog = self.run.watchdog
        outcome = attempt(watchdog, actor.petstore, "close", close_client, actor.client)
        del actor.client
        if self._failed:
            return
        logged = log_problem(self.run.ear, "close()", "{client}.close()")
        if logged is not None:
            self.actor = actor
            self._fail(NO_CALL, logged, Outcome())
        for other in self._actors:  # a request without a key reaches the other world
            entries = other.petstore.journal[other.seen :]
            other.seen += len(entries)
            problem = close_problem(outcome, other.world, entries, watchdog.standstill)
            if problem is not None:
                self.actor = actor
                watchdog.comes_to_a_standstill |= outcome.stood_still
                self._fail(NO_CALL, problem, outcome)

    def _check_threads(self, clients: list[PetClient]) -> None:
        if not any(callable(getattr(client, "close", None)) for client in clients):
            clients.clear()  # what can't be closed has but to be forgotten
        count = self._threads.left(brief=self.run.leaves_threads > 0)
        self.run.leaves_threads += bool(count)
        if count and self.run.leaves_threads > 1:  # the first may have filled a pool that all examples share
            self.script.with_threads()
            self._fail(NO_CALL, threads_problem(count), Outcome())

    def _check_closed(self) -> None:
        if self.run.comes_down_to(self._before):
            return
        self.run.leaks = True
        problem = unclosed_problem(self.run.open_connections() - self._before)
        self._fail(self.actor.last or NO_CALL, problem, Outcome())


def _may_raise(entries: Sequence[Entry]) -> bool:
    """Whether a client that makes less of its answers than this one may raise: one was no plain success."""
    return any(entry.fault is not None or entry.condition is not None for entry in entries)


def _met_a_fault_by_itself(call: Call, entries: Sequence[Entry]) -> bool:
    """Whether a fault met what a client asked beyond the one request of its call."""
    met = (entry for place, entry in enumerate(entries) if place or entry.operation != call.operation)
    return any(entry.fault is not None for entry in met)


def _answer(call: Call, client: PetClient) -> Any:  # noqa: ANN401  # whatever the client returns
    return require_answer(call, call.on(client))
