"""One world: its keys, its assignment of ids, what it hides and what it holds back."""

from __future__ import annotations

import pytest

from petstore_mock import Behaviour
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.core.world import Key, Waiting, World


def world(**gaps: str) -> World:
    return World("key", default_schemas(), behaviour=Behaviour().replace(**gaps))


def test_key_is_asked_for_by_name_and_its_uses_are_counted() -> None:
    one = world()
    assert [one.use_key("key") for _ in range(3)] == ["", "", ""]
    assert one.keys["key"].uses == 3
    assert one.use_key("other") == "unknown_key"


def test_refused_uses_do_not_count() -> None:
    one = world()
    one.keys["brief"] = Key(expires=one.clock.now() - 1)
    one.keys["revoked"] = Key()
    one.keys["revoked"].revoked = True
    assert [one.use_key("brief"), one.use_key("revoked")] == ["expired_key", "revoked_key"]
    assert one.keys["brief"].uses == one.keys["revoked"].uses == 0
    assert one.rotating is None


def test_only_the_key_that_was_used_first_rotates() -> None:
    one = world(key_rotation="mid_session")
    one.keys["second"] = Key()
    assert one.use_key("second") == ""
    assert one.rotating == "second"
    assert [one.use_key("key") for _ in range(30)] == [""] * 30
    assert [one.use_key("second") for _ in range(10)] == [""] * 9 + ["revoked_key"]


def test_key_that_has_rotated_stays_revoked_whatever_the_behaviour_becomes() -> None:
    one = world(key_rotation="mid_session")
    assert [one.use_key("key") for _ in range(11)][-1] == "revoked_key"
    one.set_behaviour(Behaviour())
    assert one.use_key("key") == "revoked_key"


def test_restored_world_has_its_present_key_as_if_it_were_new() -> None:
    """A key that came after the copy was made is not in it, whatever has become of that key since."""
    one = world()
    copy = one.snapshot()
    one.reset(["present"])
    one.use_key("present")
    one.keys["present"].revoked = True
    one.keys["other"] = Key()
    one.restore(copy, "present")
    assert [one.key_problem(name) for name in ("key", "present", "other")] == ["", "", "revoked_key"]
    assert one.keys["present"].uses == 0


def test_highest_id_is_given_before_the_gaps_are_filled() -> None:
    one = world()
    one.seed({"id": 2**63 - 2}, {})
    assert one.seed(None, {})["id"] == 2**63 - 1
    assert one.seed(None, {})["id"] < 2**63 - 2


@pytest.mark.parametrize("assignment", ["sequential", "sparse", "random_int64", "beyond_2_53"])
def test_assigned_ids_are_free(assignment: str) -> None:
    one = world(id_assignment=assignment)
    one.seed({"id": 2**63 - 1}, {})
    ids = [one.seed(None, {})["id"] for _ in range(50)]
    assert len(set(ids)) == 50
    assert 2**63 - 1 not in ids
    assert all(0 < number < 2**63 for number in ids)


def test_same_seed_draws_the_same_ids() -> None:
    drawn = []
    for random_seed in (1, 1, 2):
        one = World("k", default_schemas(), behaviour=Behaviour(id_assignment="random_int64"), random_seed=random_seed)
        drawn.append([one.seed(None, {})["id"] for _ in range(3)])
    assert drawn[0] == drawn[1] != drawn[2]


def test_hidden_animals_are_left_out_until_their_request() -> None:
    one = world()
    one.hidden = {2: 7, 3: 5}
    assert one.visible([1, 2, 3], 4) == [1]
    assert one.visible([1, 2, 3], 5) == [1, 3]
    assert one.visible([1, 2, 3], 6) == [1, 3]
    assert one.visible([1, 2, 3], 7) == [1, 2, 3]


def test_removed_animal_leaves_nothing_hidden_behind() -> None:
    one = world()
    one.seed({"id": 1}, {})
    one.hidden = {1: 10**6}
    one.remove(1)
    one.seed({"id": 1}, {})
    assert one.visible([1], 1) == [1]


def test_reset_begins_a_new_generation_and_lets_held_answers_go() -> None:
    one = world()
    released: list[str] = []
    one.waits.add(lambda: released.append("a"))
    generation = one.generation
    one.hidden = {1: 9}
    one.rotating, one.answered = "key", 4
    one.errors.append(ValueError())
    one.reset(["new"])
    assert one.generation == generation + 1
    assert released == ["a"]
    assert list(one.keys) == ["new"]
    assert vars(one)["rotating"] is None
    assert (one.hidden, one.answered, one.errors) == ({}, 0, [])


def test_released_answers_are_let_go_once() -> None:
    waits, released = Waiting(), list[str]()

    def first() -> None:
        released.append("first")

    def second() -> None:
        released.append("second")

    waits.add(first)
    waits.add(second)
    waits.discard(second)
    waits.discard(second)
    waits.release()
    waits.release()
    assert released == ["first"]
