"""The arguments, scenarios and reports of check_client."""

from __future__ import annotations

import http.client
import itertools
import logging
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

from petstore_mock import PetStoreMock, PetStoreMockError, checks, faults
from petstore_mock.stateful import CheckReport, ClientBugError, check_client, environment
from tests.clients import sharing
from tests.clients.correct import Answer, ApiError, HttpClientPets, Json, make_correct
from tests.clients.shapes import by_key
from tests.programs import run
from tests.stateful.corpora import LEAVINGS, SETTINGS, bug_of, raised_by

pytestmark = [*LEAVINGS]

make_client = make_correct("http.client")
FEW: dict[str, Any] = {"settings": SETTINGS, "max_examples": 20, "environment": ()}
NOTHING_ODD: dict[str, Any] = {**FEW, "faults": (), "vary": ()}


# Arguments


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"make_client": 1}, "Client(petstore.url, petstore.api_key); got make_client=1"),
        ({"steps": [1]}, "expected functions for classify=, read_pet= and steps=; got function=1"),
        ({"read_pet": None}, "expected functions for classify=, read_pet= and steps=; got function=None"),
        ({"methods": {"list_pets": "lst"}}, "methods that the client has as methods=; got 'lst'"),
        ({"arguments": {"getPet": 5}}, "expected a strategy for the arguments of getPet"),
        ({"patience": None}, "expected patience= as seconds, more than 0; got patience=None"),
        ({"patience": 0}, "expected patience= as seconds, more than 0; got patience=0"),
        ({"longest_wait": -1}, "expected longest_wait= as seconds, more than 0; got longest_wait=-1"),
        ({"max_seconds": "1"}, "expected max_seconds= as seconds, more than 0; got max_seconds='1'"),
        ({"max_examples": 0}, "expected max_examples= as a whole number of at least 1; got max_examples=0"),
        ({"vary": ["list_ordr"]}, "did you mean 'list_order'?"),
        ({"vary": "list_order"}, "expected vary= as a list of names"),
        ({"environment": ["ipv4"]}, "did you mean 'ipv6'?"),
        ({"faults": ["reset"]}, "did you mean faults.reset()?"),
        ({"methods": {"list": "all"}}, "name in methods="),
        ({"checks": [print]}, "expected checks= as a list of checks"),
        ({"arguments": {"createPets": st.none()}}, "did you mean 'createPet'?"),
        ({"make_client": lambda _: object()}, "expected make_client to return a client with"),
        ({"make_client": lambda _: HttpClientPets}, "return an instance"),
    ],
)
def test_a_wrong_argument_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PetStoreMockError) as caught:
        check_client(**{"make_client": make_client, **FEW, **given})
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["environment", "checks", "steps"])
def test_none_in_place_of_a_list_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="NoneType"):
        check_client(make_client, **{**FEW, name: None})


@pytest.mark.seconds
def test_none_stands_for_the_default_of_some_arguments() -> None:
    nothing: dict[str, Any] = dict.fromkeys(["classify", "vary", "arguments", "methods", "max_seconds"])
    report = check_client(make_client, **{**FEW, "faults": (), "max_examples": 1, **nothing})
    assert report.gaps


def test_wrong_settings_are_refused_before_the_first_call() -> None:
    def make(_: PetStoreMock) -> Json:
        raise LookupError("called")

    words = r"^expected settings= as an instance of hypothesis\.settings; got settings='ci'$"
    with pytest.raises(PetStoreMockError, match=words):
        check_client(make, settings="ci")  # type: ignore[arg-type]


@pytest.mark.seconds
def test_the_report_counts_responses_gaps_and_faults() -> None:
    report = check_client(make_client, **FEW)
    assert report.answers["createPet"]["201"] > 0
    assert report.faults["hang"] > 0
    assert report.examples > 20
    assert report.calls > report.examples
    assert report.never_shown == {}  # each alternative of a gap has its own example
    assert "examples" in str(report)
    assert "faults: " in str(report)
    assert CheckReport().never_shown["list_order"] != []


@pytest.mark.seconds
def test_faults_and_gaps_can_be_switched_off() -> None:
    report = check_client(make_client, **NOTHING_ODD)
    assert not report.faults
    assert not report.gaps
    assert "faults: none" in str(report)
    assert "gaps: none differed" in str(report)


