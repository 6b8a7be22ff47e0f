"""The machine: silent about correct clients, and telling about buggy ones."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, reproduce_failure, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.stateful import run_state_machine_as_test

from petstore_mock import Behaviour, PetStoreMock, faults
from petstore_mock.stateful import ClientBugError, check_client, client_machine
from petstore_mock.stateful import watchdog as watchdog_module
from petstore_mock.stateful.model.call import Call
from petstore_mock.stateful.scenario import Scenario
from petstore_mock.stateful.script import Script
from petstore_mock.stateful.search import find_bug, machine_settings
from petstore_mock.stateful.steps import Inject
from tests.clients.correct import CORRECT, HttpClientPets, Json, make_correct
from tests.inside.clients.corpus import CORPUS, find, make_buggy
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

pytestmark = leavings.EXPECTED


# One of each kind; the whole corpus takes a minute or two.
QUICK = {
    "LimitZeroForNone": "list_pets() sent GET /v1/pets?limit=0: query.limit must be at least 1",
    "StatusNullInBody": "body.status must be a string, one of available, pending, sold, got null",
    "KeyInAnotherHeader": "sent the API key in x-api-key, beside Authorization (§5",
    "StatusTakenForGranted": "raised KeyError ('status') although the service answered",
    "NothingForMissing": "returned None although the service answered 404",
    "GetsRemembered": "sent no request",
    "ListReused": "changed what list_pets() had returned",
    "HeadersShared": "with the key of another client",
    "ConnectionsKept": "connections open",
    "RedirectedWithKey": "followed a redirection and sent the API key to another origin (host:port)",
    "NoTimeout": "waited for an answer that never came",
    "CreatesAgain": "sent POST /pets again when its answer was lost",
    "EntitiesUnescaped": "returned an animal whose name is '&'; the service answered '&amp",
    "FieldsAsAttributes": "which raised AttributeError (",
    "AskedWhenRead": "and sent its request only when that was looked at",
    "RefreshedInBackground": "sent GET /v1/pets?limit=100, with limit=100, which was not given",
    "RenewsKeyWithoutEnd": "(§8: rate limits are not shown: a client makes do with a few requests",
}
GAPS = {
    "SunsetTakenForGranted": "deprecation_headers='absent'",
    "NextPageFollowed": "paging_headers='next_link'",
    "JsonByPattern": "json_style='pretty'",
    "StrictFields": "extra_response_fields='present'",
}


SLOW = {"NoTimeout", "SunsetTakenForGranted", "NextPageFollowed", "ThreadsLeft"}  # some seconds each


def some_slow(names: Iterable[str]) -> list[object]:
    return [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in names]


@pytest.mark.untraced
@pytest.mark.parametrize("name", CORRECT)
def test_no_false_alarm(name: str) -> None:
    check_client(make_correct(name), max_examples=10, settings=settings(database=None))


def test_a_client_that_asks_again_after_each_timeout_has_one() -> None:
    """Its call takes longer than the patience, and none of its requests does."""
    machine = client_machine(make_correct("urllib3"), patience=1.5)
    course = Scenario(Behaviour(), (Inject(faults.hang(), "getPet", 12),))
    with machine.run, machine.run.waiting.unlimited():
        assert machine.replay(course) is None


@pytest.mark.soak
@pytest.mark.parametrize("name", CORRECT)
def test_no_false_alarm_over_ten_thousand_examples(name: str) -> None:
    check_client(make_correct(name), max_examples=10_000, settings=settings(database=None))


@pytest.mark.untraced
@pytest.mark.parametrize("name", some_slow(QUICK))
def test_bug_is_found_and_told(name: str) -> None:
    assert QUICK[name] in find(name).sentence


@pytest.mark.parametrize("name", some_slow(GAPS))
def test_the_gap_that_a_client_makes_an_assumption_of_is_named(name: str) -> None:
    """Shrinking leaves the one gap that matters."""
    found = find(name)
    assert f"It happens only with {GAPS[name]}: the client assumes what the interface leaves open" in found.sentence


@pytest.mark.slow  # one or two seconds a client
@pytest.mark.parametrize("name", CORPUS)
def test_every_bug_is_found_and_its_test_fails_when_pasted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog_module, "STANDSTILL", 5.0)  # the whole suite would wait thirty for one client
    found = find(name)
    assert found.error is not None
    assert found.examples is not None
    assert found.examples <= 200
    assert raised_by(found.error.test, make_buggy(name)) is not None, found.error.test
    for correct in ("http.client", "urllib3"):  # the second asks again, as a client may
        assert raised_by(found.error.test, make_correct(correct)) is None, found.error.test


@pytest.mark.untraced
def test_the_test_of_an_explanation_fails_when_pasted(tmp_path: Path) -> None:
    """In a file of its own under pytest; for the buggy client, and not for a correct one."""
    error = find("CreatesAgain").error
    assert error is not None
    imports = "from tests.inside.clients.corpus import make_buggy\nfrom tests.clients.correct import make_correct\n"
    for name, made in (("buggy", "make_buggy('CreatesAgain')"), ("correct", "make_correct('http.client')")):
        (tmp_path / f"test_{name}.py").write_text(
            error.test.replace(
                "# make_client is what was given to the machine: it makes the client of a mock.",
                f"{imports}make_client = {made}\n",
            )
        )
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-W", "ignore", "-c", os.devnull]
    done = subprocess.run(  # our own interpreter
        [*command, "--rootdir", str(tmp_path), str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert "test_buggy.py::test_client FAILED" in done.stdout, done.stdout + done.stderr
    assert "test_correct.py::test_client PASSED" in done.stdout, done.stdout


class Animal(Mapping[str, Any]):
    """An animal as some clients return it: equal to whatever has its id."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __eq__(self, other: object) -> bool:
        return bool(self["id"] == other["id"])  # type: ignore[index]


