"""Looks after the call that is being made: ends a hang that outlasts the patience, and a client that runs away."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from petstore_mock.mock import PetStoreMock

__all__ = ["RunawayError", "Watchdog"]

_TICK: Final = 0.02  # seconds
_LONGEST_TICK: Final = 0.1  # seconds: what is longer was a machine that slept, and the client with it
_RUNAWAY: Final = 50  # requests of one call: nothing that ends by itself
_IMPATIENCE: Final = 0.15  # seconds, once it is known that the client waits for ever
_RAISED_FOR: Final = 0.01  # seconds


class RunawayError(BaseException):
    """Raised inside a client that asks without an end; no ``except Exception`` of its own stops it."""


class Watchdog:
    """Looks after one call at a time, in a thread of its own.

    Args:
        patience: seconds after which a hang is ended.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.never_times_out: set[str] = set()  # operations: what is known need not be waited for again
        self._lock = threading.Lock()
        self._watched: tuple[PetStoreMock, int, int, str] | None = None
        self._fired: str | None = None
        self._hung_for, self._hung_at = 0.0, 0  # seconds, and the request that hangs
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
        self._hung_for, self._hung_at = 0.0, 0
        self._watched = (petstore, len(petstore.journal), threading.get_ident(), operation)

    def done(self) -> str | None:
        """Say that the call has ended; return what had to be done about it: ``hung``, ``ran away`` or None.

        Raises:
            RunawayError: the call had ended by itself just before it was to be stopped; ask again.
        """
        with self._lock:
            self._watched = None
            return self._fired

    def _run(self) -> None:
        before = time.perf_counter()
        while not self._ended.wait(_TICK):
            now = time.perf_counter()
            with self._lock:
                if self._watched is not None:
                    self._look(*self._watched, min(now - before, _LONGEST_TICK))
            before = now

    def _look(self, petstore: PetStoreMock, before: int, thread: int, operation: str, tick: float) -> None:
        journal = petstore.journal
        requests = len(journal) - before
        if requests <= 0:
            return
        if requests > _RUNAWAY:  # at every tick, if the client catches even that
            self._fired = "ran away"
            _stop(thread)
            return
        if journal.last.outcome == "hang":
            self._hung_for = self._hung_for + tick if self._hung_at == requests else 0.0
            self._hung_at = requests
            patience = min(self.patience, _IMPATIENCE) if operation in self.never_times_out else self.patience
            if self._hung_for >= patience:
                self._fired = "hung"
                self.never_times_out.add(operation)
                petstore._world.let_go()  # noqa: SLF001  # as reset() lets held answers go


def _stop(thread: int) -> None:
    """Raise in another thread if it gets to its next bytecode soon, and take it back otherwise.

    While an exception waits for its thread, every thread of the interpreter looks at each function's entry whether
    there is something to do for it; and in one that traces (coverage), CPython 3.11 looks again and again instead of
    going on. The thread may be waiting for our own listener just then, and so for ever: hence the short time, of which
    a client that runs away has many. For the same reason nothing written in Python is called here meanwhile.
    """
    set_raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
    there, here = ctypes.c_ulong(thread), ctypes.c_ulong(threading.get_ident())
    error, nothing = ctypes.py_object(RunawayError), None
    try:
        set_raised(there, error)
        time.sleep(_RAISED_FOR)
        set_raised(there, nothing)
        set_raised(here, error)  # only where something is raised does the looking end
        while True:
            pass
    except RunawayError:
        pass
