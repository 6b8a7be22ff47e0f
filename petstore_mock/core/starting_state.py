"""The starting state of a world: what the options of ``PetStoreMock`` mean."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.paths import as_path
from petstore_mock.contract.behaviour import PRESETS, Behaviour
from petstore_mock.contract.strict_json import RepeatedMembers, members_of
from petstore_mock.contract.violations import describe, json_type
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.core.world import World

__all__ = [
    "Seed",
    "as_behaviour",
    "behaviour_of",
    "check_animals",
    "check_count",
    "check_lasts",
    "check_type",
    "each_of_file",
    "fill",
    "seed_each",
    "seed_of",
]

Seed = int | str | PathLike[str] | Iterable[Mapping[str, Any]]

_COUNT: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DIGITS: Final = 1000
_MOST_ANIMALS: Final = 10_000_000  # some gigabytes; a larger number is an id by mistake, and would fill the memory


def check_type(name: str, value: object, kind: type, *, what: str) -> None:
    """Refuse an option of another type: most of all text, of which even "false" would count as true.

    Raises:
        PetStoreMockError: ``value`` is none of ``kind``.
    """
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise PetStoreMockError(f"expected {name} to be {what}; got {name}={value!r} ({type(value).__name__})")


def check_count(name: str, count: int) -> None:
    """Refuse a number of animals that can't be meant.

    Raises:
        PetStoreMockError: ``count`` is negative, True or False, or more than ten million.
    """
    if isinstance(count, bool) or not 0 <= count <= _MOST_ANIMALS:
        shown = count if abs(count) < 2**64 else "a larger number"  # Python writes none of thousands of digits
        raise PetStoreMockError(f"expected a number of animals from 0 to {_MOST_ANIMALS:,}; got {name}={shown}")


def seed_of(text: str, folder: Path | None = None) -> int | Path:
    """Return what an option outside of Python means: how many animals, or a file of them.

    Args:
        text: the option.
        folder: what a relative path is relative to; the working directory unless given.
    """
    if _COUNT.fullmatch(text):
        return int(text[:_DIGITS])  # Python reads none of thousands of digits; so many are too many in any case
    return Path(text) if folder is None else folder / text


def behaviour_of(text: str, folder: Path | None = None) -> str | Path:
    """Return what a text means: the name of a preset, or a file, whatever that is called; a preset's name wins.

    Args:
        text: the name or the path.
        folder: what a relative path is relative to; the working directory unless given.
    """
    path = Path(text) if folder is None else folder / text
    if text and text not in PRESETS:
        with suppress(OSError):  # of a name that is too long for any file
            if path.suffix == ".toml" or Path(text).name != text or path.is_file():
                return path
    return text


def as_behaviour(behaviour: Behaviour | str | PathLike[str] | None) -> Behaviour:
    """Return a behaviour as it is, by the name of its preset, or from its TOML file, whatever that is called.

    Raises:
        PetStoreMockError: it is neither.
    """
    if behaviour is None:
        return Behaviour()
    if isinstance(behaviour, Behaviour):
        return behaviour
    if isinstance(behaviour, str):
        behaviour = behaviour_of(behaviour)
    if isinstance(behaviour, str):
        return Behaviour.preset(behaviour)
    if isinstance(behaviour, PathLike):
        return Behaviour.from_toml(as_path(behaviour, "behaviour"))
    raise PetStoreMockError(
        f"expected a Behaviour, the name of a preset or a TOML file; got behaviour={behaviour!r} "
        f"({type(behaviour).__name__})"
    )


def fill(world: World, seed: Seed | None, *, mark: bool = True) -> None:
    """Put the animals of the starting state into ``world``.

    Args:
        world: where to.
        seed: the animals.
        mark: whether :meth:`World.reset` is to return to them.

    Raises:
        PetStoreMockError: ``seed`` is neither a count, animals nor a JSON file of them; says which one is wrong.
    """
    if seed is None:
        pass
    elif isinstance(seed, int):
        check_count("seed", seed)
        for _ in range(seed):
            world.animals.seed_sample()
    elif isinstance(seed, (str, PathLike)):
        each_of_file(seed, lambda pet: world.animals.seed(pet, {}))
    else:
        check_lasts(seed)
        seed_each(world, seed, "seed")
    if mark:
        world.mark_start()


def seed_each(world: World, pets: Iterable[Mapping[str, Any]], source: str) -> list[dict[str, Any]]:
    """Seed each of ``pets``, and return them as they were stored.

    Args:
        world: where to.
        pets: the animals.
        source: what the caller's own argument is called, for the error.

    Raises:
        PetStoreMockError: ``pets`` is no list of animals, or one of them is wrong; says which.
    """
    check_animals(pets, source)
    added: list[dict[str, Any]] = []
    with world.lock:
        before = world.animals.seeding()
        for index, pet in enumerate(pets):
            try:
                added.append(_seed(world, pet))
            except PetStoreMockError as error:
                world.animals.take_back([pet["id"] for pet in added], before)
                raise PetStoreMockError(f"animal {index} of {source}: {error}; none of them was added") from None
    return added


def _seed(world: World, pet: Mapping[str, Any] | None) -> dict[str, Any]:
    if pet is None:  # what a list may hold by mistake; left out of a call, it would mean a plausible animal
        raise PetStoreMockError("expected an animal as a mapping; got None")
    return world.animals.seed(pet, {})


def check_animals(pets: object, source: str) -> None:
    """Refuse what is no list of animals; ``source`` is what the caller's own argument is called.

    Raises:
        PetStoreMockError: it is none.
    """
    if isinstance(pets, (Mapping, str, bytes)) or not isinstance(pets, Iterable):
        advice = ": put the one animal into a list" if isinstance(pets, Mapping) else ""
        if isinstance(pets, str):
            advice = ": a file of animals goes into PetStoreMock(seed=...)"
        raise PetStoreMockError(
            f"expected a list of animals, or how many, for {source}; got {type(pets).__name__}{advice}"
        )


def check_lasts(seed: object) -> None:
    """Refuse an iterator as a seed, which several resets and examples read.

    Raises:
        PetStoreMockError: it is one.
    """
    if isinstance(seed, Iterator):
        raise PetStoreMockError(f"expected a list of animals, or how many, for seed; got {type(seed).__name__}")


def each_of_file(path: str | PathLike[str], take: Callable[[dict[str, Any]], object]) -> None:
    """Call ``take`` with each animal of a JSON file that holds a list of them.

    Raises:
        PetStoreMockError: it is no such file, or ``take`` raises; says which animal is wrong.
    """
    try:
        text = as_path(path, "seed").read_text(encoding="utf-8-sig")  # RFC 8259 §8.1: a reader may overlook the mark
        animals = json.loads(text, object_pairs_hook=members_of)
    except FileNotFoundError:  # what was meant may be no file at all
        raise PetStoreMockError(
            f"expected a number of animals, or a JSON file of them; got {path}; no such file is there"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise PetStoreMockError(f"expected a readable JSON file of animals in {path}; {error}") from None
    except (ValueError, RecursionError) as error:  # JSONDecodeError tells line and column
        raise PetStoreMockError(f"expected JSON in {path}; {error}") from None
    if not isinstance(animals, list):
        raise PetStoreMockError(f"expected a JSON array of animals in {path}; got {json_type(animals)}")
    for index, animal in enumerate(animals):
        try:
            take(_object(animal))
        except PetStoreMockError as error:
            raise PetStoreMockError(f"{path}, item [{index}]: {error}") from None


def _object(animal: object) -> dict[str, Any]:
    if not isinstance(animal, dict):
        raise PetStoreMockError(f"expected an animal as a JSON object; got {describe(animal)}")
    if isinstance(animal, RepeatedMembers):  # the last of them was kept
        raise PetStoreMockError(f"expected each field once; got {', '.join(map(repr, animal.repeated))} twice")
    return animal
