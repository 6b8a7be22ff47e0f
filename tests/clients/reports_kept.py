"""Clients with bugs from public reports, second half: we kept them apart until the machine was mended."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import datetime as dt
import decimal
import logging
import os
import ssl
import threading
import time
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar
from urllib.parse import urlsplit

from tests.clients.bugs import after, before, clients_of, fails, reads, starts, waits
from tests.clients.correct import Answer, ApiError, HttpClientPets, Json, RequestsPets
from tests.clients.reports_shown import repeating
from tests.clients.shapes import AsyncPets, ProtocolError, StreamsPets

log = logging.getLogger("pets.reports")


class WaitsForAThread(AsyncPets):
    """Runs requests in a thread, for which its loop waits (Unstructured-IO/unstructured-python-client#339)."""

    def __init__(self, petstore: Any) -> None:
        super().__init__(petstore)
        self.pets = HttpClientPets(petstore.url, petstore.api_key)
        self.pool = concurrent.futures.ThreadPoolExecutor(1)

    async def get_pet(self, pet_id: int) -> Json:
        return self.pet(await self.value(self.pool.submit(self.pets.get_pet, pet_id)))

    async def value(self, future: Any) -> Json:
        return future.result()

    async def aclose(self) -> None:
        self.pool.shutdown()
        self.pets.close()
        await super().aclose()


class AwaitsAThread(WaitsForAThread):
    """Correct: it awaits the thread."""

    async def value(self, future: Any) -> Json:
        return await asyncio.wrap_future(future)


class FailureStays(AsyncPets):
    """Keeps the failed task of a request for later calls (aio-libs/async-lru#199)."""

    def __init__(self, petstore: Any) -> None:
        super().__init__(petstore)
        self.tasks: dict[int, Any] = {}

    async def get_pet(self, pet_id: int) -> Json:
        if pet_id not in self.tasks:
            self.tasks[pet_id] = asyncio.ensure_future(super().get_pet(pet_id))
        return await self.shared(pet_id)

    async def shared(self, pet_id: int) -> Json:
        pet = await self.tasks[pet_id]
        del self.tasks[pet_id]
        return pet


class FailureGoes(FailureStays):
    """Correct: it forgets the task in any case."""

    async def shared(self, pet_id: int) -> Json:
        try:
            return await self.tasks[pet_id]
        finally:
            self.tasks.pop(pet_id, None)


class FalsyError(ApiError):
    def __len__(self) -> int:
        return 0


class FalsyErrorIgnored(HttpClientPets):
    """Tests its exceptions by their truth value, which is false (aio-libs/aiohttp#3096)."""

    def get_pet(self, pet_id: int) -> Json:
        pet, failure = None, None
        answer = self.ask("GET", f"/pets/{pet_id}")
        if answer.status == 200:
            pet = self.read(answer)
        else:
            failure = FalsyError(answer.status)
        if self.is_failed(failure):
            raise failure  # type: ignore[misc]
        return pet

    def is_failed(self, failure: Exception | None) -> bool:
        return bool(failure)


class FalsyErrorRaised(FalsyErrorIgnored):
    """Correct: it compares with None."""

    def is_failed(self, failure: Exception | None) -> bool:
        return failure is not None


class PlainError(Exception):
    """Has no status."""


# Hides the status of the response (mostly-ai/mostlyai#299).
StatusHidden = fails(lambda _, answer: PlainError("an error occurred while requesting"))
StatusInTheError = fails(lambda _, answer: ApiError(answer.status, b"an error occurred"))


class ThreadForEachConnection(HttpClientPets):
    """Starts a thread for each connection, and ends only the latest (FreeOpcUa/python-opcua#534)."""

    thread: Any = None

    def new_connection(self) -> Json:
        self.end()
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait, daemon=True)
        thread.start()
        self.thread = thread, stop
        return super().new_connection()

    def end(self) -> None:
        pass

    def connect(self) -> Json:
        if self.connection is not None and self.is_stale(self.connection):
            HttpClientPets.close(self)
        return super().connect()

    def close(self) -> None:
        super().close()
        if self.thread is not None:
            self.thread[1].set()
            self.thread[0].join()


