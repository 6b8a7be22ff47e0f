"""Variants of a test: the same test under another alternative of a gap, or against a mutant of the service.

A variant is a text, ``GAP=ALTERNATIVE`` or ``mutant=NAME``, and stands in the id of the test.
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
_AS_IT_IS: Final[Any] = getattr(pytest, "HIDDEN_PARAM", "as_it_is")  # pytest 8.4 is the first to hide an id


def variant_of(item: pytest.Item) -> str | None:
    """Return the variant that an item runs: empty for a test as it is beside its variants, None if there are none."""
    params: dict[str, str] = getattr(getattr(item, "callspec", None), "params", {})
    return params.get(_PARAMETER)


def mutant_of(item: pytest.Item) -> str | None:
    """Return the mutant that an item runs against. A failure is then welcome."""
    kind, _, name = (variant_of(item) or "").partition("=")
    return name if kind == "mutant" else None


def name_without_variant(item: pytest.Item) -> str:
    """Return the id that the test would have if it had no variants. The variant is the last of its parameters."""
    variant = variant_of(item)
    text = variant or _AS_IT_IS
    if variant is None or not isinstance(text, str):
        return item.nodeid
    rest = item.nodeid.removesuffix(f"{text}]")
    return rest[:-1] if rest.endswith("[") else f"{rest[:-1]}]"


def pick(nodeid: str, count: int, seed: int, held: Collection[str]) -> list[str]:
    """Return ``count`` variants of a test, every gap once before any twice, without those that are held.

    They depend on the test's id and the seed alone, so that one can be run again by its id.
    """
    from petstore_mock.interface.gaps import GAPS, VARIED  # noqa: PLC0415  # most runs do without

    random = Random(f"{seed} {nodeid}")  # noqa: S311  # reproducible on purpose
    names = [name for name in VARIED if name not in held]
    random.shuffle(names)
    columns = [[f"{name}={other}" for other in list(GAPS[name].alternatives)[1:]] for name in names]
    return _row_by_row(random.sample(column, len(column)) for column in columns)[:count]


def choose_mutants(count: int, seed: int) -> list[str]:
    """Return ``count`` mutants, one of every clause before any has two.

    They are the same for all tests, so that the survivors show weak spots of the suite.
    """
    from petstore_mock.interface.mutants import MUTANTS  # noqa: PLC0415  # most runs do without

    by_clause: dict[str, list[str]] = {}
    for mutant in Random(f"{seed} mutants").sample([*MUTANTS.values()], len(MUTANTS)):  # noqa: S311  # as above
        by_clause.setdefault(mutant.clause, []).append(mutant.name)
    chosen = {*_row_by_row(by_clause.values())[:count]}
    return [name for name in MUTANTS if name in chosen]


def _row_by_row(columns: Iterable[list[str]]) -> list[str]:
    return [one for row in zip_longest(*columns) for one in row if one is not None]


def multiply(metafunc: pytest.Metafunc, assumed: Collection[str]) -> None:
    """Let pytest run a test as it is, then under its variants."""
    definition, option = metafunc.definition, metafunc.config.getoption
    variants = by_hand(definition)
    count, mutants = option("petstore_explore"), option("petstore_mutants")
    if (count or mutants) and FIXTURE in metafunc.fixturenames:
        seed = option("petstore_random_seed") or 0
        held = {name for mark in definition.iter_markers("petstore_assumes") for name in mark.kwargs}
        explored = pick(definition.nodeid, count, seed, {*assumed, *held}) if count else []
        chosen = choose_mutants(mutants, seed) if mutants else []
        variants = ["", *variants, *explored, *(f"mutant={name}" for name in chosen)]
    if variants:
        # Hypothesis takes one test on several instances for a mistake, unless the test is parametrised.
        told = pytest.mark.parametrize(_PARAMETER, [])
        params = [pytest.param(one, id=one or _AS_IT_IS, marks=told) for one in dict.fromkeys(variants)]
        metafunc.fixturenames.append(_PARAMETER)
        metafunc.parametrize(_PARAMETER, params, indirect=True)  # of function scope: pytest regroups no tests for it


def by_hand(item: pytest.Item) -> list[str]:
    """Return the variants that ``petstore_each`` asks for; a wrong name is refused when the test runs."""
    names = [name for mark in item.iter_markers("petstore_each") for name in mark.args if isinstance(name, str)]
    if not names:
        return []
    from petstore_mock.interface.gaps import GAPS  # noqa: PLC0415  # most runs do without

    return [f"{name}={alternative}" for name in names if name in GAPS for alternative in GAPS[name].alternatives]
