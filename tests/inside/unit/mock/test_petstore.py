"""``PetStoreMock``: the promises of the face that need no socket."""

from __future__ import annotations

import http.client
import json
import re
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, assert_type

import pytest
from werkzeug.test import Client

from petstore_mock import Behaviour, ContractViolationError, PetStoreMock, PetStoreMockError, VerificationError, faults
from petstore_mock.core.starting_state import fill
from petstore_mock.core.store import Store
from petstore_mock.journal.journal import Journal
from petstore_mock.messages.request import ApiRequest
from tests.inside.core import deferred, whole

if TYPE_CHECKING:
    from collections.abc import Callable

if TYPE_CHECKING:
    from petstore_mock.messages.deferred import DeferredResponse
    from petstore_mock.messages.response import ApiResponse


def call(petstore: PetStoreMock, method: str = "GET", target: str = "/v1/pets", body: bytes = b"") -> ApiResponse:
    fields = [(b"Authorization", f"Bearer {petstore.api_key}".encode()), (b"Content-Type", b"application/json")]
    return whole(petstore.host.worlds.handle(ApiRequest(method, target, fields, body)))


def defer(petstore: PetStoreMock, method: str = "GET", body: bytes = b"") -> DeferredResponse:
    fields = [(b"Authorization", f"Bearer {petstore.api_key}".encode()), (b"Content-Type", b"application/json")]
    return deferred(petstore.host.worlds.handle(ApiRequest(method, "/v1/pets", fields, body)))


@pytest.fixture
def petstore() -> PetStoreMock:
    return PetStoreMock(self_check=True)


# Animals


def test_seed_returns_the_animal_as_a_plain_dict(petstore: PetStoreMock) -> None:
    rex = petstore.seed(name="Rex", categoryId=1, status="available")
    assert rex == {"id": 1, "name": "Rex", "categoryId": 1, "status": "available"}
    assert type(rex) is dict
    assert list(rex) == ["id", "name", "categoryId", "status"]
    assert petstore.pets == [rex]


def test_seed_takes_a_mapping_and_fields_the_fields_win(petstore: PetStoreMock) -> None:
    assert petstore.seed({"name": "Rex", "id": 7}, id=8)["id"] == 8
    assert petstore.seed({"name": "Rex"}, status="sold") == {"id": 9, "name": "Rex", "categoryId": 2, "status": "sold"}


def test_what_is_left_out_is_plausible_and_deterministic(petstore: PetStoreMock) -> None:
    pets = [petstore.seed() for _ in range(50)]
    assert pets == [
        {"id": number, "name": pet["name"], "categoryId": (number - 1) % 5 + 1} for number, pet in enumerate(pets, 1)
    ]
    assert [pet["name"] for pet in pets[:3]] == ["Rex", "Luna", "Bella"]
    assert pets[20]["name"] == "Rex 2"
    assert len({pet["name"] for pet in pets}) == 50
    assert pets == [other.seed() for other in [PetStoreMock()] for _ in range(50)]


def test_status_stays_absent_unless_given(petstore: PetStoreMock) -> None:
    petstore.configure(status_when_omitted="sold")
    assert "status" not in petstore.seed(name="Rex")


