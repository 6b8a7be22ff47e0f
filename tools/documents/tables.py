"""The tables of the reference, made from public sources: commands, the door, docstrings."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from petstore_mock import PetStoreMock
from petstore_mock.checks import CHECKS
from petstore_mock.faults import Fault
from petstore_mock.interface.table import OPERATIONS, Operation, source
from petstore_mock.stateful.directed import FAMILIES
from petstore_mock.strategies.sent import DIRECTED, SLOW
from petstore_mock.verify import Verdict, verify
from tools.documents.blocks import table

_COMMAND: Final = (sys.executable, "-m", "petstore_mock")
_PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", "-pno:hypothesispytest")
_METHODS: Final = ("get", "put", "post", "patch", "delete")
_FAST: Final = 1e6  # requests a second

_LONGEST_CALL: Final = 80  # characters of a fault in a table


def output_of(*command: str, folder: str | None = None) -> str:
    """Return the output of a command on a very wide terminal; fail if the command fails."""
    environment = {**os.environ, "COLUMNS": "1000"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _cell(text: str) -> str:
    text = re.sub(r"(?::\w+:)?`+([^`]+)`+", r"`\1`", " ".join(text.split()))  # from reStructuredText
    text = re.sub(r"(?<![`\w-])(--[a-z][\w-]+)", r"`\1`", text)  # an option is code
    return text.replace("|", "\\|").replace("<", "&lt;")


# The operations


def retries() -> str:
    """Return a row for each kind of operation: whether a client may send a request again."""
    rows = [(*_may_repeat(row), row) for row in OPERATIONS.values()]
    told: list[tuple[str, str, str]] = []
    for answer, why in dict.fromkeys((answer, why) for answer, why, _ in rows):
        requests = ", ".join(f"`{row.method} {row.path}`" for *said, row in rows if said == [answer, why])
        lost = "" if answer.startswith("yes") else ", response lost"
        told.append((f"{requests}{lost}", answer, why))
    hint = (
        "`Retry-After` says when (RFC 9110 §10.2.3); the interface shows no rate limits (§8). Another request that got "
        "503 may have been executed, so the checks report its retry"
    )
    fixed = [
        ("a request whose connection closed before it was sent", "yes", "the service received nothing"),
        (
            "any request, refused with 400, 401 or 404",
            "only with a change",
            "by the meaning of §7, the same request gets the same response",
        ),
        (
            "any request that got 429 with `Retry-After`, or a safe or idempotent one that got 503 with it",
            "after that time",
            hint,
        ),
    ]
    return table("request", "may the client send it again?", "why", rows=[*told, *fixed])


def _may_repeat(row: Operation) -> tuple[str, str]:
    if not row.commits:
        return "yes, a few times", "read-only: a second request has no side effect (RFC 9110 §9.2.2)"
    if row.may_be_repeated:
        return "yes, a few times", f"idempotent: a second {row.method} changes nothing more (RFC 9110 §9.2.2)"
    return "no", f"by the meaning of §{row.section}, a second {row.name} may {row.does.repeated}"


# The command line


def _options(text: str) -> Iterator[tuple[str, str]]:
    """Yield each option or argument of an argparse help, with its text."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if re.match(r"  \S", line):
            found.append(re.split(r"  +", line.strip(), maxsplit=1))
        elif re.match(r"   +\S", line) and found:
            found[-1].append(line.strip())
    yield from ((form, " ".join(words)) for form, *words in found)


def _form(text: str) -> str:
    """Return an option in the form of the documents. Some versions of argparse repeat its value."""
    names = re.findall(r"(?<!\S)--?[\w-]+", text)
    value = re.sub(r"(?<!\S)--?[\w-]+[=,]?", "", text.rpartition(", ")[2]).strip(" =")
    value = value.strip("{}").replace(",", "|").replace("|", "\\|")
    return f"`{' '.join(filter(None, (', '.join(names), value)))}`"


