"""The pipeline on one world: order of its steps, concurrency, faults in and around it, what it writes down."""

from __future__ import annotations

import io
import json
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import Behaviour, PetStoreMock, VerificationError, faults
from petstore_mock.common.real_time import RealTime
from petstore_mock.contract.error_conditions import CONDITIONS
from petstore_mock.contract.gaps import GAPS
from petstore_mock.core import responses as answers
from petstore_mock.core.cors import cors_of
from petstore_mock.core.mutation import mutation_of
from petstore_mock.core.store import Store
from petstore_mock.messages.request import ApiRequest, RequestFields
from tests.inside.core import Core, deferred, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.messages.deferred import DeferredResponse
    from petstore_mock.messages.response import ApiResponse

JSON = (b"Content-Type", b"application/json")
REX = b'{"name":"Rex","categoryId":1}'


def request(
    petstore: PetStoreMock, method: str = "GET", target: str = "/v1/pets", body: bytes = b"", *more: tuple[bytes, bytes]
) -> ApiRequest:
    fields = [(b"Authorization", f"Bearer {petstore.api_key}".encode()), JSON, *more]
    return ApiRequest(method, target, fields, body)


_CHALLENGE = 'Bearer realm="petstore", error="invalid_token", error_description="The API key is not valid"'


def call(petstore: PetStoreMock, method: str = "GET", target: str = "/v1/pets", body: bytes = b"") -> ApiResponse:
    return whole(petstore.host.worlds.handle(request(petstore, method, target, body)))


def defer(petstore: PetStoreMock, method: str = "GET", target: str = "/v1/pets", body: bytes = b"") -> DeferredResponse:
    return deferred(petstore.host.worlds.handle(request(petstore, method, target, body)))


