"""Clients with one bug each in how they ask: parameters, bodies, headers, keys."""

from __future__ import annotations

import http.client
import json
import logging
import unicodedata
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tests.clients.bugs import (
    Remembers,
    altered,
    asks_again,
    before,
    calls_again,
    clients_of,
    sends,
)
from tests.clients.correct import Answer, ApiError, HttpClientPets, Json
from tests.clients.shapes import snake_case

# Sends ``limit=0`` when no limit is given.
LimitZeroForNone = altered(query=lambda self, limit, status: self.plain.query(limit or 0, status))
# Formats None into the query: ``status=None``.
StatusNoneAsText = altered(query=lambda self, limit, status: f"?limit={limit or 20}&status={status}")
# Passes the limit on only when there is a status as well.
LimitForgotten = altered(query=lambda self, limit, status: self.plain.query(limit if status else None, status))
# Asks for one animal more than the limit, to see whether there is another page.
LimitPastTheMaximum = altered(
    query=lambda self, limit, status: self.plain.query((limit or 20) + 1, status),
    list_pets=lambda self, limit=None, status=None: self.plain.list_pets(limit=limit, status=status)[: limit or 20],
)
# Calls the status filter ``state``.
ParameterMisnamed = altered(
    query=lambda self, limit, status: self.plain.query(limit, status).replace("status=", "state=")
)
# Sends the enumeration's constant names.
StatusInUpperCase = altered(
    query=lambda self, limit, status: self.plain.query(limit, status.upper() if status else None)
)
# Sends every status, separated by commas, when the caller asks for none.
StatusJoined = altered(query=lambda self, limit, status: self.plain.query(limit, status or "available,pending,sold"))
# Sends ``"status": null`` when it is left out.
StatusNullInBody = sends(lambda body: {"status": None, **body})
# Makes up a status when none is given.
StatusDefaulted = sends(lambda body: {"status": "available", **body})
# Sends the Python name of the field.
FieldInSnakeCase = sends(snake_case)
# Sends every value as text, as a form would.
CategoryAsText = sends(lambda body: {**body, "categoryId": str(body["categoryId"])})
# Reads every number as a float, and loses digits of large ones.
CategoryAsFloat = altered(
    encode=lambda self, body: json.dumps({**body, "categoryId": int(float(body["categoryId"]))}).encode()
)
# Treats category 0 as missing.
FalsyCategoryLeftOut = sends(
    lambda body: {field: value for field, value in body.items() if field != "categoryId" or value}
)
# Treats an empty name as missing.
EmptyNameLeftOut = sends(lambda body: {field: value for field, value in body.items() if value != ""})
# Tidies names up.
NameStripped = sends(lambda body: {**body, "name": body["name"].strip()})


class NameUnescaped(HttpClientPets):
    """Writes JSON by hand."""

    def encode(self, body: dict[str, Any]) -> bytes:
        status = f', "status": "{body["status"]}"' if "status" in body else ""
        return f'{{"name": "{body["name"]}", "categoryId": {body["categoryId"]}{status}}}'.encode()


# Encodes as Latin-1.
NameInLatin1 = altered(encode=lambda self, body: json.dumps(body, ensure_ascii=False).encode("latin-1", "replace"))
# Cuts names to the length of its own database column.
NameCut = sends(lambda body: {**body, "name": body["name"][:100]})


class LengthInCharacters(HttpClientPets):
    """Counts characters where Content-Length counts bytes."""

    def encode(self, body: dict[str, Any]) -> bytes:
        self.length = len(json.dumps(body, ensure_ascii=False))
        return json.dumps(body, ensure_ascii=False).encode()

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        return super().send(method, path, None if body is None else body[: self.length])


# Posts a form.
BodyAsForm = altered(encode=lambda self, body: urlencode(body).encode())
# Sends a JSON body with every request.
BodyWithGet = altered(
    ask=lambda self, method, path, body=None: self.send(method, path, b"{}" if body is None else body)
)


