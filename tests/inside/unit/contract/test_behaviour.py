"""``Behaviour`` and its presets, held against the register."""

from __future__ import annotations

import ast
import collections.abc
import copy
import dataclasses
import inspect
import pickle
import tomllib
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import petstore_mock
from petstore_mock import Behaviour, PetStoreMockError
from petstore_mock.contract.behaviour import PRESETS, Policies, check_gap, policies
from petstore_mock.contract.gaps import GAPS

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Path(petstore_mock.__file__).parent


# Against the register


def test_fields_of_behaviour_are_the_gaps_in_order() -> None:
    assert [field.name for field in dataclasses.fields(Behaviour)] == list(GAPS)


def test_literals_of_behaviour_are_the_alternatives_in_order() -> None:
    hints = typing.get_type_hints(Behaviour)
    for name, gap in GAPS.items():
        assert typing.get_args(hints[name]) == tuple(gap.alternatives), name


def test_defaults_of_behaviour_are_the_first_alternatives() -> None:
    assert dataclasses.asdict(Behaviour()) == {name: gap.default for name, gap in GAPS.items()}


def test_policies_are_the_alternatives_of_the_gaps() -> None:
    assert Policies._fields == tuple(GAPS)
    for preset in PRESETS:
        behaviour = Behaviour.preset(preset)
        for name, chosen in policies(behaviour)._asdict().items():
            assert chosen is GAPS[name].alternatives[getattr(behaviour, name)]


def test_alternatives_are_of_the_types_that_policies_promise() -> None:
    """What a table of 34 kinds of rows hides from a type checker."""
    names = {"ResponseFields": tuple, "Catalogue": object, "ListPage": object, "Random": object, "datetime": object}
    hints = typing.get_type_hints(Policies, {**vars(collections.abc), **names})
    for name, gap in GAPS.items():
        parts = typing.get_args(hints[name]) if isinstance(hints[name], types.UnionType) else (hints[name],)
        functions = [part for part in parts if typing.get_origin(part) is collections.abc.Callable]
        for chosen in gap.alternatives.values():
            if callable(chosen):
                assert functions, name
                inspect.signature(chosen).bind(*typing.get_args(functions[0])[0])
            else:
                assert type(chosen) in parts, name


# The places that speak of alternatives by name: the register itself, and Behaviour with its presets.
MAY_NAME_ALTERNATIVES = {"gaps.py", "behaviour.py"}
# Words that an alternative shares with the rest of the world.
SHARED_WORDS = {
    "available",
    "pending",
    "sold",
    "delayed",
    "reset",
    "first",
    "last",
    "any",
    "none",
    "plain",
    "empty",
    "not_found",
    "link",
}


def compared_strings(tree: ast.AST) -> typing.Iterator[tuple[int, str]]:
    """Yield the texts that a module compares something with, by ``==``, ``in`` or ``match``."""
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        for part in parts:
            for leaf in ast.walk(part):
                if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
                    yield leaf.lineno, leaf.value


def test_no_other_module_compares_the_value_of_a_behaviour() -> None:
    alternatives = {name for gap in GAPS.values() for name in gap.alternatives} - SHARED_WORDS
    found = [
        f"{path.relative_to(PACKAGE)}:{line} {text!r}"
        for path in PACKAGE.rglob("*.py")
        if path.name not in MAY_NAME_ALTERNATIVES
        # the oracle and verify judge from outside; options have words too
        and not {"stateful", "pytest_plugin", "verify"} & set(path.relative_to(PACKAGE).parts)
        for line, text in compared_strings(ast.parse(path.read_text(encoding="utf-8")))
        if text in alternatives
    ]
    assert found == []


def test_pipeline_reads_no_field_of_a_behaviour() -> None:
    """``policies(behaviour)`` hands out what is chosen; the core reads no ``behaviour.list_order`` and its like."""
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.attr}"
        for folder in ("core", "mock")
        for path in (PACKAGE / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr in GAPS
        and not (isinstance(node.value, ast.Name) and node.value.id == "chosen")
        and not (isinstance(node.value, ast.Attribute) and node.value.attr == "policies")
        # Entry.connection is a number, and a mutant's turn has the media type of its answer
        and not (isinstance(node.value, ast.Name) and node.value.id in {"entry", "turn"})
    ]
    assert found == []


# A value


def test_behaviour_is_a_value() -> None:
    one, other = Behaviour(list_order="by_name"), Behaviour().replace(list_order="by_name")
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != Behaviour()
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, "list_order", "arbitrary")  # noqa: B010  # what a checker would refuse


def test_repr_shows_what_differs_and_can_be_evaluated() -> None:
    behaviour = Behaviour(list_order="by_name", json_style="pretty")
    assert repr(behaviour) == "Behaviour(list_order='by_name', json_style='pretty')"
    assert repr(Behaviour()) == "Behaviour()"
    assert eval(repr(behaviour), {"Behaviour": Behaviour}) == behaviour
    assert behaviour.differences() == {"list_order": "by_name", "json_style": "pretty"}


@pytest.mark.parametrize("value", ["by_nam", "", "BY_NAME", None, 1, True, ["by_name"], {"a": 1}])
@pytest.mark.parametrize("way", ["constructor", "replace", "check"])
def test_wrong_alternative_is_refused_by_name_value_and_type(way: str, value: Any) -> None:  # noqa: ANN401
    ways: dict[str, Callable[[Any], object]] = {
        "constructor": lambda value: Behaviour(list_order=value),
        "replace": lambda value: Behaviour().replace(list_order=value),
        "check": lambda value: check_gap("list_order", value),
    }
    with pytest.raises(PetStoreMockError) as caught:
        ways[way](value)
    text = str(caught.value)
    assert "id_ascending, id_descending, by_name, arbitrary_stable, arbitrary" in text
    assert f"got list_order={value!r} ({type(value).__name__})" in text
    assert ("Did you mean 'by_name'?" in text) is (value in ("by_nam", "BY_NAME", ["by_name"]))


