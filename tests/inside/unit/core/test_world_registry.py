"""Worlds behind one mock: nesting, keys that tell them apart, leaks, going back."""

from __future__ import annotations

import json
import threading
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, VerificationError, faults
from petstore_mock.core.keys import Key
from petstore_mock.core.world_registry import Leak, Worlds
from petstore_mock.messages.request import ApiRequest
from petstore_mock.messages.response import Head
from tests.inside.core import deferred, whole

if TYPE_CHECKING:
    from petstore_mock.messages.deferred import DeferredResponse
    from petstore_mock.messages.response import ApiResponse

JSON = (b"Content-Type", b"application/json")


def hold_on_to(petstore: PetStoreMock, retired: str) -> None:
    """Let the next look-up find a retired key, as one just before the reset did."""
    key = Key(retired, petstore.tenant.world)
    key.world = None
    petstore.host.worlds.keys.add(key)


def call(
    petstore: PetStoreMock, method: str = "GET", target: str = "/v1/pets", body: bytes = b"", key: str = ""
) -> ApiResponse:
    """Send one request to the core, by default with the valid key."""
    fields = [(b"Authorization", f"Bearer {key or petstore.api_key}".encode()), JSON]
    return whole(petstore.host.worlds.handle(ApiRequest(method, target, fields, body)))


def defer_creation(petstore: PetStoreMock) -> DeferredResponse:
    fields = [(b"Authorization", f"Bearer {petstore.api_key}".encode()), JSON]
    asked = ApiRequest("POST", "/v1/pets", fields, b'{"name":"a","categoryId":1}')
    return deferred(petstore.host.worlds.handle(asked))


def create(petstore: PetStoreMock, key: str = "") -> ApiResponse:
    return call(petstore, "POST", body=b'{"name":"a","categoryId":1}', key=key)


def conditions(petstore: PetStoreMock) -> list[str | None]:
    return [None if entry.condition is None else entry.condition.name for entry in petstore.journal.kept]


@pytest.fixture
def petstore() -> PetStoreMock:
    return PetStoreMock(seed=2, self_check=True)


# Nested worlds


def test_fresh_world_is_empty_and_independent(petstore: PetStoreMock) -> None:
    petstore.configure(list_order="id_descending")
    petstore.clock.travel_to("2031-01-01")
    with petstore.fresh() as inner:
        assert inner.pets == []
        assert inner.behaviour == PetStoreMock().behaviour
        assert inner.clock.moment.year < 2031
        assert create(inner).status == 201
        inner.inject(503)
        inner.configure(json_style="pretty")
        assert len(inner.pets) == 1
        assert len(petstore.pets) == 2
        assert call(petstore).status == 200
        assert call(inner).status == 503
    assert len(petstore.pets) == 2
    assert petstore.behaviour.json_style == "compact"
    assert call(petstore).status == 200
    assert len(petstore.journal) == 2


def test_keys_tell_nested_worlds_apart(petstore: PetStoreMock) -> None:
    with petstore.fresh(seed=3) as inner, inner.fresh(seed=4) as innermost:
        assert len({petstore.api_key, inner.api_key, innermost.api_key}) == 3
        for world, count in ((petstore, 2), (inner, 3), (innermost, 4)):
            for door in (petstore, inner, innermost):
                answer = call(door, key=world.api_key)
                assert answer.body.count(b'"id"') == count
        assert [len(world.journal) for world in (petstore, inner, innermost)] == [3, 3, 3]


def test_unknown_key_or_none_belongs_to_the_innermost_world(petstore: PetStoreMock) -> None:
    with petstore.fresh() as inner:
        assert call(petstore, key="nobodys").status == 401
        assert whole(petstore.host.worlds.handle(ApiRequest("GET", "/v1/pets"))).status == 401
        assert conditions(inner) == ["unknown_key", "missing_key"]
    assert call(petstore, key="nobodys").status == 401
    assert conditions(petstore) == ["unknown_key"]


