"""Variants of a test: the same test under another alternative of a gap, or against a mutant of the service.

A variant is a text, ``GAP=ALTERNATIVE`` or ``mutant=NAME``. It is part of the test's id.
"""

from __future__ import annotations

from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

FIXTURE: Final = "petstore"
_PARAMETER: Final = "_petstore_variant"
# Versions of pytest before 8.4 can't hide an id.
_AS_IT_IS: Final[Any] = getattr(pytest, "HIDDEN_PARAM", "as_it_is")


def variant_of(item: pytest.Item) -> str | None:
    """Return the variant of an item: empty for the unchanged test, and None for a test without variants."""
    params: dict[str, str] = getattr(getattr(item, "callspec", None), "params", {})
    return params.get(_PARAMETER)


def mutant_of(item: pytest.Item) -> str | None:
    """Return the name of the mutant that an item runs against, or None."""
    kind, _, name = (variant_of(item) or "").partition("=")
    return name if kind == "mutant" else None


def name_without_variant(item: pytest.Item) -> str:
    """Return the id of the test without its variant, which is the last parameter."""
    variant = variant_of(item)
    text = variant or _AS_IT_IS
    if variant is None or not isinstance(text, str):
        return item.nodeid
    rest = item.nodeid.removesuffix(f"{text}]")
    return rest[:-1] if rest.endswith("[") else f"{rest[:-1]}]"


def pick(nodeid: str, count: int, seed: int, held: Collection[str]) -> list[str]:
    """Return ``count`` variants of a test. Every gap comes once before any gap comes twice; ``held`` gaps are left out.

    Their order depends only on the test's id, the seed and ``held``, so pytest can run one of them again by its id.
    """
    from petstore_mock.interface.gaps import GAPS, VARIED  # noqa: PLC0415  # most runs do not need it

    random = Random(f"{seed} {nodeid}")  # noqa: S311  # reproducible on purpose
    names = [name for name in VARIED if name not in held]
    random.shuffle(names)
    columns = [[f"{name}={other}" for other in list(GAPS[name].alternatives)[1:]] for name in names]
    return _row_by_row(random.sample(column, len(column)) for column in columns)[:count]


def choose_mutants(count: int, seed: int) -> list[str]:
    """Return the names of ``count`` mutants. Every clause has one mutant before any clause has two.

    The mutants are the same for all tests, so the survivors show the weak spots of the suite.
    """
    from petstore_mock.interface.mutants import MUTANTS  # noqa: PLC0415  # most runs do not need it

    by_clause: dict[str, list[str]] = {}
    for mutant in Random(f"{seed} mutants").sample([*MUTANTS.values()], len(MUTANTS)):  # noqa: S311  # as above
        by_clause.setdefault(mutant.clause, []).append(mutant.name)
    chosen = {*_row_by_row(by_clause.values())[:count]}
    return [name for name in MUTANTS if name in chosen]


def _row_by_row(columns: Iterable[list[str]]) -> list[str]:
    return [one for row in zip_longest(*columns) for one in row if one is not None]


def multiply(metafunc: pytest.Metafunc, assumed: Collection[str]) -> None:
    """Parametrise a test, so that pytest runs it unchanged and then under its variants."""
    definition, option = metafunc.definition, metafunc.config.getoption
    count, mutants = option("petstore_explore"), option("petstore_mutants")
    if not (count or mutants) or FIXTURE not in metafunc.fixturenames:
        return
    seed = option("petstore_random_seed") or 0
    held = {name for mark in definition.iter_markers("petstore_assumes") for name in mark.kwargs}
    explored = pick(definition.nodeid, count, seed, {*assumed, *held}) if count else []
    chosen = choose_mutants(mutants, seed) if mutants else []
    variants = ["", *explored, *(f"mutant={name}" for name in chosen)]
    # Hypothesis reports a method that runs on several instances, unless the test has a mark `parametrize`.
    marks = pytest.mark.parametrize(_PARAMETER, [])
    params = [pytest.param(one, id=one or _AS_IT_IS, marks=marks) for one in variants]
    metafunc.fixturenames.append(_PARAMETER)
    # With function scope, pytest does not reorder tests.
    metafunc.parametrize(_PARAMETER, params, indirect=True)
