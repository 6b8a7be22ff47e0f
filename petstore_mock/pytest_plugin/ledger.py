"""Collects the records of tests, also from the workers of pytest-xdist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

from petstore_mock.pytest_plugin.facts import Facts
from petstore_mock.pytest_plugin.products import mutants
from petstore_mock.pytest_plugin.variants import AS_IS, Variant, declared_variant, name_without_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    import pytest

    from petstore_mock.common.values import JsonObject

Key = TypeVar("Key", bound="str | tuple[str, ...]")
FactName = Literal["multiplied", "passed", "failed", "finished", "reached", "removed"]


class Ledger:
    """The facts of a run, by test and variant."""

    def __init__(self) -> None:
        self.facts: dict[str, dict[Variant, Facts]] = {}
        self.leaks: dict[str, list[str]] = {}  # requests by owner
        # The tests that failed under a variant of a kind, but not for the variant.
        self.flaky: dict[str, set[str]] = {"as_is": set(), "gap": set(), "mutant": set()}
        self.pages: dict[str, list[str]] = {}  # the file and the reason of each failing test

    def add(self, record: JsonObject) -> None:
        """Add the record of a report. A later record of the same test and variant replaces its facts."""
        variant = Variant(*record["variant"])
        self.facts.setdefault(record["test"], {})[variant] = Facts(**record["facts"])
        if record["facts"]["flaky"]:
            self.flaky[variant.kind].add(record["test"])
        for owner, request in record["leaks"]:
            self.leaks.setdefault(owner, []).append(request)
        page = record.get("page")
        if page is not None:
            self.pages[f"{record['test']} {variant.text}".strip()] = page

    def tests(self, fact: FactName, variant: Variant = AS_IS) -> list[str]:
        """Return the tests whose run under a variant has a fact."""
        return sorted(test for test, runs in self.facts.items() if getattr(runs.get(variant), fact, False))

    def tests_under_any(self, fact: FactName, kinds: Container[str] = ("as_is", "gap", "mutant")) -> list[str]:
        """Return the tests of which a run under any variant of these kinds has a fact."""
        tests = set[str]()
        for test, runs in self.facts.items():
            for variant, facts in runs.items():
                if variant.kind in kinds and getattr(facts, fact):
                    tests.add(test)
        return sorted(tests)

    def by_fact(self, facts_of: Callable[[Facts], Iterable[Key]]) -> dict[Key, list[str]]:
        """Return the tests for each fact. Facts under mutants are left out."""
        tests: dict[Key, set[str]] = {}
        for test, runs in self.facts.items():
            for variant, facts in runs.items():
                if variant.kind == "mutant":
                    continue
                for fact in facts_of(facts):
                    tests.setdefault(fact, set()).add(test)
        return {fact: sorted(tests[fact]) for fact in sorted(tests)}

    def under_mutant(self, fact: FactName, mutant: str) -> list[str]:
        """Return the tests that have a fact under a mutant and pass without the mutant."""
        passed = {*self.tests("passed")}
        return sorted(passed.intersection(self.tests(fact, Variant("mutant", mutant))))

    def noticed_by(self, mutant: str) -> list[str]:
        """Return the tests that noticed a mutant. A flaky test notices nothing."""
        return sorted({*self.under_mutant("failed", mutant)} - self.flaky["mutant"])

    def is_needless(self, item: pytest.Item) -> bool:
        """Return whether a variant can show nothing new. Such a variant is not run."""
        variant = declared_variant(item)
        if variant is None or variant.kind == "as_is":
            return False
        facts = self.facts.get(name_without_variant(item), {}).get(AS_IS)
        # Another xdist worker may have run the unchanged test.
        if facts is None or not facts.finished:
            return False
        if variant.kind == "gap":
            return facts.failed
        if not facts.passed:
            return True
        is_met = not set(mutants()[variant.name].operations).isdisjoint(facts.calls)
        return not is_met or bool(self.noticed_by(variant.name))