def over_wsgi(petstore: PetStoreMock, method: str, target: str, body: bytes = b"") -> Any:  # noqa: ANN401
    """Call the app as a server would, and return the decoded body."""
    environ = {
        "REQUEST_METHOD": method,
        "REQUEST_URI": target,
        "HTTP_AUTHORIZATION": f"Bearer {petstore.api_key}",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
    statuses: list[str] = []

    def start_response(status: str, _fields: object, _info: object = None) -> Callable[[bytes], None]:
        statuses.append(status)
        return lambda _data: None

    parts = petstore.app(environ, start_response)
    assert statuses[0][:2] == "20"
    return json.loads(b"".join(parts))


def entries(petstore: PetStoreMock) -> list[Any]:
    return petstore.journal.kept


@pytest.fixture
def petstore() -> PetStoreMock:
    return PetStoreMock(self_check=True)


def in_threads(count: int, work: Any) -> None:  # noqa: ANN401
    """Run ``work(number)`` in so many threads at once and raise what one of them raised."""
    problems: list[BaseException] = []
    begin = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            begin.wait()
            work(number)
        except BaseException as error:  # noqa: BLE001  # raised again below, in the test's own thread
            problems.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    if problems:
        raise problems[0]


# Concurrency


def test_sixteen_threads_lose_and_mix_up_nothing(petstore: PetStoreMock) -> None:
    rounds = 15
    created: list[list[dict[str, Any]]] = [[] for _ in range(16)]

    def work(number: int) -> None:
        for step in range(rounds):
            body = json.dumps({"name": f"{number}/{step}", "categoryId": number}).encode()
            pet = over_wsgi(petstore, "POST", "/v1/pets", body)
            created[number].append(pet)
            assert over_wsgi(petstore, "GET", f"/v1/pets/{pet['id']}") == pet
            assert len(over_wsgi(petstore, "GET", "/v1/pets?limit=100")) >= min(100, step + 1)

    in_threads(16, work)
    pets = [pet for mine in created for pet in mine]
    assert len({pet["id"] for pet in pets}) == len(pets) == 16 * rounds
    assert {(pet["name"], pet["categoryId"]) for pet in pets} == {
        (f"{n}/{s}", n) for n in range(16) for s in range(rounds)
    }
    assert petstore.pets == sorted(pets, key=lambda pet: pet["id"])
    journal = entries(petstore)
    assert [entry.number for entry in journal] == list(range(1, 16 * rounds * 3 + 1))
    made = [json.loads(entry.response_body)["id"] for entry in journal if entry.operation == "createPet"]
    assert made == sorted(made), "the journal's order is the order of what happened"
    assert sorted(mine["id"] for mine in pets) == made
    petstore.verify()


def test_resets_in_between_leave_no_half_of_a_request(petstore: PetStoreMock) -> None:
    stop = threading.Event()

    def work(number: int) -> None:
        if number == 0:
            for _ in range(50):
                petstore.reset()
            stop.set()
            return
        while not stop.is_set():
            answer = call(petstore, "POST", body=REX)
            assert answer.status == 201
            assert call(petstore, target=f"/v1/pets/{json.loads(answer.body)['id']}").status in {200, 404}

    in_threads(6, work)
    with petstore.tenant.world.lock:
        created = sum(entry.operation == "createPet" for entry in entries(petstore))
        assert len(petstore.pets) == created
        assert [entry.number for entry in entries(petstore)] == list(range(1, len(petstore.journal) + 1))
    petstore.verify()


# Order of the steps


def test_fault_never_hides_what_the_client_did_wrong(petstore: PetStoreMock) -> None:
    planned = petstore.inject(503, times=1)
    for method, target, body, status in [
        ("GET", "/v1/cats", b"", 404),
        ("PUT", "/v1/pets", b"", 405),
        ("OPTIONS", "/v1/pets", b"", 204),
        ("GET", "/v1/pets?limit=0", b"", 400),
        ("POST", "/v1/pets", b"{}", 400),
        ("GET", "/v1/pets/x", b"", 404),
    ]:
        assert call(petstore, method, target, body).status == status
    assert planned.hits == 0
    assert call(petstore).status == 503
    assert planned.hits == 1


def test_rate_limit_comes_before_faults_and_after_validation(petstore: PetStoreMock) -> None:
    petstore.configure(rate_limit="retry_after_seconds")
    planned = petstore.inject(503)
    assert [call(petstore).status for _ in range(5)] == [503, 503, 503, 503, 429]
    assert planned.hits == 4


def test_every_fifth_request_is_limited_whatever_the_behaviour_was_before(petstore: PetStoreMock) -> None:
    assert [call(petstore).status for _ in range(4)] == [200] * 4
    petstore.configure(rate_limit="retry_after_seconds")
    assert [call(petstore).status for _ in range(2)] == [429, 200]


def test_answer_lost_before_the_commit_creates_nothing_and_after_it_does(petstore: PetStoreMock) -> None:
    petstore.inject(503, on="createPet", times=1)
    assert call(petstore, "POST", body=REX).status == 503
    assert petstore.pets == []
    petstore.inject(503, on="createPet", times=1, at="after_commit")
    assert call(petstore, "POST", body=REX).status == 503
    assert [pet["name"] for pet in petstore.pets] == ["Rex"]
    assert [entry.executed for entry in entries(petstore)] == [False, True]


def test_after_commit_is_not_used_up_where_nothing_is_committed(petstore: PetStoreMock) -> None:
    planned = petstore.inject(503, times=1, after=1, at="after_commit")
    for method, target, body in [("GET", "/v1/pets", b""), ("GET", "/v1/pets/1", b""), ("POST", "/v1/pets", b"{}")]:
        call(petstore, method, target, body)
    assert call(petstore, "POST", body=REX).status == 201
    assert planned.hits == 0
    assert call(petstore, "POST", body=REX).status == 503


@pytest.mark.parametrize("fault", [faults.malformed_json(), faults.wrong_content_type()], ids=str)
def test_garbled_answer_before_the_commit_keeps_nothing(petstore: PetStoreMock, fault: faults.Fault) -> None:
    with petstore.inject(fault, on="createPet"):
        assert call(petstore, "POST", body=REX).status == 201
        assert petstore.pets == []
    with petstore.inject(fault, on="createPet", at="after_commit"):
        answer = call(petstore, "POST", body=REX)
    assert len(petstore.pets) == 1
    if fault.kind == "malformed_json":
        with pytest.raises(ValueError, match=r".+"):
            json.loads(answer.body)
    else:
        assert answer.head.get("Content-Type") == "text/html; charset=utf-8"
        assert json.loads(answer.body)["name"] == "Rex"


def test_delay_after_the_commit_holds_the_answer_of_a_kept_animal(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay((2, 3)), on="createPet", at="after_commit")
    answer = defer(petstore, "POST", body=REX)
    assert 2 <= answer.delay <= 3
    assert answer.pending is petstore.tenant.world.deferred
    assert len(petstore.pets) == 1
    assert json.loads(whole(answer.resume()).body) == petstore.pets[0]


def test_client_that_leaves_before_the_commit_leaves_nothing(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(2), on="createPet")
    answer = defer(petstore, "POST", body=REX)
    assert answer.delay == 2
    assert answer.pending is petstore.tenant.world.deferred
    answer.completion.complete("client gone", sent=False)
    assert entries(petstore)[0].outcome == "client gone"
    assert petstore.pets == []


def test_held_answer_is_journalled_as_it_went_out(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(2), on="createPet", times=1)
    petstore.inject(418, on="createPet", times=1, at="after_commit")
    held = defer(petstore, "POST", body=REX)
    (entry,) = entries(petstore)
    assert entry.outcome == "delayed"
    assert whole(held.resume()).status == entry.status == 418
    assert entries(petstore)[0].executed


# Fault answers


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429, 500, 502, 503, 418, 599, 299])
def test_fault_of_a_status_carries_the_error_body(petstore: PetStoreMock, status: int) -> None:
    petstore.inject(status, off_contract=True)
    answer = call(petstore)
    assert answer.status == status
    error = json.loads(answer.body)
    assert set(error) == {"code", "message", "status"}
    assert error["status"] == status
    assert "injected" in error["message"]
    assert [name for name, _ in answer.head.fields].count("Server") == 1
    assert (answer.head.get("WWW-Authenticate") is not None) is (status == 401)


