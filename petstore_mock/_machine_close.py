"""How a client closes: without an exception, without a request that matters, and leaving nothing open behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock._machine_call import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from petstore_mock._machine_call import Outcome
    from petstore_mock.entry import Entry

__all__ = ["close_problem", "unclosed_problem"]


def close_problem(outcome: Outcome, world: str, entries: Iterable[Entry], seconds: float) -> Problem | None:
    """Return what is wrong with how a client closed.

    Args:
        outcome: what came of its ``close()``.
        world: the name of the mock that got its requests.
        entries: the requests.
        seconds: how long it may do nothing.
    """
    for entry in entries:
        problem = _sent_problem(world, entry)
        if problem is not None:
            return problem
    if outcome.error is None:
        return None
    words = "what is closed was used before, or not at all, or has lost its connection: none of it is an error"
    sentence = f"close() {outcome}"
    if outcome.was_ended:
        sentence = f"close() did not return for {seconds:.0f} s"
    return Problem(sentence, "1", words, ("{client}.close()",))


def _sent_problem(world: str, entry: Entry) -> Problem | None:
    """Return what is wrong with a request of ``close()``."""
    check = [f"before = len({world}.journal)", "with contextlib.suppress(Exception):", "    {client}.close()"]
    if entry.operation == "createPet":
        check.append(f"assert 'createPet' not in [entry.operation for entry in {world}.journal[before:]]")
        words = "createPet adds an animal: the caller was told of the failure, and does not know of a second try"
        return Problem(f"close() sent {entry.method} {entry.target}", "4.2", words, check)
    condition = entry.condition
    if condition is None or not condition.violation or condition.name.startswith("operation_removed"):
        return None
    check.append(f"assert not any(entry.is_violation for entry in {world}.journal[before:])")
    sentence = entry.sentence
    words = sentence.text if sentence is not None else ""
    sent = f"{entry.method} {entry.target[:80]}"
    return Problem(f"close() sent {sent}: {entry.reason}", entry.section or "4", words, check)


def unclosed_problem(count: int) -> Problem:
    """Return what is wrong with a client that left ``count`` connections behind."""
    check = (
        "getattr({client}, 'close', lambda: None)()",
        "del {client}",
        "gc.collect()",
        "deadline = time.monotonic() + 1",
        "while {petstore}.httpserver.open_connections and time.monotonic() < deadline:",
        "    time.sleep(0.01)",
        "assert not {petstore}.httpserver.open_connections",
    )
    words = "a client closes its connections when it is closed, or forgotten"
    connections = "connection" if count == 1 else "connections"
    return Problem(f"{count} {connections} stayed open after the client was closed", "RFC 9112 §9.6", words, check)
