"""Exploration: run tests under behaviours that differ in one gap, and tell which silences the client leans on."""

from __future__ import annotations

from itertools import zip_longest
from random import Random
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.common.suggestions import did_you_mean
from petstore_mock.contract.gaps import GAPS, VARIED
from petstore_mock.pytest_plugin.run import (
    AS_IT_IS,
    FIXTURE,
    MUTANT,
    VARIANT,
    assumptions_of,
    mutant_of,
    name_without_variant,
    variant_of,
    variant_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence

    from petstore_mock.pytest_plugin.isolation import IsolationManager

__all__ = [
    "Exploration",
    "is_failure",
    "is_multiplied",
    "listed",
    "mistakes_in_each",
    "multiply",
    "tell_hypothesis",
    "write_tests",
]

_ATTRIBUTE: Final = "petstore_exploration"  # of a report: it crosses xdist
_SHOWN_TESTS: Final = 20


def pick(nodeid: str, count: int, seed: int, held: Iterable[str]) -> list[dict[str, str]]:
    """Return ``count`` variants of a test: one alternative of one gap each, every gap once before any twice.

    They depend on the test's name and the seed alone, so that a failing id can be run again by itself.
    """
    random = Random(f"{seed} {nodeid}")  # noqa: S311  # reproducible on purpose
    skipped = {*held}
    gaps = [GAPS[name] for name in VARIED if name not in skipped]
    random.shuffle(gaps)
    columns = [random.sample(others, len(others)) for others in (list(gap.alternatives)[1:] for gap in gaps)]
    rounds = zip_longest(*columns)
    chosen = [{gap.name: other} for others in rounds for gap, other in zip(gaps, others, strict=True) if other]
    return chosen[:count]


def multiply(
    metafunc: pytest.Metafunc, count: int, seed: int, assumed: Mapping[str, str], mutants: Sequence[str] = ()
) -> None:
    """Run a test under variants: of exploration and mutants after the test as it is, and those of ``petstore_each``."""
    definition = metafunc.definition
    named = [name for mark in definition.iter_markers("petstore_each") for name in mark.args if _is_gap(name)]
    # A gap may be named twice, by a class and by its method; what is none is refused once all tests are collected.
    variants = [{name: alternative} for name in dict.fromkeys(named) for alternative in GAPS[name].alternatives]
    first: list[Any] = []
    if (count or mutants) and FIXTURE in metafunc.fixturenames:
        first = [pytest.param({}, id=AS_IT_IS)]
        explored = pick(definition.nodeid, count, seed, {**assumed, **assumptions_of(definition)})
        variants += [variant for variant in explored if variant not in variants]
        variants += [{MUTANT: name} for name in mutants]
    if not variants:
        return
    metafunc.fixturenames.append(VARIANT)  # a name of ours, of function scope: pytest regroups no tests for it
    params = [*first, *(pytest.param(variant, id=variant_text(variant)) for variant in variants)]
    metafunc.parametrize(VARIANT, params, indirect=True)


def _is_gap(name: object) -> bool:
    return isinstance(name, str) and name in GAPS


def mistakes_in_each(item: pytest.Item) -> Iterator[str]:
    """Yield what can't be right in ``petstore_each`` of a test."""
    for mark in item.iter_markers("petstore_each"):
        where = f"@pytest.mark.petstore_each of {item.nodeid}"
        unknown = [name for name in mark.args if not _is_gap(name)]
        if unknown or mark.kwargs or not mark.args:
            came = f"; got {unknown[0]!r}{did_you_mean(unknown[0], GAPS)}" if unknown else ""
            yield f"{where}: expected names of gaps, see 'petstore-mock gaps'{came}"
        elif not is_multiplied(item):
            yield f"{where}: pytest can't multiply a method of unittest.TestCase"


def tell_hypothesis(items: Iterable[pytest.Item]) -> None:
    """Let Hypothesis know which tests are multiplied: it takes one test on several instances for a mistake."""
    for item in items:
        if is_multiplied(item) and hasattr(getattr(item, "obj", None), "hypothesis"):
            item.add_marker(pytest.mark.parametrize(VARIANT, [variant_of(item)]))


def is_multiplied(item: pytest.Item) -> bool:
    """Return whether the item is one of several behaviours of its test, the one as it is included."""
    return VARIANT in getattr(getattr(item, "callspec", None), "params", {})


class Exploration:
    """Collects how tests went under their variants, here or on the workers of xdist, and sums it up."""

    def __init__(self, config: pytest.Config, isolation: IsolationManager, assumed: Mapping[str, str]) -> None:
        self._count: int = config.getoption("petstore_explore")
        self._seed: int = config.getoption("petstore_random_seed") or 0
        self._isolation = isolation
        self._assumed = assumed
        self._failed: dict[str, dict[str, bool]] = {}  # test -> variant -> whether it failed; "" is as it is
        self._declared: dict[str, list[str]] = {}  # gap=alternative -> tests
        self._not_explored: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> object:
        """Leave out the variants of a test that fails as it is, but those of ``petstore_each``: they tell nothing."""
        varied = list(variant_of(item))
        # The last of a class or module is what tears its fixtures down.
        if not varied or mutant_of(item) or nextitem is None or nextitem.parent is not item.parent:
            return None
        by_hand = any(name in varied for mark in item.iter_markers("petstore_each") for name in mark.args)
        return True if self._failed.get(name_without_variant(item), {}).get("") and not by_hand else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note on the report which variant of which test it is about."""
        report = yield
        run = self._isolation.run
        if run is not None and run.item is item and run.uses_petstore and mutant_of(item) is None:
            report.__dict__[_ATTRIBUTE] = {
                "test": name_without_variant(item),
                "variant": variant_text(variant_of(item)),
                "multiplied": is_multiplied(item),
                "excused": (call.excinfo is not None and isinstance(call.excinfo.value, pytest.xfail.Exception))
                or (bool(variant_of(item)) and run.met_old_keys_alone),
                "assumes": assumptions_of(item),
            }
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a report into account."""
        noted: dict[str, Any] | None = getattr(report, _ATTRIBUTE, None)
        if noted is None:
            return
        test = noted["test"]
        if not noted["multiplied"]:
            self._not_explored.add(test)
        else:
            variants = self._failed.setdefault(test, {})
            failed = is_failure(report) and not noted["excused"]
            variants[noted["variant"]] = variants.get(noted["variant"], False) or failed
        for gap, alternative in noted["assumes"].items():
            tests = self._declared.setdefault(f"{gap}={alternative}", [])
            if test not in tests:
                tests.append(test)

    def shown_assumptions(self) -> dict[str, dict[str, list[str]]]:
        """Return which gaps the client leans on: gap, alternative, and the tests that failed under it alone."""
        found: dict[str, dict[str, list[str]]] = {}
        for test, variants in sorted(self._failed.items()):
            if variants.get(""):
                continue  # it fails as it is: its variants tell nothing
            for variant, failed in variants.items():
                if failed:
                    found.setdefault(variant.partition("=")[0], {}).setdefault(variant, []).append(test)
        return {name: found[name] for name in GAPS if name in found}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say on one page what the client believes beyond the contract."""
        write = terminalreporter.write_line
        terminalreporter.section("petstore exploration")
        write(
            f"{len(self._failed)} tests as they are and under up to {self._count} behaviours each "
            f"(--petstore-explore={self._count} --petstore-random-seed={self._seed})"
        )
        shown = self.shown_assumptions()
        write("")
        telling = [test for test, variants in self._failed.items() if not variants.get("")]
        if not telling:
            write("Nothing is known of what the client leans on: no test passes as it is and could be explored.")
        elif not shown:
            write("No test shows that the client leans on what the interface leaves open.")
        for name, alternatives in shown.items():
            gap = GAPS[name]
            write(f"The client, or a test of it, leans on {name} (§{gap.section}): {gap.sentence}", yellow=True)
            write(f"  It must not assume {gap.lesson}.")
            for variant, tests in alternatives.items():
                write(f"  {variant}: {listed(tests)}")
        write_tests(
            write,
            "Fail as they are, so that their variants tell nothing:",
            [test for test, variants in self._failed.items() if variants.get("")],
        )
        if self._assumed or self._declared:
            write("")
            write("Declared assumptions, held as they are:")
            for name, alternative in self._assumed.items():
                write(f"  {name}={alternative}: the setting petstore_assumes")
            for variant, tests in sorted(self._declared.items()):
                write(f"  {variant}: {listed(tests)}")
        title = "Not explored (unittest classes, steps of pytest-bdd, getfixturevalue):"
        write_tests(write, title, self._not_explored)
        if self._not_explored:
            write(
                'Only a test that names petstore can be: @pytest.mark.usefixtures("petstore") on a function is enough.'
            )


def is_failure(report: pytest.TestReport) -> bool:
    """Return whether a test did not hold, whatever a mark ``xfail`` of it makes of that."""
    if report.failed:
        return not str(report.longrepr).startswith("[XPASS(strict)]")  # it held where its mark says that it would not
    return report.skipped and hasattr(report, "wasxfail")


def listed(tests: list[str], most: int = _SHOWN_TESTS) -> str:
    """Return the first of some tests by name, and how many more there are."""
    more = len(tests) - most
    return ", ".join(tests[:most]) + (f" and {more} more" if more > 0 else "")


def write_tests(write: Callable[..., None], title: str, tests: Collection[str]) -> None:
    """Write a list of tests under a title, if there are any."""
    if tests:
        write("")
        write(title)
        for test in sorted(tests):
            write(f"  {test}")
