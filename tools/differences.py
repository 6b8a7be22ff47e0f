"""Differences between what two trees say about the same request: found, grouped, and printed.

Left out is what is drawn: some ids and orders, by the gaps in force. Sentences are not compared; each pair of sentences
is listed once, by rule, with quoted values and numbers taken out. ``decided.toml`` lists what differs on purpose.
"""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tools.drawing import PETS, decoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_DECIDED: Final = Path(__file__).with_name("decided.toml")
_SENTENCES: Final = frozenset({"message", "words", "detail", "reason", "title", "raised", "text"})
_VALUE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[0-9]+(?:\.[0-9]+)?')
_MILLISECONDS: Final = re.compile(r"[0-9.]+ ms")
_ID: Final = re.compile(r'"id":(\s*)([0-9]+)')
_SEEDED: Final = frozenset(str(pet["id"]) for pet in PETS)
_DRAWN_IDS: Final = frozenset({"sparse", "random_int64"})
_MESSAGE: Final = re.compile(r'("(?:message|detail|title)":\s*)"(?:[^"\\]|\\.)*"')
_TIMED: Final = frozenset(
    {"duration_ms", "milliseconds", "connection", "uptime", "version", "time", "timings", "startedDateTime"}
)
_NOW: Final = 600  # seconds; the clock of the fake stands elsewhere
_RULES: Final = ("rule", "call", "condition")  # members that say by which rule, or by what, the rest came about
_SEVERAL: Final = 2
_SHOWN: Final = 300  # characters of a value


class Found(NamedTuple):
    """One value that differs: where, under which rule, and both values."""

    what: str
    rule: str
    old: object
    new: object


def comparable(response: Mapping[str, Any], gaps: Mapping[str, str], method: str = "") -> dict[str, Any]:
    """Return a response without what is drawn, and without what follows from the length of a sentence.

    ``body`` becomes ``{"json": the value, "form": the text without sentences}``, or stays what it is.
    """
    result = dict(response)
    if "body" not in result:
        return result
    body = decoded(result["body"])
    headers: dict[str, list[str]] = {}
    for name, value in result["headers"]:
        headers.setdefault(name, []).append(value)
    for name, values in headers.items():
        if name.lower() == "content-length" and (values == [str(len(body))] or method == "HEAD"):
            headers[name] = ["as the body"]
        elif name.lower() == "location" and gaps.get("id_assignment") in _DRAWN_IDS:
            headers[name] = ["drawn"]
        elif name == "Date" and abs(parsedate_to_datetime(values[0]).timestamp() - time.time()) < _NOW:
            headers[name] = ["now"]
    result.pop("code", None)  # the body has it
    return {**result, "headers": headers, "body": comparable_body(body, gaps)}


def comparable_body(body: bytes, gaps: Mapping[str, str]) -> object:
    """Return a body without what is drawn: as JSON if it is that, else as text."""
    try:
        text = body.decode()
        if gaps.get("id_assignment") in _DRAWN_IDS:
            text = _ID.sub(lambda m: m[0] if m[2] in _SEEDED else f'"id":{m[1]}"drawn"', text)
        value = json.loads(text)
    except (ValueError, RecursionError):
        return body.decode("latin-1")
    if gaps.get("list_order", "").startswith("arbitrary") and isinstance(value, list):
        return {"animals": len(value)}
    if gaps.get("json_style") == "shuffled_members" or untimed(value) != value:
        return {"json": untimed(value)}
    return {"json": value, "form": _MESSAGE.sub(r"\1", text)}


def untimed(value: Any) -> Any:  # noqa: ANN401  # a JSON value
    """Return a JSON value without durations, milliseconds of the clock, and the numbers of connections."""
    if isinstance(value, dict):
        kept = {name: untimed(member) for name, member in value.items() if name not in _TIMED}
        return {**kept, "now": kept["now"][:19]} if isinstance(kept.get("now"), str) else kept
    return [untimed(item) for item in value] if isinstance(value, list) else value


def differences(old: object, new: object, what: str = "", rule: str = "") -> Iterator[Found]:
    """Yield each value in which two JSON values differ; ``rule`` is that of the innermost object that names one."""
    if isinstance(old, dict) and isinstance(new, dict):
        rule = next((str(one[name]) for name in _RULES for one in (old, new) if one.get(name)), rule)
        for name in dict.fromkeys([*old, *new]):
            yield from differences(old.get(name), new.get(name), f"{what}.{name}" if what else name, rule)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            yield from differences(one, other, f"{what}[]", rule)
    elif old != new or type(old) is not type(new):  # True equals 1, and 1.0 does too
        yield Found(what, rule, old, new)


