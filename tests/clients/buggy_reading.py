"""Clients with one bug each in how they read answers: statuses, headers, bodies, types."""

from __future__ import annotations

import contextlib
import html
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
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

if TYPE_CHECKING:
    import http.client
    from collections.abc import Callable


# Reads ``status`` of every animal.
StatusTakenForGranted = reads(lambda pet: {**pet, "status": pet["status"].lower()})
# Shows an animal without a status as available.
StatusMadeUp = reads(lambda pet: {"status": "available", **pet})
# Reads every number as a float.
IdAsNumberOfJavaScript = altered(
    read=lambda self, answer: json.loads(answer.body, parse_int=lambda text: int(float(text)))
)
# Keeps ids as text, for safety.
IdAsText = reads(lambda pet: {**pet, "id": str(pet["id"])})


@dataclass
class StrictPet:
    id: int
    name: str
    categoryId: int  # noqa: N815  # the interface's name
    status: str | None = None


# Has a class with exactly the fields that it knows.
StrictFields = reads(lambda pet: asdict(StrictPet(**pet)))
# Reads fields by their order.
FieldsByPosition = reads(lambda pet: dict(zip(("id", "name", "categoryId", "status"), pet.values(), strict=False)))


class JsonByPattern(HttpClientPets):
    """Finds the new id by a pattern that knows no white space."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        answer = self.checked(self.ask("POST", "/pets", self.encode(self.body(name, category_id, status))), 201)
        found = re.search(rb'"id":(-?\d+)', answer.body)
        if found is None:
            raise LookupError(answer.body)
        return {**self.read(answer), "id": int(found[1])}


# Reads text as Latin-1, since no charset is named.
TextInLatin1 = altered(
    read=lambda self, answer: json.loads(answer.body.decode("utf-8" if "utf-8" in content_type(answer) else "latin-1"))
)
# Reads line by line and joins with blanks, although a name may have a line separator.
LinesSplit = altered(read=lambda self, answer: json.loads(" ".join(answer.body.decode().splitlines())))
# Compares the whole of Content-Type.
ContentTypeCompared = before(
    "read",
    lambda self, answer: None if content_type(answer) == "application/json" else ValueError(content_type(answer)),
)


class HeaderNamesCompared(HttpClientPets):
    """Looks headers up by the letter case that it once saw."""

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        headers = dict(response.getheaders())
        headers["Content-Type"]  # raises KeyError
        return Answer(response.status, headers, response.read())


# Reads as many bytes as Content-Length says, and it must say.
LengthTakenForGranted = altered(content=lambda self, response: response.read(int(response.headers["Content-Length"])))
# Reads once, up to 64 KiB, and treats that as the whole response.
OneReadOnly = altered(content=lambda self, response: response.read()[:65536])
# Decodes block by block, where a character may lie across two.
BlocksDecoded = altered(
    content=lambda self, response: b"".join(
        block.decode(errors="replace").encode() for block in iter(lambda: response.read(1024), b"")
    )
)


class SunsetTakenForGranted(HttpClientPets):
    """Warns of the deprecation by a header that need not be there."""

    def get_pet(self, pet_id: int) -> Json:
        answer = self.checked(self.ask("GET", f"/pets/{pet_id}"), 200)
        self.sunset = answer.headers["Sunset"].strip()
        return self.read(answer)


class LocationFollowed(HttpClientPets):
    """Reads the new animal at its Location."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        answer = self.checked(self.ask("POST", "/pets", self.encode(self.body(name, category_id, status))), 201)
        pet_id = answer.headers["Location"].rpartition("/")[2]
        return {**self.read(answer), "id": int(pet_id)}


# Reads a new animal back at once, to be sure of it.
ReadBackAfterCreating = altered(create_pet=lambda self, **given: self.get_pet(self.plain.create_pet(**given)["id"]))


class NewestLast(HttpClientPets):
    """Treats the last animal of the list as the newest."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        super().create_pet(name=name, category_id=category_id, status=status)
        return self.list_pets(limit=100)[-1]


class FoundInTheFirstPage(HttpClientPets):
    """Finds an animal by listing, as the deprecation note says, among the first hundred."""

    def get_pet(self, pet_id: int) -> Json:
        for pet in self.list_pets(limit=100):
            if pet["id"] == pet_id:
                return pet
        raise ApiError(404)


# Filters by status itself, within the page.
FilteredHere = altered(
    list_pets=lambda self, limit=None, status=None: [
        pet for pet in self.plain.list_pets(limit=limit) if status in {None, pet.get("status")}
    ]
)
# Cuts the default page to the limit itself.
CutHere = altered(list_pets=lambda self, limit=None, status=None: self.plain.list_pets(status=status)[:limit])


class TotalTrusted(HttpClientPets):
    """Sends requests until it has as many animals as a header says."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        pets: list[Any] = []
        while True:
            answer = self.checked(self.ask("GET", "/pets" + self.query(limit, status)), 200)
            pets += [pet for pet in self.read(answer) if pet not in pets]
            if len(pets) >= int(answer.headers.get("X-Total-Count") or 0):
                return pets[: limit or 20]


