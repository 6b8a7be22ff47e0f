"""What a test can ask of its client's requests, and what a failing assertion says."""

from __future__ import annotations

import json
from enum import Enum, IntEnum
from http import HTTPMethod
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMockError, VerificationError, faults
from petstore_mock.messages.request import ApiRequest
from tests.inside.core import Core

if TYPE_CHECKING:
    from petstore_mock.contract.interface import OperationName

NESTED: list[Any] = []  # deeper than json can go
for _ in range(100_000):
    NESTED = [NESTED]


class Status(str, Enum):  # noqa: UP042  # not a StrEnum: its str() is another text
    sold = "sold"


class Category(IntEnum):
    dogs = 1


@pytest.fixture
def core() -> Core:
    """A core that has answered one request of every kind."""
    core = Core()
    core.create({"name": "Rex", "categoryId": 1, "status": "sold"}, headers={"X-Trace": "t1"})
    core.list("?limit=5&status=sold")
    core.get(7)
    core.list("?limit=0")
    core.world.plan.add(503, on="getPet", times=1)
    core.get(1)
    return core


def test_without_an_operation_any_request_counts(core: Core) -> None:
    assert core.journal.assert_called() == core.journal.kept
    assert core.journal.assert_called(times=1, petId=7) == [core.journal[2]]


@pytest.mark.parametrize(
    ("operation", "criteria", "number"),
    [
        ("createPet", {}, 1),
        ("createPet", {"status": 201}, 1),
        ("createPet", {"status": "sold"}, 1),
        ("createPet", {"name": "Rex", "categoryId": 1}, 1),
        ("createPet", {"status": Status.sold, "categoryId": Category.dogs, "method": HTTPMethod.POST}, 1),
        ("createPet", {"json": {"status": "sold", "categoryId": 1, "name": "Rex"}}, 1),
        ("createPet", {"json": {"status": Status.sold, "categoryId": Category.dogs, "name": "Rex"}}, 1),
        ("createPet", {"body": '{"name": "Rex", "categoryId": 1, "status": "sold"}'}, 1),
        ("createPet", {"body": b'{"name": "Rex", "categoryId": 1, "status": "sold"}'}, 1),
        ("createPet", {"headers": {"x-trace": "t1", "CONTENT-TYPE": "application/json"}}, 1),
        ("createPet", {"method": "POST", "path": "/v1/pets", "query": {}}, 1),
        (None, {"status": "sold", "name": "Rex"}, 1),
        ("listPets", {"status": "sold"}, 2),
        ("listPets", {"limit": 5}, 2),
        ("listPets", {"limit": "5"}, 2),
        ("listPets", {"query": {"limit": 5, "status": "sold"}}, 2),
        ("listPets", {"query": {"limit": 5, "status": Status.sold}}, 2),
        ("listPets", {"query": {"limit": 0, "status": None}}, 4),
        ("listPets", {"status": Status.sold}, 2),
        ("listPets", {"limit": 0, "status": None}, 4),
        ("listPets", {"condition": "invalid_query", "status": 400}, 4),
        ("getPet", {"petId": 7}, 3),
        ("getPet", {"status": 404, "fault": None}, 3),
        ("getPet", {"fault": "server_error"}, 5),
        ("getPet", {"fault": faults.server_error(503)}, 5),
        ("getPet", {"condition": None}, 5),
        (None, {"status": 503}, 5),
    ],
)
def test_assert_called_finds_the_request(
    core: Core, operation: OperationName | None, criteria: dict[str, Any], number: int
) -> None:
    (found,) = core.journal.assert_called(operation, times=1, **criteria)
    assert found.number == number


