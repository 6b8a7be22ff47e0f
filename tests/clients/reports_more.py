"""Clients with bugs from public reports, fifth set."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import http.client
import io
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import urljoin, urlsplit

from tests.clients.bugs import after, clients_of, waits
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json
from tests.clients.reports_shown import again
from tests.clients.shapes import AsyncPets, StreamsPets, an_array

# Bugs for which we mended the machine


class FollowsElsewhere(HttpClientPets):
    """Correct: it follows a redirection of a read to any service, with a connection for this."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        there = urlsplit(urljoin(f"http://{self.address}{self.base}{path}", answer.headers.get("Location") or ""))
        if method != "GET" or answer.status not in {301, 302, 307, 308} or there.scheme != "http":
            return answer
        if not answer.headers.get("Location"):
            return answer
        with contextlib.closing(self.connection_to(there)) as connection:
            target = there.path + (f"?{there.query}" if there.query else "")
            connection.request("GET", target, headers=self.headers_for(there.netloc))
            return self.receive(connection.getresponse())

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def connection_to(self, there: Any) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(there.hostname, there.port or 80, timeout=TIMEOUT)

    def headers_for(self, address: str) -> dict[str, str]:
        return self.headers() if address == self.address else {}


class HostStays(FollowsElsewhere):
    """Sends its Host to the target of a redirection too (aio-libs/aiohttp#3149)."""

    def headers_for(self, address: str) -> dict[str, str]:
        return {**super().headers_for(address), "Host": self.address}


class TypeTwice(HttpClientPets):
    """Adds a Content-Type to the one that its default headers have (MarkusSintonen/pyreqwest#25)."""

    defaults: tuple[str, ...] = ("Content-Type", "content-type")

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        connection = self.connect()
        try:
            connection.putrequest(method, self.base + path)
            for name, value in self.headers().items():
                connection.putheader(name, value)
            if body is not None:
                for name in self.defaults:
                    connection.putheader(name, "application/json")
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            return self.receive(connection.getresponse())
        except BaseException:
            self.close()
            raise


class TypeOnce(TypeTwice):
    """Correct: it has one Content-Type."""

    defaults = ("Content-Type",)


class AskedAtEachRead(HttpClientPets):
    """Returns a list that sends a request each time that it is read, and none in the call."""

    class Later(Sequence[Any]):
        """A list without animals of its own."""

        def __init__(self, fetch: Callable[[], Json]) -> None:
            self.fetch = fetch

        def __len__(self) -> int:
            return len(self.fetch())

        def __getitem__(self, index: Any) -> Any:
            return self.fetch()[index]

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        return self.Later(partial(super().list_pets, limit=limit, status=status))


class TimeoutCancels(AsyncPets):
    """Cancels its own call when its timeout is over."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        task = asyncio.ensure_future(super().ask(method, path, success, **given))
        handle = asyncio.get_running_loop().call_later(TIMEOUT / 2, task.cancel)
        try:
            return await task
        finally:
            handle.cancel()


class TimeoutIsRaised(AsyncPets):
    """Correct: its timeout raises an error of its own."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        async with asyncio.timeout(TIMEOUT / 2):
            return await super().ask(method, path, success, **given)


# Bugs that the machine met after we had written all of them


class LengthStays(HttpClientPets):
    """Keeps the Content-Length of a body for later requests (spinframework/spin-python-sdk#113)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.fields = {"Authorization": f"Bearer {key}"}

    def own(self) -> dict[str, str]:
        return self.fields

    def fit(self, fields: dict[str, str], body: bytes | None) -> None:
        if body is not None:
            fields["Content-Type"] = "application/json"
            fields.setdefault("Content-Length", str(len(body)))

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        fields = self.own()
        self.fit(fields, body)
        connection = self.connect()
        try:
            connection.request(method, self.base + path, body=body, headers=fields)
            return self.receive(connection.getresponse())
        except BaseException:
            self.close()
            raise


class LengthOfEach(LengthStays):
    """Correct: it copies the fields."""

    def own(self) -> dict[str, str]:
        return dict(self.fields)


class TypeTakenAway(LengthStays):
    """Takes Content-Type out of its settings for a request without a body (JigsawStack/jigsawstack-python#83)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.fields["Content-Type"] = "application/json"

    def fit(self, fields: dict[str, str], body: bytes | None) -> None:
        if body is None:
            fields.pop("Content-Type", None)


class TypeLeftOut(TypeTakenAway):
    """Correct: it copies the fields."""

    def own(self) -> dict[str, str]:
        return dict(self.fields)


class HostTwice(TypeTwice):
    """Adds its Host to one that has other letters (saleor/requests-hardened#63)."""

    defaults = ("Content-Type",)

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "host": f"{self.host}:{self.port}"}


