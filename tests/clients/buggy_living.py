"""Clients with one bug each in how they live: retries, caches, connections, timeouts, redirections."""

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

# Sends any request again when its response is lost, a create as well.
CreatesAgain = calls_again("ask", FAILURES)
# Sends any request again after a 5xx, a create as well.
CreatesAgainAfterServerError = asks_again(1, lambda method, status: status >= 500)


class RetriesEverythingByPolicy(RequestsPets):
    """Has urllib3 retry every method."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.session.mount("http://", HTTPAdapter(max_retries=urllib3.Retry(total=2, allowed_methods=None)))


# Retries without end until the service recovers.
RetriesWithoutEnd = asks_again(FOR_EVER, lambda method, status: method != "POST" and status >= 500)
# Treats every 401 as a rotated key, and retries.
RenewsKeyWithoutEnd = asks_again(FOR_EVER, lambda method, status: status == 401)


class WaitsForTheAnimal(HttpClientPets):
    """Asks many times for an absent animal, in case it appears."""

    def get_pet(self, pet_id: int) -> Json:
        for _ in range(20):
            try:
                return super().get_pet(pet_id)
            except ApiError as error:
                if error.status != 404:
                    raise
        raise ApiError(404)


# Retries at once, although Retry-After tells it to wait.
DeafToRetryAfter = asks_again(1, lambda method, status: status == 429)
# Expects seconds in Retry-After, where a date may stand.
RetryAfterAsNumber = before(
    "checked", lambda self, answer, success: int(answer.headers["Retry-After"]) if answer.status == 429 else None
)
# Shows an empty list when the service can't be reached.
FailureSwallowed = swallows("list_pets", FAILURES, list)


class FailureTakenForMissing(HttpClientPets):
    """Reports every failure as an absent animal."""

    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except (*FAILURES, ValueError):
            raise ApiError(404) from None


class LostTakenForDone(HttpClientPets):
    """Treats a lost response to createPet as a success, and returns what it sent."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            return super().create_pet(name=name, category_id=category_id, status=status)
        except http.client.IncompleteRead:
            return {"id": 0, "name": name, "categoryId": category_id}


class CutBodyAccepted(HttpClientPets):
    """Treats a truncated response as the whole."""

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        try:
            body = response.read()
        except http.client.IncompleteRead as error:
            body = error.partial or b"[]"
        return Answer(response.status, response.headers, body)  # type: ignore[arg-type]


class NoTimeout(HttpClientPets):
    """Waits for ever."""

    timeout = None


class NoTimeoutInSession(RequestsPets):
    """Sets the timeout where requests does not look for it."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        self.session.timeout = TIMEOUT  # type: ignore[attr-defined]
        return self._json(
            self.session.post(f"{self.url}/pets", json=new_pet(name, category_id, status), allow_redirects=False), 201
        )


# Expects a kept connection to be open.
StaleConnection = altered(is_stale=lambda self, connection: False)


class LockNotReleased(HttpClientPets):
    """Takes a lock for each request, and keeps it if the request fails."""

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


# Does not read the body of an error, and uses the connection again.
UnreadError = altered(content=lambda self, response: response.read() if response.status < 400 else b"")


class BrokenConnectionKept(HttpClientPets):
    """Uses a connection again on which a response is still due."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        headers = {**self.headers(), **({} if body is None else {"Content-Type": "application/json"})}
        connection = self.connect()
        connection.request(method, self.base + path, body=body, headers=headers)
        return self.receive(connection.getresponse())


class GetsRemembered(Remembers):
    """Remembers every animal that it has seen by its id."""

    def get_pet(self, pet_id: int) -> Json:
        if pet_id not in self.known:
            self.known[pet_id] = super().get_pet(pet_id)
        return self.known[pet_id]


