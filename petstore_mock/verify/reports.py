"""A verdict as people and programs read it: text, JUnit's XML and JSON."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from petstore_mock.common.wording import counted
from petstore_mock.contract.interface import BASE_PATH
from petstore_mock.verify.verdict import as_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.verify.gap_evidence import Finding
    from petstore_mock.verify.verdict import Verdict

__all__ = ["as_junit", "as_text", "json_text"]

_MARKS: Final[Mapping[str, str]] = {
    "holds": "holds",
    "broken": "BROKEN",
    "not_observable": "not observable",
    "could_not_check": "could not check",
}
_SECTIONS: Final[Mapping[str, str]] = {
    "1": "What the service does",
    "2": "Resources and their fields",
    "4.1": "List animals",
    "4.2": "Add an animal",
    "4.3": "Get an animal",
    "5": "Authentication",
    "7": "Errors",
}


def json_text(verdict: Verdict) -> str:
    """Return the verdict as JSON."""
    return json.dumps(as_json(verdict), indent=2, ensure_ascii=False) + "\n"


def as_text(verdict: Verdict) -> str:
    """Return the verdict as lines for a terminal, by section; one line where nothing could be checked."""
    lines = [f"{verdict.url}, {verdict.began}: {_summary(verdict)}"]
    if all(clause.result == "could_not_check" for clause in verdict.clauses):
        return f"{lines[0]}\n"
    for section, clauses in groupby(verdict.clauses, key=lambda clause: clause.section):
        lines += ["", f"§{section} {_SECTIONS[section]}"]
        for clause in clauses:
            lines.append(f"  {_MARKS[clause.result]:<15} {clause.id}: {clause.words}")
            if clause.result != "holds":
                lines.append(f"{'':18}{clause.detail}")
            if clause.result == "broken":
                lines.append(f"{'':18}{clause.curl}")
    lines += ["", "Where the interface shows nothing"]
    lines += [f"  {name}: {_choice(finding)}" for name, finding in verdict.gaps.items()]
    if verdict.drift:
        lines += ["", "No longer as recorded", *(f"  {drift}" for drift in verdict.drift)]
    lines += ["", _summary(verdict)]
    if verdict.broken and not verdict.url.rstrip("/").endswith(BASE_PATH):
        lines.append(f"The interface's base address ends in {BASE_PATH}, and this one does not: is it the right one?")
    return "\n".join(lines) + "\n"


def _choice(finding: Finding) -> str:
    if finding.choice is not None:
        return f"{finding.choice} ({finding.evidence})"
    return f"not observable: {finding.evidence}" if finding.kind == "not_observable" else finding.evidence


def _summary(verdict: Verdict) -> str:
    results: Counter[str] = Counter(clause.result for clause in verdict.clauses)
    parts = [f"{results[result]} {words.lower()}" for result, words in _MARKS.items() if results[result]]
    if verdict.drift:
        parts.append(f"{len(verdict.drift)} drifted")
    text = f"{', '.join(parts)}; {counted(verdict.requests, 'request')}"
    if verdict.created:
        text += f", at most {counted(verdict.created, 'animal')} left behind"
    if verdict.stopped:
        text += f"; stopped: {verdict.stopped}"
    return text


def as_junit(verdict: Verdict) -> str:
    """Return the verdict as JUnit's XML: a test a clause and a drifted gap; what could not be checked is an error."""
    suite = ET.Element(
        "testsuite",
        name="petstore-mock verify",
        timestamp=verdict.began.replace("Z", ""),
        hostname=verdict.url,
    )
    cases = [("contract", clause.id, clause.result, f"{clause.words}: {clause.detail}") for clause in verdict.clauses]
    cases += [("drift", drift.gap, "broken", str(drift)) for drift in verdict.drift]
    tags: Counter[str] = Counter()
    for kind, name, result, detail in cases:
        case = ET.SubElement(suite, "testcase", classname=f"petstore.{kind}", name=name, time="0")
        tag = {"broken": "failure", "could_not_check": "error", "not_observable": "skipped"}.get(result)
        if tag is not None:
            tags[tag] += 1
            ET.SubElement(case, tag, message=detail)
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(tags["failure"]))
    suite.set("errors", str(tags["error"]))
    suite.set("skipped", str(tags["skipped"]))
    root = ET.Element("testsuites")
    root.append(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
