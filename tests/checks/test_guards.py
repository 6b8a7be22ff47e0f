"""Whatever code of a client does, a watched client and check_client come back with a sentence."""

from __future__ import annotations

import decimal
import gc
import json
import locale
import logging
import os
import re
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from petstore_mock import PetStoreMock, checks
from petstore_mock.stateful import ClientBugError, check_client
from tests.checks.stories import lists, misses, watch
from tests.clients.correct import ApiError, HttpClientPets, make_correct
from tests.clients.shapes import by_key
from tests.platforms import HAS_SIGNALS
from tests.stateful.corpora import LEAVINGS, SETTINGS

if HAS_SIGNALS:
    import resource

pytestmark = [*LEAVINGS]
QUICKLY: dict[str, Any] = {"settings": SETTINGS, "max_examples": 1, "environment": (), "faults": (), "vary": ()}
ENDS = [SystemExit, KeyboardInterrupt, GeneratorExit]


def listeners() -> int:
    """Return the number of listeners. A thread that waits in the client's own code can't be ended."""
    return sum(thread.name == "petstore-mock" for thread in threading.enumerate())


def no_listener_is_left(before: int) -> bool:
    deadline = time.monotonic() + 5
    while listeners() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    return listeners() <= before


def found(make_client: Callable[[PetStoreMock], Any], **options: Any) -> str:
    """Return the sentence about a client; no listener of the machine stays."""
    before = listeners()
    with pytest.raises(ClientBugError) as caught:
        check_client(make_client, first=True, **{**QUICKLY, **options})
    assert no_listener_is_left(before)
    return caught.value.sentence


@pytest.mark.parametrize("error", ENDS)
def test_make_client_that_ends_the_program_is_a_finding(error: type[BaseException]) -> None:
    def ends(_: PetStoreMock) -> Any:
        raise error

    assert found(ends).startswith(f"make_client raised {error.__name__}")


@pytest.mark.parametrize("error", ENDS)
def test_a_call_that_ends_the_program_is_a_finding(error: type[BaseException]) -> None:
    class Ends(HttpClientPets):
        def get_pet(self, pet_id: int) -> Any:  # noqa: ARG002
            raise error

    assert f"raised {error.__name__}" in found(by_key(Ends))


@pytest.mark.parametrize("error", ENDS)
def test_an_async_call_that_ends_the_program_is_a_finding(error: type[BaseException]) -> None:
    class Ends:
        def __init__(self, petstore: PetStoreMock) -> None:
            self.inner = make_correct("http.client")(petstore)

        async def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Any:
            self.inner.list_pets(limit=limit, status=status)
            raise error

        async def close(self) -> None:
            self.inner.close()

    assert f"raised {error.__name__}" in found(Ends)


@pytest.mark.parametrize("error", ENDS)
@pytest.mark.parametrize("name", ["__repr__", "__str__"])
def test_an_error_whose_text_ends_the_program_is_a_finding(name: str, error: type[BaseException]) -> None:
    def ends(_: object) -> str:
        raise error

    class OddError(ApiError):
        pass

    setattr(OddError, name, ends)

    class Odd(HttpClientPets):
        def checked(self, answer: Any, success: int) -> Any:
            if answer.status != success:
                raise OddError(500)
            return answer

    with PetStoreMock() as petstore:
        with pytest.raises(AssertionError), watch(by_key(Odd), petstore) as client:
            misses(petstore, client)
        petstore.reset()


@pytest.mark.parametrize("error", ENDS)
def test_an_error_whose_property_ends_the_program_is_a_finding(error: type[BaseException]) -> None:
    class OddError(Exception):
        @property
        def status(self) -> int:
            raise error

    class Odd(HttpClientPets):
        def checked(self, answer: Any, success: int) -> Any:
            if answer.status != success:
                raise OddError
            return answer

    with (
        PetStoreMock() as petstore,
        watch(by_key(Odd), petstore) as client,
        pytest.raises(AssertionError, match="OddError"),
    ):
        client.get_pet(7)


@pytest.mark.parametrize("error", ENDS)
def test_a_result_whose_property_ends_the_program_is_a_finding(error: type[BaseException]) -> None:
    class Pet:
        @property
        def id(self) -> int:
            raise error

    class Odd(HttpClientPets):
        def read(self, answer: Any) -> Any:  # noqa: ARG002
            return Pet()

    with (
        PetStoreMock() as petstore,
        watch(by_key(Odd), petstore) as client,
        pytest.raises(AssertionError, match=error.__name__),
    ):
        client.create_pet(name="Rex", category_id=1)