@pytest.mark.slow
def test_your_faults_replace_those_of_the_machine() -> None:
    report = check_client(make_client, **{**FEW, "faults": [503, faults.reset(), faults.hang()]})
    assert set(report.faults) == {"server_error", "reset", "hang"}


@pytest.mark.seconds
def test_max_seconds_ends_a_run() -> None:
    began = time.monotonic()
    report = check_client(make_client, max_seconds=2, environment=(), faults=())
    assert report.examples > 1
    assert time.monotonic() - began < 20


class Name(str):
    """A name whose repr is no Python source."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<a name>"


@pytest.mark.slow
def test_your_arguments_replace_all_others() -> None:
    names: set[str] = set()

    class CatsOnly(HttpClientPets):
        def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
            if category_id != 7:
                raise ValueError("only cats are allowed")
            names.add(name)
            return super().create_pet(name=name, category_id=category_id, status=status)

        def get_pet(self, pet_id: int) -> Json:
            if not 0 < pet_id < 100:
                raise ValueError("only small ids are allowed")
            return super().get_pet(pet_id)

        def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
            if limit != 5:
                raise ValueError("only lists of five are allowed")
            return super().list_pets(limit=limit, status=status)

    cats = st.fixed_dictionaries({"name": st.just(Name("Tom")) | st.just(Name("Mia")), "categoryId": st.just(7)})
    arguments: dict[str, Any] = {
        "createPet": cats,
        "getPet": st.fixed_dictionaries({"petId": st.integers(1, 99)}),
        "listPets": st.fixed_dictionaries({"limit": st.just(5)}),
    }
    report = check_client(by_key(CatsOnly), arguments=arguments, max_examples=30)
    assert (names, report.examples > 100) == ({"Tom", "Mia"}, True), "the directed scenarios use them too"


class ReadsOnly:
    """Has no method for createPet."""

    def __init__(self, petstore: PetStoreMock) -> None:
        self._pets = make_client(petstore)
        self.list_pets, self.get_pet, self.close = self._pets.list_pets, self._pets.get_pet, self._pets.close


@pytest.mark.seconds
def test_a_client_may_lack_methods() -> None:
    report = check_client(ReadsOnly, **NOTHING_ODD)
    assert "createPet" in report.left_out
    assert {"listPets", "getPet"}.isdisjoint(report.left_out)
    assert f"left out, because the client has no method: {', '.join(report.left_out)}" in str(report)
    assert not report.answers["createPet"]


# Your own checks and steps


@checks.check(section="4.1", words="the office shows at most two animals")
def lists_are_short(seen: checks.Observation) -> str | None:
    """A list has at most two animals."""
    long = any(one.operation == "listPets" and len(one.json() or ()) > 2 for one in seen.exchanges if one.body)
    return "received a long list" if long else None


@checks.check(section="4.1", words="the office always sends a limit")
def a_list_has_a_limit(seen: checks.Observation) -> str | None:
    """Each request for a list has a limit."""
    unlimited = any(one.operation == "listPets" and "limit" not in one.query for one in seen.exchanges)
    return "requested a list without a limit" if unlimited else None


def test_your_check_finds_a_bug_and_is_in_the_pasted_test() -> None:
    bug = bug_of(make_client, checks=[lists_are_short, a_list_has_a_limit], **NOTHING_ODD)
    assert bug is not None
    assert bug.sentence.startswith(
        "list_pets() requested a list without a limit (by the meaning of §4.1: the office always"
    )
    assert "checks=[*checks.CHECKS.values(), lists_are_short, a_list_has_a_limit]" in bug.test
    own = {"lists_are_short": lists_are_short, "a_list_has_a_limit": a_list_has_a_limit}
    assert raised_by(bug, make_client, **own) is not None


def adopts(client: Any, petstore: PetStoreMock) -> None:
    pet = petstore.seed(name="Adopted")
    assert client.get_pet(pet["id"])["name"] == "Adopted"


def sells_all(client: Any, petstore: PetStoreMock) -> None:
    petstore.seed(status="sold")
    assert client.list_pets(status="sold") == [], "an animal is sold"


@pytest.mark.seconds
def test_your_step_runs() -> None:
    report = check_client(make_client, steps=[adopts], **NOTHING_ODD)
    assert report.answers["getPet"]["200"] > 0


@pytest.mark.seconds
def test_a_failed_step_of_yours_is_a_bug() -> None:
    bug = bug_of(make_client, steps=[sells_all], **NOTHING_ODD)
    assert bug is not None
    assert bug.sentence.startswith("sells_all failed: an animal is sold")
    assert "sells_all(client, petstore)" in bug.test
    assert raised_by(bug, make_client, sells_all=sells_all) is not None


# The report of a bug


class Forgetful(HttpClientPets):
    """Fails for an animal without a status."""

    def read(self, answer: Json) -> Json:
        pet = super().read(answer)
        return pet if isinstance(pet, list) else {**pet, "status": pet["status"]}


def test_a_bug_has_a_sentence_a_test_the_wire_and_a_scenario() -> None:
    bug = bug_of(by_key(Forgetful), **FEW)
    assert isinstance(bug, ClientBugError)
    assert "raised KeyError ('status')" in bug.sentence
    assert "§2: status is not required" in bug.sentence
    assert "checks.watched(make_client, petstore, quiet=True)" in bug.test
    assert bug.wire.startswith(("1  POST /v1/pets  201", "1  GET /v1/pets"))
    assert 'pet["status"]' in bug.raised
    assert bug.scenario.to_data()["steps"]
    assert (
        str(bug)
        == f"{bug.sentence}\n\nAs a test:\n\n{bug.test}\nOn the wire:\n\n{bug.wire}\n\nIn the client:\n\n{bug.raised}"
    )


class ById(HttpClientPets):
    """Assumes that lists are in the order of ids."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        pets = super().list_pets(limit=limit, status=status)
        if isinstance(pets, list) and pets != sorted(pets, key=lambda pet: pet["id"]):
            raise ValueError("animals in disorder")
        return pets