def test_no_gap_applies_to_seeds(petstore: PetStoreMock) -> None:
    petstore.configure(name_rule="non_empty", category_rule="positive", visibility="delayed")
    assert petstore.seed(name="", categoryId=-1)["name"] == ""
    assert call(petstore, target="/v1/pets/1").status == 200


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": 5}, "seed.name must be a string, got 5 (integer)"),
        ({"name": None}, "seed.name must be a string, got null"),
        pytest.param({"name": "a\ud800"}, "seed.name must not hold a lone surrogate", id="lone surrogate"),
        ({"categoryId": "1"}, 'seed.categoryId must be an integer, got "1" (string)'),
        ({"categoryId": 1.0}, "seed.categoryId must be an integer, got 1.0 (number)"),
        ({"categoryId": True}, "seed.categoryId must be an integer, got true (boolean)"),
        ({"categoryId": 2**63}, "seed.categoryId must be at most 9223372036854775807"),
        ({"id": -(2**63) - 1}, "seed.id must be at least -9223372036854775808"),
        pytest.param(
            {"id": 10**5000},
            "Pet.json allows (§2); got a number of thousands of digits in seed(): id and categoryId are int64",
            id="10**5000",
        ),
        pytest.param({"name": [-(10**5000)]}, "got a number of thousands of digits in seed()", id="[-10**5000]"),
        ({"id": "x"}, "seed.id must be an integer"),
        ({"id": None}, "seed.id must be an integer"),
        ({"status": "lost"}, "seed.status must be one of available, pending, sold"),
        ({"status": None}, "seed.status must be a string, one of available, pending, sold, got null"),
        ({"colour": "red"}, "seed.colour is not a field of Pet; the fields are id, name, categoryId, status"),
        ({"category_id": 1}, "the fields are id, name, categoryId, status (did you mean categoryId?)"),
    ],
    ids=str,
)
def test_wrong_seed_raises_at_once_and_names_the_field(
    petstore: PetStoreMock, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(PetStoreMockError) as caught:
        petstore.seed(**fields)
    assert words in str(caught.value)
    assert petstore.pets == []


def test_every_wrong_field_of_a_seed_is_named(petstore: PetStoreMock) -> None:
    with pytest.raises(PetStoreMockError, match=r"seed\.categoryId.*seed\.name.*seed\.x"):
        petstore.seed({"name": 1, "categoryId": "1", "x": 2})


def test_taken_id_is_refused(petstore: PetStoreMock) -> None:
    petstore.seed(id=5)
    with pytest.raises(PetStoreMockError, match="got id=5, which is taken"):
        petstore.seed(id=5)
    with pytest.raises(PetStoreMockError, match=r"animal 1 of seed_many: .*id=5"):
        petstore.seed_many([{"id": 6}, {"id": 5}])


def test_of_thousands_of_wrong_fields_the_first_are_named_and_the_rest_counted(petstore: PetStoreMock) -> None:
    fields = {f"field{number}": number for number in range(3000)}
    with pytest.raises(PetStoreMockError) as caught:
        petstore.seed(fields)
    assert str(caught.value).endswith("; and 2980 more")
    assert str(caught.value).count("seed.field") == 20


@pytest.mark.parametrize("pet", [5, "Rex", [("name", "Rex")]])
def test_seed_of_what_is_no_mapping_is_refused(petstore: PetStoreMock, pet: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError, match=r"an animal as a mapping.*; seed_many\(\) adds several$"):
        petstore.seed(pet)


def test_seed_many_makes_animals_of_every_status(petstore: PetStoreMock) -> None:
    pets = petstore.seed_many(8)
    assert petstore.pets == pets
    assert [pet["status"] for pet in pets] == ["available", "pending", "available", "sold"] * 2
    assert petstore.seed_many(0) == []
    assert petstore.seed_many(iter([{"name": "Rex"}]))[0]["name"] == "Rex"


@pytest.mark.parametrize("wrong", [-1, True, "ab", b"cd", {"name": "Rex"}, 1.5, None, [5]])
def test_seed_many_of_neither_count_nor_animals_is_refused(petstore: PetStoreMock, wrong: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError):
        petstore.seed_many(wrong)
    assert petstore.pets == []


def test_pets_are_in_id_order(petstore: PetStoreMock) -> None:
    petstore.seed_many([{"id": number} for number in (5, -1, 3)])
    assert [pet["id"] for pet in petstore.pets] == [-1, 3, 5]


def test_update_changes_fields_and_takes_the_status_away(petstore: PetStoreMock) -> None:
    rex = petstore.seed(name="Rex", categoryId=1)
    updated = petstore.update(rex["id"], status="sold", name="Max")
    assert updated == {"id": 1, "name": "Max", "categoryId": 1, "status": "sold"}
    assert list(updated) == ["id", "name", "categoryId", "status"]
    assert petstore.pets == [updated]
    assert petstore.update(1, status=None) == {"id": 1, "name": "Max", "categoryId": 1}
    assert petstore.update(1, status=None) == petstore.update(1) == petstore.pets[0]
    assert petstore.update(1, id=1) == petstore.pets[0]  # type: ignore[call-arg]  # needless, but true


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": 1}, "update.name must be a string"),
        pytest.param({"name": "\ud800"}, "update.name must not hold a lone surrogate", id="lone surrogate"),
        ({"id": 2}, "expected the id to stay"),
        ({"id": 1.0}, "update.id must be an integer"),
        ({"colour": "red"}, "update.colour is not a field"),
        ({"name": None}, "update.name must be a string"),
    ],
    ids=str,
)
def test_wrong_update_changes_nothing(petstore: PetStoreMock, fields: dict[str, Any], words: str) -> None:
    rex = petstore.seed()
    with pytest.raises(PetStoreMockError, match=re.escape(words)):
        petstore.update(1, **fields)
    assert petstore.pets == [rex]


