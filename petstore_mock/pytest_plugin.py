"""The pytest plugin: the fixture ``petstore``, its options and markers.

pytest imports this module in every run once the package is installed, used or not: nothing heavy is imported here.
What the options of the starting state mean is decided in this order, the first that says something wins:

1. the marker ``@pytest.mark.petstore(...)`` of a test,
2. the command line (``--petstore-at``),
3. the fixture ``petstore_options``,
4. the environment (``PETSTORE_API_KEY``, ``PETSTORE_HOST``, ...),
5. the settings file (``petstore_api_key``, ``petstore_host``, ...).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock._pytest_options import (
    Refusal,
    assumed_gaps,
    check_at,
    check_markers,
    check_options,
    leak_mode,
    options_of,
)
from petstore_mock._pytest_report import FailureReport, Leaks, Removal
from petstore_mock._pytest_worlds import KEEPER, Keeper

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from petstore_mock.mock import PetStoreMock

__all__ = ["petstore", "petstore_options"]

_MARKERS = (
    (
        "petstore(behaviour=None, seed=None, at=None, strict=None): the starting state of this test's fake, on top "
        "of petstore_options: a Behaviour, preset or TOML file; more animals; its date; whether violations fail it."
    ),
    "petstore_each(*gaps): run the test once under each alternative of these gaps of the interface.",
    (
        "petstore_assumes(**gaps): the client is known to lean on these alternatives: the fake behaves so, "
        "exploration leaves them alone, and its summary lists them."
    ),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the group ``petstore`` and the settings."""
    group = parser.getgroup("petstore", "petstore: the fake pet store service")
    group.addoption(
        "--petstore-explore",
        type=int,
        default=0,
        metavar="N",
        help="Run each test that uses petstore as it is, then under N behaviours that differ in one gap each.",
    )
    group.addoption(
        "--petstore-random-seed",
        type=int,
        default=0,
        metavar="S",
        help="Which behaviours --petstore-explore picks, and what the fake draws (default: 0).",
    )
    group.addoption(
        "--petstore-at",
        metavar="DATE",
        help="Run the suite at this date of the fake, such as 2030-12-06, and list the tests that still need getPet.",
    )
    group.addoption("--petstore-har", metavar="DIR", help="Write a HAR file of the requests of each failing test here.")
    group.addoption(
        "--petstore-coverage",
        action="store_true",
        help="Tell at the end which documented outcomes and faults the tests showed to the client.",
    )
    # Text, whatever it means: the same words may come from the environment.
    parser.addini("petstore_api_key", "A fixed API key, for clients of session scope (or PETSTORE_API_KEY).")
    parser.addini("petstore_host", "The address to listen on, 127.0.0.1 unless set (or PETSTORE_HOST).")
    parser.addini("petstore_port", "The port to listen on, a free one unless set (or PETSTORE_PORT).")
    parser.addini("petstore_behaviour", "A preset or a TOML file of gaps (or PETSTORE_BEHAVIOUR).")
    parser.addini("petstore_seed", "Animals of each test: how many, or a JSON file (or PETSTORE_SEED).")
    parser.addini("petstore_strict", "Whether contract violations fail the test (or PETSTORE_STRICT).", type="bool")
    parser.addini("petstore_leaks", "error, warn or ignore: requests of finished tests (or PETSTORE_LEAKS).")
    parser.addini(
        "petstore_assumes",
        "Gaps that the client is known to lean on, a line each: gap = alternative.",
        type="linelist",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and the parts that this run needs."""
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    leaks = leak_mode(config)
    check_at(config)
    if config.getoption("petstore_explore") < 0:
        raise pytest.UsageError(
            f"--petstore-explore: expected how many behaviours, 0 or more; got {config.getoption('petstore_explore')}"
        )
    assumed = assumed_gaps(config)
    keeper = config.stash[KEEPER] = Keeper(assumed)
    register = config.pluginmanager.register
    register(keeper, "petstore-worlds")
    register(Leaks(keeper, leaks), "petstore-leaks")
    register(FailureReport(config, keeper), "petstore-report")
    if config.getoption("petstore_at"):
        register(Removal(keeper), "petstore-removal")
    if config.getoption("petstore_coverage"):
        from petstore_mock._pytest_coverage import Coverage  # noqa: PLC0415  # most runs do without

        register(Coverage(keeper), "petstore-coverage")
    if config.getoption("petstore_explore"):
        from petstore_mock._pytest_explore import Exploration  # noqa: PLC0415  # as above

        register(Exploration(config, keeper, assumed), "petstore-exploration")


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Multiply tests by the gaps of the interface, once all other parameters are known."""
    count = metafunc.config.getoption("petstore_explore")
    if count or metafunc.definition.get_closest_marker("petstore_each") is not None:
        from petstore_mock._pytest_explore import multiply  # noqa: PLC0415  # as above

        multiply(metafunc, count, metafunc.config.getoption("petstore_random_seed"), assumed_gaps(metafunc.config))


@pytest.hookimpl(trylast=True)  # what -k and its like took out is not asked for
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse markers and options that can't be right."""
    try:
        check_markers(items)
        check_options(items)
        if config.getoption("petstore_explore") or any(item.get_closest_marker("petstore_each") for item in items):
            from petstore_mock._pytest_explore import check_each  # noqa: PLC0415  # as above

            check_each(items)
    except pytest.UsageError as error:
        if not hasattr(config, "workerinput"):
            raise
        config.pluginmanager.register(Refusal(error), "petstore-refusal")


@pytest.fixture(scope="session")
def petstore_options() -> Mapping[str, Any]:
    """Keywords of ``PetStoreMock`` for the fixture ``petstore``: override it to give every test a starting state."""
    return {}


@pytest.fixture(scope="session")
def petstore(request: pytest.FixtureRequest, petstore_options: Mapping[str, Any]) -> Generator[PetStoreMock]:
    """Give a fake pet store service that listens on loopback, as new in each test and each Hypothesis example.

    It is one object a session: only its state is a test's own. What a fixture of wider scope than the test puts
    into it is gone when the next test begins; ``petstore_options`` gives every test a starting state.
    """
    with request.config.stash[KEEPER].open(options_of(request.config, petstore_options)) as mock:
        yield mock