@dataclass
class Group:
    """Differences of one kind: how many, under which behaviours, and the first of them."""

    example: str
    count: int = 0
    behaviours: set[str] = field(default_factory=set)


@dataclass
class Report:
    """All differences of a comparison, by what differs and the rule."""

    sent: int = 0
    differing: int = 0
    missing: int = 0  # requests that could be sent to one of the two only
    requests: int = 0  # in all scenarios, where these are counted
    groups: dict[tuple[str, str], Group] = field(default_factory=dict)
    decided: Counter[str] = field(default_factory=Counter)
    sentences: dict[tuple[str, str, str], str] = field(default_factory=dict)
    reasons: list[dict[str, str | list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reasons = tomllib.loads(_DECIDED.read_text(encoding="utf-8")).get("decided", [])

    def add(self, old: object, new: object, gaps: Mapping[str, str], about: str) -> None:
        """Take the results of one request into account; ``about`` identifies it to a reader."""
        self.sent += 1
        gap = ", ".join(f"{name}={value}" for name, value in gaps.items())
        left = False
        all_found = list(differences(old, new, rule=_rule_of(old) or _rule_of(new)))
        for found in all_found:
            if (
                found.what.rpartition(".")[2] in _SENTENCES
                and isinstance(found.old, str)
                and isinstance(found.new, str)
            ):
                if _MILLISECONDS.sub("", found.old) == _MILLISECONDS.sub("", found.new):
                    continue
                pair = (found.rule, _VALUE.sub("…", found.old), _VALUE.sub("…", found.new))
                self.sentences.setdefault(pair, f"{_shown(found.old)}\n        -> {_shown(found.new)}")
            elif reason := self._reason(found, gap, about):
                self.decided[reason] += 1
            elif not (found.what.endswith("body.form") and _is_of_value(all_found)):
                left = True
                example = f"{about}\n        {_shown(found.old)} -> {_shown(found.new)}"
                group = self.groups.setdefault((found.what, found.rule), Group(example))
                group.count += 1
                group.behaviours.add(gap if len(gaps) < _SEVERAL else "several gaps")
        self.differing += left

    def _reason(self, found: Found, gap: str, about: str) -> str:
        values = {"old": _shown(found.old), "new": _shown(found.new)}
        facts = {"what": found.what, "rule": found.rule, "gap": gap, "about": about, **values}
        for row in self.reasons:
            patterns = {name: one if isinstance(one, list) else [one] for name, one in row.items() if name != "reason"}
            if all(any(fnmatchcase(facts[name], one) for one in several) for name, several in patterns.items()):
                return str(row["reason"])
        return ""

    def show(self, *, sentences: bool) -> int:
        """Print the report, the most frequent group first; return an exit status."""
        sent = f"{self.requests} requests in {self.sent} scenarios" if self.requests else f"{self.sent} requests"
        print(f"{sent}, {self.differing} with a difference that is not decided")
        if self.missing:
            print(f"{self.missing} requests are in one of the two only, or under a gap that one of them does not have")
        for reason, count in self.decided.most_common():
            print(f"  {count:5} decided: {reason}")
        for (what, rule), group in sorted(self.groups.items(), key=lambda item: -item[1].count):
            under = "" if "" in group.behaviours else f", only under {', '.join(sorted(group.behaviours)[:4])}"
            print(f"  {group.count:5} {what}{f', rule {rule}' if rule else ''}{under}\n        {group.example}")
        print(f"{len(self.sentences)} pairs of sentences differ{'' if sentences else '; --sentences lists them'}")
        for (rule, _, _), example in sorted(self.sentences.items()) if sentences else ():
            print(f"  {rule or '-'}\n        {example}")
        return 1 if self.differing else 0


def _is_of_value(all_found: Sequence[Found]) -> bool:
    """Say whether a body differs in its value, and not in its form alone."""
    return any("body.json" in found.what for found in all_found)


def _rule_of(result: object) -> str:
    """Return the first rule, or the condition, by which a request was refused."""
    decision = result.get("decision") if isinstance(result, dict) else None
    if not isinstance(decision, dict):
        return ""
    rules = [str(one.get("rule", "")) for one in decision.get("violations", [])]
    return (rules or [str(decision.get("condition") or "")])[0]


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
