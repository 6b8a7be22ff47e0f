"""What a client changes or leaves in its process: bugs are found, and correct clients that come near are not."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import decimal
import http.client
import logging
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from types import ModuleType
from typing import Any

import pytest
import requests

from petstore_mock import Behaviour, PetStoreMock, checks, faults
from tests.checks.stories import watch
from tests.clients import reports_unseen as reports
from tests.clients.buggy_asking import TrailingSlash
from tests.clients.bugs import starts
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, RequestsPets
from tests.clients.shapes import AsyncPets, maker_of
from tests.stateful.corpora import LEAVINGS

pytestmark = [*LEAVINGS]


@pytest.fixture(autouse=True)
def _without_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show no warning about the coroutines that clients forget here. The machine turns it on, whatever the filters."""
    monkeypatch.setattr(warnings, "showwarning", lambda *_, **__: None)


def lives(client: type, *, called_again: bool = False) -> None:
    """Let a client make calls that succeed and calls that fail, close it, and perhaps call it again."""
    with PetStoreMock() as petstore:
        petstore.seed(name="Rex", categoryId=1)
        with watch(maker_of(client), petstore) as watched:
            for _ in range(27):
                watched.list_pets()
            petstore.inject(faults.server_error(500), times=1)
            watched.list_pets()
            watched.get_pet(404)
            watched.create_pet(name="Tom", category_id=2)
            if called_again:
                watched.reuse()


ReasonAdded: Any = starts(lambda _: http.client.responses.update({299: "Nearly"}))


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (reports.LoggersDisabled, r"changed logging.getLogger\('[\w.]+'\).disabled"),
        (reports.LibrarySilenced, r"changed logging.getLogger\('urllib3'\).level"),
        (reports.RoundingForAll, r"changed decimal.getcontext\(\)"),
        (reports.FieldsForAll, r"changed csv.field_size_limit\(\)"),
        (reports.SessionPatched, "changed requests.sessions.Session.request"),
        (ReasonAdded, "changed http.client.responses"),
        (reports.PauseNotAwaited, r"list_pets\(\) did not await a coroutine 'sleep'"),
    ],
)
def test_a_bug_of_a_process_is_found_and_undone(client: type, words: str) -> None:
    # What the first run changed is undone, so the second one changes it again.
    for _ in range(2):
        with pytest.raises(AssertionError, match=words):
            lives(client)
    # The next client finds the settings of before.
    lives(RequestsPets)


def test_a_close_that_is_not_awaited_is_found() -> None:
    with (
        PetStoreMock() as petstore,
        pytest.raises(AssertionError, match=r"close\(\) did not await a coroutine 'AsyncClient.aclose'"),
        watch(maker_of(reports.CloseNotAwaited), petstore) as watched,
    ):
        watched.list_pets()


class SetsForACall(HttpClientPets):
    """Sets the level of a library's logger for a call, and rounds decimal numbers in a context of its own."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        logger = logging.getLogger("urllib3")
        former = logger.level
        logger.setLevel(logging.ERROR)
        try:
            with decimal.localcontext() as context:
                context.rounding = decimal.ROUND_UP
                list(csv.reader([str(decimal.Decimal(1) / 3)]))
            return super().ask(method, path, body)
        finally:
            logger.setLevel(former)


class ComputesRoughly(HttpClientPets):
    """Computes with decimal numbers, which sets flags of the program's context."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        self.third = decimal.Decimal(1) / 3
        return super().ask(method, path, body)


class OwnSession(requests.Session):
    """A session with a timeout."""

    def request(self, *args: Any, **given: Any) -> requests.Response:
        return super().request(*args, **{"timeout": TIMEOUT, **given})