def test_unknown_key_belongs_to_the_present_test_and_to_no_world_that_an_earlier_one_left_open(
    petstore: PetStoreMock,
) -> None:
    petstore.tenant.renew("test_a")
    with petstore.fresh() as left_open:
        assert call(petstore, key="nobodys").status == 401
        petstore.tenant.renew("test_b")
        assert call(petstore, key="nobodys").status == 401
        assert call(left_open).status == 200
        with petstore.fresh() as inner:
            petstore.tenant.renew("test_b")  # as each example of a test does
            assert call(petstore, key="nobodys").status == 401
            assert conditions(inner) == ["unknown_key"]
        assert conditions(petstore) == []
        assert conditions(left_open) == ["unknown_key", None]
    assert call(petstore, key="nobodys").status == 401
    assert conditions(petstore) == ["unknown_key"]


def test_fresh_takes_the_options_of_a_world_only(petstore: PetStoreMock) -> None:
    with petstore.fresh(seed=1, behaviour="hostile", at="2030-12-06", api_key="own", random_seed=3) as inner:
        assert inner.api_key == "own"
        assert inner.behaviour.list_order == "arbitrary"
        assert inner.clock.moment.year == 2030
        assert len(inner.pets) == 1
    wrong: dict[str, Any] = {"port": 1}
    with pytest.raises(PetStoreMockError, match=r"options of a world, .*; got port"), petstore.fresh(**wrong):
        pass
    with pytest.raises(PetStoreMockError, match="this one is taken"), petstore.fresh(api_key=petstore.api_key):
        pass


@pytest.mark.parametrize(
    ("key", "came"),
    [
        ("", "an empty text"),
        ("sécret", "text with other characters"),
        ("a secret", "text with other characters"),
        ("=secret", "text with other characters"),
        (5, "int"),
        (b"secret", "bytes"),
    ],
    ids=ascii,
)
def test_key_that_no_header_can_carry_is_refused_and_not_shown(key: Any, came: str) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError) as caught:
        PetStoreMock(api_key=key)
    expected = "expected an API key of letters, digits and -._~+/, with = at its end only (RFC 6750 §2.1)"
    assert str(caught.value) == f"{expected}; got {came}"


def test_fixed_key_is_free_again_after_its_world(petstore: PetStoreMock) -> None:
    for _ in range(2):
        with petstore.fresh(api_key="own") as inner:
            assert call(inner).status == 200
    assert call(petstore, key="own").status == 401
    assert conditions(petstore) == ["unknown_key"]


def test_fresh_verifies_at_its_end(petstore: PetStoreMock) -> None:
    with pytest.raises(VerificationError, match="never fired"), petstore.fresh() as inner:
        inner.inject(500, times=1)
    petstore.verify()


def test_fresh_world_leaves_the_expectations_to_the_mock(petstore: PetStoreMock) -> None:
    """They belong to the listener, and a test may meet them after the block."""
    server = petstore.httpserver
    server.expect_request("/a")
    server.expect_ordered_request("/b")
    server.add_assertion("wrong")
    with petstore.fresh() as inner:
        inner.reset()
        inner.verify()
    assert len(server.handlers) == 1
    with pytest.raises(VerificationError, match="wrong\nhttpserver: an ordered expectation was not met"):
        petstore.verify()
    petstore.reset()
    assert not server.handlers


def fail_in_a_fresh_world(petstore: PetStoreMock) -> None:
    with petstore.fresh() as inner:
        inner.inject(500, times=1)
        raise ZeroDivisionError


def test_error_in_the_block_is_not_hidden_by_the_verification(petstore: PetStoreMock) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_in_a_fresh_world(petstore)
    assert call(petstore).status == 200


def test_fresh_passes_strict_and_self_check_on() -> None:
    strict = PetStoreMock(strict=True)
    with pytest.raises(VerificationError, match="broke the contract"), strict.fresh() as inner:
        call(inner, target="/v1/pets?x=1")
    with strict.fresh(strict=False) as inner:
        call(inner, target="/v1/pets?x=1")


# Retired keys and leaks