def test_code_of_an_injected_status_is_its_phrase(petstore: PetStoreMock) -> None:
    codes = {}
    for status in (403, 404, 429, 503, 599, 507):
        with petstore.inject(status, off_contract=True):
            codes[status] = json.loads(call(petstore).body)["code"]
    assert codes == {
        403: "forbidden",
        404: "not_found",
        429: "rate_limited",
        503: "service_unavailable",
        599: "error",
        507: "insufficient_storage",
    }


@pytest.mark.parametrize(
    ("fault", "body", "fields"),
    [
        (faults.respond(503, body="<p>down</p>"), b"<p>down</p>", {"Content-Type": "text/html; charset=utf-8"}),
        (faults.respond(503, body=b""), b"", {"Content-Type": None}),
        (faults.respond(200, json={"a": 1}), b'{"a": 1}', {"Content-Type": "application/json"}),
        (faults.respond(204), b"", {"Content-Type": None}),
        (faults.respond(304, headers={"ETag": '"1"'}), b"", {"ETag": '"1"'}),
        (faults.respond(204, headers={"server": "nginx"}), b"", {"Server": "nginx"}),
        (faults.respond(503, body=b"", headers={"Server": "nginx"}), b"", {"Server": "nginx"}),
        (faults.respond(503, body="x", headers={"Server": ""}), b"x", {"Server": None}),
        (faults.rate_limited(7), None, {"Retry-After": "7", "Content-Type": "application/json"}),
        (faults.respond(503, headers={"Content-Type": "text/x"}), None, {"Content-Type": "text/x"}),
        (faults.respond(205), b"", {"Content-Type": None}),
        (faults.respond(405), None, {"Allow": "GET, HEAD, OPTIONS, POST"}),
        (faults.respond(405, body=b"", headers={"Allow": "PATCH"}), b"", {"Allow": "PATCH"}),
        (faults.respond(401, json={}), b"{}", {"WWW-Authenticate": _CHALLENGE, "Content-Type": "application/json"}),
        (faults.respond(401, body=b"", headers={"WWW-Authenticate": ""}), b"", {"WWW-Authenticate": None}),
        (faults.respond(404), None, {"Sunset": None}),
        (faults.respond(407), None, {"Proxy-Authenticate": 'Basic realm="petstore"'}),
        (faults.respond(407, headers={"proxy-authenticate": "Negotiate"}), None, {"Proxy-Authenticate": "Negotiate"}),
        (faults.respond(426, body=b""), b"", {"Upgrade": "HTTP/3.0"}),
        (faults.respond(426, headers={"upgrade": "TLS/1.3"}), None, {"Upgrade": "TLS/1.3"}),
        (faults.respond(426, headers={"Upgrade": ""}), None, {"Upgrade": None}),
    ],
    ids=range(21),
)
def test_fault_answer_has_its_own_body_and_fields(
    petstore: PetStoreMock, fault: faults.Fault, body: bytes | None, fields: dict[str, str | None]
) -> None:
    petstore.inject(fault, off_contract=True)
    answer = call(petstore)
    assert body is None or answer.body == body
    names = [name.lower() for name, _ in answer.head.fields]
    assert len(names) == len(set(names))
    for name, value in fields.items():
        assert answer.head.get(name) == value


