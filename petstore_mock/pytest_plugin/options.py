"""What the settings, the environment, the command line and the markers of a pytest run ask for."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pytest

from petstore_mock.common.environment import FLAG_WORDS, as_flag, flag_of, text_of, variable_of
from petstore_mock.common.masking import cut, mask, printable
from petstore_mock.pytest_plugin import FLAGS, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from petstore_mock.pytest_plugin.run import Subject

__all__ = [
    "LEAK_MODES",
    "assumed_gaps",
    "check_options",
    "covers",
    "leak_mode",
    "mistakes_in_markers",
    "mistakes_in_options",
    "refuse_misspelt",
    "report_header",
    "start_mock",
]

LEAK_MODES: Final = ("error", "warn", "ignore")

_SHOWN: Final = 80  # characters of a setting in the header
_SECRETS: Final = ("api_key", "remote_token")
_DIGITS: Final = 20  # Python reads none of thousands
_OF_THE_PLUGIN: Final = ("leaks", "remote", "remote_token", "remote_ca")
_KEYWORD_SETTINGS: Final = tuple(name for name in SETTINGS if name not in _OF_THE_PLUGIN)  # those of PetStoreMock
_OPTIONS: Final = ("at", "random_seed")  # the same, of the command line
_MARK_KEYWORDS: Final = ("behaviour", "seed", "at", "strict")


def _setting(config: pytest.Config, name: str) -> tuple[str, str, Path]:
    """Return the text of a setting, where it came from, and what its relative paths are relative to."""
    text = text_of(name)
    if text:
        return text, f"the environment variable {variable_of(name)}", config.invocation_params.dir
    try:
        value = config.getini(f"petstore_{name}")
    except (TypeError, ValueError, pytest.UsageError) as error:  # pytest's own, which say less the older it is
        expected = f"expected {FLAG_WORDS} in " if name in FLAGS else ""
        raise pytest.UsageError(f"{expected}the setting petstore_{name}: {error}") from None
    base = config.inipath.parent if config.inipath is not None else config.rootpath
    return str(value or ""), f"the setting petstore_{name}", base


def _number(text: str, source: str) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > _DIGITS:
        raise pytest.UsageError(f"expected a whole number of at least 0 in {source}; got {text[:40]!r}")
    return int(text)


def _flag(text: str, source: str) -> bool:
    flag = as_flag(text)
    if flag is None:
        raise pytest.UsageError(f"expected {FLAG_WORDS} in {source}; got {text!r}")
    return flag


def refuse_misspelt(args: list[str], parser: pytest.Parser) -> None:
    """Refuse options that nobody has, if one of ours is like them: pytest's own refusal does not say which.

    Raises:
        pytest.UsageError: there is one; says which may have been meant, be it a setting.
    """
    from petstore_mock.common.suggestions import nearest  # noqa: PLC0415  # for a mistake only

    known, unknown = parser.parse_known_and_unknown_args(args)
    ours = {flag_of(f"petstore_{name}"): f"-o petstore_{name}=..." for name in SETTINGS}
    options = [flag_of(name) for name in vars(known) if name.startswith("petstore_")]
    ours |= zip(options, options, strict=True)
    for option in unknown:
        name = option.partition("=")[0]  # what follows may be a key
        if meant := nearest(name, ours):
            raise pytest.UsageError(
                f"unrecognized argument: {name}. Did you mean '{ours[meant]}'? (see 'pytest --help')"
            )


def report_header(config: pytest.Config) -> str | None:
    """Return the line of the run's header that says which settings came from where; None when there are none."""
    found = []
    for name in SETTINGS:
        try:
            text, source, _ = _setting(config, name)
        except pytest.UsageError:  # told where it is needed
            continue
        if text:
            found.append((name, mask(text) if name in _SECRETS else text, source))
    asked = [(name, config.getoption(f"petstore_{name}")) for name in (*_OPTIONS, "remote")]
    found += [(name, str(value), flag_of(f"petstore_{name}")) for name, value in asked if value not in {None, ""}]
    told = [printable(f"{name}={cut(text, _SHOWN)} from {source}") for name, text, source in found]
    return f"petstore-mock: {'; '.join(told)}" if told else None


def leak_mode(config: pytest.Config) -> str:
    """Return what a request of a finished test means: ``error``, ``warn`` or ``ignore``.

    Raises:
        pytest.UsageError: the setting says something else.
    """
    text, source, _ = _setting(config, "leaks")
    if text and text not in LEAK_MODES:
        raise pytest.UsageError(f"expected one of {', '.join(LEAK_MODES)} in {source}; got {text!r}")
    return text or "error"