class ReturnsAnimals(HttpClientPets):
    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        return [Animal(pet) for pet in super().list_pets(limit=limit, status=status)]


class ChangesAnimals(ReturnsAnimals):
    """Changes what it returned before."""

    former: Json = ()

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        for animal in self.former:
            animal.fields["name"] += "!"
        self.former = super().list_pets(limit=limit, status=status)
        return self.former


@pytest.mark.untraced
def test_what_a_client_returned_is_compared_by_its_fields_whatever_it_calls_equal() -> None:
    check_client(
        lambda petstore: ReturnsAnimals(petstore.url, petstore.api_key),
        max_examples=15,
        settings=settings(database=None),
    )
    with pytest.raises(ClientBugError, match=r"changed what list_pets\(.*\) had returned"):
        check_client(
            lambda petstore: ChangesAnimals(petstore.url, petstore.api_key),
            max_examples=30,
            faults=st.nothing(),
            settings=settings(database=None),
        )


def test_two_courses_are_told_apart_by_every_argument() -> None:
    """Python's hashes are equal for some of what the machine draws: -1 and -2, 3 and 2**63 - 1, "" and 0."""
    courses = set()
    for arguments in (
        {"pet_id": 3},
        {"pet_id": 2**63 - 1},
        {"pet_id": -1},
        {"pet_id": -2},
        {"pet_id": ""},
        {"pet_id": 0},
    ):
        script = Script({}, Scenario(Behaviour(), ()))
        script.add_call("client", Call("getPet", arguments), raises=False)
        courses.add(script.fingerprint)
    assert len(courses) == 6


def test_a_run_leaves_no_thread_and_no_socket() -> None:
    before = threading.active_count()
    machine = client_machine(make_correct("http.client"))
    with machine.run:
        run_state_machine_as_test(machine, settings=machine_settings(settings(database=None), 5))
        assert machine.run.listeners.open_connections() == 0
    assert threading.active_count() == before


