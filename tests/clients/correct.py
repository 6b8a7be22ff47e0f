"""Correct clients of the pet store service on five HTTP libraries."""

from __future__ import annotations

import http.client
import json
import select
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias
from urllib.parse import urlencode, urlsplit

import httpcore
import httpx
import requests
import urllib3

from petstore_mock import PetStoreMock

TIMEOUT = 1.0

Json: TypeAlias = Any  # the result of a client, of any shape


def new_pet(name: str, category_id: int, status: str | None) -> dict[str, Any]:
    """Return the body of createPet."""
    return {"name": name, "categoryId": category_id, **({} if status is None else {"status": status})}


class ApiError(Exception):
    """The service returned an unexpected status."""

    def __init__(self, status: int, body: bytes = b"") -> None:
        super().__init__(f"{status}: {body[:80]!r}")
        self.status = status


class Answer:
    """The response to a request, from any library."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


class HttpClientPets:
    """A client on ``http.client`` with a keep-alive connection. Its methods are small: a buggy client replaces one."""

    timeout: ClassVar[float | None] = TIMEOUT

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.base = str(parts.hostname), parts.port, parts.path
        self.key = key
        self.connection: http.client.HTTPConnection | None = None

    # The three methods

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        answer = self.ask("GET", "/pets" + self.query(limit, status))
        return self.read(self.checked(answer, 200))

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        answer = self.ask("POST", "/pets", self.encode(self.body(name, category_id, status)))
        return self.read(self.checked(answer, 201))

    def get_pet(self, pet_id: int) -> Json:
        return self.read(self.checked(self.ask("GET", f"/pets/{pet_id}"), 200))

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    # Sending

    def query(self, limit: int | None, status: str | None) -> str:
        given = {"limit": limit, "status": status}
        query = urlencode({name: value for name, value in given.items() if value is not None})
        return f"?{query}" if query else ""

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Any]:
        return new_pet(name, category_id, status)

    def encode(self, body: dict[str, Any]) -> bytes:
        return json.dumps(body).encode()

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        return self.send(method, path, body)

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        headers = self.headers()
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = self.connect()
        try:
            connection.request(method, self.base + path, body=body, headers=headers)
            return self.receive(connection.getresponse())
        except BaseException:
            self.close()
            raise

    def connect(self) -> http.client.HTTPConnection:
        if self.connection is not None and self.is_stale(self.connection):
            self.close()
        if self.connection is None:
            self.connection = self.new_connection()
        return self.connection

    def new_connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port or 80, timeout=self.timeout)

    def is_stale(self, connection: http.client.HTTPConnection) -> bool:
        """Return whether the service has closed the connection, which makes the socket readable."""
        return connection.sock is not None and bool(select.select([connection.sock], [], [], 0)[0])

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        return Answer(response.status, response.headers, self.content(response))  # type: ignore[arg-type]

    def content(self, response: http.client.HTTPResponse) -> bytes:
        return response.read()

    # Reading

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            raise ApiError(answer.status, answer.body)
        return answer

    def read(self, answer: Answer) -> Json:
        return json.loads(answer.body)


class LibraryPets:
    """A client on a library that sends whole requests. Each subclass adapts one library in ``ask``."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.headers = {"Authorization": f"Bearer {key}"}

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        """Send a request with ``params`` or ``json``, and return the JSON of a response with the status ``success``."""
        raise NotImplementedError

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        given = {"limit": limit, "status": status}
        params = {name: str(value) for name, value in given.items() if value is not None}
        return self.ask("GET", "/pets", 200, params=params)

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        return self.ask("POST", "/pets", 201, json=new_pet(name, category_id, status))

    def get_pet(self, pet_id: int) -> Json:
        return self.ask("GET", f"/pets/{pet_id}", 200)


class Urllib3Pets(LibraryPets):
    """A client on urllib3 with a pool, retries of idempotent requests, and no redirections."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        retries = urllib3.Retry(total=2, redirect=0, raise_on_redirect=False)
        self.pool = urllib3.PoolManager(retries=retries, timeout=TIMEOUT)

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        fields, pet = given.get("params"), given.get("json")
        response = self.pool.request(method, self.url + path, fields=fields, json=pet, headers=self.headers)
        if response.status != success:
            raise ApiError(response.status, response.data)
        return response.json()

    def close(self) -> None:
        self.pool.clear()


class RequestsPets(LibraryPets):
    """A client on requests with a session."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.session = requests.Session()
        self.session.headers.update(self.headers)

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        follows = method == "GET"
        response = self.session.request(method, self.url + path, timeout=TIMEOUT, allow_redirects=follows, **given)
        return self.checked(response, success)

    def checked(self, response: requests.Response, success: int) -> Json:
        response.raise_for_status()
        if response.status_code != success:
            raise ApiError(response.status_code, response.content)
        return response.json()

    def close(self) -> None:
        self.session.close()


class HttpxPets(LibraryPets):
    """A client on httpx."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        # Without proxies, and without reading certificates from disk for each client.
        self.client = httpx.Client(base_url=url, headers=self.headers, timeout=TIMEOUT, trust_env=False, verify=False)

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        response = self.client.request(method, path, **given)
        if response.status_code != success:
            raise ApiError(response.status_code, response.content)
        return response.json()

    def close(self) -> None:
        self.client.close()


class HttpcorePets(LibraryPets):
    """A client on httpcore that raises the errors of httpcore."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        # httpcore's own Host has no brackets around an IPv6 address.
        self.headers["Host"] = urlsplit(url).netloc
        self.pool = httpcore.ConnectionPool()

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        headers, url, content = [*self.headers.items()], self.url + path, None
        if given.get("params"):
            url = f"{url}?{urlencode(given['params'])}"
        if "json" in given:
            headers.append(("Content-Type", "application/json"))
            content = json.dumps(given["json"]).encode()
        limits = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), TIMEOUT)}
        response = self.pool.request(method, url, headers=headers, content=content, extensions=limits)
        if response.status != success:
            raise ApiError(response.status, response.content)
        return json.loads(response.content)

    def close(self) -> None:
        self.pool.close()


CORRECT: dict[str, Any] = {
    "http.client": HttpClientPets,
    "urllib3": Urllib3Pets,
    "requests": RequestsPets,
    "httpx": HttpxPets,
    "httpcore": HttpcorePets,
}


def make_correct(name: str) -> Json:
    """Return a maker of correct clients."""

    def make_client(petstore: PetStoreMock) -> Json:
        return CORRECT[name](petstore.url, petstore.api_key)

    return make_client
