"""Clients that leave something behind or let something slip: keys in what they print or warn of, tasks, other forms."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import signal
import socket
import sys
import urllib.parse
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from tests.clients.bugs import altered, before, clients_of, starts
from tests.clients.correct import Answer, ApiError, HttpClientPets, Json
from tests.clients.shapes import AsyncPets

if TYPE_CHECKING:
    import http.client


log = logging.getLogger("pets")


class PrintsForDebugging(HttpClientPets):
    """Has the library's debugging on, which prints each request with its headers (home-assistant/core#30245)."""

    def new_connection(self) -> http.client.HTTPConnection:
        connection = super().new_connection()
        connection.set_debuglevel(1)
        return connection


class PrintsFailures(HttpClientPets):
    """Prints the request to standard error when it failed."""

    def checked(self, answer: Answer, success: int) -> Answer:
        if answer.status >= 500:
            print("failed:", self.headers(), file=sys.stderr)  # noqa: T201  # the bug
        return super().checked(answer, success)


# Warns of a deprecated operation, and shows how it was called.
WarnsWithKey = before(
    "get_pet", lambda self, pet_id: warnings.warn(f"{pet_id} with {self.headers()}", DeprecationWarning, stacklevel=3)
)
# Logs the credentials as another scheme has them: in base64.
LogsBasic = before(
    "send", lambda self, *_: log.debug("Basic %s", base64.b64encode(f"api:{self.key}".encode()).decode())
)
# Sends its key a second time, in a header of an older gateway.
SendsBasicToo = altered(
    headers=lambda self: {**self.plain.headers(), "X-Gateway-Auth": base64.b64encode(self.key.encode()).decode()}
)


class SendsState(HttpClientPets):
    """Keeps its state in a cookie, which is JSON in base64."""

    def headers(self) -> dict[str, str]:
        state = json.dumps({"host": self.host, "key": self.key}).encode()
        return {**super().headers(), "Cookie": f"state={base64.urlsafe_b64encode(state).decode()}"}


class TellsTheUrl(HttpClientPets):
    """Names in its errors where one can look: an address with the key in it."""

    def checked(self, answer: Answer, success: int) -> Answer:
        try:
            return super().checked(answer, success)
        except ApiError as error:
            key = self.key.encode().hex()
            error.args = (f"{error.status}: see https://status.invalid/?{urllib.parse.urlencode({'k': key})}",)
            raise


class ShowsItsHeaders(HttpClientPets):
    """Shows the headers that it has sent last, once it has."""

    sent: dict[str, str] | None = None

    def headers(self) -> dict[str, str]:
        self.sent = super().headers()
        return self.sent

    def __str__(self) -> str:
        return f"{self.host}:{self.port} {self.sent or ''}"


class RequestError(ApiError):
    """Says little, and keeps what was asked among its arguments."""

    def __str__(self) -> str:
        return f"{self.status}"


class KeepsWhatItAsked(HttpClientPets):
    """Raises an error which has the request's headers in its representation, as logs and reports show it."""

    def checked(self, answer: Answer, success: int) -> Answer:
        try:
            return super().checked(answer, success)
        except ApiError as error:
            refused = RequestError(error.status)
            refused.args = (error.status, self.headers())
            raise refused from None


class WrapsWhatItAsked(KeepsWhatItAsked):
    """Raises another error, behind which stands the one with the headers."""

    def checked(self, answer: Answer, success: int) -> Answer:
        try:
            return super().checked(answer, success)
        except RequestError as error:
            raise ApiError(error.status) from error


class RefreshTaskGoesOn(AsyncPets):
    """Refreshes something now and then, and does not stop at its close (slackapi/python-slack-sdk#1110)."""

    kept: ClassVar[set[Any]] = set()

    async def refresh(self) -> None:
        while True:  # noqa: ASYNC110  # the bug
            await asyncio.sleep(30)

    async def list_pets(self, **query: Json) -> Json:
        self.kept.add(asyncio.ensure_future(self.refresh()))
        return await super().list_pets(**query)


class CancelledAndForgotten(AsyncPets):
    """Cancels its task, which ignores that."""

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
    """Correct: its task ends with it."""

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


class SaysEnough(HttpClientPets):
    """Correct: prints, logs and warns, with the end of its key alone."""

    def headers(self) -> dict[str, str]:
        print("with the key", f"...{self.key[-4:]}")  # noqa: T201  # as it may
        warnings.warn(f"...{self.key[-4:]} is an old key", DeprecationWarning, stacklevel=2)
        log.info("with the key ...%s", self.key[-4:])
        return super().headers()


# Switches warnings off, and not its own alone (the habit of ``urllib3.disable_warnings()``).
SilencesWarnings = starts(lambda _: warnings.simplefilter("ignore", ImportWarning))
# Puts a resolver of its own in the place of everybody's, to get around IPv6.
ForcesIpv4 = starts(lambda _: vars(socket).update(getaddrinfo=partial(socket.getaddrinfo)))
# Replaces the program's signal handler to close itself, so that the program does not end.
EndsGracefully = starts(lambda pets: signal.signal(signal.SIGTERM, lambda *_: pets.close()))


PROGRAM = (SilencesWarnings, ForcesIpv4, EndsGracefully)  # what they change is everybody's
CORRECT = (EndsItsTasks, SaysEnough)
SLIPS = clients_of(globals(), *PROGRAM, *CORRECT)
