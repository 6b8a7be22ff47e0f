"""The explanation of a failure: one sentence, the steps as a test to paste, and what went over the wire."""

from __future__ import annotations

import itertools
import re
import traceback
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.masking import mask_text
from petstore_mock.contract.gaps import GAPS
from petstore_mock.journal.rendering import render_journal
from petstore_mock.stateful.model.call import literal
from petstore_mock.stateful.model.error_classification import classify_exception

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from petstore_mock.contract.behaviour import Behaviour
    from petstore_mock.faults import Fault
    from petstore_mock.journal.entry import Entry
    from petstore_mock.stateful.model.call import Call, Outcome, Problem

__all__ = ["ClientBugError", "Script", "explain", "fault_code"]

_INDENT: Final = "    "
_HERE: Final = __file__.rpartition("stateful")[0]  # the package, whose frames say nothing of the client
_REQUESTS: Final = 15  # that are shown
_ODD_KEY: Final = "Aa-._~+/key-of-a-test-{}=="
_ODD_KEYS_MATTER: Final = (
    "It happens only with a key of all that a key may consist of: letters of both cases, digits and -._~+/, with = at "
    "its end (RFC 6750 §2.1)."
)
_FRAMES: Final = 3  # of a traceback: the line that raised, and what led there
_FRAMES_OF_A_WAIT: Final = 8  # a library's pool has some of its own around its lock


class ClientBugError(AssertionError):
    """A client did what the interface does not allow, or relied on what it does not say.

    Attributes:
        sentence: what it did, against which section.
        test: the steps as the source of a test that fails.
        wire: what went over the wire.
        raised: where in the client an exception came from that nobody can tell, or where it waited for ever; as text,
            since the exception itself may hold connections open.
    """

    __module__ = "petstore_mock.stateful"  # where people find it

    def __init__(self, sentence: str, test: str, wire: str, raised: str = "", *, waited: bool = False) -> None:
        where = f"\n\n{'Waited' if waited else 'Raised'} in the client:\n\n{raised}" if raised else ""
        super().__init__(f"{sentence}\n\nAs a test:\n\n{test}\nOn the wire:\n\n{wire}{where}")
        self.sentence = sentence
        self.test = test
        self.wire = wire
        self.raised = raised
        self._waited = waited

    def not_always(self, error: BaseException) -> ClientBugError:
        """Return the same for a failure that did not come again when its steps were repeated."""
        words = (
            "\nIt did not come again when the steps were repeated: the client keeps something from one client to the "
            "next (a cache or a session of its class or module), or the machine was too busy for its timeouts."
        )
        told = ClientBugError(self.sentence + words, self.test, self.wire, self.raised, waited=self._waited)
        told.__cause__ = error
        return told


@dataclass
class _Line:
    """One step: code that stands as it is, or a call by a client of that name, whose result may be wanted later."""

    step: str | tuple[str, Call]
    raises: bool = False
    result: str | None = None
    kept: bool = False

    @property
    def code(self) -> str:
        """The step as a line of the test."""
        if isinstance(self.step, str):
            return self.step
        actor, call = self.step
        return f"{actor}.{call.code()}"

    def lines(self) -> list[str]:
        if self.raises and self.result is None:  # as it may: that it raised is not what the test is about
            return ["with contextlib.suppress(Exception):", f"{_INDENT}{self.code}"]
        lines = [f"{self.result} = {self.code}" if self.result is not None else self.code]
        if self.kept:
            lines.append(f"kept = copy.deepcopy({self.result})")
        return lines