def start_mock(config: pytest.Config, given: Mapping[str, Any]) -> Subject:
    """Return the session's mock, which listens; fail the test, without a traceback, if it can't.

    Args:
        config: where the settings and the command line are.
        given: what ``petstore_options`` returned: wins over settings and environment; the command line wins over it.

    Raises:
        pytest.fail.Exception: an option can't be right, or nobody can listen there; says where each option comes from.
    """
    from petstore_mock.errors import PetStoreMockError  # noqa: PLC0415  # only users of the fixture need them
    from petstore_mock.mock.petstore import PetStoreMock  # noqa: PLC0415  # heavy, too

    origins: dict[str, str] = {}
    try:
        options = _options_of(config, given, origins)
        url, source = _remote_of(config)
        if url:
            from petstore_mock.pytest_plugin.remote import connect_fixture  # noqa: PLC0415  # most runs do without

            origins["remote"] = source
            ca, ca_source, base = _setting(config, "remote_ca")
            if ca:
                origins["remote_ca"] = ca_source
            fixture = connect_fixture(
                url, _setting(config, "remote_token")[0] or None, options, ca_path=base / ca if ca else None
            )
            config.add_cleanup(fixture.close)
            return fixture
        return PetStoreMock(**options).start()
    except (PetStoreMockError, pytest.UsageError) as error:
        text = f"petstore: {error}"
        if hasattr(config, "workerinput") and getattr(error.__context__, "errno", None) == errno.EADDRINUSE:
            text += ". Each worker of pytest-xdist has a fake of its own, and needs a port of its own"
    if origins:
        text += f"\n({'; '.join(f'{name} comes from {origin}' for name, origin in origins.items())})"
    pytest.fail(text, pytrace=False)


def _remote_of(config: pytest.Config) -> tuple[str, str]:
    """Return the address of the stub that the fixture is to steer, empty for none, and where it comes from."""
    asked = config.getoption("petstore_remote")
    return (asked, flag_of("petstore_remote")) if asked else _setting(config, "remote")[:2]


def _options_of(config: pytest.Config, given: Any, origins: dict[str, str]) -> dict[str, Any]:  # noqa: ANN401  # by a test
    """Return the keywords of the session's ``PetStoreMock``, and note where each of them comes from.

    Raises:
        PetStoreMockError: a number of animals is too large.
        pytest.UsageError: a setting or a keyword can't be right.
    """
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise pytest.UsageError(f"petstore_options: expected a dict of keywords of PetStoreMock; got {given!r}")
    options: dict[str, Any] = {}
    for name in _KEYWORD_SETTINGS:
        text, source, base = _setting(config, name)
        if not text:
            continue
        origins[name] = source
        options[name] = _value_of(name, text, source, base)
    options |= given
    origins |= dict.fromkeys(given, "petstore_options")
    for name in _OPTIONS:
        if (value := config.getoption(f"petstore_{name}")) not in {None, ""}:
            options[name] = value
            origins[name] = flag_of(f"petstore_{name}")
    return options


def _value_of(name: str, text: str, source: str, base: Path) -> Any:  # noqa: ANN401  # of any keyword
    """Return what the text of a setting says.

    Raises:
        PetStoreMockError: a number of animals is too large.
        pytest.UsageError: it can't be right.
    """
    from petstore_mock.core.starting_state import behaviour_of, seed_of  # noqa: PLC0415  # as above

    match name:
        case "port":
            return _number(text, source)
        case _ if name in FLAGS:
            return _flag(text, source)
        case "seed":
            return seed_of(text, base)
        case "cors":
            return text.replace(",", " ").split()
        case "behaviour":
            return behaviour_of(text, base)
        case _:
            return text


def check_options(config: pytest.Config) -> None:
    """Refuse options that can't be right, before any test runs.

    Raises:
        pytest.UsageError: one can't.
    """
    if at := config.getoption("petstore_at"):
        from petstore_mock.common.dates import as_moment  # noqa: PLC0415
        from petstore_mock.errors import PetStoreMockError  # noqa: PLC0415

        try:
            as_moment(at, "at")
        except PetStoreMockError as error:
            raise pytest.UsageError(f"--petstore-at: {error}") from None
    if (count := config.getoption("petstore_explore")) < 0:
        raise pytest.UsageError(f"--petstore-explore: expected how many behaviours, 0 or more; got {count}")
    mutants = config.getoption("petstore_mutants")
    if mutants is None:
        for name in ("petstore_mutants_all", "petstore_mutants_fail_under", "petstore_mutants_json"):
            if config.getoption(name) not in {None, False}:
                raise pytest.UsageError(f"{flag_of(name)}: expected --petstore-mutants=N, or all, beside it")
    elif mutants != "all" and not (
        mutants.isdecimal() and mutants.isascii() and len(mutants) < _DIGITS and int(mutants)
    ):
        raise pytest.UsageError(f"--petstore-mutants: expected how many mutants, 1 or more, or all; got {mutants!r}")
    for name in ("petstore_mutants_fail_under", "petstore_coverage_fail_under"):
        share = config.getoption(name)
        if share is not None and not 0 <= share <= 100:
            raise pytest.UsageError(f"{flag_of(name)}: expected a percentage, 0 to 100; got {share:g}")


