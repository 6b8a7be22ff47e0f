"""Clients with bugs from public reports, fourth set: all of them were written before the machine met any of them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import multiprocessing
import threading
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urljoin, urlsplit

import urllib3

from tests.clients.bugs import clients_of, fails, starts
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, LibraryPets
from tests.clients.reports_shown import LocationResolved
from tests.clients.shapes import AsyncPets, Shaped, StreamsPets
from tests.clients.sharing import LockedTasks, Pooled

# Requests


class EncodedTwice(HttpClientPets):
    """Encodes its body once more when it sends a request again after a 401 (jpetrucciani/hubspot3#51)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        if answer.status == 401:
            answer = super().ask(method, path, None if body is None else self.again(body))
        return answer

    def again(self, body: bytes) -> bytes:
        return json.dumps(body.decode()).encode()


class EncodedOnce(EncodedTwice):
    """Correct: it sends the same body."""

    def again(self, body: bytes) -> bytes:
        return body


class _Blocks(http.client.HTTPConnection):
    """Sends one block, as ``socket.send()`` does when the buffer of the system is full."""

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        self.sock.send(data[: 2**16])


class SendsOneBlock(HttpClientPets):
    """Does not send the rest of a body that ``socket.send()`` left (ghilesmeddour/faktory_worker_python#24)."""

    def new_connection(self) -> http.client.HTTPConnection:
        return _Blocks(self.host, self.port or 80, timeout=self.timeout)


class GzipsLongBodies(HttpClientPets):
    """Compresses bodies of more than 256 bytes (googleapis/google-api-java-client#189)."""

    is_long = False

    def encode(self, body: dict[str, Any]) -> bytes:
        encoded = super().encode(body)
        self.is_long = len(encoded) > 256
        return gzip.compress(encoded) if self.is_long else encoded

    def headers(self) -> dict[str, str]:
        return {**super().headers(), **({"Content-Encoding": "gzip"} if self.is_long else {})}

    def get_pet(self, pet_id: int) -> Json:
        self.is_long = False
        return super().get_pet(pet_id)

    def list_pets(self, **query: Json) -> Json:
        self.is_long = False
        return super().list_pets(**query)


class QueryAddedAgain(LocationResolved):
    """Adds its parameters to the target of a redirection, which has them already (nahi/httpclient#236)."""

    def target(self, path: str, location: str) -> str:
        there, query = super().target(path, location), urlsplit(path).query
        return f"{there}{'&' if '?' in there else '?'}{query}" if query else there


class RetriesMultiplied(LibraryPets):
    """Tries again five times, while its library does so three times (mpfaffenberger/code_puppy#317)."""

    times = 5

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        retries = urllib3.Retry(total=2, redirect=0, status_forcelist=[500, 502, 504], raise_on_status=False)
        self.pool = urllib3.PoolManager(retries=retries, timeout=TIMEOUT)

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        fields, pet = given.get("params"), given.get("json")
        for _ in range(self.times):
            response = self.pool.request(
                method, self.url + path, fields=fields, json=pet, headers=self.headers, redirect=False
            )
            if method != "GET" or response.status not in {500, 502, 504}:
                break
        if response.status != success:
            raise ApiError(response.status, response.data)
        return response.json()

    def close(self) -> None:
        self.pool.clear()


class RetriesOfTheLibrary(RetriesMultiplied):
    """Correct: only the library tries again."""

    times = 1


# Responses


class _Attribute:
    def __init__(self, text: str) -> None:
        key, _, self.value = text.strip().partition("=")
        self.name = key[0].lower() + key[1:]


class CookieAttributes(HttpClientPets):
    """Fails for a cookie with an empty attribute (swift-server/async-http-client#209)."""

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        for cookie in response.headers.get_all("Set-Cookie") or []:
            self.attributes = [_Attribute(text) for text in cookie.split(";")[1:] if self.is_known(text)]
        return super().receive(response)

    def is_known(self, _: str) -> bool:
        return True


class CookieAttributesSkipped(CookieAttributes):
    """Correct: it skips empty attributes."""

    def is_known(self, text: str) -> bool:
        return bool(text.strip())


class LimitsAsNumbers(HttpClientPets):
    """Reads a header about rate limits as a number, whatever its form (praw-dev/prawcore#173)."""

    remaining: float | None = None

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        told = response.getheader("X-RateLimit-Remaining")
        if told is not None:
            self.note(told)
        return super().receive(response)

    def note(self, told: str) -> None:
        self.remaining = float(told)


class LimitsIfNumbers(LimitsAsNumbers):
    """Correct: it ignores other forms."""

    def note(self, told: str) -> None:
        with contextlib.suppress(ValueError):
            self.remaining = float(told)


class ChunkedInLowerCase(StreamsPets):
    """Compares the transfer coding with its letters (ArchiveTeam/wpull#492)."""

    def is_chunked(self, fields: dict[str, str]) -> bool:
        return fields.get("transfer-encoding") == "chunked"


class SpaceAfterColon(StreamsPets):
    """Expects a space after the colon of each header field (defold/defold#2679)."""

    def fields(self, head: str) -> dict[str, str]:
        pairs = [line.split(": ", 1) for line in head.split("\r\n")[1:] if line]
        return {name.lower(): value.strip() for name, value in pairs}


class EmptyIsNone(HttpClientPets):
    """Returns None for a list without animals (Alation/Allie-SDK#36)."""

    def list_pets(self, **query: Json) -> Json:
        return super().list_pets(**query) or None


@dataclass
class _Settled:
    id: int
    name: str
    category_id: int
    status: str | None
    settings: dict[str, str]


@dataclass
class _SettledQuietly(_Settled):
    settings: dict[str, str] = field(repr=False)


class KeyInResults(Shaped):
    """Shows its settings with the key in the ``repr()`` of each result (earthobservations/wetterdienst#1920)."""

    kind: type[_Settled] = _Settled

    @property
    def pet(self) -> Any:
        return lambda pet: self.kind(pet["id"], pet["name"], pet["categoryId"], pet.get("status"), self.headers())


class KeyHiddenInResults(KeyInResults):
    """Correct: the ``repr()`` leaves the settings out."""

    kind = _SettledQuietly


# Errors

# Formats its error twice, so braces of a body count as places for arguments (datacats/datacats#194).
BracesInErrors = fails(
    lambda _, answer: ApiError(
        answer.status, ("{status}: " + answer.body.decode("latin-1")).format(status=answer.status).encode()
    )
)

# Ends the program after each error (thiagofigueiro/nexus3-cli#85).
ExitsAfterErrors = fails(lambda _, answer: SystemExit(f"the service returned {answer.status}"))  # type: ignore[arg-type, return-value]


class NothingWhenLate(HttpClientPets):
    """Returns None if a response takes long (ros2/rclpy#1271)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.threads: list[threading.Thread] = []

    def get_pet(self, pet_id: int) -> Json:
        future: concurrent.futures.Future[Json] = concurrent.futures.Future()
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        self.threads.append(threading.Thread(target=self.fill, args=(future, pet_id), daemon=True))
        self.threads[-1].start()
        try:
            return future.result(TIMEOUT / 2)
        except concurrent.futures.TimeoutError:
            return self.late()

    def fill(self, future: concurrent.futures.Future[Json], pet_id: int) -> None:
        pets = HttpClientPets(self.host, self.key)
        pets.host, pets.port, pets.base = self.host, self.port, self.base
        try:
            future.set_result(pets.get_pet(pet_id))
        except BaseException as error:  # noqa: BLE001  # the caller gets it
            future.set_exception(error)
        finally:
            pets.close()

    def late(self) -> Json:
        return None

    def close(self) -> None:
        super().close()
        while self.threads:
            self.threads.pop().join()


class ErrorWhenLate(NothingWhenLate):
    """Correct: it raises an error."""

    def late(self) -> Json:
        raise TimeoutError("the response is late")


# Connections, threads and tasks


class SlotHeldInRedirect(LocationResolved):
    """Holds its only slot while it follows a redirection, which needs another one (urllib3/urllib3#1808)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.slots = threading.Semaphore(1)

    def ask(self, method: str, path: str, body: bytes | None = None, rounds: int = 5) -> Answer:
        with self.slots:
            answer = HttpClientPets.ask(self, method, path, body)
            if self.holds_on:
                return self.followed(answer, method, path, rounds)
        return self.followed(answer, method, path, rounds)

    holds_on = True

    def followed(self, answer: Answer, method: str, path: str, rounds: int) -> Answer:
        location = answer.headers.get("Location") or ""
        if method != "GET" or answer.status not in {301, 302, 307, 308} or not location or not rounds:
            return answer
        there = urlsplit(urljoin(f"{self.base}{path}", location))
        if there.netloc and (there.hostname, there.port) != (self.host, self.port):
            return answer
        path = f"{there.path.removeprefix(self.base)}{'?' if there.query else ''}{there.query}"
        return self.ask(method, path, None, rounds - 1)


class SlotReleasedInRedirect(SlotHeldInRedirect):
    """Correct: it gives the slot back before it follows."""

    holds_on = False


class RequestsUnderWay(Pooled):
    """Goes through a dict that other threads change meanwhile (fsspec/filesystem_spec#893)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.under_way: dict[object, str] = {}
        self.longest = 0

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        own = object()
        self.under_way[own] = path
        try:
            answer = super().ask(method, path, body)
            for other in self.paths():
                size = len(other)
                self.longest = max(self.longest, size)
            return answer
        finally:
            del self.under_way[own]

    def paths(self) -> Any:
        return self.under_way.values()


class RequestsCopied(RequestsUnderWay):
    """Correct: it goes through a copy."""

    def paths(self) -> Any:
        return list(self.under_way.values())


class LockOfAllLoops(AsyncPets):
    """Has one lock for the event loops of all clients (DeytaHQ/khora#1160)."""

    lock: ClassVar[asyncio.Lock] = asyncio.Lock()

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        async with self.lock:
            return await super().ask(method, path, success, **given)


class CancelledWhileItPauses(AsyncPets):
    """Goes on if it is cancelled in the pause before a retry (jaroschek/home-assistant-myuplink#86)."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        try:
            return await super().ask(method, path, success, **given)
        except ApiError as error:
            if method != "GET" or error.status not in {500, 502, 504}:
                raise
        await self.pause()
        return await super().ask(method, path, success, **given)

    async def pause(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)


class EndsWhileItPauses(CancelledWhileItPauses):
    """Correct: the pause raises the cancellation."""

    async def pause(self) -> None:
        await asyncio.sleep(0.05)


class LoopHandlerReplaced(AsyncPets):
    """Replaces the handler of lost errors in its caller's event loop (weaviate/weaviate-python-client#1381)."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        asyncio.get_running_loop().set_exception_handler(self.ignore)
        return await super().ask(method, path, success, **given)

    def ignore(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.latest = context


# Sets how all processes of the program start (gwastro/pycbc#4890).
StartMethodSet = starts(lambda _: multiprocessing.set_start_method("spawn", force=True))
StartMethodOwn = starts(lambda pets: vars(pets).update(context=multiprocessing.get_context("spawn")))

TWINS: dict[Any, Any] = {
    EncodedTwice: EncodedOnce,
    SendsOneBlock: HttpClientPets,
    GzipsLongBodies: HttpClientPets,
    QueryAddedAgain: LocationResolved,
    RetriesMultiplied: RetriesOfTheLibrary,
    CookieAttributes: CookieAttributesSkipped,
    LimitsAsNumbers: LimitsIfNumbers,
    ChunkedInLowerCase: StreamsPets,
    SpaceAfterColon: StreamsPets,
    EmptyIsNone: HttpClientPets,
    KeyInResults: KeyHiddenInResults,
    BracesInErrors: HttpClientPets,
    ExitsAfterErrors: HttpClientPets,
    NothingWhenLate: ErrorWhenLate,
    SlotHeldInRedirect: SlotReleasedInRedirect,
    RequestsUnderWay: RequestsCopied,
    LockOfAllLoops: LockedTasks,
    CancelledWhileItPauses: EndsWhileItPauses,
    LoopHandlerReplaced: AsyncPets,
    StartMethodSet: StartMethodOwn,
}
OPTIONS: dict[Any, dict[str, Any]] = {one: {"concurrent": True} for one in (RequestsUnderWay, LockOfAllLoops)}
REPORTS_AGAIN = clients_of(globals(), *TWINS.values())