class HeadGrows(TypeOnce):
    """Adds a media type for each request to the list that its settings hold (pyeve/eve#380)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.shared: list[str] = []

    def accepted(self) -> list[str]:
        return self.shared

    def headers(self) -> dict[str, str]:
        accepted = self.accepted()
        accepted.append("application/json")
        return {**super().headers(), "Accept": ", ".join(accepted)}


class HeadStays(HeadGrows):
    """Correct: each request has a list of its own."""

    def accepted(self) -> list[str]:
        return []


class ParametersStay(HttpClientPets):
    """Adds to a default argument, so a later call has the parameters too (mercadolibre/python-sdk#22)."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        return self.listed({"limit": limit, "status": status})

    def listed(self, given: dict[str, Any], known: dict[str, Any] = {}) -> Json:  # noqa: B006  # the bug
        known.update({name: value for name, value in given.items() if value is not None})
        return super().list_pets(limit=known.get("limit"), status=known.get("status"))


class BodyInRedirects(FollowsElsewhere):
    """Sends the body of a create again when a 303 leads it to a read (aio-libs/aiohttp#6764)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        location = answer.headers.get("Location") or ""
        if method == "POST" and answer.status == 303 and location.startswith(f"{self.base}/"):
            return self.send("GET", location.removeprefix(self.base), body)
        return answer


# Bugs that the machine met later, of further kinds


class BufferGrows(HttpClientPets):
    """Does not empty the buffer that it reads responses into (pycurl/pycurl#411)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.buffer = io.BytesIO()

    def content(self, response: http.client.HTTPResponse) -> bytes:
        self.empty()
        self.buffer.write(response.read())
        return self.buffer.getvalue()

    def empty(self) -> None:
        """Do nothing."""


class BufferIsEmptied(BufferGrows):
    """Correct: it empties the buffer."""

    def empty(self) -> None:
        self.buffer.seek(0)
        self.buffer.truncate()


class MethodStays(HttpClientPets):
    """Sends reads with the method of an earlier create, which its handle keeps (php-mod/curl#110)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.options: dict[str, str] = {}

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        self.reset()
        if method != "GET":
            self.options["method"] = method
        return super().send(self.options.get("method", "GET"), path, body)

    def reset(self) -> None:
        """Do nothing."""


class MethodIsReset(MethodStays):
    """Correct: it resets its handle."""

    def reset(self) -> None:
        self.options.clear()


class CircuitOpenError(Exception):
    """The circuit breaker is open."""


class RefusalsBreak(HttpClientPets):
    """Has a circuit breaker that opens after refusals too (sgl-project/sglang#25811)."""

    lowest = 400
    failures = 0
    since = 0.0

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        if self.failures >= 5 and time.monotonic() - self.since < 10:
            raise CircuitOpenError
        try:
            answer = super().ask(method, path, body)
        except Exception:
            self.note(failed=True)
            raise
        self.note(failed=answer.status >= self.lowest)
        return answer

    def note(self, *, failed: bool) -> None:
        self.failures = self.failures + 1 if failed else 0
        self.since = time.monotonic()


class FailuresBreak(RefusalsBreak):
    """Correct: only failures of the service open it."""

    lowest = 500


class HedgesAll(HttpClientPets):
    """Sends a request once more when the response is late, creates too (cristalhq/hedgedhttp#61)."""

    hedged: tuple[str, ...] = ("GET", "POST")

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.url = url
        self.pool = concurrent.futures.ThreadPoolExecutor(4)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        asked = [self.pool.submit(self.alone, method, path, body)]
        if method in self.hedged and concurrent.futures.wait(asked, 0.3).not_done:
            asked.append(self.pool.submit(self.alone, method, path, body))
        done = concurrent.futures.wait(asked, return_when=concurrent.futures.FIRST_COMPLETED).done
        return done.pop().result()

    def alone(self, method: str, path: str, body: bytes | None) -> Answer:
        with contextlib.closing(HttpClientPets(self.url, self.key)) as pets:
            return pets.send(method, path, body)

    def close(self) -> None:
        self.pool.shutdown()
        super().close()


class HedgesReads(HedgesAll):
    """Correct: it does so for reads only."""

    hedged = ("GET",)


class EmptyChunk(HttpClientPets):
    """Sends an empty part of a body as a chunk, which ends the body (psf/requests#2388)."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        if body is None:
            return super().send(method, path, body)
        fields = {**self.headers(), "Content-Type": "application/json", "Transfer-Encoding": "chunked"}
        connection = self.connect()
        try:
            connection.request(method, self.base + path, self.chunks(body), fields)
            return self.receive(connection.getresponse())
        except BaseException:
            self.close()
            raise

    def chunks(self, body: bytes) -> bytes:
        parts = [b"%x\r\n%b\r\n" % (len(part), part) for part in self.parts(body)]
        return b"".join(parts) + b"0\r\n\r\n"

    def parts(self, body: bytes) -> Iterable[bytes]:
        return re.split(b'(")', body)


class EmptyPartLeftOut(EmptyChunk):
    """Correct: it leaves empty parts out."""

    def parts(self, body: bytes) -> Iterable[bytes]:
        return filter(None, super().parts(body))


class QuotesReplaced(HttpClientPets):
    """Replaces apostrophes by quotation marks before it decodes JSON (NousResearch/atropos#479)."""

    def read(self, answer: Answer) -> Json:
        return json.loads(answer.body.replace(b"'", b'"'))


class NotModifiedIsEmpty(HttpClientPets):
    """Takes 304 for a success without content (opengisch/qfieldcloud-sdk-python#84)."""

    def list_pets(self, **given: Any) -> Json:
        try:
            return super().list_pets(**given)
        except ApiError as error:
            if error.status == 304:
                return []
            raise


class OneIsNoList(HttpClientPets):
    """Returns the animal itself for a list of one animal (open-horizon/exchange-api#480)."""

    def list_pets(self, **given: Any) -> Json:
        pets = an_array(super().list_pets(**given))
        return pets[0] if len(pets) == 1 else pets


class FirstAnswerKept(HttpClientPets):
    """Sends a read again after a 503, and returns the first response (olucurious/PyFCM#112)."""

    taken = 0

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        if method == "GET" and answer.status == 503 and not after(answer):
            return (answer, super().ask(method, path, body))[self.taken]
        return answer


class SecondAnswerTaken(FirstAnswerKept):
    """Correct: it returns the second response."""

    taken = 1


class ErrorRebuilt(HttpClientPets):
    """Makes an error of the same class with a message alone, which some classes refuse (ipython/ipython#14762)."""

    kind: type[ValueError] | None = None

    def read(self, answer: Answer) -> Json:
        try:
            return json.loads(answer.body)
        except ValueError as error:
            kind = self.kind or type(error)
            raise kind(f"no JSON: {error}") from error


class ErrorOfItsOwn(ErrorRebuilt):
    """Correct: its error has a class that takes a message."""

    kind = ValueError


class HeadersInUtf8(HttpClientPets):
    """Decodes response headers as UTF-8 (tornadoweb/tornado#1608)."""

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        answer = super().receive(response)
        answer.headers = {name: self.decode(value.encode("latin-1")) for name, value in response.headers.items()}
        return answer

    def decode(self, value: bytes) -> str:
        return value.decode()


class HeadersInLatin1(HeadersInUtf8):
    """Correct: each byte is a character."""

    def decode(self, value: bytes) -> str:
        return value.decode("latin-1")


class ProxiesUnset(HttpClientPets):
    """Removes the proxies of the environment for its request, and so for the program (conan-io/conan#3100)."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        for name in ("http_proxy", "https_proxy"):
            os.environ.pop(name, None)
            os.environ.pop(name.upper(), None)
        return super().send(method, path, body)


def told_from(now: Callable[[], datetime]) -> Callable[[Answer], float | None]:
    """Return a function that reads the seconds of a short Retry-After, or its date."""

    def seconds(answer: Answer) -> float | None:
        told = after(answer)
        if told.isdigit():
            return float(told) if float(told) < 3 else None
        try:
            date = parsedate_to_datetime(told)
        except ValueError:
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return min(3.0, max(0.0, (date - now()).total_seconds()))

    return seconds


# Subtracts a time without a zone from the date in Retry-After (ossf/criticality_score#808 has a similar one).
NaiveDates = waits(told_from(partial(datetime.now, None)))
# Correct: its time has a zone.
AwareDates = waits(told_from(partial(datetime.now, UTC)))


class EndIsNoPart(StreamsPets):
    """Reads on for ever when its connection ends, without a pause (aio-libs/aiomcache#502)."""

    async def read(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += await reader.readline()
        return await super().read(again(head, reader))


class EndReadAgain(HttpClientPets):
    """Reads on for ever when a body is cut off (LonamiWebs/Telethon#90)."""

    def content(self, response: http.client.HTTPResponse) -> bytes:
        length = response.length
        if not length:
            return super().content(response)
        body = b""
        while len(body) < length:
            body += response.read(length - len(body))
        return body


TWINS: dict[Any, Any] = {
    HostStays: FollowsElsewhere,
    TypeTwice: TypeOnce,
    AskedAtEachRead: HttpClientPets,
    TimeoutCancels: TimeoutIsRaised,
    LengthStays: LengthOfEach,
    TypeTakenAway: TypeLeftOut,
    HostTwice: TypeOnce,
    HeadGrows: HeadStays,
    ParametersStay: HttpClientPets,
    BodyInRedirects: FollowsElsewhere,
    BufferGrows: BufferIsEmptied,
    MethodStays: MethodIsReset,
    RefusalsBreak: FailuresBreak,
    HedgesAll: HedgesReads,
    EmptyChunk: EmptyPartLeftOut,
    QuotesReplaced: HttpClientPets,
    NotModifiedIsEmpty: HttpClientPets,
    OneIsNoList: HttpClientPets,
    FirstAnswerKept: SecondAnswerTaken,
    ErrorRebuilt: ErrorOfItsOwn,
    HeadersInUtf8: HeadersInLatin1,
    ProxiesUnset: HttpClientPets,
    NaiveDates: AwareDates,
    EndIsNoPart: StreamsPets,
    EndReadAgain: HttpClientPets,
}
REPORTS_MORE = clients_of(globals(), *TWINS.values())
