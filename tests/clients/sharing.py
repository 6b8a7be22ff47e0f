"""Clients that threads or tasks share: correct ones, and buggy ones that mix up their callers."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
import threading
from typing import Any
from weakref import WeakSet

from petstore_mock import PetStoreMock
from tests.clients.bugs import clients_of
from tests.clients.correct import Answer, HttpClientPets, Json, RequestsPets, Urllib3Pets
from tests.clients.shapes import AiohttpBlock, AsyncPets, DataclassPet

# Correct


class OneAtATime(HttpClientPets):
    """Serves one caller at a time."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.lock = threading.RLock()

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        with self.lock:
            return super().send(method, path, body)

    def close(self) -> None:
        with self.lock:
            super().close()


class OneForEachThread:
    """Has a connection for each thread, and closes all of them."""

    def __init__(self, url: str, key: str) -> None:
        self.given = url, key
        self.local = threading.local()
        self.all: WeakSet[HttpClientPets] = WeakSet()

    @property
    def own(self) -> HttpClientPets:
        if not hasattr(self.local, "pets"):
            self.local.pets = HttpClientPets(*self.given)
            self.all.add(self.local.pets)
        pets: HttpClientPets = self.local.pets
        return pets

    def list_pets(self, **query: Json) -> Json:
        return self.own.list_pets(**query)

    def create_pet(self, **fields: Json) -> Json:
        return self.own.create_pet(**fields)

    def get_pet(self, pet_id: int) -> Json:
        return self.own.get_pet(pet_id)

    def close(self) -> None:
        for pets in self.all:
            pets.close()


class Pooled(HttpClientPets):
    """Has a pool of idle connections."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.idle: list[http.client.HTTPConnection] = []

    def take(self) -> http.client.HTTPConnection:
        while True:
            try:
                connection = self.idle.pop()
            except IndexError:
                return self.new_connection()
            if not self.is_stale(connection):
                return connection
            connection.close()

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        headers = {**self.headers(), **({} if body is None else {"Content-Type": "application/json"})}
        connection = self.take()
        try:
            connection.request(method, self.base + path, body=body, headers=headers)
            answer = self.receive(connection.getresponse())
        except BaseException:
            connection.close()
            raise
        self.idle.append(connection)
        return answer

    def close(self) -> None:
        while self.idle:
            self.idle.pop().close()


class LockedTasks(AsyncPets):
    """Serves one task at a time."""

    def __init__(self, petstore: PetStoreMock) -> None:
        super().__init__(petstore)
        self.lock = asyncio.Lock()

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        async with self.lock:
            return await super().ask(method, path, success, **given)


CORRECT: dict[str, Any] = {
    "a lock": OneAtATime,
    "a connection for each thread": OneForEachThread,
    "a pool": Pooled,
    "urllib3": Urllib3Pets,
    "requests": RequestsPets,
    "httpx, async": AsyncPets,
    "aiohttp": AiohttpBlock,
    "httpx, async, a lock": LockedTasks,
}


# Buggy


class OneConnection(HttpClientPets):
    """Shares one connection between all threads without a lock (googleapis/google-api-python-client#626)."""


class AnswerKept(OneAtATime):
    """Keeps the latest response in an attribute, where another call may overwrite it."""

    answer: Answer

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.answer = super().ask(method, path, body)
        return self.answer

    def read(self, answer: Answer) -> Json:
        del answer
        return json.loads(self.answer.body)


class ParametersKept(OneAtATime):
    """Keeps the parameters of a call in an attribute until they are sent."""

    given: tuple[int | None, str | None]

    def query(self, limit: int | None, status: str | None) -> str:
        self.given = limit, status
        return self.text()

    def text(self) -> str:
        return super().query(*self.given)


class BodyBuiltInPlace(OneAtATime):
    """Builds every request body in the same dict."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.filled: dict[str, Any] = {}

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        self.filled.clear()
        self.filled.update(super().body(name, category_id, status))
        return self.filled


class BufferShared(OneAtATime):
    """Reads all responses into one buffer."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.buffer = bytearray()

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        answer = super().receive(response)
        self.buffer[:] = answer.body
        return Answer(answer.status, answer.headers, self.buffer)  # type: ignore[arg-type]


class LentTwice(Pooled):
    """Looks for an idle connection, and takes it a moment later."""

    def take(self) -> http.client.HTTPConnection:
        for connection in self.idle:
            if not self.is_stale(connection):
                with contextlib.suppress(ValueError):
                    self.idle.remove(connection)
                return connection
        return self.new_connection()


class LockedHalfway(HttpClientPets):
    """Holds its lock while it sends, but not while it receives."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.lock = threading.Lock()

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        headers = {**self.headers(), **({} if body is None else {"Content-Type": "application/json"})}
        with self.lock:
            connection = self.connect()
            connection.request(method, self.base + path, body=body, headers=headers)
        try:
            return self.receive(connection.getresponse())
        except BaseException:
            self.close()
            raise


class TwoLocks(OneAtATime):
    """Acquires its two locks in one order to list, and in the other order to create."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.other = threading.Lock()

    def list_pets(self, **query: Json) -> Json:
        with self.lock:
            return self.counted(super().list_pets, **query)

    def create_pet(self, **fields: Json) -> Json:
        with self.other:
            return super().create_pet(**fields)

    def counted(self, call: Json, **given: Json) -> Json:
        with self.other:
            return call(**given)


class FuturesByNumber(OneAtATime):
    """Numbers its requests to find their responses, but gives two requests the same number."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.number = 0
        self.answers: dict[int, Answer] = {}

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        number = self.number
        self.answers[number] = super().ask(method, path, body)
        self.number = number + 1
        return self.answers[number]


class HeadersOfTheCall(AiohttpBlock):
    """Keeps the pending request in an attribute, which another task overwrites."""

    counter = itertools.count()

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        self.pending = method, path, given
        await asyncio.sleep(0)  # like a rate limiter
        method, path, given = self.pending
        return await super().ask(method, path, success, **given)


class ResultKept(AsyncPets):
    """Keeps the latest animal in an attribute across an ``await``."""

    async def get_pet(self, pet_id: int) -> Json:
        self.latest = await self.ask("GET", f"/pets/{pet_id}", 200)
        await asyncio.sleep(0)
        return DataclassPet.of(self.latest)


BUGGY = clients_of(globals(), *CORRECT.values())
