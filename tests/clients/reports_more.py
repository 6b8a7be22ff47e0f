"""Clients with bugs from public reports, fifth set."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from urllib.parse import urljoin, urlsplit

from tests.clients.bugs import clients_of
from tests.clients.correct import TIMEOUT, Answer, HttpClientPets, Json
from tests.clients.shapes import AsyncPets

# Bugs for which we mended the machine


class FollowsElsewhere(HttpClientPets):
    """Correct: it follows a redirection of a read to any service, with a connection for this."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        there = urlsplit(urljoin(f"http://{self.address}{self.base}{path}", answer.headers.get("Location") or ""))
        if method != "GET" or answer.status not in {301, 302, 307, 308} or there.scheme != "http":
            return answer
        if not answer.headers.get("Location"):
            return answer
        with contextlib.closing(self.connection_to(there)) as connection:
            target = there.path + (f"?{there.query}" if there.query else "")
            connection.request("GET", target, headers=self.headers_for(there.netloc))
            return self.receive(connection.getresponse())

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def connection_to(self, there: Any) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(there.hostname, there.port or 80, timeout=TIMEOUT)

    def headers_for(self, address: str) -> dict[str, str]:
        return self.headers() if address == self.address else {}


class HostStays(FollowsElsewhere):
    """Sends its Host to the target of a redirection too (aio-libs/aiohttp#3149)."""

    def headers_for(self, address: str) -> dict[str, str]:
        return {**super().headers_for(address), "Host": self.address}


class TypeTwice(HttpClientPets):
    """Adds a Content-Type to the one that its default headers have (MarkusSintonen/pyreqwest#25)."""

    defaults: tuple[str, ...] = ("Content-Type", "content-type")

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        connection = self.connect()
        try:
            connection.putrequest(method, self.base + path)
            for name, value in self.headers().items():
                connection.putheader(name, value)
            if body is not None:
                for name in self.defaults:
                    connection.putheader(name, "application/json")
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            return self.receive(connection.getresponse())
        except BaseException:
            self.close()
            raise


class TypeOnce(TypeTwice):
    """Correct: it has one Content-Type."""

    defaults = ("Content-Type",)


class AskedAtEachRead(HttpClientPets):
    """Returns a list that sends a request each time that it is read, and none in the call."""

    class Later(Sequence[Any]):
        """A list without animals of its own."""

        def __init__(self, fetch: Callable[[], Json]) -> None:
            self.fetch = fetch

        def __len__(self) -> int:
            return len(self.fetch())

        def __getitem__(self, index: Any) -> Any:
            return self.fetch()[index]

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        return self.Later(partial(super().list_pets, limit=limit, status=status))


class TimeoutCancels(AsyncPets):
    """Cancels its own call when its timeout is over."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        task = asyncio.ensure_future(super().ask(method, path, success, **given))
        handle = asyncio.get_running_loop().call_later(TIMEOUT / 2, task.cancel)
        try:
            return await task
        finally:
            handle.cancel()


class TimeoutIsRaised(AsyncPets):
    """Correct: its timeout raises an error of its own."""

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        async with asyncio.timeout(TIMEOUT / 2):
            return await super().ask(method, path, success, **given)


# Bugs that the machine met after we had written all of them


class LengthStays(HttpClientPets):
    """Keeps the Content-Length of a body for later requests (spinframework/spin-python-sdk#113)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.fields = {"Authorization": f"Bearer {key}"}

    def own(self) -> dict[str, str]:
        return self.fields

    def fit(self, fields: dict[str, str], body: bytes | None) -> None:
        if body is not None:
            fields["Content-Type"] = "application/json"
            fields.setdefault("Content-Length", str(len(body)))

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        fields = self.own()
        self.fit(fields, body)
        connection = self.connect()
        try:
            connection.request(method, self.base + path, body=body, headers=fields)
            return self.receive(connection.getresponse())
        except BaseException:
            self.close()
            raise


class LengthOfEach(LengthStays):
    """Correct: it copies the fields."""

    def own(self) -> dict[str, str]:
        return dict(self.fields)


class TypeTakenAway(LengthStays):
    """Takes Content-Type out of its settings for a request without a body (JigsawStack/jigsawstack-python#83)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.fields["Content-Type"] = "application/json"

    def fit(self, fields: dict[str, str], body: bytes | None) -> None:
        if body is None:
            fields.pop("Content-Type", None)


class TypeLeftOut(TypeTakenAway):
    """Correct: it copies the fields."""

    def own(self) -> dict[str, str]:
        return dict(self.fields)


class HostTwice(TypeTwice):
    """Adds its Host to one that has other letters (saleor/requests-hardened#63)."""

    defaults = ("Content-Type",)

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "host": f"{self.host}:{self.port}"}


class HeadGrows(TypeOnce):
    """Adds a media type for each request to the list that its settings hold (pyeve/eve#380)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.shared: list[str] = []

    def accepted(self) -> list[str]:
        return self.shared

    def headers(self) -> dict[str, str]:
        accepted = self.accepted()
        accepted.append("application/json")
        return {**super().headers(), "Accept": ", ".join(accepted)}


class HeadStays(HeadGrows):
    """Correct: each request has a list of its own."""

    def accepted(self) -> list[str]:
        return []


class ParametersStay(HttpClientPets):
    """Adds to a default argument, so a later call has the parameters too (mercadolibre/python-sdk#22)."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        return self.listed({"limit": limit, "status": status})

    def listed(self, given: dict[str, Any], known: dict[str, Any] = {}) -> Json:  # noqa: B006  # the bug
        known.update({name: value for name, value in given.items() if value is not None})
        return super().list_pets(limit=known.get("limit"), status=known.get("status"))


class BodyInRedirects(FollowsElsewhere):
    """Sends the body of a create again when a 303 leads it to a read (aio-libs/aiohttp#6764)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        location = answer.headers.get("Location") or ""
        if method == "POST" and answer.status == 303 and location.startswith(f"{self.base}/"):
            return self.send("GET", location.removeprefix(self.base), body)
        return answer


TWINS: dict[Any, Any] = {
    HostStays: FollowsElsewhere,
    TypeTwice: TypeOnce,
    AskedAtEachRead: HttpClientPets,
    TimeoutCancels: TimeoutIsRaised,
    LengthStays: LengthOfEach,
    TypeTakenAway: TypeLeftOut,
    HostTwice: TypeOnce,
    HeadGrows: HeadStays,
    ParametersStay: HttpClientPets,
    BodyInRedirects: FollowsElsewhere,
}
REPORTS_MORE = clients_of(globals(), *TWINS.values())
