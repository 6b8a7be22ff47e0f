"""Clients that show their key, leave tasks running or change settings of the program, and correct clients."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import logging
import signal
import socket
import sys
import threading
import time
import urllib.parse
import warnings
from functools import partial
from typing import Any, ClassVar

from tests.clients.bugs import altered, before, clients_of, starts
from tests.clients.correct import Answer, ApiError, HttpClientPets, Json
from tests.clients.shapes import AsyncPets

log = logging.getLogger("pets")


class PrintsForDebugging(HttpClientPets):
    """Switches on the library's debugging, which prints each request with its headers (home-assistant/core#30245)."""

    def new_connection(self) -> http.client.HTTPConnection:
        connection = super().new_connection()
        connection.set_debuglevel(1)
        return connection


class PrintsFailures(HttpClientPets):
    """Prints the headers of a failed request to standard error."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status >= 500:
            print("failed:", self.headers(), file=sys.stderr)  # noqa: T201  # the bug
        return super().checked(answer, success)


# Warns about a deprecated operation, and shows the headers of the request in the warning.
WarnsWithKey = before(
    "get_pet", lambda self, pet_id: warnings.warn(f"{pet_id} with {self.headers()}", DeprecationWarning, stacklevel=3)
)
# Logs the credentials in base64, as HTTP Basic sends them.
LogsBasic = before(
    "send", lambda self, *_: log.debug("Basic %s", base64.b64encode(f"api:{self.key}".encode()).decode())
)
# Sends its key a second time, in base64, in a header for an older gateway.
SendsBasicToo = altered(
    headers=lambda self: {**self.plain.headers(), "X-Gateway-Auth": base64.b64encode(self.key.encode()).decode()}
)


class SendsState(HttpClientPets):
    """Sends its state in a cookie: JSON in base64, which contains the key."""

    def headers(self) -> dict[str, str]:
        state = json.dumps({"host": self.host, "key": self.key}).encode()
        return {**super().headers(), "Cookie": f"state={base64.urlsafe_b64encode(state).decode()}"}


class TellsTheUrl(HttpClientPets):
    """Puts a URL into its errors that contains the key in hexadecimal."""

    def checked(self, answer: Answer, success: int) -> Answer:
        try:
            return super().checked(answer, success)
        except ApiError as error:
            key = self.key.encode().hex()
            error.args = (f"{error.status}: see https://status.invalid/?{urllib.parse.urlencode({'k': key})}",)
            raise


class ShowsItsHeaders(HttpClientPets):
    """Shows the latest request headers in its ``str()``."""

    sent: dict[str, str] | None = None

    def headers(self) -> dict[str, str]:
        self.sent = super().headers()
        return self.sent

    def __str__(self) -> str:
        return f"{self.host}:{self.port} {self.sent or ''}"


class RequestError(ApiError):
    """Its ``str()`` has only the status; its ``args`` may have more."""

    def __str__(self) -> str:
        return f"{self.status}"


class KeepsWhatItAsked(HttpClientPets):
    """Raises an error whose ``repr()`` has the headers of the request."""

    def checked(self, answer: Answer, success: int) -> Answer:
        try:
            return super().checked(answer, success)
        except ApiError as error:
            refused = RequestError(error.status)
            refused.args = (error.status, self.headers())
            raise refused from None


class WrapsWhatItAsked(KeepsWhatItAsked):
    """Raises an error whose cause has the headers of the request."""

    def checked(self, answer: Answer, success: int) -> Answer:
        try:
            return super().checked(answer, success)
        except RequestError as error:
            raise ApiError(error.status) from error


class RefreshTaskGoesOn(AsyncPets):
    """Refreshes data in a task that goes on after the close (slackapi/python-slack-sdk#1110)."""

    kept: ClassVar[set[Any]] = set()

    async def refresh(self) -> None:
        while True:  # noqa: ASYNC110  # the bug
            await asyncio.sleep(30)

    async def list_pets(self, **query: Json) -> Json:
        self.kept.add(asyncio.ensure_future(self.refresh()))
        return await super().list_pets(**query)


class CancelledAndForgotten(AsyncPets):
    """Cancels a task that ignores the cancellation."""

    async def watch(self) -> None:
        while True:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                await asyncio.sleep(5)

    async def get_pet(self, pet_id: int) -> Json:
        self.task = asyncio.ensure_future(self.watch())
        return await super().get_pet(pet_id)

    async def aclose(self) -> None:
        if hasattr(self, "task"):
            self.task.cancel()
        await super().aclose()


class EndsItsTasks(AsyncPets):
    """Correct: it cancels its task when it is closed."""

    task: asyncio.Task[None] | None = None

    async def watch(self) -> None:
        await asyncio.sleep(30)

    async def list_pets(self, **query: Json) -> Json:
        self.task = self.task or asyncio.ensure_future(self.watch())
        return await super().list_pets(**query)

    async def aclose(self) -> None:
        if self.task is not None:
            self.task.cancel()
        await super().aclose()


class ReadsInTheBackground(HttpClientPets):
    """Correct: a thread reads the animals again after a call has returned, and ends before the close returns."""

    pause: ClassVar[float] = 0.01

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.url = url
        self.threads: list[threading.Thread] = []

    def get_pet(self, pet_id: int) -> Json:
        pet = super().get_pet(pet_id)
        self.threads = [thread for thread in self.threads if thread.is_alive()]
        self.threads.append(threading.Thread(target=self.read_all, daemon=True))
        self.threads[-1].start()
        return pet

    def read_all(self) -> None:
        time.sleep(self.pause)
        with contextlib.closing(HttpClientPets(self.url, self.key)) as other, contextlib.suppress(Exception):
            other.ask("GET", "/pets?limit=5")

    def close(self) -> None:
        for thread in self.threads:
            thread.join()
        super().close()


class ReadsMuchLater(ReadsInTheBackground):
    """Correct: its thread sends the request during a later call."""

    pause = 0.1


class SaysEnough(HttpClientPets):
    """Correct: prints, logs and warns with only the last characters of its key."""

    def headers(self) -> dict[str, str]:
        print("with the key", f"...{self.key[-4:]}")  # noqa: T201  # allowed
        warnings.warn(f"...{self.key[-4:]} is an old key", DeprecationWarning, stacklevel=2)
        log.info("with the key ...%s", self.key[-4:])
        return super().headers()


# Switches off the warnings of the whole program (like ``urllib3.disable_warnings()``).
SilencesWarnings = starts(lambda _: warnings.simplefilter("ignore", ImportWarning))
# Replaces the resolver of the whole program, to avoid IPv6.
ForcesIpv4 = starts(lambda _: vars(socket).update(getaddrinfo=partial(socket.getaddrinfo)))
# Closes itself on SIGTERM, which then no longer ends the program.
EndsGracefully = starts(lambda pets: signal.signal(signal.SIGTERM, lambda *_: pets.close()))


PROGRAM = (SilencesWarnings, ForcesIpv4, EndsGracefully)  # they change settings of the whole program
CORRECT = (EndsItsTasks, SaysEnough, ReadsInTheBackground, ReadsMuchLater)
SLIPS = clients_of(globals(), *PROGRAM, *CORRECT)