def covers(config: pytest.Config) -> bool:
    """Return whether outcome coverage is asked for: by its own option, or by one that says what becomes of it."""
    names = ("petstore_coverage", "petstore_coverage_fail_under", "petstore_coverage_json")
    return any(config.getoption(name) not in {None, False} for name in names)


def assumed_gaps(config: pytest.Config) -> dict[str, str]:
    """Return the gaps that the setting ``petstore_assumes`` declares.

    Raises:
        pytest.UsageError: a line is no ``gap = alternative``, or there is no such gap.
    """
    assumed = {}
    for line in config.getini("petstore_assumes"):
        name, equals, value = (part.strip().strip("\"'") for part in line.partition("="))
        if not equals:
            raise pytest.UsageError(f"expected gap = alternative in each line of petstore_assumes; got {line!r}")
        assumed[name] = value
    _check_gaps("the setting petstore_assumes", assumed)
    return assumed


def mistakes_in_markers(item: pytest.Item) -> Iterator[str]:
    """Yield what can't be right in the markers of a test, and which keywords there are."""
    for mark in item.iter_markers():
        where = f"@pytest.mark.{mark.name} of {item.nodeid}"
        try:
            if mark.name == "petstore":
                _check_start(where, mark)
            elif mark.name == "petstore_assumes":
                _check_assumes(where, mark)
        except pytest.UsageError as error:
            yield str(error)


def _check_start(where: str, mark: pytest.Mark) -> None:
    if mark.args:
        raise pytest.UsageError(f"{where}: expected keywords only, of {', '.join(_MARK_KEYWORDS)}")
    for name in mark.kwargs:
        if name not in _MARK_KEYWORDS:
            from petstore_mock.common.suggestions import did_you_mean  # noqa: PLC0415  # for a mistake only

            raise pytest.UsageError(
                f"{where}: expected keywords of {', '.join(_MARK_KEYWORDS)}; "
                f"got {name!r}{did_you_mean(name, _MARK_KEYWORDS)}"
            )
    strict = mark.kwargs.get("strict")
    if strict is not None and not isinstance(strict, bool):
        raise pytest.UsageError(f"{where}: expected strict to be True or False; got strict={strict!r}")


def _check_assumes(where: str, mark: pytest.Mark) -> None:
    if mark.args or not mark.kwargs:
        raise pytest.UsageError(f'{where}: expected keywords, gap="alternative"')
    _check_gaps(where, mark.kwargs)


def mistakes_in_options(items: Iterable[pytest.Item]) -> Iterator[tuple[pytest.Item, str]]:
    """Yield the tests with a second ``petstore_options``: the session has one fake, so that it would be ignored."""
    first: pytest.Item | None = None
    meant: object = None
    for item in items:
        if "petstore" not in getattr(item, "fixturenames", ()):
            continue
        # pytest says in no other way, before it runs a test, which of several fixtures of one name that test gets.
        found = item._fixtureinfo.name2fixturedefs.get("petstore_options")  # type: ignore[attr-defined]  # noqa: SLF001
        nearest = found[-1] if found else None
        if first is None:
            first, meant = item, nearest
        elif nearest is not meant:
            text = (
                "expected one petstore_options for all tests, since they share one fake; "
                f"got another for {item.nodeid} than for {first.nodeid}: "
                "put it into the conftest.py above all of them, "
                "and give some tests another start with @pytest.mark.petstore(...), or a module with pytestmark"
            )
            yield item, text


def _check_gaps(where: str, gaps: Mapping[str, Any]) -> None:
    if not gaps:
        return
    from petstore_mock.contract.behaviour import check_gap  # noqa: PLC0415
    from petstore_mock.errors import PetStoreMockError  # noqa: PLC0415

    for name, value in gaps.items():
        try:
            check_gap(name, value)
        except PetStoreMockError as error:
            raise pytest.UsageError(f"{where}: {error}") from None
