"""Clients with reported bugs, second half: we kept these reports apart until the machine was finished."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import html
import json
import logging
import os
import socket
import struct
import time
from dataclasses import dataclass
from email.utils import parsedate
from typing import Any, ClassVar

import aiohttp
import httpx
import pydantic
import requests

from tests.clients.buggy_asking import LengthInCharacters, MissingRemembered
from tests.clients.buggy_living import GetsRemembered, KeyKeptOnRedirect, NoTimeoutInSession
from tests.clients.bugs import (
    after,
    altered,
    asks_again,
    before,
    clients_of,
    reads,
    starts,
    swallows,
    waits,
)
from tests.clients.correct import (
    TIMEOUT,
    Answer,
    ApiError,
    HttpClientPets,
    HttpxPets,
    Json,
    LibraryPets,
    RequestsPets,
)
from tests.clients.shapes import AsyncPets, Status, shaped


def local_wait(answer: Answer) -> float | None:
    date = None if after(answer).isdecimal() else parsedate(after(answer))
    wait = None if date is None else time.mktime((*date[:6], 0, 0, -1)) - time.time()
    return None if wait is None or wait > 5 else max(wait + 0.01, 0)


# Reads the date of Retry-After as local time (urllib3/urllib3#1896).
DatesAreLocal = waits(local_wait, statuses={429})
# Reads Retry-After only in seconds, and fails for a date (AstroVela/vane#170).
SecondsAlone = waits(lambda answer: min(float(after(answer) or 0), 1.05), statuses={429})
# Waits for its own short time instead of Retry-After (hermetoproject/hermeto#1346).
RetryAfterIgnored = asks_again(1, lambda method, status: method == "GET" and status in {429, 503}, pause=0.02)


class SessionForEachCall(AsyncPets):
    """Opens a session for each call and closes none (aleph-im/aleph-client#62)."""

    sessions: ClassVar[list[Any]] = []

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        session = aiohttp.ClientSession(headers=dict(self.http.headers), timeout=aiohttp.ClientTimeout(total=TIMEOUT))
        self.sessions.append(session)
        given = {name: value for name, value in given.items() if value}
        async with session.request(method, f"{str(self.http.base_url).rstrip('/')}{path}", **given) as response:
            if response.status != success:
                raise ApiError(response.status)
            return await response.json()


class FieldsForbidden(shaped(lambda pet: ClosedPet.model_validate(pet))):  # type: ignore[misc]  # noqa: PLW0108  # it comes later
    """Has strict models, which fail for a new field (apify/apify-client-python#931)."""


class ClosedPet(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    id: int
    name: str
    categoryId: int  # noqa: N815  # the interface's name
    status: Status | None = None


class TimeoutSwitchedOff(AsyncPets):
    """Passes None as the timeout, which switches it off (OpenRouterTeam/python-sdk#72)."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        return await super().ask(method, path, success, **given, timeout=None)


class NoTimeoutForPost(NoTimeoutInSession):
    """Has no timeout in one of its methods (plivo/plivo-python#36)."""


# Uses a connection that the service has closed (FMCorz/mdk#262).
IdleConnectionUsed = altered(is_stale=lambda self, connection: False)
# Converts every number to a float (rest-sh/restish#397).
NumbersAreFloats = altered(read=lambda self, answer: json.loads(answer.body, parse_int=lambda text: int(float(text))))


class LengthOfText(LengthInCharacters):
    """Sets Content-Length to the number of characters (psf/requests#6586)."""


# Returns None for every failure of getPet (schema-repo/schema-repo#16).
NothingFound = swallows("get_pet", Exception, lambda: None)
# Returns an empty list when listPets fails (DevoInc/python-sdk#58).
EmptyForErrors = swallows("list_pets", ApiError, list)


class RemembersLists(HttpClientPets):
    """Caches responses without expiry (civisanalytics/civis-python#233)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.list_pets = functools.lru_cache(super().list_pets)  # type: ignore[method-assign]


class KeyTakenAlong(KeyKeptOnRedirect):
    """Sends all headers, with the key, to the target of a redirection (apify/crawlee#4134)."""


class ClosesLater(AsyncPets):
    """Returns from its close before its connections are closed (aio-libs/aiohttp#3736)."""

    later: ClassVar[set[Any]] = set()

    async def close_later(self) -> None:
        await asyncio.sleep(30)
        await self.http.aclose()

    async def aclose(self) -> None:
        self.later.add(asyncio.ensure_future(self.close_later()))


# Requires a rate limit header, which may be absent (nextsnake/nextcore#49).
HeaderTakenForGranted = waits(
    lambda answer: min(float(dict(answer.headers.items())["X-RateLimit-Reset-After"]), TIMEOUT), statuses={429}
)
# Unescapes HTML entities in names (delmic/odemis#1684).
UnescapesNames = reads(lambda pet: {**pet, "name": html.unescape(pet["name"])})
# Configures the root logger in its constructor (SiftScience/sift-python#18).
ConfiguresTheRootLogger = starts(lambda _: logging.basicConfig(level=logging.DEBUG))
# Sets the default timeout of all sockets of the program (jtriley/pystun#16).
TimeoutForTheWholeProgram = starts(lambda _: socket.setdefaulttimeout(TIMEOUT))
# Retries permanent errors (allenai/tutormoments#52).
PermanentErrorsAgain = asks_again(4, lambda method, status: status >= 400 and status != 429, pause=0.001)
# Sends an IPv6 address in Host without brackets (nahi/httpclient#387).
BracketsForgotten = altered(headers=lambda self: {**self.plain.headers(), "Host": f"{self.host}:{self.port}"})


class ErrorsDoNotPickle(HttpClientPets):
    """Raises an error that can't be unpickled (lukasschwab/arxiv.py#191)."""

    class PetsError(Exception):
        def __init__(self, url: str, retry: int, status: int) -> None:
            super().__init__(f"{url} resulted in HTTP {status} after {retry} retries")
            self.status = status

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            raise self.PetsError(self.base, 0, answer.status)
        return answer


class ThreadOutlivesIt(HttpClientPets):
    """Does not end the thread of its executor at the close (deepstreamIO/deepstream.io-client-java#98)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.executor = concurrent.futures.ThreadPoolExecutor(1)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        return self.executor.submit(super().ask, method, path, body).result()


# Cuts the default page to the limit, instead of sending the limit (stormpath/stormpath-cli#14).
FirstPageIsAll = altered(list_pets=lambda self, limit=None, status=None: self.plain.list_pets(status=status)[:limit])
# Filters by status after the limit, instead of sending the filter (fstamatelopoulos/cerefox#240).
FiltersAfterTheLimit = altered(
    list_pets=lambda self, limit=None, status=None: [
        pet for pet in self.plain.list_pets(limit=limit) if status is None or pet.get("status") == status
    ]
)


class MissingForEver(MissingRemembered):
    """Caches 404 responses without expiry (guardian/frontend#2179)."""


class OneObjectForAll(GetsRemembered):
    """Returns the same objects that it caches (truenas/middleware#11567)."""


class AssertsTheStatus(HttpClientPets):
    """Raises AssertionError for every status except the success status (pydantic/logfire#1856)."""

    def checked(self, answer: Answer, success: int) -> Answer:
        assert answer.status == success, answer.body
        return answer


class ProxyForLoopback(HttpxPets):
    """Uses the proxy of the environment even for loopback addresses (axios/axios#2667)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        proxy = os.environ.get("HTTP_PROXY") or os.environ.get("http_proxy")
        self.client = httpx.Client(
            base_url=url, headers=self.client.headers, timeout=TIMEOUT, trust_env=False, proxy=proxy
        )


class StatusOfALostConnection(RequestsPets):
    """Reads the status of an exception that has none (denisneuf/python-amazon-ad-api#150)."""

    def list_pets(self, **query: Json) -> Json:
        try:
            return super().list_pets(**query)
        except requests.exceptions.ConnectionError as error:
            raise ApiError(error.status_code) from error  # type: ignore[attr-defined]


class TimeoutInMilliseconds(HttpClientPets):
    """Passes its timeout in milliseconds instead of seconds (FirelyTeam/firely-net-common#185)."""

    timeout = TIMEOUT * 1000


# Shows its key in its ``repr()`` (solvebio/solvebio-python#283).
KeyInItsRepresentation = altered(
    __repr__=lambda self: f"<{type(self).__name__} {self.host}:{self.port} token={self.key!r}>"
)


@dataclass(frozen=True)
class Secret:
    value: str


# Raises an error that shows a dataclass with the key (deepset-ai/haystack#11808).
SecretInItsError = before(
    "checked",
    lambda self, answer, success: (
        ApiError(401, f"refused: {Secret(self.key)}".encode()) if answer.status == 401 else None
    ),
)
# Converts ids to 32-bit floats, which are exact up to 16 million (basecamp/basecamp-sdk#34).
IdsInFloat32 = reads(lambda pet: {**pet, "id": int(struct.unpack("f", struct.pack("f", pet["id"]))[0])})


class TextWhereNoJsonIs(HttpClientPets):
    """Returns the body as bytes if it is not JSON (aacerox/node-rest-client#84)."""

    def read(self, answer: Answer) -> Json:
        try:
            return super().read(answer)
        except ValueError:
            return answer.body


# Joins base address and path with a double slash (airbytehq/airbyte-python-cdk#412).
JoinedWithASlash = starts(lambda pets: vars(pets).update(base=pets.base + "/"))


class LoopOfYesterday(LibraryPets):
    """Runs each call in a new event loop, but with the same asynchronous client (conductor-oss/python-sdk#507)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.http = httpx.AsyncClient(base_url=url, headers=self.headers, timeout=TIMEOUT, trust_env=False)

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        async def run() -> Json:
            response = await self.http.request(method, path, **given)
            if response.status_code != success:
                raise ApiError(response.status_code, response.content)
            return response.json()

        return asyncio.run(run())

    def close(self) -> None:
        asyncio.run(self.http.aclose())


# Retries at once if Retry-After is longer than its own limit (kieranklaassen/compound-cli#19).
LongWaitsForgotten = waits(
    lambda answer: float(after(answer)) if after(answer).isdecimal() and float(after(answer)) < 0.5 else 0.01,
    times=5,
    statuses={429},
)


class LiteralsAreClosed(shaped(lambda pet: LiteralPet.model_validate(pet))):  # type: ignore[misc]  # noqa: PLW0108  # it comes later
    """Fails for an animal without a status (GitGuardian/py-gitguardian#191)."""


class LiteralPet(pydantic.BaseModel):
    id: int
    name: str
    categoryId: int  # noqa: N815  # the interface's name
    status: Status


KEPT = clients_of(globals())
