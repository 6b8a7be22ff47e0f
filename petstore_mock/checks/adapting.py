"""Adapts clients of any shape to one form: a method for each operation, and ``close()``.

Methods may be ``async def`` or generators, and may have other names. A client may be a context manager, and
``make_client`` may need a running event loop. Each client has its own event loop, which also runs between the calls. So
libraries notice closed connections as they do in production.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
import weakref
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, TypeGuard

from petstore_mock.checks.check import Call, Outcome
from petstore_mock.checks.interrupts import Cancellation, KeyPress
from petstore_mock.checks.pulse import Pulse
from petstore_mock.checks.reading import as_sequence, own_place, raised
from petstore_mock.common.guards import is_object
from petstore_mock.common.real import Thread
from petstore_mock.common.refusing import one_of, refuse, require, shown
from petstore_mock.interface import schemas
from petstore_mock.interface.table import BY_METHOD, OPERATIONS, in_words

if TYPE_CHECKING:
    from petstore_mock.interface.table import Operation
    from petstore_mock.mock.face import PetStore

Methods = Mapping[str, str | Callable[..., Any]]
MakeClient: TypeAlias = Callable[[Any], Any]
Tasks: TypeAlias = "list[asyncio.Task[Any]]"
_Ending = Callable[..., Any] | None

_LOOK: Final = 0.1  # seconds after which a waiting thread notices an interrupt
_ENDS: Final = 1.0  # seconds that a loop may take to end
_NOTICES: Final = 0.005  # seconds in which a loop looks at its connections
_MOMENT: Final = 0.1  # seconds that tasks may take to end after a call or a close


class PetClient(Protocol):
    """A client that needs no ``methods=``. None means an omitted argument. The methods may be ``async def``."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Any:  # noqa: ANN401
        """Return the animals in the response to listPets."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Any:  # noqa: ANN401
        """Create an animal with ``name``, ``category_id`` and ``status``, and return it."""

    def get_pet(self, pet_id: int, /) -> Any:  # noqa: ANN401
        """Return the animal in the response to getPet."""


class StoppedError(Exception):
    """The machine has given up the process of a client, because a call in it does not end."""


class ElsewhereClient:
    """A client in another process. The methods of this class itself do nothing, as for a client in this process.

    Attributes:
        pooled: how many connections the process may keep for all of its clients. No client closes them.
    """

    pooled: int = 0

    def shown(self) -> str:
        """Return what the process wrote to standard error since the last look."""
        return ""

    def notice(self) -> None:
        """Wait until the process has noticed that the service closed its connections."""

    def tasks(self) -> Iterable[str]:
        """Return the threads that may make the calls, as folders below ``/proc``."""
        return ()

    def stop(self) -> None:
        """End the process, because a call in it does not end. Its other calls raise StoppedError."""

    def abandon(self) -> None:
        """Leave the client, because a call of it never ended. It is not closed."""

    def interrupted(self, call: Call, at: int) -> Outcome:
        """Make a call and cancel it. A higher number ``at`` means later."""
        raise NotImplementedError


class _Ends(NamedTuple):
    """An exception that would end an event loop."""

    error: BaseException


class AdaptedClient:
    """A client that takes each call as a ``Call``."""

    def __init__(self, make_client: MakeClient, petstore: PetStore, methods: Methods | None = None) -> None:
        self._methods = checked_methods(methods)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._beginning = threading.Lock()  # two threads may need the loop at once
        self.pulse = Pulse()
        self.tasks_go_on = False  # whether tasks outlast the call that started them
        self.tasks_left: list[str] = []  # the tasks that still run after the close, in words
        self.lost: list[str] = []  # the errors of tasks that no caller can catch, in words
        self.changed: list[str] = []  # the names of the changed settings of the loop
        self._handler = partial(_keep_lost, self.lost)
        self._task: asyncio.Task[Any] | None = None  # of the latest call
        self._outlasting = weakref.WeakSet[asyncio.Task[Any]]()  # the tasks that outlasted the call that started them
        made = self._made(make_client, petstore)
        self.client: Any = made
        self.is_here = not isinstance(made, ElsewhereClient)
        self.elsewhere: ElsewhereClient = ElsewhereClient() if self.is_here else made
        closing: _Ending = getattr(made, "close", None) or getattr(made, "aclose", None)
        self.closing = closing
        self.closing_again: _Ending = closing if self.is_here else None
        self.leaving: _Ending = None  # leaves the client's ``with`` block
        for enter, leave in (("__enter__", "__exit__"), ("__aenter__", "__aexit__")):
            if hasattr(made, enter) and not isinstance(made, type):
                self.client = self._value(getattr(made, enter)())
                leaving: Callable[..., Any] = getattr(made, leave)
                self.leaving = leaving
                self.closing = partial(leaving, None, None, None)
                break
        self.operations = self._operations()  # the arguments that each method takes, by operation

    def _made(self, make_client: MakeClient, petstore: PetStore) -> Any:  # noqa: ANN401
        async def made() -> Any:  # noqa: ANN401
            return await _awaited(make_client(petstore))

        try:
            return self._value(make_client(petstore))
        except RuntimeError as error:
            # Perhaps the client needs a running event loop.
            try:
                return self._on_loop(made())
            except RuntimeError:
                raise error from None

    def _operations(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, row in OPERATIONS.items():
            # The methods of a class need an object.
            with suppress(AttributeError):
                method = self._method(row)
                if callable(method) and not isinstance(self.client, type):
                    found[name] = _accepted(row, method)
        if not found:
            known = in_words(BY_METHOD)
            refuse(
                f"expected make_client to return a client with at least one of {known}; got {shown(self.client)} "
                f"({type(self.client).__name__}): return an instance of a class, or pass methods= with your own names"
            )
        return found

    def _method(self, row: Operation) -> Any:  # noqa: ANN401
        """Return the client's method for an operation; raise AttributeError if there is none."""
        given = self._methods.get(row.client_method)
        if given is None:
            return getattr(self.client, row.client_method)
        if not isinstance(given, str):
            return partial(given, self.client)
        try:
            return attrgetter(given)(self.client)
        except AttributeError as error:
            refuse(f"expected the names of methods that the client has as methods=; got {given!r}: {error}")

    def call(self, call: Call) -> Any:  # noqa: ANN401  # a client returns any object
        return _of(call, self._value(self._begun(call)))

    def gather(self, calls: Sequence[Call]) -> Tasks:
        """Make calls of an ``async`` client at once, and return their finished tasks."""

        async def result(call: Call) -> Any:  # noqa: ANN401
            return _of(call, await _awaited(self._begun(call)))

        async def gathered() -> Tasks:
            tasks = [asyncio.ensure_future(result(call)) for call in calls]
            await asyncio.wait(tasks)
            return tasks

        tasks: Tasks = self._on_loop(gathered())
        return tasks

    def _begun(self, call: Call) -> Any:  # noqa: ANN401
        positional, keywords = call.python
        return self._method(call.row)(*positional, **keywords)

    def cancel(self) -> None:
        """Cancel the latest call of an ``async`` client."""
        if self._loop is not None and self._task is not None:
            self._loop.call_soon_threadsafe(self._task.cancel)

    def is_async(self, call: Call) -> bool:
        method = self._method(call.row)
        return inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)

    def _value(self, value: Any) -> Any:  # noqa: ANN401
        needs_loop = inspect.isawaitable(value) or _is_stream(value)
        return self._on_loop(_awaited(value)) if needs_loop else value

    def notice(self) -> None:
        """Let the client notice that the service closed its connections."""
        self.elsewhere.notice()
        if self._loop is not None:
            self._on_loop(asyncio.sleep(_NOTICES))

    def close(self) -> None:
        """Leave the client's ``with`` block, or close the client if it can be closed."""
        if self.closing is not None:
            closing = self.closing
            self.closing = self.closing_again
            self._value(closing())

    def leave(self, error: BaseException) -> None:
        """Leave the client's ``with`` block with an error, and raise the error as a ``with`` statement does."""
        if self.leaving is not None:
            self.closing = self.closing_again
            if not self._value(self.leaving(type(error), error, error.__traceback__)):
                raise error

    def end(self) -> None:
        """Note the tasks that still run, and end the loop."""
        if self._loop is not None:
            self.tasks_left = self._on_loop(_tasks_that_go_on())
            self.lost += _errors_nobody_retrieved(self._outlasting)
            if self._loop.get_exception_handler() is not self._handler:
                self.changed = ["loop.set_exception_handler()"]
            self._end_loop()
            self._thread.join(_ENDS)

    def interrupted(self, call: Call, at: int) -> Outcome:
        """Make a call, and interrupt it.

        A call of an ``async`` client is cancelled when it awaits for the time ``at``. Another one gets a
        KeyboardInterrupt when it reads from its connection for the time ``at``.
        """
        if not self.is_here:
            return self.elsewhere.interrupted(call, at)
        outcome = Outcome()
        interrupt = Cancellation(at) if self.is_async(call) else KeyPress(at)
        try:
            if isinstance(interrupt, Cancellation):
                outcome.value = self._on_loop(interrupt.awaited(_awaited(self._begun(call))))
            else:
                outcome.value = interrupt.called(partial(self.call, call))
        except concurrent.futures.CancelledError:
            outcome.error = asyncio.CancelledError()
        except BaseException as error:  # a client raises anything
            outcome.error = error
        outcome.interrupt = interrupt.kind
        return outcome

    def _on_loop(self, coroutine: Awaitable[Any]) -> Any:  # noqa: ANN401
        """Run a coroutine on the client's loop and return its result."""
        with self._beginning:
            if self._loop is None:
                self._loop = loop = asyncio.new_event_loop()
                self._thread = Thread(target=_run, args=(loop,), name="petstore-mock-loop", daemon=True)
                self._thread.start()
                self.pulse.threads.append(self._thread)
                loop.set_exception_handler(self._handler)
                loop.call_soon_threadsafe(self.pulse.beat, loop)
                # The thread ends when the client is garbage-collected.
                self._end_loop = weakref.finalize(self, loop.call_soon_threadsafe, loop.stop)
        future = asyncio.run_coroutine_threadsafe(self._with_its_tasks(coroutine), self._loop)
        try:
            while not future.done():  # in some threads, an interrupt can't end a wait without a timeout
                concurrent.futures.wait([future], _LOOK)
            result = future.result()
        finally:
            future.cancel()
        if isinstance(result, _Ends):
            raise result.error
        return result

    async def _with_its_tasks(self, coroutine: Awaitable[Any]) -> Any:  # noqa: ANN401
        """Await a coroutine and, for a moment, the tasks that it started. Their requests belong to the call."""
        before = asyncio.all_tasks()
        self._task = asyncio.current_task()
        try:
            return await coroutine
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            # These would end the loop, and the call would never end.
            return _Ends(error)
        finally:
            begun = asyncio.all_tasks() - before
            self._outlasting.update(begun)
            if begun and not self.tasks_go_on:
                _, going_on = await asyncio.wait(begun, timeout=_MOMENT)
                self.tasks_go_on = bool(going_on)


