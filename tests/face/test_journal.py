"""The journal: its exchanges, its assertions, and waiting for a request."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import threading
from datetime import UTC, datetime
from enum import Enum, IntEnum
from http import HTTPMethod
from pathlib import Path
from typing import Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, VerificationError, faults
from tests.client import JSON, Client
from tests.face.conftest import on_a_socket

Face = Any  # PetStoreMock or RemotePetStore; the tests use only members of both


class Status(str, Enum):  # noqa: UP042  # not a StrEnum: its str() is another text
    sold = "sold"


class Category(IntEnum):
    dogs = 1


@pytest.fixture
def asked(client: Client) -> Client:
    """Return a client that has sent five requests with different results."""
    body = b'{"name": "Rex", "categoryId": 1, "status": "sold"}'
    client.authed("POST", "/v1/pets", body, JSON, ("X-Trace", "t1"))
    client.list("?limit=5&status=sold")
    client.get(7)
    client.list("?limit=0")
    client.petstore.inject(503, on="getPet", times=1)
    client.status("getPet", pet_id=1)
    return client


# Exchanges


@on_a_socket
def test_a_reason_is_as_short_as_the_message(petstore: Face, client: Client) -> None:
    """The log, the reports and the console show reasons, and a request may break thousands of rules."""
    response = client.list("?" + "&".join(f"p{number}=1" for number in range(2000)))
    reason = petstore.journal.last.reason
    assert reason.endswith("and 1980 more")
    assert reason in response.message
    petstore.journal.clear()


@on_a_socket
def test_an_exchange_has_the_request_and_the_response(petstore: Face, client: Client) -> None:
    petstore.inject(faults.delay(0.001), on="createPet", times=1)
    body = b'{"name": "Rex", "categoryId": 1, "colour": "\xc3\xa9"}'
    response = client.authed("POST", "/v1/pets?x=1&x=2", body, JSON, ("X-A", "ü"))
    broken = petstore.journal.last
    assert (broken.number, broken.method, broken.target, broken.path) == (1, "POST", "/v1/pets?x=1&x=2", "/v1/pets")
    assert (broken.query, broken.operation, broken.status, broken.executed) == ({"x": "2"}, "createPet", 400, False)
    assert (broken.headers["x-a"], broken.body, broken.json()["colour"]) == ("ü", body, "é")
    assert copy.copy(broken).headers["authorization"] == f"Bearer ***{petstore.api_key[-4:]}"
    assert {(one.path, one.rule) for one in broken.violations} == {
        ("query.x", "additionalProperties"),
        ("body.colour", "additionalProperties"),
    }
    assert (broken.condition.name, broken.is_violation, broken.expected) == ("invalid_query", True, False)
    assert broken.reason
    assert broken.reason in response.message
    response = client.create(name="Rex", categoryId=1)
    made = petstore.journal[1]
    assert (made.number, made.status, made.executed, made.is_violation) == (2, 201, True, False)
    assert (made.response_body, made.response_headers["content-type"]) == (response.body, "application/json")
    assert made.response_headers["date"] == response.header("Date")
    assert (str(made.fault), made.outcome, made.condition, made.section) == ("delay(0.001)", "delayed", None, None)
    assert abs(made.timestamp - datetime.now(UTC).timestamp()) < 60
    assert (made.duration > 0, made.connection > 0, made.exchange) == (True, True, 2)


@on_a_socket
@pytest.mark.parametrize("number", [b"1e400", b"7" * 401, b"7" * 5_000], ids=["exponent", "digits", "many digits"])
def test_a_body_with_a_number_of_any_size_is_kept(petstore: Face, client: Client, number: bytes) -> None:
    body = b'{"name":"Rex","categoryId":%b}' % number
    assert client.post(body).status == 400
    assert petstore.journal.last.body == body


@on_a_socket
def test_a_long_body_keeps_its_first_64_kib_and_head_has_none(petstore: Face, client: Client) -> None:
    client.create(name="x" * 100_000, categoryId=1)
    entry = petstore.journal.last
    assert (entry.status, len(entry.body), len(entry.response_body)) == (201, 65_536, 65_536)
    client.authed("HEAD", "/v1/pets", None, ("X-One", "1"), ("x-one", "2"))
    entry = petstore.journal.last
    assert (entry.headers["x-one"], entry.operation, entry.response_body) == ("1, 2", "listPets", b"")


def test_a_held_response_has_its_status_and_date_once_it_goes_out(petstore: Face, client: Client) -> None:
    petstore.inject(faults.delay(1.0), on="createPet", times=1)
    petstore.clock.freeze()
    thread = threading.Thread(target=client.status, args=["createPet"])
    thread.start()
    (entry,) = petstore.journal.wait_for("createPet", timeout=30)
    before = entry.status, entry.executed
    petstore.clock.travel_to("2029-01-01")
    thread.join()
    assert petstore.journal.last is entry
    assert (before, (entry.status, entry.executed)) == ((None, False), (201, True))
    assert (entry.duration >= 1.0, entry.response_headers["date"]) == (True, "Mon, 01 Jan 2029 00:00:00 GMT")


JWT = "eyJhbGciOiJIUzI1NiJ9." + "A" * 50 + "." + "B" * 43
# The target, fields and body of requests that have a key somewhere.
PLACES: dict[str, tuple[str, list[tuple[str, str]], str | None]] = {
    "authorization": ("/v1/pets", [], None),
    "query": ("/v1/pets?limit={}", [], None),
    "name": ("/v1/pets?{}=1", [], None),
    "path": ("/v1/pets/{}", [], None),
    "long path": ("/v1/" + "a" * 173 + "{}", [], None),
    "field": ("/v1/pets", [("X-Anything", "v {}")], None),
    "value": ("/v1/pets", [JSON], '{{"name": "Rex", "categoryId": ["x", "{}"]}}'),
    "member": ("/v1/pets", [JSON], '{{"name": "Rex", "categoryId": 1, "{}": 1}}'),
}


@pytest.mark.parametrize("options", [{}, {"api_key": JWT}], ids=["issued", "long"])
@pytest.mark.parametrize("place", PLACES)
def test_a_key_is_never_shown(petstore: Face, place: str, options: dict[str, Any], tmp_path: Path) -> None:
    target, fields, body = PLACES[place]
    with petstore.fresh(**options) as inner, Client(inner) as client:
        key = inner.api_key
        content = None if body is None else body.format(key).encode()
        head = [(name, value.format(key)) for name, value in fields]
        response = client.authed("GET" if body is None else "POST", target.format(key), content, *head)
        shown = repr([response.body.decode(), *borders(inner.journal, tmp_path / "journal.har")])
        assert key[:12] not in shown
        assert key[-12:] not in shown


def borders(journal: Any, har: Path) -> list[object]:
    """Return the last request as text, as HAR, and as a copy."""
    entry = journal.last
    seen = copy.copy(entry)
    journal.to_har(har)
    shown = [repr(entry), entry.request_line, entry.reason, entry.decision, repr(journal), har.read_text()]
    return [*shown, seen.target, seen.path, seen.query, seen.fields, seen.headers, seen.response_fields]


def test_foreign_credentials_are_masked(petstore: Face, client: Client, tmp_path: Path) -> None:
    client.send("GET", "/v1/pets?x=sk-live-0123456789", [("Authorization", "Bearer sk-live-0123456789")])
    assert "sk-live" not in repr(borders(petstore.journal, tmp_path / "journal.har"))


def test_a_request_is_raw_in_its_process_and_masked_in_a_pickle() -> None:
    with PetStoreMock() as petstore, Client(petstore) as client:
        client.authed("GET", f"/v1/pets?limit={petstore.api_key}")
        entry = petstore.journal.last
        assert entry.query == {"limit": petstore.api_key}
        assert entry.headers["authorization"] == f"Bearer {petstore.api_key}"
        pickled = pickle.dumps(entry)
        assert petstore.api_key.encode() not in pickled
        for found in (copy.copy(entry), copy.deepcopy(entry), pickle.loads(pickled)):
            assert repr(found) == repr(entry)


# A sequence


def test_a_journal_is_a_sequence(petstore: Face, client: Client) -> None:
    journal = petstore.journal
    assert (len(journal), journal.violations) == (0, [])
    with pytest.raises(PetStoreMockError):
        _ = journal.last
    for limit in (1, 2, 0):
        client.list(f"?limit={limit}")
    assert (len(journal), [entry.query["limit"] for entry in journal]) == (3, ["1", "2", "0"])
    assert (journal[0].number, journal[-1] is journal[2] is journal.last) == (1, True)
    assert [entry.number for entry in journal[1:]] == [2, 3]
    assert [entry.number for entry in journal[::-2]] == [3, 1]
    assert journal[7:] == []
    for index in (3, -4):
        with pytest.raises(IndexError):
            journal[index]
    assert [entry.number for entry in journal.violations] == [3]
    assert [entry.number for entry in journal.for_operation("listPets")] == [1, 2, 3]
    assert journal.for_operation("getPet") == []
    with pytest.raises(PetStoreMockError, match="'listPets'"):
        journal.for_operation("listPet")


@on_a_socket
def test_the_journal_is_written_as_har(petstore: Face, client: Client, tmp_path: Path) -> None:
    client.create(name="Rex", categoryId="1")
    petstore.journal.to_har(tmp_path / "j.har")
    (entry,) = json.loads((tmp_path / "j.har").read_text())["log"]["entries"]
    request = entry["request"]
    assert (request["url"], request["method"], entry["response"]["status"]) == (f"{petstore.url}/pets", "POST", 400)


# Assertions


@pytest.mark.parametrize(
    ("operation", "criteria", "number"),
    [
        ("createPet", {}, 1),
        ("createPet", {"status": 201}, 1),
        ("createPet", {"status": "sold"}, 1),
        ("createPet", {"name": "Rex", "categoryId": 1}, 1),
        ("createPet", {"status": Status.sold, "categoryId": Category.dogs, "method": HTTPMethod.POST}, 1),
        ("createPet", {"json": {"status": Status.sold, "categoryId": Category.dogs, "name": "Rex"}}, 1),
        ("createPet", {"body": '{"name": "Rex", "categoryId": 1, "status": "sold"}'}, 1),
        ("createPet", {"body": b'{"name": "Rex", "categoryId": 1, "status": "sold"}'}, 1),
        ("createPet", {"headers": {"x-trace": "t1", "CONTENT-TYPE": "application/json"}}, 1),
        ("createPet", {"method": "POST", "path": "/v1/pets", "query": {}}, 1),
        (None, {"status": "sold", "name": "Rex"}, 1),
        ("listPets", {"status": "sold"}, 2),
        ("listPets", {"limit": 5}, 2),
        ("listPets", {"limit": "5"}, 2),
        ("listPets", {"query": {"limit": 5, "status": Status.sold}}, 2),
        ("listPets", {"query": {"limit": 0, "status": None}}, 4),
        ("listPets", {"limit": 0, "status": None}, 4),
        ("listPets", {"condition": "invalid_query", "status": 400}, 4),
        (None, {"petId": 7}, 3),
        ("getPet", {"status": 404, "fault": None}, 3),
        ("getPet", {"fault": "server_error"}, 5),
        ("getPet", {"condition": None}, 5),
    ],
    ids=range(22),
)
def test_assert_called_finds_the_request(
    petstore: Face, asked: Client, operation: str | None, criteria: dict[str, Any], number: int
) -> None:
    (found,) = asked.petstore.journal.assert_called(operation, times=1, **criteria)  # type: ignore[arg-type]
    assert found.number == number
    assert petstore.journal.assert_called(operation, **criteria) == [found]
    with pytest.raises(VerificationError):
        petstore.journal.assert_called(operation, times=0, **criteria)


@pytest.mark.parametrize(
    ("operation", "criteria", "was", "expected"),
    [
        ("createPet", {"status": 400}, "201", "400"),
        ("createPet", {"status": "pending"}, "'sold'", "'pending'"),
        ("createPet", {"name": "Tom"}, "'Rex'", "'Tom'"),
        ("createPet", {"categoryId": 2}, "1", "2"),
        ("createPet", {"json": {"name": "Rex", "categoryId": 1.0, "status": "sold"}}, "1", "1.0"),
        ("createPet", {"name": None}, "'Rex'", "name"),
        ("createPet", {"json": {"name": "Rex"}}, "categoryId", "json"),
        ("createPet", {"body": ""}, '"Rex"', "body"),
        ("createPet", {"headers": {"X-Trace": "t2"}}, "'t1'", "'t2'"),
        ("createPet", {"headers": {"X-Other": "1"}}, "X-Other", "'1'"),
        ("createPet", {"method": "PUT"}, "'POST'", "'PUT'"),
        ("createPet", {"path": "/pets"}, "'/v1/pets'", "'/pets'"),
        ("createPet", {"query": {"a": "1"}}, "{}", "{'a': '1'}"),
        ("createPet", {"fault": "reset"}, "none", "'reset'"),
        ("createPet", {"condition": "missing_key"}, "none", "missing_key"),
        ("listPets", {"limit": 6}, "'5'", "expected 6"),
        ("listPets", {"query": {"limit": True, "status": "sold"}}, "'5'", "True"),
        ("getPet", {"petId": 8}, "'7'", "expected 8"),
        ("getPet", {"status": 201}, "503", "server_error(503)"),
        (None, {"limit": 99, "path": "/v1/pets/7"}, "getPet", "limit"),
    ],
    ids=range(20),
)
def test_a_near_miss_shows_received_and_expected_values(
    petstore: Face, asked: Client, operation: str | None, criteria: dict[str, Any], was: str, expected: str
) -> None:
    with pytest.raises(VerificationError) as failure:
        asked.petstore.journal.assert_called(operation, **criteria)  # type: ignore[arg-type]
    differences = str(failure.value).partition("\n")[2]
    assert was in differences
    assert expected in differences
    assert petstore.journal.assert_called(operation, times=0, **criteria) == []


def test_a_failure_lists_a_few_near_misses_nearest_first(petstore: Face, asked: Client) -> None:
    asked.create(name="Tom", categoryId=2)
    with pytest.raises(VerificationError) as failure:
        petstore.journal.assert_called("createPet", times=2, name="Rex", categoryId=2)
    _, _, nearest, other = str(failure.value).splitlines()
    assert (nearest.split()[0], other.split()[0]) == ("6", "1")
    for number in range(20):
        asked.get(number)
    with pytest.raises(VerificationError) as failure:
        petstore.journal.assert_called("getPet", petId="x" * 10_000)
    assert len(str(failure.value).splitlines()) <= 10
    assert len(str(failure.value)) < 3000


def test_assert_not_called_lists_the_requests(petstore: Face, asked: Client) -> None:
    with pytest.raises(VerificationError) as failure:
        petstore.journal.assert_not_called("getPet")
    assert [line.split()[0] for line in str(failure.value).splitlines()[2:]] == ["3", "5"]
    petstore.reset()
    petstore.journal.assert_not_called()
    asked.send("GET", "/nowhere")
    petstore.journal.assert_not_called("getPet")
    with pytest.raises(VerificationError):
        petstore.journal.assert_not_called()


def test_values_are_compared_as_json_compares_them(petstore: Face, client: Client) -> None:
    client.create(name=["a", 1], categoryId={"x": 1, "y": None})
    client.list("?limit=1&limit=2")
    petstore.journal.assert_called("createPet", json={"categoryId": {"y": None, "x": 1}, "name": ("a", 1)})
    petstore.journal.assert_called("listPets", limit=["1", "2"], query={"limit": [1, 2]})
    for other in (["a", 1.0], ["a", True], [1, "a"], ["a"], "a", 1):
        body = {"categoryId": {"y": None, "x": 1}, "name": other}
        petstore.journal.assert_called("createPet", times=0, json=body)


def test_a_body_that_is_no_object_has_no_arguments(petstore: Face, client: Client) -> None:
    for body in (b"\xff", b"[1]", b"[" * 60_000):
        client.post(body)
    petstore.journal.assert_called("createPet", times=0, name="Rex")
    with pytest.raises(ValueError, match="nested"):
        petstore.journal.last.json()


def test_a_key_is_compared_and_never_shown(petstore: Face, client: Client) -> None:
    client.list()
    petstore.journal.assert_called("listPets", times=1, headers=petstore.headers)
    with pytest.raises(VerificationError) as failure:
        petstore.journal.assert_called("listPets", headers={"Authorization": "Bearer yet-another-key-0001"})
    assert petstore.api_key not in str(failure.value)
    assert "yet-another-key" not in str(failure.value)


@pytest.mark.parametrize(
    ("operation", "criteria", "named"),
    [
        ("listPet", {}, "'listPets'"),
        ("createPet", {"category_id": 1}, "'categoryId'"),
        ("createPet", {"limit": 1}, "name, categoryId, status"),
        (None, {"header": {}}, "'headers'"),
        ("createPet", {"status": 201.0, "times": 0}, "status"),
        *(("createPet", {"status": one, "times": 0}, "status") for one in (True, False)),
        *((None, {"json": one, "times": 0}, "JSON") for one in ({1}, [float("nan")])),
        *((None, {"headers": one, "times": 0}, "headers") for one in ({"X-Page": 1}, {1: "x"})),
        ("createPet", {"body": {}}, "body"),
        (None, {"method": b"GET"}, "method"),
        ("getPet", {"status": None}, "status"),
        ("listPets", {"time": 2}, "'times'"),
        ("listPets", {"query": "limit=1"}, "query"),
        ("listPets", {"fault": "reste"}, "'reset'"),
        ("listPets", {"fault": 503}, "fault"),
        ("listPets", {"condition": "missing_keys"}, "'missing_key'"),
        *(("listPets", {"times": one}, "times") for one in (-1, True)),
        *(("listPets", {"timeout": one}, "timeout") for one in (-1, float("inf"), float("nan"), "1")),
        ("listPets", {"timeout": 1, "times": 0}, "times"),
        ("listPet", {"timeout": 30}, "'listPets'"),
    ],
    ids=range(27),
)
def test_an_impossible_assertion_or_wait_is_refused(
    petstore: Face, operation: str | None, criteria: dict[str, Any], named: str
) -> None:
    ask = petstore.journal.wait_for if "timeout" in criteria else petstore.journal.assert_called
    with pytest.raises(PetStoreMockError) as refused:
        ask(operation, **criteria)
    assert named in str(refused.value)


@pytest.mark.parametrize("value", [b"Bearer hunter2-hunter2", ["hunter2-hunter2"], {"a": "hunter2-hunter2"}])
def test_the_refusal_of_a_criterion_of_another_type_shows_no_key(petstore: Face, value: object) -> None:
    with pytest.raises(PetStoreMockError) as refused:
        petstore.journal.assert_called(headers={"Authorization": value})
    assert "hunter2" not in str(refused.value)
    with pytest.raises(PetStoreMockError) as refused:
        petstore.inject(503, where={"headers": {"X-Api-Key": value}})
    assert "hunter2" not in str(refused.value)


def test_a_list_of_keys_in_a_query_is_not_shown(petstore: Face, client: Client) -> None:
    client.list()
    with pytest.raises(VerificationError) as failure:
        petstore.journal.assert_called(query={"api_key": ["hunter2-hunter2", "x"], "limit": ["5", "6"]})
    assert "hunter2" not in str(failure.value)
    assert "['5', '6']" in str(failure.value)


@pytest.mark.parametrize("value", [float("nan"), "\ud800"], ids=["a NaN", "a surrogate"])
def test_the_error_about_an_impossible_json_names_the_criterion(value: object) -> None:
    with pytest.raises(PetStoreMockError, match=r"expected json to be a JSON value; .*: for a .* criterion body"):
        PetStoreMock().journal.assert_called(json=value)


# Waiting


def test_a_wait_ends_as_soon_as_the_requests_arrive(petstore: Face, client: Client) -> None:
    thread = threading.Timer(0.05, lambda: [client.list(), client.list()])
    thread.start()
    found = petstore.journal.wait_for("listPets", times=2, timeout=30)
    thread.join()
    assert [entry.number for entry in found] == [1, 2]
    assert petstore.journal.wait_for(timeout=0)[0].number == 1, "earlier requests must count"
    with pytest.raises(VerificationError, match="createPet"):
        petstore.journal.wait_for("createPet", timeout=0.05)


def test_an_event_loop_waits_without_being_blocked(petstore: Face, client: Client) -> None:
    async def wait() -> list[Any]:
        with pytest.raises(PetStoreMockError, match="wait_for_async"):
            petstore.journal.wait_for("listPets")
        waiting = asyncio.create_task(petstore.journal.wait_for_async("listPets", timeout=30))
        await asyncio.sleep(0)
        await asyncio.to_thread(client.list)
        found: list[Any] = await waiting
        with pytest.raises(VerificationError, match="getPet"):
            await petstore.journal.wait_for_async("getPet", timeout=0.01)
        return found

    assert [entry.operation for entry in asyncio.run(wait())] == ["listPets"]