class Script:
    """The steps of an example, as the code of a test.

    Args:
        odd_keys: whether its keys are of every kind of character that may be in one.
    """

    def __init__(self, *, odd_keys: bool = False) -> None:
        self.odd_keys = odd_keys
        self._lines: list[_Line] = []
        self._others = False
        self._elsewhere = False
        self._threads = False
        self._results = 0
        self.course = 0  # tells the course so far from another: two examples of the same course do the same

    def __str__(self) -> str:
        return "\n".join(line.code for line in self._lines)

    def add(self, code: str) -> None:
        """Add a step."""
        self._lines.append(_Line(code))
        self.course = hash((self.course, code))

    def add_call(self, actor: str, call: Call, *, raises: bool) -> int:
        """Add a call of a client; return its place, for :meth:`name_result`."""
        self._lines.append(_Line((actor, call), raises))  # most are never read: only a bug shows them
        self.course = hash((self.course, actor, call.operation, repr(call.arguments)))
        return len(self._lines) - 1

    def name_result(self, place: int) -> str:
        """Have the result of a call kept under a name, and return it."""
        line = self._lines[place]
        if line.result is None:
            self._results += 1
            line.result = "result" if self._results == 1 else f"result_{self._results}"
        return line.result

    def keep_result(self, place: int) -> str:
        """Have the result of a call copied as ``kept``; return its name."""
        name = self.name_result(place)
        self._lines[place].kept = True
        return name

    def with_other(self) -> None:
        """Have a second, independent world with a client of its own."""
        self._others = True

    def with_elsewhere(self) -> None:
        """Have another service to be redirected to."""
        self._elsewhere = True

    def with_threads(self) -> None:
        """Have the threads counted before there is a client."""
        self._threads = True

    def source(self, check: Iterable[str], behaviour: Behaviour, given: Mapping[str, Callable[..., Any]]) -> str:
        """Return the test: the steps so far, then ``check``.

        Args:
            check: the lines that fail.
            behaviour: what the service does where the interface shows nothing.
            given: ``make_client`` and ``classify``.
        """
        gaps = ", ".join(f"{name}={value!r}" for name, value in behaviour.differences().items())
        options = [f"api_key={_ODD_KEY.format(1)!r}"] if self.odd_keys else []
        options += [f"behaviour=Behaviour({gaps})"] if gaps else []
        opened = [f"PetStoreMock({', '.join(options)}) as petstore"]
        if self._elsewhere:
            opened.append("PetStoreMock() as elsewhere")
        clients = ["client = make_client(petstore)"]
        if self._others:
            key = f"api_key={_ODD_KEY.format(2)!r}" if self.odd_keys else ""
            opened.append(f"petstore.fresh({key}) as other")
            clients.append("other_client = make_client(other)")
        if self._threads:
            clients.insert(0, "threads = threading.active_count()")
        body = [*clients, *_written(self._lines), *check]
        lines = [
            *_imports("\n".join([*opened, *body]), given),
            "",
            "",
            "def test_client() -> None:",
            f"{_INDENT}with {', '.join(opened)}:",
            *(f"{_INDENT * 2}{line}".rstrip() for line in body),
        ]
        return "".join(f"{line}\n" for line in lines)


def _written(steps: Iterable[_Line]) -> Iterator[str]:
    """Yield the lines of steps; a step that is repeated stands in a loop."""
    for lines, same in itertools.groupby(step.lines() for step in steps):
        count = len(list(same))
        if count == 1:
            yield from lines
        else:
            yield f"for _ in range({count}):"
            yield from (f"{_INDENT}{line}" for line in lines)


def _imports(code: str, given: Mapping[str, Callable[..., Any]]) -> list[str]:
    def used(names: Iterable[str]) -> list[str]:
        return [name for name in names if re.search(rf"\b{name}\b", code)]

    lines = [f"import {name}" for name in used(_MODULES)]
    if lines:
        lines.append("")
    lines.append(f"from petstore_mock import {', '.join(used(['Behaviour', 'PetStoreMock', 'faults']))}")
    brought = [_import(name, given[name]) for name in used(given)]
    known = [line for line in brought if line.startswith("from petstore_mock.")]
    return [*lines, *known, "", *(line for line in brought if line not in known)]


def _import(name: str, function: Callable[..., Any]) -> str:
    """Return the line that brings what the machine was given, or says so."""
    own, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "") or ""
    if function is classify_exception:
        module = "petstore_mock.stateful"  # where people find it
    if own.isidentifier() and module and module != "__main__":
        return f"from {module} import {own}{'' if own == name else f' as {name}'}"
    return f"# {name} is what was given to the machine{_MEANINGS[name]}."


_MODULES: Final = ("contextlib", "copy", "gc", "logging", "threading", "time", "traceback", "unittest")
_MEANINGS: Final = {
    "make_client": ": it makes the client of a mock",
    "classify": ": it says what an exception means",
}


def fault_code(fault: Fault) -> str:
    """Return the code that makes a fault."""
    if fault.parts:
        return f"faults.sequence({', '.join(map(fault_code, fault.parts))})"
    fields = dict(fault.fields)
    match fault.kind:
        case "server_error":
            arguments = str(fault.status)
        case "rate_limited":
            after = fields.get("Retry-After")
            if after is not None and not after.isdecimal():
                after = repr(f"{parsedate_to_datetime(after):%Y-%m-%dT%H:%M:%SZ}")
            arguments = str(after)
        case "respond":
            body = "" if fault.body is None else f", body={fault.body!r}"
            headers = "" if not fields else f", headers={fields!r}"
            arguments = f"{fault.status}{body}{headers}"
        case "delay" if fault.delay is not None:
            low, high = fault.delay
            arguments = f"{low:g}" if low == high else f"({low:g}, {high:g})"
        case "truncate" | "dribble" if fault.delivery is not None:
            arguments = f"{fault.delivery.value:g}" if fault.kind == "truncate" else str(int(fault.delivery.value))
        case _:
            arguments = ""
    return f"faults.{fault.kind}({arguments})"


