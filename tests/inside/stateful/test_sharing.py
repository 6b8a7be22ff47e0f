"""Clients that threads or tasks may share: two calls meet at a line that is drawn, the same way each time."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest
from hypothesis import seed, settings

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful import ClientBugError, adapted, at_once, check_client, client_machine
from petstore_mock.stateful.scenario import Scenario
from petstore_mock.stateful.search import find_bug, machine_settings
from petstore_mock.stateful.steps import AtOnce, RevokeKey, Seed
from tests.clients.correct import Answer, HttpClientPets, Json
from tests.clients.shapes import AiohttpBlock, AsyncPets, maker_of
from tests.clients.sharing import BUGGY, CORRECT, LockedTasks, OneAtATime, OneConnection
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by

pytestmark = leavings.EXPECTED

QUICK = {"OneConnection", "AnswerKept", "LockedHalfway", "HeadersOfTheCall"}
SETTINGS = settings(database=None)
NOT_EACH_TIME = "\nIt may not come again each time: the operating system has a say"


@pytest.mark.untraced
@pytest.mark.parametrize("name", CORRECT)
def test_no_false_alarm_about_a_client_that_keeps_its_callers_apart(name: str) -> None:
    report = check_client(maker_of(CORRECT[name]), concurrent=True, max_examples=8, settings=SETTINGS)
    assert report.calls > 100


@pytest.mark.soak
@pytest.mark.parametrize("name", CORRECT)
def test_no_false_alarm_over_ten_thousand_examples(name: str) -> None:
    check_client(maker_of(CORRECT[name]), concurrent=True, max_examples=10_000, settings=SETTINGS)


def like(client: Any) -> Any:  # noqa: ANN401  # a class
    """Return a correct client of the same kind."""
    return LockedTasks if issubclass(client, (AsyncPets, AiohttpBlock)) else OneAtATime


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(one, marks=() if one is OneConnection else pytest.mark.untraced)
        if one.__name__ in QUICK
        else pytest.param(one, marks=pytest.mark.slow)
        for one in BUGGY
    ],
)
def test_who_mixes_up_its_callers_is_found_and_its_test_fails_when_pasted(client: Any) -> None:  # noqa: ANN401
    make_client = maker_of(client)
    # On a busy machine two may not meet often enough for it to come again; and where two threads meet on one socket,
    # the operating system has a say in who reads first, and the report says so.
    for number in range(5):
        machine = seed(number)(client_machine(make_client, concurrent=True))
        found = find_bug(machine, machine_settings(SETTINGS, 200)).bug
        if found is not None and NOT_EACH_TIME not in found.sentence:
            break
    else:
        pytest.fail("no seed led to a bug that comes again each time")
    assert " was under way in another thread or task, " in found.sentence
    assert "first, second = at_once(" in found.test
    assert any(raised_by(found.test, make_client) is not None for _ in range(3)), found.test
    for _ in range(3):
        assert raised_by(found.test, maker_of(like(client))) is None, found.test


class MixesUpAtFirst(OneAtATime):
    """Mixes up two callers so many times, and never again."""

    left = 0
    under_way = 0

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        kind = type(self)
        kind.under_way += 1
        try:
            if kind.under_way > 1 and kind.left:
                kind.left -= 1
                raise KeyError("mixed up")
            return super().send(method, path, body)
        finally:
            kind.under_way -= 1


def test_a_report_says_of_two_calls_at_once_that_what_it_tells_may_not_come_again() -> None:
    MixesUpAtFirst.left = 8
    machine = seed(0)(client_machine(maker_of(MixesUpAtFirst), concurrent=True))
    found = find_bug(machine, machine_settings(SETTINGS, 100)).bug
    assert found is not None
    assert NOT_EACH_TIME in found.sentence
    assert "It happens only with" not in found.sentence, "which may be luck"
    assert found.sentence in str(found)
    assert "at_once(" in found.test


def test_a_report_says_no_such_thing_where_only_the_time_was_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petstore_mock.stateful.search._LONGEST", 0.0)
    found = find_bug(client_machine(maker_of(OneConnection), concurrent=True), machine_settings(SETTINGS, 100)).bug
    assert found is not None
    assert "at_once(" in found.test
    assert NOT_EACH_TIME not in found.sentence


def test_nobody_who_does_not_say_so_is_asked_to_be_shared() -> None:
    check_client(maker_of(OneConnection), max_examples=8, settings=SETTINGS)


def test_two_calls_of_a_client_whose_key_is_refused_are_both_told_so() -> None:
    machine = client_machine(maker_of(CORRECT["urllib3"]), concurrent=True)
    with machine.run, machine.run.waiting.unlimited():
        assert machine.replay(Scenario(Behaviour(), (RevokeKey(), AtOnce("getPet", "getPet", 5)))) is None


class GoesBeforeItsRequest(OneAtATime):
    """Gives up at once, with its request still under way."""

    def get_pet(self, pet_id: int) -> Json:
        threading.Timer(0.02, super().get_pet, (pet_id,)).start()
        raise ConnectionError("gave up")


def test_a_request_that_is_under_way_when_its_call_has_failed_is_not_called_unsent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("petstore_mock.stateful.model.actor._UNDER_WAY", 20.0)
    machine = client_machine(maker_of(GoesBeforeItsRequest), concurrent=True)
    with machine.run, machine.run.waiting.unlimited():
        found = machine.replay(Scenario(Behaviour(), (Seed(), AtOnce("listPets", "getPet", 1))))
    assert found is not None
    assert "gave up" in found.sentence
    assert "sent no request" not in found.sentence


class Traced(HttpClientPets):
    """Tells in which order its lines ran."""

    told: list[str]

    def get_pet(self, pet_id: int) -> Json:
        self.told.append(f"{pet_id} begins")
        self.told.append(f"{pet_id} goes on")
        self.told.append(f"{pet_id} ends")
        return pet_id


@pytest.mark.parametrize(
    ("hold", "then", "order"),
    [
        (2, None, "1 begins, 2 begins, 2 goes on, 2 ends, 1 goes on, 1 ends"),
        (3, 2, "1 begins, 1 goes on, 2 begins, 1 ends, 2 goes on, 2 ends"),
        (99, 1, "1 begins, 1 goes on, 1 ends, 2 begins, 2 goes on, 2 ends"),
    ],
)
def test_calls_are_held_before_the_lines_that_are_named(hold: int, then: int | None, order: str) -> None:
    for _ in range(20):
        client = Traced("http://127.0.0.1:1/v1", "key")
        client.told = []
        first, second = at_once(lambda: client.get_pet(1), lambda: client.get_pet(2), hold=hold, then=then)  # noqa: B023
        assert (first.result(), second.result()) == (1, 2)
        assert ", ".join(client.told) == order


def test_who_waits_for_the_held_one_is_not_waited_for() -> None:
    before, lock, inside = sys.gettrace(), threading.Lock(), []

    def takes_it(number: int) -> None:
        with lock:
            inside.append(number)
            inside.append(number)

    first, second = at_once(lambda: takes_it(1), lambda: takes_it(2), hold=3)
    assert (first.result(), second.result()) == (None, None)
    assert inside == [1, 1, 2, 2]
    assert sys.gettrace() is before


def test_coroutines_are_held_after_their_suspensions() -> None:
    with PetStoreMock() as petstore:
        client = adapted(AsyncPets)(petstore)
        ids = [petstore.seed(name=name)["id"] for name in ("Rex", "Tom")]
        first, second = at_once(lambda: client.get_pet(ids[0]), lambda: client.get_pet(ids[1]), hold=2)
        assert (first.result().name, second.result().name) == ("Rex", "Tom")
        client.close()
        assert [entry.path[-1] for entry in petstore.journal] == [str(ids[1]), str(ids[0])]


def test_what_a_call_raises_is_its_own() -> None:
    first, second = at_once(lambda: 1, list[int]().pop)
    assert first.result() == 1
    with pytest.raises(IndexError):
        second.result()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"first": 1}, "expected two functions"),
        ({"hold": 0}, "hold=0"),
        ({"then": "2"}, "then='2'"),
    ],
)
def test_a_wrong_argument_is_told(given: dict[str, Any], words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        at_once(**{"first": list, "second": list, **given})


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    with pytest.raises(ClientBugError):
        check_client(maker_of(OneConnection), concurrent=True, max_examples=20, settings=SETTINGS)
    assert threading.active_count() == before
