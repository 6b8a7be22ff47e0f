"""The explanation of a failure: one sentence, the steps as a test to paste, and what went over the wire."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

import hypothesis

from petstore_mock.common.masking import mask_text
from petstore_mock.contract.gaps import GAPS
from petstore_mock.journal.rendering import render_journal
from petstore_mock.stateful import steps as steps_module
from petstore_mock.stateful.model.call import NO_CALL, Outcome
from petstore_mock.stateful.surroundings import ENVIRONMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from petstore_mock.journal.entry import Entry
    from petstore_mock.stateful.model.call import Call, Problem
    from petstore_mock.stateful.scenario import Scenario
    from petstore_mock.stateful.script import Script

__all__ = ["ClientBugError", "explain", "explain_outside", "explain_rule"]

# Ours and Hypothesis's, whose frames say nothing of the client.
_LEFT_OUT: Final = (__file__.rpartition("stateful")[0], hypothesis.__file__.rpartition("__init__")[0])
_REQUESTS: Final = 15  # that are shown
_ODD_KEYS_MATTER: Final = (
    "It happens only with a key of all that a key may consist of: letters of both cases, digits and -._~+/, with = at "
    "its end (RFC 6750 §2.1)."
)
_ZONE_MATTERS: Final = (
    "It happens only in another time zone than UTC, in which all dates of HTTP are (RFC 9110 §5.6.7)."
)
_CLOCKS_MATTER: Final = (
    "It happens only where the service's clock shows another time than the client's: the dates in its answers, Date "
    "among them, are by its own (RFC 9110 §6.6.1)."
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
        waited: whether the client was ended where it waited for ever.
        timed_out: whether a time limit of its own ended the call.
        scenario: what happened, as the machine can play it again; None for what a client did before any step.
    """

    sentence: str
    test: str
    wire: str
    raised: str
    waited: bool
    timed_out: bool = False
    scenario: Scenario | None = None
    __module__ = "petstore_mock.stateful"  # where people find it

    def __init__(self, sentence: str, test: str, wire: str, raised: str = "", *, waited: bool = False) -> None:
        where = f"\n\n{'Waited' if waited else 'Raised'} in the client:\n\n{raised}" if raised else ""
        super().__init__(f"{sentence}\n\nAs a test:\n\n{test}\nOn the wire:\n\n{wire}{where}")
        self.sentence = sentence
        self.test = test
        self.wire = wire
        self.raised = raised
        self.waited = waited

    def not_always(self, error: BaseException) -> ClientBugError:
        """Return the same for a failure that did not come again when its steps were repeated."""
        words = (
            "\nIt did not come again when the steps were repeated: the client keeps something from one client to the "
            "next (a cache or a session of its class or module), or the machine was too busy for its timeouts."
        )
        told = self._with(self.sentence + words)
        told.__cause__ = error
        return told

    def not_each_time(self) -> ClientBugError:
        """Return the same for a failure of two calls at once that did not come again each time.

        No gap is blamed for it: that it did not fail without one may have been luck.
        """
        first, _, _ = self.sentence.partition("\n")
        return self._with(
            f"{first}\nIt may not come again each time: the operating system has a say in which of two calls goes on "
            "first. Run the test a few times."
        )

    def _with(self, sentence: str) -> ClientBugError:
        told = ClientBugError(sentence, self.test, self.wire, self.raised, waited=self.waited)
        told.timed_out, told.scenario = self.timed_out, self.scenario
        return told


def explain(  # what an explanation is made of
    problem: Problem,
    script: Script,
    *,
    actor: str,
    petstore: str,
    call: Call,
    outcome: Outcome,
    journals: Mapping[str, Sequence[Entry]],
) -> ClientBugError:
    """Make the error that tells of a problem.

    Args:
        problem: what is wrong.
        script: the steps before the call.
        actor: the name of the client in the test.
        petstore: the name of its mock there.
        call: the call that failed.
        outcome: what came of it.
        journals: the requests of the example, by the names of the mocks that got them.
    """
    names = {"call": f"{actor}.{call.code()}", "client": actor, "journal": f"{petstore}.journal", "petstore": petstore}
    check = [_filled(line, names) for line in problem.check]
    where = problem.section if problem.section.startswith("RFC") else f"§{problem.section}"
    words = f": {problem.words}" if problem.words else ""
    sentence = f"{problem.sentence} ({where}{words})."
    beginning = script.beginning
    sentence += _assumed(beginning.behaviour.differences())
    if beginning.odd_keys:
        sentence += f"\n{_ODD_KEYS_MATTER}"
    if beginning.time_zone is not None:
        sentence += f"\n{_ZONE_MATTERS}"
    if beginning.environment is not None:
        sentence += f"\n{ENVIRONMENTS[beginning.environment]}"
    if beginning.hours_ahead:
        sentence += f"\n{_CLOCKS_MATTER}"
    bug = ClientBugError(
        sentence, script.source(check), _wire(journals), _raised(outcome), waited=outcome.ended == "stood still"
    )
    bug.timed_out = outcome.error is not None and outcome.kind == "timeout"
    return bug


