"""Two calls at once: which requests are of which, and how a problem of one is told.

The journal says in which order the service took the requests, and so which answer is whose: each call is checked by its
own, whatever order it was.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.stateful.checks.outcome import observe
from petstore_mock.stateful.checks.requests import asks_for, wire_problem
from petstore_mock.stateful.model.call import QUIETLY, Problem, literal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from petstore_mock.journal.entry import Entry
    from petstore_mock.stateful.model.actor import Actor
    from petstore_mock.stateful.model.call import Call, Outcome
    from petstore_mock.stateful.model.oracle import Oracle

__all__ = ["EACH_WAITS", "at_once_code", "observe_both", "told_of_two", "wire_problem_of_one"]

EACH_WAITS: Final = "each waits for what the other has: locks are taken in the same order everywhere"
_WIDTH: Final = 100  # characters of a line


def wire_problem_of_one(
    call: Call, other: Call, outcome: Outcome, entries: Sequence[Entry], actor: Actor
) -> Problem | None:
    """Return the first rule that the requests of one call break; what neither asked for may be of either.

    Args:
        call: the call.
        other: what was asked of the client meanwhile.
        outcome: what came of the call.
        entries: the requests of both.
        actor: the client.
    """
    own = [entry for entry in entries if asks_for(call, entry)]
    either = [entry for entry in entries if entry in own or not asks_for(other, entry)]
    if entries and not either:
        return _sent_for_the_other(call, entries)
    return wire_problem(call, outcome, either, actor, shared=len(own) < len(either))


def _sent_for_the_other(call: Call, entries: Sequence[Entry]) -> Problem:
    """Return what is wrong when only what the other call asked for has arrived."""
    sent = ", ".join(f"{entry.method} {entry.target[:80]}" for entry in entries)
    check = (
        "before = len({journal})",
        *QUIETLY,
        "assert len({journal}) > before, 'its own request was not sent'",
    )
    words = "every call asks the service for what its own caller asked"
    return Problem(f"{call} sent no request of its own: {sent} came", OPERATIONS[call.operation].section, words, check)


def observe_both(
    calls: Sequence[Call], outcomes: Sequence[Outcome], entries: Sequence[Entry], oracle: Oracle
) -> dict[int, Any]:
    """Let the oracle see what the requests of both calls were answered, in the order in which the service took them.

    Raises:
        Contradiction: the fake answered what no possible world explains.
    """
    read: dict[int, Any] = {}
    for entry in entries:
        asked = [place for place, call in enumerate(calls) if asks_for(call, entry)]
        place = asked[0] if asked else 0
        read |= observe(calls[place], outcomes[place], [entry], oracle)
    return read


def at_once_code(asked: Sequence[str], hold: int, then: int | None) -> str:
    """Return the code that makes two calls at once."""
    places = f"hold={hold}" if then is None else f"hold={hold}, then={then}"
    parts = [*asked, places]
    line = f"at_once({', '.join(parts)})"
    return line if len(line) <= _WIDTH else "\n".join(["at_once(", *(f"    {part}," for part in parts), ")"])


def told_of_two(
    problem: Problem, calls: Sequence[Call], place: int, entries: Sequence[Entry], *, code: str, journal: str
) -> Problem:
    """Return the problem of one of two calls, its check with the ``code`` that makes both."""
    call, other = calls[place], calls[1 - place]
    name, other_name = (("first", "second"), ("second", "first"))[place]
    sent = "sent()"
    check: list[str] = []
    for line in problem.check:
        if "{call}" in line:
            opens = bool(check) and check[-1].endswith(":") and check[-1].lstrip().startswith(("try", "with"))
            indent = " " * (len(line) - len(line.lstrip()) - 4 * opens)
            made = textwrap.indent(f"first, second = {code}", indent).splitlines()
            check[len(check) - opens : len(check) - opens] = made
        told = line.replace(f"{{journal}}.for_operation({call.operation!r})", sent).replace(
            "{journal}.last", f"{sent}[-1]"
        )
        check.append(told.replace("{journal}", sent).replace("{call}", f"{name}.result()"))
    if not check[0].startswith("def ") and _both_succeed(
        calls, entries
    ):  # which of the two fails, and how, may be a matter of moments
        last = f"{name}.result()"
        check += [f"{other_name}.result()", *([last] if check[-1] != last else [])]
    if any(sent in line for line in check):
        check = ["def sent():", f"    return [entry for entry in {journal} if {_is_of(call)}]", "", *check]
    rest = problem.sentence.removeprefix(str(call))
    sentence = f"{call}, while {other} was under way in another thread or task,{rest}"
    words = f"{problem.words}; a client that is safe to share (concurrent=True) keeps the calls of its callers apart"
    return Problem(sentence if rest != problem.sentence else problem.sentence, problem.section, words, check)


def _both_succeed(calls: Sequence[Call], entries: Sequence[Entry]) -> bool:
    """Whether a client that is right has a result of both: what has arrived was not refused, nor would the rest be."""
    arrived = {entry.operation for entry in entries}
    plain = bool(entries) and all(entry.condition is None and entry.fault is None for entry in entries)
    return plain and all(call.operation in arrived or call.operation != "getPet" for call in calls)


def _is_of(call: Call) -> str:
    """Return the code that says whether an entry is of a call."""
    operation = f"entry.operation == {call.operation!r}"
    if call.operation == "getPet":
        return f"{operation} and entry.path.endswith('/{call.arguments['pet_id']}')"
    if call.operation == "createPet":
        return f"{operation} and entry.json() == {literal(call.body)}"
    return f"{operation} and entry.query == {literal({name: str(value) for name, value in call.arguments.items()})}"
