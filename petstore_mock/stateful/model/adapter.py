"""Clients as people write them, called as the machine calls them: three plain methods, and a way to be closed.

Methods may be ``async def``, generators, or have other names; a client may be a context manager, and whatever makes it
may need a running event loop. Each client has an event loop of its own, which goes on in a thread between its calls: a
library notices that its connections were closed as it does in production.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import threading
import weakref
from collections.abc import AsyncIterable, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful.model.holding import driven
from petstore_mock.stateful.model.reading import as_sequence

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from petstore_mock.mock.petstore import PetStoreMock

__all__ = ["LOOP_THREAD", "METHODS", "AdaptedClient", "adapted", "check_methods"]

METHODS: Final = ("list_pets", "create_pet", "get_pet")
LOOP_THREAD: Final = "petstore-mock-loop"
_LOOK: Final = 0.1  # seconds between two looks whether an interrupt has come
_ENDS: Final = 1.0  # seconds that a loop may take to end
_MOST_WAITS: Final = 3  # of a client for tasks that go on all the same
_MOMENT: Final = 0.1  # seconds that tasks may take to end, once they are told to, or for a request or two
_NO_LOOP: Final = "no running event loop"  # how asyncio, and what is built on it, complains


def adapted(
    make_client: Callable[[PetStoreMock], Any], *, methods: Mapping[str, str | Callable[..., Any]] | None = None
) -> Callable[[PetStoreMock], AdaptedClient]:
    """Return a ``make_client`` whose clients have the three plain methods that the machine calls, and ``close()``.

    The machine does so by itself; tests that it gives need it where their client is no plain one.

    Args:
        make_client: makes a client, or a coroutine or context manager that gives one.
        methods: the client's own names of ``list_pets``, ``create_pet`` and ``get_pet``: ``"pets.all"``, or a function
            of the client and the arguments.

    Raises:
        PetStoreMockError: ``methods`` names something else.
    """
    check_methods(methods)
    return partial(AdaptedClient, make_client, methods)


def check_methods(methods: object) -> None:
    """Raise unless ``methods`` maps some of the three methods to names or functions.

    Raises:
        PetStoreMockError: says what was expected.
    """
    if methods is None:
        return
    known = ", ".join(METHODS)
    if not isinstance(methods, Mapping):
        raise PetStoreMockError(f"expected methods as a mapping of {known} to names; got methods={methods!r}")
    for name, target in methods.items():
        if name not in METHODS:
            raise PetStoreMockError(f"expected methods= to name {known}; got {name!r}")
        if not (isinstance(target, str) and target) and not callable(target):
            raise PetStoreMockError(
                f"expected methods[{name!r}] as the name of a method, or a function of the client; got {target!r}"
            )


class AdaptedClient:
    """A client with three plain methods and ``close()``.

    Args:
        make_client: as for :func:`adapted`.
        methods: as for :func:`adapted`.
        petstore: the mock that the client talks to.
        awaits_tasks: whether a call waits a moment for the tasks that it has begun: what they ask is of that call.

    Attributes:
        client: the client itself.
        is_plain: whether it could have been called as it is, so far.
        tasks_go_on: whether tasks that a call has begun outlast it, and that moment.
        tasks_left: the names of tasks that go on after it was closed.
    """

    def __init__(
        self,
        make_client: Callable[[PetStoreMock], Any],
        methods: Mapping[str, str | Callable[..., Any]] | None,
        petstore: PetStoreMock,
        *,
        awaits_tasks: bool = True,
    ) -> None:
        self._waits = _MOST_WAITS if awaits_tasks else 0
        self.tasks_go_on = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._beginning = threading.Lock()  # two threads may need the loop at once
        self.tasks_left: list[str] = []
        self._methods = methods or {}
        self._manager: Any = None
        self.is_plain = not self._methods
        try:
            client = make_client(petstore)
        except RuntimeError as error:
            if _NO_LOOP not in str(error):
                raise
            client = self._on_loop(_called(make_client, petstore))
        if inspect.isawaitable(client):
            client = self._on_loop(_awaited(client))
        if not isinstance(client, type) and (hasattr(client, "__enter__") or hasattr(client, "__aenter__")):
            self.is_plain = False
            self._manager = client
            enters = getattr(client, "__enter__", None)
            client = enters() if enters is not None else self._on_loop(_awaited(client.__aenter__()))
        self.client = client

    @property
    def has_loop(self) -> bool:
        """Whether there is an event loop, in a thread of its own."""
        return self._loop is not None

    @property
    def can_be_closed(self) -> bool:
        """Whether there is a way to close it."""
        return self._closing() is not None

    def method(self, name: str) -> Callable[..., Any] | None:
        """Return what is called for one of the three methods, or None when there is none."""
        target = self._methods.get(name, name)
        if not isinstance(target, str):
            return partial(target, self.client)
        try:
            found = attrgetter(target)(self.client)
        except AttributeError:
            return None
        return found if callable(found) else None

    def list_pets(self, **given: Any) -> Any:  # noqa: ANN401  # whatever the client returns
        """Return the animals that listPets answers; those of a page or an iterator as a list."""
        value = self._result("list_pets", given)
        animals = as_sequence(value)
        self.is_plain = self.is_plain and animals is value
        return animals

    def create_pet(self, **given: Any) -> Any:  # noqa: ANN401
        """Return the animal that createPet answers."""
        return self._result("create_pet", given)

    def get_pet(self, pet_id: int) -> Any:  # noqa: ANN401
        """Return the animal that getPet answers."""
        return self._result("get_pet", {}, pet_id)

    def _result(self, name: str, given: Mapping[str, Any], *arguments: object) -> Any:  # noqa: ANN401
        method = self.method(name)
        if method is None:  # it went away since the first look
            raise AttributeError(name)
        if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            return self._on_loop(_called(method, *arguments, **given))
        value = method(*arguments, **given)
        if inspect.isawaitable(value) or isinstance(value, AsyncIterable):
            return self._on_loop(_awaited(value))
        return value

    def _closing(self) -> Callable[[], Any] | None:
        manager = self._manager
        for name in ("__exit__", "__aexit__"):
            if hasattr(manager, name):
                return partial(getattr(manager, name), None, None, None)
        for name in ("close", "aclose"):
            close: Callable[[], Any] | None = getattr(self.client, name, None)
            if callable(close):
                return close
        return None

    def close(self) -> None:
        """Leave the client's block, or close it if it can be closed."""
        try:
            close = self._closing()
            if close is not None:
                if inspect.iscoroutinefunction(close):
                    self._on_loop(_called(close))
                elif inspect.isawaitable(closed := close()):
                    self._on_loop(_awaited(closed))
                if self._loop is not None:
                    self.tasks_left = self._on_loop(_that_go_on())
        finally:
            if self._loop is not None:
                self._end_loop()
                self._thread.join(_ENDS)

    # The loop

    def _on_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401
        """Run a coroutine to its end, on the loop that goes on between the calls."""
        self.is_plain = False
        with self._beginning:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name=LOOP_THREAD, daemon=True)
                self._thread.start()
                self._end_loop = weakref.finalize(self, _stop, self._loop)  # who is forgotten leaves no thread behind
        made = driven(coroutine)
        if made is coroutine:  # of two calls at once nobody knows whose a task is
            made = self._with_its_tasks(coroutine)
        future = asyncio.run_coroutine_threadsafe(made, self._loop)
        try:
            while not future.done():  # a lock that waits for ever could not be interrupted in every thread
                concurrent.futures.wait([future], _LOOK)
            return future.result()
        finally:
            future.cancel()

    async def _with_its_tasks(self, coroutine: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401
        before = asyncio.all_tasks()
        try:
            return await coroutine
        finally:
            begun = asyncio.all_tasks() - before
            if begun and self._waits:
                _, begun = await asyncio.wait(begun, timeout=_MOMENT)
            if begun:
                self.tasks_go_on = True
                self._waits -= self._waits > 0  # one that goes on for ever need not be the only one


async def _called(function: Callable[..., Any], *arguments: object, **given: object) -> Any:  # noqa: ANN401
    return await _awaited(function(*arguments, **given))


async def _awaited(value: Any) -> Any:  # noqa: ANN401
    if inspect.isawaitable(value):
        value = await value
    if isinstance(value, AsyncIterable):
        return [item async for item in value]
    return value


async def _that_go_on() -> list[str]:
    """Return the names of the tasks that do not end within a moment."""
    tasks = asyncio.all_tasks() - {task for task in [asyncio.current_task()] if task is not None}
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
