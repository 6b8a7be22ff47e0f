"""What a test writes, as the door takes it: files are read on this side, moments become text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.dates import as_moment
from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.core.starting_state import as_behaviour, check_animals, check_count, check_lasts, each_of_file
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime

    from petstore_mock.core.starting_state import Seed

__all__ = ["animals_of", "as_json", "as_text", "criteria_of", "world_options"]

_OPTIONS: Final = ("api_key", "seed", "behaviour", "at", "strict", "random_seed", "mutant")


def as_text(when: str | date | datetime, name: str) -> str:
    """Return a moment as ISO 8601 text.

    Raises:
        PetStoreMockError: it is none.
    """
    return as_moment(when, name).isoformat()


def world_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a world as the door takes them: files are read on this side, moments become text.

    Raises:
        PetStoreMockError: there is no such option, or it can't be right.
    """
    if unknown := [name for name in options if name not in _OPTIONS]:
        raise PetStoreMockError(
            f"expected options of a world elsewhere, from {', '.join(_OPTIONS)}; "
            f"got {', '.join(unknown)}{did_you_mean(unknown[0], _OPTIONS)}"
        )
    told = {name: value for name, value in options.items() if value is not None}
    if "behaviour" in told:
        told["behaviour"] = dataclasses.asdict(as_behaviour(told["behaviour"]))
    if "at" in told:
        told["at"] = as_text(told["at"], "at")
    if "seed" in told:
        told["seed"] = _seed(told["seed"])
    return told


def _seed(seed: Seed) -> int | list[Any]:
    if isinstance(seed, int):
        check_count("seed", seed)
        return seed
    if not isinstance(seed, (str, PathLike)):
        check_lasts(seed)
        return animals_of(seed, "seed")
    animals: list[Any] = []
    each_of_file(seed, animals.append)
    return animals


def animals_of(pets: Iterable[Mapping[str, Any]], source: str) -> list[Any]:
    """Return a list of animals as JSON values; ``source`` is what the caller's own argument is called.

    Raises:
        PetStoreMockError: it is no list.
    """
    check_animals(pets, source)
    return [as_json(pet) for pet in pets]


def as_json(value: object) -> Any:  # noqa: ANN401  # a JSON value, as far as it is one
    """Return what a test wrote with any mapping as a dict; what JSON can't say stays, and can't be sent."""
    if isinstance(value, Mapping):
        return {name: as_json(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(one) for one in value]
    return value


def criteria_of(where: Mapping[str, Any] | None) -> Any:  # noqa: ANN401  # a JSON value
    """Return criteria as the door takes them: a body of bytes is text.

    Raises:
        PetStoreMockError: it is no text.
    """
    told = as_json(where)
    if told and isinstance(told.get("body"), bytes):
        try:
            told["body"] = told["body"].decode("utf-8")
        except UnicodeDecodeError:
            raise PetStoreMockError(
                f"expected bytes that are text, for a stub in another process; got body={told['body']!r}"
            ) from None
    return told
