"""``Behaviour``: a value, its presets, and its TOML."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import Behaviour, PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_behaviour_is_a_value() -> None:
    one = Behaviour(list_order="by_name", json_style="pretty")
    assert one == Behaviour().replace(json_style="pretty", list_order="by_name") != Behaviour()
    assert pickle.loads(pickle.dumps(one)) == one
    assert hash(one) == hash(Behaviour(json_style="pretty", list_order="by_name"))
    assert repr(one) == "Behaviour(list_order='by_name', json_style='pretty')"
    assert (repr(Behaviour()), one.differences()) == ("Behaviour()", {"list_order": "by_name", "json_style": "pretty"})
    with pytest.raises(AttributeError):
        setattr(one, "list_order", "arbitrary")  # noqa: B010  # what a checker would refuse


@pytest.mark.parametrize("value", ["by_nam", "", "BY_NAME", None, 1, True, ["by_name"], {"a": 1}], ids=repr)
def test_a_wrong_alternative_is_refused_with_those_that_there_are(value: Any) -> None:  # noqa: ANN401
    makers: list[Callable[[], object]] = [
        lambda: Behaviour(list_order=value),
        lambda: Behaviour().replace(list_order=value),
    ]
    for make in makers:
        with pytest.raises(PetStoreMockError) as refused:
            make()
        assert "id_ascending, id_descending, by_name, arbitrary_stable, arbitrary" in str(refused.value)
        assert repr(value) in str(refused.value)


@pytest.mark.parametrize("name", ["strict", "lenient", "helpful", "hostile"])
def test_a_preset_goes_to_toml_and_back(tmp_path: Path, name: str) -> None:
    behaviour = Behaviour.preset(name).replace(key_rotation="mid_session")
    file = tmp_path / "behaviour.toml"
    file.write_text(behaviour.to_toml(), encoding="utf-8")
    assert Behaviour.from_toml(file) == Behaviour.from_toml(str(file)) == behaviour
    file.write_text(f'list_order = "by_name"\npreset = "{name}"  # wherever it stands\n', encoding="utf-8")
    assert Behaviour.from_toml(file) == Behaviour.preset(name).replace(list_order="by_name")
    assert (Behaviour.preset(name) == Behaviour()) is (name == "strict")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('\n# a\nlist_ordr = "by_name"\n', ["line 3", "'list_order'"]),
        ('json_style = "compact"\nlist_order = "by_nam"', ["line 2", "'by_name'"]),
        ("\nlist_order = 5", ["line 2", "5"]),
        ('\n\npreset = "hostil"', ["line 3", "'hostile'"]),
        ('\n\n[judge]\nname_rule = "any"', ["line 3", "'judge'"]),
        ('list_order = "by_name"\nlist_order = "by_name"\n', ["line 2"]),
        ("\nlist_order = by_name", ["line 2"]),
    ],
    ids=range(7),
)
def test_wrong_toml_is_refused_by_file_line_and_key(tmp_path: Path, text: str, named: list[str]) -> None:
    file = tmp_path / "b.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PetStoreMockError) as refused:
        Behaviour.from_toml(file)
    assert all(part in str(refused.value) for part in [str(file), *named])
