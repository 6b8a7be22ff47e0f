"""Variants of a test: the same test under another alternative of one gap, or against a mutant of the service."""

from __future__ import annotations

from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from petstore_mock.common.refusing import did_you_mean
from petstore_mock.pytest_plugin.settings import FIXTURE, merged_marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from petstore_mock.pytest_plugin.ledger import Ledger

_PARAMETER: Final = "_petstore_variant"
_MUTANT: Final = "mutant"
_AS_IT_IS: Final[Any] = getattr(pytest, "HIDDEN_PARAM", "as_it_is")  # pytest 8.4 is the first to hide an id


class Variant(NamedTuple):
    """What differs in a variant: a gap and its alternative, or ``mutant`` and its name."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"

    @property
    def mutant(self) -> str | None:
        """The name of the mutant; a failure is then welcome."""
        return self.value if self.name == _MUTANT else None


def is_multiplied(item: pytest.Item) -> bool:
    """Say whether an item is one of the variants of its test, or that test as it is beside them."""
    return _PARAMETER in getattr(getattr(item, "callspec", None), "params", {})


def variant_of(item: pytest.Item) -> Variant | None:
    """Return the variant that an item runs; None for a test as it is."""
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get(_PARAMETER)


def name_without_variant(item: pytest.Item) -> str:
    """Return the id that the test would have if it had no variants."""
    if not is_multiplied(item) or (variant_of(item) is None and not isinstance(_AS_IT_IS, str)):
        return item.nodeid
    text = str(variant_of(item) or _AS_IT_IS)
    # The last one: a parameter of the test may have the same text for its id.
    for part, rest in ((f"-{text}]", "]"), (f"[{text}]", ""), (f"[{text}-", "[")):
        if part in item.nodeid:
            return rest.join(item.nodeid.rsplit(part, 1))
    return item.nodeid


# Choosing


def pick(nodeid: str, count: int, seed: int, held: Collection[str]) -> list[Variant]:
    """Return ``count`` variants of a test, every gap once before any twice, without those that are held.

    They depend on the test's id and the seed alone, so that one can be run again by its id.
    """
    from petstore_mock.interface.gaps import GAPS, VARIED  # noqa: PLC0415  # most runs do without

    random = Random(f"{seed} {nodeid}")  # noqa: S311  # reproducible on purpose
    names = [name for name in VARIED if name not in held]
    random.shuffle(names)
    columns = [[Variant(name, other) for other in list(GAPS[name].alternatives)[1:]] for name in names]
    return _row_by_row(random.sample(column, len(column)) for column in columns)[:count]


def choose_mutants(count: str, seed: int) -> list[str]:
    """Return ``count`` mutants, or ``all``: one of every clause before any has two.

    They are the same for all tests, so that the survivors show weak spots of the suite.
    """
    from petstore_mock.interface.mutants import MUTANTS  # noqa: PLC0415  # as above

    random = Random(f"{seed} mutants")  # noqa: S311  # as above
    by_clause: dict[str, list[str]] = {}
    for mutant in random.sample(list(MUTANTS.values()), len(MUTANTS)):
        by_clause.setdefault(mutant.clause, []).append(mutant.name)
    names = _row_by_row(by_clause.values())
    chosen = {*(names if count == "all" else names[: int(count)])}
    return [name for name in MUTANTS if name in chosen]


def _row_by_row(columns: Iterable[list[Any]]) -> list[Any]:
    return [one for row in zip_longest(*columns) for one in row if one is not None]


def multiply(metafunc: pytest.Metafunc, assumed: Mapping[str, str]) -> None:
    """Let pytest run a test as it is, then under its variants."""
    definition, config = metafunc.definition, metafunc.config
    variants: list[Variant] = list(_by_hand(definition))
    first: list[None] = []
    count, mutants = config.getoption("petstore_explore"), config.getoption("petstore_mutants")
    if (count or mutants) and FIXTURE in metafunc.fixturenames:
        seed = config.getoption("petstore_random_seed") or 0
        first = [None]
        variants += pick(definition.nodeid, count, seed, {*assumed, *merged_marks(definition)[1]}) if count else []
        variants += [Variant(_MUTANT, name) for name in choose_mutants(mutants, seed)] if mutants else []
    if variants:
        metafunc.fixturenames.append(_PARAMETER)
        params = [pytest.param(one, id=_AS_IT_IS if one is None else str(one)) for one in [*first, *variants]]
        # Each once. pytest regroups no tests for a parameter of function scope.
        params = list({param.id: param for param in params}.values())
        metafunc.parametrize(_PARAMETER, params, indirect=True)


def _by_hand(item: pytest.Item) -> Iterator[Variant]:
    """Yield the variants that ``petstore_each`` asks for; wrong names are refused after the collection."""
    names = dict.fromkeys(name for mark in item.iter_markers("petstore_each") for name in mark.args)
    if names:
        from petstore_mock.interface.gaps import GAPS  # noqa: PLC0415  # as above

        for name in (name for name in names if name in GAPS):
            yield from (Variant(name, alternative) for alternative in GAPS[name].alternatives)


def mistakes_in_each(item: pytest.Item) -> Iterator[str]:
    """Yield what can't be right in ``petstore_each`` of a test."""
    for mark in item.iter_markers("petstore_each"):
        from petstore_mock.interface.gaps import GAPS  # noqa: PLC0415  # as above

        where = f"@pytest.mark.petstore_each of {item.nodeid}"
        unknown = [name for name in mark.args if name not in GAPS]
        if unknown or mark.kwargs or not mark.args:
            came = f"; got {unknown[0]!r}{did_you_mean(unknown[0], GAPS)}" if unknown else ""
            yield f"{where}: expected names of gaps, see 'petstore-mock gaps'{came}"
        elif not is_multiplied(item):
            yield f"{where}: pytest can't multiply a method of unittest.TestCase"


def tell_hypothesis(item: pytest.Item) -> None:
    """Mark a test with variants as parametrised: Hypothesis takes one test on several instances for a mistake."""
    if is_multiplied(item) and hasattr(getattr(item, "obj", None), "hypothesis"):
        item.add_marker(pytest.mark.parametrize(_PARAMETER, [variant_of(item)]))


def is_needless(item: pytest.Item, ledger: Ledger) -> bool:
    """Say whether a variant can show nothing new: then it is left out, without a report."""
    variant = variant_of(item)
    test = ledger.tests.get(name_without_variant(item))
    # With xdist, another worker may have run the test as it is.
    if variant is None or test is None or not test.as_it_is.finished:
        return False
    if variant.mutant is None:
        return test.as_it_is.failed and variant not in {*_by_hand(item)}
    if not test.as_it_is.passed or not test.sends_to(variant.mutant):
        return True
    return bool(ledger.noticed_by(variant.mutant)) and not item.config.getoption("petstore_mutants_all")