@pytest.mark.seconds
def test_the_sentence_names_the_gap_and_its_lesson() -> None:
    bug = bug_of(by_key(ById), **{**FEW, "faults": ()})
    assert bug is not None
    assert "The bug needs list_order=" in bug.sentence
    assert "so a client must not assume" in bug.sentence
    assert "behaviour=Behaviour(list_order=" in bug.test
    assert raised_by(bug, by_key(ById)) is not None
    assert raised_by(bug, make_client) is None


def test_a_report_masks_the_key() -> None:
    class Leaks(HttpClientPets):
        def checked(self, answer: Json, success: int) -> Json:
            if answer.status != success:
                raise ApiError(answer.status, self.key.encode())
            return answer

    bug = bug_of(by_key(Leaks), **FEW)
    assert bug is not None
    assert "whose text contains the API key" in bug.sentence
    assert "Aa-._~+/key-of-a-test-" not in str(bug)


@pytest.mark.seconds
def test_a_bug_of_two_calls_at_once_that_did_not_show_again_depends_on_threads() -> None:
    meetings = itertools.count()

    class Crowded(sharing.Pooled):
        under_way = 0

        def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
            self.under_way += 1
            try:
                if self.under_way > 1 and next(meetings) == 0:
                    raise KeyError(limit)
                return super().list_pets(limit=limit, status=status)
            finally:
                self.under_way -= 1

    bug = bug_of(by_key(Crowded), concurrent=True, **NOTHING_ODD)
    assert bug is not None
    assert "raised KeyError" in bug.sentence
    assert "depends on how the system schedules threads" in bug.sentence


@pytest.mark.seconds
@pytest.mark.parametrize("error", [TimeoutError, ConnectionResetError])
def test_a_loss_that_never_shows_again_is_no_bug(error: type[OSError]) -> None:
    """On a busy computer, a client may use a connection in the moment in which the service closes it."""
    meetings = itertools.count()

    class Raced(HttpClientPets):
        def send(self, method: str, path: str, body: bytes | None) -> Answer:
            if next(meetings) == 20:
                raise error
            return super().send(method, path, body)

    assert bug_of(by_key(Raced), **NOTHING_ODD) is None
    assert next(meetings) > 20