def test_update_and_remove_of_an_absent_animal_are_refused(petstore: PetStoreMock) -> None:
    for act in (petstore.update, petstore.remove):
        with pytest.raises(PetStoreMockError, match="got pet_id=7"):
            act(7)


def test_id_of_thousands_of_digits_is_refused_like_any_other(petstore: PetStoreMock) -> None:
    petstore.seed()
    for act in (petstore.update, petstore.remove):
        with pytest.raises(PetStoreMockError, match="the store; got pet_id=a number of hundreds of digits"):
            act(10**5000)
    with pytest.raises(PetStoreMockError, match="got id=a number of hundreds of digits"):
        petstore.update(1, id=10**5000)  # type: ignore[call-arg]  # the mistake that is meant


def test_remove_takes_the_animal_out(petstore: PetStoreMock) -> None:
    petstore.seed_many(2)
    petstore.remove(1)
    assert [pet["id"] for pet in petstore.pets] == [2]
    assert call(petstore, target="/v1/pets/1").status == 404


def test_ids_are_unique_to_the_end_of_int64(petstore: PetStoreMock) -> None:
    petstore.seed(id=2**63 - 1)
    petstore.seed_many([{"id": number} for number in (1, 2, 4)])
    ids = [petstore.seed()["id"] for _ in range(5)]
    assert len(set(ids) | {1, 2, 4, 2**63 - 1}) == 9
    assert all(0 < number < 2**63 for number in ids)


def test_lowest_free_id_is_given_when_luck_fails(petstore: PetStoreMock, monkeypatch: pytest.MonkeyPatch) -> None:
    petstore.seed_many([{"id": number} for number in (1, 2, 2**63 - 1)])
    monkeypatch.setattr(petstore.tenant.world.random, "randint", lambda *_: 2)
    assert [petstore.seed()["id"] for _ in range(2)] == [3, 4]


# The starting state


@pytest.mark.parametrize("name", ["api_key", "seed", "behaviour", "at"])
def test_wrong_option_raises_at_once(name: str) -> None:
    with pytest.raises(PetStoreMockError):
        PetStoreMock(**{name: object()})  # type: ignore[arg-type]


def test_app_and_state_work_without_listening(petstore: PetStoreMock) -> None:
    assert petstore.headers == {"Authorization": f"Bearer {petstore.api_key}"}
    with pytest.raises(PetStoreMockError, match="expected a mock that listens"):
        _ = petstore.url
    petstore.stop()
    assert repr(petstore) == "<PetStoreMock not listening, 0 animals>"


def test_default_keys_can_be_told_apart() -> None:
    assert PetStoreMock().api_key != PetStoreMock().api_key


# Configuration


def test_configure_takes_a_whole_behaviour_and_what_differs_from_it(petstore: PetStoreMock) -> None:
    petstore.configure(rate_limit="retry_after_seconds")
    petstore.configure("hostile", list_order="by_name")
    assert petstore.behaviour == Behaviour.preset("hostile").replace(list_order="by_name")
    own = Behaviour(status_when_omitted="sold")
    petstore.configure(own)
    assert petstore.behaviour == own
    with pytest.raises(PetStoreMockError, match="Did you mean 'hostile'"):
        petstore.configure("hostil")
    petstore.reset()
    assert petstore.behaviour == Behaviour()


def test_configure_holds_until_the_next_reset(petstore: PetStoreMock) -> None:
    petstore.configure(list_order="by_name")
    petstore.configure(json_style="pretty")
    assert petstore.behaviour.differences() == {"list_order": "by_name", "json_style": "pretty"}
    petstore.reset()
    assert petstore.behaviour.differences() == {}
    with pytest.raises(PetStoreMockError, match="Did you mean 'list_order'"):
        petstore.configure(list_ordr="by_name")  # type: ignore[call-arg]  # the mistake that is meant


# Verification


def test_nothing_to_answer_for_verifies(petstore: PetStoreMock) -> None:
    call(petstore, target="/v1/pets?x=1")
    petstore.inject(500, times=1)
    call(petstore)
    petstore.inject(500)
    petstore.verify()


