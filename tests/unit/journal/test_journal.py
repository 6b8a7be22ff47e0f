"""The journal keeps the newest requests. It gives exact results, or raises EvictedError."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

import pytest

from petstore_mock.errors import VerificationError
from petstore_mock.http.response import Head, Response
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.violations import Violation
from petstore_mock.journal.criteria import Criteria
from petstore_mock.journal.exchange import KEPT_BODY, Exchange
from petstore_mock.journal.journal import EvictedError, Journal
from petstore_mock.journal.outcomes import OUTCOMES, outcomes_of
from tests.unit.journal.conftest import KEY, exchange


@pytest.fixture
def journal(exchanges: list[Exchange]) -> Journal:
    journal = Journal(keys=lambda: (KEY,))
    for made in exchanges:
        journal.add(made)
    return journal


def test_evicted_requests_are_never_guessed() -> None:
    journal = Journal(limit=2)
    for number in range(5):
        journal.add(exchange("POST", body=b'{"name": "%d"}' % number))
    assert (journal.total, journal.evicted, journal.counts["createPet"]) == (5, 3, 5)
    assert journal.judge(Criteria({}, "createPet"), 5)[:2] == (
        True,
        "expected createPet 5 times; matching requests: 5 of 5",
    )
    with pytest.raises(VerificationError, match=r"matching requests: 5 of 5\nthe journal keeps these:"):
        journal.assert_not_called()
    questions: dict[str, Callable[[], object]] = {
        "iteration": lambda: list(journal),
        "index": lambda: journal[0],
        "slice": lambda: journal[-3:],
        "criteria": lambda: journal.assert_called(name="4"),
        "wait": lambda: journal.wait_for(times=3, timeout=0),
        "har": lambda: journal.to_har("never-written.har"),
    }
    for question in questions.values():
        with pytest.raises(EvictedError, match="dropped 3 of 5"):
            question()


def test_kept_requests_have_a_bound_in_bytes() -> None:
    journal, body = Journal(limit=10_000), b"x" * KEPT_BODY
    late = [exchange("POST", body=body, in_flight=True) for _ in range(400)]
    for made in late:
        journal.add(made)
    assert journal.evicted == 0
    for made in late:
        made.response = Response(Head(200), body, b"")
        made.complete("delayed", sent=True)
    for _ in range(3000):
        journal.add(exchange("POST", body=body))
    kept = journal.kept
    most = 10_000 * 16 * 1024
    assert 0.8 * most < sum(len(one.body) + len(one.response_body) for one in kept) < most
    with pytest.raises(EvictedError, match=f"only the newest {len(kept)} requests"):
        _ = journal[0]
    journal.clear()
    for _ in range(100):
        journal.add(exchange("POST", body=body))
    assert journal.evicted == 0


def test_a_large_value_that_broke_a_rule_is_described() -> None:
    large: list[object] = [[]] * 1000
    values = [large, {"a": large}, "x" * 2000, "Rex", 5]
    made = exchange("POST", body=b"x" * 5000, status=400, condition=CONDITIONS["invalid_body"])
    made.violations = tuple(Violation("body.name", "type", "must be a number", value) for value in values)
    words = [str(violation) for violation in made.violations]
    Journal().add(made)
    assert [violation.value for violation in made.violations[3:]] == ["Rex", 5]
    assert [len(str(violation.value)) < 100 for violation in made.violations[:3]] == [True] * 3
    assert [str(violation) for violation in made.violations] == words


def test_first_unexpected_violation_is_kept() -> None:
    journal = Journal(limit=1)
    journal.add(exchange(status=400, condition=CONDITIONS["invalid_query"], expected=False))
    journal.add(exchange())
    assert [one.number for one in journal.violations] == [1]
    journal.clear()
    for expected in (True, False, False):
        journal.add(exchange(status=400, condition=CONDITIONS["invalid_query"], expected=expected))
    assert journal.violation_count == 3
    with pytest.raises(EvictedError):
        _ = journal.violations


def test_wait_for_a_status_ends_when_the_response_goes_out() -> None:
    journal = Journal()
    made = exchange("POST", status=201, in_flight=True)
    journal.add(made)
    assert made.status is None
    assert journal.wait_for("createPet", timeout=0) == [made]
    with pytest.raises(VerificationError, match=r"in flight .* status was none, expected 201"):
        journal.wait_for("createPet", timeout=0, status=201)
    threading.Timer(0.02, lambda: made.complete("delayed", sent=True)).start()
    assert journal.wait_for("createPet", timeout=30, status=201) == [made]


def test_listeners_are_called_at_the_beginning_and_the_end() -> None:
    journal, heard = Journal(limit=1), list[tuple[int, str]]()

    def listener(one: Exchange) -> None:
        heard.append((one.number, one.result))

    journal.listen(listener)
    first, second = exchange(in_flight=True), exchange(in_flight=True)
    journal.add(first)
    journal.add(second)
    first.complete("delayed", sent=True)  # it was evicted
    second.complete("client gone", sent=False)
    assert heard == [(1, "in flight"), (2, "in flight"), (2, "client gone")]


def of_status(outcomes: Iterable[str]) -> list[str]:
    """Leave out the outcomes of optional fields, except those of ``status``."""
    return [one for one in outcomes if " status " in one or not one.endswith((" present", " absent"))]


def test_outcomes_are_those_of_the_table(exchanges: list[Exchange]) -> None:
    assert of_status(OUTCOMES["createPet"]) == ["201", "201 status present", "201 status absent", "400", "401"]
    assert OUTCOMES["listPets"][:3] == ("200", "200 status present", "200 status absent")
    shown = [of_status(outcomes_of(made)) for made in exchanges]
    assert shown == [["200"], ["201", "201 status absent"], ["400"], ["fault reset"], ["fault truncate"]]
    page = exchange(target="/v1/pets?limit=2", response_body=b'[{"id": 1}, {"id": 2, "status": "sold"}]')
    assert of_status(outcomes_of(page)) == ["200", "200 status absent", "200 status present"]