@pytest.mark.seconds
def test_a_bug_that_shows_once_at_a_lost_response_is_told() -> None:
    leaks = itertools.count()

    class LeaksOnce(HttpClientPets):
        def send(self, method: str, path: str, body: bytes | None) -> Answer:
            try:
                return super().send(method, path, body)
            except OSError as error:
                raise ConnectionError(str(error) if next(leaks) else f"lost with {self.headers()}") from error

    bug = bug_of(by_key(LeaksOnce), **{**NOTHING_ODD, "faults": [faults.reset()]})
    assert bug is not None
    assert "whose text contains the API key" in bug.sentence
    assert "did not show again" in bug.sentence


# The process


@pytest.mark.seconds
def test_a_run_restores_the_process() -> None:
    before = (
        dict(os.environ), logging.root.level, list(logging.root.handlers), socket.getdefaulttimeout(),
        sys.stdout, sys.stderr, warnings.showwarning, signal.getsignal(signal.SIGINT), threading.active_count(),
    )  # fmt: skip
    check_client(make_client, **{**FEW, "environment": ("ipv6", "proxies", "time_zone", "netrc")})
    deadline = time.monotonic() + 5
    while threading.active_count() > before[-1] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert before == (
        dict(os.environ), logging.root.level, list(logging.root.handlers), socket.getdefaulttimeout(),
        sys.stdout, sys.stderr, warnings.showwarning, signal.getsignal(signal.SIGINT), threading.active_count(),
    )  # fmt: skip


def test_you_can_use_an_environment_in_your_test() -> None:
    with environment("proxies"), environment("netrc"):
        assert os.environ["HTTP_PROXY"].startswith("http://127.0.0.1")
        assert Path(os.environ["NETRC"]).is_file()
    assert "NETRC" not in os.environ
    with environment("time_zone"):
        assert time.localtime(0).tm_hour == 5
    with pytest.raises(PetStoreMockError, match="did you mean 'proxies'"), environment("proxy"):
        pass


def test_the_locale_changes_only_within_its_block() -> None:
    """The code replaces ``setlocale``, because many computers have no other locale installed."""
    code = (
        "import locale\n"
        "names = ['C']\n"
        "def setlocale(_, name=None):\n"
        "    names.extend([name] if name else [])\n"
        "    return names[-1]\n"
        "locale.setlocale = setlocale\n"
        "from petstore_mock.stateful import environment\n"
        "with environment('locale'): print(names[-1])\n"
        "print(names[-1])"
    )
    inside, afterwards = run(sys.executable, "-c", code).split()
    assert (inside != "C", afterwards) == (True, "C")


@pytest.mark.slow
def test_make_client_may_set_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETS_URL", "")

    def by_environment(petstore: PetStoreMock) -> Json:
        os.environ["PETS_URL"] = petstore.url
        return HttpClientPets(os.environ["PETS_URL"], petstore.api_key)

    assert bug_of(by_environment, **FEW) is None


def test_an_error_of_make_client_is_raised() -> None:
    def fails(_: PetStoreMock) -> Json:
        raise LookupError("no such client")

    with pytest.raises(LookupError, match="no such client"):
        check_client(fails, **FEW)


def test_an_exit_of_make_client_is_a_bug_of_the_client() -> None:
    with pytest.raises(ClientBugError, match="SystemExit"):
        check_client(lambda _: sys.exit(4), **FEW)


@pytest.mark.seconds
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_ctrl_c_ends_the_slow_phase() -> None:
    """More than five open clients show that the slow scenarios run. Then list calls wait until the test ends.

    Only slow scenarios use several clients at once, so the second client waits for others, also on a busy machine.
    """
    open_clients: set[int] = set()
    released, pressed, several = threading.Event(), threading.Event(), threading.Event()
    times: list[float] = []

    class Waits(HttpClientPets):
        def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
            open_clients.add(id(self))
            if len(open_clients) > 5:
                several.set()
            elif len(open_clients) > 1:
                several.wait(4)
            if several.is_set():
                if not pressed.is_set():
                    pressed.set()
                    times.append(time.monotonic())
                    os.kill(os.getpid(), signal.SIGINT)
                released.wait(30)
            return super().list_pets(limit=limit, status=status)

        def close(self) -> None:
            open_clients.discard(id(self))
            super().close()

    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore SIGINT
    try:
        with pytest.raises(KeyboardInterrupt):
            check_client(by_key(Waits), patience=8, **FEW)
    finally:
        released.set()
        signal.signal(signal.SIGINT, former)
    assert time.monotonic() - times[0] < 5