def test_fault_that_never_fired_fails(petstore: PetStoreMock) -> None:
    petstore.inject(404, on="getPet", times=1)
    with pytest.raises(VerificationError, match=r"inject\(not_found\(\), on='getPet', times=1\) never fired"):
        petstore.verify()


def test_strict_mock_fails_for_violations_that_nobody_expected() -> None:
    petstore = PetStoreMock(strict=True)
    call(petstore, target="/v1/pets/9")
    petstore.verify()
    with petstore.expect_violation("query.limit"):
        call(petstore, target="/v1/pets?limit=0")
    petstore.verify()
    call(petstore, target="/v1/pets?limit=0")
    with pytest.raises(
        ContractViolationError, match=r"GET /v1/pets\?limit=0 broke the contract \(§4\.1\): query\.limit"
    ):
        petstore.verify()
    petstore.inject(500, times=1)
    with pytest.raises(VerificationError) as caught:
        petstore.verify()
    assert type(caught.value) is VerificationError, "more than violations"


@pytest.mark.parametrize(
    ("pattern", "target"), [(None, "/v1/pets"), (r"query\.limit", "/v1/pets?x=1"), ("x", "/v1/pets/9")]
)
def test_expected_violation_that_never_came_fails(petstore: PetStoreMock, pattern: str | None, target: str) -> None:
    call(petstore, target="/v1/pets?limit=0&x=0")  # before the block: does not count
    with pytest.raises(VerificationError, match="expected a contract violation"), petstore.expect_violation(pattern):
        call(petstore, target=target)


def test_violation_of_no_field_is_expected_by_its_reason() -> None:
    petstore = PetStoreMock(strict=True)
    with petstore.expect_violation("no such path"):
        call(petstore, target="/v1/nowhere")
    petstore.verify()
    other = "matches 'query' in this block; these came: GET /v1/nowhere: The interface has no such path"
    with pytest.raises(VerificationError, match=other), petstore.expect_violation("query"):
        call(petstore, target="/v1/nowhere")


def test_violation_is_expected_though_the_client_raises_for_it() -> None:
    petstore = PetStoreMock(strict=True)

    def client() -> None:
        call(petstore, target="/v1/pets?limit=0")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), petstore.expect_violation("limit"):
        client()
    petstore.verify()
    with pytest.raises(ZeroDivisionError), petstore.expect_violation("status"):
        client()
    with pytest.raises(ContractViolationError, match="limit"):
        petstore.verify()


@pytest.mark.parametrize("pattern", ["(", b"limit", re.compile(b"limit"), 5], ids=repr)
def test_pattern_that_is_no_regular_expression_is_refused_at_the_call(petstore: PetStoreMock, pattern: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError, match=re.escape(f"expected a regular expression; got pattern={pattern!r}")):
        petstore.expect_violation(pattern)


def test_expectation_for_one_request_that_never_came_fails(petstore: PetStoreMock) -> None:
    petstore.httpserver.expect_oneshot_request("/v1/store/orders").respond_with_json([])
    with pytest.raises(
        VerificationError, match=r"^httpserver: an expectation for one request was not met: <.*'/v1/store/orders'"
    ):
        petstore.verify()
    petstore.reset()
    petstore.verify()


@pytest.mark.parametrize("path", ["/v1/pets", "/v1/pets/1", "/v1/%70ets?limit=1", "/w/default/v1/pets"])
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_no_expectation_takes_a_path_of_the_fake(petstore: PetStoreMock, method: str, path: str) -> None:
    petstore.httpserver.expect_request(re.compile(".*")).respond_with_data("taken", status=418)
    with petstore:
        assert status_of(petstore, method, path) in {200, 404, 405}
        for other in ("/v1/store/orders", "/v1/pets/", "/v1/pets/1/photos", "/w/default/v1/store/orders", "/"):
            assert status_of(petstore, method, other) == 418


