"""The journal keeps the newest requests, answers questions about all of them exactly, or refuses to."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import faults
from petstore_mock.errors import PetStoreMockError, VerificationError
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.journal.exchange import KEPT_BODY
from petstore_mock.journal.journal import EvictedError, Journal
from petstore_mock.journal.outcomes import OUTCOMES, Coverage, outcomes_of
from tests.unit.journal.conftest import KEY, exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.journal.exchange import Exchange


@pytest.fixture
def journal(exchanges: list[Exchange]) -> Journal:
    journal = Journal(keys=lambda: (KEY,))
    for made in exchanges:
        journal.add(made)
    return journal


def test_reading(journal: Journal) -> None:
    assert (len(journal), journal.last.number, [one.number for one in journal[-2:]]) == (5, 5, [4, 5])
    assert journal.counts == {"listPets": 2, "createPet": 3}
    assert [one.number for one in journal.for_operation("createPet")] == [2, 3, 5]
    with pytest.raises(IndexError):
        journal[5]
    with pytest.raises(PetStoreMockError, match="did you mean 'getPet'"):
        journal.for_operation("getPt")  # type: ignore[arg-type]
    journal.clear()
    assert (len(journal), list(journal), journal.violation_count, journal.clears) == (0, [], 0, 1)


CRITERIA: list[tuple[dict[str, Any], list[int]]] = [
    ({"name": "Rex", "categoryId": 1}, [2]),
    ({"categoryId": True}, []),
    ({"categoryId": 1.0}, []),
    ({"name": None}, []),
    ({"limit": 5}, [1]),
    ({"limit": None}, [4]),
    ({"status": 201}, [2, 5]),
    ({"query": {"limit": 5}}, [1]),
    ({"query": {}, "method": "POST"}, [2, 3, 5]),
    ({"headers": {"content-type": "application/json"}}, [2]),
    ({"fault": "reset"}, [4]),
    ({"fault": faults.truncate(0.5)}, [5]),
    ({"fault": {"kind": "hang"}}, []),
    ({"fault": None, "condition": None}, [1, 2]),
    ({"condition": "invalid_body"}, [3]),
    ({"json": {"categoryId": 1, "name": "Rex"}}, [2]),
    ({"body": b"\xff%'"}, [5]),
    ({"path": "/v1/pets", "operation": "createPet"}, [2, 3, 5]),
]


@pytest.mark.parametrize(("criteria", "numbers"), CRITERIA, ids=str)
def test_criteria(journal: Journal, criteria: dict[str, Any], numbers: list[int]) -> None:
    where = dict(criteria)
    operation = where.pop("operation", None)
    assert journal.check(operation, len(numbers), where)[0]
    if numbers:
        assert [one.number for one in journal.assert_called(operation, **where)] == numbers
    else:
        with pytest.raises(VerificationError, match="it never arrived, but 5 other requests did"):
            journal.assert_called(operation, **where)


def test_failed_assertion_shows_the_nearest(journal: Journal) -> None:
    _, message = journal.check("createPet", 2, {"name": "Rex"})
    assert [line.split("  createPet")[1] for line in message.splitlines() if " ms " in line] == [
        "",
        "  fault truncate(0.5): name: the body was not JSON",
        "  invalid_body (§2): name was 5, expected 'Rex'",
    ]
    with pytest.raises(VerificationError, match=r"expected {'authorization': 'Bearer \*\*\*0001'}") as failed:
        journal.assert_called(headers={"authorization": "Bearer petstore-99999999-000001"})
    assert KEY not in str(failed.value)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"nme": "x"}, r"did you mean 'name'\?"),
        ({"operation": "getPet", "name": "x"}, "criteria of getPet: petId, status"),
        ({"times": -1}, "times as a whole number of at least 0"),
        ({"status": 2.5}, "status as an integer"),
    ],
)
def test_wrong_questions_are_refused(journal: Journal, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        journal.assert_called(**asked)


def test_evicted_requests_are_never_guessed() -> None:
    journal = Journal(limit=2)
    for number in range(5):
        journal.add(exchange("POST", body=b'{"name": "%d"}' % number))
    assert (journal.total, journal.evicted, journal.counts["createPet"]) == (5, 3, 5)
    assert journal.check("createPet", 5, {}) == (True, "expected createPet 5 times; it arrived 5 times")
    with pytest.raises(VerificationError, match=r"it arrived 5 times, among 5 requests\nthe journal still keeps:"):
        journal.assert_not_called()
    questions: dict[str, Callable[[], object]] = {
        "iteration": lambda: list(journal),
        "index": lambda: journal[0],
        "slice": lambda: journal[-3:],
        "criteria": lambda: journal.assert_called(name="4"),
        "check": lambda: journal.check(None, None, {"name": "4"}),
        "wait": lambda: journal.wait_for(times=3, timeout=0),
        "har": lambda: journal.to_har("never-written.har"),
    }
    for question in questions.values():
        with pytest.raises(EvictedError, match="3 of 5 are gone"):
            question()


def test_first_unexpected_violation_is_kept() -> None:
    journal = Journal(limit=1)
    for expected in (True, False, False):
        journal.add(exchange(status=400, condition=CONDITIONS["invalid_query"], expected=expected))
    journal.add(exchange())
    assert journal.violation_count == 3
    with pytest.raises(EvictedError):
        _ = journal.violations


def test_long_bodies_are_kept_by_their_beginning() -> None:
    journal = Journal()
    made = exchange("POST", body=b'"%b"' % (b"x" * KEPT_BODY), response_body=b"y" * (KEPT_BODY + 7))
    request, response = made.request, made.response
    journal.add(made)
    assert (len(made.body), made.body_size, len(made.response_body)) == (KEPT_BODY, KEPT_BODY + 2, KEPT_BODY)
    assert made.response_size == KEPT_BODY + 7
    assert len(request.body) == KEPT_BODY + 2, "the core goes on with the whole request"
    assert response is not None
    assert len(response.body) == KEPT_BODY + 7
    with pytest.raises(VerificationError, match="keeps 65536 of the 65538 bytes of the body"):
        journal.assert_called(name="Rex")


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
    with pytest.raises(PetStoreMockError, match="await journal"):
        asyncio.run(_waits_in_a_loop(journal))


async def _waits_in_a_loop(journal: Journal) -> None:
    threading.Timer(0.02, lambda: journal.add(exchange())).start()
    assert len(await journal.wait_for_async("listPets", timeout=30)) == 1
    with pytest.raises(VerificationError, match=r"expected a request 9 times within 0.01 s"):
        await journal.wait_for_async(times=9, timeout=0.01)
    journal.wait_for()


def test_listeners_hear_of_beginning_and_end() -> None:
    journal, heard = Journal(limit=1), list[tuple[int, str]]()

    def listener(one: Exchange) -> None:
        heard.append((one.number, one.result))

    journal.listen(listener)
    first, second = exchange(in_flight=True), exchange(in_flight=True)
    journal.add(first)
    journal.add(second)
    first.complete("delayed", sent=True)  # it was evicted
    second.complete("client gone", sent=False)
    journal.unlisten(listener)
    journal.add(exchange())
    assert heard == [(1, "in flight"), (2, "in flight"), (2, "client gone")]


def test_copies_and_pickles_are_masked() -> None:
    made = exchange("POST", target=f"/v1/pets?a={KEY}", body=f'{{"name": "{KEY}"}}'.encode())
    made.keys = lambda: (KEY,)
    assert made.misplaced_keys == ("target", "body")
    assert KEY in made.target
    for other in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert (other.target, other.body) == ("/v1/pets?a=***0001", b'{"name": "***0001"}')
        assert KEY not in str(vars(other)) + str(vars(other.request) if hasattr(other.request, "__dict__") else "")
        assert repr(other) == repr(made)


def test_outcomes_are_those_of_the_table(exchanges: list[Exchange]) -> None:
    assert OUTCOMES["createPet"] == ("201 status present", "201 status absent", "400", "401")
    assert OUTCOMES["listPets"][:3] == ("200 empty page", "200 partial page", "200 full page")
    shown = [outcomes_of(made) for made in exchanges]
    assert shown == [["200 empty page"], ["201 status absent"], ["400"], ["fault reset"], ["fault truncate"]]
    page = exchange(target="/v1/pets?limit=2", response_body=b'[{"id": 1}, {"id": 2, "status": "sold"}]')
    assert outcomes_of(page) == ["200 status absent", "200 status present", "200 full page"]
    coverage = Coverage()
    coverage.add(page)
    counted = [one for one in coverage.to_data()["outcomes"] if one["shown"]]
    assert {one["outcome"] for one in counted} == set(outcomes_of(page))