# Hypothesis


def test_without_hypothesis_only_the_search_is_missing() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from petstore_mock.stateful import check_client, environment\n"
        "with environment('proxies'): check_client(print)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60)
    assert "ModuleNotFoundError: petstore_mock.strategies and check_client() need Hypothesis" in done.stderr


@pytest.mark.slow
def test_the_database_keeps_a_failing_scenario() -> None:
    database = InMemoryExampleDatabase()
    kept = settings(database=database)

    class Rounds(HttpClientPets):
        def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
            is_odd = limit is not None and limit > 21 and limit not in {50, 99, 100}  # not one of the sample values
            return super().list_pets(limit=limit - 1 if limit is not None and is_odd else limit, status=status)

    for _ in range(2):
        with pytest.raises(ClientBugError, match="with limit="):
            check_client(by_key(Rounds), settings=kept, environment=(), faults=(), vary=())
    assert database.data


@pytest.mark.seconds
def test_a_bug_with_a_long_argument_is_reported_without_a_warning() -> None:
    """Hypothesis warns when it has to print tens of thousands of characters."""

    class Cuts(HttpClientPets):
        def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
            is_long = len(name) > 40_000 and name[0] == "q"  # not one of the sample values
            return super().create_pet(name=name[:-1] if is_long else name, category_id=category_id, status=status)

    names = st.just("q" * 50_000)
    arguments = {"createPet": st.fixed_dictionaries({"name": names, "categoryId": st.just(1)})}
    with pytest.raises(ClientBugError, match="'q' \\* 49999"):
        check_client(by_key(Cuts), **NOTHING_ODD, arguments=arguments)


def test_a_client_that_does_not_trust_the_mock_is_a_mistake_of_the_test() -> None:
    class Untrusting(HttpClientPets):
        def new_connection(self) -> Json:
            return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout)

    words = r"^expected a client that trusts the mock; got list_pets\(\) .*petstore\.tls\.ca_path in make_client$"
    with pytest.raises(PetStoreMockError, match=words):
        check_client(by_key(Untrusting), tls=True, **FEW)


@pytest.mark.slow
def test_a_client_that_does_not_verify_certificates_has_a_bug() -> None:
    class Verifies(HttpClientPets):
        context: ssl.SSLContext

        def new_connection(self) -> Json:
            return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self.context)

    def make(petstore: PetStoreMock, *, verifies: bool = True) -> Json:
        client = Verifies(petstore.url, petstore.api_key)
        client.context = petstore.tls.client_context()
        if not verifies:
            client.context.check_hostname, client.context.verify_mode = False, ssl.CERT_NONE
        return client

    assert bug_of(make, tls=True, **FEW) is None
    bug = bug_of(lambda petstore: make(petstore, verifies=False), tls=True, **FEW)
    assert bug is not None
    assert "although the service's certificate" in bug.sentence
    assert raised_by(bug, lambda petstore: make(petstore, verifies=False)) is not None
    assert raised_by(bug, make) is None


@pytest.mark.slow
def test_settings_reach_hypothesis() -> None:
    few, more = (
        check_client(make_client, settings=SETTINGS, max_examples=number, faults=(), vary=(), environment=()).examples
        for number in (3, 23)
    )
    assert more - few == 20


class ForeignError(Exception):
    """An error of an unknown library, without a status."""


def failing_with(error: type[BaseException]) -> Callable[[Any], Any]:
    class Client(HttpClientPets):
        def get_pet(self, pet_id: int) -> Json:
            try:
                return super().get_pet(pet_id)
            except Exception:  # noqa: BLE001  # every failure becomes this error
                raise error from None

    return by_key(Client)


@pytest.mark.slow
def test_an_unknown_exception_is_reported_as_a_possible_bug() -> None:
    """The message asks for classify=. A KeyError is certainly a bug."""
    with pytest.raises(
        checks.UnknownErrorError, match=r"This is a bug, or classify.*ForeignError.*classify= with a function"
    ) as caught:
        check_client(failing_with(ForeignError), **NOTHING_ODD)
    assert isinstance(caught.value.__cause__, ClientBugError)
    with pytest.raises(ClientBugError, match="KeyError"):
        check_client(failing_with(KeyError), **NOTHING_ODD)