def status_of(petstore: PetStoreMock, method: str, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", petstore.httpserver.port, timeout=5)
    connection.request(method, path, headers=petstore.headers)
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize(("count", "rest"), [(5, []), (8, ["httpserver: and 3 more like it were not met"])])
def test_of_many_expectations_that_were_not_met_the_first_are_named(
    petstore: PetStoreMock, count: int, rest: list[str]
) -> None:
    for number in range(count):
        petstore.httpserver.expect_ordered_request(f"/{number}", data="x" * 10_000)
    with pytest.raises(VerificationError) as caught:
        petstore.verify()
    lines = str(caught.value).splitlines()
    assert "'/4'" in lines[4]
    assert max(map(len, lines)) < 1000
    assert lines[5:] == rest


def test_verification_masks_the_keys_that_an_expectation_holds(petstore: PetStoreMock) -> None:
    petstore.httpserver.expect_oneshot_request("/v1/store/orders", headers=petstore.headers)
    with pytest.raises(VerificationError, match=r"'Bearer \*\*\*") as caught:
        petstore.verify()
    assert petstore.api_key not in str(caught.value)


# Held answers and resets


def test_stop_of_a_fresh_mock_lets_its_own_held_answers_go(petstore: PetStoreMock) -> None:
    released: list[PetStoreMock] = []
    with petstore.fresh() as inner:
        for mock in (petstore, inner):
            mock.inject(faults.delay(600))
            defer(mock).pending.add(partial(released.append, mock))
        inner.stop()
        assert released == [inner]


def test_dribbled_creation_is_kept_since_its_answer_arrives_whole(petstore: PetStoreMock) -> None:
    petstore.inject(faults.dribble(1000), on="createPet")
    answer = defer(petstore, "POST", b'{"name":"Rex","categoryId":1}')
    assert answer.delivery is not None
    assert petstore.pets == [json.loads(whole(answer.resume()).body)]


@pytest.mark.parametrize("wrong", ["1", 1.0, True, None, [1], {}], ids=repr)
def test_id_that_is_no_whole_number_is_refused_at_the_call(petstore: PetStoreMock, wrong: Any) -> None:  # noqa: ANN401
    petstore.seed(id=1)
    for call in (lambda: petstore.update(wrong, name="x"), lambda: petstore.remove(wrong)):
        with pytest.raises(PetStoreMockError, match="expected an id as a whole number; got pet_id="):
            call()
    assert [pet["id"] for pet in petstore.pets] == [1]


def test_key_may_last_for_longer_than_a_float_can_tell(petstore: PetStoreMock) -> None:
    key = petstore.issue_key(expires=10**400)
    assert Client(petstore.app).get("/v1/pets", headers={"Authorization": f"Bearer {key}"}).status_code == 200


def test_restore_repeats_what_was_drawn() -> None:
    petstore = PetStoreMock(behaviour=Behaviour(id_assignment="random_int64"))
    petstore.seed()
    snapshot = petstore.snapshot()
    drawn = [petstore.seed()["id"] for _ in range(3)]
    petstore.restore(snapshot)
    assert [petstore.seed()["id"] for _ in range(3)] == drawn


@pytest.mark.parametrize(
    ("pets", "words"),
    [
        ({"name": "Rex"}, "got dict: put the one animal into a list"),
        ("pets.json", r"got str: a file of animals goes into PetStoreMock\(seed=\.\.\.\)"),
        (b"pets", "got bytes$"),
        (1.5, "got float$"),
    ],
)
def test_what_is_no_list_of_animals_is_refused(petstore: PetStoreMock, pets: Any, words: str) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError, match=f"expected a list of animals, or how many, for seed_many; {words}"):
        petstore.seed_many(pets)


