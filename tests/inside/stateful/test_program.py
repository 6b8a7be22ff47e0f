"""Settings of the whole program: a client leaves them as they were."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import importlib
import locale
import logging
import os
import signal
import socket
import ssl
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from petstore_mock import PetStoreMock
from petstore_mock.stateful import ClientBugError, check_client, program_unchanged
from petstore_mock.stateful.checks.output import OutputCapture
from petstore_mock.stateful.checks.program import ProgramSettings
from petstore_mock.stateful.steps import GetUnknown, ListPets
from petstore_mock.transport import no_proxy
from tests.clients.correct import HttpClientPets, Json
from tests.clients.shapes import by_key
from tests.clients.slips import PROGRAM, ImportsLate
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by, told

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = leavings.EXPECTED

ONCE = settings(database=None)


class AnotherPolicy(asyncio.DefaultEventLoopPolicy):
    """One of a client's own."""


def to_nothing(*_: object) -> None:
    """Stand for a hook."""


CHANGES: dict[str, Callable[[], object]] = {
    "socket.getdefaulttimeout() at 3.0": lambda: socket.setdefaulttimeout(3),
    "socket.getaddrinfo at": lambda: setattr(socket, "getaddrinfo", partial(socket.getaddrinfo)),
    "warnings.filters": lambda: warnings.simplefilter("ignore", ImportWarning),
    "warnings.showwarning at": lambda: logging.captureWarnings(capture=True),
    "ssl._create_default_https_context at": lambda: setattr(ssl, "_create_default_https_context", to_nothing),
    "changed os.environ (A_CLIENTS_OWN)": lambda: os.environ.update(A_CLIENTS_OWN="secret"),
    "signal.getsignal(signal.SIGTERM) at": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    "asyncio.get_event_loop_policy() at": lambda: asyncio.set_event_loop_policy(AnotherPolicy()),
    "locale.setlocale(locale.LC_ALL) at": lambda: locale.setlocale(locale.LC_NUMERIC, "C.UTF-8"),
    "sys.excepthook at": lambda: setattr(sys, "excepthook", to_nothing),
    "threading.excepthook at": lambda: setattr(threading, "excepthook", to_nothing),
    "http.client.HTTPConnection.debuglevel at -1": lambda: setattr(http.client.HTTPConnection, "debuglevel", -1),
    "logging.root.handlers": lambda: logging.basicConfig(),  # noqa: PLW0108  # without arguments
    "logging.root.level at 10": lambda: logging.getLogger().setLevel(logging.DEBUG),
    "logging.root.manager.disable at 20": lambda: logging.disable(logging.INFO),
    "os.getcwd() at '/'": lambda: os.chdir("/"),
}


@pytest.mark.parametrize("words", CHANGES)
def test_what_a_call_changes_for_the_whole_program_is_told_and_restored(words: str) -> None:
    class Changes(HttpClientPets):
        def get_pet(self, pet_id: int) -> Json:
            CHANGES[words]()
            return super().get_pet(pet_id)

    with program_unchanged():
        error = told(Changes, GetUnknown())
        assert error is not None
        assert error.sentence.startswith("the client ")
        assert words in error.sentence
        assert "secret" not in error.sentence
        assert isinstance(raised_by(error.test, by_key(Changes)), AssertionError), error.test
        assert raised_by(error.test, by_key(HttpClientPets)) is None, error.test


@pytest.mark.parametrize("client", PROGRAM)
def test_what_is_changed_when_a_client_is_made_is_told(client: type[HttpClientPets]) -> None:
    with pytest.raises(ClientBugError, match=r"^make_client (added|left) ") as caught:
        check_client(by_key(client), settings=ONCE)
    assert isinstance(raised_by(caught.value.test, by_key(client)), AssertionError), caught.value.test
    assert raised_by(caught.value.test, by_key(HttpClientPets)) is None, caught.value.test


