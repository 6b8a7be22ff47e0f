"""Correct clients of many shapes: other results, other names, asynchronous clients, context managers.

A page is an object with a list of animals. A generator sends its request when it is iterated.
"""

from __future__ import annotations

import asyncio
import enum
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode, urlsplit

import aiohttp
import attrs
import httpx
import pydantic

from petstore_mock import PetStoreMock
from tests.clients.correct import TIMEOUT, ApiError, HttpClientPets, Json


class Status(enum.Enum):
    """An enumeration that does not derive from str."""

    AVAILABLE = "available"
    PENDING = "pending"
    SOLD = "sold"


@dataclass
class DataclassPet:
    id: int
    name: str
    category_id: int
    status: Status | None = None

    @classmethod
    def of(cls, pet: Json) -> Self:
        return cls(pet["id"], pet["name"], pet["categoryId"], Status(pet["status"]) if "status" in pet else None)


@attrs.frozen
class AttrsPet:
    id: int
    name: str
    category_id: int
    status: str | None


class NamedPet(NamedTuple):
    id: int
    name: str
    category_id: int
    status: str | None


class ModelPet(pydantic.BaseModel):
    id: int
    name: str
    category_id: int = pydantic.Field(alias="categoryId")
    status: Status | None = None


class PlainPet:
    """An object with properties that have the interface's names."""

    def __init__(self, pet: Json) -> None:
        self._pet = pet

    @property
    def id(self) -> int:
        return int(self._pet["id"])

    @property
    def name(self) -> str:
        return str(self._pet["name"])

    @property
    def categoryId(self) -> int:  # noqa: N802  # the interface's name
        return int(self._pet["categoryId"])

    @property
    def status(self) -> str | None:
        status: str | None = self._pet.get("status")
        return status


def flat(kind: Callable[..., Any]) -> Callable[[Json], Any]:
    return lambda pet: kind(pet["id"], pet["name"], pet["categoryId"], pet.get("status"))


def snake_case(pet: Json) -> Json:
    return {"category_id" if name == "categoryId" else name: value for name, value in pet.items()}


def an_array(document: Json) -> list[Json]:
    """Return the document, or fail if it is no array: iterating a JSON object would yield its keys."""
    if not isinstance(document, list):
        raise TypeError(f"expected an array of animals; got {document!r}")
    return document


class Shaped(HttpClientPets):
    """Converts each animal and each list."""

    pet: Any = staticmethod(lambda pet: pet)
    pets: Any = staticmethod(list)

    def list_pets(self, **query: Json) -> Json:
        return self.pets([self.pet(pet) for pet in an_array(super().list_pets(**query))])

    def create_pet(self, **given: Json) -> Json:
        return self.pet(super().create_pet(**given))

    def get_pet(self, pet_id: int) -> Json:
        return self.pet(super().get_pet(pet_id))


def shaped(pet: Callable[[Json], Any], pets: Callable[[Any], Any] = list) -> type[Shaped]:
    return type("Client", (Shaped,), {"pet": staticmethod(pet), "pets": staticmethod(pets)})


@dataclass
class Page:
    items: list[Json]
    next_page: str | None = None


class NamedPage(NamedTuple):
    pets: list[Json]
    more: bool


class ModelPage(pydantic.BaseModel):
    data: list[ModelPet]


class Generates(HttpClientPets):
    """Sends its request when its generator is iterated."""

    def list_pets(self, **query: Json) -> Iterator[Json]:
        yield from an_array(super().list_pets(**query))


class AsyncCalls:
    """The three calls of an asynchronous client. A subclass sends the requests with its library in ``ask``."""

    pet: Any = staticmethod(lambda pet: pet)

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        raise NotImplementedError

    async def list_pets(self, **query: Json) -> Json:
        return [self.pet(pet) for pet in an_array(await self.ask("GET", "/pets", 200, params=query))]

    async def create_pet(self, *, category_id: int, **fields: Json) -> Json:
        return self.pet(await self.ask("POST", "/pets", 201, json={"categoryId": category_id, **fields}))

    async def get_pet(self, pet_id: int) -> Json:
        return self.pet(await self.ask("GET", f"/pets/{pet_id}", 200))


