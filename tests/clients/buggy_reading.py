"""Clients with one bug each in how they read responses: statuses, headers, bodies, types."""

from __future__ import annotations

import contextlib
import html
import http.client
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from tests.clients.bugs import (
    Remembers,
    after,
    altered,
    before,
    clients_of,
    content_type,
    fails,
    reads,
    swallows,
    waits,
)
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, RequestsPets, new_pet

# Requires ``status``, which is optional.
StatusTakenForGranted = reads(lambda pet: {**pet, "status": pet["status"].lower()})
# Shows an animal without a status as available.
StatusMadeUp = reads(lambda pet: {"status": "available", **pet})
# Reads every number as a float.
IdAsNumberOfJavaScript = altered(
    read=lambda self, answer: json.loads(answer.body, parse_int=lambda text: int(float(text)))
)
# Returns ids as text.
IdAsText = reads(lambda pet: {**pet, "id": str(pet["id"])})


@dataclass
class StrictPet:
    id: int
    name: str
    categoryId: int  # noqa: N815  # the interface's name
    status: str | None = None


# Fails for a field that its class does not have.
StrictFields = reads(lambda pet: asdict(StrictPet(**pet)))
# Reads fields by their position.
FieldsByPosition = reads(lambda pet: dict(zip(("id", "name", "categoryId", "status"), pet.values(), strict=False)))


class JsonByPattern(HttpClientPets):
    """Reads the new id with a regular expression that allows no white space."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        answer = self.checked(self.ask("POST", "/pets", self.encode(self.body(name, category_id, status))), 201)
        found = re.search(rb'"id":(-?\d+)', answer.body)
        if found is None:
            raise LookupError(answer.body)
        return {**self.read(answer), "id": int(found[1])}


# Decodes JSON as Latin-1 if the response names no charset.
TextInLatin1 = altered(
    read=lambda self, answer: json.loads(answer.body.decode("utf-8" if "utf-8" in content_type(answer) else "latin-1"))
)
# Joins the lines of the body with spaces, although a name may contain a line separator.
LinesSplit = altered(read=lambda self, answer: json.loads(" ".join(answer.body.decode().splitlines())))
# Compares the whole Content-Type, parameters included, with ``application/json``.
ContentTypeCompared = before(
    "read",
    lambda self, answer: None if content_type(answer) == "application/json" else ValueError(content_type(answer)),
)


class HeaderNamesCompared(HttpClientPets):
    """Looks up header names case-sensitively."""

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        headers = dict(response.getheaders())
        headers["Content-Type"]  # raises KeyError if the service sends another letter case
        return Answer(response.status, headers, response.read())


# Requires Content-Length, which may be absent.
LengthTakenForGranted = altered(content=lambda self, response: response.read(int(response.headers["Content-Length"])))
# Reads only the first 64 KiB of the body.
OneReadOnly = altered(content=lambda self, response: response.read()[:65536])
# Decodes each block alone, although a character may span two blocks.
BlocksDecoded = altered(
    content=lambda self, response: b"".join(
        block.decode(errors="replace").encode() for block in iter(lambda: response.read(1024), b"")
    )
)


class SunsetTakenForGranted(HttpClientPets):
    """Requires the Sunset header, which may be absent."""

    def get_pet(self, pet_id: int) -> Json:
        answer = self.checked(self.ask("GET", f"/pets/{pet_id}"), 200)
        self.sunset = answer.headers["Sunset"].strip()
        return self.read(answer)


class LocationFollowed(HttpClientPets):
    """Reads the new id from Location, which may be absent."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        answer = self.checked(self.ask("POST", "/pets", self.encode(self.body(name, category_id, status))), 201)
        pet_id = answer.headers["Location"].rpartition("/")[2]
        return {**self.read(answer), "id": int(pet_id)}


# Sends getPet for a new animal at once, although the service may show the animal later.
ReadBackAfterCreating = altered(create_pet=lambda self, **given: self.get_pet(self.plain.create_pet(**given)["id"]))


class NewestLast(HttpClientPets):
    """Assumes that the last animal of a list is the newest."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        super().create_pet(name=name, category_id=category_id, status=status)
        return self.list_pets(limit=100)[-1]


class FoundInTheFirstPage(HttpClientPets):
    """Looks for an animal only among the first hundred."""

    def get_pet(self, pet_id: int) -> Json:
        for pet in self.list_pets(limit=100):
            if pet["id"] == pet_id:
                return pet
        raise ApiError(404)


# Filters by status within the page, instead of sending the filter.
FilteredHere = altered(
    list_pets=lambda self, limit=None, status=None: [
        pet for pet in self.plain.list_pets(limit=limit) if status in {None, pet.get("status")}
    ]
)
# Cuts the default page to the limit, instead of sending the limit.
CutHere = altered(list_pets=lambda self, limit=None, status=None: self.plain.list_pets(status=status)[:limit])


class TotalTrusted(HttpClientPets):
    """Repeats the request until the list has as many animals as a header says."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        pets: list[Any] = []
        while True:
            answer = self.checked(self.ask("GET", "/pets" + self.query(limit, status)), 200)
            pets += [pet for pet in self.read(answer) if pet not in pets]
            if len(pets) >= int(answer.headers.get("X-Total-Count") or 0):
                return pets[: limit or 20]


