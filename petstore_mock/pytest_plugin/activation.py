"""What a pytest run loads once it has to do with the fake: the parts of the plugin, and the judges of its options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.pytest_plugin.isolation import KEEPER, Keeper, Refusal
from petstore_mock.pytest_plugin.options import (
    assumed_gaps,
    check_at,
    check_explore,
    check_mutants,
    check_percentages,
    covers,
    leak_mode,
    mistakes_in_markers,
    mistakes_in_options,
)
from petstore_mock.pytest_plugin.reporting import FailureReport, Leaks, Removal
from petstore_mock.pytest_plugin.run import MISTAKES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

__all__ = ["check", "keeper_of", "leaks_of"]

_LEAKS = "petstore-leaks"


def keeper_of(config: pytest.Config) -> Keeper:
    """Return the keeper of the session's fake; the first time, register it with all the parts that this run needs.

    Raises:
        pytest.UsageError: an option or a setting can't be right.
    """
    keeper = config.stash.get(KEEPER, None)
    if keeper is not None:
        return keeper
    leaks = leak_mode(config)
    check_at(config)
    check_explore(config)
    check_mutants(config)
    check_percentages(config)
    assumed = assumed_gaps(config)
    keeper = config.stash[KEEPER] = Keeper(assumed)
    register = config.pluginmanager.register
    register(keeper, "petstore-worlds")
    register(Refusal(keeper), "petstore-refusal")
    register(Leaks(keeper, leaks), _LEAKS)
    register(FailureReport(config, keeper), "petstore-report")
    if config.getoption("petstore_at"):
        register(Removal(keeper), "petstore-removal")
    if covers(config):
        from petstore_mock.pytest_plugin.outcome_coverage import Coverage  # noqa: PLC0415  # most runs do without

        register(Coverage(config, keeper), "petstore-coverage")
    if config.getoption("petstore_explore"):
        from petstore_mock.pytest_plugin.exploration import Exploration  # noqa: PLC0415  # as above

        register(Exploration(config, keeper, assumed), "petstore-exploration")
    if config.getoption("petstore_mutants"):
        from petstore_mock.pytest_plugin.mutants import Mutants  # noqa: PLC0415  # as above

        register(Mutants(config, keeper), "petstore-mutants")
    return keeper


def leaks_of(config: pytest.Config) -> Leaks:
    """Return what collects the requests of finished tests."""
    keeper_of(config)
    leaks = config.pluginmanager.get_plugin(_LEAKS)
    assert isinstance(leaks, Leaks)  # noqa: S101  # for the type checker
    return leaks


def check(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Let each of ``items`` fail whose markers or options can't be right; the others run all the same."""
    found = [(item, text) for item in items for text in mistakes_in_markers(item)]
    found += mistakes_in_options(items)
    multiplied = any(map(config.getoption, ("petstore_explore", "petstore_mutants")))
    if multiplied or any(item.get_closest_marker("petstore_each") for item in items):
        from petstore_mock.pytest_plugin import exploration  # noqa: PLC0415  # most runs do without

        found += [(item, text) for item in items for text in exploration.mistakes_in_each(item)]
        exploration.tell_hypothesis(items)
    for item, text in found:
        item.stash[MISTAKES] = [*item.stash.get(MISTAKES, []), text]