@pytest.fixture
def imported_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "import sys\nimport warnings\nwarnings.simplefilter('ignore', BytesWarning)\n"
        "def show(*_): ...\nsys.excepthook = show\n"
    )
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    (tmp_path / "library_that_filters.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "library_that_filters", raising=False)


class ImportsLater(HttpClientPets):
    """Imports it when it is asked."""

    def list_pets(self, **query: Json) -> Json:
        importlib.import_module("library_that_filters")
        return super().list_pets(**query)


@pytest.mark.usefixtures("imported_late")
@pytest.mark.parametrize("client", [ImportsLate, ImportsLater])
def test_what_an_imported_library_changes_is_its_own_and_stays(client: type[HttpClientPets]) -> None:
    before = list(warnings.filters)
    try:
        check_client(by_key(client), max_examples=2, settings=ONCE)
        assert sys.excepthook.__module__ == "library_that_filters"
        assert [one for one in warnings.filters if one not in before] == [("ignore", None, BytesWarning, None, 0)]
    finally:
        warnings.filters[:] = before  # type: ignore[index]  # a list in truth


def test_the_environment_that_make_client_sets_may_be_the_tests_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def make_client(petstore: PetStoreMock) -> Json:
        monkeypatch.setenv("PETS_KEY", petstore.api_key)
        return HttpClientPets(petstore.url, os.environ["PETS_KEY"])

    report = check_client(make_client, max_examples=3, settings=ONCE)
    assert report.examples == 3
    assert not report.questions


def test_a_block_that_leaves_the_program_as_it_was_passes_and_one_that_fails_is_restored() -> None:
    handlers, level = list(logging.root.handlers), logging.root.level
    with program_unchanged():
        logging.getLogger("pets").addHandler(logging.NullHandler())
    with pytest.raises(AssertionError, match=r"expected the settings .* to stay as they are; a client left socket\."):  # noqa: SIM117
        with program_unchanged():
            socket.setdefaulttimeout(3)
    with contextlib.suppress(KeyError), program_unchanged():
        logging.basicConfig(level=logging.DEBUG)
        raise KeyError
    assert socket.getdefaulttimeout() is None
    assert (logging.root.handlers, logging.root.level) == (handlers, level)


@pytest.mark.parametrize("first_to_end", [0, 1])
@pytest.mark.parametrize("in_threads", [True, False])
def test_of_blocks_that_overlap_nothing_is_told_and_the_last_restores(*, in_threads: bool, first_to_end: int) -> None:
    """The blocks of two threads, or of two tasks."""
    handlers, level = list(logging.root.handlers), logging.root.level
    assert handlers  # pytest's
    all_changes: tuple[Callable[[], None], ...] = logging.basicConfig, partial(socket.setdefaulttimeout, 7)

    async def one(begun: asyncio.Event, changes: Callable[[], None], may_end: asyncio.Event) -> None:
        with program_unchanged():
            begun.set()
            await may_end.wait()
            changes()

    async def both() -> None:
        begun, may_end = [asyncio.Event(), asyncio.Event()], [asyncio.Event(), asyncio.Event()]
        loop = asyncio.get_running_loop()
        tasks = []
        for number, changes in enumerate(all_changes):
            tasks.append(loop.create_task(one(begun[number], changes, may_end[number])))
            await begun[number].wait()
        for number in (first_to_end, 1 - first_to_end):
            may_end[number].set()
            await tasks[number]

    if in_threads:
        blocks = program_unchanged(), program_unchanged()
        with ThreadPoolExecutor(1) as one_thread, ThreadPoolExecutor(1) as other_thread:
            there = one_thread, other_thread
            for number in (0, 1):
                there[number].submit(blocks[number].__enter__).result(5)
            for number in (first_to_end, 1 - first_to_end):
                there[number].submit(all_changes[number]).result(5)
                there[number].submit(blocks[number].__exit__, None, None, None).result(5)
    else:
        asyncio.run(both())
    assert (logging.root.handlers, logging.root.level) == (handlers, level)
    assert socket.getdefaulttimeout() is None


def test_a_mock_that_starts_or_stops_meanwhile_is_no_doing_of_the_clients() -> None:
    """Its host stands in NO_PROXY; one that a failed test has left open may stop at any time."""
    with PetStoreMock():
        settings = ProgramSettings()
        no_proxy.exempt("another.example")
        assert settings.end() == []
        settings = ProgramSettings()
        no_proxy.unexempt("another.example")
        os.environ["PETS_OF_THE_TEST"] = "1"
        assert [change.variables for change in settings.end()] == [{"PETS_OF_THE_TEST"}]
        assert "another.example" not in os.environ["NO_PROXY"]
        assert "PETS_OF_THE_TEST" not in os.environ


def test_a_block_that_is_forgotten_is_in_nobodys_way() -> None:
    """As when a pasted test of a subclass fails before its ``teardown()``."""
    forgotten = ProgramSettings()
    handler = logging.NullHandler()
    logging.root.addHandler(handler)  # as pytest does for the next test
    try:
        with pytest.raises(AssertionError, match=r"logging\.root\.handlers"), program_unchanged():
            logging.basicConfig()
        assert logging.root.handlers == [handler]
    finally:
        logging.root.removeHandler(handler)
        forgotten.end()


def test_a_current_directory_that_has_gone_is_told_and_restored(tmp_path: Path) -> None:
    handlers, here = list(logging.root.handlers), Path.cwd()
    gone = tmp_path / "gone"
    gone.mkdir()

    def leave_nothing() -> None:
        with program_unchanged():
            os.chdir(gone)
            gone.rmdir()

    with pytest.raises(AssertionError, match=r"left os\.getcwd\(\) at FileNotFoundError"):
        leave_nothing()
    assert (logging.root.handlers, Path.cwd()) == (handlers, here)


def test_a_second_client_that_cannot_be_made_leaves_the_handlers_of_the_root_logger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second is made to see whether what the first changed was of an import."""
    handlers = list(logging.root.handlers)

    def make_client(petstore: PetStoreMock) -> Json:
        if "a_module_of_the_first" in sys.modules:
            raise KeyboardInterrupt
        monkeypatch.setitem(sys.modules, "a_module_of_the_first", sys)
        monkeypatch.setenv("PETS_KEY", petstore.api_key)
        return HttpClientPets(petstore.url, petstore.api_key)

    with pytest.raises(KeyboardInterrupt):
        check_client(make_client, max_examples=1, settings=ONCE)
    assert logging.root.handlers == handlers


def test_while_another_run_is_under_way_nobody_is_blamed() -> None:
    """In a thread beside this one, say: who knows which of the two clients has changed something?"""
    with program_unchanged(), ExitStack() as others:

        class Changes(HttpClientPets):
            def list_pets(self, **query: Json) -> Json:
                others.enter_context(OutputCapture())
                socket.setdefaulttimeout(3)
                return super().list_pets(**query)

        assert told(Changes, ListPets()) is None
