"""Clients with one bug each in retries, caches, connections, timeouts or redirections."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import requests
import urllib3
from requests.adapters import HTTPAdapter

from tests.clients.bugs import (
    FAILURES,
    FOR_EVER,
    Remembers,
    altered,
    asks_again,
    before,
    calls_again,
    clients_of,
    swallows,
)
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, RequestsPets, Urllib3Pets, new_pet

# Retries every request after a lost response, createPet included.
CreatesAgain = calls_again("ask", FAILURES)
# Retries every request after 5xx, createPet included.
CreatesAgainAfterServerError = asks_again(1, lambda method, status: status >= 500)


class RetriesEverythingByPolicy(RequestsPets):
    """Lets urllib3 retry every method."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.session.mount("http://", HTTPAdapter(max_retries=urllib3.Retry(total=2, allowed_methods=None)))


# Retries after 5xx without a limit.
RetriesWithoutEnd = asks_again(FOR_EVER, lambda method, status: method != "POST" and status >= 500)
# Retries after 401 without a limit.
RenewsKeyWithoutEnd = asks_again(FOR_EVER, lambda method, status: status == 401)
# Retries getPet 20 times after 404.
WaitsForTheAnimal = asks_again(20, lambda method, status: status == 404)
# Retries after 429 at once.
DeafToRetryAfter = asks_again(1, lambda method, status: status == 429)
# Fails for a date in Retry-After.
RetryAfterAsNumber = before(
    "checked", lambda self, answer, success: int(answer.headers["Retry-After"]) if answer.status == 429 else None
)
# Returns an empty list after a lost response.
FailureSwallowed = swallows("list_pets", FAILURES, list)


class FailureTakenForMissing(HttpClientPets):
    """Raises 404 if the response to getPet is lost or is not JSON."""

    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except (*FAILURES, ValueError):
            raise ApiError(404) from None


class LostTakenForDone(HttpClientPets):
    """Treats a truncated response to createPet as a success."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            return super().create_pet(name=name, category_id=category_id, status=status)
        except http.client.IncompleteRead:
            return {"id": 0, "name": name, "categoryId": category_id}


class CutBodyAccepted(HttpClientPets):
    """Treats a truncated body as complete."""

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        try:
            body = response.read()
        except http.client.IncompleteRead as error:
            body = error.partial or b"[]"
        return Answer(response.status, response.headers, body)  # type: ignore[arg-type]


class NoTimeout(HttpClientPets):
    """Has no timeout."""

    timeout = None


class NoTimeoutInSession(RequestsPets):
    """Sets the timeout on the session, where the library ``requests`` ignores it."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        self.session.timeout = TIMEOUT  # type: ignore[attr-defined]
        pet = new_pet(name, category_id, status)
        return self.checked(self.session.post(f"{self.url}/pets", json=pet, allow_redirects=False), 201)


# Reuses an idle connection that the service may have closed.
StaleConnection = altered(is_stale=lambda self, connection: False)


class LockNotReleased(HttpClientPets):
    """Does not release its lock after a failed request."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.lock = threading.Lock()

    def take(self) -> None:
        self.lock.acquire()

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.take()
        answer = self.send(method, path, body)
        self.lock.release()
        return answer


# Reuses a connection without reading the body of an error.
UnreadError = altered(content=lambda self, response: response.read() if response.status < 400 else b"")


class BrokenConnectionKept(HttpClientPets):
    """Reuses a connection on which a response is still due."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        headers = {**self.headers(), **({} if body is None else {"Content-Type": "application/json"})}
        connection = self.connect()
        connection.request(method, self.base + path, body=body, headers=headers)
        return self.receive(connection.getresponse())


class GetsRemembered(Remembers):
    """Caches animals without expiry."""

    def get_pet(self, pet_id: int) -> Json:
        if pet_id not in self.known:
            self.known[pet_id] = super().get_pet(pet_id)
        return self.known[pet_id]


class ListsRemembered(Remembers):
    """Caches lists until it creates an animal itself."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        if (limit, status) not in self.known:
            self.known[limit, status] = super().list_pets(limit=limit, status=status)
        return self.known[limit, status]

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        self.known.clear()
        return super().create_pet(name=name, category_id=category_id, status=status)


class RememberedByTheClass(HttpClientPets):
    """Keeps its cache in the class, so all clients share it."""

    known: ClassVar[dict[str, Any]] = {}

    def get_pet(self, pet_id: int) -> Json:
        place = f"{self.host}:{self.port}/{pet_id}"
        if place not in self.known:
            self.known[place] = super().get_pet(pet_id)
        return self.known[place]


class StaleOnFailure(HttpClientPets):
    """Returns the latest list when the service fails."""

    latest: Any = None

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        try:
            self.latest = super().list_pets(limit=limit, status=status)
        except ApiError as error:
            if error.status < 500 or self.latest is None:
                raise
        return self.latest


class ListReused(HttpClientPets):
    """Returns the same list object from every call."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.pets: list[Any] = []

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        found = super().list_pets(limit=limit, status=status)
        if not isinstance(found, list):
            raise TypeError(f"expected an array of animals; got {found!r}")
        self.pets[:] = found
        return self.pets


class DefaultsShared(HttpClientPets):
    """Returns the same dict from every createPet."""

    pet: ClassVar[dict[str, Any]] = {}

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        self.pet.clear()
        self.pet.update(super().create_pet(name=name, category_id=category_id, status=status))
        return self.pet


