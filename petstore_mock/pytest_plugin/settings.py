"""The settings of a pytest run, from the settings file, the environment and the command line."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from petstore_mock.common.guards import is_object
from petstore_mock.common.masking import cut, mask, printable
from petstore_mock.common.refusing import one_of, refuse, shown
from petstore_mock.common.values import shown_url, text_of, variable_of, write_text
from petstore_mock.core.options import FLAG_WORDS, OPTIONS, options_at
from petstore_mock.errors import PetStoreMockError
from petstore_mock.pytest_plugin.home import Home
from petstore_mock.pytest_plugin.products import remote_home

if TYPE_CHECKING:
    from collections.abc import Mapping

_OF_THE_COMMAND_LINE: Final = [name for name in options_at("fixture") if name not in options_at("setting")]
_KEYWORDS: Final = [name for name in options_at("fixture") if name in options_at("setting")]
_SHOWN: Final = 80  # characters of a setting in the header


def setting(config: pytest.Config, name: str) -> tuple[str, str, Path]:
    """Return the text of a setting (or an empty text), its source, and the folder for a relative path."""
    text = text_of(name)
    if text:
        return text, f"the environment variable {variable_of(name)}", config.invocation_params.dir
    source = f"the setting petstore_{name}"
    try:
        value = config.getini(f"petstore_{name}")
    except (TypeError, ValueError, pytest.UsageError) as error:
        words = FLAG_WORDS if OPTIONS[name].is_flag else "text"
        refuse(f"expected {words} in {source}: {error}")
    folder = config.rootpath if config.inipath is None else config.inipath.parent
    return str(value or ""), source, folder


def choice(config: pytest.Config, name: str) -> str:
    """Return the value of a setting that has some fixed values."""
    text, source, _ = setting(config, name)
    option = OPTIONS[name]
    return one_of(text or option.default, option.alternatives, f"value of {source}")


def header(config: pytest.Config) -> str | None:
    """Return a line with each setting and its source. A forgotten environment variable is easy to see in it."""
    parts: list[str] = []
    for name in options_at("setting"):
        with suppress(PetStoreMockError):  # the fixture reports a wrong setting
            text, source, _ = setting(config, name)
            if text:
                parts.append(f"{name}={_shown(name, text)} from {source}")
    for name in (*_OF_THE_COMMAND_LINE, "remote"):
        value = config.getoption(f"petstore_{name}")
        if value not in {None, ""}:
            parts.append(f"{name}={_shown(name, str(value))} from --petstore-{name.replace('_', '-')}")
    if parts:
        return printable(f"petstore-mock: {'; '.join(parts)}")
    return None


def _shown(name: str, text: str) -> str:
    """Return the text of a setting without its secrets."""
    if name in {"api_key", "remote_token"}:
        return mask(text)
    if name == "remote":
        return shown_url(text)
    return cut(text, _SHOWN)


def assumed_gaps(config: pytest.Config) -> dict[str, str]:
    """Return the known assumptions in the setting ``petstore_assumes``, as alternatives by gap."""
    lines: list[str] = config.getini("petstore_assumes")
    if not lines:
        return {}
    from petstore_mock.interface.behaviour import choices_of  # most runs assume nothing

    return choices_of("petstore_assumes", lines)


class Written(NamedTuple):
    """The line that reports a file, with its path or with the error."""

    line: str
    failed: bool


def written(path: Path, what: str, text: str) -> Written:
    """Write a file. An error must not end the report."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except (OSError, PetStoreMockError) as error:
        return Written(f"no {what}: {error}", failed=True)
    return Written(f"{what}: {path}", failed=False)


# The session's fake


def start_fake(config: pytest.Config, petstore_options: object) -> Home:
    """Return the fake for the value of ``petstore_options``. A wrong option fails the test without a traceback."""
    try:
        if not is_object(petstore_options):
            refuse(f"expected a dict of keywords of PetStoreMock; got petstore_options={shown(petstore_options)}")
        options = _options_of(config, petstore_options)
        address = config.getoption("petstore_remote") or setting(config, "remote")[0]
        if address:
            return remote_home(address, options, setting(config, "remote_token")[0] or None)
        from petstore_mock.mock.petstore import PetStoreMock  # most runs have no such test

        return Home(PetStoreMock(**options).start())
    except PetStoreMockError as error:
        lines = [f"petstore: {error}"]
        if hasattr(config, "workerinput"):
            lines[0] += " (each worker of pytest-xdist has its own fake, which needs its own port)"
        settings_line = header(config)
        if settings_line is not None:
            lines.append(settings_line)
        pytest.fail("\n".join(lines), pytrace=False)


def _value_of(name: str, text: str, folder: Path) -> object:
    """Return the value of a setting. A relative path starts at ``folder``, whether or not the file exists."""
    if name == "behaviour":
        from petstore_mock.interface.behaviour import as_behaviour  # few runs set it

        return as_behaviour(text, folder)
    value: object = OPTIONS[name].parse(text)
    if isinstance(value, Path):
        return folder / value
    return value


def _options_of(config: pytest.Config, of_fixture: Mapping[str, object]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for name in _KEYWORDS:
        text, _, folder = setting(config, name)
        if text:
            options[name] = _value_of(name, text, folder)
    for name, value in of_fixture.items():
        one_of(name, [*_KEYWORDS, *_OF_THE_COMMAND_LINE], "keyword of PetStoreMock in petstore_options")
        options[name] = value
    for name in _OF_THE_COMMAND_LINE:
        value = config.getoption(f"petstore_{name}")
        if value not in {None, ""}:
            options[name] = value
    return options