class NextPageFollowed(HttpClientPets):
    """Follows any Link to another page."""

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
    """Knows of 4xx and 5xx only, and takes a redirection for a success."""

    def checked(self, answer: Answer, success: int) -> Answer:
        return answer if answer.status < 400 else super().checked(answer, success)

    def read(self, answer: Answer) -> Json:
        return json.loads(answer.body) if answer.status < 300 else []


# Returns None for 404.
NothingForMissing = swallows("get_pet", ApiError, lambda: None, only=lambda error: error.status == 404)
# Shows an empty list to those who may not see it.
EmptyForUnauthorized = swallows("list_pets", ApiError, list, only=lambda error: error.status == 401)


class ErrorCodeTrusted(HttpClientPets):
    """Recognises errors by ``code``, whose values the interface does not promise."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            statuses = {"not_found": 404, "unauthorized": 401, "gone": 410, "invalid_body": 400, "rate_limited": 429}
            if answer.headers.get("Content-Type", "").startswith("application/json") and 400 <= answer.status < 430:
                raise ApiError(statuses[json.loads(answer.body)["code"]])
        return super().checked(answer, success)


# Reads the status from the error's body, which may be a proxy's page.
ErrorBodyTrusted = fails(lambda self, answer: ApiError(json.loads(answer.body)["status"]))
# Says that something went wrong, and not what.
ErrorsAreAlike = fails(lambda self, answer: RuntimeError("the pet store failed"))
# Treats animals with the same name as one animal.
Deduplicated = altered(
    list_pets=lambda self, **query: list({pet["name"]: pet for pet in self.plain.list_pets(**query)}.values())
)


class RetryAfterTakenForGranted(HttpClientPets):
    """Knows seconds and dates in Retry-After, and not that it may be missing."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status == 429:
            after = answer.headers["Retry-After"]
            self.until = float(after) if after.isdecimal() else parsedate_to_datetime(after).timestamp()
        return super().checked(answer, success)


def until(answer: Answer) -> float:
    text = after(answer) or "1"
    return int(text) if text.isdecimal() else parsedate_to_datetime(text).timestamp() - time.time()


# Sleeps until the date in Retry-After, which may be over.
RetryAfterInThePast = waits(until, statuses={429}, methods={"GET", "POST"})


class ErrorHasMessage(HttpClientPets):
    """Expects every JSON error to be an Error of the interface."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status == success:
            return answer
        try:
            error = json.loads(answer.body)
        except ValueError:
            raise ApiError(answer.status) from None
        raise ApiError(answer.status, error["message"].encode())


# Decodes every error as UTF-8.
ErrorInUtf8 = fails(lambda self, answer: ApiError(answer.status, answer.body.decode().strip().encode()))


class NumberTakenForStatus(HttpClientPets):
    """Reads a numeric error code as the HTTP status."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status == success:
            return answer
        code = ""
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            code = str(json.loads(answer.body).get("code"))
        raise ApiError(int(code) if code.isdecimal() else answer.status, answer.body)


class MergedWithStale(Remembers):
    """Merges each response into the animal that it knew, so that a removed status stays."""

    def get_pet(self, pet_id: int) -> Json:
        self.known[pet_id] = {**self.known.get(pet_id, {}), **super().get_pet(pet_id)}
        return dict(self.known[pet_id])


class CreatedByAList(RequestsPets):
    """Has requests follow redirections, which makes a GET of a POST."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        response = self.session.post(f"{self.url}/pets", json=new_pet(name, category_id, status), timeout=TIMEOUT)
        if response.status_code not in {200, 201}:
            raise ApiError(response.status_code)
        return response.json()


class LocationTakenForAbsolute(HttpClientPets):
    """Follows redirections of a GET, and expects a whole address."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        if method == "POST" or answer.status not in {301, 302, 303, 307, 308}:
            return answer
        there = urlsplit(answer.headers["Location"])
        if there.netloc != f"{self.host}:{self.port}":
            raise ConnectionError(f"{there.netloc!r} is not the pet store")
        return self.send(method, there.path.removeprefix(self.base), body)


# Resolves HTML entities in names.
EntitiesUnescaped = reads(lambda pet: {**pet, "name": html.unescape(pet["name"])})


class FieldsAsAttributes(HttpClientPets):
    """Returns mappings that raise AttributeError for an absent field."""

    class Pet(Mapping[str, Any]):
        """An animal whose fields are attributes."""

        def __init__(self, fields: dict[str, Any]) -> None:
            self.__dict__.update(fields)

        def __getitem__(self, name: str) -> Any:  # noqa: ANN401
            return getattr(self, name)

        def __iter__(self) -> Iterator[str]:
            return iter(self.__dict__)

        def __len__(self) -> int:
            return len(self.__dict__)

    def read(self, answer: Answer) -> Json:
        return json.loads(answer.body, object_hook=self.Pet)


class AskedWhenRead(HttpClientPets):
    """Returns a list that sends its request only when the caller reads it."""

    class Later(Sequence[Any]):
        """A list that is fetched once."""

        def __init__(self, fetch: Callable[[], Json]) -> None:
            self.fetch = fetch

        @cached_property
        def pets(self) -> Json:
            return self.fetch()

        def __len__(self) -> int:
            return len(self.pets)

        def __getitem__(self, index: Any) -> Any:  # noqa: ANN401
            return self.pets[index]

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        ask = super().list_pets
        return self.Later(lambda: ask(limit=limit, status=status))


READING = clients_of(globals())