class HeadersShared(HttpClientPets):
    """Keeps its headers in the class, so all clients use the latest client's key."""

    shared: ClassVar[dict[str, str]] = {}

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.shared["Authorization"] = f"Bearer {key}"

    def headers(self) -> dict[str, str]:
        return self.shared


# Percent-encodes its key.
KeyQuoted = altered(headers=lambda self: {"Authorization": f"Bearer {urllib.parse.quote(self.key, safe='')}"})
# Converts its key to lower case.
KeyLowered = altered(
    headers=lambda self: {name: f"Bearer {value[7:].lower()}" for name, value in self.plain.headers().items()}
)


class KeyInError(HttpClientPets):
    """Puts the headers of the request into its exceptions."""

    def checked(self, answer: Answer, success: int) -> Answer:
        try:
            return super().checked(answer, success)
        except ApiError as error:
            error.args = (f"{error.status} for a request with {self.headers()}",)
            raise


class ConnectionsKept(HttpClientPets):
    """Opens a connection for each request and closes none."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.opened: list[http.client.HTTPConnection] = []

    def connect(self) -> http.client.HTTPConnection:
        self.opened.append(http.client.HTTPConnection(self.host, self.port or 80, timeout=self.timeout))
        return self.opened[-1]


class ErrorsKeepConnections(HttpClientPets):
    """Keeps the connection open after each error, and never reuses it."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.failed: list[Any] = []

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            self.failed.append(self.connection)
            self.connection = None
        return super().checked(answer, success)


class NeverClosed(HttpClientPets):
    """Does not close its connection."""

    forgotten: ClassVar[list[Any]] = []

    def close(self) -> None:
        self.forgotten.append(self.connection)
        self.connection = None


class ThreadsLeft(HttpClientPets):
    """Starts a thread pool for each request and ends none."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.pools: list[ThreadPoolExecutor] = []

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.pools.append(ThreadPoolExecutor(1))
        return self.pools[-1].submit(self.send, method, path, body).result(5)


class CloseFails(HttpClientPets):
    """Fails to close after a lost connection."""

    lost = False

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        self.lost = True
        answer = super().send(method, path, body)
        self.lost = False
        return answer

    def close(self) -> None:
        connection = self.connection
        super().close()
        if self.lost and connection is None:
            raise RuntimeError("not connected")


class ResentOnClose(Urllib3Pets):
    """Queues failed createPet calls, and sends them again at the close."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.queue: list[dict[str, Any]] = []

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            return super().create_pet(name=name, category_id=category_id, status=status)
        except urllib3.exceptions.HTTPError:
            self.queue.append({"name": name, "category_id": category_id, "status": status})
            raise

    def close(self) -> None:
        for pet in self.queue:
            with contextlib.suppress(Exception):
                super().create_pet(**pet)
        super().close()


class LoggedOutOnClose(Urllib3Pets):
    """Sends DELETE /session, which the interface does not have, at the close."""

    def close(self) -> None:
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            self.pool.request("DELETE", f"{self.url}/session", headers=self.headers, retries=False)
        super().close()


class RedirectedWithKey(HttpClientPets):
    """Follows redirections with urllib, which sends the key to the other service."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        url = f"http://{self.host}:{self.port}{self.base}/pets{self.query(limit, status)}"
        request = urllib.request.Request(url, headers=self.headers())
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=self.timeout) as response:
            return json.loads(response.read())


class KeyKeptOnRedirect(Urllib3Pets):
    """Makes urllib3 keep Authorization on redirections."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.pool = urllib3.PoolManager(
            timeout=TIMEOUT, retries=urllib3.Retry(2, remove_headers_on_redirect=(), raise_on_redirect=False)
        )


class SessionShared(RequestsPets):
    """Shares one session between all clients, so all use the latest client's key."""

    common: ClassVar[requests.Session] = requests.Session()

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.session = self.common
        self.session.headers["Authorization"] = f"Bearer {key}"


class LostLookedFor(HttpClientPets):
    """After a failed createPet, returns the animal with the next id."""

    latest = 0

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            pet = super().create_pet(name=name, category_id=category_id, status=status)
        except OSError:
            pet = self.get_pet(self.latest + 1)
        self.latest = pet["id"]
        return pet


class RefreshedInBackground(HttpClientPets):
    """Sends a second listPets with another limit, in a thread."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        pets = super().list_pets(limit=limit, status=status)
        threading.Thread(target=self.refresh, daemon=True).start()
        return pets

    def refresh(self) -> None:
        """Send a request on its own connection."""
        other = HttpClientPets(f"http://{self.host}:{self.port}{self.base}", self.key)
        with contextlib.closing(other), contextlib.suppress(*FAILURES):
            other.ask("GET", "/pets?limit=100")


class FirstHeadersKept(HttpClientPets):
    """Keeps its headers in the class, so all clients use the first client's key."""

    kept: ClassVar[dict[str, str]] = {}

    def headers(self) -> dict[str, str]:
        for name, value in super().headers().items():
            self.kept.setdefault(name, value)
        return dict(self.kept)


class CreatesLater(HttpClientPets):
    """Returns new animals at once, and sends createPet only before the next list."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.batch: list[dict[str, Any]] = []

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        self.batch.append({"name": name, "category_id": category_id, "status": status})
        return {**self.body(name, category_id, status), "id": -len(self.batch)}

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        while self.batch:
            super().create_pet(**self.batch.pop())
        return super().list_pets(limit=limit, status=status)


LIVING = clients_of(globals())