class NextPageFollowed(HttpClientPets):
    """Adds the animals of the next page, and so exceeds the limit."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        answer = self.checked(self.ask("GET", "/pets" + self.query(limit, status)), 200)
        pets = self.read(answer)
        link = re.search("<(.*?)>", answer.headers.get("Link") or "")
        if link:
            more = self.ask("GET", link[1].removeprefix(self.base))
            pets += self.read(self.checked(more, 200))
        return pets


# Treats 201 as an error.
EverySuccessIs200 = altered(checked=lambda self, answer, success: self.plain.checked(answer, 200))
# Treats every response as a success.
StatusNotLookedAt = altered(checked=lambda self, answer, success: answer)


class OnlyServerErrors(HttpClientPets):
    """Treats every status below 400 as a success."""

    def checked(self, answer: Answer, success: int) -> Answer:
        return answer if answer.status < 400 else super().checked(answer, success)

    def read(self, answer: Answer) -> Json:
        return json.loads(answer.body) if answer.status < 300 else []


# Returns None for 404.
NothingForMissing = swallows("get_pet", ApiError, lambda: None, only=lambda error: error.status == 404)
# Returns an empty list for 401.
EmptyForUnauthorized = swallows("list_pets", ApiError, list, only=lambda error: error.status == 401)


class ErrorCodeTrusted(HttpClientPets):
    """Reads the status from ``code``, whose values the interface leaves open."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            statuses = {"not_found": 404, "unauthorized": 401, "gone": 410, "invalid_body": 400, "rate_limited": 429}
            if answer.headers.get("Content-Type", "").startswith("application/json") and 400 <= answer.status < 430:
                raise ApiError(statuses[json.loads(answer.body)["code"]])
        return super().checked(answer, success)


# Reads the status from the body of an error, which may be a proxy's page.
ErrorBodyTrusted = fails(lambda self, answer: ApiError(json.loads(answer.body)["status"]))
# Raises the same error for every failure.
ErrorsAreAlike = fails(lambda self, answer: RuntimeError("the pet store failed"))
# Drops animals that have the name of another animal.
Deduplicated = altered(
    list_pets=lambda self, **query: list({pet["name"]: pet for pet in self.plain.list_pets(**query)}.values())
)


class RetryAfterTakenForGranted(HttpClientPets):
    """Requires Retry-After in every 429 response, although it may be absent."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status == 429:
            after = answer.headers["Retry-After"]
            self.until = float(after) if after.isdecimal() else parsedate_to_datetime(after).timestamp()
        return super().checked(answer, success)


def until(answer: Answer) -> float:
    text = after(answer) or "1"
    return int(text) if text.isdecimal() else parsedate_to_datetime(text).timestamp() - time.time()


# Sleeps until the date in Retry-After, which may be in the past.
RetryAfterInThePast = waits(until, statuses={429}, methods={"GET", "POST"})


class ErrorHasMessage(HttpClientPets):
    """Requires ``message`` in every JSON error, even in an error from a proxy."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status == success:
            return answer
        try:
            error = json.loads(answer.body)
        except ValueError:
            raise ApiError(answer.status) from None
        raise ApiError(answer.status, error["message"].encode())


# Decodes every error body as UTF-8.
ErrorInUtf8 = fails(lambda self, answer: ApiError(answer.status, answer.body.decode().strip().encode()))


class NumberTakenForStatus(HttpClientPets):
    """Treats a numeric ``code`` of an error as the HTTP status."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status == success:
            return answer
        code = ""
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            code = str(json.loads(answer.body).get("code"))
        raise ApiError(int(code) if code.isdecimal() else answer.status, answer.body)


class MergedWithStale(Remembers):
    """Merges each response into its cache, so that a removed status stays."""

    def get_pet(self, pet_id: int) -> Json:
        self.known[pet_id] = {**self.known.get(pet_id, {}), **super().get_pet(pet_id)}
        return dict(self.known[pet_id])


class CreatedByAList(RequestsPets):
    """Lets the library ``requests`` follow a redirection of a POST as a GET."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        response = self.session.post(f"{self.url}/pets", json=new_pet(name, category_id, status), timeout=TIMEOUT)
        if response.status_code not in {200, 201}:
            raise ApiError(response.status_code)
        return response.json()


class LocationTakenForAbsolute(HttpClientPets):
    """Follows redirections, but fails for a relative Location."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        if method == "POST" or answer.status not in {301, 302, 303, 307, 308}:
            return answer
        there = urlsplit(answer.headers["Location"])
        if there.netloc != f"{self.host}:{self.port}":
            raise ConnectionError(f"{there.netloc!r} is not the pet store")
        return self.send(method, there.path.removeprefix(self.base), body)


# Unescapes HTML entities in names.
EntitiesUnescaped = reads(lambda pet: {**pet, "name": html.unescape(pet["name"])})


class FieldsAsAttributes(HttpClientPets):
    """Returns mappings that raise AttributeError for an absent field."""

    class Pet(Mapping[str, Any]):
        """An animal whose fields are attributes."""

        def __init__(self, fields: dict[str, Any]) -> None:
            self.__dict__.update(fields)

        def __getitem__(self, name: str) -> Any:
            return getattr(self, name)

        def __iter__(self) -> Iterator[str]:
            return iter(self.__dict__)

        def __len__(self) -> int:
            return len(self.__dict__)

    def read(self, answer: Answer) -> Json:
        return json.loads(answer.body, object_hook=self.Pet)


class AskedWhenRead(HttpClientPets):
    """Returns a list that sends the request only when it is read."""

    class Later(Sequence[Any]):
        """A list that sends its request on first use."""

        def __init__(self, fetch: Callable[[], Json]) -> None:
            self.fetch = fetch

        @cached_property
        def pets(self) -> Json:
            return self.fetch()

        def __len__(self) -> int:
            return len(self.pets)

        def __getitem__(self, index: Any) -> Any:
            return self.pets[index]

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        ask = super().list_pets
        return self.Later(lambda: ask(limit=limit, status=status))


READING = clients_of(globals())
