"""What a pytest run loads once it has to do with the fake: the parts of the plugin, and the checks of its options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.pytest_plugin import options
from petstore_mock.pytest_plugin.isolation import ISOLATION, IsolationManager, StartCheck
from petstore_mock.pytest_plugin.reporting import FailureReport, Leaks, Removal
from petstore_mock.pytest_plugin.run import MISTAKES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

__all__ = ["check", "isolation_of", "leaks_of"]

_LEAKS = "petstore-leaks"


def isolation_of(config: pytest.Config) -> IsolationManager:
    """Return what keeps the tests of a session apart; at first, register it with the parts that this run needs.

    Raises:
        pytest.UsageError: an option or a setting can't be right.
    """
    isolation = config.stash.get(ISOLATION, None)
    if isolation is not None:
        return isolation
    leaks = options.leak_mode(config)
    options.check_options(config)
    assumed = options.assumed_gaps(config)
    isolation = config.stash[ISOLATION] = IsolationManager(assumed)
    register = config.pluginmanager.register
    register(isolation, "petstore-worlds")
    register(StartCheck(isolation), "petstore-start")
    register(Leaks(isolation, leaks), _LEAKS)
    register(FailureReport(config, isolation), "petstore-report")
    if config.getoption("petstore_at"):
        register(Removal(isolation), "petstore-removal")
    if options.covers(config):
        from petstore_mock.pytest_plugin.outcome_coverage import Coverage  # noqa: PLC0415  # most runs do without

        register(Coverage(config, isolation), "petstore-coverage")
    if config.getoption("petstore_explore"):
        from petstore_mock.pytest_plugin.exploration import Exploration  # noqa: PLC0415  # as above

        register(Exploration(config, isolation, assumed), "petstore-exploration")
    if config.getoption("petstore_mutants"):
        from petstore_mock.pytest_plugin.mutants import Mutants  # noqa: PLC0415  # as above

        register(Mutants(config, isolation), "petstore-mutants")
    return isolation


def leaks_of(config: pytest.Config) -> Leaks:
    """Return what collects the requests of finished tests."""
    isolation_of(config)
    leaks = config.pluginmanager.get_plugin(_LEAKS)
    assert isinstance(leaks, Leaks)  # noqa: S101  # for the type checker
    return leaks


def check(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Let each of ``items`` fail whose markers or options can't be right; the others run all the same."""
    found = [(item, text) for item in items for text in options.mistakes_in_markers(item)]
    found += options.mistakes_in_options(items)
    multiplied = any(map(config.getoption, ("petstore_explore", "petstore_mutants")))
    if multiplied or any(item.get_closest_marker("petstore_each") for item in items):
        from petstore_mock.pytest_plugin import exploration  # noqa: PLC0415  # most runs do without

        found += [(item, text) for item in items for text in exploration.mistakes_in_each(item)]
        exploration.tell_hypothesis(items)
    for item, text in found:
        item.stash[MISTAKES] = [*item.stash.get(MISTAKES, []), text]