@pytest.mark.parametrize(
    ("operation", "criteria", "difference"),
    [
        ("createPet", {"status": 400}, "status was 201, expected 400"),
        ("createPet", {"status": "pending"}, "status was 'sold', expected 'pending'"),
        ("createPet", {"name": "Tom"}, "name was 'Rex', expected 'Tom'"),
        ("createPet", {"categoryId": True}, "categoryId was 1, expected True"),
        ("createPet", {"categoryId": 1.0}, "categoryId was 1, expected 1.0"),
        ("createPet", {"name": None}, "name was 'Rex', expected it not to be sent"),
        (
            "createPet",
            {"json": {"name": "Rex"}},
            "json was {'name': 'Rex', 'categoryId': 1, 'status': 'sold'}, expected",
        ),
        ("createPet", {"json": {"name": "Tom", "categoryId": 1, "status": "sold"}}, "json was {'name': 'Rex', "),
        ("createPet", {"body": ""}, 'body was b\'{"name": "Rex"'),
        ("createPet", {"headers": {"X-Trace": "t2"}}, "header X-Trace was 't1', expected 't2'"),
        ("createPet", {"headers": {"X-Other": "1"}}, "header X-Other was not sent, expected '1'"),
        ("createPet", {"method": "PUT"}, "method was 'POST', expected 'PUT'"),
        ("createPet", {"path": "/pets"}, "path was '/v1/pets', expected '/pets'"),
        ("createPet", {"query": {"a": "1"}}, "query was {}, expected {'a': '1'}"),
        ("createPet", {"fault": "reset"}, "fault was none, expected reset"),
        ("createPet", {"fault": faults.reset()}, "fault was none, expected reset()"),
        ("createPet", {"condition": "missing_key"}, "condition was none, expected missing_key"),
        ("listPets", {"limit": 6}, "limit was '5', expected '6'"),
        ("listPets", {"limit": None}, "limit was '5', expected not sent"),
        ("listPets", {"limit": True}, "limit was '5', expected True"),
        ("listPets", {"json": {}}, "the body was empty"),
        ("getPet", {"petId": 8}, "petId was '7', expected '8'"),
        ("getPet", {"status": 201}, "status was 503, expected 201 (fault server_error(503))"),
    ],
)
def test_near_miss_says_why_it_differs(
    core: Core, operation: OperationName, criteria: dict[str, Any], difference: str
) -> None:
    with pytest.raises(VerificationError) as failure:
        core.journal.assert_called(operation, **criteria)
    assert difference in str(failure.value)


def test_failure_lists_expected_count_and_nearest_first(core: Core) -> None:
    core.create({"name": "Tom", "categoryId": 2})
    with pytest.raises(VerificationError) as failure:
        core.journal.assert_called("createPet", times=2, name="Rex", categoryId=2)
    claim, title, nearest, other = str(failure.value).splitlines()
    assert claim == "expected createPet 2 times with name='Rex', categoryId=2; it never came, but 6 other requests did"
    assert title == "the nearest:"
    assert nearest.startswith("    6 POST /v1/pets 201 ")
    assert nearest.endswith(" ms createPet: name was 'Tom', expected 'Rex'")
    assert other.endswith(" ms createPet: categoryId was 1, expected 2")


def test_failure_of_too_many_lists_those_that_came(core: Core) -> None:
    with pytest.raises(VerificationError) as failure:
        core.journal.assert_called("listPets", times=1)
    lines = str(failure.value).splitlines()
    assert lines[0] == "expected listPets once; it came 2 times, among 5 requests"
    assert lines[1] == "these came:"
    assert [line.split()[2] for line in lines[2:]] == ["/v1/pets?limit=5&status=sold", "/v1/pets?limit=0"]


@pytest.mark.parametrize(
    ("sent", "operation", "said"),
    [
        (0, "getPet", "expected getPet once; no request came"),
        (1, "getPet", "expected getPet once; it never came, but 1 other request did"),
        (2, "getPet", "expected getPet once; it never came, but 2 other requests did"),
        (2, "listPets", "expected listPets once; it came 2 times, among 2 requests"),
    ],
)
def test_failure_counts_in_plain_words(sent: int, operation: OperationName, said: str) -> None:
    core = Core()
    for _ in range(sent):
        core.list()
    with pytest.raises(VerificationError) as failure:
        core.journal.assert_called(operation, times=1)
    assert str(failure.value).splitlines()[0] == said
    assert repr(core.journal) == f"<Journal of {sent} request{'' if sent == 1 else 's'}>"


def test_operation_that_was_never_called_shows_what_was_called_instead() -> None:
    core = Core()
    core.list()
    with pytest.raises(VerificationError, match=r"1 GET /v1/pets 200 .* listPets: it is listPets"):
        core.journal.assert_called("getPet")


