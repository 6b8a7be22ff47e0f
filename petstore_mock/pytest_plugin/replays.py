"""Replays: a test that fails under a variant is played again, before the variant is blamed.

How this works: the failing test is played under the variant again, and then as it is. If the variant is the cause, the
test fails in each play under the variant, and passes as it is. Any other result is a flake. The plays under the variant
come first, because Hypothesis forgets a failing example once the test passes.

There are many mutants, so only the first failure of each test under a mutant is played again. A test that turns out to
be no flake then is trusted under the other mutants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from _pytest.runner import runtestprotocol  # the public hook can't return the reports

from petstore_mock.pytest_plugin.report import add_section
from petstore_mock.pytest_plugin.variants import AS_IS, Variant, name_without_variant, variant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

_PLAYS: Final = 2  # under the variant, after the failure
_TITLE: Final = "petstore: a flake"


class Replays:
    """Plays the tests of variants."""

    def __init__(self) -> None:
        self.current: Variant | None = None  # the variant of the replay that runs now
        self.has_failed = False  # whether the test has failed so far in this replay, as its reports say
        self._trusted: set[str] = set()  # tests whose failure under a mutant was no flake

    def play(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Play the test of a variant, and again if it fails; report its first play."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        records: list[dict[str, Any]] = [report.petstore for report in reports if hasattr(report, "petstore")]
        has_failed = any(record["facts"]["failed"] for record in records)
        test = name_without_variant(item)
        is_trusted = test in self._trusted and variant_of(item).kind == "mutant"
        if has_failed and not is_trusted:
            flake = self._flake(item, nextitem)
            if flake:
                _call_a_flake(reports, records, flake)
            else:
                self._trusted.add(test)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def replay(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Play the test, and report nothing."""
        runtestprotocol(item, log=False, nextitem=nextitem)

    def _flake(self, item: pytest.Item, nextitem: pytest.Item | None) -> str:
        """Play a failed test again. Return a sentence that calls it a flake, or an empty text if it is none."""
        variant = variant_of(item)
        for failures in range(1, _PLAYS + 1):
            if not self._fails(item, nextitem, variant):
                how_often = f"in {failures} of {failures + 1} plays under {variant.text}"
                return f"The test failed {how_often}: it depends on chance or on state."
        if self._fails(item, nextitem, AS_IS):
            return f"The test failed under {variant.text}, and then as it is: it does not depend on {variant.text}."
        return ""

    def _fails(self, item: pytest.Item, nextitem: pytest.Item | None, variant: Variant) -> bool:
        self.current = variant
        self.has_failed = False
        try:
            # All plugins take part: pytest-timeout, for example, limits each play. The session's own hook sees
            # ``current``, calls replay(), and sets ``has_failed``.
            item.ihook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        finally:
            self.current = None
        return self.has_failed


def _call_a_flake(reports: Sequence[pytest.TestReport], records: Sequence[dict[str, Any]], sentence: str) -> None:
    for record in records:
        record["facts"].update(failed=False, flaky=True)
    for report in reports:
        if report.failed:
            add_section(report, _TITLE, sentence)
