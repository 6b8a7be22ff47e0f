"""What a run tells beside a bug: what the client was shown, how far it is, and what it can't decide by itself."""

from __future__ import annotations

import io
import time
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from petstore_mock import PetStoreMockError, faults
from petstore_mock.common.real_time import RealTime
from petstore_mock.stateful import CheckReport, ClientBugError, ClientQuestionWarning, check_client
from petstore_mock.stateful.exposure import ProgressLine
from tests.clients.correct import HttpClientPets, Json, make_correct
from tests.clients.shapes import by_key
from tests.inside.stateful import leavings

pytestmark = leavings.EXPECTED

ONCE = settings(database=None)


@pytest.mark.untraced
def test_a_run_tells_what_the_client_was_shown() -> None:
    same = settings(ONCE, derandomize=True)  # forty others may meet no reset
    report = check_client(make_correct("http.client"), vary=["list_order"], max_examples=40, settings=same)
    assert report.examples == 40
    assert report.calls > 1000
    assert 0 < report.seconds < 60
    assert 0 <= report.waited <= report.seconds
    assert set(report.answers) == {"listPets", "createPet", "getPet"}
    assert {"200", "401"} <= set(report.answers["listPets"])
    assert report.answers["createPet"]["201"] > 0
    assert {"404", "410"} & set(report.answers["getPet"])
    assert set(report.gaps) == {"list_order"}
    assert sum(answers["reset"] for answers in report.answers.values()) == report.faults["reset"] > 0
    assert "rate_limit" in report.never_shown
    assert "list_order" not in report.never_shown
    lines = str(report).splitlines()
    assert lines[0].startswith(f"40 examples, {report.calls:,} calls, ")
    assert any(line.startswith("createPet: 201 ") for line in lines)
    assert any(line.startswith("gaps: list_order=") for line in lines)
    assert any(line.startswith("gaps never shown: ") for line in lines)
    assert any(line.startswith("faults: ") for line in lines)


def test_a_run_without_faults_tells_so() -> None:
    report = check_client(make_correct("http.client"), vary=[], faults=st.nothing(), max_examples=3, settings=ONCE)
    assert set(report.faults) <= {"redirect"}
    assert "gaps: none differed" in str(report)


@pytest.mark.parametrize("options", [{"max_seconds": 1.5}, {"max_seconds": 1.5, "max_examples": 10_000}])
def test_a_run_begins_no_example_after_as_many_seconds_as_it_is_given(options: dict[str, Any]) -> None:
    began = time.perf_counter()
    report = check_client(make_correct("http.client"), vary=[], faults=st.nothing(), settings=ONCE, **options)
    assert 1.5 <= report.seconds < 6
    assert time.perf_counter() - began < 9
    assert report.examples > 1  # dozens, but for a machine that has much else to do


def test_max_examples_holds_beside_max_seconds() -> None:
    report = check_client(make_correct("http.client"), max_seconds=60, max_examples=2, settings=ONCE)
    assert report.examples == 2


def test_a_bug_is_found_within_max_seconds() -> None:
    class Drops(HttpClientPets):
        def list_pets(self, **query: Json) -> Json:
            return super().list_pets(**query)[1:]

    same = settings(ONCE, derandomize=True)  # another example may tell of it in other words
    with pytest.raises(ClientBugError, match="animals, and the service answered"):
        check_client(by_key(Drops), max_seconds=20, settings=same)


@pytest.mark.parametrize("value", [0, -1, True, "10"])
def test_max_seconds_is_a_number_of_seconds(value: object) -> None:
    with pytest.raises(PetStoreMockError, match="expected max_seconds to be seconds, more than 0; got max_seconds="):
        check_client(make_correct("http.client"), max_seconds=value)  # type: ignore[arg-type]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_a_long_run_shows_a_line_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> None:
    report = CheckReport(examples=57, calls=1_540)
    report.answers["getPet"]["404"] += 3
    line = ProgressLine(report, stream)
    line.update()
    assert stream.getvalue() == "", "not before there is something to tell"
    later = RealTime.monotonic() + 2
    monkeypatch.setattr(RealTime, "monotonic", staticmethod(lambda: later))
    line.update()
    line.update()
    line.clear()
    shown = stream.getvalue()
    if stream.isatty():
        assert shown.count("petstore_mock: 57 examples, 1,540 calls, 2 s; answers so far: 404") == 1
        assert shown.endswith("\r")
        assert not shown.rpartition("\r")[0].rpartition("\r")[2].strip(), "it is gone in the end"
    else:
        assert shown == ""


class InvalidNameError(Exception):
    """A client's own."""


class HouseRule(HttpClientPets):
    """Refuses blank names before it asks."""

    error: type[Exception] = ValueError

    def create_pet(self, *, name: str, **given: Json) -> Json:
        if not name.strip():
            raise self.error("a name is needed")
        return super().create_pet(name=name, **given)


class OwnRule(HouseRule):
    error = InvalidNameError


class NoBreeds(HttpClientPets):
    def create_pet(self, *, category_id: int, **given: Json) -> Json:
        if category_id < 1:
            raise ValueError("no such category")
        return super().create_pet(category_id=category_id, **given)


@pytest.mark.parametrize("client", [HouseRule, OwnRule, NoBreeds])
def test_a_refusal_of_its_own_is_a_question_and_no_bug(client: type[HttpClientPets]) -> None:
    with pytest.warns(ClientQuestionWarning, match="is that a rule of the client's own") as asked:
        report = check_client(by_key(client), max_examples=10, settings=ONCE)
    assert [str(warning.message) for warning in asked] == report.questions
    assert 1 <= len(report.questions) <= 3, "each once, for the values that may be meant"
    assert all(one.endswith("; if it is, ignore ClientQuestionWarning") for one in report.questions)
    assert "question: create_pet(" in str(report)


class RefusesRex(HouseRule):
    def create_pet(self, *, name: str, **given: Json) -> Json:
        if name == "Rex":
            raise ValueError("taken")
        return super().create_pet(name=name, **given)


class FailsOverUmlauts(HttpClientPets):
    def create_pet(self, *, name: str, **given: Json) -> Json:
        name.encode("ascii")
        return super().create_pet(name=name, **given)


@pytest.mark.parametrize(
    ("client", "words"),
    [(RefusesRex, r"raised ValueError \(taken\)"), (FailsOverUmlauts, "raised UnicodeEncodeError")],
)
def test_an_ordinary_name_and_one_that_can_not_be_encoded_are_bugs(client: type[HttpClientPets], words: str) -> None:
    with pytest.raises(ClientBugError, match=words):
        check_client(by_key(client), max_examples=50, settings=ONCE)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"faults": faults.reset()}, "expected faults to be a strategy"),
        ({"faults": st.just(3)}, r"expected faults to draw objects of petstore_mock.faults; got 3 \(int\)"),
    ],
)
def test_what_can_not_be_drawn_from_is_the_test_authors_mistake(options: dict[str, Any], words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        check_client(make_correct("http.client"), **options, max_examples=5, settings=ONCE)