class ThreadEndedFirst(ThreadForEachConnection):
    """Correct: it ends the former thread before it starts another one."""

    def end(self) -> None:
        if self.thread is not None:
            self.thread[1].set()
            self.thread[0].join()


class KeyInATraceback(HttpClientPets):
    """Logs a traceback whose exception has the request headers (logicalclocks/hopsworks-api#185)."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            try:
                self.complain()
            except ValueError:
                log.debug("request failed", exc_info=True)
        return super().checked(answer, success)

    def complain(self) -> None:
        raise ValueError(self.words())

    def words(self) -> str:
        return f"invalid headers {self.headers()}"


class NoKeyInATraceback(KeyInATraceback):
    """Correct: the exception has only the names."""

    def words(self) -> str:
        return f"invalid headers {[*self.headers()]}"


class CookiesForAll(RequestsPets):
    """Shares one jar of cookies between all clients (hapijs/hapi#722)."""

    jar: ClassVar[dict[str, str]] = {}

    def checked(self, response: Any, success: int) -> Json:
        self.jar.update(response.cookies.get_dict())
        return super().checked(response, success)

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        self.session.cookies.update(self.jar)
        return super().ask(method, path, success, **given)


class CookiesOfItsOwn(CookiesForAll):
    """Correct: each client has its jar."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.jar = {}  # type: ignore[misc]  # its own


# Formats its message with the name in it, so "%" fails (hynek/structlog#479).
NameIsAFormat = before("encode", lambda self, body: ("creating in %s: " + body["name"]) % body["categoryId"])
NameIsAValue = before("encode", lambda self, body: f"creating in {body['categoryId']}: {body['name']}")


def _moment(text: str) -> Any:
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return text


# Turns each text that is a date into an object (puzzle/okr#1821).
DatesRevived = reads(lambda pet: {**pet, "name": _moment(pet["name"])})
DatesLeft = reads(lambda pet: {**pet, "name": str(pet["name"])})


def _precise() -> None:
    decimal.getcontext().prec = 60


def _locally_precise() -> None:
    with decimal.localcontext() as context:
        context.prec = 60


# Changes the precision of decimal numbers (thombashi/DataProperty#59).
DecimalPrecision = starts(lambda _: _precise())
LocalPrecision = starts(lambda _: _locally_precise())
# Switches the verification of certificates off for the whole program (vmware/pyvmomi#252).
UnverifiedForAll = starts(lambda _: vars(ssl).update(_create_default_https_context=ssl.SSLContext))
UnverifiedForItself = starts(lambda pets: vars(pets).update(context=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)))
# Sets the file mode mask of the program (Project-OSmOSE/OSEkit#223).
UmaskOpened = starts(lambda _: os.umask(0o002))
UmaskPutBack = starts(lambda _: os.umask(os.umask(0o002)))


def _charset(answer: Answer) -> str:
    return (answer.headers.get("Content-Type") or "").partition("charset=")[2] or "utf-8"


def _parsed_charset(answer: Answer) -> str:
    message = Message()
    message["Content-Type"] = answer.headers.get("Content-Type") or "text/plain"
    return message.get_content_charset("utf-8")


def _decoded(answer: Answer, charset: str) -> bytes:
    # Python's own codecs would accept the quotation marks.
    if charset.startswith('"'):
        raise LookupError(f"unknown encoding: {charset}")
    return answer.body if charset.startswith("x-") else answer.body.decode(charset, "replace").encode()


# Looks up the charset with its quotation marks (jetty/jetty.project#1914).
QuotedCharset = fails(lambda _, answer: ApiError(answer.status, _decoded(answer, _charset(answer))))
ParsedCharset = fails(lambda _, answer: ApiError(answer.status, _decoded(answer, _parsed_charset(answer))))


class ChunkExtensions(StreamsPets):
    """Fails for a chunk with an extension (adafruit/Adafruit_CircuitPython_Requests#46)."""

    async def size_of_chunk(self, reader: asyncio.StreamReader) -> int:
        line = await reader.readuntil(b"\r\n")
        try:
            return int(line, 16)
        except ValueError:
            raise ProtocolError(repr(line)) from None


# Sends a failed read again without its query (justadev-afk/twisted#167).
QueryLost = repeating(lambda path: path.partition("?")[0])
QueryKept = repeating(lambda path: path)


def _seconds(answer: Answer) -> float | None:
    return min(float(after(answer)), 1.05) if after(answer).isdecimal() else None


# Takes the seconds of Retry-After for milliseconds (Shopify/shopify-app-js#3364).
MillisecondsTaken = waits(lambda answer: None if _seconds(answer) is None else (_seconds(answer) or 0) / 1000)
SecondsTaken = waits(_seconds)


class RateLimitError(ApiError):
    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status, answer.body)
        self.retry_after = max(1, int(answer.headers.get("Retry-After", "15")))


class LenientRateLimitError(ApiError):
    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status, answer.body)
        self.retry_after = int(after(answer)) if after(answer).isdecimal() else 15


