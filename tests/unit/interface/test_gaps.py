"""The gap register, behaviours, and the generated types."""

from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock import Behaviour, PetStoreMockError
from petstore_mock.interface.behaviour import as_behaviour, gap_register
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.gaps import GAPS, PRESETS, RULES, VARIED
from petstore_mock.interface.table import FIELDS, MEMBERS, OPERATIONS, operations
from tools.static_types import TARGET, static_types

BEHAVIOURS = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from([*gap.alternatives]) for name, gap in GAPS.items()}
)
PET = b'{"id":1,"name":"Re\xc5\xbe"}'


def test_static_types_match_the_register() -> None:
    assert TARGET.read_text(encoding="utf-8") == static_types(), "stale static types: run python -m tools.static_types"


def test_rows_are_complete() -> None:
    for name, gap in GAPS.items():
        assert (gap.name, gap.default) == (name, next(iter(gap.alternatives)))
        assert len(gap.alternatives) > 1
        assert gap.sentence.endswith(".")
        assert not gap.field or gap.field in FIELDS
        functions = {callable(value) for value in gap.alternatives.values() if value is not None}
        assert len(functions) == 1, f"some alternatives of {name} are functions, and others are not"
    assert {gap.name for gap in RULES} == {"name_rule", "category_rule"}
    assert len(VARIED) == len(GAPS) - 2 - sum(gap.step == "event" for gap in GAPS.values())
    for gap_name in ("malformed_pet_id", "media_type", "unknown_route", "after_removal"):
        assert {value for value in GAPS[gap_name].alternatives.values() if value is not None} <= CONDITIONS.keys()
    assert [row["name"] for row in json.loads(json.dumps(gap_register()))["gaps"]] == [*GAPS]
    assert {row.gap for one in OPERATIONS.values() for row in one.parameters if row.gap} <= GAPS.keys()


@given(BEHAVIOURS)
def test_behaviour_is_compared_copied_and_pickled_by_value(choices: dict[str, str]) -> None:
    behaviour = as_behaviour(choices)
    assert dict(behaviour) == {name: gap.default for name, gap in GAPS.items()} | choices
    assert all(getattr(behaviour, name) == value for name, value in behaviour.items())
    for other in (copy.deepcopy(behaviour), pickle.loads(pickle.dumps(behaviour)), eval(repr(behaviour))):
        assert other == behaviour
        assert hash(other) == hash(behaviour)
    assert (behaviour == Behaviour()) is (behaviour.differences() == {})
    assert behaviour != choices


@pytest.mark.parametrize("name", PRESETS)
def test_a_behaviour_survives_a_round_trip_through_toml(tmp_path: Path, name: str) -> None:
    file = tmp_path / "service.toml"
    behaviour = Behaviour.preset(name).replace({"page_fill": "full"}, key_rotation="mid_session")
    file.write_text(behaviour.to_toml(), encoding="utf-8-sig")
    assert Behaviour.from_toml(file) == Behaviour.from_toml(str(file)) == as_behaviour(str(file)) == behaviour
    file.write_text(f'visibility = "delayed"\npreset = "{name}"  # in any line\n', encoding="utf-8")
    assert as_behaviour(file) == Behaviour.preset(name).replace(visibility="delayed")
    assert (Behaviour.preset(name) == Behaviour()) is (name == "strict")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('\n# a\nlist_ordr = "by_name"\n', r"'list_ordr' \(did you mean 'list_order'\?\)"),
        ('list_order = "by_nam"', r"expected a list_order, .* \(did you mean 'by_name'\?\)"),
        ("list_order = 5", "got 5"),
        ('preset = "hostil"', "'hostile'"),
        ('[judge]\nname_rule = "any"', "'judge'"),
        ('list_order = "by_name"\nlist_order = "by_name"\n', "line 2"),
    ],
    ids=range(6),
)
def test_refusal_of_wrong_toml_names_the_file_and_the_key(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "b.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PetStoreMockError, match=f"b.toml.*{words}"):
        Behaviour.from_toml(tmp_path / "b.toml")


ORDERS = "id_ascending, id_descending, by_name, arbitrary_stable, arbitrary"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"list_ordr": "by_name"}, r"got 'list_ordr' \(did you mean 'list_order'\?\)"),
        *[({"list_order": one}, f"{ORDERS}.*; got {re.escape(repr(one))}") for one in (3, "", "BY_NAME", None, ["a"])],
        ("no-such.toml", "expected a readable TOML file of gaps; got no-such.toml"),
        ("lenien", r"expected a preset, .* \(did you mean 'lenient'\?\)"),
        (3, "got behaviour=3"),
    ],
    ids=str,
)
def test_refusal_of_wrong_choices_suggests_the_nearest_name(wrong: Any, words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        as_behaviour(wrong)


def test_behaviour_is_frozen() -> None:
    with pytest.raises(AttributeError, match="a behaviour is frozen"):
        setattr(Behaviour(), "list_order", "by_name")  # noqa: B010  # a type checker refuses the plain assignment
    with pytest.raises(AttributeError, match=r"has no 'list_ordr' \(did you mean 'list_order'\?\)"):
        _ = Behaviour().list_ordr
    assert "list_order" in dir(Behaviour())
    assert as_behaviour(None) is not None
    assert as_behaviour("strict") == Behaviour()
    assert {*PRESETS} == {"strict", "lenient", "helpful", "hostile"}


def test_lenient_service_accepts_wrong_parameters_of_a_list_and_null() -> None:
    of_lists = {parameter.gap for row in operations("lists") for parameter in row.parameters}
    of_null = {field.null for field in MEMBERS.values()}
    assert {*of_lists, *of_null} - {""} <= PRESETS["lenient"].keys()


def test_each_alternative_says_what_it_does() -> None:
    for gap in gap_register()["gaps"]:
        assert len(gap["effects"]) == len(gap["alternatives"])
        assert all(effect.endswith(".") for effect in gap["effects"])
        assert len({*gap["effects"]}) == len(gap["effects"]), gap["name"]