@pytest.mark.parametrize("fault", [faults.not_found(), faults.respond(404, body=b"")])
def test_injected_absence_looks_like_a_real_one(petstore: PetStoreMock, fault: faults.Fault) -> None:
    """Else a client could tell the two apart by the signs of the deprecation (§9)."""
    real = call(petstore, target="/v1/pets/9")
    petstore.inject(fault, on="getPet")
    injected = call(petstore, target="/v1/pets/9")
    for name in ("Deprecation", "Sunset", "Link"):
        assert injected.head.get(name) == real.head.get(name)
    assert injected.head.get("Sunset") is not None


@pytest.mark.parametrize("kind", ["hang", "reset", "empty_reply", "truncate", "malformed_chunk"])
def test_fault_of_the_connection_says_how_the_answer_goes_out(petstore: PetStoreMock, kind: str) -> None:
    petstore.inject(getattr(faults, kind)())
    answer = defer(petstore)
    assert answer.delivery is not None
    assert answer.delivery.kind == kind
    assert answer.pending is petstore.tenant.world.deferred
    assert entries(petstore)[0].executed is (kind in {"truncate", "malformed_chunk"})


# Bugs of the fake


def test_exception_inside_is_answered_500_and_fails_the_test(
    petstore: PetStoreMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("the fake is broken")

    monkeypatch.setattr(Store, "page", broken)
    answer = call(petstore)
    assert answer.status == 500
    assert json.loads(answer.body)["code"] == "internal_error"
    assert entries(petstore)[0].status == 500
    with pytest.raises(VerificationError, match="an exception inside the fake: ZeroDivisionError: the fake is broken"):
        petstore.verify()
    petstore.reset()
    petstore.verify()


def test_exception_after_a_delay_is_answered_500_and_fails_the_test(
    petstore: PetStoreMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    petstore.inject(faults.delay(1))
    held = defer(petstore)

    def broken(*_: object) -> None:
        raise ZeroDivisionError("the fake is broken")

    monkeypatch.setattr(Store, "page", broken)
    assert whole(held.resume()).status == 500
    with pytest.raises(VerificationError, match="ZeroDivisionError"):
        petstore.verify()


# What adapters ask


@pytest.mark.parametrize(
    ("change", "admitted"),
    [
        ({}, True),
        ({"length": None}, True),
        ({"length": 1024 * 1024}, True),
        ({"length": 1024 * 1024 + 1}, False),
        ({"method": "GET"}, True),
        ({"method": "GET", "target": "/v1/pets?limit=0"}, False),
        ({"method": "PUT"}, False),
        ({"target": "/v1/cats"}, False),
        ({"fields": [JSON]}, False),
        ({"fields": [JSON, (b"Authorization", b"Bearer nobodys")]}, False),
        ({"type": b"text/plain"}, False),
    ],
    ids=str,
)
def test_body_is_admitted_when_its_head_is_right(
    petstore: PetStoreMock, change: dict[str, Any], admitted: bool
) -> None:
    asked = request(petstore, change.get("method", "POST"), change.get("target", "/v1/pets"))
    if "type" in change:
        asked.fields = RequestFields([asked.fields[0], (b"Content-Type", change["type"])])
    asked.fields = RequestFields(change.get("fields", asked.fields))
    assert petstore.host.worlds.admits(asked, change.get("length", 10)) is admitted
    assert len(petstore.journal) == 0


def test_body_is_not_admitted_with_a_key_that_has_expired(petstore: PetStoreMock) -> None:
    bearer = (b"Authorization", f"Bearer {petstore.issue_key(expires=60)}".encode())
    asked = ApiRequest("POST", "/v1/pets", [bearer, JSON])
    assert petstore.host.worlds.admits(asked, 10)
    petstore.clock.advance(seconds=61)
    assert not petstore.host.worlds.admits(asked, 10)


def test_body_is_not_admitted_with_a_key_that_retires_now(petstore: PetStoreMock) -> None:
    petstore.configure(key_rotation="mid_session")
    asked = request(petstore, "POST")
    for _ in range(10):
        assert petstore.host.worlds.admits(asked, 10)
        assert call(petstore).status == 200
    assert not petstore.host.worlds.admits(asked, 10)
    assert call(petstore).status == 401


@pytest.mark.parametrize("mutant", ["create-any-key", "unauthorized-is-kept"])
def test_body_is_admitted_where_a_mutant_may_read_it(mutant: str) -> None:
    petstore = PetStoreMock(mutant=mutant)
    asked = request(petstore, "POST")
    asked.fields = RequestFields([(b"Authorization", b"Bearer nobodys"), JSON])
    assert petstore.host.worlds.admits(asked, 10)


def test_body_of_a_revoked_key_is_not_admitted(petstore: PetStoreMock) -> None:
    petstore.revoke_key()
    assert not petstore.host.worlds.admits(request(petstore, "POST"), 10)


def test_body_limit_is_that_of_the_world_whose_key_is_borne(petstore: PetStoreMock) -> None:
    with petstore.fresh(behaviour="lenient") as inner:
        assert petstore.host.worlds.body_limit(request(petstore)) == 1024 * 1024
        assert petstore.host.worlds.body_limit(request(inner)) is None


def test_refusal_of_the_adapter_is_answered_and_journalled(petstore: PetStoreMock) -> None:
    answer = petstore.host.worlds.refuse("header_too_large", "64 KiB", None)
    assert answer.status == 431
    assert "64 KiB" in json.loads(answer.body)["message"]
    (entry,) = entries(petstore)
    assert (entry.number, entry.condition.name, entry.status) == (1, "header_too_large", 431)


def test_failure_of_the_adapter_fails_the_test(petstore: PetStoreMock) -> None:
    answer = petstore.host.worlds.refuse("internal_error", "KeyError: 'x'", None)
    assert answer.status == 500
    with pytest.raises(VerificationError, match="KeyError: 'x'"):
        petstore.verify()


def test_thousands_of_violations_weigh_in_the_journal(petstore: PetStoreMock) -> None:
    body = json.dumps({f"field{number}": 1 for number in range(20_000)}).encode()
    call(petstore, "POST", body=body)
    (entry,) = entries(petstore)
    assert len(entry.violations) <= 1000, "the journal is bounded, whatever is sent"
    assert entry.omitted == 20_002 - len(entry.violations), "name and categoryId are missing, too"


def test_message_counts_every_violation_whatever_is_kept(petstore: PetStoreMock) -> None:
    """3000 are repeated, 3000 unknown, 2 missing; 20 are shown."""
    repeated = ",".join(f'"field{number}":1' for number in (*range(3000), *range(3000)))
    answer = call(petstore, "POST", body=f"{{{repeated}}}".encode())
    assert json.loads(answer.body)["message"].endswith("; and 5982 more")
    (entry,) = entries(petstore)
    assert len(entry.violations) + entry.omitted == 6002


@pytest.mark.parametrize(("unknown", "end"), [(18, "body.name is required and missing"), (19, "; and 1 more")])
def test_message_speaks_of_more_only_where_there_are_more(petstore: PetStoreMock, unknown: int, end: str) -> None:
    """20 are shown: two missing ones are among them."""
    body = json.dumps({f"field{number}": 1 for number in range(unknown)}).encode()
    message = json.loads(call(petstore, "POST", body=body).body)["message"]
    assert message.endswith(end)
    assert message.count("body.") == 20


def test_message_of_one_violation_is_its_words(petstore: PetStoreMock) -> None:
    answer = call(petstore, "POST", body=b'{"name":"Rex"}')
    words = CONDITIONS["invalid_body"].message
    assert json.loads(answer.body)["message"] == f"{words}: body.categoryId is required and missing"


def test_violations_beyond_those_kept_are_not_blamed_where_the_behaviour_lets_them_pass() -> None:
    core = Core(behaviour=Behaviour(duplicate_member="last", unknown_body_field="ignore"))
    repeated = ",".join(f'"field{number}":1' for number in (*range(3000), *range(3000)))
    assert core.create(f'{{"name":"a","categoryId":1,{repeated}}}'.encode()).status == 201


def test_invalid_query_tells_of_every_violation_of_the_body_too() -> None:
    core = Core()
    body = json.dumps({f"field{number}": 1 for number in range(3000)}).encode()
    answer = core.send("POST", "/v1/pets?x=1", body, headers={"Content-Type": "application/json"})
    assert json.loads(answer.body)["message"].endswith("; and 2983 more")


# Delayed visibility


@pytest.mark.parametrize("is_cleared", [False, True])
def test_animal_of_a_delayed_create_is_hidden_from_its_creation_on(*, is_cleared: bool) -> None:
    """Not from the arrival of its request: what came meanwhile does not count, nor do numbers that are over."""
    core = Core(behaviour=Behaviour(visibility="delayed"))
    for _ in range(5):
        core.list()
    core.world.plan.add(faults.delay(1), on="createPet", times=1)
    held = core.defer_create()
    for _ in range(5):
        core.list()
    if is_cleared:
        core.journal.clear()
    assert whole(held.resume()).status == 201
    assert [core.list().body for _ in range(2)] == [b"[]", b'[{"id":1,"name":"Rex","categoryId":1}]']


def test_page_is_full_whatever_is_hidden() -> None:
    core = Core(behaviour=Behaviour(visibility="delayed", list_order="id_descending"))
    for _ in range(5):
        core.world.animals.seed_sample()
    core.create()
    assert [pet["id"] for pet in json.loads(core.list("?limit=3").body)] == [5, 4, 3]


def test_delayed_read_sees_what_can_be_seen_when_it_is_made() -> None:
    core = Core(behaviour=Behaviour(visibility="delayed"))
    core.world.plan.add(faults.delay(1), on="getPet", times=1)
    held = core.defer("GET", "/v1/pets/1")
    core.create()
    core.list()
    assert core.get(1).status == 200
    assert whole(held.resume()).status == 200


def test_animals_that_everybody_sees_are_hidden_no_longer() -> None:
    """A list costs its page: what was hidden once must not be counted for ever."""
    core = Core(behaviour=Behaviour(visibility="delayed"))
    for _ in range(10):
        core.create()
    assert len(core.world.animals.hidden.first_seen) <= 2
    core.list()
    core.list()
    assert core.world.animals.hidden.first_seen == {}


@pytest.mark.parametrize("is_refused", [False, True])
def test_duration_is_that_since_the_first_byte(petstore: PetStoreMock, *, is_refused: bool) -> None:
    asked = request(petstore)
    asked.started = RealTime.perf_counter() - 100
    worlds = petstore.host.worlds
    whole(worlds.refuse("malformed_request", "cut", asked) if is_refused else worlds.handle(asked))
    assert 100 <= petstore.journal.last.duration < 200


# The answer that was made before


CHANGES: dict[str, Callable[[Core], object]] = {
    "nothing": lambda core: core.get(7),
    "create": lambda core: core.create(),
    "update": lambda core: core.world.animals.update(1, {"name": "Tom"}),
    "remove": lambda core: core.world.animals.remove(1),
    "reset": lambda core: core.world.reset([core.key]),
    "behaviour": lambda core: core.world.set_behaviour(Behaviour(json_style="pretty")),
    "second": lambda core: core.world.clock.advance(seconds=1),
    "removal": lambda core: core.world.clock.travel_to("2030-12-06"),
    "fault": lambda core: core.world.plan.add(faults.malformed_json(), times=1),
    "mutants": lambda core: setattr(core.world, "mutation", mutation_of("list-of-ids")),
    "pages": lambda core: setattr(core.world, "cors", cors_of("*")),
    "key": lambda core: core.world.keys.discard(core.key),
}


@pytest.mark.parametrize("change", CHANGES)
def test_answer_is_given_again_only_where_it_is_the_same(change: str) -> None:
    told = []
    for again in (True, False):
        core = Core(key="key", at="2026-03-04", self_check=False)
        core.world.clock.freeze()
        core.world.clock.travel_to("2026-03-04")
        core.world.animals.seed(None, {"name": "Rex", "categoryId": 1})
        core.world.animals.seed(None, {"name": "Luna", "categoryId": 2})
        asked = []
        for number in range(4):
            if number == 2:
                CHANGES[change](core)
            for ask in (core.list, core.get):
                if not again:
                    core.world.animals.store.answers.clear()
                answer = ask()
                asked.append((answer.head.status, answer.head.fields, answer.body, answer.date))
        told.append(asked)
    assert told[0] == told[1]
    assert (told[0][:4] == told[0][4:]) is (change == "nothing")


def test_same_request_is_answered_with_the_same_object_while_nothing_changes() -> None:
    core = Core()
    core.world.clock.freeze()
    core.create()
    assert core.list() is core.list()
    assert core.get() is core.get()
    assert core.get(7) is not core.get(7)
    assert [entry.decision for entry in core.journal][1:5] == ["executed"] * 4


@pytest.mark.parametrize("gap", GAPS)
def test_answer_is_given_again_under_no_behaviour_that_would_make_another(gap: str) -> None:
    for value in GAPS[gap].alternatives:
        told = []
        for again in (True, False):
            core = Core(key="key", behaviour=Behaviour(**{gap: value}), self_check=False)  # type: ignore[arg-type]  # any gap
            core.world.clock.freeze()
            core.world.clock.travel_to("2026-03-04")
            asked = []
            for _ in range(2):
                core.create()
                for ask in (core.list, core.get) * 2:
                    if not again:
                        core.world.animals.store.answers.clear()
                    answer = ask()
                    asked.append((answer.head.status, answer.head.fields, answer.body))
            told.append(asked)
        assert told[0] == told[1], value


def test_animal_that_a_restore_hides_is_not_in_the_list_that_was_made_before() -> None:
    core = Core(behaviour=Behaviour(visibility="delayed"))
    core.world.clock.freeze()
    core.create()
    hidden = core.world.snapshot()
    for _ in range(3):
        core.list()
    assert core.list() is core.list()
    core.world.restore(hidden, core.key)
    assert core.list().body == b"[]"
    assert core.list().body != b"[]"


# The self-check


@pytest.mark.parametrize("target", ["/v1/pets?limit=0", "/nowhere", "/v1/pets"], ids=["refusal", "path", "fault"])
def test_self_check_holds_every_error_body_against_the_schema(monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    core = Core()
    core.world.plan.add(503)
    monkeypatch.setattr(
        answers,
        "error_document",
        lambda code, message, status: {"code": code, "message": message, "status": status + 1},
    )
    assert core.send("GET", target).status == 500
    (error,) = core.world.errors
    assert re.search(r"the fake answered (\d+) with status (?!\1)\d+ in its body", str(error))


def test_self_check_lets_pass_a_refusal_that_a_fault_spoils() -> None:
    core = Core()
    core.world.plan.add(faults.malformed_json(), on="getPet")
    assert core.get(7).status == 404
    assert core.world.errors == []


def test_failures_of_the_fake_are_kept_of_the_first_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    core = Core()
    monkeypatch.setattr("petstore_mock.core.pipeline.execute_again", lambda *_, **__: 1 / 0)
    assert [core.list().status for _ in range(200)] == [500] * 200
    assert len(core.world.errors) == 100


# Faults before and after the commit of one request


def test_fault_after_the_commit_has_the_answer_that_another_only_slows() -> None:
    core = Core()
    core.world.plan.add(faults.dribble(100), on="createPet")
    core.world.plan.add(faults.malformed_json(), on="createPet", at="after_commit")
    answer = core.create()
    assert answer.body.endswith(b'"\\')
    assert len(core.world.animals.store) == 1
    (entry,) = core.journal
    assert entry.decision == "fault dribble(100), executed, fault malformed_json()"


def test_injected_404_says_what_a_real_one_says() -> None:
    core = Core()
    real = json.loads(core.get(7).body)
    core.world.plan.add(404, on="getPet")
    injected = json.loads(core.get(7).body)
    assert {"code": injected["code"], "status": injected["status"]} == {"code": real["code"], "status": real["status"]}
    assert injected["message"].startswith("There is no animal with this identifier (injected: ")


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("GET", "/v1/pets?api_key={}", b""),
        ("GET", "/v1/pets?status={}", b""),
        ("GET", "/v1/pets/{}", b""),
        ("GET", "/keys/{}", b""),
        ("POST", "/v1/pets", b'{"name":"Rex","categoryId":"KEY"}'),
        ("POST", "/v1/pets", b'{"name":"Rex","categoryId":1,"KEY":1}'),
    ],
    ids=["parameter", "filter", "identifier", "path", "value", "name of a field"],
)
def test_error_body_shows_no_key_wherever_the_client_put_it(method: str, target: str, body: bytes) -> None:
    """The client's log shows what we say of its request."""
    for core in (Core(), Core(key="a-fixed-key-of-the-team")):
        sent = body.replace(b"KEY", core.key.encode())
        answer = core.send(method, target.format(core.key), sent, headers={"Content-Type": "application/json"})
        assert answer.status in {400, 404}
        message = json.loads(answer.body)["message"]
        assert core.key not in message
        assert f"***{core.key[-4:]}" in message
