"""The reports of ``petstore-mock check``: text, JSON, and the file of scenarios that can be played again."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final, NamedTuple

from petstore_mock import __version__
from petstore_mock.checks import Call
from petstore_mock.checks.scenario import Scenario
from petstore_mock.common.guards import is_object
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import read_file
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults import Fault
from petstore_mock.interface.table import BY_METHOD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.stateful.lines import Line
    from petstore_mock.stateful.report import Bug
    from petstore_mock.stateful.run import CheckReport

_FORMAT: Final = 1
_AGAIN: Final = "run 'petstore-mock check --scenario FILE -- COMMAND' to write a new one"


class Recorded(NamedTuple):
    """The content of a scenario file."""

    options: Mapping[str, object]  # of the run that wrote the file
    scenarios: Sequence[Scenario]


# Text


def bugs_as_text(bugs: Sequence[Bug]) -> str:
    count = len(bugs)
    words = "a bug" if count == 1 else f"{count} bugs"
    texts = [f"The client has {words}."]
    for number, bug in enumerate(bugs, 1):
        texts.append(f"Bug {number} of {count} (rule {bug.finding.rule!r}): {bug.sentence}")
        texts += [f"{title}:\n\n{text}" for title, text in _parts(bug).items() if text]
    return "\n\n".join(texts)


def _parts(bug: Bug) -> dict[str, str]:
    steps = [f"  {number}  {_shown(line)}" for number, line in enumerate(bug.lines, 1)]
    return {"The calls": "\n".join(steps), "On the wire": bug.wire, "The adapter reported": bug.raised}


def _shown(line: Line) -> str:
    """Return a step in the words of the interface: a call of the client, or an act of the service."""
    step = _as_data(line)
    if "act" in step:
        return " ".join([step["act"], *map(_json, step["arguments"])])
    calls = [f"{call['operation']} {_json(call['arguments'])}" for call in step["calls"]]
    end = " again and again, cancelled each time" if "cancelled" in step else ""
    return f"{' at once with '.join(calls)}{end}"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _as_data(line: Line) -> JsonObject:
    """Return a step as a JSON value."""
    row = BY_METHOD.get(line.method)
    calls = [value for value in line.positional if isinstance(value, Call)]
    if row is not None:
        calls = [Call.of(row, line.positional, line.keywords)]
    if calls:
        shown = [{"operation": call.operation, "arguments": dict(call.arguments)} for call in calls]
        step: JsonObject = {"client": line.owner, "calls": shown}
        if line.method == "interrupt":
            step["cancelled"] = True
        return step
    arguments = [value.to_data() if isinstance(value, Fault) else value for value in line.positional]
    if line.keywords:
        arguments.append(dict(line.keywords))
    return {"act": f"{line.owner}.{line.method}", "arguments": arguments}


# JSON


def as_json(command: Sequence[str], report: CheckReport | None, bugs: Sequence[Bug]) -> str:
    """Return the whole report as JSON."""
    document = {"petstore-mock": __version__, "command": [*command], "bugs": [*map(_bug_as_data, bugs)]}
    if report is not None:
        document |= _counts(report)
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _bug_as_data(bug: Bug) -> JsonObject:
    return {
        "rule": bug.finding.rule,
        "check": bug.finding.check,
        "sentence": bug.sentence,
        "steps": [*map(_as_data, bug.lines)],
        "wire": bug.wire,
        "scenario": bug.scenario.to_data(),
    }


def _counts(report: CheckReport) -> JsonObject:
    return {
        "examples": report.examples,
        "calls": report.calls,
        "seconds": report.seconds,
        "responses": report.answers,
        "gaps": report.gaps,
        "gaps_never_shown": report.never_shown,
        "faults": report.faults,
        "left_out": report.left_out,
        "ignored": report.ignored,
    }


# The scenario file


def recorded(options: JsonObject, bugs: Sequence[Bug]) -> str:
    """Return the content of a scenario file."""
    content = {
        "options": options,
        "bugs": [{"sentence": bug.sentence, "scenario": bug.scenario.to_data()} for bug in bugs],
    }
    document = {"petstore-mock-scenarios": _FORMAT, "digest": _digest(content), **content}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def read(path: Path) -> Recorded:
    """Return the content of a scenario file; refuse a file of another version, and one that was edited."""
    document: Json = read_file(path, "path", json.loads, f"a scenario file with JSON ({_AGAIN})")
    if not is_object(document):
        refuse(f"expected a scenario file with a JSON object; got {path}: {_AGAIN}")
    version = document.get("petstore-mock-scenarios")
    if version != _FORMAT:
        refuse(f"expected a scenario file of version {_FORMAT}; got version {version!r}: {_AGAIN}")
    content: Json = {name: document.get(name) for name in ("options", "bugs")}
    if document.get("digest") != _digest(content):
        refuse(f"expected {path} as check wrote it; got a file that was edited: {_AGAIN}")
    try:
        return Recorded(content["options"], [Scenario.from_data(bug["scenario"]) for bug in content["bugs"]])
    except (PetStoreMockError, KeyError, TypeError) as error:
        refuse(f"expected scenarios that this version can play; got {error}: {_AGAIN}")


def _digest(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
