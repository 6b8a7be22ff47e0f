"""Clients whose bugs depend on pauses, on chance, or on a state, and correct ones near them.

Sources: botocore pauses up to 20 s between retries (boto/botocore, ``botocore/retries/standard.py``), tenacity doubles
its pauses without a limit by default (jd/tenacity).
"""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import random
import threading
import time
from http import HTTPStatus
from typing import Any, ClassVar

from tests.clients.correct import Answer, ApiError, HttpClientPets, Json
from tests.clients.shapes import AsyncPets


class Patient(HttpClientPets):
    """Correct: it retries reads after 503, and its pauses grow."""

    pauses: ClassVar[tuple[float, ...]] = (4, 8, 16)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        for pause in self.pauses:
            if method != "GET" or answer.status != 503:
                break
            time.sleep(pause)
            answer = self.send(method, path, body)
        return answer


class Jitter(HttpClientPets):
    """Spreads the wait in Retry-After both ways, so half of its retries come too early."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        hint = answer.headers.get("Retry-After", "")
        if answer.status in {429, 503} and hint.isdecimal() and method == "GET":
            time.sleep(int(hint) * random.uniform(0.5, 1.5))
            answer = self.send(method, path, body)
        return answer


class FloatHint(HttpClientPets):
    """Reads every Retry-After as a number."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status in {429, 503}:
            float(answer.headers.get("Retry-After", "0"))
        return super().checked(answer, success)


class SlotLost(HttpClientPets):
    """Has ten slots for requests, and does not give one back after a failure."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.slots = threading.Semaphore(10)

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        self.slots.acquire()
        answer = super().send(method, path, body)
        self.slots.release()
        return answer


class FilterSticks(HttpClientPets):
    """Keeps the latest status filter in its class."""

    status: ClassVar[str | None] = None

    def query(self, limit: int | None, status: str | None) -> str:
        if status is not None:
            type(self).status = status
        return super().query(limit, type(self).status)


class InheritsFilter(FilterSticks):
    """The same, in a subclass that has no such attribute at first."""


class KeyOfTheFirst(HttpClientPets):
    """Sends the key of its first instance for ever."""

    first: ClassVar[list[str]] = []

    def headers(self) -> dict[str, str]:
        if not self.first:
            self.first.append(self.key)
        return {"Authorization": f"Bearer {self.first[0]}"}


class LogsItsHeaders(HttpClientPets):
    """Logs the headers of each request, after a long text."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        logging.getLogger("pets.wire").info("%s %s %s %s", method, path, "with these headers: " * 9, self.headers())
        return super().send(method, path, body)


class LogsItsKeyAsExtra(HttpClientPets):
    """Hands its key to the log in an attribute of the record."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        logging.getLogger("pets.wire").info("asked", extra={"api_key": self.key})
        return super().send(method, path, body)


class FollowsAsRead(HttpClientPets):
    """Follows the redirection of a create with a GET, and does not understand the response."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        answer = self.ask("POST", "/pets", self.encode(self.body(name, category_id, status)))
        place = answer.headers.get("Location", "")
        if answer.status in {301, 302, 303} and place.startswith("/v1"):
            animals = self.read(self.ask("GET", place.removeprefix("/v1")))
            raise ValueError(f"not a pet: {animals}")
        return self.read(self.checked(answer, 201))


class SleepsInItsLoop(AsyncPets):
    """Waits before a retry with ``time.sleep()``, so no other task of the program runs meanwhile."""

    async def list_pets(self, **query: Json) -> Json:
        try:
            return await super().list_pets(**query)
        except ApiError as error:
            if error.status != 503:
                raise
            time.sleep(0.8)  # noqa: ASYNC251  # the bug
            return await super().list_pets(**query)


class SleepsAsATask(AsyncPets):
    """Correct: it waits before a retry with ``asyncio.sleep()``."""

    async def list_pets(self, **query: Json) -> Json:
        try:
            return await super().list_pets(**query)
        except ApiError as error:
            if error.status != 503:
                raise
            await asyncio.sleep(0.8)
            return await super().list_pets(**query)


class AcceptedTaken(HttpClientPets):
    """Takes 202 for a success of a create."""

    def checked(self, answer: Answer, success: int) -> Answer:
        return answer if answer.status == 202 else super().checked(answer, success)


class ManyBugs(FloatHint, InheritsFilter, LogsItsHeaders):
    """Has three bugs."""


def kinds_of(bugs: Any) -> list[str]:
    """Return the names of the rules of some bugs."""
    return sorted(bug.rule for bug in bugs)


class EchoOfTheRefused(HttpClientPets):
    """Returns what it sent if the service refuses a create with 400."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        body = self.body(name, category_id, status)
        answer = self.ask("POST", "/pets", self.encode(body))
        return {"id": 0, **body} if answer.status == 400 else self.read(self.checked(answer, 201))


class CreatesAgainAfterRefusal(HttpClientPets):
    """Sends a refused create three times."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        body = self.encode(self.body(name, category_id, status))
        for _ in range(3):
            answer = self.ask("POST", "/pets", body)
            if answer.status != 400:
                break
        return self.read(self.checked(answer, 201))