# Reads Retry-After as an integer in the constructor of its error (WebexCommunity/WebexPythonSDK#181).
HintInAnError = fails(lambda _, answer: RateLimitError(answer) if answer.status == 429 else ApiError(answer.status))
AnyHintInAnError = fails(
    lambda _, answer: LenientRateLimitError(answer) if answer.status == 429 else ApiError(answer.status)
)


def _by_one_form(answer: Answer) -> float | None:
    text = after(answer)
    if not text.endswith("GMT"):
        return None
    until = dt.datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=dt.UTC)
    return 0.01 if until.timestamp() < time.time() else None


def _by_any_form(answer: Answer) -> float | None:
    with contextlib.suppress(ValueError):
        until = parsedate_to_datetime(after(answer))
        return 0.01 if until.timestamp() < time.time() else None
    return None


# Parses the date of Retry-After in one form only, and fails for others (go-resty/resty#1220).
OneDateForm = waits(_by_one_form)
AnyDateForm = waits(_by_any_form)


class BodyLostOnRedirect(HttpClientPets):
    """Follows 307 and 308 of a create without the body (quarkusio/quarkus#41751)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        for _ in range(5):
            there = urlsplit(answer.headers.get("Location") or "")
            is_own = there.path and (not there.netloc or (there.hostname, there.port) == (self.host, self.port))
            if answer.status not in {307, 308} or not is_own:
                break
            path = f"{there.path.removeprefix(self.base)}{'?' if there.query else ''}{there.query}"
            answer = super().ask(method, path, self.again(body))
        return answer

    def again(self, body: bytes | None) -> bytes | None:
        return None if body is None else b""


class BodySentAgain(BodyLostOnRedirect):
    """Correct: it sends the body again."""

    def again(self, body: bytes | None) -> bytes | None:
        return body


class LocationNeeded(HttpClientPets):
    """Needs a Location in each redirection (cisagov/pshtt#79)."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if 300 <= answer.status < 400:
            raise ApiError(answer.status, self.location(answer).encode())
        return super().checked(answer, success)

    def location(self, answer: Answer) -> str:
        return answer.headers["Location"].strip()


class LocationShown(LocationNeeded):
    """Correct: the Location may be absent."""

    def location(self, answer: Answer) -> str:
        return str(answer.headers.get("Location"))


TWINS: dict[Any, Any] = {
    WaitsForAThread: AwaitsAThread,
    FailureStays: FailureGoes,
    FalsyErrorIgnored: FalsyErrorRaised,
    StatusHidden: StatusInTheError,
    ThreadForEachConnection: ThreadEndedFirst,
    KeyInATraceback: NoKeyInATraceback,
    CookiesForAll: CookiesOfItsOwn,
    NameIsAFormat: NameIsAValue,
    DatesRevived: DatesLeft,
    DecimalPrecision: LocalPrecision,
    UnverifiedForAll: UnverifiedForItself,
    UmaskOpened: UmaskPutBack,
    QuotedCharset: ParsedCharset,
    ChunkExtensions: StreamsPets,
    QueryLost: QueryKept,
    MillisecondsTaken: SecondsTaken,
    HintInAnError: AnyHintInAnError,
    OneDateForm: AnyDateForm,
    BodyLostOnRedirect: BodySentAgain,
    LocationNeeded: LocationShown,
}
REPORTS_KEPT = clients_of(globals(), *TWINS.values())
