"""What makes a client with a bug: a function for each kind of change to the plain client, so that a bug is one row."""

from __future__ import annotations

import functools
import http.client
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tests.clients.correct import Answer, HttpClientPets, Json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    Errors: TypeAlias = type[BaseException] | tuple[type[BaseException], ...]

FAILURES: Final = (OSError, http.client.HTTPException)
FOR_EVER: Final = 10**6


class Altered(HttpClientPets):
    """Has other methods, whose originals are ``plain``."""

    @property
    def plain(self) -> HttpClientPets:
        return super()  # type: ignore[return-value]  # with the same methods


def altered(**methods: Callable[..., Json]) -> type[HttpClientPets]:
    """Make a client with other methods; ``clients_of`` gives it its name."""
    for name, function in methods.items():
        functools.update_wrapper(function, getattr(HttpClientPets, name))
    return type("", (Altered,), dict(methods))


def sends(change: Callable[[dict[str, Any]], dict[str, Any]]) -> type[HttpClientPets]:
    """Change each body before it is sent."""
    return altered(body=lambda self, *pet: change(self.plain.body(*pet)))


def reads(change: Callable[[Json], Json]) -> type[HttpClientPets]:
    """Change each animal that is read."""

    def read(self: Altered, answer: Answer) -> Json:
        found = self.plain.read(answer)
        return [change(pet) for pet in found] if isinstance(found, list) else change(found)

    return altered(read=read)


def starts(change: Callable[[HttpClientPets], object]) -> type[HttpClientPets]:
    """Do something when the client is made."""

    def __init__(self: Altered, url: str, key: str) -> None:  # noqa: N807  # it becomes one
        HttpClientPets.__init__(self, url, key)
        change(self)

    return altered(__init__=__init__)


def asks_again(times: int, when: Callable[[str, int], bool], *, pause: float = 0) -> type[HttpClientPets]:
    """Ask again, at most so many times, when a method got a status."""

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
    """Ask again after so many seconds, or not at all for None, when a method got one of the statuses."""

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
    """Raise an error of one's own for each status that is no success."""

    def checked(self: Altered, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            raise error(self, answer)
        return answer

    return altered(checked=checked)


def calls_again(method: str, errors: Errors) -> type[HttpClientPets]:
    """Call a method once more when it raised an error."""

    def call(self: Altered, *args: Json, **given: Json) -> Json:
        try:
            return getattr(self.plain, method)(*args, **given)
        except errors:
            return getattr(self.plain, method)(*args, **given)

    return altered(**{method: call})


def swallows(
    method: str, errors: Errors, instead: Callable[[], Json], *, only: Callable[[Json], bool] = lambda _: True
) -> type[HttpClientPets]:
    """Return something instead of an error of a method, for some errors only."""

    def call(self: Altered, *args: Json, **given: Json) -> Json:
        try:
            return getattr(self.plain, method)(*args, **given)
        except errors as error:
            if not only(error):
                raise
            return instead()

    return altered(**{method: call})


def before(method: str, action: Callable[..., object]) -> type[HttpClientPets]:
    """Do something before a method; an exception that it returns is raised."""

    def call(self: Altered, *args: Json, **given: Json) -> Json:
        done = action(self, *args, **given)
        if isinstance(done, Exception):
            raise done
        return getattr(self.plain, method)(*args, **given)

    return altered(**{method: call})


class Remembers(HttpClientPets):
    """Has a dict of its own to remember things in."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.known: dict[Any, Any] = {}


def clients_of(names: Mapping[str, Json], *others: type) -> list[Json]:
    """Give the clients that a module defines their names, and return them but for others; ``names`` are its globals."""
    found = []
    for name, one in names.items():
        if isinstance(one, type) and not one.__name__:
            one.__name__, one.__module__ = name, names["__name__"]
        if hasattr(one, "get_pet") and one.__module__ == names["__name__"] and one not in others:
            found.append(one)
    return found
