"""What the examples of one run share: the listener, somewhere else to be redirected to, the watchdog, and patience."""

from __future__ import annotations

import ctypes
import logging
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from petstore_mock.mock import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from petstore_mock._machine_call import PetClient
    from petstore_mock._machine_classify import Kind
    from petstore_mock._machine_shrink import Course

__all__ = ["Run", "RunawayError"]

WAITING_BUDGET: Final = 10.0  # seconds of real waiting in a run, shrinking left out
EXAMPLE_BUDGET: Final = 1.0  # seconds after which an example begins no more of it
_TICK: Final = 0.02
_RUNAWAY: Final = 50  # requests of one call: nothing that ends by itself
_IMPATIENCE: Final = 0.15  # seconds, once it is known that the client waits for ever
_ALL_GONE: Final = 1.0  # seconds for a closed socket to be noticed at the other end


class RunawayError(BaseException):
    """Raised inside a client that asks without an end; no ``except Exception`` of its own stops it."""


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
        self.shrinking = False
        self.latest_failure: BaseException | None = None
        self.latest_course: Course | None = None
        self._allowed: dict[object, bool] = {}
        self._stack = ExitStack()
        self._petstore: PetStoreMock | None = None
        self._elsewhere: PetStoreMock | None = None
        self._logged = logging.NOTSET
        self.watchdog = Watchdog(patience)

    # The listener

    @property
    def petstore(self) -> PetStoreMock:
        """The mock behind whose listener every example has its own world; started on first use."""
        if self._petstore is None:
            self._petstore = self._stack.enter_context(PetStoreMock())
            self.watchdog.start()
        return self._petstore

    @property
    def elsewhere(self) -> PetStoreMock:
        """Another service, to which no key of the first may go; started on first use."""
        if self._elsewhere is None:
            self._elsewhere = self._stack.enter_context(PetStoreMock())
        return self._elsewhere

    def __enter__(self) -> Self:
        # Thousands of deliberate failures would fill the report with a library's warnings; and pytest keeps the
        # exceptions in their arguments, with the frames and the open sockets that hang on them.
        self._logged = logging.root.manager.disable
        logging.disable()
        return self

    def __exit__(self, *_: object) -> None:
        logging.disable(self._logged)
        self.close()

    def close(self) -> None:
        """Stop listening, and end every thread of the run. Another example would start them anew."""
        self.watchdog.stop()
        stack, self._stack = self._stack, ExitStack()
        self._petstore = self._elsewhere = None
        stack.close()

    def open_connections(self) -> int:
        """Return how many connections of clients are open."""
        count = self.petstore.httpserver.open_connections
        if self._elsewhere is not None:
            count += self._elsewhere.httpserver.open_connections
        return count

    def start_over(self) -> None:
        """Close what an earlier example has left open, so that no example depends on another."""
        self._waited_now = 0.0
        if self.open_connections():
            for mock in (self._petstore, self._elsewhere):
                if mock is not None:
                    mock.close_connections()
            self.settles_at(0)

    def settles_at(self, count: int, patience: float = _ALL_GONE) -> bool:
        """Wait until at most ``count`` connections are open: the end of one is noticed a moment later."""
        deadline = time.monotonic() + patience
        while self.open_connections() > count:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0005)
        return True

    # Real waiting

    def may_wait(self, what: object) -> bool:
        """Say whether an example may do ``what``, which takes real time.

        The same question gets the same answer throughout a run, so that a replayed example takes the same course.
        """
        if self.shrinking:  # which has a time limit of its own, and does without what takes time if it can
            return True
        answer = self._allowed.get(what)
        if answer is None:
            in_time = self._waited_now < EXAMPLE_BUDGET and self.waited < WAITING_BUDGET
            answer = self._allowed[what] = in_time
        return answer

    def has_waited(self, seconds: float) -> None:
        """Take ``seconds`` from the budget."""
        self.waited += seconds
        self._waited_now += seconds


class Watchdog:
    """Looks after the call that is being made: ends a hang that outlasts the patience, and a client that runs away."""

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.never_times_out: set[str] = set()  # operations: what is known need not be waited for again
        self._lock = threading.Lock()
        self._watched: tuple[PetStoreMock, int, int, str] | None = None
        self._fired: str | None = None
        self._stops = 0
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def start(self) -> None:
        """Begin to watch."""
        self._ended.clear()
        self._thread = threading.Thread(target=self._run, name="petstore-mock-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None

    def watch(self, petstore: PetStoreMock, operation: str) -> None:
        """Look after a call that begins now, in this thread."""
        self._fired = None
        self._stops = 0
        self._watched = (petstore, len(petstore.journal), threading.get_ident(), operation)

    def done(self) -> str | None:
        """Say that the call has ended; return what had to be done about it: ``hung``, ``ran away`` or None."""
        with self._lock:
            self._watched = None
            if self._stops:
                _raise_in(threading.get_ident(), None)  # the call has ended by itself meanwhile
            return self._fired

    def _run(self) -> None:
        while not self._ended.wait(_TICK):
            with self._lock:
                if self._watched is not None:
                    self._look(*self._watched)

    def _look(self, petstore: PetStoreMock, before: int, thread: int, operation: str) -> None:
        journal = petstore.journal
        requests = len(journal) - before
        if requests <= 0:
            return
        if requests > _RUNAWAY * (self._stops + 1):  # again, if the client caught even that
            self._fired = "ran away"
            self._stops += 1
            _raise_in(thread, RunawayError)
            return
        latest = journal.last
        if latest.outcome == "hang":
            patience = min(self.patience, _IMPATIENCE) if operation in self.never_times_out else self.patience
            if time.perf_counter() - latest.request.started >= patience:
                self._fired = "hung"
                self.never_times_out.add(operation)
                petstore._world.let_go()  # noqa: SLF001  # as reset() lets held answers go


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise ``error`` in another thread at its next bytecode; None takes back what has not been raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), None if error is None else ctypes.py_object(error)
    )
