"""Expects the failures that ``not-yet.txt`` lists; it goes away with the switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from lay import NOT_YET, not_yet


@pytest.hookimpl(tryfirst=True)  # before tests are deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each listed test as a strict expected failure."""
    text = (Path(__file__).parent / NOT_YET).read_text(encoding="utf-8")
    missing = {name: reason for name, reason in not_yet(text).items() if "::" in name}
    met = set()
    for item in items:
        for name in {item.nodeid, item.nodeid.partition("[")[0]} & missing.keys():
            item.add_marker(pytest.mark.xfail(reason=missing[name], strict=True))
            met.add(name)
    gone = missing.keys() - met
    if gone and config.args_source is pytest.Config.ArgsSource.TESTPATHS:  # nothing was left out of the collection
        raise pytest.UsageError(f"expected the tests that {NOT_YET} lists; there is no {', '.join(sorted(gone))}")