@pytest.mark.seconds
def test_a_repr_that_never_ends_is_a_finding() -> None:
    released = threading.Event()

    class Endless(HttpClientPets):
        def __repr__(self) -> str:
            released.wait(60)
            return "late"

    with PetStoreMock() as petstore:
        try:
            with pytest.raises(AssertionError, match=r"make_client did not end for .* when its outcome was read"):
                watch(by_key(Endless), petstore)
        finally:
            released.set()


@pytest.mark.slow
def test_make_client_that_never_returns_is_a_finding() -> None:
    released, made = threading.Event(), []

    def waits(petstore: PetStoreMock) -> Any:
        made.append(petstore)
        released.wait(120)
        return make_correct("http.client")(petstore)

    try:
        assert "make_client neither ended nor sent a request for" in found(waits)
        assert len(made) == 1  # the machine does not wait again
    finally:
        released.set()


def test_make_client_may_install_a_signal_handler() -> None:
    """Only the main thread can do that."""
    former = signal.getsignal(signal.SIGTERM)

    def installs(petstore: PetStoreMock) -> Any:
        signal.signal(signal.SIGTERM, former)
        return make_correct("http.client")(petstore)

    with PetStoreMock() as petstore, watch(installs, petstore) as client:
        lists(petstore, client)


def changes(change: Callable[[], object]) -> Any:
    class Changes(HttpClientPets):
        def send(self, method: str, path: str, body: bytes | None) -> Any:
            change()
            return super().send(method, path, body)

    return by_key(Changes)


def settings_of_the_program() -> list[Any]:
    functions: list[Any] = [sys.excepthook, sys.stdout, time.sleep, threading.Thread.start]
    if HAS_SIGNALS:
        functions.append(resource.getrlimit(resource.RLIMIT_NOFILE))
    functions += [decimal.getcontext().prec, logging.lastResort, vars(json)["_default_decoder"]]
    return [Path.cwd(), sys.getrecursionlimit(), gc.isenabled(), locale.setlocale(locale.LC_ALL), *functions]


def lower_the_limit_of_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))


CHANGES: dict[str, Callable[[], object]] = {
    "os.getcwd()": lambda: os.chdir("/"),
    "sys.getrecursionlimit()": lambda: sys.setrecursionlimit(sys.getrecursionlimit() + 7),
    "sys.excepthook": lambda: setattr(sys, "excepthook", print),
    "sys.stdout": lambda: setattr(sys, "stdout", None),
    "time.sleep": lambda: setattr(time, "sleep", print),
    "threading.Thread.start": lambda: setattr(threading.Thread, "start", HttpClientPets.close),
    "threading.settrace()": lambda: threading.settrace(lambda *_: None),
    "decimal.getcontext()": lambda: setattr(decimal.getcontext(), "prec", 60),
    "gc.isenabled()": gc.disable,
    "locale.setlocale()": lambda: locale.setlocale(locale.LC_ALL, "C.UTF-8"),
    "logging.lastResort": lambda: setattr(logging, "lastResort", logging.NullHandler()),
    "json._default_decoder": lambda: vars(json).update(_default_decoder=json.JSONDecoder()),
    "urllib.request.install_opener()": lambda: urllib.request.install_opener(urllib.request.OpenerDirector()),
    **({"resource.RLIMIT_NOFILE": lower_the_limit_of_open_files} if HAS_SIGNALS else {}),
}


def test_a_result_that_a_shell_keeps_is_no_change_by_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins._", {}, raising=False)
    with PetStoreMock() as petstore, watch(by_key(HttpClientPets), petstore) as client:
        client.list_pets()
        monkeypatch.setattr("builtins._", {"a": 1})


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_a_setting_is_found_and_undone(name: str) -> None:
    before = settings_of_the_program()
    with PetStoreMock() as petstore:
        client = watch(changes(CHANGES[name]), petstore, checks=[checks.program_unchanged])
        client.list_pets()
        with pytest.raises(AssertionError, match=rf"the client changed .*{re.escape(name)}"):
            client.close()
    assert settings_of_the_program() == before
