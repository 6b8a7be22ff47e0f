"""Clients with bugs from public reports, seventh set."""

from __future__ import annotations

import asyncio
import csv
import decimal
import logging
import logging.config
import re
import time
from collections.abc import Callable
from typing import Any, Self

import requests

from petstore_mock import PetStoreMock
from tests.clients.bugs import FAILURES, clients_of, reads, starts
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, RequestsPets
from tests.clients.shapes import AsyncPets, StreamsPets, an_array

# Settings of the whole program


def configured(**options: Any) -> Callable[[HttpClientPets], None]:
    def configure(_: HttpClientPets) -> None:
        logging.config.dictConfig({"version": 1, **options})

    return configure


# Configures the logging of the program, which disables the loggers that exist already (dask/distributed#1381).
LoggersDisabled = starts(configured())
# Correct: it leaves other loggers alone.
LoggersStay = starts(configured(disable_existing_loggers=False))
# Sets the level of the logger of another library (axiomhq/axiom-py#26).
LibrarySilenced = starts(lambda _: logging.getLogger("urllib3").setLevel(logging.WARNING))
# Correct: it sets the level of its own logger.
OwnLevel = starts(lambda _: logging.getLogger(__name__).setLevel(logging.WARNING))
# Changes how the decimal numbers of the program are rounded (bradbase/xlcalculator#52).
RoundingForAll = starts(lambda _: setattr(decimal.getcontext(), "rounding", decimal.ROUND_UP))
# Changes the size of the longest field that the program reads from CSV (python/cpython#80302).
FieldsForAll = starts(lambda _: csv.field_size_limit(2**30))


class SessionPatched(RequestsPets):
    """Adds its timeout to each request of all sessions of the program (costastf/toonapilib#40)."""

    plain = staticmethod(requests.Session.request)

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        plain = self.plain

        def request(self: Any, *args: Any, **given: Any) -> requests.Response:
            return plain(self, *args, **{"timeout": TIMEOUT, **given})

        requests.Session.request = request  # type: ignore[method-assign]


# Tasks


