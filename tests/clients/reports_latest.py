"""Clients with bugs from public reports, sixth set."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gzip
import http.client
import io
import json
import logging
import threading
import time
import uuid
import zlib
from decimal import Decimal
from typing import Any

import requests

from tests.clients.bugs import after, clients_of, starts
from tests.clients.correct import TIMEOUT, Answer, HttpClientPets, Json, RequestsPets
from tests.clients.reports_later import WithoutTimeout
from tests.clients.shapes import AsyncPets

# Retries


def may_go_again(method: str, answer: Answer) -> bool:
    """Whether a request may be sent again at once: the service has not executed it, or it only reads."""
    return not after(answer) and (answer.status == 429 or (answer.status == 503 and method == "GET"))


class RetryWithoutType(HttpClientPets):
    """Sends a request again with the client's own headers only (triggerdotdev/trigger.dev#2490)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        return self.again(method, path, body) if may_go_again(method, answer) else answer

    def again(self, method: str, path: str, body: bytes | None) -> Answer:
        connection = self.connect()
        try:
            connection.request(method, self.base + path, body, self.headers())
            return self.receive(connection.getresponse())
        except BaseException:
            self.close()
            raise


class RetryWithType(RetryWithoutType):
    """Correct: it sends the same headers."""

    def again(self, method: str, path: str, body: bytes | None) -> Answer:
        return self.send(method, path, body)


class RequestIdTwice(HttpClientPets):
    """Adds the id of its request once more in each attempt (Azure/azure-sdk-for-net#8920)."""

    attempts = 3

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.ids: list[str] = []
        name = str(uuid.uuid4())
        answer = self.attempt(name, method, path, body)
        for _ in range(self.attempts - 1):
            if not may_go_again(method, answer):
                break
            answer = self.attempt(name, method, path, body)
        return answer

    def attempt(self, name: str, method: str, path: str, body: bytes | None) -> Answer:
        self.add(name)
        return super().ask(method, path, body)

    def add(self, name: str) -> None:
        self.ids.append(name)

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "X-Request-Id": ", ".join(self.ids)}


class RequestIdOnce(RequestIdTwice):
    """Correct: all attempts have the same id."""

    def add(self, name: str) -> None:
        self.ids = [name]


class RewindsNothing(HttpClientPets):
    """Rewinds the body before it sends a request again, also where there is none (databricks/databricks-sdk-go#616)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        stream: Any = None if body is None else io.BytesIO(body)
        answer = self.send(method, path, stream and stream.read())
        if may_go_again(method, answer):
            self.rewind(stream)
            answer = self.send(method, path, stream and stream.read())
        return answer

    def rewind(self, stream: Any) -> None:
        stream.seek(0)


class RewindsBodies(RewindsNothing):
    """Correct: it rewinds only a body."""

    def rewind(self, stream: Any) -> None:
        if stream is not None:
            super().rewind(stream)


# What one call leaves for the next


class AgentGrows(RequestsPets):
    """Adds its name to the User-Agent of its session for each request (Azure/azure-sdk-for-java#4716)."""

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        self.session.headers["User-Agent"] = self.agent()
        return super().ask(method, path, success, **given)

    def agent(self) -> str:
        return f"{self.session.headers['User-Agent']!s} pets/1"


class AgentStays(AgentGrows):
    """Correct: it sets the same text each time."""

    def agent(self) -> str:
        return "pets/1"


# Settings of the whole program

# Replaces the handler of all loggers that have none (fonttools/fonttools#1277).
LastResort = starts(lambda _: vars(logging).update({"lastResort": logging.StreamHandler()}))
# Replaces the decoder that the whole program uses (Juniper/py-junos-eznc#1404).
DecoderForAll = starts(lambda _: vars(json).update({"_default_decoder": json.JSONDecoder(parse_float=Decimal)}))

# Limits


class BucketStaysEmpty(HttpClientPets):
    """Notes the time of each look at its token bucket, so it never adds a token (svix/diom#115)."""

    most, rate = 20, 20

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.tokens, self.filled_at = self.most, time.monotonic()

    def added(self) -> int:
        return int((time.monotonic() - self.filled_at) * self.rate)

    def fill(self) -> None:
        self.tokens = min(self.most, self.tokens + self.added())
        self.filled_at = time.monotonic()

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.fill()
        while self.tokens < 1:
            time.sleep(0.001)
            self.fill()
        self.tokens -= 1
        return super().ask(method, path, body)


class BucketFills(BucketStaysEmpty):
    """Correct: it notes the time when it adds tokens."""

    def fill(self) -> None:
        if self.added():
            super().fill()


class PlaceLostInBody(HttpClientPets):
    """Does not give a place in its pool back if a body ends early or late (urllib3/urllib3#659)."""

    has_head = False

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.places = threading.Semaphore(3)

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        if not self.places.acquire(timeout=TIMEOUT):
            raise TimeoutError("no place in the pool")
        self.has_head = False
        try:
            answer = super().send(method, path, body)
        except BaseException:
            if not self.keeps():
                self.places.release()
            raise
        self.places.release()
        return answer

    def keeps(self) -> bool:
        return self.has_head

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        self.has_head = True
        return super().receive(response)


class PlaceGivenBack(PlaceLostInBody):
    """Correct: it gives each place back."""

    def keeps(self) -> bool:
        return False


# Content codings


class GzipUnread(HttpClientPets):
    """Accepts gzip, and does not decode it (alibaba/nacos#3790)."""

    codings: tuple[str, ...] = ()

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "Accept-Encoding": "gzip"}

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        answer = super().receive(response)
        coding = (response.headers.get("Content-Encoding") or "").lower()
        if answer.body and coding in self.codings:
            try:
                answer.body = gzip.decompress(answer.body)
            except (OSError, EOFError, zlib.error) as error:
                raise http.client.IncompleteRead(answer.body) from error
        return answer


