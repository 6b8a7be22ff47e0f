"""Reads what a pytest run asks for: settings, environment, command line and markers."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from petstore_mock.common.environment import text_of, variable_of
from petstore_mock.common.masking import cut, mask, printable
from petstore_mock.common.refusing import did_you_mean, one_of
from petstore_mock.core.options import FLAG_WORDS, OPTIONS, options_at
from petstore_mock.errors import PetStoreMockError
from petstore_mock.pytest_plugin.home import Home

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

FIXTURE: Final = "petstore"
LEAK_MODES: Final = ("error", "warn", "ignore")
_OF_THE_COMMAND_LINE: Final = ("at", "random_seed")  # these have an option instead of a setting
_KEYWORDS: Final = {
    name: option.words for name, option in options_at("fixture").items() if name not in _OF_THE_COMMAND_LINE
}
# The value of each may come from the environment as well.
SETTINGS: Final[Mapping[str, str]] = {
    **_KEYWORDS,
    "cors": OPTIONS["cors"].words,
    "remote": "The address of a stub that runs elsewhere, for the fixture to steer",
    "remote_token": "The control token of that stub",
    "remote_ca": "The file of the authority of that stub, if it speaks TLS (serve --tls-ca-out)",
    "leaks": f"What requests of finished tests mean: {', '.join(LEAK_MODES)}",
}
_SECRETS: Final = ("api_key", "remote_token")
_SHOWN: Final = 80  # characters of a setting in the header


class Setting(NamedTuple):
    """The text of a setting; ``folder`` is what its relative path is relative to."""

    text: str
    source: str
    folder: Path


def is_flag(name: str) -> bool:
    """Say whether a setting is true or false."""
    return name in OPTIONS and OPTIONS[name].is_flag


def setting(config: pytest.Config, name: str) -> Setting:
    """Return a setting of the environment, else of the settings file; its text is empty if neither has it."""
    if text := text_of(name):
        return Setting(text, f"the environment variable {variable_of(name)}", config.invocation_params.dir)
    source = f"the setting petstore_{name}"
    try:
        value = config.getini(f"petstore_{name}")
    except (TypeError, ValueError, pytest.UsageError) as error:
        raise pytest.UsageError(f"expected {FLAG_WORDS} in {source}: {error}") from None
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    return Setting(str(value or ""), source, folder)


def report_header(config: pytest.Config) -> str | None:
    """Return the line that says where each setting comes from: an environment may hold forgotten ones."""
    found = []
    for name in SETTINGS:
        try:
            text, source, _ = setting(config, name)
        except pytest.UsageError:  # reported where it is needed
            continue
        if text:
            found.append(f"{name}={cut(mask(text) if name in _SECRETS else text, _SHOWN)} from {source}")
    for name in (*_OF_THE_COMMAND_LINE, "remote"):
        if (value := config.getoption(f"petstore_{name}")) not in {None, ""}:
            found.append(f"{name}={cut(str(value), _SHOWN)} from {_flag(name)}")
    return printable(f"petstore-mock: {'; '.join(found)}") if found else None


def _flag(name: str) -> str:
    return f"--petstore-{name.replace('_', '-')}"


# Checks before any test runs


def check_options(config: pytest.Config) -> None:
    """Refuse options of the command line that can't be right."""
    if at := config.getoption("petstore_at"):
        with_usage_error("--petstore-at", OPTIONS["at"].check, "at", at)
    count: int = config.getoption("petstore_explore") or 0
    mutants: str | None = config.getoption("petstore_mutants")
    if count < 0:
        raise pytest.UsageError(f"--petstore-explore: expected how many behaviours, 0 or more; got {count}")
    if mutants is not None and mutants != "all" and not (mutants.isdecimal() and mutants.strip("0")):
        raise pytest.UsageError(f"--petstore-mutants: expected how many mutants, 1 or more, or all; got {mutants!r}")
    for name in ("mutants_all", "mutants_fail_under", "mutants_json"):
        if mutants is None and config.getoption(f"petstore_{name}") not in {None, False}:
            raise pytest.UsageError(f"{_flag(name)}: expected --petstore-mutants=N, or all, beside it")
    for name in ("mutants_fail_under", "coverage_fail_under"):
        share = config.getoption(f"petstore_{name}")
        if share is not None and not 0 <= share <= 100:
            raise pytest.UsageError(f"{_flag(name)}: expected a percentage, 0 to 100; got {share:g}")


def with_usage_error(where: str, check: Any, *arguments: Any) -> Any:  # noqa: ANN401  # any check
    """Return what a check returns; pytest shows its refusal in one line that begins with ``where``."""
    try:
        return check(*arguments)
    except PetStoreMockError as error:
        raise pytest.UsageError(f"{where}: {error}") from None


def leak_mode(config: pytest.Config) -> str:
    """Return what a request of a finished test means: ``error``, ``warn`` or ``ignore``."""
    text, source, _ = setting(config, "leaks")
    return str(with_usage_error(source, one_of, text, LEAK_MODES, "mode")) if text else LEAK_MODES[0]


def assumed_gaps(config: pytest.Config) -> dict[str, str]:
    """Return the known assumptions of the setting ``petstore_assumes``: an alternative for each gap."""
    assumed = {}
    for line in config.getini("petstore_assumes"):
        name, equals, value = (part.strip().strip("\"'") for part in line.partition("="))
        if not equals:
            raise pytest.UsageError(f"expected gap = alternative in each line of petstore_assumes; got {line!r}")
        assumed[name] = value
    _check_gaps("the setting petstore_assumes", assumed)
    return assumed