class ListsRemembered(Remembers):
    """Remembers lists until it creates an animal itself."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        if (limit, status) not in self.known:
            self.known[limit, status] = super().list_pets(limit=limit, status=status)
        return self.known[limit, status]

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        self.known.clear()
        return super().create_pet(name=name, category_id=category_id, status=status)


class RememberedByTheClass(HttpClientPets):
    """Shares its cache with all other clients."""

    known: ClassVar[dict[str, Any]] = {}

    def get_pet(self, pet_id: int) -> Json:
        place = f"{self.host}:{self.port}/{pet_id}"
        if place not in self.known:
            self.known[place] = super().get_pet(pet_id)
        return self.known[place]


class StaleOnFailure(HttpClientPets):
    """Shows the latest list when the service fails."""

    latest: Any = None

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        try:
            self.latest = super().list_pets(limit=limit, status=status)
        except ApiError as error:
            if error.status < 500 or self.latest is None:
                raise
        return self.latest


class ListReused(HttpClientPets):
    """Fills one list again and again."""

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
    """Builds every animal on one dict."""

    pet: ClassVar[dict[str, Any]] = {}

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        self.pet.clear()
        self.pet.update(super().create_pet(name=name, category_id=category_id, status=status))
        return self.pet


class HeadersShared(HttpClientPets):
    """Keeps its headers in the class: the latest client's key is everybody's."""

    shared: ClassVar[dict[str, str]] = {}

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.shared["Authorization"] = f"Bearer {key}"

    def headers(self) -> dict[str, str]:
        return self.shared


# Percent-encodes its key, as if it stood in a query.
KeyQuoted = altered(headers=lambda self: {"Authorization": f"Bearer {urllib.parse.quote(self.key, safe='')}"})
# Sends its key in lower case.
KeyLowered = altered(
    headers=lambda self: {name: f"Bearer {value[7:].lower()}" for name, value in self.plain.headers().items()}
)


class KeyInError(HttpClientPets):
    """Shows the request's headers in its exceptions."""

    def checked(self, answer: Answer, success: int) -> Answer:
        try:
            return super().checked(answer, success)
        except ApiError as error:
            error.args = (f"{error.status} for a request with {self.headers()}",)
            raise


class ConnectionsKept(HttpClientPets):
    """Opens a connection for each request, and closes none."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.opened: list[http.client.HTTPConnection] = []

    def connect(self) -> http.client.HTTPConnection:
        self.opened.append(http.client.HTTPConnection(self.host, self.port or 80, timeout=self.timeout))
        return self.opened[-1]


class ErrorsKeepConnections(HttpClientPets):
    """Leaves the connection of every error open, for its log."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.failed: list[Any] = []

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status != success:
            self.failed.append(self.connection)
            self.connection = None
        return super().checked(answer, success)


class NeverClosed(HttpClientPets):
    """Forgets its connection when it is closed, somewhere where it lives on."""

    forgotten: ClassVar[list[Any]] = []

    def close(self) -> None:
        self.forgotten.append(self.connection)
        self.connection = None


class ThreadsLeft(HttpClientPets):
    """Has a thread for each request, for a deadline, and ends none."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.pools: list[ThreadPoolExecutor] = []

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.pools.append(ThreadPoolExecutor(1))
        return self.pools[-1].submit(self.send, method, path, body).result(5)


class CloseFails(HttpClientPets):
    """Closes a connection that it has lost already."""

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
    """Keeps the animals that it could not create, and creates them when it is closed."""

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
    """Ends a session, which the interface does not have, when it is closed."""

    def close(self) -> None:
        with contextlib.suppress(urllib3.exceptions.HTTPError):
            self.pool.request("DELETE", f"{self.url}/session", headers=self.headers, retries=False)
        super().close()


class RedirectedWithKey(HttpClientPets):
    """Follows redirections by urllib, which takes all headers along."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        url = f"http://{self.host}:{self.port}{self.base}/pets{self.query(limit, status)}"
        request = urllib.request.Request(url, headers=self.headers())
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=self.timeout) as response:
            return json.loads(response.read())


class KeyKeptOnRedirect(Urllib3Pets):
    """Lets urllib3 keep Authorization on a redirection to another origin."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.pool = urllib3.PoolManager(
            timeout=TIMEOUT, retries=urllib3.Retry(2, remove_headers_on_redirect=(), raise_on_redirect=False)
        )


class SessionShared(RequestsPets):
    """Has one session for all, whose key the latest client sets."""

    common: ClassVar[requests.Session] = requests.Session()

    def __init__(self, url: str, key: str) -> None:
        self.url = url
        self.session = self.common
        self.session.headers["Authorization"] = f"Bearer {key}"


class LostLookedFor(HttpClientPets):
    """Looks for the animal whose create failed, and reports that response instead."""

    latest = 0

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            pet = super().create_pet(name=name, category_id=category_id, status=status)
        except OSError:
            pet = self.get_pet(self.latest + 1)
        self.latest = pet["id"]
        return pet


class RefreshedInBackground(HttpClientPets):
    """Lists all animals again in the background after each list."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        pets = super().list_pets(limit=limit, status=status)
        threading.Thread(target=self.refresh, daemon=True).start()
        return pets

    def refresh(self) -> None:
        """Ask in a thread, on a connection of its own."""
        other = HttpClientPets(f"http://{self.host}:{self.port}{self.base}", self.key)
        with contextlib.closing(other), contextlib.suppress(*FAILURES):
            other.ask("GET", "/pets?limit=100")


class FirstHeadersKept(HttpClientPets):
    """Keeps its headers in the class: those of the first client stay everybody's."""

    kept: ClassVar[dict[str, str]] = {}

    def headers(self) -> dict[str, str]:
        for name, value in super().headers().items():
            self.kept.setdefault(name, value)
        return dict(self.kept)


class CreatesLater(HttpClientPets):
    """Returns new animals at once, and creates them together before it lists any."""

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