def explain(  # what an explanation is made of
    problem: Problem,
    script: Script,
    *,
    actor: str,
    petstore: str,
    call: Call,
    outcome: Outcome,
    behaviour: Behaviour,
    journals: Mapping[str, Sequence[Entry]],
    make_client: Callable[..., Any],
    classify: Callable[..., Any],
) -> ClientBugError:
    """Make the error that tells of a problem.

    Args:
        problem: what is wrong.
        script: the steps before the call.
        actor: the name of the client in the test.
        petstore: the name of its mock there.
        call: the call that failed.
        outcome: what came of it.
        behaviour: what the service did where the interface shows nothing.
        journals: the requests of the example, by the names of the mocks that got them.
        make_client: what made the client.
        classify: what said what its exceptions mean.
    """
    names = {"call": f"{actor}.{call.code()}", "client": actor, "journal": f"{petstore}.journal", "petstore": petstore}
    check = [_filled(line, names) for line in problem.check]
    where = problem.section if problem.section.startswith("RFC") else f"§{problem.section}"
    words = f": {problem.words}" if problem.words else ""
    sentence = f"{problem.sentence} ({where}{words})."
    sentence += _silences(behaviour.differences())
    if script.odd_keys:
        sentence += f"\n{_ODD_KEYS_MATTER}"
    test = script.source(check, behaviour, {"make_client": make_client, "classify": classify})
    return ClientBugError(sentence, test, _wire(journals), _raised(outcome), waited=outcome.stood_still)


def _wire(journals: Mapping[str, Sequence[Entry]]) -> str:
    """Return the journals that hold something, with their names when that is not the first alone."""
    first = next(iter(journals))
    told = {name: _end_of(entries) for name, entries in journals.items() if entries or name == first}
    return told[first] if len(told) == 1 else "\n\n".join(f"{name}:\n{text}" for name, text in told.items())


def _end_of(entries: Sequence[Entry]) -> str:
    """Return a journal; of a client that asks again and again the end is enough."""
    hidden = len(entries) - _REQUESTS
    return (
        f"... {hidden} earlier requests\n{render_journal(entries[hidden:])}" if hidden > 1 else render_journal(entries)
    )


def _raised(outcome: Outcome) -> str:
    """Return the end of the traceback of an exception that says neither a status nor what went wrong.

    Of a call that stood still it is where it was ended, without our own exception.
    """
    if outcome.error is None or outcome.kind is not None or outcome.ran_away:
        return ""
    told = traceback.TracebackException.from_exception(outcome.error)
    own = [frame for frame in told.stack if not frame.filename.startswith(_HERE)]
    shown = _FRAMES_OF_A_WAIT if outcome.stood_still else _FRAMES
    told.stack = traceback.StackSummary.from_list(own[-shown:])
    lines = told.stack.format() if outcome.stood_still else told.format(chain=False)
    return mask_text("".join(lines).rstrip())


def _filled(line: str, names: Mapping[str, str]) -> str:
    """Put the call and the journal in their places; other braces of the line are Python's."""
    for name, value in names.items():
        line = line.replace(f"{{{name}}}", value)
    return line


def _silences(differences: Mapping[str, str]) -> str:
    """Say which silences of the interface matter: those that shrinking could not take away."""
    if not differences:
        return ""
    if len(differences) == 1:
        ((name, value),) = differences.items()
        gap = GAPS[name]
        return (
            f"\nIt happens only with {name}={value!r}: the client leans on a silence of the interface "
            f"(§{gap.section}: {gap.sentence.rstrip('.')}). A client must not assume {gap.lesson}."
        )
    listed = ", ".join(f"{name}={value!r}" for name, value in differences.items())
    return f"\nIt happens only with {listed}: the client leans on these silences of the interface."


def seed_code(animal: Mapping[str, Any]) -> str:
    """Return the arguments that seed an animal."""
    return ", ".join(f"{name}={literal(value)}" for name, value in animal.items())
