"""A call that sent nothing: answered from memory, put off, not sent at all, or rightly told without the service."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from petstore_mock.common.real_time import RealTime
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.stateful.model.call import QUIETLY, Problem
from petstore_mock.stateful.model.retry_after import TELL_TO_WAIT, seconds_told

if TYPE_CHECKING:
    from petstore_mock.journal.journal import Journal
    from petstore_mock.stateful.model.call import Call, Outcome
    from petstore_mock.stateful.model.error_classification import Kind

__all__ = ["no_request_problem"]

# What no rule of a house refuses.
_ORDINARY_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{1,19}")
_ORDINARY_CATEGORIES: Final = range(1, 1_000)
_TOO_MANY_REQUESTS: Final = 429
_LATE: Final = 0.2  # seconds between a client's look at its clock and our check of it


def no_request_problem(call: Call, outcome: Outcome, journal: Journal) -> Problem | None:
    """Judge a call that sent nothing: answered from memory, or not sent at all."""
    sentence = f"{call} sent no request and {outcome}"
    check = [
        "before = len({journal})",
        *QUIETLY,
        "assert len({journal}) > before, 'no request was sent'",
    ]
    section = OPERATIONS[call.operation].section
    kind = outcome.kind
    if outcome.error is not None and not isinstance(kind, int):
        problem = Problem(sentence, *_unsent(call, outcome, journal), check)
        problem.question = _house_rule(call, outcome)
        return problem
    if isinstance(kind, int):
        if _is_told_to_wait(kind, journal):
            return None
        words = "every call asks the service: a status that it was answered before may hold no longer"
        if all(entry.status != kind for entry in journal):
            words = (
                f"every call asks the service, which never answered {kind}; if the client has a limit or a circuit "
                "breaker of its own, make_client switches it off"
            )
    else:
        words = "every call asks the service; what another client changed shows in the answer"
    asked = len(journal)
    tells = outcome.error is not None or _holds_something(outcome.value)
    if len(journal) > asked:  # at that look
        sentence = f"{call} {outcome}, and sent its request only when that was looked at"
        words = "a call asks the service before it returns: who reads its result has no failure to expect of it"
    elif tells and not journal:
        sentence += ", which it was never answered: it made that up, or remembers what an earlier client was answered"
        words = (
            "every call asks the service; and clients with different keys share no answers, in their class or module"
        )
        check = [*_earlier_client(call, kind), *check]
    return Problem(sentence, section, words, check)


def _holds_something(value: object) -> bool:
    try:
        return bool(value)
    except Exception:  # noqa: BLE001  # whatever an object of the client's own raises
        return True


def _unsent(call: Call, outcome: Outcome, journal: Journal) -> tuple[str, str]:
    """Return the section, and its words, for a call that failed by itself before it asked."""
    section = OPERATIONS[call.operation].section
    if outcome.kind == "timeout":
        words = "no answer was due: the client waited for something of its own, as a lock or a free connection"
        if journal and journal.last.status is None:  # a service reads no further before it has answered
            words += ", or asked on a connection on which an earlier answer is still due (RFC 9112 §9.3)"
        return section, words
    # A URL or a header that a library can't make is called a transport error by some of them.
    is_refusal = outcome.kind is None or (outcome.kind == "transport" and isinstance(outcome.error, ValueError))
    if not is_refusal:
        return "RFC 9112 §9.3", (
            "a connection that the service has closed, or on which an answer is still due, can't be used: "
            "a client opens another"
        )
    if call.operation == "createPet":
        return "2", "no limits of name and categoryId are shown: the client itself refuses what the interface allows"
    return section, "the interface allows the call: the client itself refuses it, or fails at it"


def _house_rule(call: Call, outcome: Outcome) -> str | None:
    """Return the question whether a client means to refuse an animal by itself, as it may: §2 shows no limits.

    It does not mean to when it fails over text that it can't encode, nor when the animal is an ordinary one.
    """
    error = outcome.error
    if call.operation != "createPet" or error is None or outcome.kind is not None:
        return None
    name, category_id = call.arguments["name"], call.arguments["category_id"]
    is_own = type(error).__module__ != "builtins" or (
        isinstance(error, ValueError) and not isinstance(error, UnicodeError)
    )
    is_ordinary = _ORDINARY_NAME.fullmatch(name) is not None and category_id in _ORDINARY_CATEGORIES
    if not is_own or is_ordinary:
        return None
    return (
        f"{call} {outcome} and sent no request: is that a rule of the client's own? The interface shows no limits "
        "of name and categoryId (\u00a72), so the machine can't tell; if it is, ignore ClientQuestionWarning"
    )


def _is_told_to_wait(status: int, journal: Journal) -> bool:
    """Whether a client may still tell ``status`` of itself: it was answered so, and told to wait until later."""
    if status not in TELL_TO_WAIT:
        return False
    for entry in reversed(journal):
        if entry.status != status:
            continue
        told = seconds_told(entry)
        if told is None:
            if status == _TOO_MANY_REQUESTS:
                return True  # for as long as the client thinks right
        elif max(told) and max(told) - (RealTime.perf_counter() - entry.request.started) > -_LATE:
            return True
    return False


def _earlier_client(call: Call, status: Kind | None) -> list[str]:
    """Return the lines of a test in which another client makes the call first, in another world."""
    lines = ["with {petstore}.fresh() as earlier:"]
    if status is not None:
        lines.append(f"    earlier.inject({status}, on={call.operation!r}, times=1, off_contract=True)")
    elif call.operation == "getPet":
        lines.append(f"    earlier.seed(id={call.arguments['pet_id']}, name='Rex', categoryId=1)")
    lines += ["    with contextlib.suppress(Exception):", f"        make_client(earlier).{call.code()}"]
    if status is not None:
        lines.append("    earlier.cancel_faults()  # what was planned came to nothing if that one did not ask either")
    return lines