def checked_methods(methods: object) -> Methods:
    """Return ``methods`` if it maps methods of the interface to names or functions; else raise PetStoreMockError."""
    given: object = {} if methods is None else methods
    if not is_object(given):
        refuse(f"expected methods= to map {in_words(BY_METHOD)} to names or functions; got methods={shown(methods)}")
    for name, target in given.items():
        one_of(name, BY_METHOD, "name in methods=")
        is_name = isinstance(target, str) and bool(target)
        fits = is_name or callable(target)
        require(fits, f"the name of a method, or a function that takes the client, for {name}", target=target)
    return given


def _accepted(row: Operation, method: Callable[..., Any]) -> list[str]:
    """Return the arguments that a method takes, by the interface's names; raise if a required argument is missing."""
    required = schemas.required_arguments(row)
    problem = _misfit(row, required, method)
    if problem is not None:
        name = row.client_method
        refuse(
            f"expected a client whose {name} takes {in_words(required)}; {problem}: pass methods={{{name!r}: ...}} "
            "with a function that takes the client and these arguments"
        )
    return [name for name in schemas.arguments(row) if _misfit(row, {*required, name}, method) is None]


def _misfit(row: Operation, names: Iterable[str], method: Callable[..., Any]) -> str | None:
    positional, keywords = Call(row.name, dict.fromkeys(names)).python
    with suppress(ValueError):  # a method in C may have no signature
        signature = inspect.signature(method)
        try:
            signature.bind(*positional, **keywords)
        except TypeError as error:
            return f"got {row.client_method}{signature}: {error}"
    return None