class PauseNotAwaited(AsyncPets):
    """Does not await its pause before it sends a read again (taskcluster/taskcluster-client.py#66)."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        try:
            return await super().ask(method, path, success, **given)
        except ApiError as error:
            if method != "GET" or error.status != 500:
                raise
        await self.pause()
        return await super().ask(method, path, success, **given)

    async def pause(self) -> None:
        asyncio.sleep(0.05)  # type: ignore[unused-coroutine]


class PauseAwaited(PauseNotAwaited):
    """Correct: it awaits its pause."""

    async def pause(self) -> None:
        await asyncio.sleep(0.05)


class CloseNotAwaited(AsyncPets):
    """Does not await the close of its library (qvantel/jsonapi-client#27)."""

    async def aclose(self) -> None:
        self.http.aclose()  # type: ignore[unused-coroutine]


class CloseSpins(AsyncPets):
    """Waits in its close until its set of tasks is empty, which it never is (PrimeIntellect-ai/verifiers#2518)."""

    def __init__(self, petstore: PetStoreMock) -> None:
        super().__init__(petstore)
        self.tasks: set[asyncio.Task[Any]] = set()

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        task = asyncio.create_task(super().ask(method, path, success, **given))
        self.tasks.add(task)
        try:
            return await task
        finally:
            self.forget(task)

    def forget(self, task: asyncio.Task[Any]) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        while self.tasks:
            await asyncio.gather(*self.tasks, return_exceptions=True)
            await asyncio.sleep(0)
        await super().aclose()


class CloseEnds(CloseSpins):
    """Correct: it forgets each task that is done."""

    def forget(self, task: asyncio.Task[Any]) -> None:
        self.tasks.discard(task)


# What one call leaves for the next


class NoNodeError(Exception):
    """The client has no node to which it could send a request."""


class OnlyNodeDead(HttpClientPets):
    """Takes its only node for dead after one failure (awslabs/elasticache-cluster-config-net#8)."""

    dead_until = 0.0

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.find()
        try:
            answer = super().ask(method, path, body)
        except FAILURES:
            self.dead_until = time.monotonic() + 60
            raise
        if answer.status >= 500:
            self.dead_until = time.monotonic() + 60
        return answer

    def find(self) -> None:
        if time.monotonic() < self.dead_until:
            raise NoNodeError


class OnlyNodeTried(OnlyNodeDead):
    """Correct: it tries a dead node if there is no other."""

    def find(self) -> None:
        """Do nothing."""


class NothingAfterRefusal(HttpClientPets):
    """Sends nothing any more after a 401 (D2klaas/Godot-4-HTTPManager#7)."""

    refused: Answer | None = None

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        if self.refused is not None:
            return self.refused
        answer = super().ask(method, path, body)
        if answer.status == 401:
            self.note(answer)
        return answer

    def note(self, answer: Answer) -> None:
        self.refused = answer


class AskedAfterRefusal(NothingAfterRefusal):
    """Correct: it sends each request."""

    def note(self, answer: Answer) -> None:
        """Do nothing."""


# Texts


# Takes `${HOME}` in a name for a variable, and leaves it out (dotenvx/dotenv-expand#101).
VariablesExpanded = reads(lambda pet: {**pet, "name": re.sub(r"\$\w+|\$\{\w+\}", "", pet["name"])})
# Ends each name at a character that ends a text in C (krypton-byte/neonize#198).
EndsAtNull = reads(lambda pet: {**pet, "name": pet["name"].partition("\0")[0]})
# Decodes the escapes in names, which breaks all other letters than those of ASCII (dmulholl/shortcodes#6).
EscapesDecoded = reads(lambda pet: {**pet, "name": pet["name"].encode().decode("unicode_escape")})


class ListEndsEarly(HttpClientPets):
    """Ends a list at the first animal without a known status, by a StopIteration (pytoolz/toolz#465)."""

    statuses = ("available", "pending", "sold")

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        return [*map(self.converted, an_array(super().list_pets(limit=limit, status=status)))]

    def converted(self, pet: Json) -> Json:
        return {**pet, "status": next(one for one in self.statuses if one == pet.get("status"))}


class ListIsWhole(ListEndsEarly):
    """Correct: it knows that an animal may have no status."""

    def converted(self, pet: Json) -> Json:
        return pet


class ReasonNeeded(StreamsPets):
    """Splits the status line into three parts, although the reason may be absent (tornadoweb/tornado#857)."""

    async def read(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        line = await reader.readuntil(b"\r\n")
        self.reason_of(line)
        rest = asyncio.StreamReader()
        rest.feed_data(line)
        pump = asyncio.ensure_future(self.pump(reader, rest))
        try:
            return await super().read(rest)
        finally:
            pump.cancel()

    async def pump(self, reader: asyncio.StreamReader, rest: asyncio.StreamReader) -> None:
        while block := await reader.read(2**16):
            rest.feed_data(block)
        rest.feed_eof()

    def reason_of(self, line: bytes) -> bytes:
        _, _, reason = line.split()[:3]
        return reason


# Failures


class ResponseUnbound(HttpClientPets):
    """Uses a response that it does not have when all attempts have failed (voyage-ai/voyageai-python#33)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        for _ in range(3 if method == "GET" else 1):
            try:
                answer = super().ask(method, path, body)
                break
            except FAILURES as error:
                self.note(error)
        return answer  # pyright: ignore[reportPossiblyUnboundVariable]  # the bug

    def note(self, error: Exception) -> None:
        """Do nothing."""


class ResponseLost(ResponseUnbound):
    """Correct: it raises the error."""

    def note(self, error: Exception) -> None:
        raise error


class EnterWaits(AsyncPets):
    """Waits in its ``async with`` block for a sign that never comes (thecynic/pylutron#141)."""

    async def __aenter__(self) -> Self:
        await self.ready().wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def ready(self) -> asyncio.Event:
        return asyncio.Event()


class EnterGoesOn(EnterWaits):
    """Correct: it has the sign."""

    def ready(self) -> asyncio.Event:
        event = asyncio.Event()
        event.set()
        return event


TWINS: dict[Any, Any] = {
    LoggersDisabled: LoggersStay,
    LibrarySilenced: OwnLevel,
    RoundingForAll: HttpClientPets,
    FieldsForAll: HttpClientPets,
    SessionPatched: RequestsPets,
    PauseNotAwaited: PauseAwaited,
    CloseNotAwaited: AsyncPets,
    CloseSpins: CloseEnds,
    OnlyNodeDead: OnlyNodeTried,
    NothingAfterRefusal: AskedAfterRefusal,
    VariablesExpanded: HttpClientPets,
    EndsAtNull: HttpClientPets,
    EscapesDecoded: HttpClientPets,
    ListEndsEarly: ListIsWhole,
    ReasonNeeded: StreamsPets,
    ResponseUnbound: ResponseLost,
    EnterWaits: EnterGoesOn,
}
REPORTS_UNSEEN = clients_of(globals(), *TWINS.values())
