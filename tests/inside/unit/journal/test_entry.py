"""One entry: what it tells of the request, the decision and the answer, and what it hides."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from petstore_mock import faults
from petstore_mock.journal.rendering import render_journal
from petstore_mock.messages.request import ApiRequest
from tests.inside.core import Core

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.messages.response import ApiResponse


@pytest.fixture
def core() -> Core:
    return Core(at="2030-01-02T03:04:05")


def test_entry_tells_the_request_as_it_was_sent(core: Core) -> None:
    core.world.owner = "test_a"
    core.world.clock.freeze()
    core.send("GET", "/v1/pets?limit=2&status=s%C3%B6ld", b"x", headers={"X-One": "1"}, connection=3, exchange=2)
    entry = core.journal.last
    assert (entry.method, entry.target, entry.path) == ("GET", "/v1/pets?limit=2&status=s%C3%B6ld", "/v1/pets")
    assert entry.query == {"limit": "2", "status": "söld"}
    assert entry.body == b"x"
    assert entry.headers["x-one"] == "1"
    assert [name for name, _ in entry.fields] == ["Host", "Authorization", "X-One"]
    assert (entry.connection, entry.exchange, entry.owner) == (3, 2, "test_a")
    assert entry.moment.replace(microsecond=0) == datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert 0 < entry.duration < 10


def test_repeated_fields_are_joined(core: Core) -> None:
    asked = ApiRequest("GET", "/v1/pets", [(b"X-One", b"1"), (b"x-one", b"2")])
    core.worlds.handle(asked)
    assert core.journal.last.headers == {"x-one": "1, 2"}
    assert core.journal.last.headers["x-one"] == asked.header("X-One")


def test_entry_tells_the_answer_as_it_was_sent(core: Core) -> None:
    response = core.create()
    entry = core.journal.last
    assert (entry.status, entry.response_body) == (201, response.body)
    assert entry.response_headers["content-type"] == "application/json"
    assert entry.response_headers["date"] == response.date.decode()


def test_head_has_no_body(core: Core) -> None:
    core.send("HEAD", "/v1/pets")
    entry = core.journal.last
    assert (entry.status, entry.operation, entry.response_body) == (200, "listPets", b"")


def test_json_of_a_deep_body_raises_value_error(core: Core) -> None:
    core.create(b"[" * 100_000)
    with pytest.raises(ValueError, match="nests too deep"):
        core.journal.last.json()


def create_without_category(core: Core) -> None:
    core.create({"name": "Rex"})


def create_with_fault(core: Core) -> None:
    core.world.plan.add(faults.reset(), on="createPet", at="after_commit")
    core.defer_create()


def list_with_fault(core: Core) -> None:
    core.world.plan.add(503)
    core.list()


DECISIONS: dict[str, tuple[Callable[[Core], object], str, str]] = {
    "plain": (lambda core: core.list(), "executed", ""),
    "created": (lambda core: core.create(), "executed", ""),
    "got": (lambda core: (core.create(), core.get()), "executed", ""),
    "options": (lambda core: core.send("OPTIONS", "/v1/pets"), "answered", ""),
    "body": (
        create_without_category,
        "refused: invalid_body (§2)",
        "body.categoryId is required and missing",
    ),
    "key": (lambda core: core.list(key="x"), "refused: unknown_key (§5)", "The API key is not valid"),
    "http": (
        lambda core: core.send("PUT", "/v1/pets"),
        "refused: method_not_allowed (RFC 9110 §15.5.6)",
        "The method is not allowed here",
    ),
    "fault": (list_with_fault, "fault server_error(503)", "fault server_error(503)"),
    "lost": (create_with_fault, "executed, fault reset()", "fault reset()"),
}


@pytest.mark.parametrize("case", DECISIONS)
def test_decision_says_what_happened(core: Core, case: str) -> None:
    act, decision, reason = DECISIONS[case]
    act(core)
    entry = core.journal.last
    assert entry.decision == decision
    assert entry.reason.startswith(reason)
    assert bool(entry.reason) == bool(reason)


def test_answer_of_httpserver_is_a_decision(core: Core) -> None:
    core.list()
    core.journal.last.by_expectation = True
    assert core.journal.last.decision == "executed, answered by httpserver"


def test_violation_names_the_sentence_of_the_interface(core: Core) -> None:
    create_without_category(core)
    sentence = core.journal.last.sentence
    assert sentence is not None
    assert (sentence.section, sentence.text[:18]) == ("2", "NewPet: categoryId")
    core.list()
    assert core.journal.last.sentence is None
    assert core.journal.last.section is None


def test_repr_says_where_and_what_came_of_it(core: Core) -> None:
    core.list()
    assert repr(core.journal.last) == "<Entry 1 GET /v1/pets 200 listPets>"
    create_without_category(core)
    assert repr(core.journal.last) == "<Entry 2 POST /v1/pets 400 createPet (refused: invalid_body (§2))>"
    core.send("GET", "/\x1b[2J\x00")
    assert repr(core.journal.last).isprintable()


# Answers that don't go out whole and at once


@pytest.mark.parametrize("fault", [faults.reset(), faults.empty_reply(), faults.hang()])
def test_lost_answer_has_no_status(core: Core, fault: faults.Fault) -> None:
    core.world.plan.add(fault, on="createPet", at="after_commit")
    core.defer_create()
    entry = core.journal.last
    assert (entry.status, entry.response_fields, entry.response_body) == (None, [], b"")
    assert entry.executed
    assert repr(entry).startswith("<Entry 1 POST /v1/pets unanswered createPet")


@pytest.mark.parametrize("fault", [faults.truncate(), faults.dribble(1), faults.malformed_chunk()])
def test_cut_answer_has_a_status(core: Core, fault: faults.Fault) -> None:
    core.world.plan.add(fault, on="listPets")
    held = core.defer()
    entry = core.journal.last
    held.completion.complete("client gone", sent=True)  # as when the client leaves in the middle
    assert entry.status == 200
    assert entry.response_body == b"[]"


def test_delayed_answer_has_no_status_until_it_is_made(core: Core) -> None:
    core.world.plan.add(faults.delay(10), on="createPet")
    held = core.defer_create()
    entry = core.journal.last
    assert (entry.status, entry.executed) == (None, False)
    assert entry.decision == "fault delay(10)"
    held.resume()
    assert (entry.status, entry.executed) == (201, True)
    assert entry.decision == "executed, fault delay(10)"


def test_client_that_left_before_the_commit_got_no_answer(core: Core) -> None:
    core.world.plan.add(faults.delay(10), on="createPet")
    held = core.defer_create()
    entry = core.journal.last
    held.completion.complete("client gone", sent=False)
    assert (entry.status, entry.outcome, entry.executed) == (None, "client gone", False)
    assert len(core.world.animals.store) == 0


def test_client_that_left_after_the_commit_got_no_answer(core: Core) -> None:
    core.world.plan.add(faults.delay(10), on="createPet", at="after_commit")
    held = core.defer_create()
    entry = core.journal.last
    held.completion.complete("client gone", sent=False)
    assert (entry.status, entry.executed) == (None, True)


# Keys


def everything(core: Core) -> str:
    """Return all that an entry shows but its bodies."""
    entry = core.journal.last
    shown = [repr(entry), entry.target, entry.path, entry.query, entry.fields, entry.headers]
    shown += [entry.method, render_journal([entry]), core.journal[-1].misplaced_keys]
    shown += [entry.reason, entry.decision, entry.response_fields, repr(entry.request), str(entry.violations and "")]
    return repr(shown)


@pytest.mark.parametrize(
    "fixed", [None, "a-fixed-key-of-the-team", "eyJhbGciOiJIUzI1NiJ9." + "A" * 50 + "." + "B" * 43]
)
@pytest.mark.parametrize("place", ["authorization", "x-api-key", "x-anything", "query", "path", "body"])
def test_key_shows_nowhere(fixed: str | None, place: str) -> None:
    core = Core(key=fixed)
    key = core.key
    match place:
        case "authorization":
            core.list()
        case "query":
            core.list(f"?api_key={key}", key=None)
        case "path":
            core.send("GET", f"/v1/pets/{key}")
        case "body":
            core.create({"name": 1, key: key})
        case header:
            core.list(headers={header: f"v {key}"}, key=None)
    assert key not in everything(core)
    assert core.journal.last.misplaced_keys == ({"query": "target", "path": "target"}.get(place, place),) * (
        place != "authorization"
    )


@pytest.mark.parametrize("fixed", [None, "eyJhbGciOiJIUzI1NiJ9." + "A" * 50 + "." + "B" * 43], ids=["issued", "long"])
@pytest.mark.parametrize(
    "send",
    [
        lambda core: core.list(f"?limit={core.key}"),
        lambda core: core.list(f"?limit=%{ord(core.key[0]):02x}{core.key[1:]}"),
        lambda core: core.list(f"?{core.key}=1"),
        lambda core: core.create({"name": "Rex", "categoryId": 1, "token": core.key}),
        lambda core: core.create({"name": "Rex", "categoryId": ["x", core.key]}),
        lambda core: core.create({"name": "Rex", "categoryId": 1, "status": f"{'a' * 40}{core.key}"}),
        lambda core: core.send("GET", f"/v1/{'a' * 173}{core.key}"),
        lambda core: core.send("GET", f"/v1/%{ord(core.key[0]):02x}{core.key[1:]}"),
        lambda core: core.send(core.key, "/v1/pets"),
        lambda core: core.list(headers={core.key: "x"}),
    ],
    ids=["query", "encoded", "name", "body", "list", "cut", "long_path", "path", "method", "field_name"],
)
def test_no_recognisable_part_of_a_key_shows(fixed: str | None, send: Callable[[Core], ApiResponse]) -> None:
    core = Core(key=fixed)
    response = send(core)
    for shown in (everything(core), response.body.decode()):
        assert core.key[:12] not in shown
        assert core.key[-12:] not in shown


def test_foreign_credentials_are_masked_wherever_their_request_holds_them(core: Core) -> None:
    """The key of another service is no key of the world, and no less secret."""
    core.send("GET", "/v1/pets?x=sk-live-0123456789", key="sk-live-0123456789")
    assert "sk-live-0123456789" not in everything(core)
    assert core.journal.last.misplaced_keys == ("target",)


def test_entry_without_a_journal_still_masks() -> None:
    from petstore_mock.journal.entry import Entry  # noqa: PLC0415

    request = ApiRequest("GET", "/", [(b"Authorization", b"Bearer sk-live-0123456789")])
    assert Entry(1, None, request, 0.0).headers == {"authorization": "Bearer ***6789"}
