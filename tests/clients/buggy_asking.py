"""Clients with one bug each in how they ask: parameters, bodies, headers, keys."""

from __future__ import annotations

import http.client
import json
import logging
import unicodedata
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tests.clients.correct import Answer, ApiError, HttpClientPets, Json


class LimitZeroForNone(HttpClientPets):
    """Sends ``limit=0`` when no limit is given."""

    def query(self, limit: int | None, status: str | None) -> str:
        return super().query(limit or 0, status)


class StatusNoneAsText(HttpClientPets):
    """Formats None into the query: ``status=None``."""

    def query(self, limit: int | None, status: str | None) -> str:
        return f"?limit={limit or 20}&status={status}"


class LimitForgotten(HttpClientPets):
    """Passes the limit on only when there is a status as well."""

    def query(self, limit: int | None, status: str | None) -> str:
        return super().query(limit if status else None, status)


class LimitPastTheMaximum(HttpClientPets):
    """Asks for one more than the page, to see whether there is another."""

    def query(self, limit: int | None, status: str | None) -> str:
        return super().query((limit or 20) + 1, status)

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        return super().list_pets(limit=limit, status=status)[: limit or 20]


class ParameterMisnamed(HttpClientPets):
    """Calls the status filter ``state``."""

    def query(self, limit: int | None, status: str | None) -> str:
        return super().query(limit, status).replace("status=", "state=")


class StatusInUpperCase(HttpClientPets):
    """Sends the enumeration's constant names."""

    def query(self, limit: int | None, status: str | None) -> str:
        return super().query(limit, status.upper() if status else None)


class StatusJoined(HttpClientPets):
    """Always names every status, separated by commas, when none is asked for."""

    def query(self, limit: int | None, status: str | None) -> str:
        return super().query(limit, status or "available,pending,sold")


class StatusNullInBody(HttpClientPets):
    """Sends ``"status": null`` when it is left out."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        return {"name": name, "categoryId": category_id, "status": status}


class StatusDefaulted(HttpClientPets):
    """Makes up a status when none is given."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        return super().body(name, category_id, status or "available")


class FieldInSnakeCase(HttpClientPets):
    """Sends the Python name of the field."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        body = super().body(name, category_id, status)
        body["category_id"] = body.pop("categoryId")
        return body


class CategoryAsText(HttpClientPets):
    """Sends every value as text, as a form would."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        return {**super().body(name, category_id, status), "categoryId": str(category_id)}


class CategoryAsFloat(HttpClientPets):
    """Has one type of number, and loses what a float can't hold."""

    def encode(self, body: dict[str, Any]) -> bytes:
        return json.dumps({**body, "categoryId": int(float(body["categoryId"]))}).encode()


class FalsyCategoryLeftOut(HttpClientPets):
    """Takes category 0 for none."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        body = super().body(name, category_id, status)
        return {field: value for field, value in body.items() if field != "categoryId" or value}


class EmptyNameLeftOut(HttpClientPets):
    """Takes an empty name for none."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        return {field: value for field, value in super().body(name, category_id, status).items() if value != ""}


class NameStripped(HttpClientPets):
    """Tidies names up."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        return super().body(name.strip(), category_id, status)


class NameUnescaped(HttpClientPets):
    """Writes JSON by hand."""

    def encode(self, body: dict[str, Any]) -> bytes:
        status = f', "status": "{body["status"]}"' if "status" in body else ""
        return f'{{"name": "{body["name"]}", "categoryId": {body["categoryId"]}{status}}}'.encode()


class NameInLatin1(HttpClientPets):
    """Encodes as Latin-1."""

    def encode(self, body: dict[str, Any]) -> bytes:
        return json.dumps(body, ensure_ascii=False).encode("latin-1", "replace")


class NameCut(HttpClientPets):
    """Cuts names to what its own database column holds."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        return super().body(name[:100], category_id, status)


class LengthInCharacters(HttpClientPets):
    """Counts characters where Content-Length counts bytes."""

    def encode(self, body: dict[str, Any]) -> bytes:
        self.length = len(json.dumps(body, ensure_ascii=False))
        return json.dumps(body, ensure_ascii=False).encode()

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        return super().send(method, path, None if body is None else body[: self.length])


class BodyAsForm(HttpClientPets):
    """Posts a form."""

    def encode(self, body: dict[str, Any]) -> bytes:
        return urlencode(body).encode()


class BodyWithGet(HttpClientPets):
    """Sends a JSON body with every request."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        return self.send(method, path, b"{}" if body is None else body)


class TrailingSlash(HttpClientPets):
    """Ends its paths in a slash."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        base, mark, query = path.partition("?")
        return self.send(method, f"{base}/{mark}{query}", body)


class NegativeIdEscaped(HttpClientPets):
    """Takes a negative id for a mistake and sends its absolute value."""

    def get_pet(self, pet_id: int) -> Json:
        return super().get_pet(abs(pet_id))


class IdAsFloat(HttpClientPets):
    """Writes large ids in scientific notation."""

    def get_pet(self, pet_id: int) -> Json:
        return self.read(
            self.checked(self.ask("GET", f"/pets/{pet_id if abs(pet_id) < 10**16 else float(pet_id)}"), 200)
        )


