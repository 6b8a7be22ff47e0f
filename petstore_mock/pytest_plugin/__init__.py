"""The pytest plugin: the fixture ``petstore``, its options and markers.

pytest imports this module in every run once the package is installed, so it imports nothing but pytest and its own
``static``. The rest of the plugin and the fake are imported when a test requests the fixture, or when one of the
plugin's options or settings is set. An option of the starting state comes from the first of these places that sets it:
the marker ``petstore`` (its ``seed`` adds animals), the command line, ``petstore_options``, the environment, the
settings file.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final, Literal

import pytest

from petstore_mock.pytest_plugin.static import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.pytest_plugin.session import Session

    Wrapper = Generator[None, Any, Any]
    Phase = Literal["setup", "call", "teardown"]

__all__ = ["petstore", "petstore_options"]

NAME: Final = "petstore_mock.pytest_plugin"
FIXTURE: Final = "petstore"


def number_or_all(text: str) -> int:
    """Parse a whole number of at least 0, or ``all``. argparse shows the name of this function in its error."""
    if text == "all":
        return sys.maxsize
    if not text.isdecimal():
        raise ValueError
    return int(text)


# Metavar, type and help of each option. A flag has no metavar.
_COMMAND_LINE: Final = {
    "explore": (
        "N",
        number_or_all,
        "Repeat each test that uses petstore, under N other behaviours (or all). Each changes one gap.",
    ),
    "mutants": (
        "N",
        number_or_all,
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
_active: list[Hooks] = []  # the last one belongs to the current run; tests of plugins run pytest inside pytest


class EntryPoint:
    """The installed entry point. It registers this module, unless somebody named the module with ``-p`` already."""

    def pytest_addoption(self, pluginmanager: pytest.PytestPluginManager) -> None:
        if not pluginmanager.has_plugin(NAME):
            pluginmanager.register(sys.modules[NAME], NAME)


ENTRY_POINT: Final = EntryPoint()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("petstore", "petstore: the fake pet store service")
    for name, (metavar, reads, words) in _COMMAND_LINE.items():
        if metavar:
            group.addoption(f"--petstore-{name}", help=words, type=reads, metavar=metavar)
        else:
            group.addoption(f"--petstore-{name}", help=words, action="store_true")
    for name, variable, kind, words in SETTINGS:
        parser.addini(f"petstore_{name}", f"{words} (or {variable}).", kind)
    parser.addini("petstore_assumes", "Known assumptions of the client, one per line: gap = alternative.", "linelist")


def pytest_load_initial_conftests(args: list[str]) -> None:
    """Refuse an unknown option of this plugin. pytest would refuse it too, but without the nearest name."""
    options = {name: f"--petstore-{name}" for name in _COMMAND_LINE}
    for text in args:
        name = text.partition("=")[0]
        if name.startswith("--petstore") and name not in options.values():
            from petstore_mock.common.suggesting import nearest  # most runs have no such option

            places = {setting: f"-o petstore_{setting}=..." for setting, *_ in SETTINGS} | options
            meant = nearest(name.removeprefix("--petstore"), places)
            hint = f" (did you mean {places[meant]!r}?)" if meant else ""
            raise pytest.UsageError(f"unknown option {name}{hint}; see pytest --help")


def _warn_of_misspelt_settings(config: pytest.Config) -> None:
    """Warn of settings and variables that look like those of this plugin and have no effect."""
    known = ["petstore_assumes", *(f"petstore_{name}" for name, _, _, _ in SETTINGS)]
    variables = {variable for _, variable, _, _ in SETTINGS}
    with warnings.catch_warnings():
        # pytest 9 deprecates the only public name of the settings that no plugin knows.
        warnings.simplefilter("ignore")
        settings = [str(name) for name in getattr(config, "inicfg", ())]
    lines: list[str] = []
    for name in settings:
        if name.startswith("petstore_") and name not in known:
            from petstore_mock.common.suggesting import did_you_mean  # most runs have no such setting

            lines.append(f"unknown setting {name}{did_you_mean(name, known)}")
    if any(name.startswith("PETSTORE_MOCK_") for name in os.environ.keys() - variables):
        from petstore_mock.core.options import misspelt_variables  # most runs have no such variable

        lines += misspelt_variables()
    for line in lines:
        config.issue_config_time_warning(pytest.PytestConfigWarning(line), stacklevel=2)


def pytest_configure(config: pytest.Config) -> None:
    _warn_of_misspelt_settings(config)
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    hooks = Hooks(config)
    if _is_configured(config):
        # A wrong option must end the run before its first test.
        hooks.load()
    config.pluginmanager.register(hooks, "petstore-hooks")
    _active.append(hooks)
    config.add_cleanup(lambda: _active.remove(hooks))


def _is_configured(config: pytest.Config) -> bool:
    """Return whether an option or a setting of this plugin is set."""
    for name in _COMMAND_LINE:
        value = config.getoption(f"petstore_{name.replace('-', '_')}")
        # The number 0 is a value, although it is false: no number of mutants may go without its check.
        if value is not None and value is not False:
            return True
    for name, variable, _, _ in SETTINGS:
        if os.environ.get(variable) or _is_in_settings_file(config, name):
            return True
    return bool(config.getini("petstore_assumes"))


def _is_in_settings_file(config: pytest.Config, name: str) -> bool:
    try:
        return bool(config.getini(f"petstore_{name}"))
    except (TypeError, ValueError, pytest.UsageError):
        # The setting has a wrong value, which the fixture reports.
        return True


def pytest_report_header(config: pytest.Config) -> str | None:
    if not _is_configured(config):
        return None
    from petstore_mock.pytest_plugin.settings import header  # most runs set nothing

    return header(config)


class Hooks:
    """The hooks of a run. They pass each test on to the ``Session``, once a test has requested the fixture."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self._session: Session | None = None
        self._item: pytest.Item | None = None  # the current test

    def load(self) -> Session:
        """Return the session. Import it first if no test has requested the fixture before."""
        if self._session is not None:
            return self._session
        from petstore_mock.errors import PetStoreMockError  # most runs do not use the fixture
        from petstore_mock.pytest_plugin.session import Session  # as above

        try:
            self._session = session = Session(self.config, self._item)
        except PetStoreMockError as error:
            raise pytest.UsageError(str(error)) from None
        self.config.pluginmanager.register(session, "petstore-session")
        self.config.pluginmanager.register(session.summaries, "petstore-summaries")
        return session

    @pytest.hookimpl(wrapper=True, tryfirst=True)  # before any fixture of the test is set up
    def pytest_runtest_setup(self, item: pytest.Item) -> Wrapper:
        __tracebackhide__ = True
        self._item = item
        if self._session is not None:
            self._session.enter(item)
        return (yield from self._phase("setup", item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Wrapper:
        """Verify a test right after its body, so that a problem is a failure and not an error."""
        __tracebackhide__ = True
        test_of_hypothesis = getattr(getattr(item, "obj", None), "hypothesis", None)
        if test_of_hypothesis is not None and "request" in getattr(item, "fixturenames", ()):
            # An example may request the fixture by getfixturevalue(). The next example then needs its own world.
            self.load()
        if self._session is not None:
            self._session.enter_body(item)
        return (yield from self._phase("call", item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Wrapper:
        __tracebackhide__ = True
        return (yield from self._phase("teardown", item))

    def _phase(self, phase: Phase, item: pytest.Item) -> Wrapper:
        __tracebackhide__ = True
        try:
            result = yield
        except BaseException as error:
            if self._session is not None:
                self._session.leave(phase, item, error)
            raise
        if self._session is not None:
            self._session.leave(phase, item, None)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Wrapper:
        # A unittest.TestCase keeps its exceptions, which do not propagate.
        failures = getattr(item, "_excinfo", None) or [call.excinfo]
        failure = failures[0]
        if failure is None:
            return (yield)
        from petstore_mock.pytest_plugin import tracebacks  # most runs have no failure

        error = failure.value
        if not item.config.getoption("fulltrace"):
            tracebacks.end_at_author(error)
        report = yield
        tracebacks.show_sentence(report, error)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the record of a test. The controller of pytest-xdist gets the records of its workers here."""
        record = getattr(report, "petstore", None)
        if record is not None:
            self.load().summaries.ledger.add(record)


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
    session = _active[-1].load()  # the fixture `pytestconfig` would cost 20 µs per test
    yield session.start(petstore_options)
    session.home = None