class GzipRead(GzipUnread):
    """Correct: it decodes gzip, which has two names."""

    codings = ("gzip", "x-gzip")


class DecodedTwice(RequestsPets):
    """Decodes a body that its library has decoded already (comet-ml/opik#7413)."""

    def checked(self, response: requests.Response, success: int) -> Json:
        found = super().checked(response, success)
        if response.headers.get("Content-Encoding") == "gzip":
            return json.loads(gzip.decompress(response.content))
        return found


# Errors and ends


class GroupRaised(AsyncPets):
    """Raises the group of exceptions that its tasks raise (modelcontextprotocol/python-sdk#2114)."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(super().ask(method, path, success, **given))
        return task.result()


class ErrorOfTheGroup(GroupRaised):
    """Correct: it raises the exception of the group."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        try:
            return await super().ask(method, path, success, **given)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None


class CloseWaitsForTheWorker(HttpClientPets):
    """Waits in its close for a thread whose request has no timeout (launchdarkly/python-server-sdk#494)."""

    pets_of_worker: type[HttpClientPets] = WithoutTimeout

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.url = url
        self.pool = concurrent.futures.ThreadPoolExecutor(9)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        return self.pool.submit(self.alone, method, path, body).result(1.5 * TIMEOUT)

    def alone(self, method: str, path: str, body: bytes | None) -> Answer:
        with contextlib.closing(self.pets_of_worker(self.url, self.key)) as pets:
            return pets.send(method, path, body)

    def close(self) -> None:
        self.pool.shutdown()


class CloseWaitsForATimeout(CloseWaitsForTheWorker):
    """Correct: the request of its thread has a timeout."""

    pets_of_worker = HttpClientPets


TWINS: dict[Any, Any] = {
    RetryWithoutType: RetryWithType,
    RequestIdTwice: RequestIdOnce,
    RewindsNothing: RewindsBodies,
    AgentGrows: AgentStays,
    LastResort: HttpClientPets,
    DecoderForAll: HttpClientPets,
    BucketStaysEmpty: BucketFills,
    PlaceLostInBody: PlaceGivenBack,
    GzipUnread: GzipRead,
    DecodedTwice: RequestsPets,
    GroupRaised: ErrorOfTheGroup,
    CloseWaitsForTheWorker: CloseWaitsForATimeout,
}
REPORTS_LATEST = clients_of(globals(), *TWINS.values())
