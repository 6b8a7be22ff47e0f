"""Replays: a test that fails under a variant is played again, before the variant is blamed.

How this works: the failing test is played under the variant again, and then as it is. If the variant is the cause, the
test fails in each play under the variant, and passes as it is. Any other result is a flake. The plays under the variant
come first, because Hypothesis forgets a failing example once the test passes.

There are many mutants, so only the first failure of each test under a mutant is played again. A test that turns out to
be no flake then is trusted under the other mutants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from _pytest.runner import runtestprotocol  # the public hook can't return the reports

from petstore_mock.pytest_plugin.report import add_section
from petstore_mock.pytest_plugin.variants import AS_IS, Variant, name_without_variant, variant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

_PLAYS: Final = 2  # under the variant, after the failure
_TITLE: Final = "petstore: a flake"


class Plays(NamedTuple):
    """How a test played again after its first failure."""

    failed_again: Sequence[bool]  # under the variant, for each play
    failed_as_it_is: bool | None  # without the variant; None if it was not played so

    @property
    def is_flake(self) -> bool:
        return not all(self.failed_again) or self.failed_as_it_is is True

    def sentence(self, variant: Variant) -> str:
        failures, plays = 1 + sum(self.failed_again), 1 + len(self.failed_again)
        if self.failed_as_it_is:
            return f"The test failed under {variant.text}, and then as it is: it does not depend on {variant.text}."
        return f"The test failed in {failures} of {plays} plays under {variant.text}: it depends on chance or on state."


class Replays:
    """Plays the tests of variants."""

    def __init__(self) -> None:
        self.current: Variant | None = None  # the variant of the replay that runs now
        self._has_failed = False
        self._trusted: set[str] = set()  # tests whose failure under a mutant was no flake

    def note(self, *, failed: bool) -> None:
        """Note whether the test has failed so far in the current replay."""
        self._has_failed = failed

    def play(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Play the test of a variant, and again if it fails; report its first play."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        records: list[dict[str, Any]] = [report.petstore for report in reports if hasattr(report, "petstore")]
        has_failed = any(record["facts"]["failed"] for record in records)
        test = name_without_variant(item)
        is_trusted = test in self._trusted and variant_of(item).kind == "mutant"
        if has_failed and not is_trusted:
            plays = self._played_again(item, nextitem)
            if plays.is_flake:
                _call_a_flake(reports, records, plays.sentence(variant_of(item)))
            else:
                self._trusted.add(test)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def replay(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Play the test, and report nothing."""
        runtestprotocol(item, log=False, nextitem=nextitem)

    def _played_again(self, item: pytest.Item, nextitem: pytest.Item | None) -> Plays:
        again: list[bool] = []
        for _ in range(_PLAYS):
            again.append(self._fails(item, nextitem, variant_of(item)))
            if not again[-1]:
                return Plays(again, None)
        return Plays(again, self._fails(item, nextitem, AS_IS))

    def _fails(self, item: pytest.Item, nextitem: pytest.Item | None, variant: Variant) -> bool:
        self.current, self._has_failed = variant, False
        try:
            # All plugins take part: pytest-timeout, for example, limits each play. The session's own hook sees
            # ``current``, calls replay(), and notes the failure by note().
            item.ihook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        finally:
            self.current = None
        return self._has_failed


def _call_a_flake(reports: Sequence[pytest.TestReport], records: Sequence[dict[str, Any]], sentence: str) -> None:
    for record in records:
        record["facts"].update(failed=False, flaky=True)
    for report in reports:
        if report.failed:
            add_section(report, _TITLE, sentence)