def test_request_that_comes_during_a_reset_meets_all_animals(
    petstore: PetStoreMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    petstore.tenant.renew("test_a", seed=3)
    pages: list[bytes] = []
    client = threading.Thread(target=lambda: pages.append(call(petstore).body))

    def fill_during_a_request(*args: Any, **options: Any) -> None:  # noqa: ANN401
        client.start()
        client.join(0.05)
        fill(*args, **options)

    monkeypatch.setattr("petstore_mock.core.tenant.fill", fill_during_a_request)
    petstore.reset()
    client.join()
    assert [len(json.loads(page)) for page in pages] == [3]


def test_reset_inside_a_predicate_leaves_a_whole_journal(petstore: PetStoreMock) -> None:
    client = Client(petstore.app)
    for _ in range(2):
        client.get("/v1/pets", headers=petstore.headers)

    def begin_anew(_request: ApiRequest) -> bool:
        petstore.reset()
        return True

    petstore.inject(500, when=begin_anew, times=1)
    client.get("/v1/pets", headers=petstore.headers)
    assert [entry.number for entry in petstore.journal] == [1]
    client.get("/v1/pets", headers=petstore.headers)
    assert [entry.number for entry in petstore.journal] == [1, 2]
    assert petstore.journal[-1] is petstore.journal.last


@pytest.mark.parametrize(
    ("target", "plans", "why"),
    [
        ("/v1/pets?limit=0", [{"times": 1}], "1 request got no further than a refusal, which the journal explains"),
        ("/v1/pets", [{"times": 1}, {"times": 1}], "1 request met a fault that was injected earlier"),
        ("/v1/pets", [{"times": 1, "after": 1}], "1 request passed under after=1"),
        ("/v1/pets", [{"times": 1, "when": lambda _request: False}], "no request matched it"),
        ("/v1/pets", [{"times": 1, "on": "getPet"}], "no request matched it"),
        ("/v1/pets/9", [{"times": 1, "on": "getPet", "when": lambda _request: False}], "no request matched it"),
    ],
    ids=["refused", "outrun", "passed", "when", "on", "absent"],
)
def test_fault_that_never_fired_says_why(
    petstore: PetStoreMock, target: str, plans: list[dict[str, Any]], why: str
) -> None:
    for plan in plans:
        petstore.inject(503, **{"on": "listPets", **plan})
    Client(petstore.app).get(target, headers=petstore.headers)
    with pytest.raises(VerificationError, match=rf"^inject\(server_error\(503\).* never fired: {why}$"):
        petstore.verify()


def test_fault_that_never_fired_does_not_blame_a_refusal_that_came_before_it(petstore: PetStoreMock) -> None:
    client = Client(petstore.app)
    client.get("/v1/pets?limit=0", headers=petstore.headers)
    petstore.inject(503, on="listPets", times=1)
    with pytest.raises(VerificationError, match=r"never fired: no request matched it$"):
        petstore.verify()
    client.get("/v1/pets?limit=0", headers=petstore.headers)
    with pytest.raises(VerificationError, match="never fired: 1 request got no further than a refusal"):
        petstore.verify()


def test_fault_behind_a_refusal_that_is_no_violation_says_so_too(petstore: PetStoreMock) -> None:
    """A client can't help a key that was revoked, or a rate limit."""
    petstore.configure(rate_limit="retry_after_seconds")
    client = Client(petstore.app)
    for _ in range(4):
        client.get("/v1/pets", headers=petstore.headers)
    petstore.inject(503, on="listPets", times=1)
    assert client.get("/v1/pets", headers=petstore.headers).status_code == 429
    petstore.revoke_key()
    assert client.get("/v1/pets", headers=petstore.headers).status_code == 401
    with pytest.raises(VerificationError, match="never fired: 2 requests got no further than a refusal"):
        petstore.verify()


def test_sequence_that_never_fired_is_told_as_it_was_injected(petstore: PetStoreMock) -> None:
    petstore.inject(faults.sequence(503, 503), on="listPets")
    with pytest.raises(VerificationError, match=r"^inject\(sequence\(.*\), on='listPets'\) never fired: no request"):
        petstore.verify()


def test_rule_of_http_is_cited_as_what_it_is() -> None:
    petstore = PetStoreMock(strict=True)
    Client(petstore.app).put("/v1/pets/1", headers=petstore.headers)
    with pytest.raises(ContractViolationError, match=r"^PUT /v1/pets/1 broke the contract \(RFC 9110 §15\.5\.6\): The"):
        petstore.verify()


def test_restore_drops_a_creation_that_is_still_held(petstore: PetStoreMock) -> None:
    before = petstore.snapshot()
    petstore.inject(faults.delay(30), on="createPet")
    held = defer(petstore, "POST", b'{"name":"Rex","categoryId":1}')
    petstore.restore(before)
    assert whole(held.resume()).status == 503
    assert petstore.pets == []
    assert petstore.journal.last.status == 503, "the journal is not restored, and must not go without the answer"


def test_expected_violation_is_found_after_a_reset_within_its_block(petstore: PetStoreMock) -> None:
    call(petstore)
    call(petstore)
    with petstore.expect_violation("limit"):
        petstore.reset()
        call(petstore, target="/v1/pets?limit=0")


def test_expected_violation_is_not_met_by_a_name_that_a_message_offers(petstore: PetStoreMock) -> None:
    with pytest.raises(VerificationError, match="foo"), petstore.expect_violation("limit"):
        call(petstore, target="/v1/pets?foo=3")


def test_a_fresh_world_leaves_the_listener_alone() -> None:
    with PetStoreMock() as petstore:
        with petstore.fresh() as inner:
            inner.stop()
        assert petstore.url


class Helpful(PetStoreMock):
    """As a team extends it."""

    def __init__(self, species: str) -> None:
        super().__init__(seed=3)
        self.species = species

    def seed_one(self) -> dict[str, Any]:
        return self.seed(name=self.species)


def test_fresh_of_a_subclass_is_one_with_all_that_its_init_has_set() -> None:
    petstore = Helpful("cat")
    with petstore.fresh(api_key="another-key") as inner:
        assert_type(inner, Helpful)
        assert (type(inner), inner.api_key) == (Helpful, "another-key")
        assert [pet["name"] for pet in [inner.seed_one()]] == ["cat"]
        assert len(inner.pets) == 1  # an empty world, whatever the outer one began with
    assert len(petstore.pets) == 3


def test_an_iterator_as_the_seed_of_a_test_is_refused(petstore: PetStoreMock) -> None:
    with pytest.raises(PetStoreMockError, match="expected a list of animals, or how many, for seed; got list_iterator"):
        petstore.tenant.renew("test_a", seed=iter([{"name": "Rex"}]))


# What a reset leaves to be answered for


def test_reset_forgets_nothing_that_must_be_answered_for() -> None:
    petstore = PetStoreMock(strict=True)
    petstore.inject(503, on="createPet", times=1)
    petstore.inject(faults.sequence(503, 503), on="getPet")
    call(petstore, target=f"/v1/pets?limit=1000&q={petstore.api_key}")
    key = petstore.issue_key()
    call(petstore, target=f"/v1/pets?key={key}")
    petstore.reset()
    petstore.reset()
    with pytest.raises(VerificationError) as caught:
        petstore.verify()
    told = str(caught.value).splitlines()
    assert [line.partition(": ")[0] for line in told] == ["before a reset()"] * 4
    assert told[0].startswith("before a reset(): inject(server_error(503), on='createPet', times=1) never fired: no")
    assert "sequence(" in told[1]
    assert "GET /v1/pets?limit=1000&q=***" in told[2]
    assert petstore.api_key not in str(caught.value)
    assert key not in str(caught.value), "the world has forgotten the key, and must not show it"
    petstore.verify()


def test_reset_keeps_errors_inside_the_fake_and_failed_expectations(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("the fake is broken")

    petstore = PetStoreMock()
    with monkeypatch.context() as patch:
        patch.setattr(Store, "page", broken)
        call(petstore)
    petstore.inject(503, when=broken, on="createPet")
    call(petstore, "POST", body=b'{"name":"Rex","categoryId":1}')
    petstore.httpserver.expect_ordered_request("/v1/store/orders")
    petstore.httpserver.add_assertion("of a handler")
    petstore.reset()
    with pytest.raises(VerificationError) as caught:
        petstore.verify()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    told = str(caught.value)
    assert "before a reset(): an exception inside the fake: ZeroDivisionError: the fake is broken" in told
    assert "before a reset(): the when= of inject(" in told
    assert "before a reset(): httpserver: AssertionError: of a handler" in told
    assert "before a reset(): httpserver: an ordered expectation was not met" in told


def test_what_a_verification_has_told_is_not_kept_by_the_reset_after_it() -> None:
    petstore = PetStoreMock(strict=True)
    petstore.httpserver.expect_ordered_request("/v1/store/orders")
    call(petstore, target="/v1/pets?limit=1000")
    for _ in range(2):
        with pytest.raises(VerificationError, match=r"limit(.|\n)*/v1/store/orders|/v1/store/orders(.|\n)*limit"):
            petstore.verify()
    call(petstore, target="/v1/pets?limit=2000")
    petstore.reset()
    with pytest.raises(ContractViolationError, match=r"\Abefore a reset\(\): GET /v1/pets\?limit=2000 .*\Z"):
        petstore.verify()
    petstore.verify()


def test_reset_keeps_no_violation_that_is_expected_or_that_nobody_is_strict_about(petstore: PetStoreMock) -> None:
    strict = PetStoreMock(strict=True)
    with strict.expect_violation("limit"):
        call(strict, target="/v1/pets?limit=1000")
    call(petstore, target="/v1/pets?limit=1000")
    for mock in (strict, petstore):
        mock.reset()
        mock.verify()


def test_of_many_problems_before_resets_the_first_are_told_and_the_rest_counted() -> None:
    petstore = PetStoreMock(strict=True)
    for _ in range(120):
        call(petstore, target="/v1/pets?limit=1000")
        petstore.reset()
    assert {kind for kind, _ in petstore.tenant.problems} == {"violation"}  # none is an error of the fake
    with pytest.raises(ContractViolationError) as caught:
        petstore.verify()
    told = str(caught.value).splitlines()
    assert len(told) == 101
    assert told[-1] == "and 20 more before a reset(), or before the journal was cleared"


def test_of_many_violations_in_cleared_journals_the_first_are_told_and_the_rest_counted() -> None:
    petstore = PetStoreMock(strict=True)
    for _ in range(120):
        call(petstore, target="/v1/pets?limit=1000")
        petstore.tenant.clear_requests()
    told = [words for _, words in petstore.tenant.tell()]
    assert len(told) == 101
    assert told[-1] == "and 20 more before a reset(), or before the journal was cleared"


def test_an_animal_stays_hidden_for_as_long_when_the_journal_is_cleared() -> None:
    petstore = PetStoreMock(behaviour=Behaviour(visibility="delayed"))
    for _ in range(20):
        call(petstore)
    call(petstore, "POST", body=b'{"name":"Rex","categoryId":1}')
    petstore.tenant.clear_requests()
    assert [call(petstore, target="/v1/pets/1").status for _ in range(3)] == [404, 200, 200]


def test_why_a_fault_never_fired_is_told_of_the_requests_after_the_journal_was_cleared() -> None:
    petstore = PetStoreMock()
    for _ in range(3):
        call(petstore)
    petstore.inject(503, on="listPets", times=1)
    petstore.tenant.clear_requests()
    call(petstore, target="/v1/pets?limit=0")
    with pytest.raises(VerificationError, match="never fired: 1 request got no further than a refusal"):
        petstore.verify()


def test_violation_that_has_left_the_journal_is_answered_for() -> None:
    petstore = PetStoreMock(strict=True)
    petstore.tenant.world.journal = Journal(2)
    for limit in ("1000", "1", "2"):
        call(petstore, target=f"/v1/pets?limit={limit}")
    petstore.reset()
    with pytest.raises(ContractViolationError, match=r"before a reset\(\): GET /v1/pets\?limit=1000 broke"):
        petstore.verify()


def test_the_next_test_does_not_answer_for_the_one_before() -> None:
    petstore = PetStoreMock(strict=True)
    call(petstore, target="/v1/pets?limit=1000")
    petstore.reset()
    petstore.tenant.renew("test_b")
    petstore.verify()


def test_a_fresh_world_keeps_what_it_must_answer_for_over_its_resets(petstore: PetStoreMock) -> None:
    def plan_and_reset() -> None:
        with petstore.fresh() as inner:
            inner.inject(503, times=1)
            inner.reset()

    with pytest.raises(VerificationError, match="before a reset"):
        plan_and_reset()
    petstore.verify()


def test_cancelled_faults_need_not_fire(petstore: PetStoreMock) -> None:
    petstore.inject(503, on="createPet", times=1, at="after_commit")
    petstore.inject(faults.sequence(503, 429))
    petstore.cancel_faults()
    assert call(petstore).status == 200
    petstore.reset()
    petstore.verify()


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (
            lambda _: PetStoreMock,
            {"behavior": "strict"},
            "PetStoreMock, from host, .*; got 'behavior'. Did you",
        ),
        (lambda mock: mock.clock.advance, {"minute": 1}, "Clock.advance, .*; got 'minute'. Did you mean 'minutes'?"),
        (lambda mock: partial(mock.inject, 503), {"tims": 1}, "inject, .*; got 'tims'. Did you mean 'times'?"),
        (lambda mock: mock.fresh, {"sed": 1}, "options of a world, .*; got sed. Did you mean 'seed'?"),
    ],
    ids=["PetStoreMock", "advance", "inject", "fresh"],
)
def test_a_misspelt_keyword_is_told_with_the_nearest(
    function: Callable[[Any], Any], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(PetStoreMockError, match=said), function(PetStoreMock())(**arguments):
        pass
