"""What the examples of one run share: the listener, somewhere else to be redirected to, the watchdog, and patience."""

from __future__ import annotations

import gc
import threading
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from petstore_mock.common.real_time import RealTime
from petstore_mock.mock.petstore import PetStoreMock
from petstore_mock.stateful.bug_report import Script, explain
from petstore_mock.stateful.checks.lifecycle import close_problem, made_problem
from petstore_mock.stateful.checks.logs import Ear, log_problem
from petstore_mock.stateful.model.call import NO_CALL, close_client, require_client
from petstore_mock.stateful.watchdog import Watchdog, attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from typing import Self

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.core.world_registry import Leak
    from petstore_mock.stateful.model.call import PetClient
    from petstore_mock.stateful.model.error_classification import Kind
    from petstore_mock.stateful.shrinking import Course
    from petstore_mock.transport.listener import Listener

__all__ = ["Run"]

_WAITING_BUDGET: Final = 10.0  # seconds of real waiting in a run, shrinking left out
_EXAMPLE_BUDGET: Final = 1.0  # seconds after which an example begins no more of it
_QUICK_EXAMPLES: Final = 5  # come first: most bugs need no waiting
_EARNED: Final = 0.1  # seconds of waiting that each example brings after them
_LEAST_RETRY_AFTER: Final = 0.5  # seconds: half of what the client is told to wait at least
_ALL_GONE: Final = 1.0  # seconds for a closed socket to be noticed at the other end
_FIRST_PAUSE: Final = 0.00005  # seconds between two looks at the connections, and twice as many each time
_LONGEST_PAUSE: Final = 0.002
_BY_ITSELF: Final = 0.3  # seconds within which a thread that asks by itself is likely to do so
_SOON_GONE: Final = 0.03  # the same for a client that is known to leave connections open


