"""The verdict on a service, and its output as text, JSON and TOML."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from petstore_mock.common.masking import cut_middle
from petstore_mock.common.suggesting import readable
from petstore_mock.common.values import counted, without_none
from petstore_mock.interface.behaviour import Behaviour

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from petstore_mock.verify.evidence import Finding

Result = Literal["holds", "broken", "not_observable", "could_not_check"]

HOLDS: Final = 0
BROKEN: Final = 1
COULD_NOT_CHECK: Final = 3


@dataclass(frozen=True, slots=True)
class ClauseResult:
    """The result for one clause."""

    id: str  #: the id of the clause
    section: str  #: the section of the interface
    words: str  #: the sentence of the clause
    result: Result  #: ``holds``, ``broken``, ``not_observable`` or ``could_not_check``
    detail: str  #: the evidence, the breach, or the reason why the clause was not observed; keys are masked
    #: a shell line that repeats the request that broke the clause; it reads the key from ``$PETSTORE_KEY``
    curl: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """A gap for which the service no longer makes the recorded choice."""

    gap: str  #: the name of the gap
    expected: str  #: the recorded alternative
    came: str  #: the present choice with its evidence

    def __str__(self) -> str:
        return f"{self.gap}: expected {self.expected}, as recorded; got {self.came}"


@readable()
@dataclass(frozen=True)
class Verdict:
    """The result of a run."""

    url: str  #: the base address
    began: str  #: the start time in ISO 8601
    clauses: tuple[ClauseResult, ...]  #: the result for each clause, in the order of the interface
    gaps: Mapping[str, Finding]  #: the detected choice for each gap, by name
    drift: tuple[Drift, ...]  #: the gaps with another choice than recorded
    requests: int  #: the number of requests
    #: the id (None if no response showed it) and the name of each animal that the run created or may have created
    left: tuple[tuple[int | None, str], ...]
    stopped: str | None  #: why the run ended early; None if it did not, or if it reached a limit of the user
    notes: tuple[str, ...]  #: other observations that break no clause

    @property
    def created(self) -> int:
        """The number of animals that the run created or may have created."""
        return len(self.left)

    @property
    def broken(self) -> tuple[ClauseResult, ...]:
        """The results of the broken clauses."""
        return self.of_result("broken")

    def of_result(self, *results: Result) -> tuple[ClauseResult, ...]:
        """Return the clauses with one of the results, in the order of the interface."""
        return tuple(clause for clause in self.clauses if clause.result in results)

    @property
    def passed(self) -> bool:
        """Whether clauses were observed, none is broken, no gap drifted, and ``stopped`` is None."""
        return self.exit_code == HOLDS

    @property
    def exit_code(self) -> int:
        """0 if every observed clause holds, 1 on a broken clause or drift, 3 if the service could not be checked."""
        if self.broken or self.drift:
            return BROKEN
        was_checked = self.of_result("holds") and not self.of_result("could_not_check")
        if self.stopped or not was_checked:
            return COULD_NOT_CHECK
        return HOLDS

    def __str__(self) -> str:
        return as_text(self)

    @property
    def choices(self) -> dict[str, str]:
        """The learned gaps with their alternatives."""
        return without_none({name: finding.choice for name, finding in self.gaps.items()})

    @property
    def behaviour(self) -> Behaviour:
        """The choices as a ``Behaviour``. Other gaps keep their default."""
        return Behaviour().replace(self.choices)

    def to_toml(self) -> str:
        """Return a TOML file for ``behaviour=`` and ``serve --behaviour``: a line for each gap, with its evidence.

        It also lists what the fake can't play. It shows the shapes of responses, and no animal of the service.
        """
        lines = [f"# Learned from {self.url}, {self.began}: {len(self.choices)} of {len(self.gaps)} gaps."]
        if self.stopped:
            lines.append(f"# The run ended early: {self.stopped}")
        lines += ["", *(f'{name} = "{choice}"  # {self.gaps[name].evidence}' for name, choice in self.choices.items())]
        of_kind: dict[str, list[str]] = defaultdict(list)
        for finding in self.gaps.values():
            evidence = finding.evidence
            if finding.kind == "contradictory":
                evidence = f"inconsistent: {evidence}"
            of_kind[finding.kind].append(f"# {finding.gap}: {evidence}")
        unlike = [*of_kind["neither"], *(f"# clause {clause.id}: {clause.words}" for clause in self.broken)]
        if unlike:
            lines += ["", f"# {_CAN_NOT_PLAY}", *unlike]
        lines += ["", "# These gaps were not learned and keep their default:"]
        return "\n".join([*lines, *of_kind["contradictory"], *of_kind["not_observable"]]) + "\n"


_CAN_NOT_PLAY: Final = (
    "The fake can't play what follows: choices that no gap has, and broken clauses. Plan a fault for such a request,\n"
    "# or open an issue: https://petstore-mock.readthedocs.io/en/stable/how-to/verify.html shows how."
)


# Output

_MARGIN: Final = 16  # columns
_MOST_NAMES: Final = 8  # in a list
# A word of a shell command with its quotes. A header stands behind its option.
_SHELL_WORD: Final = re.compile(r"""(?:-H )?(?:[^\s'"]|'[^']*'|"[^"]*")+""")
_MOST_NAME: Final = 40  # characters of an animal's name; a run creates names of 256
# Chapters of the interface.
_MOST_SERIOUS_FIRST: Final = "54127"
# XML has no such characters (https://www.w3.org/TR/xml/#charsets).
_NOT_IN_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _Part(NamedTuple):
    """A part of the report: a mark in the margin, texts beside it, and perhaps a command for a shell."""

    mark: str
    texts: Sequence[str]
    command: str = ""

    def lines(self, columns: int, *, verbose: bool) -> Iterator[str]:
        """Yield lines that fit the columns. A whole command stays on one line."""
        width = columns - _MARGIN
        beside: list[str] = []
        for text in self.texts:
            beside += wrap(text, width, break_on_hyphens=False)
        if self.command:
            beside += [self.command] if verbose else _short_command(self.command, width)
        for mark, line in zip_longest([self.mark], beside, fillvalue=""):
            yield f"{mark:<{_MARGIN}}{line}"


def _short_command(command: str, width: int) -> list[str]:
    """Return a command on lines that a shell joins. Words that fit no line are cut in the middle."""
    # The blanks of a word are not the end of a line.
    words = [cut_middle(word, width - 5).replace(" ", "\0") for word in _SHELL_WORD.findall(command)]
    lines = wrap(" ".join(words), width - 2, break_long_words=False, break_on_hyphens=False)
    return " \\\n".join(lines).replace("\0", " ").split("\n")


def as_text(verdict: Verdict, *, verbose: bool = False, columns: int = 100) -> str:
    """Return the findings, most serious first, then a summary.

    ``verbose`` adds the clauses that hold, and the gaps, and shortens nothing.
    """
    lines = [f"{verdict.url}, {verdict.began}"]
    for part in _parts(verdict, verbose=verbose):
        lines += part.lines(columns, verbose=verbose)
    lines += wrap(_summary(verdict), columns)
    return "\n".join(lines) + "\n"


def _parts(verdict: Verdict, *, verbose: bool) -> Iterator[_Part]:
    for clause in sorted(verdict.broken, key=lambda clause: _MOST_SERIOUS_FIRST.index(clause.section[0])):
        yield _Part("BROKEN", [f"{clause.id}: {clause.words}", clause.detail], clause.curl)
    for drift in verdict.drift:
        yield _Part("DRIFT", [str(drift)])
    for note in verdict.notes:
        yield _Part("note", [note])
    yield from _unseen(verdict, verbose=verbose)
    if verbose:
        for clause in verdict.of_result("holds"):
            yield _Part("holds", [f"{clause.id}: {clause.words}"])
        for name, finding in verdict.gaps.items():
            yield _Part("gap", [f"{name}: {finding.evidence}"])
    if verdict.left:
        animals = [f"{cut_middle(name, _MOST_NAME)} (id {pet_id or 'lost'})" for pet_id, name in verdict.left]
        words = f"at most {counted(verdict.created, 'animal')}: {_some(animals, verbose=verbose)}"
        yield _Part("left behind", [words])


def _some(names: Sequence[str], *, verbose: bool) -> str:
    """Return names; only the first ones unless ``verbose``."""
    further = len(names) - _MOST_NAMES
    if verbose or further < 2:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMES])}, and {further} more (--verbose)"