class KnowsItsStatuses(HttpClientPets):
    """Fails for a status that the module ``http`` does not name."""

    def checked(self, answer: Answer, success: int) -> Answer:
        return answer if HTTPStatus(answer.status) == success else super().checked(answer, success)


class ErrorsAreObjects(HttpClientPets):
    """Assumes that each error body is an object with a message."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status == 500 and answer.body:
            json.loads(answer.body)["message"].lower()
        return super().checked(answer, success)


class NumbersGuessed(HttpClientPets):
    """Guesses the types of texts, as a CSV or YAML reader does."""

    def read(self, answer: Answer) -> Json:
        return json.loads(answer.body, object_hook=self.guessed)

    def guessed(self, pet: dict[str, Any]) -> dict[str, Any]:
        name = pet.get("name")
        return {**pet, "name": int(name, 0)} if isinstance(name, str) and name.startswith("0x") else pet


class NamesTrimmed(HttpClientPets):
    """Trims names before it sends them."""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        return super().body(name.rstrip("\n"), category_id, status)


class AcceptsAnyJson(HttpClientPets):
    """Hands out whatever JSON came as the list, unless the status is that of an error."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        answer = self.ask("GET", "/pets" + self.query(limit, status))
        return self.read(answer) if answer.status < 400 else self.checked(answer, 200)


class ShowsTheRemoved(HttpClientPets):
    """Shows an animal from its cache after the removal."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.known: dict[int, Json] = {}

    def get_pet(self, pet_id: int) -> Json:
        try:
            self.known[pet_id] = super().get_pet(pet_id)
        except ApiError as error:
            if error.status != 404 or pet_id not in self.known:
                raise
        return self.known[pet_id]


class KeyOfTheThread(HttpClientPets):
    """Keeps the key of the first client of each thread."""

    local = threading.local()

    def headers(self) -> dict[str, str]:
        vars(self.local).setdefault("key", self.key)
        return {"Authorization": f"Bearer {self.local.key}"}


class ReadsTheReason(HttpClientPets):
    """Decides by the reason phrase, which HTTP does not define for that."""

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        answer = super().receive(response)
        if response.status in {200, 201} and response.reason not in {"OK", "Created"}:
            raise LookupError(response.reason)
        return answer


class NeedsADate(HttpClientPets):
    """Assumes that each response has a Date."""

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        response.headers["Date"].strip()
        return super().receive(response)


class EndsWithoutChunks(HttpClientPets):
    """Reads as much as Content-Length says, and without it nothing."""

    def content(self, response: http.client.HTTPResponse) -> bytes:
        return response.read(int(response.headers.get("Content-Length", "0"))) or b"[]"


DIRECTED = [
    AcceptsAnyJson,
    ShowsTheRemoved,
    KeyOfTheThread,
    ReadsTheReason,
    NeedsADate,
    EndsWithoutChunks,
    EchoOfTheRefused,
    CreatesAgainAfterRefusal,
    KnowsItsStatuses,
    ErrorsAreObjects,
    NumbersGuessed,
    NamesTrimmed,
]
DIRECTED += [LogsItsKeyAsExtra, FollowsAsRead]


class Retrying(HttpClientPets):
    """Correct: it sends reads up to three times, and doubles its pauses."""

    attempts: ClassVar[int] = 3
    first: ClassVar[float] = 0.1
    factor: ClassVar[float] = 2.0
    on: ClassVar[set[int]] = {503}

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        for attempt in range(self.attempts - 1):
            answer = self.send(method, path, body)
            hint = answer.headers.get("Retry-After")
            if method != "GET" or answer.status not in self.on or hint is not None:
                return answer
            time.sleep(self.first * self.factor**attempt)
        return self.send(method, path, body)


class GivesUpEarly(Retrying):
    """Sends two requests instead of three."""

    attempts = 2


class GoesOn(Retrying):
    """Sends five requests instead of three."""

    attempts = 5
    first = 0.01


class PausesShortly(Retrying):
    """Does not pause between its requests."""

    first = 0.0


class RetriesTheRefused(Retrying):
    """Also sends a request again that the service forbids."""

    on: ClassVar[set[int]] = {403, 503}


UNPROMISED: dict[type[Retrying], str] = {
    GivesUpEarly: "fewer attempts than promised",
    GoesOn: "more attempts than promised",
    PausesShortly: "pause that is not promised",
    RetriesTheRefused: "retry that is not promised",
}


class ForgetsTheSecondFailure(Retrying):
    """Takes the response after a retry for a success if its body is that of a queue."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        if method == "GET" and answer.status == 503:
            answer = self.send(method, path, body)
            if answer.status == 404:
                return Answer(200, answer.headers, b"[]")
        return answer
