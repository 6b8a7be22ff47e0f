"""The pytest plugin: the fixture ``petstore``, its options and markers.

Once the package is installed, pytest imports this module in every run. The fake itself is imported by the first test
that asks for the fixture. The first of these wins for an option of the starting state:

1. the marker ``@pytest.mark.petstore(...)`` of a test,
2. the command line (``--petstore-at``, ``--petstore-random-seed``),
3. the fixture ``petstore_options``,
4. the environment (``PETSTORE_MOCK_API_KEY``, ``PETSTORE_MOCK_HOST``, ...),
5. the settings file (``petstore_api_key``, ``petstore_host``, ...).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from petstore_mock.pytest_plugin import settings
from petstore_mock.pytest_plugin.session import Session

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from petstore_mock.mock.petstore import PetStoreMock

__all__ = ["petstore", "petstore_options"]

# Name, metavar (none for a flag), type and help of each option.
OPTIONS: Final[tuple[tuple[str, str, type, str], ...]] = (
    ("explore", "N", int, "Run each test that uses petstore as it is, then under N behaviours that differ in one gap."),
    ("mutants", "N", str, "Run each test that uses petstore as it is, then against N mutants, or all of them."),
    ("mutants-all", "", bool, "Run a mutant that a test has noticed in the further tests as well."),
    ("mutants-fail-under", "PERCENT", float, "Fail the run if the tests noticed a smaller share of the mutants."),
    ("mutants-json", "FILE", str, "Write which mutants were noticed as JSON."),
    ("random-seed", "S", int, "The seed of variants, mutants, and everything that the fake draws (default: 0)."),
    ("at", "DATE", str, "Run the suite at this date of the fake, such as 2030-12-06, and list the tests that need getPet."),
    ("remote", "URL", str, "Let the fixture steer the stub at this address by its control door: a world a test."),
    ("har", "DIR", str, "Write a HAR file of the requests of each failing test here."),
    ("html", "DIR", str, "Write a page for people about each failing test here: the report and the requests."),
    ("coverage", "", bool, "Print which documented outcomes and faults the tests showed to the client."),
    ("coverage-fail-under", "PERCENT", float, "Fail the run if the tests showed a smaller share of the outcomes."),
    ("coverage-json", "FILE", str, "Write which outcomes were shown as JSON."),
)
MARKERS: Final = (
    "petstore(behaviour=None, seed=None, at=None, strict=None): the starting state of this test's fake, on top of "
    "petstore_options: a Behaviour, preset or TOML file; more animals; its date; whether violations fail it.",
    "petstore_each(*gaps): run the test once under each alternative of these gaps of the interface.",
    "petstore_assumes(**gaps): known assumptions of the client: the fake behaves so, exploration leaves these gaps "
    "alone, and its summary lists them.",
)
_SESSION: Final = pytest.StashKey[Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the group ``petstore`` and the settings."""
    group = parser.getgroup("petstore", "petstore: the fake pet store service")
    for name, metavar, kind, words in OPTIONS:
        if kind is bool:
            group.addoption(f"--petstore-{name}", action="store_true", help=words)
        else:
            group.addoption(f"--petstore-{name}", type=kind, metavar=metavar, help=words)
    for name, words in settings.SETTINGS.items():
        # Text, although some are numbers: the same words may come from the environment.
        kind = "bool" if settings.is_flag(name) else "string"
        parser.addini(f"petstore_{name}", f"{words} (or {settings.variable_of(name)}).", type=cast("Any", kind))
    words = "Gaps that the client is known to rely on, a line each: gap = alternative."
    parser.addini("petstore_assumes", words, type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and refuse options and settings that can't be right."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    session = config.stash[_SESSION] = Session(config)
    config.pluginmanager.register(session, "petstore-session")


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say where settings come from."""
    return settings.report_header(config)


@pytest.fixture(scope="session")
def petstore_options() -> Mapping[str, Any]:
    """Keywords of ``PetStoreMock`` for the fixture ``petstore``: override it to give every test a starting state."""
    return {}


@pytest.fixture(scope="session")
def petstore(pytestconfig: pytest.Config, petstore_options: Mapping[str, Any]) -> Generator[PetStoreMock]:
    """Give a fake pet store service that listens on loopback, new in each test and each Hypothesis example.
    Address it: url, api_key, headers; app, asgi and requests_session() in process.
    Set the scene: seed(name="Rex"), seed_many(300), update(), remove(), configure(list_order="by_name"), clock.
    Break the response: inject(503, on="listPets", times=1), inject(faults.reset(), at="after_commit"), revoke_key().
    Look back: pets, journal.assert_called("createPet", times=1, name="Rex"), journal.last, expect_violation().
    """  # noqa: D205  # `pytest --fixtures` shows the first paragraph alone
    home = settings.start_fake(pytestconfig, petstore_options)
    with pytestconfig.stash[_SESSION].keep(home):
        yield home.petstore
