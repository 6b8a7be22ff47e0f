"""Clients whose life and surroundings are wrong, first half: the machine was made with them. Correct ones are near."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import dataclasses
import html
import http.client
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unicodedata
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self

from tests.clients.bugs import Remembers, altered, before, clients_of, fails, reads, sends, starts
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, RequestsPets
from tests.clients.shapes import AsyncPets, StreamsPets

# Asynchronous clients


class SleepsBriefly(AsyncPets):
    """Waits before a retry with ``time.sleep()`` for a third of a second (okta/okta-sdk-python#329)."""

    async def list_pets(self, **query: Json) -> Json:
        try:
            return await super().list_pets(**query)
        except ApiError as error:
            if error.status != 503:
                raise
            time.sleep(0.4)  # noqa: ASYNC251  # the bug
            return await super().list_pets(**query)


class CancelledMeansFailed(AsyncPets):
    """Raises its own error for a cancelled call (inclusionAI/Avernet#1203)."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        try:
            return await super().ask(method, path, success, **given)
        except asyncio.CancelledError:
            raise ApiError(503) from None


class PermitLost(AsyncPets):
    """Does not give a permit back if the call is cancelled (encode/httpcore#149)."""

    def __init__(self, petstore: Any) -> None:
        super().__init__(petstore)
        self.permits = asyncio.Semaphore(10)

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        await self.permits.acquire()
        try:
            found = await super().ask(method, path, success, **given)
        except Exception:
            self.permits.release()
            raise
        self.permits.release()
        return found


class PermitGivenBack(PermitLost):
    """Correct: it gives the permit back in any case."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        async with self.permits:
            return await AsyncPets.ask(self, method, path, success, **given)


class AnswerOfTheCancelled(StreamsPets):
    """Keeps its connection after a cancelled call, and reads its response in the next call (redis/redis-py#2624)."""

    streams: Any = None

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        body = json.dumps(given["json"]).encode() if "json" in given else b""
        fields = {**self.headers, "Connection": "keep-alive", "Content-Length": len(body)}
        if body:
            fields["Content-Type"] = "application/json"
        query = "&".join(f"{name}={value}" for name, value in (given.get("params") or {}).items() if value is not None)
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        target = f"{self.parts.path}{path}{'?' if query else ''}{query}"
        try:
            async with asyncio.timeout(TIMEOUT):
                if self.streams is None or self.streams[0].at_eof():
                    self.streams = await asyncio.open_connection(self.parts.hostname, self.parts.port)
                reader, writer = self.streams
                writer.write(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
                status, content = await self.read(reader)
        except Exception:
            await self.aclose()
            raise
        if status != success:
            raise ApiError(status, content)
        return json.loads(content)

    async def chunks(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        async for chunk in super().chunks(reader):
            yield chunk
        await reader.readuntil(b"\r\n")

    async def aclose(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


class RefreshFails(AsyncPets):
    """Begins a task whose error nobody retrieves (googleapis/python-genai#831)."""

    task: asyncio.Future[None] | None = None

    async def list_pets(self, **query: Json) -> Json:
        self.task = asyncio.ensure_future(self.refresh())
        return await super().list_pets(**query)

    async def refresh(self) -> None:
        await asyncio.sleep(0)
        raise KeyError("token")

    async def aclose(self) -> None:
        await super().aclose()
        self.task = None


class RefreshIsAwaited(RefreshFails):
    """Correct: it retrieves the error."""

    async def refresh(self) -> None:
        with contextlib.suppress(KeyError):
            await super().refresh()


# Close and blocks


class ClosedOnce(RequestsPets):
    """Fails if it is closed a second time (matteomattei/PySquashfsImage#29)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.lock: Any = threading.Lock()

    def close(self) -> None:
        with self.lock:
            super().close()
        self.lock = None


class LogoutIsTheResult(HttpClientPets):
    """Returns the result of a logout from ``__exit__``, which swallows the caller's exception (p4r4n0y1ng/pyfmg#2)."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> bool:
        self.close()
        return True


class ExitAsksForAStatus(HttpClientPets):
    """Reads an attribute of any exception in ``__exit__``, and raises AttributeError in its place."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()
        if error is not None and error.status == 401:  # type: ignore[attr-defined]  # the bug
            self.key = ""


class EmptyAfterClose(RequestsPets):
    """Returns an empty list after the close."""

    is_closed = False

    def close(self) -> None:
        super().close()
        self.is_closed = True

    def list_pets(self, **query: Json) -> Json:
        return [] if self.is_closed else super().list_pets(**query)


class FailsAfterClose(RequestsPets):
    """Correct: it raises an error after the close, and can be closed twice."""

    is_closed = False

    def close(self) -> None:
        super().close()
        self.is_closed = True

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        if self.is_closed:
            raise RuntimeError("this client is closed")
        return super().ask(method, path, success, **given)


class StaysAlive(HttpClientPets):
    """Stays alive after the close, for the sake of ``atexit`` (OpenHands/software-agent-sdk#3136)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        atexit.register(self.close)


class Unregisters(StaysAlive):
    """Correct: its close unregisters the callback."""

    def close(self) -> None:
        super().close()
        atexit.unregister(self.close)


class TemporaryConfiguration(HttpClientPets):
    """Leaves a temporary file behind (kubernetes-client/python#1782)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        handle, self.path = tempfile.mkstemp(prefix="pets")
        os.close(handle)


class TidiesUp(TemporaryConfiguration):
    """Correct: its close deletes the file."""

    def close(self) -> None:
        super().close()
        Path(self.path).unlink(missing_ok=True)


class PipeStaysOpen(HttpClientPets):
    """Opens a pipe for its signals, and never closes it (aws/aws-sdk-java-v2#5306)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.pipe = os.pipe()


class PipeIsClosed(PipeStaysOpen):
    """Correct: its close closes the pipe."""

    def close(self) -> None:
        super().close()
        for one in self.pipe:
            with contextlib.suppress(OSError):
                os.close(one)
        self.pipe = (-1, -1)


class DestructorFails(HttpClientPets):
    """Raises an error in ``__del__``, which nobody can catch (googleapis/python-genai#1567)."""

    def __del__(self) -> None:
        self.session.close()  # type: ignore[attr-defined]


# Exceptions


class UnshownError(ApiError):
    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.reason})"  # type: ignore[attr-defined]


# Raises an exception whose ``repr()`` fails (Parsl/parsl#197).
UnshownErrors = fails(lambda _, answer: UnshownError(answer.status))


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    status: int


# Raises an exception that a context manager can't raise again (python/cpython#99856, minio/minio-py#1519).
FrozenErrors = fails(lambda _, answer: FrozenError(answer.status))


@dataclasses.dataclass
class PlainError(Exception):
    status: int


# Correct: raises a dataclass that is not frozen.
ThawedErrors = fails(lambda _, answer: PlainError(answer.status))


class HeldAfterAnInterrupt(HttpClientPets):
    """Does not release its lock if Ctrl-C interrupts a call."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.lock = threading.Lock()

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        self.lock.acquire()
        try:
            answer = super().send(method, path, body)
        except Exception:
            self.lock.release()
            raise
        self.lock.release()
        return answer


# Between calls


class ContentTypeStays(RequestsPets):
    """Sets the Content-Type of a create for all later requests (rawandahmad698/noble-tls#31)."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        self.session.headers["Content-Type"] = "application/json"
        return super().create_pet(name=name, category_id=category_id, status=status)


class OneIdempotencyKey(HttpClientPets):
    """Makes the same Idempotency-Key for equal creates, so a service merges them into one."""

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "Idempotency-Key": f"{hash(self.sent)}"}

    sent = b""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.sent = body or b""
        return super().ask(method, path, body)


class KeyForEachCreate(OneIdempotencyKey):
    """Correct: each create has a key of its own."""

    def headers(self) -> dict[str, str]:
        return {**HttpClientPets.headers(self), "Idempotency-Key": os.urandom(8).hex()}


class EqualCreatesMerged(Remembers):
    """Sends a second equal create not at all."""

    def create_pet(self, **pet: Json) -> Json:
        key = json.dumps(pet, sort_keys=True)
        if key not in self.known:
            self.known[key] = super().create_pet(**pet)
        return self.known[key]


class HandlersGrow(HttpClientPets):
    """Adds a log handler each time it is made (okta/okta-sdk-python#372)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        logging.getLogger("pets.sdk").addHandler(logging.StreamHandler(sys.__stderr__))


class QuietLogger(HttpClientPets):
    """Correct: its logger has a handler that does nothing."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        logger = logging.getLogger("pets.quiet")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


class HistoryGrows(HttpClientPets):
    """Keeps every response for ever."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.history: list[Answer] = []

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.history.append(super().ask(method, path, body))
        return self.history[-1]


class LastTen(HistoryGrows):
    """Correct: keeps the last ten responses."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        del self.history[:-10]
        return answer


class SlowAfterAnOutage(HttpClientPets):
    """Still waits before each request when the outage is over (kairosdb/kairosdb-client#26)."""

    wait = 0.0

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        time.sleep(self.wait)
        answer = super().ask(method, path, body)
        if answer.status == 503:
            self.wait = min(self.wait * 2 or 0.4, 1.5)
        return answer


# The key on other ways out


class NamesAThread(HttpClientPets):
    """Names a thread after its key."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        found: list[Any] = []
        thread = threading.Thread(name=f"pets-{self.key}", target=lambda: found.append(self.tried(method, path, body)))
        thread.start()
        thread.join()
        answer = found[0]
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, Answer)
        return answer

    def tried(self, method: str, path: str, body: bytes | None) -> Any:
        try:
            return super().ask(method, path, body)
        except BaseException as error:  # noqa: BLE001  # the caller's thread raises it
            return error


class AsksAChild(HttpClientPets):
    """Passes its key to a child process as an argument (OpenRouterLabs/spawn#2464)."""

    def list_pets(self, **query: Json) -> Json:
        header = f"Authorization: Bearer {self.key}"
        subprocess.run(["/bin/sh", "-c", "sleep 0.05", "pets", header], check=True)
        return super().list_pets(**query)


class AsksAChildInSilence(HttpClientPets):
    """Correct: it passes the key by the standard input."""

    def list_pets(self, **query: Json) -> Json:
        subprocess.run(["/bin/sh", "-c", "cat > /dev/null"], input=self.key.encode(), check=True)  # a fixed program
        return super().list_pets(**query)


class LeavesItsConfiguration(HttpClientPets):
    """Writes its key to a file, which stays."""

    def close(self) -> None:
        path = Path(tempfile.gettempdir()) / f"pets-{os.getpid()}.json"
        path.write_text(json.dumps({"key": self.key}), encoding="utf-8")
        super().close()


# Texts that look like something else

# Decodes HTML in names that it sends.
Unescaped = sends(lambda body: {**body, "name": html.unescape(body["name"])})
# Changes the compatibility characters of names that it reads.
Normalised = reads(lambda pet: {**pet, "name": unicodedata.normalize("NFKC", pet["name"])})


def _literal(text: str) -> Any:
    return text.strip('"') if text.startswith('"') and text.endswith('"') and len(text) > 1 else text


# Removes quotation marks around a name.
Unquoted = reads(lambda pet: {**pet, "name": _literal(pet["name"])})
# Takes a name in square brackets for a list.
ListsGuessed = sends(
    lambda body: {**body, "name": body["name"][1:-1]} if body["name"][:1] + body["name"][-1:] == "[]" else body
)

# Settings of the whole program

# Allows more header fields in every response of the program.
ManyHeaders = starts(lambda _: vars(http.client).update({"_MAXHEADERS": 1000}))
# Changes the mode of files that the program makes later (keanehatescoding/anticheat#99).
FilesForItself = starts(lambda _: os.umask(0o077))
# Makes the random numbers of the whole program predictable (logicalclocks/hopsworks-api#1026).
PredictableJitter = starts(lambda _: random.seed(42))
# Correct: has random numbers of its own, and draws from those of the program.
OwnJitter = before("ask", lambda *_: [random.random() for _ in range(700)] and random.Random(42).random())  # no secret
# Sends the warnings of the program to the log.
WarningsAreLogged = starts(lambda _: logging.captureWarnings(capture=True))


# What the service may send


class ChallengeNeeded(HttpClientPets):
    """Reads the realm of each 401."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status == 401:
            raise ApiError(401, answer.headers["WWW-Authenticate"].split('"')[1].encode())
        return super().checked(answer, success)


# Knows only the statuses of the registry.
KnownStatuses = altered(
    checked=lambda self, answer, success: self.plain.checked(
        answer, success if http.HTTPStatus(answer.status).phrase else 0
    )
)


class CharsetTrusted(HttpClientPets):
    """Decodes an error's body with the charset that the response names."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            _, _, charset = (answer.headers.get("Content-Type") or "").partition("charset=")
            raise ApiError(answer.status, answer.body.decode(charset or "utf-8", "replace").encode())
        return answer


PROGRAM = (HandlersGrow, ManyHeaders, FilesForItself, PredictableJitter, WarningsAreLogged)
CORRECT = (
    PermitGivenBack,
    RefreshIsAwaited,
    FailsAfterClose,
    Unregisters,
    TidiesUp,
    PipeIsClosed,
    ThawedErrors,
    KeyForEachCreate,
    QuietLogger,
    LastTen,
    AsksAChildInSilence,
    OwnJitter,
)
LIVES = clients_of(globals(), *CORRECT)
