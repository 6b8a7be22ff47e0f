"""Clients with reported bugs, first half: we knew these reports while we wrote the checks."""

from __future__ import annotations

import http.client
import io
import json
import logging
import time
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar
from urllib.parse import urljoin, urlsplit

import httpx
import requests
import urllib3

from tests.clients.buggy_living import HeadersShared, RememberedByTheClass
from tests.clients.buggy_reading import CreatedByAList
from tests.clients.bugs import (
    FOR_EVER,
    after,
    altered,
    asks_again,
    before,
    calls_again,
    clients_of,
    content_type,
    fails,
    reads,
    sends,
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
    RequestsPets,
    Urllib3Pets,
)
from tests.clients.shapes import AsyncPets

log = logging.getLogger("pets")


class FreshKeyForEachAttempt(HttpClientPets):
    """Retries POST with a new idempotency key each time (gocardless/gocardless-pro-python#12)."""

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
    """Retries every method after 5xx (apify/apify-client-python#990)."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        for _ in range(2):
            try:
                return await super().ask(method, path, success, **given)
            except ApiError as error:
                if error.status < 500:
                    raise
        return await super().ask(method, path, success, **given)


# Returns None for every failure of createPet (currents-dev/currents-mcp#163).
NothingForLost = swallows("create_pet", Exception, lambda: None)
# Returns None for 204 in every operation (taskcluster/taskcluster-client.py#12).
NoneForNoContent = altered(
    checked=lambda self, answer, success: answer if answer.status == 204 else self.plain.checked(answer, success),
    read=lambda self, answer: None if answer.status == 204 else self.plain.read(answer),
)
# Reads an empty body as an empty object (nicholasbester/clickup-cli#11).
EmptyObjectForEmptyBody = altered(read=lambda self, answer: json.loads(answer.body or b"{}"))
# Returns an empty list for an empty body (lzinga/us-gov-open-data-mcp#12).
NoRowsForEmptyBody = swallows("list_pets", json.JSONDecodeError, list, only=lambda error: not error.doc)


class NoRowsForAnythingElse(HttpClientPets):
    """Returns an empty list for a body that is not a list (kanboard/python-api-client#45)."""

    def list_pets(self, **query: Json) -> Json:
        pets = super().list_pets(**query)
        return pets if isinstance(pets, list) else []


# Logs each request with all headers (microsoft/Policy-Weaver#111).
LogsRequests = before("send", lambda self, *asked: log.debug("%s headers %s", asked, self.headers()))
# Omits falsy values from the body (openapistack/openapi-client-axios#45).
FalsyLeftOut = sends(lambda body: {field: value for field, value in body.items() if value})
# Retries up to four times after 401 (cloudfoundry/cf-java-client#1026).
RefreshesUntilItWorks = asks_again(4, lambda method, status: status == 401)


class ErrorsAreJson(RequestsPets):
    """Reads the body of each error as JSON (ramnes/notion-sdk-py#119)."""

    def checked(self, response: requests.Response, success: int) -> Json:
        if response.status_code >= 400:
            told = response.json()
            raise ApiError(response.status_code, str(told).encode())
        return super().checked(response, success)


class ErrorsHaveACode(HttpClientPets):
    """Requires ``code`` and ``message`` in every error (coinbase/coinbase-python#15)."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            told = json.loads(answer.body or b"{}") if b"<" not in answer.body[:1] else {}
            raise ApiError(answer.status, f"{told['code']}: {told['message']}".encode())
        return answer


class HeadersOfTheClass(HeadersShared):
    """Keeps its headers in the class, where each new client changes them (datalab-org/datalab-api#93)."""


class ParametersOfTheFunction(HttpClientPets):
    """Keeps parameters in a mutable default argument, and sends them again (vintasoftware/tapioca-wrapper#43)."""

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
    """Streams responses, and closes only those that it reads (snowflakedb/snowflake-ingest-java#719)."""

    opened: ClassVar[list[Any]] = []

    def get_pet(self, pet_id: int) -> Json:
        response = self.session.get(f"{self.url}/pets/{pet_id}", timeout=TIMEOUT, stream=True)
        if response.status_code != 200:
            self.opened.append(response)
            raise ApiError(response.status_code)
        return response.json()


class FollowsNext(HttpClientPets):
    """Follows links to next pages without a limit (stac-utils/pystac-client#334)."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        answer = self.checked(self.ask("GET", "/pets" + self.query(limit, status)), 200)
        pets = self.read(answer)
        while "next" in (answer.headers.get("Link") or ""):
            there = urlsplit(str(answer.headers["Link"]).partition("<")[2].partition(">")[0])
            answer = self.checked(self.ask("GET", f"{there.path.removeprefix(self.base)}?{there.query}"), 200)
            pets += self.read(answer)
        return pets


class RetriesInThePool(Urllib3Pets):
    """Lets the pool retry every method, POST included (getodk/pyodk#101)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        retries = urllib3.Retry(total=2, redirect=0, raise_on_redirect=False, allowed_methods=None)
        self.pool = urllib3.PoolManager(retries=retries, timeout=TIMEOUT)


class PostsOnceMoreAfterTimeout(HttpxPets):
    """Retries POST after a timeout (zernio-dev/zernio-python#42)."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            return super().create_pet(name=name, category_id=category_id, status=status)
        except httpx.TimeoutException:
            return super().create_pet(name=name, category_id=category_id, status=status)


# Retries every request after a lost connection (StevenLooman/async_upnp_client#93).
PostsOnceMoreWhenDisconnected = calls_again("ask", (http.client.RemoteDisconnected, ConnectionResetError))


class BodyIsSpent(HttpClientPets):
    """Retries POST after 503 with a body stream that is already read (davesavic/clink#5)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        stream = None if body is None else io.BytesIO(body)
        for _ in range(3):
            answer = super().ask(method, path, None if stream is None else stream.read())
            if answer.status != 503:
                break
        return answer


# Cuts ids to 32 bits (XiaoFaye/WooCommerce.NET#615).
IdsInFourBytes = reads(lambda pet: {**pet, "id": pet["id"] & 0xFFFFFFFF})
# Joins base address and path with urljoin, which drops the path of the base (qdrant/qdrant-client#996).
PathOfTheBaseDropped = starts(
    lambda pets: vars(pets).update(base=urlsplit(urljoin(pets.base, "/pets")).path.removesuffix("/pets"))
)
# Ignores the status (bottlerocket-os/bottlerocket#489).
ErrorsAreResults = altered(checked=lambda self, answer, success: answer)
# Puts all request headers into its error (ytsaurus/ytsaurus#1766).
RequestInTheError = fails(lambda self, answer: ApiError(answer.status, f"request_headers {self.headers()}".encode()))
# Sends the ``str()`` of its enumeration's members (ulfsri/neris-api-client#35).
EnumsByTheirName = altered(
    query=lambda self, limit, status: HttpClientPets.query(
        self, limit, None if status is None else f"Status.{status.upper()}"
    )
)
# Retries GET after 5xx without a limit (Expensify/App#27886).
NeverGivesUp = asks_again(FOR_EVER, lambda method, status: method == "GET" and status >= 500, pause=0.02)


class OnlySuccessEndsIt(HttpClientPets):
    """Retries up to 30 times after any failure (amosbastian/fpl#90)."""

    def get_pet(self, pet_id: int) -> Json:
        for _ in range(30):
            try:
                return super().get_pet(pet_id)
            except Exception:  # noqa: BLE001  # the bug
                time.sleep(0.001)
        return super().get_pet(pet_id)


# Returns text if Content-Type names a charset (palantir/dialogue#389).
ExactContentType = altered(
    read=lambda self, answer: (
        self.plain.read(answer) if content_type(answer) == "application/json" else answer.body.decode()
    )
)
# Decodes JSON as Latin-1 if the response names no charset (davidmigloz/ai_clients_dart#290).
Latin1WithoutCharset = altered(
    read=lambda self, answer: json.loads(
        answer.body.decode("utf-8" if "charset" in content_type(answer).lower() else "latin-1")
    )
)


class ErrorsAreFalse(RequestsPets):
    """Tests a response by its truth value, which is false for 4xx and 5xx (pycontribs/jira#1748)."""

    def checked(self, response: requests.Response, success: int) -> Json:
        del success
        return response.json() if response else None


# Treats only 200 as a success (arjunkomath/node-freshdesk-api#4).
OnlyTwoHundred = altered(checked=lambda self, answer, success: self.plain.checked(answer, 200))
# Sends omitted arguments as ``None`` (swagger-api/swagger-codegen#9766).
NoneAsText = altered(
    query=lambda self, limit, status: f"?limit={limit}" + ("" if status is None else f"&status={status}")
)
# Looks up Retry-After case-sensitively, and never finds it (jcwillox/up-bank-api#10).
HeadersByTheirCase = waits(
    lambda answer: min(float(dict(answer.headers.items()).get("retry-after", "0")), TIMEOUT), times=2
)
# Sleeps as long as Retry-After says, even for days (adamayoung/TMDb#324).
SleepsAsLongAsTold = waits(lambda answer: float(after(answer)) if after(answer).isdecimal() else None)


def wait_until(date: str, now: float) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - now
    except ValueError:
        return None


def own_clock(answer: Answer) -> float | None:
    text = after(answer)
    wait = float(text) if text.isdecimal() else wait_until(text, time.time())
    return None if wait is None or wait >= 86_400 else max(wait, 0)  # it ignores waits of a day or more


# Compares the date in Retry-After with its own clock instead of the response's Date (xorbitsai/xllamacpp#155).
WaitsByItsOwnClock = waits(own_clock)


def any_past(answer: Answer) -> float | None:
    text = after(answer)
    if not text or text.isdecimal():
        return None
    wait = parsedate_to_datetime(text).timestamp() - time.time()
    return None if wait > TIMEOUT else wait


# Passes a negative time to sleep() for a date in the past (mansuf/mangadex-downloader#147).
PastIsNegative = waits(any_past)
# Fails if an optional field is absent (nylas/nylas-python#382).
OptionalIsRequired = reads(lambda pet: {**pet, "status": pet["status"].lower()})


class PostBecomesGet(CreatedByAList):
    """Follows a redirection of a POST as a GET (AsyncHttpClient/async-http-client#1042)."""


class CacheWithoutTheKey(RememberedByTheClass):
    """Caches responses by URL alone, so all keys share them (lysine-dev/okhttp#9365)."""


# Prints its key in its constructor (scaleoutsystems/scaleout-client#949).
PrintsTheKey = starts(lambda pets: print("token", pets.key))  # noqa: T201  # the bug


SHOWN = clients_of(globals())
