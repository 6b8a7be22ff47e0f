"""Clients with one bug each in their requests: parameters, bodies, headers, keys."""

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
# Sends the limit only together with a status.
LimitForgotten = altered(query=lambda self, limit, status: self.plain.query(limit if status else None, status))
# Requests one animal more than the limit, to see whether there is another page.
LimitPastTheMaximum = altered(
    query=lambda self, limit, status: self.plain.query((limit or 20) + 1, status),
    list_pets=lambda self, limit=None, status=None: self.plain.list_pets(limit=limit, status=status)[: limit or 20],
)
# Sends the status filter under the name ``state``.
ParameterMisnamed = altered(
    query=lambda self, limit, status: self.plain.query(limit, status).replace("status=", "state=")
)
# Sends the names of the enumeration's members, in upper case.
StatusInUpperCase = altered(
    query=lambda self, limit, status: self.plain.query(limit, status.upper() if status else None)
)
# Sends all statuses, separated by commas, when none is given.
StatusJoined = altered(query=lambda self, limit, status: self.plain.query(limit, status or "available,pending,sold"))
# Sends ``"status": null`` when no status is given.
StatusNullInBody = sends(lambda body: {"status": None, **body})
# Sends a default status when none is given.
StatusDefaulted = sends(lambda body: {"status": "available", **body})
# Sends the Python name of the field ``categoryId``.
FieldInSnakeCase = sends(snake_case)
# Sends the category as text.
CategoryAsText = sends(lambda body: {**body, "categoryId": str(body["categoryId"])})
# Converts integers to floats, and loses digits.
CategoryAsFloat = altered(
    encode=lambda self, body: json.dumps({**body, "categoryId": int(float(body["categoryId"]))}).encode()
)
# Omits category 0 as if it were missing.
FalsyCategoryLeftOut = sends(
    lambda body: {field: value for field, value in body.items() if field != "categoryId" or value}
)
# Omits an empty name as if it were missing.
EmptyNameLeftOut = sends(lambda body: {field: value for field, value in body.items() if value != ""})
# Strips white space from names.
NameStripped = sends(lambda body: {**body, "name": body["name"].strip()})


class NameUnescaped(HttpClientPets):
    """Builds JSON without escaping."""

    def encode(self, body: dict[str, Any]) -> bytes:
        status = f', "status": "{body["status"]}"' if "status" in body else ""
        return f'{{"name": "{body["name"]}", "categoryId": {body["categoryId"]}{status}}}'.encode()


# Encodes the body as Latin-1.
NameInLatin1 = altered(encode=lambda self, body: json.dumps(body, ensure_ascii=False).encode("latin-1", "replace"))
# Cuts names to 100 characters.
NameCut = sends(lambda body: {**body, "name": body["name"][:100]})


class LengthInCharacters(HttpClientPets):
    """Sets Content-Length to the number of characters instead of bytes."""

    def encode(self, body: dict[str, Any]) -> bytes:
        text = json.dumps(body, ensure_ascii=False)
        return text.encode()[: len(text)]


# Sends the body as a form.
BodyAsForm = altered(encode=lambda self, body: urlencode(body).encode())
# Sends a JSON body with every request.
BodyWithGet = altered(
    ask=lambda self, method, path, body=None: self.send(method, path, b"{}" if body is None else body)
)


class TrailingSlash(HttpClientPets):
    """Adds a slash to its paths."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        base, mark, query = path.partition("?")
        return self.send(method, f"{base}/{mark}{query}", body)


# Sends the absolute value of a negative id.
NegativeIdEscaped = altered(get_pet=lambda self, pet_id: self.plain.get_pet(abs(pet_id)))
# Sends large ids in scientific notation.
IdAsFloat = altered(
    get_pet=lambda self, pet_id: self.read(
        self.checked(self.ask("GET", f"/pets/{pet_id if abs(pet_id) < 10**16 else float(pet_id)}"), 200)
    )
)
# Omits ``Bearer``.
KeyWithoutScheme = altered(headers=lambda self: {"Authorization": self.key})
# Adds the key to the query, if there is one.
KeyInQuery = altered(
    query=lambda self, *given: self.plain.query(*given) and f"{self.plain.query(*given)}&api_key={quote(self.key)}"
)
# Sends the key in a second header.
KeyInAnotherHeader = altered(headers=lambda self: {**self.plain.headers(), "X-Api-Key": self.key})


class KeyOnlyForWriting(HttpClientPets):
    """Sends the key only with POST."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        key, self.key = self.key, self.key if method == "POST" else ""
        try:
            return super().send(method, path, body)
        finally:
            self.key = key


class CreateIfAbsent(HttpClientPets):
    """Returns an existing animal of the same name instead of creating one."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        for pet in self.list_pets(limit=100):
            if pet["name"] == name:
                return pet
        return super().create_pet(name=name, category_id=category_id, status=status)


# Rejects id 0 as if it were missing.
ZeroIdRefused = before("get_pet", lambda self, pet_id: None if pet_id else ValueError("an id is needed"))


class MissingRemembered(Remembers):
    """Caches 404 responses without expiry."""

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
    """Sends the name in a header too, which can't carry every name."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        self.trace = name
        return super().body(name, category_id, status)

    def headers(self) -> dict[str, str]:
        trace = self.__dict__.pop("trace", None)
        return super().headers() if trace is None else {**super().headers(), "X-Pet-Name": trace}


# Normalises names to Unicode's composed form.
NameNormalised = sends(lambda body: {**body, "name": unicodedata.normalize("NFC", body["name"])})
# Sends Host without the port.
HostWithoutPort = altered(headers=lambda self: {**self.plain.headers(), "Host": self.host})
# Accepts only a media type of another interface.
AcceptsOtherVersion = altered(
    headers=lambda self: {**self.plain.headers(), "Accept": "application/vnd.petstore.v2+xml"}
)
# Logs its request headers with the key.
HeadersLogged = before("send", lambda self, *_: logging.getLogger("pets").debug("sending %s", self.headers()))


class CreatesAgainAfterLooking(HttpClientPets):
    """Retries createPet after a lost response, unless the first page has such an animal."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            return super().create_pet(name=name, category_id=category_id, status=status)
        except (OSError, http.client.HTTPException):
            if any(pet["name"] == name for pet in self.list_pets()):
                raise
        return super().create_pet(name=name, category_id=category_id, status=status)


# Retries createPet after a ValueError, for example when the response is not JSON.
CreatesAgainWhenUnreadable = calls_again("create_pet", ValueError)
# Ignores the Retry-After of 503.
RetryAfterOn429Only = asks_again(1, lambda method, status: method == "GET" and status == 503)


class RedirectedInACircle(HttpClientPets):
    """Follows redirections without a limit."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        while method == "GET" and answer.status in {301, 302, 303, 307, 308}:
            there = urlsplit(answer.headers.get("Location") or "")
            if there.port != self.port:
                break
            answer = self.send(method, there.path.removeprefix(self.base), None)
        return answer


class NameAsTemplate(HttpClientPets):
    """Formats the category into a template that already contains the name."""

    def encode(self, body: dict[str, Any]) -> bytes:
        text: str = json.dumps({**body, "categoryId": "CATEGORY"}).replace('"CATEGORY"', "%d") % body["categoryId"]
        return text.encode()


# Raises 404 for a negative id without sending a request.
NegativeIdsMissing = before("get_pet", lambda self, pet_id: ApiError(404) if pet_id < 0 else None)


class LengthKept(HttpClientPets):
    """Keeps Content-Length for later requests that have no body."""

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
