"""A second corpus: clients with bugs that were reported of real clients of HTTP APIs, each with its report.

The first half was at hand while the machine learnt of these classes; the other one was written with it, laid aside, and
run once when the machine was done.
"""

from __future__ import annotations

import asyncio
import functools
import http.client
import json
import logging
import time
from email.utils import parsedate
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import aiohttp
import pydantic
import urllib3

from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, RequestsPets, Urllib3Pets
from tests.clients.shapes import AsyncPets, Status, shaped

if TYPE_CHECKING:
    import requests

    from petstore_mock import PetStoreMock

log = logging.getLogger("pets")


class FreshKeyForEachAttempt(HttpClientPets):
    """Retries POST under a new idempotency key each time (gocardless/gocardless-pro-python#12)."""

    attempt = 0

    def headers(self) -> dict[str, str]:
        self.attempt += 1
        return {**super().headers(), "Idempotency-Key": f"key-{self.attempt}"}

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        for _ in range(2):
            try:
                return super().ask(method, path, body)
            except (OSError, http.client.HTTPException):
                continue
        return super().ask(method, path, body)


class RetriesEveryMethod(AsyncPets):
    """Retries any 429 and 5xx, whatever the method (apify/apify-client-python#990)."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        for _ in range(2):
            try:
                return await super().ask(method, path, success, **given)
            except ApiError as error:
                if error.status < 500:
                    raise
        return await super().ask(method, path, success, **given)


class NothingForLost(HttpClientPets):
    """Logs whatever fails in a POST, and returns None (currents-dev/currents-mcp#163)."""

    def create_pet(self, **given: Json) -> Json:
        try:
            return super().create_pet(**given)
        except Exception as error:  # noqa: BLE001  # the bug
            log.info("could not create: %s", type(error))
            return None


class NoneForNoContent(HttpClientPets):
    """Takes 204 for None, of any operation (taskcluster/taskcluster-client.py#12)."""

    def checked(self, answer: Answer, success: int) -> Answer:
        return answer if answer.status == 204 else super().checked(answer, success)

    def read(self, answer: Answer) -> Json:
        return None if answer.status == 204 else super().read(answer)


class EmptyObjectForEmptyBody(HttpClientPets):
    """Reads an empty body as an empty object (nicholasbester/clickup-cli#11)."""

    def read(self, answer: Answer) -> Json:
        return json.loads(answer.body or b"{}")


class NoRowsForEmptyBody(HttpClientPets):
    """Reads an empty body as a list without animals (lzinga/us-gov-open-data-mcp#12)."""

    def list_pets(self, **query: Json) -> Json:
        try:
            return super().list_pets(**query)
        except json.JSONDecodeError as error:
            if error.doc:
                raise
            return []


class NoRowsForAnythingElse(HttpClientPets):
    """Takes what is no list for a list without animals (kanboard/python-api-client#45)."""

    def list_pets(self, **query: Json) -> Json:
        pets = super().list_pets(**query)
        return pets if isinstance(pets, list) else []


class LogsRequests(HttpClientPets):
    """Logs each request with all its headers, for those who debug (microsoft/Policy-Weaver#111)."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        log.debug("%s %s headers %s", method, path, self.headers())
        return super().send(method, path, body)


class FalsyLeftOut(HttpClientPets):
    """Leaves out of the body what is falsy (openapistack/openapi-client-axios#45)."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        return {field: value for field, value in super().body(name, category_id, status).items() if value}


class RefreshesUntilItWorks(HttpClientPets):
    """Renews its key and asks again, up to five times, for a 401 (cloudfoundry/cf-java-client#1026)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        for _ in range(4):
            if answer.status != 401:
                break
            answer = super().ask(method, path, body)
        return answer


class ErrorsAreJson(RequestsPets):
    """Reads the body of each error as JSON (ramnes/notion-sdk-py#119)."""

    def _json(self, response: requests.Response, success: int) -> Json:
        if response.status_code >= 400:
            told = response.json()
            raise ApiError(response.status_code, str(told).encode())
        return super()._json(response, success)


class ErrorsHaveACode(HttpClientPets):
    """Looks up ``code`` and ``message`` in each error (coinbase/coinbase-python#15)."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            told = json.loads(answer.body or b"{}") if b"<" not in answer.body[:1] else {}
            raise ApiError(answer.status, f"{told['code']}: {told['message']}".encode())
        return answer


class HeadersOfTheClass(HttpClientPets):
    """Keeps its headers in the class, where each new client sets its own (datalab-org/datalab-api#93)."""

    shared: ClassVar[dict[str, str]] = {"Accept": "application/json"}

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.shared["Authorization"] = f"Bearer {key}"

    def headers(self) -> dict[str, str]:
        return dict(self.shared)


class ParametersOfTheFunction(HttpClientPets):
    """Has a mutable default for parameters, and fills it (vintasoftware/tapioca-wrapper#43)."""

    def list_pets(
        self,
        *,
        limit: int | None = None,
        status: str | None = None,
        params: dict[str, Any] = {},  # noqa: B006  # the bug
    ) -> Json:
        if limit is not None:
            params["limit"] = limit
        return super().list_pets(limit=params.get("limit"), status=status)


class ErrorsStayOpen(RequestsPets):
    """Streams answers, and closes those alone that it reads (snowflakedb/snowflake-ingest-java#719)."""

    opened: ClassVar[list[Any]] = []

    def get_pet(self, pet_id: int) -> Json:
        response = self.session.get(f"{self.url}/pets/{pet_id}", timeout=TIMEOUT, stream=True)
        if response.status_code != 200:
            self.opened.append(response)
            raise ApiError(response.status_code)
        return response.json()


class FollowsNext(HttpClientPets):
    """Follows each link to a next page, without counting (stac-utils/pystac-client#334)."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        answer = self.checked(self.ask("GET", "/pets" + self.query(limit, status)), 200)
        pets = self.read(answer)
        while "next" in (answer.headers.get("Link") or ""):
            there = urlsplit(str(answer.headers["Link"]).partition("<")[2].partition(">")[0])
            answer = self.checked(self.ask("GET", f"{there.path.removeprefix(self.base)}?{there.query}"), 200)
            pets += self.read(answer)
        return pets


SHOWN = (
    FreshKeyForEachAttempt,
    NothingForLost,
    NoneForNoContent,
    EmptyObjectForEmptyBody,
    NoRowsForEmptyBody,
    NoRowsForAnythingElse,
    LogsRequests,
    FalsyLeftOut,
    RefreshesUntilItWorks,
    ErrorsAreJson,
    ErrorsHaveACode,
    HeadersOfTheClass,
    ParametersOfTheFunction,
    ErrorsStayOpen,
    FollowsNext,
    RetriesEveryMethod,
)


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


def make_reported(client: Any) -> Json:  # noqa: ANN401  # a class of either half
    """Return what makes a client of this corpus, for the machine."""

    def make_client(petstore: PetStoreMock) -> Json:
        return client(petstore) if issubclass(client, AsyncPets) else client(petstore.url, petstore.api_key)

    return make_client
