"""Variants of a test: the same test under another alternative of a gap, or against a mutant of the service.

The text of a variant, ``GAP=ALTERNATIVE`` or ``mutant=NAME``, is part of the test's id.
"""

from __future__ import annotations

from itertools import chain, zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar

import pytest

from petstore_mock.common.values import grouped
from petstore_mock.pytest_plugin import FIXTURE
from petstore_mock.pytest_plugin.products import mutants

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

T = TypeVar("T")

_PARAMETER: Final = "_petstore_variant"
# Versions of pytest before 8.4 can't hide an id.
_HIDDEN_ID: Final[Any] = getattr(pytest, "HIDDEN_PARAM", "as_it_is")


class Variant(NamedTuple):
    """How a test runs: as it is, under an alternative of a gap, or against a mutant."""

    kind: Literal["as_is", "gap", "mutant"]
    name: str = ""
    alternative: str = ""

    @property
    def text(self) -> str:
        if self.kind == "as_is":
            return ""
        if self.kind == "gap":
            return f"{self.name}={self.alternative}"
        return f"mutant={self.name}"


AS_IS: Final = Variant("as_is")


def declared_variant(item: pytest.Item) -> Variant | None:
    """Return the variant of an item. None means that the test has no variants."""
    params: dict[str, Variant] = getattr(getattr(item, "callspec", None), "params", {})
    return params.get(_PARAMETER)


def variant_of(item: pytest.Item) -> Variant:
    return declared_variant(item) or AS_IS


def name_without_variant(item: pytest.Item) -> str:
    """Return the id of the test without its variant, which is the last parameter."""
    variant = declared_variant(item)
    if variant is None:
        return item.nodeid
    shown = variant.text or _HIDDEN_ID
    if not isinstance(shown, str):
        return item.nodeid
    rest = item.nodeid.removesuffix(f"{shown}]")
    if rest.endswith("["):
        return rest[:-1]
    return f"{rest[:-1]}]"


def pick(nodeid: str, count: int, seed: int, held: Collection[str]) -> list[Variant]:
    """Return ``count`` variants of a test. Every gap comes once before any gap comes twice; ``held`` gaps are left out.

    Their order depends only on the test's id, the seed and ``held``, so pytest can run one of them again by its id.
    """
    from petstore_mock.interface.gaps import GAPS, VARIED  # most runs do not need it

    # The order must be reproducible.
    random = Random(f"{seed} {nodeid}")
    names = [name for name in VARIED if name not in held]
    random.shuffle(names)
    columns: list[list[Variant]] = []
    for name in names:
        _, *others = GAPS[name].alternatives
        column = [Variant("gap", name, alternative) for alternative in others]
        columns.append(random.sample(column, len(column)))
    return _row_by_row(columns)[:count]


def choose_mutants(count: int, seed: int) -> list[str]:
    """Return the names of ``count`` mutants. Every clause has one mutant before any clause has two.

    The mutants are the same for all tests, so the survivors show the weak spots of the suite.
    """
    known = mutants()
    shuffled = Random(f"{seed} mutants").sample([*known.values()], len(known))
    by_clause = grouped((mutant.clause, mutant.name) for mutant in shuffled)
    chosen = {*_row_by_row(by_clause.values())[:count]}
    return [name for name in known if name in chosen]


def _row_by_row(columns: Iterable[list[T]]) -> list[T]:
    cells = chain.from_iterable(zip_longest(*columns))
    return [cell for cell in cells if cell is not None]


def _assumed_gaps(item: pytest.Item) -> Iterator[str]:
    for mark in item.iter_markers("petstore_assumes"):
        yield from mark.kwargs


def multiply(metafunc: pytest.Metafunc, assumed: Collection[str]) -> None:
    """Parametrise a test, so that pytest runs it unchanged and then under its variants."""
    option = metafunc.config.getoption
    count = option("petstore_explore")
    mutant_count = option("petstore_mutants")
    if FIXTURE not in metafunc.fixturenames or not (count or mutant_count):
        return
    seed = option("petstore_random_seed") or 0
    variants = [AS_IS]
    if count:
        held = {*assumed, *_assumed_gaps(metafunc.definition)}
        variants += pick(metafunc.definition.nodeid, count, seed, held)
    if mutant_count:
        variants += [Variant("mutant", name) for name in choose_mutants(mutant_count, seed)]
    # Hypothesis reports a method that runs on several instances, unless the test has a mark `parametrize`. This mark
    # parametrises nothing.
    marks = pytest.mark.parametrize(_PARAMETER, [])
    params = [pytest.param(variant, id=variant.text or _HIDDEN_ID, marks=marks) for variant in variants]
    metafunc.fixturenames.append(_PARAMETER)
    # As it is indirect, the test need not take the argument. No fixture has its name, so its scope is the function's,
    # and pytest does not reorder tests.
    metafunc.parametrize(_PARAMETER, params, indirect=True)