def _check_gaps(where: str, gaps: Mapping[str, Any]) -> None:
    if gaps:
        from petstore_mock.interface.behaviour import Behaviour  # noqa: PLC0415  # most runs assume nothing

        with_usage_error(where, Behaviour().replace, gaps)


# Markers


def merged_marks(item: pytest.Item) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the keywords of a test's marks ``petstore`` and ``petstore_assumes``; the nearest mark wins."""
    start: dict[str, Any] = {}
    assumed: dict[str, str] = {}
    for mark in item.iter_markers():  # once for both: it walks through all parents
        if mark.name == FIXTURE:
            start = {**mark.kwargs, **start}
        elif mark.name == "petstore_assumes":
            assumed = {**mark.kwargs, **assumed}
    return start, assumed


def mistakes_in_marks(item: pytest.Item) -> Iterator[str]:
    """Yield what can't be right in the marks of a test."""
    known = options_at("marker")
    for mark in item.iter_markers():
        where = f"@pytest.mark.{mark.name} of {item.nodeid}"
        if mark.name == FIXTURE:
            wrong = [name for name in mark.kwargs if name not in known]
            if mark.args or wrong:
                came = f"; got {wrong[0]!r}{did_you_mean(wrong[0], known)}" if wrong else ""
                yield f"{where}: expected keywords only, of {', '.join(known)}{came}"
        elif mark.name == "petstore_assumes":
            if mark.args or not mark.kwargs:
                yield f'{where}: expected keywords, gap="alternative"'
            try:
                _check_gaps(where, mark.kwargs)
            except pytest.UsageError as error:
                yield str(error)


def mistakes_in_options(items: Iterable[pytest.Item]) -> Iterator[tuple[pytest.Item, str]]:
    """Yield the tests that would get a second ``petstore_options``: the session has one fake, with the first ones."""
    first: tuple[pytest.Item, object] | None = None
    for item in items:
        if FIXTURE not in getattr(item, "fixturenames", ()):
            continue
        # pytest has no public way to ask which of several fixtures of one name a test gets.
        found: Sequence[object] = item._fixtureinfo.name2fixturedefs.get("petstore_options", ())  # type: ignore[attr-defined]  # noqa: SLF001
        meant = found[-1] if found else None
        first = first or (item, meant)
        if first[1] is not meant:
            yield (
                item,
                "expected one petstore_options for all tests, since they share one fake; got another for "
                f"{item.nodeid} than for {first[0].nodeid}: move it into the conftest.py above all of them, "
                "and give some tests another start with @pytest.mark.petstore(...), or a module with pytestmark",
            )


# The session's fake


def start_fake(config: pytest.Config, given: object) -> Home:
    """Return the session's fake, which listens; fail the test in a few lines if it can't.

    ``given`` is what ``petstore_options`` returned. It wins over environment and settings file, and the command line
    wins over it.
    """
    origins: dict[str, str] = {}
    try:
        options = _options_of(config, given, origins)
        address, source, _ = setting(config, "remote")
        if asked := config.getoption("petstore_remote"):
            address, source = asked, "--petstore-remote"
        if not address:
            from petstore_mock.mock.petstore import PetStoreMock  # noqa: PLC0415  # heavy

            return Home(PetStoreMock(**options).start())
        from petstore_mock.remote.fixture import elsewhere  # noqa: PLC0415  # most runs do without

        ca, origins["remote_ca"], folder = setting(config, "remote_ca")
        origins["remote"] = source
        token = setting(config, "remote_token").text or None
        return elsewhere(address, options, token=token, ca_path=folder / ca if ca else None)
    except (PetStoreMockError, pytest.UsageError) as error:
        text = f"petstore: {error}"
        if hasattr(config, "workerinput") and getattr(error.__context__, "errno", None) == errno.EADDRINUSE:
            text += ". Each worker of pytest-xdist has a fake of its own, and needs a port of its own"
    if origins:
        text += f"\n({'; '.join(f'{name} comes from {origin}' for name, origin in origins.items())})"
    pytest.fail(text, pytrace=False)


def _options_of(config: pytest.Config, given: object, origins: dict[str, str]) -> dict[str, Any]:
    """Return the keywords of the session's ``PetStoreMock``, and note where each comes from."""
    if not isinstance(given, Mapping):
        raise pytest.UsageError(f"petstore_options: expected a dict of keywords of PetStoreMock; got {given!r}")
    options: dict[str, Any] = {}
    for name in (*_KEYWORDS, "cors"):
        found = setting(config, name)
        if found.text:
            origins[name] = found.source
            options[name] = with_usage_error(found.source, _value_of, name, found)
    origins |= dict.fromkeys(given, "petstore_options")
    options |= given
    for name in _OF_THE_COMMAND_LINE:
        if (value := config.getoption(f"petstore_{name}")) not in {None, ""}:
            options[name], origins[name] = value, _flag(name)
    return options


def _value_of(name: str, found: Setting) -> Any:  # noqa: ANN401  # of any keyword
    from petstore_mock.interface.behaviour import as_behaviour  # noqa: PLC0415  # only users of the fixture need it

    if name == "behaviour":
        return as_behaviour(found.text, found.folder)
    if name == "cors":
        return found.text.replace(",", " ").split()
    value = OPTIONS[name].parse(found.text)
    return value if name != "seed" or isinstance(value, int) else found.folder / value
