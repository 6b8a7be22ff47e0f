"""The program of an adapter, and the clients in its processes.

How this works: one process makes the calls of all clients. Another process takes its place if it has ended, or if a
call in it does not end. Environment variables are read when a process starts, so a client in another environment gets
a process of its own.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import TimeoutError as NoReplyError
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Self, cast

from petstore_mock.adapter.process import ENDS, AdapterProcess, EndedError
from petstore_mock.adapter.protocol import BrokenAdapterError, CancelledError, ClientError
from petstore_mock.checks import Call, Outcome
from petstore_mock.checks.adapting import ElsewhereClient, StoppedError
from petstore_mock.checks.watch import settled
from petstore_mock.checks.watched import open_connections
from petstore_mock.common.real import RLock, monotonic, sleep
from petstore_mock.common.values import is_integer
from petstore_mock.faults import delay
from petstore_mock.interface.schemas import required_arguments
from petstore_mock.interface.table import BY_METHOD, OPERATIONS, Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Future

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.static import OperationName
    from petstore_mock.mock.petstore import PetStoreMock

_LONGEST_END: Final = 5.0  # seconds that a program without a client may take to end
_SLOWER: Final = 3.0  # how much longer it may take with a client
_MOST_POOLED: Final = 5
_CLOSES: Final = 0.3  # seconds that connections may take to close
_CANCELS: Final = 4  # attempts to cancel a call before it ends
_HELD: Final = 0.05  # seconds that a response waits for the cancellation of its call
_PLACE: Final = 0.001  # seconds between two places at which a call is cancelled
_NOTICES: Final = 0.03  # seconds
_PART: Final = 0.5  # of the patience: the timeout of the clients
# The fake sets these for its own process.
_OWN: Final = frozenset({"no_proxy", "NO_PROXY"})


class AdapterProgram:
    """The command that starts an adapter, and its running processes.

    Args:
        command: the program and its arguments.
        patience: how long a call may wait for a response that never comes, in seconds.
        concurrent: whether a client may get two calls at once.
    """

    def __init__(self, command: Sequence[str], patience: float, *, concurrent: bool) -> None:
        self.command = [*command]
        self.patience = patience
        self.concurrent = concurrent
        self.timeout = patience * _PART
        self.pooled = 0  # connections that stay open for all clients of a process
        self._longest_end = ENDS
        self._last_end: EndedError | None = None  # of a process that did not end with 0
        self._lock = RLock()
        self._usual = _variables()
        self._main: AdapterProcess | None = None
        self._others: list[AdapterProcess] = []
        self.hello = self._current().hello

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running():
            process.kill()

    def interrupt(self) -> None:
        """End all processes at once, as a handler of a signal may."""
        for process in self._running():
            process.interrupt()

    def _running(self) -> Iterable[AdapterProcess]:
        return self._others if self._main is None else [*self._others, self._main]

    def process(self) -> AdapterProcess:
        """Return the process for a new client."""
        with self._lock:
            if _variables() == self._usual:
                return self._current()
            other = AdapterProcess(self.command, self.patience)
            self._others.append(other)
            return other

    def _current(self) -> AdapterProcess:
        main = self._main
        if main is not None:
            if main.over is not None:
                self._end(main)
            elif not main.is_retired:
                return main
            else:
                # A call in it goes on.
                self._others.append(main)
        self._main = AdapterProcess(self.command, self.patience)
        return self._main

    def leave(self, process: AdapterProcess) -> None:
        """Note that a client of a process is closed."""
        with self._lock:
            process.clients -= 1
            if process.clients:
                return
            is_other = process in self._others
            if is_other:
                self._others.remove(process)
            if process.is_retired:
                process.stop()
            elif is_other:
                self._end(process)

    def _end(self, process: AdapterProcess) -> None:
        """End a process, and keep how it ended, unless a client has noticed its end."""
        if process.is_noticed:
            process.kill()
        else:
            self._last_end = process.end(self._longest_end) or self._last_end

    def renew(self) -> None:
        """End the process, so that the next client begins without the state that earlier clients left."""
        with self._lock:
            main = self._main
            self._main = None
            if main is not None:
                main.kill()

    def end(self) -> EndedError | None:
        """End all processes as a program ends. Return an error that says how one did not end with 0, or None."""
        with self._lock:
            running = self._running()
            self._main = None
            self._others = []
        for process in running:
            if process.is_retired and process.over is None:
                process.stop()
            else:
                self._end(process)
        how = self._last_end
        self._last_end = None
        return how

    def require_end(self) -> None:
        """Refuse an adapter whose process does not end although it never had a client.

        A program may be slow to end, because it is large or the computer is busy. A client may make it a little slower.
        """
        process = AdapterProcess(self.command, self.patience)
        began = monotonic()
        how = process.end(_LONGEST_END)
        self._longest_end = max(ENDS, _SLOWER * (monotonic() - began))
        if how is not None:
            raise BrokenAdapterError(
                f"expected an adapter that exits with 0 when standard input ends; without any client, it {how}: read "
                "lines until standard input ends, then return"
            )

    def learn_pool(self, petstore: PetStoreMock) -> None:
        """Note whether the clients of a process share connections, which no client closes then.

        With shared connections, a second client leaves no more of them open than the first one.
        """
        after_first = self._left_open(petstore)
        if 0 < self._left_open(petstore) <= after_first:
            self.pooled = _MOST_POOLED

    def _left_open(self, petstore: PetStoreMock) -> int:
        """Return how many connections are open after a call and the close of a client."""
        client = self.make_client(petstore)
        for name, row in OPERATIONS.items():
            if name in self.hello.operations and not required_arguments(row):
                # A client that fails here fails in the run too.
                with suppress(ClientError, EndedError, NoReplyError):
                    client.ask(Call(name)).result(self.patience)
        with suppress(ClientError, EndedError, NoReplyError):
            client.close(self.patience)
        settled(lambda: not open_connections(petstore), _CLOSES)
        return open_connections(petstore)

    def make_client(self, petstore: PetStoreMock) -> _Client:
        """Return a client of a mock in a process of the adapter."""
        try:
            return self._made_client(petstore)
        except EndedError as ended:
            # A closed client may have left work that ended the process.
            self._last_end = ended
            return self._made_client(petstore)

    def _made_client(self, petstore: PetStoreMock) -> _Client:
        make = _OverlappingClient if self.concurrent else _Client
        while True:
            # A call of another client may compute, so that the process replies to nothing else. The next one is new.
            with suppress(StoppedError):
                return make(self, petstore)


def _variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OWN}


class _Client(ElsewhereClient):
    """A client in a process, with a method for each operation that the adapter has."""

    def __init__(self, program: AdapterProgram, petstore: PetStoreMock) -> None:
        self._program = program
        self._process = program.process()
        self._petstore = petstore
        self.pooled = program.pooled
        self._name = self._process.new_client(petstore.api_key)
        request: JsonObject = {
            "do": "open",
            "client": self._name,
            "timeout": program.timeout,
            "url": petstore.url,
            "api_key": petstore.api_key,
        }
        if petstore.url.startswith("https:"):
            request["ca"] = petstore.tls.ca_path
        try:
            self._process.ask_soon(request)
        except (ClientError, StoppedError):
            program.leave(self._process)
            raise

    def __getattr__(self, name: str) -> object:  # a method of the interface
        row = BY_METHOD.get(name)
        if row is None or row.name not in self._process.hello.operations:
            raise AttributeError(name)
        return partial(self._call, row)

    def _call(self, row: Operation, *positional: Json, **given: Json) -> Json:
        return self.ask(Call.of(row, positional, given)).result()

    def ask(self, call: Call) -> Future[object]:
        """Begin a call, and return the future of its result."""
        arguments = {**call.arguments}
        request = {"do": "call", "client": self._name, "operation": call.operation, "arguments": arguments}
        return self._process.ask(request)

    def interrupted(self, call: Call, at: int) -> Outcome:
        attempts = _CANCELS if self._process.hello.cancel else 0
        for attempt in range(attempts):
            # The first cancellation comes before the request. The others find a call that waits for its response.
            place = at - 1 + attempt
            on = cast("OperationName", call.operation)
            with self._petstore.inject(delay(_HELD), on=on) if place else nullcontext():
                future = self.ask(call)
                sleep(place * _PLACE)
                self._process.cancel(self._name, future)
                try:
                    future.result()
                except ClientError as error:
                    # The client or the service may have refused the call before the cancellation.
                    is_refused = is_integer(error.meaning) or error.meaning == "argument"
                    return Outcome() if is_refused else Outcome(error=error, interrupt=CancelledError)
        return Outcome()

    def close(self, seconds: float | None = None) -> None:
        try:
            self._process.ask({"do": "close", "client": self._name}).result(seconds)
        except NoReplyError:
            self._process.is_retired = True
            raise
        finally:
            self._program.leave(self._process)

    def notice(self) -> None:
        sleep(_NOTICES)

    def tasks(self) -> Iterable[str]:
        return self._process.tasks()

    def stop(self) -> None:
        self._process.stop()

    def abandon(self) -> None:
        """Leave a client that never ended a call. Its process gets no further client."""
        self._process.is_retired = True
        self._program.leave(self._process)

    def shown(self) -> str:
        """Return what the process wrote to standard error since the last look."""
        return self._process.taken()


class _OverlappingClient(_Client):
    """A client that may get two calls at once, as tasks."""

    async def _call(self, row: Operation, *positional: Json, **given: Json) -> Json:
        return await asyncio.wrap_future(self.ask(Call.of(row, positional, given)))
