"""The tables of the reference that are made from what is declared: commands, options, settings and markers."""

from __future__ import annotations

import argparse
import inspect
import re
from typing import TYPE_CHECKING, Any

from petstore_mock import PetStoreMock, pytest_plugin
from petstore_mock.cli import make_parser
from petstore_mock.control.openapi import door_document

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["commands", "door", "keywords", "settings"]


_METHODS = ("get", "put", "post", "patch", "delete")


def _table(*head: str, rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]])


def _cell(text: str) -> str:
    text = re.sub(r"(?::\w+:)?`+([^`]+)`+", r"`\1`", " ".join(text.split()))  # of reStructuredText
    text = re.sub(r"(?<![`\w-])(--[a-z][\w-]+)", r"`\1`", text)  # a page would make one dash of the two
    return text.replace("|", "\\|").replace("<", "&lt;")


def commands() -> str:
    """Every command with its options, as their help has them."""
    # argparse has no public way to ask for what was declared; the text of its help differs between versions of Python.
    found = next(one for one in make_parser()._actions if one.dest == "command")  # noqa: SLF001
    assert isinstance(found.choices, dict)
    parts = []
    for name, parser in found.choices.items():
        parts.append(f"## petstore-mock {name}\n\n{_cell(parser.description or '')}")
        if parser.epilog:
            parts.append(_cell(parser.epilog))
        actions = [one for one in parser._actions if not isinstance(one, argparse._HelpAction)]  # noqa: SLF001
        rows = [(_form(one), _cell(parser._get_formatter()._expand_help(one))) for one in actions]  # noqa: SLF001
        if rows:
            parts.append(_table("option", "what it does", rows=rows))
    return "\n\n".join(parts)


def _form(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    shown = "" if action.nargs == 0 else str(value).replace("|", "\\|")
    names = ", ".join(action.option_strings)
    return f"`{' '.join(filter(None, (names, shown)))}`"


class _Recorder:
    """Takes what the plugin declares, as pytest's parser does."""

    def __init__(self) -> None:
        self.options: list[tuple[str, ...]] = []
        self.settings: list[tuple[str, ...]] = []

    def getgroup(self, *_: str) -> _Recorder:
        return self

    def addoption(self, name: str, *, metavar: str = "", help: str, **_more: object) -> None:  # noqa: A002  # pytest's
        self.options.append((f"`{f'{name} {metavar}'.strip()}`", _cell(help)))

    def addini(self, name: str, help: str, **_more: object) -> None:  # noqa: A002  # pytest's
        words, _, variable = help.rstrip(".").rstrip(")").partition(" (or ")
        self.settings.append((f"`{name}`", f"`{variable}`" if variable else "", _cell(words)))


def settings() -> str:
    """The options, settings and markers of pytest's plugin, as it declares them."""
    recorder: Any = _Recorder()
    pytest_plugin.pytest_addoption(recorder)
    marks = [line.partition(": ") for line in pytest_plugin.MARKERS]
    return "\n\n".join(
        (
            _table("setting", "environment", "what it is", rows=recorder.settings),
            _table("command line", "what it does", rows=recorder.options),
            _table("marker", "what it does", rows=[(f"`{name}`", _cell(words)) for name, _, words in marks]),
        )
    )


def keywords() -> str:
    """The keywords of ``PetStoreMock``, with their defaults and what its docstring says of each."""
    arguments = (inspect.getdoc(PetStoreMock) or "").partition("\nArgs:\n")[2].partition("\n\n")[0] + "\n"
    told = dict(re.findall(r"^    (\w+): ((?:.*\n(?:        .*\n)*))", arguments, re.MULTILINE))
    rows = [
        (f"`{one.name}`", f"`{one.default!r}`", _cell(told[one.name]))
        for one in inspect.signature(PetStoreMock).parameters.values()
        if one.kind is one.KEYWORD_ONLY
    ]
    return _table("keyword", "default", "what it is", rows=rows)


def door() -> str:
    """Every request of the control door, from the document by which it describes itself."""
    paths = door_document("http://127.0.0.1:8080", "")["paths"]
    rows = []
    for path, operations in paths.items():
        if path.startswith("/w/"):
            continue
        for method, operation in operations.items():
            if method not in _METHODS:
                continue
            asked = [
                one["name"]
                for one in operation.get("parameters", [])
                if one.get("in") == "query" and "x-internal" not in one["schema"]
            ]
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            takes = [f"`?{'&'.join(f'{name}=' for name in asked)}`"] if asked else []
            takes += [f"`{body['$ref'].rpartition('/')[2]}`"] if "$ref" in body else []
            short = path.removeprefix("/__petstore/") or "(the page)"
            everywhere = "" if f"/w/{{world}}{path}" in paths else " Root only."
            refusals = ", ".join(status for status in operation["responses"] if status >= "404" and status < "413")
            row = (f"`{method.upper()} {short}`", ", ".join(takes), _cell(operation["summary"]) + everywhere, refusals)
            rows.append(row)
    return _table("request", "takes", "does", "may refuse by", rows=rows)
