"""Functions that make buggy clients from ``HttpClientPets``, so that most bugs are one assignment."""

from __future__ import annotations

import functools
import http.client
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias

from tests.clients.correct import Answer, HttpClientPets, Json

Errors: TypeAlias = type[BaseException] | tuple[type[BaseException], ...]

FAILURES: Final = (OSError, http.client.HTTPException)
FOR_EVER: Final = 10**6


class Altered(HttpClientPets):
    """A client with changed methods. ``plain`` has the original methods."""

    @property
    def plain(self) -> HttpClientPets:
        return super()  # type: ignore[return-value]  # with the same methods


def altered(**methods: Callable[..., Json]) -> type[HttpClientPets]:
    """Make a client with changed methods. ``clients_of`` names it later."""
    for name, function in methods.items():
        functools.update_wrapper(function, getattr(HttpClientPets, name))
    return type("", (Altered,), dict(methods))


def sends(change: Callable[[dict[str, Any]], dict[str, Any]]) -> type[HttpClientPets]:
    """Make a client that changes each body before it sends it."""
    return altered(body=lambda self, *pet: change(self.plain.body(*pet)))


def reads(change: Callable[[Json], Json]) -> type[HttpClientPets]:
    """Make a client that changes each animal that it reads."""

    def read(self: Altered, answer: Answer) -> Json:
        found = self.plain.read(answer)
        return [change(pet) for pet in found] if isinstance(found, list) else change(found)

    return altered(read=read)


def starts(change: Callable[[HttpClientPets], object]) -> type[HttpClientPets]:
    """Make a client whose constructor also calls ``change``."""

    def __init__(self: Altered, url: str, key: str) -> None:  # noqa: N807  # the class gets it as its method
        HttpClientPets.__init__(self, url, key)
        change(self)

    return altered(__init__=__init__)


def asks_again(times: int, when: Callable[[str, int], bool], *, pause: float = 0) -> type[HttpClientPets]:
    """Make a client that retries up to ``times`` times, while ``when`` is true for the method and the status."""

    def ask(self: Altered, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.plain.ask(method, path, body)
        for _ in range(times):
            if not when(method, answer.status):
                break
            time.sleep(pause)
            answer = self.plain.ask(method, path, body)
        return answer

    return altered(ask=ask)


def waits(
    seconds: Callable[[Answer], float | None],
    *,
    times: int = 1,
    statuses: Collection[int] = (429, 503),
    methods: Collection[str] = ("GET",),
) -> type[HttpClientPets]:
    """Make a client that waits and retries after some statuses, unless ``seconds`` returns None."""

    def ask(self: Altered, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.plain.ask(method, path, body)
        for _ in range(times):
            wait = seconds(answer) if method in methods and answer.status in statuses else None
            if wait is None:
                break
            time.sleep(wait)
            answer = self.plain.ask(method, path, body)
        return answer

    return altered(ask=ask)


def content_type(answer: Answer) -> str:
    return answer.headers.get("Content-Type") or ""


def after(answer: Answer) -> str:
    return answer.headers.get("Retry-After") or ""


def fails(error: Callable[[HttpClientPets, Answer], Exception]) -> type[HttpClientPets]:
    """Make a client that raises its own error for each status except the success status."""

    def checked(self: Altered, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            raise error(self, answer)
        return answer

    return altered(checked=checked)


def calls_again(method: str, errors: Errors) -> type[HttpClientPets]:
    """Make a client that calls a method again after an error."""

    def call(self: Altered, *args: Json, **given: Json) -> Json:
        try:
            return getattr(self.plain, method)(*args, **given)
        except errors:
            return getattr(self.plain, method)(*args, **given)

    return altered(**{method: call})


def swallows(
    method: str, errors: Errors, instead: Callable[[], Json], *, only: Callable[[Json], bool] = lambda _: True
) -> type[HttpClientPets]:
    """Make a client that returns a value instead of some errors of a method."""

    def call(self: Altered, *args: Json, **given: Json) -> Json:
        try:
            return getattr(self.plain, method)(*args, **given)
        except errors as error:
            if not only(error):
                raise
            return instead()

    return altered(**{method: call})


def before(method: str, action: Callable[..., object]) -> type[HttpClientPets]:
    """Make a client that runs an action before a method. If the action returns an exception, the client raises it."""

    def call(self: Altered, *args: Json, **given: Json) -> Json:
        done = action(self, *args, **given)
        if isinstance(done, Exception):
            raise done
        return getattr(self.plain, method)(*args, **given)

    return altered(**{method: call})


class Remembers(HttpClientPets):
    """A client with a cache."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.known: dict[Any, Any] = {}


def clients_of(names: Mapping[str, Json], *others: type) -> list[Json]:
    """Name the clients that a module defines, and return all but ``others``. ``names`` are its globals."""
    found = []
    for name, one in names.items():
        if isinstance(one, type) and not one.__name__:
            one.__name__, one.__module__ = name, names["__name__"]
        if hasattr(one, "get_pet") and one.__module__ == names["__name__"] and one not in others:
            found.append(one)
    return found
