"""The options of the starting state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import Behaviour, PetStoreMock, PetStoreMockError
from petstore_mock.core.starting_state import as_behaviour, check_count

if TYPE_CHECKING:
    from collections.abc import Callable


def test_behaviour_comes_as_value_preset_or_file(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('list_order = "by_name"', encoding="utf-8")
    own = Behaviour(list_order="by_name")
    assert as_behaviour(None) == Behaviour()
    assert as_behaviour(own) is own
    assert as_behaviour("hostile") == Behaviour.preset("hostile")
    assert as_behaviour(path) == as_behaviour(str(path)) == own


def test_file_of_a_behaviour_may_have_any_name_but_that_of_a_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "hostile"):
        Path(name).write_text('list_order = "by_name"\n')
    assert as_behaviour("mine") == as_behaviour("./hostile") == Behaviour(list_order="by_name")
    assert as_behaviour("hostile") == Behaviour.preset("hostile")
    with pytest.raises(PetStoreMockError, match="expected a preset"):
        as_behaviour("x" * 5000)


class OfBytes:
    """A path object that stands for bytes, as os.fspath allows."""

    def __fspath__(self) -> bytes:
        return b"animals.json"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PetStoreMock(seed="\0"), "got seed='\\x00' (str)"),
        (lambda: PetStoreMock(seed=OfBytes()), "got seed=<"),  # type: ignore[arg-type]
        (lambda: PetStoreMock(behaviour=OfBytes()), "got behaviour=<"),  # type: ignore[arg-type]
        (lambda: Behaviour.from_toml(5), "got path=5 (int)"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_path_is_refused_by_the_name_of_its_option(call: Callable[[], object], words: str) -> None:
    with pytest.raises(PetStoreMockError, match="to be a path, as text or a path object") as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("wrong", ["hostil", "", "own.tml", 5, ["strict"], {"list_order": "by_name"}, "absent.toml"])
def test_other_behaviours_are_refused(wrong: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError) as caught:
        PetStoreMock(behaviour=wrong)
    assert str(wrong) in str(caught.value)


def test_seed_comes_as_count_animals_or_file(tmp_path: Path) -> None:
    animals = [{"name": "Rex", "categoryId": 2**63 - 1}, {"id": 9, "status": "sold"}]
    path = tmp_path / "pets.json"
    path.write_text(json.dumps(animals), encoding="utf-8")
    expected = [
        {"id": 1, "name": "Rex", "categoryId": 2**63 - 1},
        {"id": 9, "name": "Luna", "categoryId": 2, "status": "sold"},
    ]
    for seed in (animals, tuple(animals), path, str(path)):
        petstore = PetStoreMock(seed=seed)
        assert petstore.pets == expected
        petstore.remove(9)
        petstore.reset()
        assert petstore.pets == expected
    assert len(PetStoreMock(seed=300).pets) == 300
    assert PetStoreMock(seed=0).pets == PetStoreMock().pets == []


def test_three_hundred_plausible_animals_are_more_than_a_page_of_available_ones() -> None:
    """The replacement that §4.3 names can't find an id then."""
    assert sum(pet["status"] == "available" for pet in PetStoreMock(seed=300).pets) > 100


@pytest.mark.parametrize("wrong", [-1, True, 1.5, {"name": "Rex"}, b"ab", [5], ["Rex"], [None]], ids=repr)
def test_other_seeds_are_refused(wrong: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError):
        PetStoreMock(seed=wrong)


@pytest.mark.parametrize(
    "count", [-1, True, 10_000_001, 2**53 + 1, 10**5000], ids=["-1", "True", "one_more", "an_id", "huge"]
)
def test_number_of_animals_that_cannot_be_meant_is_refused_before_one_is_made(count: int) -> None:
    petstore = PetStoreMock()
    with pytest.raises(PetStoreMockError, match="a number of animals from 0 to 10,000,000; got seed="):
        PetStoreMock(seed=count)
    with pytest.raises(PetStoreMockError, match="a number of animals from 0 to 10,000,000; got pets_or_count="):
        petstore.seed_many(count)
    assert petstore.pets == []


def test_highest_number_of_animals_is_allowed() -> None:
    check_count("seed", 10_000_000)


def test_wrong_animal_of_a_seed_is_named_by_its_place() -> None:
    with pytest.raises(PetStoreMockError, match=r"animal 1 of seed: .*seed\.name must be a string"):
        PetStoreMock(seed=[{}, {"name": 5}])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "line 1"),
        (b"{}", "a JSON array of animals"),
        (b"\xff", "a readable JSON file"),
        (b'[\n {"name": "Rex"},\n\n {"name": 5}]', "json, item [1]: "),
        (b'[{"name": "Rex"},\n {"name": "\\ud800"}]', "json, item [1]: "),
        (b'[{"id": 1},\n{"id": 1}]', "json, item [1]: "),
        (b'[{"id":1},{"id":2},\n{"id":2}]', "json, item [2]: "),
        (b'[{},\n{"name":"b","id":5,"name":"b"}]', "json, item [1]: expected each field once; got 'name' twice"),
        (b"[5]", "json, item [0]: "),
        (b'[{"categoryId": NaN}]', "json, item [0]: "),
        (b"[" * 100_000, "JSON"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else ascii(value[:20].decode("latin-1")).replace("\\", ""),
)
def test_wrong_seed_file_is_named_with_place_and_reason(tmp_path: Path, text: bytes, words: str) -> None:
    path = tmp_path / "pets.json"
    path.write_bytes(text)
    with pytest.raises(PetStoreMockError) as caught:
        PetStoreMock(seed=path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_absent_seed_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PetStoreMockError, match="a number of animals, or a JSON file of them"):
        PetStoreMock(seed=tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"strict": "false"}, "expected strict to be True or False; got strict='false' (str)"),
        ({"self_check": 1}, "expected self_check to be True or False; got self_check=1 (int)"),
        ({"random_seed": None}, "expected random_seed to be a whole number; got random_seed=None (NoneType)"),
        ({"port": "8080"}, "expected port to be a number, 0 for any free port; got port='8080' (str)"),
        ({"port": True}, "expected port to be a number, 0 for any free port; got port=True (bool)"),
        ({"host": 1}, "expected host to be an address such as '127.0.0.1'; got host=1 (int)"),
    ],
)
def test_option_of_another_type_is_refused(option: dict[str, Any], message: str) -> None:
    """The text "false" would count as true, and a seed of None would draw otherwise each time."""
    with pytest.raises(PetStoreMockError) as caught:
        PetStoreMock(**option)
    assert str(caught.value) == message


def test_options_of_a_fresh_world_are_checked_as_well() -> None:
    with pytest.raises(PetStoreMockError, match="strict to be True or False"), PetStoreMock().fresh(strict="no"):  # type: ignore[arg-type]
        pass


def test_date_of_the_start() -> None:
    assert PetStoreMock(at="2030-12-06").clock.moment.date().isoformat() == "2030-12-06"
    with pytest.raises(PetStoreMockError, match="got at='tomorrow'"):
        PetStoreMock(at="tomorrow")
