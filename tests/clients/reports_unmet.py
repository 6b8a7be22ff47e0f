"""Clients with bugs from public reports, ninth set."""

from __future__ import annotations

import codecs
import http.client
import json
import re
import time
from typing import Any

import requests
import urllib3

from tests.clients.bugs import altered, clients_of, starts
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, Urllib3Pets
from tests.clients.shapes import PlainPet, Shaped

# Requests


def in_short(number: int) -> str:
    """Return the shorter form of a number, as R does: with an exponent or without."""
    mantissa, _, exponent = f"{number:.14e}".partition("e")
    short = f"{mantissa.rstrip('0').rstrip('.')}e{exponent}"
    return min(str(number), short, key=len) if float(short) == number else str(number)


# Writes large round ids with an exponent, as in 1e+05 (KorAP/RKorAPClient#25).
IdsWithExponents = altered(get_pet=lambda self, pet_id: self.plain.get_pet(in_short(pet_id)))


class WholeAppended(HttpClientPets):
    """Requests the rest of a body that was cut off, and takes the whole for it (huggingface/huggingface_hub#3778)."""

    appends = True
    begun = b""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.begun = b""
        try:
            return super().ask(method, path, body)
        except http.client.IncompleteRead as error:
            if method != "GET":
                raise
            self.begun = error.partial
        answer = super().ask(method, path, body)
        if answer.status == 206 or (answer.status == 200 and self.appends):
            return Answer(200, answer.headers, self.begun + answer.body)
        return answer

    def headers(self) -> dict[str, str]:
        rest = {"Range": f"bytes={len(self.begun)}-"} if self.begun else {}
        return {**super().headers(), **rest}


class WholeTaken(WholeAppended):
    """Correct: it takes the whole body if it gets it."""

    appends = False


class TimeLeft(Urllib3Pets):
    """Passes the time that is left to each attempt, also if none is left (microsoft/CCF#858)."""

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                return self.attempt(method, path, success, self.left(end), **given)
            except urllib3.exceptions.TimeoutError:
                if method != "GET" or self.is_over(end):
                    raise

    def attempt(self, method: str, path: str, success: int, left: float, **given: Json) -> Json:
        fields, pet = given.get("params"), given.get("json")
        limits: dict[str, Any] = {"retries": False, "redirect": False, "timeout": left}
        response = self.pool.request(method, self.url + path, fields=fields, json=pet, headers=self.headers, **limits)
        if response.status != success:
            raise ApiError(response.status, response.data)
        return response.json()

    def left(self, end: float) -> float:
        return end - time.monotonic()

    def is_over(self, _: float) -> bool:
        return False


class TimeLeftChecked(TimeLeft):
    """Correct: it sends nothing when no time is left."""

    def is_over(self, end: float) -> bool:
        return self.left(end) < TIMEOUT / 10


# Bodies


class PartsDecoded(HttpClientPets):
    """Decodes each part of a body by itself, also if a letter is in two of them (jawah/urllib3.future#349)."""

    def content(self, response: http.client.HTTPResponse) -> bytes:
        decode = self.decoder()
        text = ""
        while part := response.read(64):
            text += decode(part)
        return text.encode()

    def decoder(self) -> Any:
        return lambda part: part.decode(errors="replace")


class PartsDecodedInTurn(PartsDecoded):
    """Correct: its decoder keeps the begin of a letter."""

    def decoder(self) -> Any:
        return codecs.getincrementaldecoder("utf-8")(errors="replace").decode


def with_halves(body: bytes) -> str:
    half = re.compile(r"(?<!\\)\\u(d[89a-f][0-9a-f]{2})", re.IGNORECASE)
    return half.sub(lambda found: chr(int(found[1], 16)), body.decode())


# Decodes the escapes of JSON one by one, so an emoji becomes two halves (agent0ai/agent-zero#1773).
HalvesLeft = altered(read=lambda _, answer: json.loads(with_halves(answer.body)))

# Results


class KeyedByName(Shaped):
    """Collects the animals of a list by their names (rubrikinc/rubrik-sdk-for-python#277)."""

    pets = staticmethod(lambda pets: [*{pet["name"]: pet for pet in pets}.values()])


class KeyedById(Shaped):
    """Correct: it collects them by their ids."""

    pets = staticmethod(lambda pets: [*{pet["id"]: pet for pet in pets}.values()])


class ComparedPet(PlainPet):
    """Equals an animal with the same fields."""

    def __eq__(self, other: object) -> bool:
        return bool(self._pet == other._pet)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return self.id


class RightlyComparedPet(ComparedPet):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComparedPet) and super().__eq__(other)

    def __hash__(self) -> int:
        return self.id


class EqualityFails(Shaped):
    """Returns animals that nobody can compare with None (pushingkarmaorg/python-plexapi#35)."""

    pet = staticmethod(ComparedPet)


class EqualityWorks(Shaped):
    """Correct: they equal no other object."""

    pet = staticmethod(RightlyComparedPet)


# Settings of the whole program


def own_request(method: str, url: str, **given: Any) -> requests.Response:
    with requests.Session() as session:
        return session.request(method, url, **given)


# Replaces a function of its library for the whole program (msabramo/requests-unixsocket#16).
RequestReplaced = starts(lambda _: setattr(requests.api, "request", own_request))
RequestOwn = starts(lambda client: setattr(client, "request", own_request))

TWINS: dict[Any, Any] = {
    IdsWithExponents: HttpClientPets,
    WholeAppended: WholeTaken,
    TimeLeft: TimeLeftChecked,
    PartsDecoded: PartsDecodedInTurn,
    HalvesLeft: HttpClientPets,
    KeyedByName: KeyedById,
    EqualityFails: EqualityWorks,
    RequestReplaced: RequestOwn,
}
REPORTS_UNMET = clients_of(globals(), *TWINS.values())
