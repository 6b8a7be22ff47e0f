"""Successes that are none of the interface's, and what may be made of them.

A proxy, a login page or a queue answers some; a service that breaks the interface answers others, as its mutants do
(:mod:`petstore_mock.contract.mutants`): a field is called otherwise or null, one animal comes in an array, many in an
object. A client that raises is right, whatever it raises; one that hands on what came with the operation's own status
is no worse than its caller, who sees that these are no animals. What is told is unmistakable: what came with another
status, taken for a result, and a result that nobody has answered, such as the list of an object's names, which is
what a client gets that makes a list of whatever came.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from petstore_mock import faults as fault_kinds
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.faults.kinds import Answer
from petstore_mock.stateful.model.call import Problem, shortened
from petstore_mock.stateful.model.error_classification import SUCCESSES
from petstore_mock.stateful.model.reading import FIELDS, as_sequence

if TYPE_CHECKING:
    from petstore_mock.journal.entry import Entry
    from petstore_mock.stateful.model.call import Call, Outcome
    from petstore_mock.stateful.model.reading import ResultReader

__all__ = ["BODIES", "BROKEN_ANSWERS", "broken_answer_problem", "is_broken_answer"]

BODIES: Final[dict[str, str]] = {  # §4
    "listPets": "body is Pets, the array of Pet objects",
    "createPet": "body is the created Pet, including the assigned id",
    "getPet": "body is the Pet",
}

_NO_JSON: Final = object()

BROKEN_ANSWERS: Final = (
    # Of a proxy, a login page, a queue.
    fault_kinds.respond(200, body=b""),
    fault_kinds.respond(204),
    fault_kinds.respond(200, json={"message": "Down for maintenance"}),
    fault_kinds.respond(202, json={"queued": True}),
    fault_kinds.respond(200, body="<html><body>Please log in</body></html>"),
    fault_kinds.respond(200, body="null", headers={"Content-Type": "application/json"}),
    # Of a service that breaks the interface.
    fault_kinds.respond(200, json={"id": 1, "title": "Rex", "categoryId": 1}),
    fault_kinds.respond(200, json={"id": 1, "name": None, "categoryId": 1, "status": "sold"}),
    fault_kinds.respond(200, json=[{"id": 1, "name": "Rex"}]),
    fault_kinds.respond(200, json={"pets": [{"id": 1, "name": "Rex", "categoryId": 1}]}),
    fault_kinds.respond(201, json={"id": 1}),
)


def is_broken_answer(entry: Entry) -> bool:
    """Whether something else than the operation answered with a success."""
    return isinstance(entry.fault, Answer) and entry.fault.status in SUCCESSES


def broken_answer_problem(call: Call, outcome: Outcome, entry: Entry, reader: ResultReader) -> Problem | None:
    """Return what is wrong with a result that was made of such an answer.

    A client may hand on the JSON that came with the operation's own status, in whatever object: its caller sees that it
    is nothing. What reads like animals, or like none, nobody has answered.
    """
    operation = OPERATIONS[call.operation]
    lines = [
        "try:",
        "    result = {call}",
        "except Exception:",
        "    pass  # as it may, whatever it is called",
        "else:",
    ]
    body = entry.response_body.decode(errors="replace")
    document: Any = _NO_JSON
    with suppress(ValueError):
        document = json.loads(body)
    if entry.status != operation.success or document is _NO_JSON:
        lines.append("    raise AssertionError(f'returned {result!r}')")
    elif _is_made_up(call, outcome.value, document, reader):
        lines.append("    assert result == json.loads({journal}.last.response_body)")
    else:
        return None
    came = f"{entry.status} {f'with {shortened(body)}' if body else 'without a body'}"
    words = f"{operation.success}: {BODIES[call.operation]}: nothing else that is answered is a result"
    return Problem(f"{call} {outcome} although the service answered {came}", operation.section, words, lines)


def _is_made_up(call: Call, value: Any, document: Any, reader: ResultReader) -> bool:  # noqa: ANN401
    """Say whether a caller takes a value for animals that are nowhere in what was answered."""
    try:
        if value is None or value == document or reader.copy(value) == as_sequence(document):
            return value is None and document is not None
        if isinstance(value, (str, bytes, Mapping)) and call.operation == "listPets":
            return False
        items = value if call.operation == "listPets" else [value]
        if isinstance(document, Mapping) and list(items) == list(document):
            return True
        pets = [reader.pet(item) or {} for item in items]
        if not all(isinstance(pet.get("id"), int) for pet in pets):
            return False
        answered = list(_objects(document))
        return not pets or not all(any(_is_handed_on(pet, one) for one in answered) for pet in pets)
    except Exception:  # noqa: BLE001  # whatever an object of the client's own raises: its caller sees that too
        return False


def _objects(document: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401  # a JSON value
    """Yield the objects that are somewhere in a JSON value."""
    if isinstance(document, Mapping):
        yield document
    if isinstance(document, (Mapping, list)):
        for part in document.values() if isinstance(document, Mapping) else document:
            yield from _objects(part)


def _is_handed_on(pet: Mapping[str, Any], answered: Mapping[str, Any]) -> bool:
    """Whether an animal has nothing that an object has not: None is nothing, and text of a number is that number."""
    given = {name: pet[name] for name in FIELDS if pet.get(name) is not None}
    return all(name in answered and str(answered[name]) == str(value) for name, value in given.items())
