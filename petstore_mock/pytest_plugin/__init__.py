"""The pytest plugin: the fixture ``petstore``, its options and markers.

Once the package is installed, pytest imports this module in every run. The fake itself is imported by the first test
that asks for the fixture. The first of these wins for an option of the starting state: the marker ``petstore`` of a
test, the command line, the fixture ``petstore_options``, the environment, the settings file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.common.values import variable_of
from petstore_mock.core.options import OPTIONS
from petstore_mock.errors import PetStoreMockError
from petstore_mock.pytest_plugin import settings
from petstore_mock.pytest_plugin.session import Session

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from petstore_mock.mock.petstore import PetStoreMock

__all__ = ["petstore", "petstore_options"]

# Metavar, type and help of each option; a flag has no metavar.
_COMMAND_LINE: Final = {
    "explore": ("N", settings.number_or_all, "Run each test that uses petstore also under N behaviours, one gap each."),
    "mutants": ("N", settings.number_or_all, "Run each test that uses petstore also against N mutants, or all."),
    "mutants-fail-under": ("PERCENT", float, "Fail the run if the tests noticed a smaller share of the mutants."),
    "mutants-json": ("FILE", str, "Write which mutants were noticed as JSON."),
    "random-seed": ("S", int, "The seed of variants, mutants, and everything that the fake draws (default: 0)."),
    "at": ("DATE", str, "Run the suite at this date of the fake, and list the tests that call a removed operation."),
    "remote": ("URL", str, "Let the fixture steer the stub at this address by its control door: a world a test."),
    "har": ("DIR", str, "Write a HAR file of the requests of each failing test here."),
    "html": ("DIR", str, "Write a page about each failing test here: the report and the requests."),
    "coverage": ("", bool, "Print which documented outcomes and faults the tests showed to the client."),
    "coverage-fail-under": ("PERCENT", float, "Fail the run if the tests showed a smaller share of the outcomes."),
    "coverage-json": ("FILE", str, "Write which outcomes were shown as JSON."),
}
_MARKERS: Final = (
    "petstore(behaviour=None, seed=None, at=None, strict=None): this test's start, on top of petstore_options.",
    "petstore_each(*gaps): run the test once under each alternative of these gaps of the interface.",
    "petstore_assumes(**gaps): known assumptions of the client, which the fake keeps and exploration does not vary.",
)
_sessions: list[Session] = []  # the last one runs; a test of a plugin runs another pytest inside


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("petstore", "petstore: the fake pet store service")
    for name, (metavar, reads, words) in _COMMAND_LINE.items():
        how: dict[str, Any] = {"type": reads, "metavar": metavar} if metavar else {"action": "store_true"}
        group.addoption(f"--petstore-{name}", help=words, **how)
    for name, words in settings.SETTINGS.items():
        # Text, although some are numbers: the same words may come from the environment.
        kind: Any = "bool" if name in OPTIONS and OPTIONS[name].is_flag else "string"
        parser.addini(f"petstore_{name}", f"{words} (or {variable_of(name)}).", kind)
    parser.addini("petstore_assumes", "Known assumptions of the client, a line each: gap = alternative.", "linelist")


def pytest_configure(config: pytest.Config) -> None:
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    try:
        session = Session(config)
    except PetStoreMockError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(session, "petstore-session")
    _sessions.append(session)
    config.add_cleanup(lambda: _sessions.remove(session))


def pytest_report_header(config: pytest.Config) -> str | None:
    return settings.report_header(config)


@pytest.fixture(scope="session")
def petstore_options() -> Mapping[str, Any]:
    """Keywords of ``PetStoreMock`` for the fixture ``petstore``: override it to give every test a starting state."""
    return {}


@pytest.fixture(scope="session")
def petstore(petstore_options: Mapping[str, Any]) -> Generator[PetStoreMock]:
    """Give a fake pet store service that listens on loopback, new in each test and each Hypothesis example.
    Address it: url, api_key, headers; app, asgi and requests_session() in process.
    Set the scene: seed(name="Rex"), seed_many(300), update(), remove(), configure(list_order="by_name"), clock.
    Break the response: inject(503, on="listPets", times=1), inject(faults.reset(), at="after_commit"), revoke_key().
    Look back: pets, journal.assert_called("createPet", times=1, name="Rex"), journal.last, expect_violation().
    """  # noqa: D205  # `pytest --fixtures` shows the first paragraph alone
    session = _sessions[-1]  # by a fixture of pytest's own, each test would take 20 µs longer
    home = settings.start_fake(session.config, petstore_options)
    session.home = home
    session.begin()
    yield home.petstore
    session.home = None
    home.stop()