def _of(call: Call, value: Any) -> Any:  # noqa: ANN401
    return as_sequence(value) if call.row.shows_many else value


async def _awaited(value: Any) -> Any:  # noqa: ANN401
    found: Any = await value if inspect.isawaitable(value) else value
    if not _is_stream(found):
        return found
    return [item async for item in found]


def _is_stream(value: object) -> TypeGuard[AsyncIterable[Any]]:
    return isinstance(value, AsyncIterable)


def _keep_lost(lost: list[str], _: object, context: dict[str, Any]) -> None:
    """Keep the error of a task that nobody retrieved, if it is of the client's own code."""
    error = context.get("exception")
    if isinstance(context.get("future"), asyncio.Task) and _is_of_client(error):
        lost.append(raised(error))


def _errors_nobody_retrieved(tasks: Iterable[asyncio.Task[Any]]) -> list[str]:
    """Return the errors that asyncio reports only when the tasks are garbage-collected, which may be much later."""
    # asyncio has no public name for this.
    errors = [task.exception() for task in tasks if getattr(task, "_log_traceback", False)]
    return [raised(error) for error in errors if _is_of_client(error)]


def _is_of_client(error: object) -> TypeGuard[Exception]:
    return isinstance(error, Exception) and bool(own_place(error.__traceback__))


async def _tasks_that_go_on() -> list[str]:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    if tasks:
        _, tasks = await asyncio.wait(tasks, timeout=_MOMENT)
    return sorted(f"task {getattr(task.get_coro(), '__qualname__', task.get_name())}" for task in tasks)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    with closing(loop):
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        # asyncio.Runner would wait without a limit for a task that ignores its cancellation.
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
