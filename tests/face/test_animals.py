"""Animals and keys that a test author adds, changes and removes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError
from tests.client import Client

Face = Any  # PetStoreMock or RemotePetStore: tests use only their common methods

# Invalid animals, and a part of the expected error.
WRONG: list[tuple[dict[str, Any], str]] = [
    *(({"name": one}, "name") for one in (5, None, "a\ud800", {1}, b"Rex")),
    *(({"categoryId": one}, "categoryId") for one in ("1", 1.0, True)),
    ({"categoryId": 2**63}, "9223372036854775807"),
    ({"id": -(2**63) - 1}, "-9223372036854775808"),
    ({"id": "x"}, "id"),
    ({"categoryId": 10**5000}, "expected"),
    ({"status": "lost"}, "available, pending, sold"),
    ({"colour": "red"}, "colour"),
    ({"category_id": 1}, "did you mean categoryId?"),
]


def test_seed_fills_missing_required_fields_and_keeps_given_ones(petstore: Face, client: Client) -> None:
    rex = petstore.seed(name="Rex", categoryId=1, status="available")
    assert (list(rex), list(rex.values())) == (["id", "name", "categoryId", "status"], [1, "Rex", 1, "available"])
    other = petstore.seed({"name": "Tom", "id": 7}, id=8)
    assert (other["id"], other["name"], "status" in other) == (8, "Tom", False)
    assert petstore.seed()["id"] == 9
    assert petstore.pets == client.list().json()


class Sold(StrEnum):
    SOLD = "sold"


def test_an_enumeration_member_is_accepted_as_its_text(petstore: Face, client: Client) -> None:
    rex = petstore.seed(MappingProxyType({"name": "Rex", "status": Sold.SOLD}))
    assert petstore.update(rex["id"], status=Sold.SOLD)["status"] == "sold"
    assert client.list("?status=sold").json() == petstore.pets == [rex]


def test_seed_many_takes_a_count_or_animals(petstore: Face) -> None:
    pets = petstore.seed_many(8)
    assert [pet["status"] for pet in pets] == ["available", "pending", "available", "sold"] * 2
    assert [pet["name"] for pet in petstore.seed_many({"name": name} for name in ("A", "B"))] == ["A", "B"]
    assert petstore.seed_many(0) == []
    assert [pet["id"] for pet in petstore.pets] == list(range(1, 11))


def test_seed_refuses_a_count_like_any_other_unknown_field(petstore: Face) -> None:
    for count in (0, 1, 3):
        with pytest.raises(PetStoreMockError, match=r"count is not a field here.*fields are"):
            petstore.seed(count=count)
        with pytest.raises(PetStoreMockError, match="count is not a field here"):
            petstore.seed({"count": count})
        with pytest.raises(PetStoreMockError, match=r"0.*count is not a field here"):
            petstore.seed_many([{"count": count}])
    assert petstore.pets == []


class Interrupted(BaseException):
    """An error that is no Exception, such as KeyboardInterrupt."""


@pytest.mark.parametrize("error", [RuntimeError, Interrupted])
def test_a_generator_that_raises_adds_no_animal(petstore: Face, error: type[BaseException]) -> None:
    def animals() -> Iterator[dict[str, Any]]:
        yield {"name": "Rex"}
        yield {"name": "Luna"}
        raise error

    with pytest.raises(error):
        petstore.seed_many(animals())
    assert petstore.pets == []
    assert petstore.seed()["id"] == 1


@pytest.mark.parametrize("carrier", ["home", "listening", "remote"], indirect=True)
def test_a_generator_of_animals_may_ask_the_fake(petstore: Face, client: Client) -> None:
    def animals() -> Iterator[dict[str, Any]]:
        for name in ("Rex", "Luna"):
            yield {"name": f"{name} {client.list().status}"}

    assert [pet["name"] for pet in petstore.seed_many(animals())] == ["Rex 200", "Luna 200"]
    assert client.list().json() == petstore.pets


def test_a_generator_as_an_option_is_read_once_for_all_resets(petstore: Face) -> None:
    with petstore.fresh(seed=({"name": name} for name in ("A", "B"))) as other:
        other.remove(1)
        other.reset()
        assert [pet["name"] for pet in other.pets] == ["A", "B"]


def test_missing_fields_get_plausible_and_repeatable_values(petstore: Face) -> None:
    pets = [petstore.seed() for _ in range(50)]
    assert [pet["categoryId"] for pet in pets] == [number % 5 + 1 for number in range(50)]
    assert [pet["name"] for pet in pets[:3]] == ["Rex", "Luna", "Bella"]
    assert len({pet["name"] for pet in pets}) == 50
    with petstore.fresh() as other:
        assert [other.seed() for _ in range(50)] == pets


@pytest.mark.parametrize(("wrong", "named"), WRONG, ids=range(len(WRONG)))
def test_an_invalid_animal_is_refused_at_the_call(petstore: Face, wrong: dict[str, Any], named: str) -> None:
    rex = petstore.seed(name="Rex")
    calls: list[Callable[[], object]] = [
        lambda: petstore.seed(**wrong),
        lambda: petstore.seed_many([{"name": "A"}, wrong]),
        lambda: petstore.update(rex["id"], **wrong),
    ]
    for call in calls:
        with pytest.raises(PetStoreMockError) as refused:
            call()
        assert named in str(refused.value) or "id" in wrong, "update() has another message about an id"
    assert petstore.pets == [rex]
    assert petstore.seed()["id"] == 2, "a refused animal takes no id"


def test_an_error_names_every_wrong_field_up_to_a_limit(petstore: Face) -> None:
    with pytest.raises(PetStoreMockError, match=r"(?s)(?=.*\bcategoryId\b)(?=.*\bname\b)(?=.*\bx\b)"):
        petstore.seed({"name": 1, "categoryId": "1", "x": 2})
    with pytest.raises(PetStoreMockError, match=r"\b2980\b") as refused:
        petstore.seed({f"field{number}": number for number in range(3000)})
    assert len(str(refused.value)) < 10_000


NO_IDS = (99, "1", None, 10**5000, 1.0, True, [1])
# Method, its argument, further arguments, and a part of the expected error.
REFUSED: list[tuple[str, Any, dict[str, Any], str]] = [
    ("seed", {}, {"id": 1}, r"\b1\b"),
    ("seed_many", [{"id": 6}, {"id": 1}], {}, "animal 1"),
    *(("seed", one, {}, "mapping") for one in ("Rex", ["Rex"], 7)),
    *(("seed_many", one, {}, "got|JSON") for one in (-1, 1.5, True, "Rex", {"name": "Rex"}, None, [5], 10**6 + 1)),
    *(("update", one, {"name": "x"}, "expected") for one in NO_IDS),
    *(("remove", one, {}, "expected") for one in NO_IDS),
    ("update", 1, {"id": 2}, "id"),
    *(("revoke_key", one, {}, "expected") for one in ("no-such-key", 5, ["no-such-key"])),
]


@pytest.mark.parametrize(("method", "argument", "options", "named"), REFUSED, ids=range(len(REFUSED)))
def test_an_invalid_call_is_refused_and_changes_nothing(
    petstore: Face, method: str, argument: object, options: dict[str, object], named: str
) -> None:
    rex = petstore.seed()
    with pytest.raises(PetStoreMockError, match=named):
        getattr(petstore, method)(argument, **options)
    assert petstore.pets == [rex]


def test_update_and_remove_act_as_another_actor(petstore: Face, client: Client) -> None:
    petstore.seed_many([{"id": number, "name": "Rex", "categoryId": 1} for number in (5, -1, 3)])
    assert [pet["id"] for pet in petstore.pets] == [-1, 3, 5]
    updated = petstore.update(3, status="sold", name="Max")
    assert list(updated.items()) == [("id", 3), ("name", "Max"), ("categoryId", 1), ("status", "sold")]
    assert petstore.update(3, status=None) == petstore.update(3) == {"id": 3, "name": "Max", "categoryId": 1}
    assert petstore.update(3, id=3)["id"] == 3
    petstore.remove(3)
    assert [pet["id"] for pet in client.list().json()] == [-1, 5]


def test_changes_of_given_or_returned_animals_do_not_change_the_store(petstore: Face) -> None:
    given: dict[str, Any] = {"name": "Rex", "categoryId": 1}
    added = petstore.seed(given)
    given["name"] = added["name"] = "changed"
    petstore.pets[-1]["name"] = "changed"
    petstore.update(1, status="sold")["name"] = "changed"
    petstore.seed_many([given])[0]["name"] = "changed twice"
    assert petstore.pets[0] == {"id": 1, "name": "Rex", "categoryId": 1, "status": "sold"}
    assert petstore.pets[1]["name"] == "changed"


def test_no_gap_applies_to_seeds(petstore: Face, client: Client) -> None:
    petstore.configure(
        name_rule="non_empty", category_rule="positive", visibility="delayed", status_when_omitted="sold"
    )
    assert petstore.seed(name="", categoryId=-1) == {"id": 1, "name": "", "categoryId": -1}
    assert client.get(1).status == 200


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[{"name": "Tom"}, 7]', "1"),
        ('{"name": "Tom"}', "array"),
        ("[", "JSON"),
        ("[" * 100_000, "JSON"),
        (None, "file"),
    ],
    ids=range(5),
)
def test_an_error_about_a_file_without_animals_names_its_path(
    petstore: Face, tmp_path: Path, text: str | None, named: str
) -> None:
    file = tmp_path / "pets.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(PetStoreMockError, match=named) as refused, petstore.fresh(seed=file):
        pass
    assert "pets.json" in str(refused.value)


def test_a_world_starts_with_a_number_a_list_or_a_file_of_animals(petstore: Face, tmp_path: Path) -> None:
    file = tmp_path / "pets.json"
    file.write_text('[{"name": "Rex", "categoryId": 9223372036854775807}, {"id": 9, "status": "sold"}]')
    expected = [
        {"id": 1, "name": "Rex", "categoryId": 2**63 - 1},
        {"id": 9, "name": "Luna", "categoryId": 2, "status": "sold"},
    ]
    for seed in (file, str(file), expected, tuple(expected)):
        with petstore.fresh(seed=seed) as inner:
            assert inner.pets == expected
            inner.remove(9)
            inner.reset()
            assert inner.pets == expected
    with petstore.fresh(seed=300) as inner:
        available = [pet for pet in inner.pets if pet["status"] == "available"]
        assert len(available) > 100, "more than one filtered list can show"


# Keys


def test_issued_keys_are_valid_until_they_are_revoked(petstore: Face, client: Client) -> None:
    assert petstore.headers == {"Authorization": f"Bearer {petstore.api_key}"}
    first, second = petstore.issue_key(), petstore.issue_key()
    assert [client.status(key=key) for key in (first, second)] == [200, 200]
    petstore.revoke_key(first)
    assert [client.status(key=key) for key in (first, second, None)] == [401, 200, 200]
    petstore.revoke_key()
    assert (client.status(), client.refusal) == (401, "revoked_key")


def test_a_key_expires_by_the_clock_of_the_fake(petstore: Face, client: Client) -> None:
    petstore.clock.freeze()
    for expires in (60, 60.0, "2030-01-02", date(2030, 1, 2), datetime(2030, 1, 2, tzinfo=UTC)):
        petstore.clock.travel_to("2030-01-01T23:59")
        key = petstore.issue_key(expires=expires)
        petstore.clock.advance(seconds=59)
        assert client.status(key=key) == 200
        petstore.clock.advance(seconds=1)
        assert (client.status(key=key), client.refusal) == (401, "expired_key")
    for wrong in ("soon", True, float("nan"), [1]):
        with pytest.raises(PetStoreMockError):
            petstore.issue_key(expires=wrong)


@pytest.mark.parametrize("key", ["", "a b", "secr\u00e9t", "=secret", "a=b", "a,b", "a\n", 5, b"secret"], ids=ascii)
def test_a_key_that_is_no_bearer_token_is_refused_and_not_shown(petstore: Face, key: Any) -> None:
    with pytest.raises(PetStoreMockError) as elsewhere, petstore.fresh(api_key=key):
        pass
    with pytest.raises(PetStoreMockError, match="6750") as home:
        PetStoreMock(api_key=key)
    for refused in (elsewhere, home):
        assert not isinstance(key, str) or len(key) < 4 or key not in str(refused.value)