class TrailingSlash(HttpClientPets):
    """Ends its paths in a slash."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        base, mark, query = path.partition("?")
        return self.send(method, f"{base}/{mark}{query}", body)


# Treats a negative id as a mistake, and sends its absolute value.
NegativeIdEscaped = altered(get_pet=lambda self, pet_id: self.plain.get_pet(abs(pet_id)))
# Writes large ids in scientific notation.
IdAsFloat = altered(
    get_pet=lambda self, pet_id: self.read(
        self.checked(self.ask("GET", f"/pets/{pet_id if abs(pet_id) < 10**16 else float(pet_id)}"), 200)
    )
)
# Leaves out ``Bearer``.
KeyWithoutScheme = altered(headers=lambda self: {"Authorization": self.key})
# Names the key in the query as well, when there is one.
KeyInQuery = altered(
    query=lambda self, *given: self.plain.query(*given) and f"{self.plain.query(*given)}&api_key={quote(self.key)}"
)
# Sends the key in a second header, for an old gateway.
KeyInAnotherHeader = altered(headers=lambda self: {**self.plain.headers(), "X-Api-Key": self.key})


class KeyOnlyForWriting(HttpClientPets):
    """Sends no key with GET."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        key, self.key = self.key, self.key if method == "POST" else ""
        try:
            return super().send(method, path, body)
        finally:
            self.key = key


class CreateIfAbsent(HttpClientPets):
    """Returns an animal of that name if there is one, and adds another only if there is none."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        for pet in self.list_pets(limit=100):
            if pet["name"] == name:
                return pet
        return super().create_pet(name=name, category_id=category_id, status=status)


# Treats id 0 as missing.
ZeroIdRefused = before("get_pet", lambda self, pet_id: None if pet_id else ValueError("an id is needed"))


class MissingRemembered(Remembers):
    """Remembers for ever that an animal was absent."""

    def get_pet(self, pet_id: int) -> Json:
        if pet_id in self.known:
            raise self.known[pet_id]
        try:
            return super().get_pet(pet_id)
        except ApiError as error:
            if error.status == 404:
                self.known[pet_id] = error
            raise


class NameInHeader(HttpClientPets):
    """Puts the name into a header for tracing; a header can't hold every name."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        self.trace = name
        return super().body(name, category_id, status)

    def headers(self) -> dict[str, str]:
        trace = self.__dict__.pop("trace", None)
        return super().headers() if trace is None else {**super().headers(), "X-Pet-Name": trace}


# Sends names in Unicode's composed form.
NameNormalised = sends(lambda body: {**body, "name": unicodedata.normalize("NFC", body["name"])})
# Names the host alone in Host.
HostWithoutPort = altered(headers=lambda self: {**self.plain.headers(), "Host": self.host})
# Sends the Accept header of another interface.
AcceptsOtherVersion = altered(
    headers=lambda self: {**self.plain.headers(), "Accept": "application/vnd.petstore.v2+xml"}
)
# Logs each request for debugging, key included.
HeadersLogged = before("send", lambda self, *_: logging.getLogger("pets").debug("sending %s", self.headers()))


class CreatesAgainAfterLooking(HttpClientPets):
    """Creates again after a lost response, unless the first page of a list has such an animal."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            return super().create_pet(name=name, category_id=category_id, status=status)
        except (OSError, http.client.HTTPException):
            if any(pet["name"] == name for pet in self.list_pets()):
                raise
        return super().create_pet(name=name, category_id=category_id, status=status)


# Makes the whole call again when there is a ValueError, which no readable JSON is too.
CreatesAgainWhenUnreadable = calls_again("create_pet", ValueError)
# Retries a 503 at once, although it has a Retry-After too.
RetryAfterOn429Only = asks_again(1, lambda method, status: method == "GET" and status == 503)


class RedirectedInACircle(HttpClientPets):
    """Follows redirections within the service, however many."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        while method == "GET" and answer.status in {301, 302, 303, 307, 308}:
            there = urlsplit(answer.headers.get("Location") or "")
            if there.port != self.port:
                break
            answer = self.send(method, there.path.removeprefix(self.base), None)
        return answer


class NameAsTemplate(HttpClientPets):
    """Puts the category into a text that has the name in it already."""

    def encode(self, body: dict[str, Any]) -> bytes:
        text: str = json.dumps({**body, "categoryId": "CATEGORY"}).replace('"CATEGORY"', "%d") % body["categoryId"]
        return text.encode()


# Says of itself that there is no animal with a negative id.
NegativeIdsMissing = before("get_pet", lambda self, pet_id: ApiError(404) if pet_id < 0 else None)


class LengthKept(HttpClientPets):
    """Adds the headers of each request to all later ones, and so announces bodies that it never sends."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.merged = super().headers()

    def headers(self) -> dict[str, str]:
        return self.merged

    def encode(self, body: dict[str, Any]) -> bytes:
        encoded = super().encode(body)
        self.merged["Content-Length"] = str(len(encoded))
        return encoded


ASKING = clients_of(globals())