def commands() -> str:
    """Return every command with its options, as the help shows them."""
    listed = output_of(*_COMMAND, "--help").partition("\ncommands:\n")[2]
    parts: list[str] = []
    for name in re.findall(r"^    (\w+) ", listed, re.MULTILINE):
        shown = output_of(*_COMMAND, name, "--help").partition("\n\n")[2]
        before, _, options = shown.partition("options:\n")
        words, _, arguments = before.partition("positional arguments:\n")
        parts.append(f"## petstore-mock {name}\n\n{_cell(words)}")
        # The help has a heading above each further group of options.
        first, *groups = re.split(r"^(\S.*):\n", options, flags=re.MULTILINE)
        for heading, block in (("", arguments + first), *zip(groups[::2], groups[1::2], strict=True)):
            rows = [(_form(form), _cell(text)) for form, text in _options(block)]
            rows = [row for row in rows if "--help" not in row[0]]
            if rows:
                parts.append(table(heading or "option", "what it does", rows=rows))
    return "\n\n".join(parts)


@cache
def register() -> list[dict[str, Any]]:
    """Return the gaps, as the command shows them."""
    gaps: list[dict[str, Any]] = json.loads(output_of(*_COMMAND, "gaps", "--format", "json"))["gaps"]
    return gaps


def gaps() -> str:
    """Return the register of gaps as a table."""
    rows: list[tuple[str, str, str, str]] = []
    for gap in register():
        alternatives = ", ".join(f"`{name}`" for name in gap["alternatives"])
        rows.append((f"`{gap['name']}`", f"§{gap['section']}", alternatives, gap["do_not_assume"]))
    return table("gap", "section", "alternatives, default first", "do not assume", rows=rows)


# pytest's plugin


def settings() -> str:
    """Return the settings, options and markers of the plugin, as pytest's help shows them."""
    with tempfile.TemporaryDirectory() as empty:
        shown = output_of(*_PYTEST, "--help", folder=empty)
        markers = output_of(*_PYTEST, "--markers", folder=empty)
    options = [(_form(form), _cell(words)) for form, words in _options(shown) if form.startswith("--petstore")]
    marks = re.findall(r"^@pytest\.mark\.(petstore[^:]*): (.*)$", markers, re.MULTILINE)
    found: list[tuple[str, str, str]] = []
    for form, words in _options(shown):
        if form.startswith("petstore_"):
            said, _, variable = words.rstrip(".").rstrip(")").partition(" (or ")
            found.append((f"`{form.partition(' ')[0]}`", f"`{variable}`" if variable else "", _cell(said)))
    return "\n\n".join(
        (
            table("setting", "environment", "what it is", rows=found),
            table("command line", "what it does", rows=options),
            table("marker", "what it does", rows=[(f"`{form}`", _cell(words)) for form, words in marks]),
        )
    )


def keywords() -> str:
    """Return the keywords of ``PetStoreMock``, with their defaults and docstrings."""
    arguments = (inspect.getdoc(PetStoreMock) or "").partition("\nArgs:\n")[2].partition("\n\n")[0] + "\n"
    told = dict(re.findall(r"^    (\w+): ((?:.*\n(?:        .*\n)*))", arguments, re.MULTILINE))
    rows = [
        (f"`{one.name}`", f"`{one.default!r}`", _cell(told[one.name]))
        for one in inspect.signature(PetStoreMock).parameters.values()
        if one.kind is one.KEYWORD_ONLY
    ]
    return table("keyword", "default", "what it is", rows=rows)


# The control door


@cache
def door_document() -> dict[str, Any]:
    """Return the door's description of itself."""
    with PetStoreMock(control=True) as petstore:
        address = f"{petstore.control_url}openapi.json"
        with urllib.request.urlopen(address) as found:  # noqa: S310  # of our own listener
            document: dict[str, Any] = json.load(found)
    return document


