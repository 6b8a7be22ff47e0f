"""What may come of a call: worked out from the answers on the wire, which the oracle holds against its worlds."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.dates import http_timestamp
from petstore_mock.contract.interface import DEFAULT_LIMIT, OPERATIONS, SENTENCES
from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults.kinds import Answer
from petstore_mock.stateful.checks.broken_answers import BODIES, broken_answer_problem, is_broken_answer
from petstore_mock.stateful.checks.requests import is_ping
from petstore_mock.stateful.checks.result import (
    Allowed,
    list_problem,
    outcome_problem,
    pet_problem,
    unreadable_problem,
)
from petstore_mock.stateful.model.call import QUIETLY, Problem
from petstore_mock.stateful.model.error_classification import REDIRECTS, SUCCESSES
from petstore_mock.stateful.model.oracle import Contradiction, known_fields
from petstore_mock.stateful.model.retry_after import TELL_TO_WAIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from petstore_mock.faults import Fault
    from petstore_mock.journal.entry import Entry
    from petstore_mock.stateful.model.call import Call, Outcome
    from petstore_mock.stateful.model.error_classification import Kind
    from petstore_mock.stateful.model.oracle import Oracle
    from petstore_mock.stateful.model.reading import ResultReader

__all__ = ["answer_problem", "observe"]

_LOST: Final[frozenset[Kind]] = frozenset({"transport", "protocol"})
_TIMED_OUT: Final[frozenset[Kind]] = frozenset({"timeout", "transport"})
_ERROR_WORDS: Final = "an answer that is no success is an Error, told by its HTTP status"
# What no other operation can stand for; the interface names a replacement of getPet alone (§4.3).
_NOT_REPLACED: Final[dict[str, str]] = {
    "listPets": "listPets alone says which animals there are",
    "createPet": "every createPet adds an animal, whatever others there are",
}
_NO_PAGING: Final = "a list of as many animals as limit says: no paging and no order are shown"
_LARGE: Final = 10_000  # bytes, from which on the size of an answer may be what matters


def observe(call: Call, outcome: Outcome, entries: Sequence[Entry], oracle: Oracle) -> dict[int, Any]:
    """Let the oracle see what the requests of one call were answered; return the answers that could be read, by number.

    Raises:
        Contradiction: the fake answered what no possible world explains.
    """
    read: dict[int, Any] = {}
    for entry in entries:
        if is_ping(entry):
            continue
        if entry.condition is not None:
            if entry.condition.name == "absent_pet":
                oracle.saw_pet(int(entry.path.rpartition("/")[2]), None, entry.number)
            continue
        fault = entry.fault
        seen = fault is None or (fault.readable and outcome.error is None and entry is entries[-1])
        if not seen or entry.status is None:  # a thread's may be under way still
            if entry.operation == "createPet":
                oracle.may_have_created(call.body)
            continue
        document = read[entry.number] = json.loads(entry.response_body)
        _see(call, entry, document, oracle)
    return read


def _see(call: Call, entry: Entry, document: Any, oracle: Oracle) -> None:  # noqa: ANN401  # an animal, or a list
    """Let the oracle see what one request was answered."""
    if entry.operation == "createPet":
        oracle.created(document, call.body, entry.number)
    elif entry.operation == "listPets":
        query = entry.query
        oracle.saw_list(document, int(query.get("limit", DEFAULT_LIMIT)), query.get("status"), entry.number)
    elif entry.operation == "getPet":
        oracle.saw_pet(int(entry.path.rpartition("/")[2]), document, entry.number)


def answer_problem(
    call: Call,
    outcome: Outcome,
    entries: Sequence[Entry],
    oracle: Oracle,
    read: Mapping[int, Any],
    *,
    reader: ResultReader,
    own_faults: bool = True,
) -> Problem | None:
    """Return what is wrong with what the client made of its answers, or None.

    Args:
        call: what was asked of the client.
        outcome: what came of it.
        entries: its requests.
        oracle: knows what may be true.
        read: what :func:`observe` saw.
        reader: reads what the client returns.
        own_faults: whether the faults are the machine's own; what the test's author sends may be taken for an answer.
    """
    asked = [entry for entry in entries if not is_ping(entry)]
    entries = asked or entries
    last = entries[-1]
    plain = bool(asked) and last.fault is None and last.condition is None and last.operation == call.operation
    if not (plain and outcome.error is None):  # else it was answered and returned: nothing to be explained
        if outcome.error is None and (not asked or call.operation in _NOT_REPLACED):
            problem = _unasked(call, outcome, asked)
            if problem is not None:
                return problem
        if own_faults and last.operation == call.operation and is_broken_answer(last):
            problem = None if outcome.error is not None else broken_answer_problem(call, outcome, last, reader)
        else:
            problem = outcome_problem(call, outcome, _allowed(call, outcome, entries, oracle))
        if problem is not None or outcome.error is not None:
            return problem
    return _value_problem(call, outcome, _wanted(call, entries, oracle, read), reader)


def _value_problem(call: Call, outcome: Outcome, wanted: Any, reader: ResultReader) -> Problem | None:  # noqa: ANN401
    """Return what is wrong with a result, given the animal or the list that it has to be; None where nobody knows."""
    if wanted is None:
        return None
    try:
        if isinstance(wanted, list):
            return list_problem(call, outcome.value, wanted, reader)
        return pet_problem(call, outcome.value, wanted, reader)
    except PetStoreMockError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever an object of the client's own raises
        problem = unreadable_problem(call, outcome, error, reader)
        outcome.error = error  # that it came late does not matter to who looks for where it came from
        return problem


def _unasked(call: Call, outcome: Outcome, entries: Sequence[Entry]) -> Problem | None:
    """Return a call that returned without a request of its own operation."""
    operation = call.operation
    if any(entry.operation == operation for entry in entries):
        return None
    asked = f"{OPERATIONS[operation].method} /pets"
    check = (
        f"before = len({{journal}}.for_operation({operation!r}))",
        *QUIETLY,
        f"assert len({{journal}}.for_operation({operation!r})) > before, 'no {asked} was sent'",
    )
    sentence = f"{call} {outcome} without sending {asked}"
    words = _NOT_REPLACED.get(operation, "a ping says nothing of an animal")
    return Problem(sentence, OPERATIONS[operation].section, words, check)


def _allowed(call: Call, outcome: Outcome, entries: Sequence[Entry], oracle: Oracle) -> Allowed:
    # Whether an animal was created is for createPet to say, whatever the client asks besides; and what a list holds
    # is for listPets.
    told = entries
    if call.operation == "createPet" or (call.operation == "listPets" and outcome.error is None):
        told = [entry for entry in entries if entry.operation == call.operation] or entries
    last = told[-1]
    found = _by_last(call, last, oracle)
    found.asked_more = last is not entries[-1]
    if outcome.timed_out:
        found.kinds |= {"timeout"}
    if outcome.error is None:
        return found
    # A client that gave up after several failures may tell of any of them.
    earlier = told[:-1]
    if found.value and not found.kinds:
        # One that was answered has none to tell of; unless it looked elsewhere, and the animal may be on no page.
        earlier = [entry for entry in earlier if entry.operation == call.operation != last.operation]
    # What a redirection led to is told as well: a library may follow that of a POST by a GET (RFC 9110 §15.4.4).
    followed = (later for entry, later in pairwise(entries) if entry.status in REDIRECTS and later not in told)
    found.kinds = found.kinds.union(*(_by_last(call, entry, oracle).kinds for entry in (*earlier, *followed)))
    return found


def _by_last(call: Call, entry: Entry, oracle: Oracle) -> Allowed:
    """Say what one answer allows."""
    fault = entry.fault
    if fault is None:
        return _by_answer(call, entry, oracle)
    found = _by_fault(fault, OPERATIONS[call.operation].section)
    if fault.loses_answer:
        return found
    answer = _by_answer(call, entry, oracle)
    if not fault.readable:
        found.kinds |= answer.kinds  # of a corrupted answer the status has arrived
        return found
    # Late, slow or wrongly labelled, and there all the same.
    answer.kinds |= found.kinds
    answer.why += f" (fault {fault})"
    return answer


def _by_answer(call: Call, entry: Entry, oracle: Oracle) -> Allowed:
    """Say what a whole answer of the operation allows."""
    if entry.condition is not None:
        sentence = entry.sentence
        status = entry.condition.status
        why = f"the service answered {status}: {entry.condition.message}"
        words = sentence.text if sentence is not None else _ERROR_WORDS
        return Allowed(value=False, kinds=frozenset({status}), why=why, section=entry.section or "7", words=words)
    if entry.operation != call.operation and call.operation == "getPet":  # it found the animal in a list, say
        words = SENTENCES["absent"].text
        pet_id = call.arguments["pet_id"]
        if pet_id not in oracle.pets:
            return Allowed(value=False, kinds=frozenset({404}), why="there is no such animal", section="7", words=words)
        if not oracle.is_settled(pet_id, entry.number):
            return Allowed(value=True, kinds=frozenset({404}), why="the animal is new", section="7", words=words)
        why = "the animal is there, whether it was on the page that was asked for or not"
        return Allowed(value=True, kinds=frozenset(), why=why, section="4.1", words=_NO_PAGING)
    operation = OPERATIONS[call.operation]
    size = len(entry.response_body)
    why = f"the service answered {entry.status}{f' with {size:,} bytes' if size > _LARGE else ''}"
    words = f"{operation.success}: {BODIES[call.operation]}"
    return Allowed(value=True, kinds=frozenset(), why=why, section=operation.section, words=words)


def _by_fault(fault: Fault, section: str) -> Allowed:
    if isinstance(fault, Answer):
        return _by_status(fault)
    kinds = _TIMED_OUT if fault.takes_time else _LOST
    words = "a client tells a lost answer from a given one: it knows nothing of what was, or was not, done"
    return Allowed(value=fault.readable, kinds=kinds, why=fault.effect, section=section, words=words)


def _by_status(fault: Answer) -> Allowed:
    """Say what an answer in place of the operation's allows."""
    status = fault.status
    kinds: frozenset[Kind] = frozenset({status})
    if status in REDIRECTS:
        # Who follows it without the key is refused; another service may be no pet store; and a client may end what
        # leads in a circle.
        location = dict(fault.fields).get("Location", "")
        kinds |= {401} if location else set()
        kinds |= _LOST if location.startswith("http") else {"protocol"}
    hint = dict(fault.fields).get("Retry-After", "0") if status in TELL_TO_WAIT else "0"
    if status in SUCCESSES or not (hint.isdecimal() or http_timestamp(hint)):  # which a library may refuse to read
        kinds |= _LOST
    if fault.takes_time:
        kinds |= _TIMED_OUT
    return Allowed(
        value=status in SUCCESSES,
        kinds=kinds,
        why=f"the service answered {status} (fault {fault})",
        section="7",
        words=_ERROR_WORDS,
    )


def _wanted(call: Call, entries: Sequence[Entry], oracle: Oracle, read: Mapping[int, Any]) -> Any:  # noqa: ANN401  # an animal, a list of them, or None
    """Return what the client has to return, or None when that can't be told."""
    if call.operation == "getPet":
        fault = entries[-1].fault
        is_known = fault is None or fault.readable
        return oracle.pets.get(call.arguments["pet_id"]) if is_known else None
    for entry in reversed(entries):
        if entry.operation == call.operation and entry.condition is None:
            if entry.status is None or (entry.fault is not None and not entry.fault.readable):
                return None
            document = read[entry.number] if entry.number in read else json.loads(entry.response_body)
            if isinstance(document, list):
                return [known_fields(animal) for animal in document]
            return known_fields(document)
    raise Contradiction(f"{call} has no answer of its own operation")