def test_argument_of_a_refused_body_is_found_or_told_missing() -> None:
    core = Core()
    for body in (b"", b"\xff", b"[1]", b"[" * 100_000):
        core.create(body)
    with pytest.raises(VerificationError) as failure:
        core.journal.assert_called("createPet", name="Rex")
    text = str(failure.value)
    assert "name was not sent: the body was empty" in text
    assert "name was not sent: the body was no JSON" in text
    assert "name was not sent: the body was [1] (array" in text


def test_repeated_parameter_is_compared_as_a_list() -> None:
    core = Core()
    core.list("?limit=1&limit=2")
    core.journal.assert_called("listPets", limit=["1", "2"], query={"limit": [1, 2]})


def test_repeated_header_is_found_by_each_value_and_by_all_of_them() -> None:
    core = Core()
    core.worlds.handle(ApiRequest("GET", "/v1/pets", [(b"X-Trace", b"one"), (b"X-Trace", b"two")]))
    for value in ("one", "two", "one, two"):
        core.journal.assert_called(None, times=1, headers={"X-Trace": value})
    core.journal.assert_called(None, times=0, headers={"X-Trace": "two, one"})


def test_json_is_compared_as_json_does() -> None:
    """The order of members does not matter; that of items, and the kind of a number, do."""
    core = Core()
    core.create({"name": ["a", 1], "categoryId": {"x": 1, "y": None}})
    core.journal.assert_called("createPet", json={"categoryId": {"y": None, "x": 1}, "name": ("a", 1)})
    for other in (["a", 1.0], ["a", True], [1, "a"], ["a"], "a", 1):
        core.journal.assert_called("createPet", times=0, name=other)


def test_argument_of_another_operation_is_a_difference(core: Core) -> None:
    with pytest.raises(VerificationError, match="getPet has no argument limit"):
        core.journal.assert_called(None, limit=99, path="/v1/pets/7")


def test_times_zero_asserts_that_none_meets_the_criteria(core: Core) -> None:
    assert core.journal.assert_called("createPet", times=0, name="Tom") == []
    with pytest.raises(VerificationError, match="expected createPet 0 times with name='Rex'; it came once"):
        core.journal.assert_called("createPet", times=0, name="Rex")


def test_long_values_are_shortened() -> None:
    core = Core()
    core.create({"name": "x" * 10_000, "categoryId": 1})
    with pytest.raises(VerificationError) as failure:
        core.journal.assert_called("createPet", name="y" * 10_000)
    assert len(str(failure.value)) < 1_000


def test_near_misses_are_few() -> None:
    core = Core()
    for number in range(20):
        core.get(number)
    with pytest.raises(VerificationError) as failure:
        core.journal.assert_called("getPet", petId=100)
    lines = str(failure.value).splitlines()
    assert len(lines) == 8
    assert lines[-1] == "  and 15 more"


# Not called


def test_assert_not_called_passes_for_an_operation_that_never_came() -> None:
    core = Core()
    core.journal.assert_not_called()
    core.list()
    core.journal.assert_not_called("createPet")


def test_assert_not_called_lists_what_came(core: Core) -> None:
    with pytest.raises(VerificationError) as failure:
        core.journal.assert_not_called("getPet")
    lines = str(failure.value).splitlines()
    assert lines[0] == "expected no getPet; it came 2 times, among 5 requests"
    assert "absent_pet, There is no animal with this identifier: petId 7" in lines[2]


def test_assert_not_called_without_operation_counts_unknown_paths() -> None:
    core = Core()
    core.send("GET", "/nowhere")
    with pytest.raises(VerificationError, match="expected no request; it came once"):
        core.journal.assert_not_called()


# The test author's mistakes