class AsyncPets(AsyncCalls):
    """An asynchronous client on httpx that returns dataclasses."""

    pet = staticmethod(DataclassPet.of)

    def __init__(self, petstore: PetStoreMock) -> None:
        self.http = httpx.AsyncClient(
            base_url=petstore.url, headers=petstore.headers, timeout=TIMEOUT, trust_env=False, verify=False
        )

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        response = await self.http.request(method, path, **given)
        if response.status_code != success:
            raise ApiError(response.status_code, response.content)
        return response.json()

    async def aclose(self) -> None:
        await self.http.aclose()


class AsyncGenerates(AsyncPets):
    async def list_pets(self, **query: Json) -> AsyncIterator[Json]:  # type: ignore[override]
        for pet in an_array(await self.ask("GET", "/pets", 200, params=query)):
            yield DataclassPet.of(pet)


class ProtocolError(Exception):
    """The service sent bytes that are not HTTP."""


class StreamsPets(AsyncPets):
    """A client on asyncio's streams with a connection for each request. Callers get the errors of the streams."""

    def __init__(self, petstore: PetStoreMock) -> None:
        self.parts = urlsplit(petstore.url)
        self.headers = {**petstore.headers, "Host": self.parts.netloc, "Connection": "close"}

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        query = urlencode({name: value for name, value in given.get("params", {}).items() if value is not None})
        body = json.dumps(given["json"]).encode() if "json" in given else b""
        fields = {**self.headers, "Content-Type": "application/json", "Content-Length": len(body)}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        target = f"{self.parts.path}{path}{'?' if query else ''}{query}"
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await asyncio.open_connection(self.parts.hostname, self.parts.port)
            try:
                writer.write(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
                status, content = await self.read(reader)
            finally:
                writer.close()
        if status != success:
            raise ApiError(status, content)
        return json.loads(content)

    async def read(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        found = re.match(r"HTTP/1\.[01] ([1-5]\d\d)(?: |\r)", head)
        if found is None:
            raise ProtocolError(head[:80])
        # An interim response (RFC 9110 §15.2).
        if found[1].startswith("1"):
            return await self.read(reader)
        fields = self.fields(head)
        if self.is_chunked(fields):
            return int(found[1]), b"".join([chunk async for chunk in self.chunks(reader)])
        length = fields.get("content-length")
        return int(found[1]), await (reader.read() if length is None else reader.readexactly(int(length)))

    def fields(self, head: str) -> dict[str, str]:
        pairs = [line.partition(":") for line in head.split("\r\n")]
        return {name.lower(): value.strip() for name, _, value in pairs}

    def is_chunked(self, fields: dict[str, str]) -> bool:
        return "transfer-encoding" in fields

    async def chunks(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        while size := await self.size_of_chunk(reader):
            yield (await reader.readexactly(size + 2))[:-2]

    async def size_of_chunk(self, reader: asyncio.StreamReader) -> int:
        line = await reader.readuntil(b"\r\n")
        try:
            return int(line.partition(b";")[0], 16)
        except ValueError:
            raise ProtocolError(repr(line)) from None

    async def aclose(self) -> None:
        """Do nothing, since no connection is kept."""


class AiohttpBlock(AsyncCalls):
    """A client on aiohttp that works only in its ``async with`` block."""

    def __init__(self, petstore: PetStoreMock) -> None:
        self.url, self.headers = petstore.url, petstore.headers

    async def __aenter__(self) -> Self:
        self.session = aiohttp.ClientSession(headers=self.headers, timeout=aiohttp.ClientTimeout(total=TIMEOUT))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        async with self.session.request(method, self.url + path, **given) as response:
            if response.status != success:
                raise ApiError(response.status)
            return await response.json()


class AiohttpGroup(AiohttpBlock):
    """Has a task group as long as its block, as clients with background work have."""

    async def __aenter__(self) -> Self:
        self.group = await asyncio.TaskGroup().__aenter__()
        return await super().__aenter__()

    async def __aexit__(self, *details: Any) -> None:  # noqa: PYI036  # the group takes them as they are
        await super().__aexit__()
        await self.group.__aexit__(*details)


class Block(HttpClientPets):
    """Works only in its ``with`` block, which also closes it."""

    is_entered = False

    def __enter__(self) -> Self:
        self.is_entered = True
        return self

    def __exit__(self, *_: object) -> None:
        super().close()

    def close(self) -> None:
        if not self.is_entered:
            raise RuntimeError("use it in a with block")
        super().close()

    def ask(self, method: str, path: str, body: bytes | None = None) -> Json:
        if not self.is_entered:
            raise RuntimeError("use it in a with block")
        return super().ask(method, path, body)


class Sdk:
    """Has methods with other names and other arguments."""

    def __init__(self, url: str, key: str) -> None:
        self._pets = HttpClientPets(url, key)
        self.pets = SimpleNamespace(all=self._pets.list_pets, one=self._pets.get_pet)

    def add(self, pet: Json) -> Json:
        return self._pets.create_pet(name=pet["name"], category_id=pet["categoryId"], status=pet.get("status"))

    def close(self) -> None:
        self._pets.close()


def sdk_create(client: Sdk, *, name: str, category_id: int, status: str | None = None) -> Json:
    return client.add({"name": name, "categoryId": category_id, **({} if status is None else {"status": status})})


SDK_METHODS: dict[str, Any] = {"list_pets": "pets.all", "create_pet": sdk_create, "get_pet": "pets.one"}


def by_key(client: Json) -> Callable[[PetStoreMock], Json]:
    return lambda petstore: client(petstore.url, petstore.api_key)


async def make_async(petstore: PetStoreMock) -> AsyncPets:
    return AsyncPets(petstore)


def make_session(petstore: PetStoreMock) -> Json:
    """Make a client whose library needs a running event loop."""

    class Now(AiohttpBlock):
        def __init__(self, petstore: PetStoreMock) -> None:
            super().__init__(petstore)
            timeout = aiohttp.ClientTimeout(total=TIMEOUT)
            self.session = aiohttp.ClientSession(headers=self.headers, timeout=timeout)

        async def __aenter__(self) -> Self:
            return self

    return Now(petstore)


# A maker of each shape, with further arguments for check_client.
SHAPES: dict[str, tuple[Callable[[PetStoreMock], Json], dict[str, Any]]] = {
    "dataclass": (by_key(shaped(DataclassPet.of)), {}),
    "attrs": (by_key(shaped(flat(AttrsPet))), {}),
    "pydantic": (by_key(shaped(ModelPet.model_validate)), {}),
    "named tuple": (by_key(shaped(flat(NamedPet))), {}),
    "plain object": (by_key(shaped(PlainPet)), {}),
    "snake case": (by_key(shaped(snake_case)), {}),
    "tuples": (by_key(shaped(lambda pet: pet, tuple)), {}),
    "deque": (by_key(shaped(lambda pet: pet, deque)), {}),
    "page": (by_key(shaped(lambda pet: pet, Page)), {}),
    "named page": (by_key(shaped(lambda pet: pet, lambda pets: NamedPage(pets, more=False))), {}),
    "model page": (by_key(shaped(ModelPet.model_validate, lambda pets: ModelPage(data=pets))), {}),
    "mapping page": (by_key(shaped(lambda pet: pet, lambda pets: {"pets": pets})), {}),
    "iterator": (by_key(shaped(lambda pet: pet, iter)), {}),
    "generator": (by_key(Generates), {}),
    "async": (AsyncPets, {}),
    "async generator": (AsyncGenerates, {}),
    "asyncio streams": (StreamsPets, {}),
    "async make_client": (make_async, {}),
    "async block": (AiohttpBlock, {}),
    "task group": (AiohttpGroup, {}),
    "needs a loop": (make_session, {}),
    "block": (by_key(Block), {}),
    "other names": (by_key(Sdk), {"methods": SDK_METHODS}),
    "other fields": (
        by_key(shaped(lambda pet: [pet["id"], pet["name"], pet["categoryId"], pet.get("status")])),
        {"read_pet": lambda row: dict(zip(("id", "name", "categoryId", "status"), row, strict=True))},
    ),
}


def maker_of(client: Any) -> Json:
    """Return a maker for a class whose constructor takes the mock, or its address and key."""

    def make_client(petstore: PetStoreMock) -> Json:
        takes_mock = issubclass(client, (AsyncPets, AiohttpBlock))
        return client(petstore) if takes_mock else client(petstore.url, petstore.api_key)

    return make_client