class KeyWithoutScheme(HttpClientPets):
    """Leaves out ``Bearer``."""

    def headers(self) -> dict[str, str]:
        return {"Authorization": self.key}


class KeyInQuery(HttpClientPets):
    """Names the key in the query as well, when there is one."""

    def query(self, limit: int | None, status: str | None) -> str:
        found = super().query(limit, status)
        return f"{found}&api_key={quote(self.key)}" if found else ""


class KeyInAnotherHeader(HttpClientPets):
    """Sends the key in a second header, for an old gateway."""

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "X-Api-Key": self.key}


class KeyOnlyForWriting(HttpClientPets):
    """Takes reading for public."""

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


class ZeroIdRefused(HttpClientPets):
    """Takes id 0 for none."""

    def get_pet(self, pet_id: int) -> Json:
        if not pet_id:
            raise ValueError("an id is needed")
        return super().get_pet(pet_id)


class MissingRemembered(HttpClientPets):
    """Remembers which animals there are not, for good."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.missing: set[int] = set()

    def get_pet(self, pet_id: int) -> Json:
        if pet_id in self.missing:
            raise ApiError(404)
        try:
            return super().get_pet(pet_id)
        except ApiError as error:
            if error.status == 404:
                self.missing.add(pet_id)
            raise


class NameInHeader(HttpClientPets):
    """Names the animal in a header too, for its traces; a header can't hold every name."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        self.trace = name
        return super().body(name, category_id, status)

    def headers(self) -> dict[str, str]:
        trace = self.__dict__.pop("trace", None)
        return super().headers() if trace is None else {**super().headers(), "X-Pet-Name": trace}


class NameNormalised(HttpClientPets):
    """Sends names in Unicode's composed form."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        return super().body(unicodedata.normalize("NFC", name), category_id, status)


class HostWithoutPort(HttpClientPets):
    """Names the host alone in Host."""

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "Host": self.host}


class AcceptsOtherVersion(HttpClientPets):
    """Accepts what another interface answers."""

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "Accept": "application/vnd.petstore.v2+xml"}


class HeadersLogged(HttpClientPets):
    """Logs what it sends, the key too, for those who look for bugs."""

    def headers(self) -> dict[str, str]:
        headers = super().headers()
        logging.getLogger("pets").debug("sending %s", headers)
        return headers


class CreatesAgainAfterLooking(HttpClientPets):
    """Creates again after a lost answer, unless the first page of a list has such an animal."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            return super().create_pet(name=name, category_id=category_id, status=status)
        except (OSError, http.client.HTTPException):
            if any(pet["name"] == name for pet in self.list_pets()):
                raise
        return super().create_pet(name=name, category_id=category_id, status=status)


class CreatesAgainWhenUnreadable(HttpClientPets):
    """Makes the whole call again when there is a ValueError, which no readable JSON is too."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            return super().create_pet(name=name, category_id=category_id, status=status)
        except ValueError:
            return super().create_pet(name=name, category_id=category_id, status=status)


class RetryAfterOn429Only(HttpClientPets):
    """Asks again at once after 503, which tells to wait too."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        return self.send(method, path, body) if method == "GET" and answer.status == 503 else answer


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


class NegativeIdsMissing(HttpClientPets):
    """Says of itself that there is no animal with a negative id."""

    def get_pet(self, pet_id: int) -> Json:
        if pet_id < 0:
            raise ApiError(404)
        return super().get_pet(pet_id)


class LengthKept(HttpClientPets):
    """Merges the headers of each request into those of all that follow, and announces bodies that never come."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.merged = super().headers()

    def headers(self) -> dict[str, str]:
        return self.merged

    def encode(self, body: dict[str, Any]) -> bytes:
        encoded = super().encode(body)
        self.merged["Content-Length"] = str(len(encoded))
        return encoded


ASKING = (
    LimitZeroForNone,
    StatusNoneAsText,
    LimitForgotten,
    LimitPastTheMaximum,
    ParameterMisnamed,
    StatusInUpperCase,
    StatusJoined,
    StatusNullInBody,
    StatusDefaulted,
    FieldInSnakeCase,
    CategoryAsText,
    CategoryAsFloat,
    FalsyCategoryLeftOut,
    EmptyNameLeftOut,
    NameStripped,
    NameUnescaped,
    NameInLatin1,
    NameCut,
    LengthInCharacters,
    BodyAsForm,
    BodyWithGet,
    TrailingSlash,
    NegativeIdEscaped,
    IdAsFloat,
    KeyWithoutScheme,
    KeyInQuery,
    KeyInAnotherHeader,
    KeyOnlyForWriting,
    CreateIfAbsent,
    ZeroIdRefused,
    MissingRemembered,
    NameInHeader,
    NameNormalised,
    HostWithoutPort,
    AcceptsOtherVersion,
    HeadersLogged,
    CreatesAgainAfterLooking,
    CreatesAgainWhenUnreadable,
    RetryAfterOn429Only,
    RedirectedInACircle,
    NameAsTemplate,
    NegativeIdsMissing,
    LengthKept,
)