@pytest.mark.parametrize(
    ("operation", "criteria", "words"),
    [
        ("listPet", {}, r"got 'listPet'\. Did you mean 'listPets'\?"),
        ("createPet", {"category_id": 1}, r"got category_id=1 \(int\)\. Did you mean 'categoryId'\?"),
        ("createPet", {"limit": 1}, r"criteria of createPet: name, categoryId, status, json, .*; got limit=1"),
        (None, {"header": {}}, r"criteria of a request: .*Did you mean 'headers'\?"),
        ("createPet", {"status": 201.0}, r"status as an int .* or as text .*; got status=201\.0 \(float\)"),
        ("getPet", {"status": None}, r"expected times, or criteria of getPet: petId, status, .*; got status=None"),
        ("listPets", {"time": 2}, r"expected times, or criteria of listPets: limit, .*Did you mean 'times'\?"),
        ("createPet", {"status": True}, r"got status=True \(bool\)"),
        ("createPet", {"json": object()}, "expected json to be a JSON value"),
        ("createPet", {"json": NESTED}, "expected json to be a JSON value; (maximum recursion|Stack overflow)"),
        ("createPet", {"body": {}}, r"expected body as bytes or text; got body=\{\} \(dict\)"),
        ("listPets", {"query": "limit=1"}, r"expected query as a mapping; got query='limit=1' \(str\)"),
        ("listPets", {"headers": {"A": 1}}, "expected headers as a mapping of text to text"),
        ("listPets", {"headers": "A: 1"}, "expected headers as a mapping of text to text"),
        ("listPets", {"fault": "reste"}, r"got fault='reste' \(str\)\. Did you mean 'reset'\?"),
        ("listPets", {"fault": 503}, r"expected fault to be the kind of a fault, .*; got fault=503 \(int\)"),
        ("listPets", {"condition": "missing_keys"}, r"Did you mean 'missing_key'\?"),
        ("listPets", {"times": -1}, r"times as a whole number of at least 0; got times=-1 \(int\)"),
        ("listPets", {"times": True}, r"got times=True \(bool\)"),
    ],
)
def test_impossible_question_raises_with_what_would_be_right(
    core: Core, operation: OperationName | None, criteria: dict[str, Any], words: str
) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        core.journal.assert_called(operation, **criteria)


def test_assert_not_called_of_an_unknown_operation_raises(core: Core) -> None:
    with pytest.raises(PetStoreMockError, match="Did you mean 'getPet'"):
        core.journal.assert_not_called("getPets")  # type: ignore[arg-type]  # the mistake that is meant


# Keys


def test_key_is_compared_and_never_shown() -> None:
    core = Core()
    core.list()
    core.list(key="another-key-of-no-world-0001")
    core.journal.assert_called("listPets", times=1, headers={"Authorization": f"Bearer {core.key}"})
    wrong = {"Authorization": "Bearer yet-another-key-0001"}
    with pytest.raises(VerificationError) as failure:
        core.journal.assert_called("listPets", headers=wrong)
    text = str(failure.value)
    assert "header Authorization was 'Bearer ***0001', expected another key" in text
    for key in (core.key, "another-key-of-no-world-0001", "yet-another-key-0001"):
        assert key not in text


def test_key_in_a_value_is_not_shown() -> None:
    core = Core(key="a-fixed-key-of-the-test")
    core.create({"name": core.key, "categoryId": 1})
    core.list(f"?q={core.key}")
    with pytest.raises(VerificationError) as failure:
        core.journal.assert_called(None, json=json.loads(f'{{"name": "{core.key}x"}}'))
    assert core.key not in str(failure.value)
    assert "***test" in str(failure.value)


def test_key_of_another_service_is_not_shown_by_any_difference() -> None:
    """A client that was given the real service's key shows it to the fake; the report is read by others."""
    core, foreign, parameter = Core(), "sk-live-0123456789", "sk-query-0123456789"
    core.create({"name": foreign, "categoryId": 1}, key=foreign)
    core.get(foreign, key=foreign)
    core.list(f"?api_key={parameter}")
    asked: list[dict[str, Any]] = [{"name": "Rex"}, {"json": {}}, {"body": "x"}, {"petId": 7}, {"path": "/v1/pets/7"}]
    for criteria in [*asked, {"query": {"api_key": "sk-asked-9876543210", "x": ["1", "2"]}}]:
        with pytest.raises(VerificationError) as failure:
            core.journal.assert_called(None, **criteria)
        text = str(failure.value)
        for key in (foreign, parameter, "sk-asked-9876543210"):
            assert key not in text
    assert "query was {'api_key': '***6789'}, expected {'api_key': '***3210', 'x': ['1', '2']}" in text
    core.journal.assert_called("listPets", query={"api_key": parameter})


def test_key_among_the_criteria_of_a_fault_is_not_shown() -> None:
    handle = Core().world.plan.add(503, where={"query": {"api_key": ["sk-asked-9876543210"], "limit": 5}})
    assert "where={'query': {'api_key': ['***3210'], 'limit': 5}}" in str(handle)
    assert handle.to_data()["where"] == {"query": {"api_key": ["***3210"], "limit": 5}}
