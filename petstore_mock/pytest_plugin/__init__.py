"""The pytest plugin: the fixture ``petstore``, its options and markers.

pytest imports this module in every run once the package is installed. The fake itself is imported only when a test
requests the fixture. An option of the starting state comes from the first of these places that sets it: the marker
``petstore`` (its ``seed`` adds animals), the command line, ``petstore_options``, the environment, the settings file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.common.values import variable_of
from petstore_mock.core.options import OPTIONS
from petstore_mock.errors import PetStoreMockError
from petstore_mock.pytest_plugin import settings
from petstore_mock.pytest_plugin.session import Session
from petstore_mock.pytest_plugin.settings import pytest_report_header as pytest_report_header

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from petstore_mock.mock.petstore import PetStoreMock

__all__ = ["petstore", "petstore_options"]

# Metavar, type and help of each option. A flag has no metavar.
_COMMAND_LINE: Final = {
    "explore": (
        "N",
        settings.number_or_all,
        "Repeat each test that uses petstore, under N other behaviours (or all). Each changes one gap.",
    ),
    "mutants": (
        "N",
        settings.number_or_all,
        "Repeat each test that uses petstore, against N mutants of the service (or all).",
    ),
    "mutants-fail-under": ("PERCENT", float, "Fail the run if the tests notice a smaller share of the mutants."),
    "mutants-json": ("FILE", str, "Write a JSON file of the mutants and the tests that noticed them."),
    "random-seed": ("S", int, "The seed of variants, mutants and the random values of the fake (default: 0)."),
    "at": ("DATE", str, "Set the fake's clock to this date, and list the tests that call a removed operation."),
    "remote": ("URL", str, "Let the fixture control the stub at this address. Each test gets a world of its own."),
    "har": ("DIR", str, "Write a HAR file for each failing test to this folder, with its requests."),
    "html": ("DIR", str, "Write a page for each failing test to this folder, with its report and requests."),
    "coverage": ("", bool, "Print the documented outcomes and faults that the client met in the tests."),
    "coverage-fail-under": ("PERCENT", float, "Fail the run if the client met a smaller share of the outcomes."),
    "coverage-json": ("FILE", str, "Write a JSON file of the outcomes and faults, with the tests that showed them."),
}
_MARKERS: Final = (
    "petstore(behaviour=None, seed=None, at=None, strict=None): overrides petstore_options; its seed adds animals.",
    "petstore_assumes(**gaps): known assumptions of the client. The fake follows them. Exploration does not vary them.",
)
_sessions: list[Session] = []  # the last one is active; tests of plugins run pytest inside pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("petstore", "petstore: the fake pet store service")
    for name, (metavar, reads, words) in _COMMAND_LINE.items():
        how: dict[str, Any] = {"type": reads, "metavar": metavar} if metavar else {"action": "store_true"}
        group.addoption(f"--petstore-{name}", help=words, **how)
    for name, words in settings.SETTINGS.items():
        # The settings file returns numbers as text, because the environment has only text: so both share one parser.
        kind: Any = "bool" if name in OPTIONS and OPTIONS[name].is_flag else "string"
        parser.addini(f"petstore_{name}", f"{words} (or {variable_of(name)}).", kind)
    parser.addini("petstore_assumes", "Known assumptions of the client, one per line: gap = alternative.", "linelist")


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


@pytest.fixture(scope="session")
def petstore_options() -> Mapping[str, Any]:
    """Keywords of ``PetStoreMock`` for ``petstore``. Override this fixture to set the starting state of all tests."""
    return {}


@pytest.fixture(scope="session")
def petstore(petstore_options: Mapping[str, Any]) -> Generator[PetStoreMock]:
    """Return a fake pet store service on loopback. Each test and each Hypothesis example gets a new world.
    Connect: url, api_key, headers; app and requests_session() in process.
    Set up: seed(name="Rex"), seed_many(300), update(), remove(), configure(list_order="by_name"), clock.
    Inject faults: inject(503, on="listPets", times=1), inject(faults.reset(), at="after_commit"), revoke_key().
    Check: pets, journal.assert_called("createPet", times=1, name="Rex"), journal.last, expect_violation().
    """  # noqa: D205  # `pytest --fixtures` shows only the first paragraph
    session = _sessions[-1]  # the fixture `pytestconfig` would cost 20 µs per test
    session.end_former()
    session.home = session.fake = home = settings.start_fake(session.config, petstore_options)
    session.config.add_cleanup(home.stop)  # after the last test, whose teardown still verifies its world
    session.begin()
    yield home.petstore
    session.home = None
