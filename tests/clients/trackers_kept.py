"""The half of the second corpus that was laid aside, and met the machine once, when the machine was done."""

from __future__ import annotations

import asyncio
import functools
import json
import time
from email.utils import parsedate
from typing import TYPE_CHECKING, Any, ClassVar

import aiohttp
import pydantic
import urllib3

from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, RequestsPets, Urllib3Pets
from tests.clients.shapes import AsyncPets, Status, shaped

if TYPE_CHECKING:
    import http.client


class DatesAreLocal(HttpClientPets):
    """Reads the date of Retry-After as local time (urllib3/urllib3#1896)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        after = answer.headers.get("Retry-After") if answer.status == 429 else None
        date = None if after is None or after.isdecimal() else parsedate(after)
        if method != "GET" or date is None:
            return answer
        wait = time.mktime((*date[:6], 0, 0, -1)) - time.time()
        if wait > 5:
            return answer
        time.sleep(max(wait + 0.01, 0))
        return super().ask(method, path, body)


class SecondsAlone(HttpClientPets):
    """Knows Retry-After in seconds alone, and takes five for a date (AstroVela/vane#170)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        if answer.status == 429 and method == "GET":
            time.sleep(min(float(answer.headers.get("Retry-After") or 0), 1.05))
            return super().ask(method, path, body)
        return answer


class RetryAfterIgnored(HttpClientPets):
    """Backs off for a moment of its own when it is told to wait (hermetoproject/hermeto#1346)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        if answer.status in {429, 503} and method == "GET":
            time.sleep(0.02)
            return super().ask(method, path, body)
        return answer


class SessionForEachCall(AsyncPets):
    """Opens a session for each call, and closes none (aleph-im/aleph-client#62)."""

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
    """Has closed models, which a new field breaks (apify/apify-client-python#931)."""


class ClosedPet(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    id: int
    name: str
    categoryId: int  # noqa: N815  # the interface's name
    status: Status | None = None


class TimeoutSwitchedOff(AsyncPets):
    """Passes None where the library's own timeout was meant (OpenRouterTeam/python-sdk#72)."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        return await super().ask(method, path, success, **given, timeout=None)


class NoTimeoutForPost(RequestsPets):
    """Forgets the timeout in one of its methods (plivo/plivo-python#36)."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        body = {"name": name, "categoryId": category_id, **({} if status is None else {"status": status})}
        return self._json(self.session.post(f"{self.url}/pets", json=body, allow_redirects=False), 201)


class IdleConnectionUsed(HttpClientPets):
    """Asks on a connection that the service has closed meanwhile (FMCorz/mdk#262)."""

    def is_stale(self, connection: http.client.HTTPConnection) -> bool:
        del connection
        return False


class NumbersAreFloats(HttpClientPets):
    """Stores every number as a float (rest-sh/restish#397)."""

    def read(self, answer: Answer) -> Json:
        return json.loads(answer.body, parse_int=lambda text: int(float(text)))


class LengthOfText(HttpClientPets):
    """Counts characters for Content-Length (psf/requests#6586)."""

    def encode(self, body: dict[str, Any]) -> bytes:
        text = json.dumps(body, ensure_ascii=False)
        return text.encode()[: len(text)]


class NothingFound(HttpClientPets):
    """Returns None for whatever getPet fails with (schema-repo/schema-repo#16)."""

    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except Exception:  # noqa: BLE001  # the bug
            return None


class EmptyForErrors(HttpClientPets):
    """Returns no animals when the list fails (DevoInc/python-sdk#58)."""

    def list_pets(self, **query: Json) -> Json:
        try:
            return super().list_pets(**query)
        except ApiError:
            return []


class RemembersLists(HttpClientPets):
    """Keeps answers in a cache that nothing empties (civisanalytics/civis-python#233)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.list_pets = functools.lru_cache(super().list_pets)  # type: ignore[method-assign]


class KeyTakenAlong(Urllib3Pets):
    """Copies all headers onto the next request of a redirection (apify/crawlee#4134)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        retries = urllib3.Retry(total=3, remove_headers_on_redirect=[])
        self.pool = urllib3.PoolManager(retries=retries, timeout=TIMEOUT)


class ClosesLater(AsyncPets):
    """Returns from its close before the connections are closed, which nobody waits for (aio-libs/aiohttp#3736)."""

    later: ClassVar[set[Any]] = set()

    async def close_later(self) -> None:
        await asyncio.sleep(30)
        await self.http.aclose()

    async def aclose(self) -> None:
        self.later.add(asyncio.ensure_future(self.close_later()))


KEPT = (
    DatesAreLocal,
    SecondsAlone,
    RetryAfterIgnored,
    SessionForEachCall,
    FieldsForbidden,
    TimeoutSwitchedOff,
    NoTimeoutForPost,
    IdleConnectionUsed,
    NumbersAreFloats,
    LengthOfText,
    NothingFound,
    EmptyForErrors,
    RemembersLists,
    KeyTakenAlong,
    ClosesLater,
)