def explain_outside(
    problem: Problem,
    script: Script,
    outcome: Outcome,
    journal: Iterable[Entry],
    *,
    actor: str = "client",
    petstore: str = "petstore",
) -> ClientBugError:
    """Explain a bug that shows outside of any call; see :func:`explain`."""
    journals = {petstore: list(journal)}
    return explain(problem, script, actor=actor, petstore=petstore, call=NO_CALL, outcome=outcome, journals=journals)


def explain_rule(error: Exception, machine: type, journals: Mapping[str, Sequence[Entry]]) -> ClientBugError:
    """Make the error that tells of what a rule or an invariant of a subclass raised.

    Args:
        error: what it raised, with Hypothesis's account of the steps.
        machine: the subclass.
        journals: as for :func:`explain`.
    """
    notes, error.__notes__ = getattr(error, "__notes__", ()), []
    told = [line for note in notes for line in note.splitlines()]
    first = next((place for place, line in enumerate(told) if line.startswith("state = ")), len(told))
    last = next((place for place, line in enumerate(told) if line.startswith("state.teardown")), len(told))
    steps = told[first : last + 1]
    own = machine.__qualname__
    imported = f"from {machine.__module__} import {own}" if own.isidentifier() else f"# {own} is the machine."
    code = "\n".join(steps)
    names = [name for name in steps_module.__all__ if f"{name}(" in code]
    ours = [name for name in ("Behaviour", "faults") if f"{name}{'(' if name == 'Behaviour' else '.'}" in code]
    lines = [
        *([f"from petstore_mock import {', '.join(ours)}"] if ours else []),
        *(["from petstore_mock.stateful.scenario import Restrictions"] if "Restrictions(" in code else []),
        *([f"from petstore_mock.stateful.steps import {', '.join(names)}"] if names else []),
        "",
        imported,
        "",
        "",
        "def test_client() -> None:",
        f"    with {own}.run:",
        *(f"        {line}" for line in _closing(steps)),
    ]
    sentence = error.sentence if isinstance(error, ClientBugError) else f"{own} found: {Outcome(error=error)}."
    raised = "" if isinstance(error, ClientBugError) else _raised(Outcome(error=error))
    test = "".join(f"{line}\n" for line in lines)
    return ClientBugError(sentence, test, _wire(journals) if journals else "", raised)


def _closing(steps: list[str]) -> list[str]:
    """Return the steps of a machine's test so that its mock closes even when one of them fails, as it is to do."""
    if len(steps) < 3 or not steps[-1].startswith("state.teardown"):  # nothing between the two ends
        return steps
    first, *between, last = steps
    return [first, "try:", *(f"    {line}" for line in between), "finally:", f"    {last}"]


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
    if outcome.error is None or outcome.kind is not None or outcome.ended == "ran away":
        return ""
    told = traceback.TracebackException.from_exception(outcome.error)
    own = [frame for frame in told.stack if not frame.filename.startswith(_LEFT_OUT)]
    stood_still = outcome.ended == "stood still"
    shown = _FRAMES_OF_A_WAIT if stood_still else _FRAMES
    told.stack = traceback.StackSummary.from_list(own[-shown:])
    lines = told.stack.format() if stood_still else told.format(chain=False)
    return mask_text("".join(lines).rstrip())


def _filled(line: str, names: Mapping[str, str]) -> str:
    """Put the call and the journal in their places; other braces of the line are Python's."""
    for name, value in names.items():
        line = line.replace(f"{{{name}}}", value)
    return line


def _assumed(differences: Mapping[str, str]) -> str:
    """Say what the client assumes where the interface shows nothing: what shrinking could not take away."""
    if not differences:
        return ""
    if len(differences) == 1:
        ((name, value),) = differences.items()
        gap = GAPS[name]
        return (
            f"\nIt happens only with {name}={value!r}: the client assumes what the interface leaves open "
            f"(§{gap.section}: {gap.sentence.rstrip('.')}). A client must not assume {gap.lesson}."
        )
    listed = ", ".join(f"{name}={value!r}" for name, value in differences.items())
    return f"\nIt happens only with {listed}: the client assumes what the interface leaves open."