def test_unknown_gap_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(PetStoreMockError, match=r"got 'list_ordr'\. Did you mean 'list_order'\?"):
        Behaviour().replace(list_ordr="by_name")  # type: ignore[call-arg]  # the mistake that is meant
    with pytest.raises(PetStoreMockError, match=r"got 'zzz'$"):
        Behaviour().replace(zzz="by_name")  # type: ignore[call-arg]  # the mistake that is meant


def test_a_misspelt_gap_of_a_new_behaviour_is_told_with_the_nearest_name() -> None:
    with pytest.raises(PetStoreMockError, match=r"got 'list_ordr'\. Did you mean 'list_order'\?"):
        Behaviour(list_ordr="by_name")  # type: ignore[call-arg]  # the mistake that is meant
    drawn = Behaviour(list_order="by_name")
    assert copy.copy(drawn) == pickle.loads(pickle.dumps(drawn)) == drawn  # our own


def test_gaps_are_given_by_name_only() -> None:
    with pytest.raises(TypeError):
        Behaviour("clamp")  # type: ignore[call-arg]


# Presets


def test_presets_are_those_of_the_face() -> None:
    assert list(PRESETS) == ["strict", "lenient", "helpful", "hostile"]
    assert Behaviour.preset("strict") == Behaviour()


@pytest.mark.parametrize("name", list(PRESETS))
def test_preset_names_gaps_and_alternatives(name: str) -> None:
    for gap, alternative in PRESETS[name].items():
        assert alternative in GAPS[gap].alternatives
        assert getattr(Behaviour.preset(name), gap) == alternative


def test_lenient_accepts_whatever_can_be_accepted() -> None:
    lenient = Behaviour.preset("lenient")
    for name, gap in GAPS.items():
        if gap.step == "validate" and gap.default in {"reject", "unsupported_415", "one_mebibyte"}:
            assert getattr(lenient, name) != gap.default, name
        elif gap.step != "validate":
            assert getattr(lenient, name) == gap.default, name


def test_no_preset_draws_events() -> None:
    for name in PRESETS:
        assert all(GAPS[gap].step != "event" for gap in Behaviour.preset(name).differences())


@pytest.mark.parametrize("name", ["Strict", "lenien", "", None, 5, ["strict"]])
def test_unknown_preset_is_refused(name: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError, match="one of strict, lenient, helpful, hostile") as caught:
        Behaviour.preset(name)
    assert repr(name) in str(caught.value)


# TOML


@pytest.mark.parametrize("name", list(PRESETS))
def test_toml_goes_out_and_in(tmp_path: Path, name: str) -> None:
    behaviour = Behaviour.preset(name).replace(key_rotation="mid_session")
    text = behaviour.to_toml()
    assert list(tomllib.loads(text)) == list(GAPS), "every gap has its line"
    path = tmp_path / "behaviour.toml"
    path.write_text(text, encoding="utf-8")
    assert Behaviour.from_toml(path) == Behaviour.from_toml(str(path)) == behaviour


def test_toml_may_begin_from_a_preset(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    path.write_text('list_order = "by_name"\npreset = "hostile"  # wherever it stands\n', encoding="utf-8")
    assert Behaviour.from_toml(path) == Behaviour.preset("hostile").replace(list_order="by_name")
    path.write_text("", encoding="utf-8")
    assert Behaviour.from_toml(path) == Behaviour()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('\n# a\nlist_ordr = "by_name"\n', ["line 3", "'list_ordr'", "Did you mean 'list_order'?"]),
        ('json_style = "compact"\nlist_order = "by_nam"', ["line 2", "list_order='by_nam'", "Did you mean 'by_name'?"]),
        ('json_style = "compact"\n  "list_order"= "x"', ["line 2", "list_order='x'"]),
        ("\nlist_order = 5", ["line 2", "list_order=5 (int)"]),
        ("list_order = []", ["line 1", "list_order=[] (list)"]),
        ('\n\npreset = "hostil"', ["line 3", "'hostil'", "Did you mean 'hostile'?"]),
        ("\npreset = 5", ["line 2", "got 5"]),
        ("\npreset = []", ["line 2", "got []"]),
        ('\n\n[judge]\nname_rule = "any"', ["line 3", "'judge'"]),
        ('\n[ list_order ]\nname_rule = "any"', ["line 2", "list_order={'name_rule': 'any'} (dict)"]),
        ('\nlist_order.x = "any"', ["line 2", "list_order={'x': 'any'} (dict)"]),
        ('list_order = "by_name"\nlist_order = "by_name"\n', ["line 2"]),
        ("\nlist_order = by_name", ["line 2"]),
    ],
)
def test_wrong_toml_is_refused_by_file_line_and_key(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "b.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PetStoreMockError) as caught:
        Behaviour.from_toml(path)
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_unreadable_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PetStoreMockError, match="readable TOML file"):
        Behaviour.from_toml(tmp_path / "absent.toml")
    path = tmp_path / "latin.toml"
    path.write_bytes(b'# \xe4\nlist_order = "by_name"')
    with pytest.raises(PetStoreMockError, match="readable TOML file"):
        Behaviour.from_toml(path)
