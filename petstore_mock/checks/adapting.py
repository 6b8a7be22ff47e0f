"""Clients of any shape behind one form: a method for each operation that they have, and ``close()``.

Methods may be ``async def``, generators, or have other names. A client may be a context manager, and ``make_client``
may need a running event loop. Each client has an event loop of its own, which goes on in a thread between the calls:
libraries notice closed connections as they do in production.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
import weakref
from collections.abc import AsyncIterable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Protocol

from petstore_mock.checks.observation import Call
from petstore_mock.checks.reading import as_sequence
from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import one_of, refuse, require, shown
from petstore_mock.interface import schemas
from petstore_mock.interface.table import OPERATIONS, in_words

if TYPE_CHECKING:
    from petstore_mock.interface.table import Operation
    from petstore_mock.mock.face import PetStore

Methods = Mapping[str, str | Callable[..., Any]]

LOOP_THREAD: Final = "petstore-mock-loop"
_LOOK: Final = 0.1  # seconds after which a waiting thread notices an interrupt
_ENDS: Final = 1.0  # seconds that a loop may take to end
_MOMENT: Final = 0.1  # seconds that the tasks of a call, or of a closed client, may take to end
_NO_LOOP: Final = "no running event loop"  # the complaint of asyncio, and of libraries on top of it


class PetClient(Protocol):
    """A client that needs no ``methods=``. None leaves an argument out; methods may be ``async def``."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Any:  # noqa: ANN401
        """Return the animals in the response to listPets."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Any:  # noqa: ANN401
        """Return the animal in the response to createPet."""

    def get_pet(self, pet_id: int, /) -> Any:  # noqa: ANN401
        """Return the animal in the response to getPet."""


class AdaptedClient:
    """A client whose calls are values.

    Args:
        make_client: makes a client, or a coroutine or context manager that gives one.
        petstore: the mock that the client talks to.
        methods: the client's own names by those of the interface (``list_pets``): ``"pets.all"``, or a function of the
            client and the arguments.

    Attributes:
        client: the client itself.
        operations: the operations that it has a method for, each with the arguments that the method takes.
        tasks_go_on: whether tasks outlast the call that began them.
        tasks_left: the names of tasks that go on after the close.

    Raises:
        PetStoreMockError: the client has no method that fits.
    """

    def __init__(
        self, make_client: Callable[[Any], Any], petstore: PetStore, *, methods: Methods | None = None
    ) -> None:
        self._methods = checked_methods(methods)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._beginning = threading.Lock()  # two threads may need the loop at once
        self._manager: Any = None
        self.tasks_go_on = False
        self.tasks_left: list[str] = []
        self.client: Any = self._made(make_client, petstore)
        self.operations = self._operations()

    def _made(self, make_client: Callable[[Any], Any], petstore: PetStore) -> Any:  # noqa: ANN401
        try:
            client = self._value(make_client, petstore)
        except RuntimeError as error:
            if _NO_LOOP not in str(error):
                raise
            client = self.on_loop(_called(make_client, petstore))
        enter = getattr(client, "__enter__", None) or getattr(client, "__aenter__", None)
        if isinstance(client, type) or enter is None:
            return client
        self._manager = client
        return self._value(enter)

    # The methods

    def _operations(self) -> dict[str, tuple[str, ...]]:
        got = f"got make_client(petstore)={shown(self.client)} ({type(self.client).__name__})"
        if isinstance(self.client, type):
            refuse(f"expected make_client to return a client; {got}: make an instance of it")
        methods = {row: method for row in OPERATIONS.values() if (method := self.method(row)) is not None}
        if not methods:
            known = in_words(row.client_method for row in OPERATIONS.values())
            refuse(f"expected make_client to return a client with {known}; {got}: pass methods= with other names")
        return {row.name: _accepted(row, method) for row, method in methods.items()}

    def method(self, row: Operation) -> Callable[..., Any] | None:
        """Return the client's own method for an operation, or None."""
        target = self._methods.get(row.client_method, row.client_method)
        if not isinstance(target, str):
            return partial(target, self.client)
        try:
            found = attrgetter(target)(self.client)
        except AttributeError:
            return None
        return found if callable(found) else None

    def call(self, call: Call) -> Any:  # noqa: ANN401  # a client returns any object
        """Make a call and return its result; pages and iterators become lists."""
        positional, keywords = call.python
        return _of(call, self._value(self._method_of(call), *positional, **keywords))

    def gather(self, *calls: Call) -> list[Any]:
        """Make calls of an ``async`` client at once; return the result or the exception of each."""
        made = [_called(self._method_of(call), *call.python[0], **call.python[1]) for call in calls]
        results = self.on_loop(_gathered(made))
        return [_of(call, value) for call, value in zip(calls, results, strict=True)]

    def is_async(self, operation: str) -> bool:
        """Whether the client's method for an operation is ``async def``."""
        method = self.method(OPERATIONS[operation])
        return inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)

    def _method_of(self, call: Call) -> Callable[..., Any]:
        method = self.method(call.row)
        if method is None:  # it went away since the first look
            raise AttributeError(call.row.client_method)
        return method

    def _value(self, function: Callable[..., Any], *positional: Any, **keywords: Any) -> Any:  # noqa: ANN401
        """Return the result of a function, on the loop if it is ``async``."""
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return self.on_loop(_called(function, *positional, **keywords))
        value = function(*positional, **keywords)
        is_async = inspect.isawaitable(value) or isinstance(value, AsyncIterable)
        return self.on_loop(_awaited(value)) if is_async else value

    # The end

    @property
    def closing(self) -> Callable[[], Any] | None:
        """The function that closes it; None where there is none."""
        for name in ("__exit__", "__aexit__"):
            if hasattr(self._manager, name):
                return partial(getattr(self._manager, name), None, None, None)
        functions = (getattr(self.client, name, None) for name in ("close", "aclose"))
        return next((function for function in functions if callable(function)), None)

    def close(self) -> None:
        """Leave the client's block, or close it if it can be closed."""
        try:
            if self.closing is not None:
                self._value(self.closing)
                self.tasks_left = [] if self._loop is None else self.on_loop(_tasks_that_go_on())
        finally:
            if self._loop is not None:
                self._end_loop()
                self._thread.join(_ENDS)

    # The loop

    def on_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401
        """Run a coroutine on the client's loop and return its result."""
        with self._beginning:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name=LOOP_THREAD, daemon=True)
                self._thread.start()
                self._end_loop = weakref.finalize(self, _stop, self._loop)  # a forgotten client leaves no thread
        future = asyncio.run_coroutine_threadsafe(self._with_its_tasks(coroutine), self._loop)
        try:
            while not future.done():  # an endless wait in a lock can't be interrupted in every thread
                concurrent.futures.wait([future], _LOOK)
            return future.result()
        finally:
            future.cancel()

    async def _with_its_tasks(self, coroutine: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401
        """Await a coroutine and, for a moment, the tasks that it began: their requests belong to the call."""
        before = asyncio.all_tasks()
        try:
            return await coroutine
        finally:
            begun = asyncio.all_tasks() - before
            if begun and not self.tasks_go_on:
                _, going_on = await asyncio.wait(begun, timeout=_MOMENT)
                self.tasks_go_on = bool(going_on)


def checked_methods(methods: object) -> Methods:
    """Return ``methods`` if it maps methods of the interface to names or functions; refuse anything else."""
    if methods is None:
        return {}
    known = [row.client_method for row in OPERATIONS.values()]
    if not is_object(methods):
        refuse(f"expected methods as a mapping of {in_words(known)} to names; got methods={shown(methods)}")
    for name, target in methods.items():
        one_of(name, known, "name in methods=")
        fits = callable(target) or (isinstance(target, str) and target)
        require(fits, f"methods[{name!r}] to be the name of a method or a function of the client", target=target)
    return methods


def argument_names(row: Operation) -> dict[str, bool]:
    """Return the arguments of an operation by the interface's names, and whether each is required."""
    found: dict[str, bool] = {}
    for name in filter(None, [row.parameters_schema if row.parameters else None, row.body]):
        required = schemas.schema(name).get("required", ())
        found |= {member: member in required for member in schemas.properties(name)}
    path = row.path_parameter
    return found if path is None else {**found, path.name: True}


def _accepted(row: Operation, method: Callable[..., Any]) -> tuple[str, ...]:
    """Return the arguments that a method takes, by the interface's names; refuse a method that lacks a required one."""
    required = [name for name, is_required in argument_names(row).items() if is_required]
    optional = [name for name in argument_names(row) if name not in required]
    problem = _misfit(row, required, method)
    if problem is not None:
        name = row.client_method
        refuse(
            f"expected a client whose {name} takes {in_words(required)}; {problem}: methods={{{name!r}: ...}} takes a "
            "function of the client and these arguments"
        )
    return (*required, *(name for name in optional if _misfit(row, [*required, name], method) is None))


def _misfit(row: Operation, names: list[str], method: Callable[..., Any]) -> str | None:
    positional, keywords = Call(row.name, dict.fromkeys(names)).python
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # written in C, for example
        return None
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        return f"got {row.client_method}{signature}: {error}"
    return None


def _of(call: Call, value: Any) -> Any:  # noqa: ANN401
    return as_sequence(value) if call.row.effect == "lists" else value


async def _called(function: Callable[..., Any], *arguments: object, **given: object) -> Any:  # noqa: ANN401
    return await _awaited(function(*arguments, **given))


async def _awaited(value: Any) -> Any:  # noqa: ANN401
    if inspect.isawaitable(value):
        value = await value
    if isinstance(value, AsyncIterable):
        items: AsyncIterable[Any] = value
        return [item async for item in items]
    return value


async def _gathered(made: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    return await asyncio.gather(*made, return_exceptions=True)


async def _tasks_that_go_on() -> list[str]:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    if tasks:
        _, tasks = await asyncio.wait(tasks, timeout=_MOMENT)
    return sorted(getattr(task.get_coro(), "__qualname__", task.get_name()) for task in tasks)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(loop.stop)
