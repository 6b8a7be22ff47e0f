"""One world: its keys, its assignment of ids, what it hides and what it holds back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from petstore_mock import Behaviour
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.core.world import World

if TYPE_CHECKING:
    from petstore_mock.core.keys import Key


def world(**gaps: str) -> World:
    one = World(default_schemas(), behaviour=Behaviour().replace(gaps))
    one.keys.add("key")
    return one


def key_of(one: World, name: str) -> Key:
    key = one.keys.get(name)
    assert key is not None
    return key


def use(one: World, name: str) -> str:
    return one.keys.use(key_of(one, name))


def test_key_is_asked_for_by_name_and_its_uses_are_counted() -> None:
    one = world()
    assert [use(one, "key") for _ in range(3)] == ["", "", ""]
    assert key_of(one, "key").uses == 3
    assert one.keys.get("other") is None


def test_refused_uses_do_not_count() -> None:
    one = world()
    one.keys.add("brief", expires=one.clock.now() - 1)
    one.keys.add("revoked")
    key_of(one, "revoked").revoked = True
    assert [use(one, "brief"), use(one, "revoked")] == ["expired_key", "revoked_key"]
    assert key_of(one, "brief").uses == key_of(one, "revoked").uses == 0
    assert one.keys.first_used is None


def test_only_the_key_that_was_used_first_rotates() -> None:
    one = world(key_rotation="mid_session")
    one.keys.add("second")
    assert use(one, "second") == ""
    assert one.keys.first_used == "second"
    assert [use(one, "key") for _ in range(30)] == [""] * 30
    assert [use(one, "second") for _ in range(10)] == [""] * 9 + ["revoked_key"]


def test_key_that_has_rotated_stays_revoked_whatever_the_behaviour_becomes() -> None:
    one = world(key_rotation="mid_session")
    assert [use(one, "key") for _ in range(11)][-1] == "revoked_key"
    one.set_behaviour(Behaviour())
    assert use(one, "key") == "revoked_key"


def test_restored_world_has_its_present_key_as_if_it_were_new() -> None:
    """A key that came after the copy was made is not in it, whatever has become of that key since."""
    one = world()
    copy = one.snapshot()
    one.reset(["present"])
    use(one, "present")
    key_of(one, "present").revoked = True
    one.keys.add("other")
    one.restore(copy, "present")
    assert [one.keys.problem(key_of(one, name)) for name in ("key", "present", "other")] == ["", "", "revoked_key"]
    assert key_of(one, "present").uses == 0


def test_highest_id_is_given_before_the_gaps_are_filled() -> None:
    one = world()
    one.animals.seed({"id": 2**63 - 2}, {})
    assert one.animals.seed(None, {})["id"] == 2**63 - 1
    assert one.animals.seed(None, {})["id"] < 2**63 - 2


@pytest.mark.parametrize("assignment", ["sequential", "sparse", "random_int64", "beyond_2_53"])
def test_assigned_ids_are_free(assignment: str) -> None:
    one = world(id_assignment=assignment)
    one.animals.seed({"id": 2**63 - 1}, {})
    ids = [one.animals.seed(None, {})["id"] for _ in range(50)]
    assert len(set(ids)) == 50
    assert 2**63 - 1 not in ids
    assert all(0 < number < 2**63 for number in ids)


def test_same_seed_draws_the_same_ids() -> None:
    drawn = []
    for random_seed in (1, 1, 2):
        one = World(default_schemas(), behaviour=Behaviour(id_assignment="random_int64"), random_seed=random_seed)
        drawn.append([one.animals.seed(None, {})["id"] for _ in range(3)])
    assert drawn[0] == drawn[1] != drawn[2]


def test_removed_animal_leaves_nothing_hidden_behind() -> None:
    one = world()
    one.animals.seed({"id": 1}, {})
    one.animals.hidden.hide(1, 1, 10**6)
    one.animals.remove(1)
    one.animals.seed({"id": 1}, {})
    assert one.animals.hidden.visible([1], 1) == [1]


def test_reset_lets_held_answers_go_and_forgets_what_was_counted() -> None:
    one = world()
    released: list[str] = []
    one.deferred.add(lambda: released.append("a"))
    one.animals.hidden.hide(1, 7, 1)
    use(one, "key")
    one.valid_requests = 4
    one.errors.append(ValueError())
    one.reset(["new"])
    assert released == ["a"]
    assert list(one.keys) == ["new"]
    assert one.keys.first_used is None
    assert (one.animals.hidden.first_seen, one.valid_requests, one.errors) == ({}, 0, [])


def test_a_refusal_for_the_number_of_a_request_is_known_before() -> None:
    one, unlimited = world(rate_limit="retry_after_seconds"), world()
    one.valid_requests = unlimited.valid_requests = 2
    assert not one.limits_rate_within(2)
    assert one.limits_rate_within(3)
    assert not unlimited.limits_rate_within(3)
    assert one.valid_requests == 2
