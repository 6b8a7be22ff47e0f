"""Clients whose life and surroundings are wrong, second half: kept apart until the machine was finished."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
import json
import logging
import os
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, ClassVar, Self

from tests.clients.bugs import Remembers, altered, before, clients_of, fails, reads, sends, starts
from tests.clients.correct import Answer, ApiError, HttpClientPets, Json, RequestsPets
from tests.clients.shapes import AsyncPets

# Asynchronous clients


class AsksInItsLoop(AsyncPets):
    """Sends its requests with a synchronous library (googleapis/python-genai#2938)."""

    def __init__(self, petstore: Any) -> None:
        super().__init__(petstore)
        self.pets = HttpClientPets(petstore.url, petstore.api_key)

    async def list_pets(self, **query: Json) -> Json:
        return [self.pet(pet) for pet in self.pets.list_pets(**query)]

    async def aclose(self) -> None:
        self.pets.close()
        await super().aclose()


class CancelledMeansEmpty(AsyncPets):
    """Returns an empty list for a cancelled call (aio-libs/aiohttp#8174)."""

    async def list_pets(self, **query: Json) -> Json:
        try:
            return await super().list_pets(**query)
        except asyncio.CancelledError:
            return []


class RetriesTheCancelled(AsyncPets):
    """Takes a cancellation for a lost response, and sends the request again (BobTheBuidler/dank_mids#710)."""

    async def get_pet(self, pet_id: int) -> Json:
        try:
            return await super().get_pet(pet_id)
        except asyncio.CancelledError:
            return await super().get_pet(pet_id)


class LockStays(AsyncPets):
    """Holds its lock for ever if a call is cancelled (encode/httpcore#1093)."""

    def __init__(self, petstore: Any) -> None:
        super().__init__(petstore)
        self.lock = asyncio.Lock()

    async def create_pet(self, *, category_id: int, **fields: Json) -> Json:
        await self.lock.acquire()
        try:
            found = await super().create_pet(category_id=category_id, **fields)
        except (ApiError, Exception):
            self.lock.release()
            raise
        self.lock.release()
        return found


class ReportsInATask(AsyncPets):
    """Reports failures in a task that fails itself."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        try:
            return await super().ask(method, path, success, **given)
        except ApiError as error:
            self.latest = asyncio.get_running_loop().create_task(self.report(error))
            raise

    async def report(self, error: ApiError) -> None:
        logging.getLogger("pets").debug("%s", error.reason)  # type: ignore[attr-defined]


# Close and blocks


class ClosedOnceAsync(AsyncPets):
    """Fails if it is closed a second time (openziti/ziti-sdk-py#40)."""

    async def aclose(self) -> None:
        await self.http.aclose()
        del self.http


class ExitReturnsItself(HttpClientPets):
    """Returns itself from ``__exit__``, which swallows the caller's exception (klen/pylama#207)."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> Self:
        self.close()
        return self


class AsyncExitIsTrue(AsyncPets):
    """Returns True from ``__aexit__`` (avocado-framework/avocado#3630)."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> bool:
        await self.aclose()
        return True


class ExitWraps(HttpClientPets):
    """Raises its own error in place of any exception of the block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()
        if error is not None:
            raise ApiError(500) from error


class WaitsAfterClose(RequestsPets):
    """Waits for a worker that its close has ended."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.tokens: queue.Queue[int] = queue.Queue()
        self.tokens.put(1)

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        token = self.tokens.get()
        try:
            return super().ask(method, path, success, **given)
        finally:
            self.tokens.put(token)

    def close(self) -> None:
        super().close()
        with contextlib.suppress(queue.Empty):
            self.tokens.get_nowait()


class ReopensForEver(RequestsPets):
    """Opens a connection for a call after the close, which a second close does not close."""

    sessions: ClassVar[list[Any]] = []
    is_closed = False

    def close(self) -> None:
        if not self.is_closed:
            super().close()
            self.sessions.append(self.session)
        self.is_closed = True


class RegisteredForEver(HttpClientPets):
    """Stays alive after the close, in a register of its class (icatproject/python-icat#111)."""

    register: ClassVar[dict[int, Any]] = {}

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.register[id(self)] = self


class CachedMethod(HttpClientPets):
    """Has a cache around a method, which keeps the client alive (googleapis/google-cloud-python#11076)."""

    @functools.lru_cache(maxsize=None)  # noqa: B019, UP033  # the bug
    def address(self, path: str) -> str:
        return self.base + path

    def get_pet(self, pet_id: int) -> Json:
        self.address("/pets")
        return super().get_pet(pet_id)


class DownloadsStay(HttpClientPets):
    """Stores each list in a folder of its own, and leaves the folders (certifi/python-certifi#265)."""

    def content(self, response: http.client.HTTPResponse) -> bytes:
        body = super().content(response)
        (Path(tempfile.mkdtemp()) / "body").write_bytes(body)
        return body


class LogFileStaysOpen(HttpClientPets):
    """Opens its log file in each constructor, and never closes it (Azure/blobxfer#124)."""

    logs: ClassVar[list[Any]] = []

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.logs.append(open(__file__, "rb"))  # noqa: PTH123, SIM115  # the bug


class ThreadDies(HttpClientPets):
    """Has a thread that dies of an error."""

    def close(self) -> None:
        thread = threading.Thread(target=self.flush)
        thread.start()
        thread.join()
        super().close()

    def flush(self) -> None:
        self.buffer.clear()  # type: ignore[attr-defined]


# Exceptions


class SpeechlessError(ApiError):
    def __str__(self) -> str:
        return self.args[1].decode()  # type: ignore[no-any-return]


# Raises an exception whose ``str()`` fails.
SpeechlessErrors = fails(lambda _, answer: SpeechlessError(answer.status))


class SealedError(ApiError):
    def __setattr__(self, name: str, value: object) -> None:
        if name != "status":
            raise TypeError(f"{name} can't be set")
        super().__setattr__(name, value)


# Raises an exception that refuses a traceback (vehicle-lang/vehicle#1274).
SealedErrors = fails(lambda _, answer: SealedError(answer.status))


class RetriesTheInterrupted(HttpClientPets):
    """Takes Ctrl-C for a failure, and reads again (fossasia/visdom#506)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        try:
            return super().ask(method, path, body)
        except:  # noqa: E722  # the bug
            if method != "GET":
                raise
            return super().ask(method, path, body)


# Between calls


class KeyOfTheCreateStays(RequestsPets):
    """Leaves the header of a create in its session (rbw/pysnow#118)."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        self.session.headers["X-Operation"] = "create"
        return super().create_pet(name=name, category_id=category_id, status=status)


class KeyOfItsLife(HttpClientPets):
    """Sends one Idempotency-Key for all creates of its life."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.once = os.urandom(8).hex()

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "Idempotency-Key": self.once}


class CreatesOnce(Remembers):
    """Returns the earlier animal for a second create with the same name."""

    def create_pet(self, **pet: Json) -> Json:
        if pet["name"] not in self.known:
            self.known[pet["name"]] = super().create_pet(**pet)
        return self.known[pet["name"]]


class LogFileForEach(HttpClientPets):
    """Adds a handler to its logger in each constructor (ibm-watson-iot/iot-python#18)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.log = logging.getLogger(f"{type(self).__module__}.iot")
        self.log.addHandler(logging.StreamHandler(sys.__stdout__))


class TimesGrow(HttpClientPets):
    """Keeps the duration of each call in its class."""

    times: ClassVar[dict[float, str]] = {}

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        self.times[time.perf_counter()] = path
        return answer


class BackOffStays(HttpClientPets):
    """Never resets its pause after a failure (pusher/pusher-websocket-dotnet#97)."""

    failures = 0

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        if self.failures:
            time.sleep(min(0.25 * 2**self.failures, 1))
        try:
            answer = super().ask(method, path, body)
        except OSError:
            self.failures += 1
            raise
        self.failures += answer.status >= 500
        return answer


# The key on other ways out


class KeyForItsChild(HttpClientPets):
    """Passes its key to a child process in the environment (gi-dellav/zerostack#1)."""

    def get_pet(self, pet_id: int) -> Json:
        subprocess.run(["/bin/sleep", "0.05"], env={"PETS_KEY": self.key}, check=True)
        return super().get_pet(pet_id)


class WritesACache(HttpClientPets):
    """Leaves a file with its headers in the working directory."""

    def close(self) -> None:
        folder = Path(".pets")
        folder.mkdir(exist_ok=True)
        (folder / "cache.json").write_text(json.dumps(self.headers()), encoding="utf-8")
        super().close()


# Texts that look like something else


def _as_number(text: str) -> Any:
    left, slash, right = text.partition("/")
    is_fraction = slash and left.isdecimal() and right.isdecimal()
    return str(int(left) / int(right)) if is_fraction and int(right) else text


# Takes a name such as 1/2 for a fraction.
FractionsGuessed = reads(lambda pet: {**pet, "name": _as_number(pet["name"])})
# Takes ``N/A`` for no name.
NotAvailable = reads(lambda pet: {**pet, "name": "" if pet["name"] in {"N/A", "n/a", "-"} else pet["name"]})
# Replaces emoji names in colons.
Smileys = sends(lambda body: {**body, "name": body["name"].replace(":dog:", "\U0001f415").replace(":)", "\U0001f642")})
# Removes a byte order mark and zero-width characters.
ZeroWidth = reads(lambda pet: {**pet, "name": pet["name"].replace("\u200b", "").replace("\ufeff", "")})

# Settings of the whole program

# Sets the limit of a line for all responses of the program.
LongLines = starts(lambda _: vars(http.client).update({"_MAXLINE": 2**20}))
# Replaces a function of the module json (AstroVela/vane#170 has a like one).
JsonReplaced = starts(lambda _: setattr(json, "loads", functools.partial(json.loads)))
# Switches the logging of the program off.
LoggingOff = starts(lambda _: logging.disable(logging.CRITICAL))
# Seeds the random numbers with its address (fakeredis, cunla/fakeredis-py#315).
SeededByAddress = before("ask", lambda *_: random.seed("pets"))
# Puts a folder at the front of the search path for modules.
PathInserted = starts(lambda _: sys.path.insert(0, "/opt/pets"))


# What the service may send


class BodyNeeded(HttpClientPets):
    """Reads the message of each error as JSON with a code."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            document = json.loads(answer.body) if answer.body.startswith(b"{") else {"code": "", "message": ""}
            raise ApiError(answer.status, document["message"].encode())
        return answer


class GzipExpected(HttpClientPets):
    """Unpacks each body that names gzip, an empty one too."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.headers.get("Content-Encoding") == "gzip" and answer.body[:2] != b"\x1f\x8b":
            raise ValueError("not gzip")
        return super().checked(answer, success)


# Takes only 4xx and 5xx of the registry for errors; any other status is taken for a success.
OthersAreFine = altered(
    checked=lambda self, answer, success: (
        answer if answer.status in {299, 226, 208} else self.plain.checked(answer, success)
    )
)

PROGRAM = (LogFileForEach, LongLines, JsonReplaced, LoggingOff, SeededByAddress, PathInserted)
KEPT_LIVES = clients_of(globals())