def _unseen(verdict: Verdict, *, verbose: bool) -> Iterator[_Part]:
    """Yield the clauses that were not observed, by reason."""
    by_reason: dict[tuple[str, str], list[str]] = defaultdict(list)
    for clause in verdict.of_result("could_not_check", "not_observable"):
        # The summary says why the run ended.
        if clause.detail != verdict.stopped:
            by_reason[clause.result.replace("_", " "), clause.detail].append(clause.id)
    for (result, reason), names in by_reason.items():
        yield _Part(result, [_some(names, verbose=verbose), reason])


def _summary(verdict: Verdict) -> str:
    counts = Counter(clause.result.replace("_", " ") for clause in verdict.clauses)
    counts["drifted"] = len(verdict.drift)
    results = ", ".join(f"{words}: {count}" for words, count in counts.items() if count)
    summary = f"{results}; {counted(verdict.requests, 'request')}"
    if verdict.stopped:
        summary += f"; stopped: {verdict.stopped}"
    return summary


def json_text(verdict: Verdict) -> str:
    """Return the verdict as JSON."""
    left = [{"id": pet_id, "name": name} for pet_id, name in verdict.left]
    further = {"date": verdict.began, "exit_code": verdict.exit_code, "created": verdict.created, "left": left}
    return json.dumps({**asdict(verdict), **further}, indent=2, ensure_ascii=False) + "\n"


# In JUnit XML, the element of a result that is no success.
_ELEMENTS: Final = {"broken": "failure", "not_observable": "skipped", "could_not_check": "error"}


def junit_text(verdict: Verdict) -> str:
    """Return the verdict as JUnit XML: a case for each clause, and one for each gap that drifted."""
    root = Element("testsuites")
    suite = SubElement(root, "testsuite", name="petstore-mock verify", timestamp=verdict.began)
    counts = {
        "tests": len(verdict.clauses) + len(verdict.drift),
        "failures": len(verdict.broken) + len(verdict.drift),
        "errors": len(verdict.of_result("could_not_check")),
        "skipped": len(verdict.of_result("not_observable")),
    }
    for name, count in counts.items():
        suite.set(name, str(count))
    SubElement(SubElement(suite, "properties"), "property", name="url", value=verdict.url)
    for clause in verdict.clauses:
        case = SubElement(suite, "testcase", classname=f"§{clause.section}", name=f"{clause.id}: {clause.words}")
        element = _ELEMENTS.get(clause.result)
        if element is not None:
            SubElement(case, element, message=clause.detail).text = f"{clause.detail}\n{clause.curl}".rstrip()
    for drift in verdict.drift:
        case = SubElement(suite, "testcase", classname="gaps", name=drift.gap)
        SubElement(case, "failure", message=str(drift)).text = drift.came
    indent(root)
    text = _NOT_IN_XML.sub("\ufffd", tostring(root, encoding="unicode"))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'