def door() -> str:
    """Return every request of the door, with its body and effect."""
    paths = door_document()["paths"]
    rows: list[tuple[str, str, str]] = []
    for path, operations in paths.items():
        for method in _METHODS if not path.startswith("/w/") else ():
            if method not in operations:
                continue
            operation = operations[method]
            asked = [one["name"] for one in operation.get("parameters", []) if one["in"] == "query"]
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            takes = [f"`?{'&'.join(f'{name}=' for name in asked)}`"] if asked else []
            takes += [f"`{name}`" for name in _members(body)]
            short = path.removeprefix("/__petstore/") or "(the page)"
            everywhere = "" if f"/w/{{world}}{path}" in paths else " Root only."
            rows.append((f"`{method.upper()} {short}`", ", ".join(takes), _cell(operation["summary"]) + everywhere))
    return table("request", "takes", "does", rows=rows)


def _members(schema: dict[str, Any]) -> list[str]:
    """Return the members of a body, or else the name of its schema."""
    if "$ref" in schema:
        return [schema["$ref"].rpartition("/")[2]]
    members = list(schema.get("properties", {}))
    return members or [name for one in schema.get("anyOf", ()) for name in _members(one)]


def checks() -> str:
    """Return every check, with the rule that it follows from."""
    rows = [
        (
            f"`{name}`",
            source(one.section, one.words),
            _cell(one.words),
            ", ".join(sorted(one.needs)),
        )
        for name, one in CHECKS.items()
    ]
    return table("check", "source", "the rule", "needs", rows=rows)


# What `verify` and `learn` show


@cache
def clauses() -> tuple[tuple[str, str], ...]:
    """Return the id and the words of each clause."""
    with PetStoreMock(seed=3) as petstore:
        verdict = verify(petstore.url, api_key=petstore.api_key, rate=_FAST)
    return tuple((clause.id, clause.words) for clause in verdict.clauses)


def clauses_table() -> str:
    """Return the clauses of the interface."""
    rows = [(f"`{name}`", words.replace("<", "&lt;").replace("|", "\\|")) for name, words in clauses()]
    return table("clause", "what the interface says", rows=rows)


@cache
def mutants() -> tuple[dict[str, str], ...]:
    """Return the mutants, as a run of pytest reports them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text("def test_nothing(petstore): pass\n", encoding="utf-8")
        output_of(*_PYTEST, "--petstore-mutants=all", "--petstore-mutants-json=found.json", folder=folder)
        found = json.loads(Path(folder, "found.json").read_text(encoding="utf-8"))
    return tuple(found["mutants"])


def mutants_table() -> str:
    """Return the mutants as a Markdown table."""
    rows = [(f"`{one['clause']}`", f"`{one['name']}`", one["does"]) for one in mutants()]
    return table("clause", "mutant", "what the service does", rows=rows)


def learnable() -> str:
    """Return which gaps ``learn`` detects, measured on the fake."""
    with PetStoreMock(seed=30, at="2030-12-06") as petstore:
        reading, creating = (
            verify(petstore.url, api_key=petstore.api_key, allow_create=allowed, rate=_FAST) for allowed in (0, 40)
        )
    head = ("gap", "with GET only", "with `--allow-create`", "reason if not found")
    rows: list[tuple[str, ...]] = []
    for name in reading.gaps:
        told = ["yes" if name in learned.choices else "" for learned in (reading, creating)]
        rows.append((f"`{name}`", *told, _why(name, reading, creating)))
    return table(*head, rows=rows)


def _why(name: str, *learned: Verdict) -> str:
    """Return why a gap can't be detected, from the first run that can't detect it."""
    return next((one.gaps[name].evidence for one in learned if one.gaps[name].choice is None), "")


def directed() -> str:
    """Return the families of directed scenarios."""
    return table("family", "what the client meets", rows=[(one.name, one.words) for one in FAMILIES])


def sent_faults() -> str:
    """Return the faults that each client meets, by subject."""
    rows: list[tuple[str, str]] = []
    for subject, sent in {**DIRECTED, **SLOW}.items():
        rows.append((subject, ", ".join(f"`{_cell(_shown(fault))}`" for fault in sent)))
    return table("subject", "faults", rows=rows)


def _shown(fault: Fault) -> str:
    """Return the call that makes a fault. A long text is cut."""
    text = repr(fault).removeprefix("faults.")
    return text if len(text) <= _LONGEST_CALL else f"{text[:_LONGEST_CALL]}…"