@pytest.mark.parametrize("already", [False, True])
def test_a_run_takes_from_the_garbage_collector_what_was_there_before(
    already: bool, counted: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And gives it back; what somebody else took stays taken."""
    monkeypatch.setattr(gc, "get_freeze_count", counted)
    machine = client_machine(make_correct("http.client"))
    gc.unfreeze()
    if already:
        gc.freeze()
    try:
        with machine.run:
            assert gc.get_freeze_count() > 0
        assert bool(gc.get_freeze_count()) is already
    finally:
        gc.freeze()  # as tests/conftest.py had it, for the tests that follow


def test_what_a_client_remembers_from_one_example_to_another_is_told_as_such() -> None:
    """A cache of the class; its test has two clients, so that it fails in a new process too."""
    error = find("RememberedByTheClass").error
    assert error is not None
    assert "it made that up, or remembers what an earlier client was answered" in error.sentence
    assert "    earlier.seed(id=" in error.test
    assert "make_client(earlier).get_pet(" in error.test


def test_the_test_case_tells_of_a_bug_as_check_client_does() -> None:
    case = client_machine(make_buggy("LimitZeroForNone")).TestCase
    case.settings = machine_settings(settings(database=None), 20)
    with pytest.raises(ClientBugError, match="limit=0"):
        case().runTest()


def test_the_test_case_takes_settings_as_hypothesis_makes_them() -> None:
    """Unless told otherwise they have a deadline, health checks and fifty steps, of which a client knows nothing."""
    machine = client_machine(make_correct("http.client"))
    machine.TestCase.settings = settings(database=None, max_examples=2, deadline=1)
    machine.TestCase().runTest()
    assert machine.run.report.calls <= 60, "an example is one round"


@pytest.mark.parametrize(
    ("chosen", "name", "value"),
    [
        ({"stateful_step_count": 3}, "stateful_step_count", 3),
        ({"phases": [Phase.generate, Phase.explain]}, "phases", (Phase.generate,)),
    ],
)
def test_settings_that_somebody_has_chosen_are_heeded(chosen: dict[str, Any], name: str, value: object) -> None:
    assert getattr(machine_settings(settings(**chosen)), name) == value


def test_a_seed_on_the_class_decides_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(number: int) -> list[int]:
        machine = seed(number)(client_machine(make_correct("http.client")))
        numbers: list[int] = []
        monkeypatch.setattr(machine, "play", lambda number, _, rounds: numbers.append(number * rounds))
        assert find_bug(machine, machine_settings(settings(database=None), 20)).bug is None
        return numbers

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_what_reproduces_a_failure_is_heeded_on_the_class() -> None:
    machine = reproduce_failure("0.0", b"AA==")(client_machine(make_correct("http.client")))
    with pytest.raises(InvalidArgument, match="different version"):
        find_bug(machine, machine_settings(settings(database=None), 5))


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_rounds_make_an_example_as_hypothesis_is_told_steps(count: int) -> None:
    machine = client_machine(make_correct("http.client"))
    chosen = settings(machine_settings(settings(database=None), 2), stateful_step_count=count)
    assert find_bug(machine, chosen).bug is None
    assert 40 * count < machine.run.report.calls <= 60 * count


def test_the_test_case_stops_listening_by_itself() -> None:
    before = threading.active_count()
    case = client_machine(make_correct("http.client")).TestCase
    case.settings = machine_settings(settings(database=None), 3)
    result = case().run()
    assert result is not None
    assert result.wasSuccessful(), result.failures + result.errors
    assert threading.active_count() == before


@pytest.mark.untraced
def test_only_the_gaps_named_vary_and_only_the_faults_given_come() -> None:
    """A client that fails for other silences and faults passes."""
    for name in ("StrictFields", "CreatesAgain"):
        client = CORPUS[name]
        check_client(
            lambda petstore, client=client: client(petstore.url, petstore.api_key),  # type: ignore[misc]
            vary=["list_order"],
            faults=st.just(faults.server_error()),
            max_examples=10,
            settings=settings(database=None),
        )


def test_the_explanation_has_a_sentence_a_test_and_the_wire() -> None:
    error = find("LimitZeroForNone").error
    assert error is not None
    sentence, _, rest = str(error).partition("\n\nAs a test:\n\n")
    test, _, wire = rest.partition("\nOn the wire:\n\n")
    assert sentence == error.sentence
    assert test == error.test
    compile(test, "pasted", "exec")
    assert "GET /v1/pets?limit=0" in wire
    notes = getattr(error, "__notes__", [])
    told_how = settings().print_blob  # as under CI
    assert ["by temporarily adding @reproduce_failure(" in note for note in notes] == [True] * told_how
    assert f"{type(error).__module__}.{type(error).__qualname__}" == "petstore_mock.stateful.ClientBugError"


def test_the_explanation_stands_alone() -> None:
    """What was found before it was shrunk is not told beside it."""
    with pytest.raises(ClientBugError) as caught:
        check_client(make_buggy("CreatesAgain"), settings=settings(database=None))
    assert caught.value.__context__ is None


def test_the_machine_needs_no_key_in_its_report() -> None:
    """Whatever it tells of, no key is in it."""
    error = find("KeyInQuery").error
    assert error is not None
    petstore = PetStoreMock()
    assert petstore.api_key.rsplit("-", 1)[0] not in str(error)