def test_request_with_a_retired_key_is_a_leak_and_not_journalled(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    retired = petstore.api_key
    extra = petstore.issue_key()
    petstore.tenant.renew("test_b")
    assert petstore.api_key != retired
    for key in (retired, extra):
        answer = create(petstore, key)
        assert answer.status == 401
        assert b'"status":401' in answer.body
        assert answer.head.get("WWW-Authenticate") is not None
    assert len(petstore.journal) == 0
    assert len(petstore.pets) == 2
    assert petstore.host.worlds.leaks == [Leak("test_a", "POST /v1/pets", 401)] * 2
    assert call(petstore).status == 200


def message(answer: ApiResponse) -> str:
    return str(json.loads(answer.body)["message"])


def test_answer_to_a_retired_key_names_the_test_that_it_was_issued_to(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("tests/test_x.py::test_first")
    retired = petstore.api_key
    petstore.tenant.renew("tests/test_x.py::test_second")
    told = (
        "The API key is not valid: it was issued to tests/test_x.py::test_first, which is over; "
        "a client of wider scope than the test needs a fixed key: set petstore_api_key"
    )
    assert message(call(petstore, key=retired)) == told
    asked = ApiRequest("POST", "/v1/pets", [(b"Authorization", f"Bearer {retired}".encode())])
    assert message(petstore.host.worlds.refuse("malformed_request", "cut", asked)) == told


def test_answer_to_a_key_that_is_retired_within_its_test_does_not_call_the_test_over(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    first = petstore.api_key
    petstore.tenant.renew("test_a")  # another example of it
    with petstore.fresh() as inner:
        second = inner.api_key
    third = petstore.issue_key()
    petstore.reset()
    for retired in (first, second, third):
        assert message(call(petstore, key=retired)) == (
            "The API key is not valid: it was issued to an earlier world of this test, "
            "which ended with its Hypothesis example, its fresh() or a reset(); "
            "a client of several worlds needs a fixed key: set petstore_api_key"
        )


def test_answer_to_a_retired_key_without_an_owner_speaks_of_its_world(petstore: PetStoreMock) -> None:
    with petstore.fresh() as inner:
        retired = inner.api_key
    told = "The API key is not valid: it was issued to an earlier world, which is over"
    assert message(call(petstore, key=retired)) == told


def test_leak_names_the_owner_among_many(petstore: PetStoreMock) -> None:
    keys = {}
    for number in range(5):
        petstore.tenant.renew(f"test_{number}")
        keys[f"test_{number}"] = [petstore.api_key, petstore.issue_key()]
        with petstore.fresh() as inner:
            keys[f"test_{number}"].append(inner.api_key)
    petstore.tenant.renew("last")
    for owner, owned in keys.items():
        for key in owned:
            call(petstore, key=key)
            assert petstore.host.worlds.leaks[-1].owner == owner


def test_only_a_key_that_was_issued_can_leak(petstore: PetStoreMock) -> None:
    first = petstore.api_key
    petstore.tenant.renew("test_a")
    prefix, last = petstore.api_key.rpartition("-")[0], int(petstore.api_key.rpartition("-")[2])
    for never in (0, last + 1):
        assert call(petstore, key=f"{prefix}-{never:06d}").status == 401
    assert conditions(petstore) == ["unknown_key", "unknown_key"]
    assert call(petstore, key=first).status == 401
    assert petstore.host.worlds.leaks == [Leak("an earlier world", "GET /v1/pets", 401)]


def test_leaks_are_bounded(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    key = petstore.api_key
    petstore.tenant.renew("test_b")
    for _ in range(1100):
        call(petstore, "M" * 5000, key=key, target="/v1/pets?" + "x" * 5000)
    assert len(petstore.host.worlds.leaks) == 1000
    assert len(petstore.host.worlds.leaks[0].request) < 300


def test_leak_shows_no_key(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    former = petstore.api_key
    petstore.tenant.renew("test_b")
    call(petstore, target=f"/v1/pets?{'a' * 160}&api_key={former}", key=former)
    (leak,) = petstore.host.worlds.leaks
    assert former[:20] not in leak.request
    assert leak.request.startswith("GET /v1/pets?aaa")
    call(petstore, former, key=former)
    assert former[:20] not in petstore.host.worlds.leaks[-1].request


def test_refusal_of_a_request_with_a_retired_key_is_a_leak_too(petstore: PetStoreMock) -> None:
    """A leftover connection that ends in the middle of a body must not be held against the next test."""
    petstore.tenant.renew("test_a")
    fields = [(b"Authorization", f"Bearer {petstore.api_key}".encode())]
    petstore.tenant.renew("test_b")
    answer = petstore.host.worlds.refuse("malformed_request", "cut", ApiRequest("POST", "/v1/pets", fields))
    assert answer.status == 401
    assert len(petstore.journal) == 0
    assert [leak.owner for leak in petstore.host.worlds.leaks] == ["test_a"]


def test_failure_of_the_fake_is_the_present_tests_whoever_met_it(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    fields = [(b"Authorization", f"Bearer {petstore.api_key}".encode())]
    petstore.tenant.renew("test_b")
    answer = petstore.host.worlds.refuse("internal_error", "KeyError: 'x'", ApiRequest("GET", "/v1/pets", fields))
    assert answer.status == 500
    assert petstore.host.worlds.leaks == []
    with pytest.raises(VerificationError, match="KeyError: 'x'"):
        petstore.verify()


def test_key_decides_before_the_moment_at_which_a_refused_request_began(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    retired, began = petstore.api_key, petstore.host.worlds.epoch()
    petstore.tenant.renew("test_b")
    statuses = []
    for key in (retired, petstore.api_key):
        asked = ApiRequest("GET", "/v1/pets", [(b"Authorization", f"Bearer {key}".encode())])
        statuses.append(petstore.host.worlds.refuse("malformed_request", "cut", asked, began).status)
    assert statuses == [401, 400]
    assert conditions(petstore) == ["malformed_request"]
    assert petstore.host.worlds.leaks == [Leak("test_a", "GET /v1/pets", 401)]


def test_answer_of_an_expectation_to_a_retired_key_is_a_leak_and_not_journalled(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    retired = petstore.api_key
    petstore.tenant.renew("test_b")
    for key in (retired, petstore.api_key, "nobodys"):
        asked = ApiRequest("GET", "/other", [(b"Authorization", f"Bearer {key}".encode())])
        answer = petstore.host.worlds.expectation_matched(asked)(Head(200), b"")
        assert answer.date.endswith(b" GMT"), "it is answered all the same"
    petstore.host.worlds.expectation_matched(ApiRequest("GET", "/other"))(Head(200), b"")
    assert petstore.host.worlds.leaks == [Leak("test_a", "GET /other", 200)]
    assert len(petstore.journal) == 3


def test_answer_of_an_expectation_whose_key_is_retired_meanwhile_is_a_leak(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    retired = petstore.api_key
    petstore.tenant.renew("test_b")
    hold_on_to(petstore, retired)
    asked = ApiRequest("GET", "/other", [(b"Authorization", f"Bearer {retired}".encode())])
    petstore.host.worlds.expectation_matched(asked)(Head(200), b"")
    assert len(petstore.journal) == 0
    assert petstore.host.worlds.leaks == [Leak("test_a", "GET /other", 200)]


@pytest.mark.parametrize("bears_key", [True, False])
def test_request_that_an_expectation_answers_late_is_of_the_test_in_which_it_came(
    petstore: PetStoreMock, bears_key: bool
) -> None:
    petstore.tenant.renew("test_a")
    key = [(b"Authorization", f"Bearer {petstore.api_key}".encode())] if bears_key else []
    answered = petstore.host.worlds.expectation_matched(ApiRequest("GET", "/other", key))
    came = petstore.journal.last
    petstore.tenant.renew("test_b")
    answered(Head(200), b"")
    assert (came.owner, came.status) == ("test_a", 200)
    assert len(petstore.journal) == 0
    assert petstore.host.worlds.leaks == []


def test_request_that_an_expectation_answers_is_journalled_in_the_order_in_which_it_came(
    petstore: PetStoreMock,
) -> None:
    answered = petstore.host.worlds.expectation_matched(ApiRequest("GET", "/other"))
    call(petstore)
    assert [(entry.path, entry.status) for entry in petstore.journal] == [("/other", None), ("/v1/pets", 200)]
    assert petstore.journal[0].decision == "held back"
    answered(Head(418), b"tea")
    assert (petstore.journal[0].status, petstore.journal[0].response_body) == (418, b"tea")


def test_key_of_a_finished_fresh_world_is_a_leak(petstore: PetStoreMock) -> None:
    with petstore.fresh() as inner:
        key = inner.api_key
    assert call(petstore, key=key).status == 401
    assert len(petstore.journal) == 0
    assert len(petstore.host.worlds.leaks) == 1


def test_plain_reset_keeps_the_key_and_retires_issued_ones(petstore: PetStoreMock) -> None:
    extra = petstore.issue_key()
    key = petstore.api_key
    petstore.reset()
    assert petstore.api_key == key
    assert call(petstore).status == 200
    assert call(petstore, key=extra).status == 401
    assert len(petstore.journal) == 1


def test_key_issued_after_a_snapshot_is_retired_with_its_test(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    snapshot = petstore.snapshot()
    key = petstore.issue_key()
    petstore.restore(snapshot)
    assert call(petstore, key=key).status == 401
    assert conditions(petstore) == ["revoked_key"]
    assert petstore.host.worlds.leaks == []
    petstore.tenant.renew("test_b")
    assert call(petstore, key=key).status == 401
    assert len(petstore.journal) == 0, "it is test_a's"
    assert [leak.owner for leak in petstore.host.worlds.leaks] == ["test_a"]


def test_key_that_is_retired_while_its_request_waits_for_the_world_is_a_leak(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    retired = petstore.api_key
    petstore.tenant.renew("test_b")
    hold_on_to(petstore, retired)
    assert call(petstore, key=retired).status == 401
    assert len(petstore.journal) == 0
    assert [leak.owner for leak in petstore.host.worlds.leaks] == ["test_a"]
    assert whole(petstore.host.worlds.handle(ApiRequest("GET", "/v1/pets"))).status == 401
    assert conditions(petstore) == ["missing_key"]


def test_fixed_key_outlives_every_reset() -> None:
    petstore = PetStoreMock(api_key="fixed")
    petstore.revoke_key()
    assert call(petstore).status == 401
    petstore.tenant.renew("test_b")
    assert petstore.api_key == "fixed"
    assert call(petstore).status == 200


@pytest.mark.parametrize("key", ["", "a b", "ä", "a=b", "a\n", "=", 5, None, "a,b"])
def test_key_that_no_header_can_carry_is_refused_without_showing_it(key: Any) -> None:  # noqa: ANN401
    worlds = Worlds()
    with pytest.raises(PetStoreMockError, match=r"RFC 6750 §2\.1") as caught:
        worlds.check_key(key)
    assert not isinstance(key, str) or len(key) < 2 or key not in str(caught.value)


def test_keys_of_two_mocks_never_meet() -> None:
    one, other = PetStoreMock(), PetStoreMock()
    other.tenant.renew("test")
    retired = other.issue_key()
    other.reset()
    assert call(one, key=retired).status == 401
    assert conditions(one) == ["unknown_key"], "it says nothing of leaks: the key is no world's of this mock"


@pytest.mark.parametrize("number", ["000000", "0000001", "1", "999999", "00000１", "+00001", "-00001"])
def test_made_up_number_is_no_retired_key(petstore: PetStoreMock, number: str) -> None:
    petstore.tenant.renew("test_a")
    prefix = petstore.api_key[:-6]
    fields = [(b"Authorization", f"Bearer {prefix}{number}".encode())]
    assert whole(petstore.host.worlds.handle(ApiRequest("GET", "/v1/pets", fields))).status == 401
    assert petstore.host.worlds.leaks == []
    assert len(petstore.journal) == 1


def test_threads_of_two_worlds_never_get_the_same_key(petstore: PetStoreMock) -> None:
    keys: list[str] = []
    with petstore.fresh() as one, petstore.fresh() as other:
        threads = [
            threading.Thread(target=lambda world=world: keys.extend(world.issue_key() for _ in range(200)))
            for world in (one, other, petstore)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(set(keys)) == 600


# Keys (§5)


def test_issued_keys_are_valid_until_revoked(petstore: PetStoreMock) -> None:
    first, second = petstore.issue_key(), petstore.issue_key()
    assert [call(petstore, key=key).status for key in (first, second)] == [200, 200]
    petstore.revoke_key(first)
    assert [call(petstore, key=key).status for key in (first, second, petstore.api_key)] == [401, 200, 200]
    petstore.revoke_key()
    assert call(petstore).status == 401
    assert conditions(petstore)[-1] == "revoked_key"


@pytest.mark.parametrize("key", ["nobodys", 5, ["nobodys"]])
def test_revoking_a_strange_key_is_refused(petstore: PetStoreMock, key: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError, match="a key of this mock"):
        petstore.revoke_key(key)


@pytest.mark.parametrize("expires", [60, 60.0, "2030-01-02", date(2030, 1, 2), datetime(2030, 1, 2, tzinfo=UTC)])
def test_key_expires_by_the_clock_of_the_fake(petstore: PetStoreMock, expires: float | str | date) -> None:
    petstore.clock.freeze()
    petstore.clock.travel_to("2030-01-01T23:59")
    key = petstore.issue_key(expires=expires)
    petstore.clock.advance(seconds=59)
    assert call(petstore, key=key).status == 200
    petstore.clock.advance(seconds=1)
    assert call(petstore, key=key).status == 401
    assert conditions(petstore)[-1] == "expired_key"


@pytest.mark.parametrize("expires", ["soon", True, float("nan"), [1]])
def test_expiry_that_is_no_moment_is_refused(petstore: PetStoreMock, expires: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError, match=r"expected seconds from now, a date such as .*; got expires="):
        petstore.issue_key(expires=expires)


# Going back


def test_reset_returns_to_the_starting_state() -> None:
    petstore = PetStoreMock(seed=12, behaviour="lenient", at="2030-12-06", random_seed=5)
    before = petstore.pets
    for _ in range(2):
        petstore.update(1, name="changed")
        petstore.remove(2)
        petstore.configure(list_order="by_name")
        petstore.clock.advance(days=100)
        petstore.inject(500)
        call(petstore)
        petstore.reset()
        assert petstore.pets == before
        assert petstore.behaviour == PetStoreMock(behaviour="lenient").behaviour
        assert petstore.clock.moment.date().isoformat() == "2030-12-06"
        assert len(petstore.journal) == 0
        assert call(petstore).status == 200
        petstore.reset()


@pytest.mark.parametrize("assignment", ["sequential", "sparse", "random_int64", "beyond_2_53"])
def test_what_is_made_after_a_reset_is_what_was_made_at_first(assignment: str) -> None:
    petstore = PetStoreMock(seed=12, behaviour=PetStoreMock().behaviour.replace({"id_assignment": assignment}))
    made = [petstore.seed() for _ in range(3)]
    for _ in range(2):
        petstore.reset()
        assert [petstore.seed() for _ in range(3)] == made
    assert not {pet["id"] for pet in made} & {pet["id"] for pet in PetStoreMock(seed=12).pets} - {13, 14, 15}


def test_random_ids_after_a_reset_are_random_still() -> None:
    behaviour = PetStoreMock().behaviour.replace(id_assignment="random_int64")
    petstore = PetStoreMock(seed=30, behaviour=behaviour)
    petstore.reset()
    assert petstore.seed()["id"] > 2**32, "not the lowest free one"


def test_failed_seed_changes_nothing(petstore: PetStoreMock) -> None:
    expected = PetStoreMock(seed=3).pets[-1]
    for wrong in ({"name": 5}, {"id": 1}, {"colour": "red"}, {"categoryId": 2**63}, {"status": "lost"}, {"id": "x"}):
        with pytest.raises(PetStoreMockError):
            petstore.seed(**wrong)
    assert petstore.seed(status=expected["status"]) == expected


def test_snapshot_keeps_the_state_and_restore_brings_it_back(petstore: PetStoreMock) -> None:
    extra = petstore.issue_key()
    petstore.configure(list_order="id_descending", rate_limit="retry_after_seconds")
    petstore.clock.freeze()
    petstore.clock.travel_to("2029-01-01")
    for _ in range(3):
        assert call(petstore).status == 200
    snapshot = petstore.snapshot()
    first = [petstore.seed() for _ in range(2)]
    statuses = [call(petstore).status for _ in range(3)]
    petstore.update(1, name="changed")
    petstore.remove(2)
    petstore.configure(list_order="by_name")
    petstore.clock.travel_to("2031-01-01")
    petstore.revoke_key(extra)
    petstore.restore(snapshot)
    assert petstore.pets == PetStoreMock(seed=2).pets
    assert petstore.behaviour.list_order == "id_descending"
    assert petstore.clock.moment.year == 2029
    assert len(petstore.journal) == 6, "the journal stays"
    assert [petstore.seed() for _ in range(2)] == first
    assert [call(petstore, key=extra).status for _ in range(3)] == statuses == [200, 429, 200]


def test_restore_brings_back_the_keys_that_a_reset_has_retired(petstore: PetStoreMock) -> None:
    for owner in (None, "test_a"):
        petstore.tenant.renew(owner)
        extra, revoked = petstore.issue_key(), petstore.issue_key()
        petstore.revoke_key(revoked)
        snapshot = petstore.snapshot()
        petstore.reset()
        petstore.restore(snapshot)
        assert [call(petstore, key=key).status for key in (extra, petstore.api_key, revoked)] == [200, 200, 401]
        assert conditions(petstore) == [None, None, "revoked_key"]
        assert petstore.host.worlds.leaks == []


def test_restore_takes_no_key_from_another_test_or_world(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    former, snapshot = petstore.api_key, petstore.snapshot()
    petstore.tenant.renew("test_b")
    petstore.restore(snapshot)
    assert call(petstore, key=former).status == 401
    assert [leak.owner for leak in petstore.host.worlds.leaks] == ["test_a"]
    with petstore.fresh() as inner:
        inner.restore(petstore.snapshot())
        assert len(inner.pets) == len(petstore.pets)
        for mock in (petstore, inner):
            assert call(mock).status == 200
            assert len(mock.journal) == 1
        with pytest.raises(PetStoreMockError, match="expected a key of this mock"):
            inner.revoke_key(petstore.api_key)


def test_snapshot_keeps_which_key_rotates(petstore: PetStoreMock) -> None:
    petstore.configure(key_rotation="mid_session")
    snapshot = petstore.snapshot()
    second = petstore.issue_key()
    call(petstore, key=second)
    petstore.restore(snapshot)
    assert [call(petstore).status for _ in range(11)] == [200] * 10 + [401]


def test_restored_animal_is_hidden_as_long_as_it_was(petstore: PetStoreMock) -> None:
    petstore.configure(visibility="delayed")
    for _ in range(20):
        call(petstore)
    create(petstore)
    snapshot = petstore.snapshot()
    petstore.reset()
    for _ in range(3):
        call(petstore)
    petstore.restore(snapshot)
    assert [call(petstore, target="/v1/pets/3").status for _ in range(3)] == [404, 200, 200]


def test_snapshot_of_an_earlier_test_does_not_lock_the_present_one_out(petstore: PetStoreMock) -> None:
    petstore.tenant.renew("test_a")
    petstore.seed(name="Rex")
    snapshot = petstore.snapshot()
    petstore.tenant.renew("test_b")
    petstore.restore(snapshot)
    assert petstore.pets[-1]["name"] == "Rex"
    assert call(petstore).status == 200


def test_restore_takes_snapshots_only(petstore: PetStoreMock) -> None:
    with pytest.raises(PetStoreMockError, match=r"a snapshot, as snapshot\(\) returns it; got dict"):
        petstore.restore({})  # type: ignore[arg-type]


def test_copies_in_copies_out(petstore: PetStoreMock) -> None:
    given: dict[str, Any] = {"name": "Rex", "categoryId": 1}
    added = petstore.seed(given)
    assert given == {"name": "Rex", "categoryId": 1}
    expected = dict(added)
    given["name"] = added["name"] = "changed"
    petstore.pets[-1]["name"] = "changed"
    petstore.update(expected["id"], status="sold")["name"] = "changed"
    many = [{"name": "Tom"}]
    petstore.seed_many(many)[0]["name"] = "changed"
    petstore.seed_many(1)[0]["name"] = "changed"
    assert many == [{"name": "Tom"}]
    assert petstore.pets[2] == {**expected, "status": "sold"}
    assert "changed" not in str(petstore.pets)


# Requests in flight


def test_delayed_creation_does_not_outlive_a_reset(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(3600), on="createPet")
    held = defer_creation(petstore)
    petstore.reset()
    answer = whole(held.resume())
    assert answer.status == 503
    assert len(petstore.pets) == 2
    assert len(petstore.journal) == 0
    petstore.verify()


def test_delayed_creation_is_kept_if_the_world_is_the_same(petstore: PetStoreMock) -> None:
    petstore.inject(faults.delay(0.001), on="createPet")
    held = defer_creation(petstore)
    assert len(petstore.pets) == 2
    assert whole(held.resume()).status == 201
    assert len(petstore.pets) == 3


def test_dates_of_held_and_retired_answers_follow_the_clock(petstore: PetStoreMock) -> None:
    petstore.clock.freeze()
    petstore.inject(faults.delay(1), on="createPet")
    held = defer_creation(petstore)
    petstore.clock.travel_to("2029-01-01")
    assert whole(held.resume()).date == b"Mon, 01 Jan 2029 00:00:00 GMT"
    petstore.clock.travel_to("2029-01-02")
    assert petstore.host.worlds.refuse("bad_host", "", None).date == b"Tue, 02 Jan 2029 00:00:00 GMT"