class Run:
    """One run of the machine.

    Args:
        make_client: makes the client of an example.
        classify: says what a client's exception means.
        patience: seconds after which a client that waits for an answer has no timeout.
    """

    def __init__(
        self,
        make_client: Callable[[PetStoreMock], PetClient],
        classify: Callable[[BaseException], Kind],
        patience: float,
    ) -> None:
        self.make_client = make_client
        self.classify = classify
        self.patience = patience
        self.steps = 0
        self.examples = 0
        self.waited = 0.0
        self._waited_now = 0.0
        self.failing_example: int | None = None
        self.leaks = False  # whether the client is known to leave connections open
        self.leaves_threads = 0  # examples that have left threads behind
        self.lasting_threads = 0  # times that threads have outlasted the call that began them
        self.heeds_retry_after = False  # whether it is known to wait as long as it is told
        self.begins_threads = False  # when it is made, which may send requests that are of no call
        self.shared = False  # whether they do
        self._in_hurry = True
        self._looked_at = False
        self.latest_failure: BaseException | None = None
        self.latest_course: Course | None = None
        self._allowed: dict[object, bool] = {}
        self._stack = ExitStack()
        self._petstore: PetStoreMock | None = None
        self._elsewhere: PetStoreMock | None = None
        self._listeners: list[Listener] = []
        self.ear = Ear()
        self._froze = False
        self.watchdog = Watchdog(patience)

    # The listener

    @property
    def petstore(self) -> PetStoreMock:
        """The mock behind whose listener every example has its own world; started on first use."""
        if self._petstore is None:
            self._petstore = self._listening()
            self.watchdog.start()
        return self._petstore

    def _listening(self) -> PetStoreMock:
        mock = self._stack.enter_context(PetStoreMock())
        self._listeners.append(mock.httpserver)
        return mock

    def fresh(self, behaviour: Behaviour, *, odd_key: bool) -> AbstractContextManager[PetStoreMock]:
        """Give a world of an example, with a key of every kind of character that may be in one, or an ordinary one."""
        if not odd_key:
            return self.petstore.fresh(behaviour=behaviour)
        key = self.petstore.tenant.worlds.new_key(of_all_characters=True)  # numbered, as all that leak can be
        return self.petstore.fresh(behaviour=behaviour, api_key=key)

    def client_of(self, petstore: PetStoreMock) -> PetClient:
        """Make a client.

        Raises:
            PetStoreMockError: it can't be one; a run looks at the first.
        """
        if self._looked_at:
            return self.make_client(petstore)
        threads = threading.active_count()
        client = self.make_client(petstore)
        require_client(client)
        self._looked_at = True
        self.begins_threads = threading.active_count() > threads
        if self.begins_threads and self._sends_by_itself(petstore):
            self.asks_by_itself()
        return client

    def _sends_by_itself(self, petstore: PetStoreMock) -> bool:
        """Whether a client that was made and asked for nothing sends requests."""
        made = len(petstore.journal)
        deadline = RealTime.monotonic() + _BY_ITSELF
        while RealTime.monotonic() < deadline:
            if len(petstore.journal) > made:
                return True
            time.sleep(_LONGEST_PAUSE)
        return False

    def asks_by_itself(self) -> None:
        """Take note that threads of the client send requests that are of no call."""
        self.shared = self.watchdog.shared = True

    def try_client(self) -> None:
        """Make a client and close it, so that a wrong ``make_client`` is told of before anything is drawn.

        Raises:
            PetStoreMockError: it can't be one.
            ClientBugError: it asks for what it should not while it is made, or can't be closed before it was used.
        """
        with self.petstore.fresh() as petstore:
            self.ear.start_over()
            self.ear.keys.add(petstore.api_key)
            client = self.client_of(petstore)
            problem = made_problem("petstore", petstore.journal) or log_problem(
                self.ear, "make_client", "make_client({petstore})"
            )
            made = len(petstore.journal)
            outcome = attempt(self.watchdog, petstore, "close", close_client, client)
            problem = problem or close_problem(outcome, "petstore", petstore.journal[made:], self.watchdog.standstill)
            problem = problem or log_problem(self.ear, "close()", "{client}.close()")
            if problem is None:
                return
            self.failing_example = 1
            raise explain(
                problem,
                Script(),
                actor="client",
                petstore="petstore",
                call=NO_CALL,
                outcome=outcome,
                behaviour=petstore.behaviour,
                journals={"petstore": list(petstore.journal)},
                make_client=self.make_client,
                classify=self.classify,
            )

    @property
    def elsewhere(self) -> PetStoreMock:
        """Another service, to which no key of the first may go; started on first use."""
        if self._elsewhere is None:
            self._elsewhere = self._listening()
        return self._elsewhere

    def __enter__(self) -> Self:
        self.ear.__enter__()
        # What was there before is no garbage of ours: thousands of collections need not look through it again.
        if hasattr(gc, "freeze") and not gc.get_freeze_count():  # CPython has it
            gc.freeze()
            self._froze = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._froze:
            gc.unfreeze()
            self._froze = False
        self.ear.__exit__()
        self.close()

    def close(self) -> None:
        """Stop listening, and end every thread of the run. Another example would start them anew."""
        stack, self._stack = self._stack, ExitStack()
        self._petstore = self._elsewhere = None
        self._listeners.clear()
        with stack:
            self.watchdog.stop()

    def open_connections(self) -> int:
        """Return how many connections of clients are open."""
        count = 0
        for listener in self._listeners:
            count += listener.open_connections
        return count

    @property
    def leftovers(self) -> list[Leak]:
        """The requests that bore the key of an example that is over; to be cleared before each call."""
        return self.petstore.tenant.worlds.leaks  # nobody else's: the listener is the run's own

    def start_over(self) -> None:
        """Close what an earlier example has left open, so that no example depends on another."""
        self._waited_now = 0.0
        if self.open_connections():
            for listener in self._listeners:
                listener.close_connections()
            self.settles_at(0, _SOON_GONE if self.leaks else _ALL_GONE)

    def settles_at(self, count: int, patience: float = _ALL_GONE) -> bool:
        """Wait until at most ``count`` connections are open: the end of one is noticed a moment later."""
        deadline = RealTime.monotonic() + patience
        pause = _FIRST_PAUSE
        while self.open_connections() > count:
            if RealTime.monotonic() > deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def comes_down_to(self, count: int) -> bool:
        """Wait until at most ``count`` connections are open.

        What an exception of a library holds may be part of a cycle: a young one, and to collect the young is quick.
        """
        if self.open_connections() <= count:
            return True
        thorough: tuple[tuple[int | None, float], ...] = ((None, 0.002), (1, 0.05), (2, 1.0))
        brief: tuple[tuple[int | None, float], ...] = ((1, 0.03),)  # for what is known to be left open
        for generation, patience in brief if self.leaks else thorough:
            if generation is not None:
                gc.collect(generation)
            if self.settles_at(count, patience):
                return True
        return False

    # Real waiting

    def may_wait(self, what: object, *, told_to: bool = False) -> bool:
        """Say whether an example may do ``what``, which takes real time.

        The same question gets the same answer throughout a run, so that a replayed example takes the same course.

        Args:
            what: tells one question from another.
            told_to: whether it takes time only if the client waits as long as ``Retry-After`` says.
        """
        if not self._in_hurry:
            return True
        answer = self._allowed.get(what)
        if answer is None:
            earned = min(_WAITING_BUDGET, (self.examples - _QUICK_EXAMPLES) * _EARNED)
            in_time = self._waited_now < _EXAMPLE_BUDGET and self.waited < earned
            answer = self._allowed[what] = in_time or (told_to and not self.heeds_retry_after)
        return answer

    @contextmanager
    def without_hurry(self) -> Iterator[None]:
        """Allow all waiting: shrinking has a time limit of its own, and does without what takes time if it can."""
        self._in_hurry = False
        try:
            yield
        finally:
            self._in_hurry = True

    def has_waited(self, seconds: float, *, told_to: bool) -> None:
        """Take ``seconds`` from the budget; they were waited because the client was told to, or had to be."""
        self.heeds_retry_after = self.heeds_retry_after or (told_to and seconds >= _LEAST_RETRY_AFTER)
        self.waited += seconds
        self._waited_now += seconds