class HasItsOwnSession(RequestsPets):
    """Uses a class of its own, and replaces a function of its own session."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.session = OwnSession()
        self.session.headers.update(self.headers)
        self.session.request = partial(self.session.request, timeout=TIMEOUT)  # type: ignore[method-assign]

    def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        return self.checked(self.session.request(method, self.url + path, **given), success)


class KeepsDurations(HttpClientPets):
    """Keeps the durations of its latest calls."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.durations: deque[float] = deque(maxlen=100)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        began = time.monotonic()
        answer = super().ask(method, path, body)
        self.durations.append(time.monotonic() - began)
        return answer


class CancelsItsTasks(AsyncPets):
    """Cancels its own task in its close, and awaits it."""

    refresher: asyncio.Task[Any] | None = None

    async def ask(self, method: str, path: str, success: int, **given: Json) -> Json:
        self.refresher = self.refresher or asyncio.create_task(asyncio.Event().wait())
        return await super().ask(method, path, success, **given)

    async def aclose(self) -> None:
        if self.refresher is not None:
            self.refresher.cancel()
            with suppress(asyncio.CancelledError):
                await self.refresher
        await super().aclose()


class Facade(AsyncPets):
    """Runs an asynchronous client in a loop of its own. After the close, nothing awaits the coroutine of a call."""

    def __init__(self, petstore: PetStoreMock) -> None:
        super().__init__(petstore)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(2 * TIMEOUT)

    def list_pets(self, **query: Json) -> Json:
        return self.run(super().list_pets(**query))

    def create_pet(self, **fields: Json) -> Json:
        return self.run(super().create_pet(**fields))

    def get_pet(self, pet_id: int) -> Json:
        return self.run(super().get_pet(pet_id))

    def close(self) -> None:
        with suppress(RuntimeError):
            self.run(self.aclose())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()
            self.loop.close()


class FailsBeforeItAwaits(AsyncPets):
    """Raises before it awaits a coroutine, and keeps its latest error, with the coroutine, until the next call."""

    latest: Exception | None = None

    async def list_pets(self, **query: Json) -> Json:
        pause = asyncio.sleep(0)
        try:
            pets = await super().list_pets(**query)
        except Exception as error:
            self.latest = error
            raise
        await pause
        return pets

    async def create_pet(self, **fields: Json) -> Json:
        self.latest = None
        return await super().create_pet(**fields)


class TellsOfCoroutines(HttpClientPets):
    """Logs what Python would warn of."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        logging.getLogger("tests").info("coroutine 'refresh' was never awaited, as it should be")
        return super().ask(method, path, body)


class RemovesALogger(HttpClientPets):
    """Removes the logger of another library."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        logging.root.manager.loggerDict.pop("library-of-this-test", None)
        return super().ask(method, path, body)


NEAR = (
    *(reports.LoggersStay, reports.OwnLevel, reports.PauseAwaited, reports.CloseEnds),
    *(SetsForACall, ComputesRoughly, HasItsOwnSession, KeepsDurations, CancelsItsTasks, Facade),
    *(FailsBeforeItAwaits, TellsOfCoroutines),
)


@pytest.mark.parametrize("client", NEAR)
def test_no_check_finds_a_correct_client_next_to_a_bug(client: type) -> None:
    lives(client)
    lives(client, called_again=True)


def test_a_setting_that_is_gone_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    # So tests hide a library, or put another module in its place.
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.setitem(sys.modules, "httpx", ModuleType("httpx"))
    logging.getLogger("library-of-this-test")
    lives(RemovesALogger)


# Requests


def test_a_path_that_the_interface_does_not_have_is_one_bug() -> None:
    groups = set[object]()
    for choice in ("not_found", "not_implemented"):
        with PetStoreMock(behaviour=Behaviour(unknown_route=choice)) as petstore:
            with contextlib.closing(TrailingSlash(petstore.url, petstore.api_key)) as client, suppress(ApiError):
                client.list_pets()
            finding = checks.requests_are_valid.find(checks.Observation([petstore.journal.last]))
            assert finding is not None
            groups.add(finding.group)
            petstore.reset()
    assert len(groups) == 1
