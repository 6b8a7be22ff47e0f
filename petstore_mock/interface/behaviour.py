"""Behaviours: one alternative for each gap of the interface, as a frozen value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, cast

from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import one_of, refuse, require, shown
from petstore_mock.common.suggesting import did_you_mean
from petstore_mock.common.values import as_path, read_file
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.gaps import GAPS, PRESETS

if TYPE_CHECKING:
    from typing import Unpack

    from petstore_mock.common.values import JsonObject
    from petstore_mock.interface.gaps import Gap
    from petstore_mock.interface.static import GapChoices

_EXAMPLE: Final = next(f"{name}={[*gap.choices][-1]}" for name, gap in GAPS.items() if gap.step == "content")
_DEFAULTS: Final = {name: gap.default for name, gap in GAPS.items()}


class Behaviour(Mapping[str, str]):
    """One alternative for each gap of the interface: ``Behaviour(list_order="by_name")``.

    A behaviour is frozen and hashable. Each gap is an attribute (``behaviour.list_order``), and the behaviour is a
    mapping of all gaps by name. ``petstore-mock gaps`` explains each gap.

    Args:
        gaps: alternatives, each by the name of its gap. The default of a gap is that of the preset ``strict``.

    Raises:
        PetStoreMockError: a gap or an alternative does not exist; the message suggests the nearest name.
    """

    def __init__(self, **gaps: Unpack[GapChoices]) -> None:
        choices = dict(_DEFAULTS)
        for name, value in gaps.items():
            if name not in GAPS:
                known = "a gap of the interface (see 'petstore-mock gaps')"
                refuse(f"expected {known}; got {name!r}{did_you_mean(name, GAPS)}")
            if value != choices[name]:
                choices[name] = one_of(value, GAPS[name].alternatives, name)
        self.__dict__.update(choices)

    def __getitem__(self, name: str) -> str:
        value: str = self.__dict__[name]
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(GAPS)

    def __len__(self) -> int:
        return len(GAPS)

    def __getattr__(self, name: str) -> str:
        raise AttributeError(f"a behaviour has no {name!r}{did_you_mean(name, GAPS)}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a behaviour is frozen: replace({name}={value!r}) returns a changed copy")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Behaviour):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__.values()))

    def __repr__(self) -> str:
        choices = [f"{name}={value!r}" for name, value in self.differences().items()]
        return f"Behaviour({', '.join(choices)})"

    def differences(self) -> dict[str, str]:
        """Return the gaps that differ from the default, with their alternatives."""
        return {name: value for name, value in self.items() if value != _DEFAULTS[name]}

    def replace(self, gaps: Mapping[str, object] | None = None, /, **named: Unpack[GapChoices]) -> Behaviour:
        """Return a copy with other alternatives for some gaps: ``replace(list_order="by_name")``.

        Args:
            gaps: alternatives by the name of the gap, for names that are known only at run time.
            named: alternatives by keyword; they win over ``gaps``.

        Raises:
            PetStoreMockError: a gap or an alternative does not exist; the message suggests the nearest name.
        """
        return Behaviour(**cast("GapChoices", {**self, **(gaps or {}), **named}))

    @classmethod
    def preset(cls, name: str) -> Behaviour:
        """Return the preset ``strict``, ``lenient``, ``helpful`` or ``hostile``.

        Raises:
            PetStoreMockError: the preset does not exist; the message suggests the nearest name.
        """
        return Behaviour().replace(PRESETS[one_of(name, PRESETS, "preset")])

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Behaviour:
        """Return the behaviour in a TOML file of ``gap = "alternative"`` lines and at most one ``preset = "name"``.

        Args:
            path: the file, as text or a path object. Its gaps win over its preset.

        Raises:
            PetStoreMockError: the file can't be read, or a gap, an alternative or the preset in it does not exist; the
                message suggests the nearest name.
        """
        import tomllib  # few runs read a file, and the stub starts faster without it

        table = read_file(path, "path", tomllib.loads, "a readable TOML file of gaps")
        try:
            return as_behaviour(table)
        except PetStoreMockError as error:
            refuse(f"{path}: {error}")

    def to_toml(self) -> str:
        """Return every gap as a line of TOML, which :meth:`from_toml` reads."""
        return "".join(f'{name} = "{value}"\n' for name, value in self.items())


def as_behaviour(given: object, folder: Path | None = None) -> Behaviour:
    """Return the behaviour for an argument; a relative path starts at ``folder``."""
    if given is None:
        return Behaviour()
    if isinstance(given, Behaviour):
        return given
    if is_object(given):
        gaps = dict(given)
        return Behaviour.preset(gaps.pop("preset", "strict")).replace(gaps)  # gaps win over the preset
    if not isinstance(given, (str, PathLike)):
        refuse(f"expected a Behaviour, the name of a preset, a TOML file or a mapping; got behaviour={shown(given)}")
    if isinstance(given, str) and not given.endswith(".toml") and Path(given).name == given:
        return Behaviour.preset(given)  # a file's path ends with .toml or contains a folder; a preset's name does not
    return Behaviour.from_toml((folder or Path()) / as_path(cast("object", given), "behaviour"))


def choices_of(name: str, texts: Iterable[str]) -> dict[str, str]:
    """Return the alternatives by gap, read from texts of the form ``list_order = by_name``."""
    choices: dict[str, str] = {}
    for text in texts:
        require("=" in text, f"GAP=VALUE, such as {_EXAMPLE}", **{name: text})
        gap, value = text.split("=", 1)
        choices[gap.strip("\"' ")] = value.strip("\"' ")
    Behaviour().replace(choices)
    return choices


def gap_register() -> JsonObject:
    """Return the gaps and the presets as a JSON value."""
    presets = {name: dict(changes) for name, changes in PRESETS.items()}
    return {"gaps": [*map(_as_data, GAPS.values())], "presets": presets}


def _as_data(gap: Gap) -> JsonObject:
    return {
        "name": gap.name,
        "step": gap.step,
        "section": gap.section,
        "sentence": gap.sentence,
        "default": gap.default,
        "do_not_assume": gap.lesson,
        "alternatives": [*gap.choices],
        "effects": [choice.effect for choice in gap.choices.values()],
    }
