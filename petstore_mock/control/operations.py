"""What can be asked of the door: one table, by which requests are routed and validated, and the door is described."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from petstore_mock.control.handlers import Handlers
from petstore_mock.control.schemas import CANCEL_QUERY, FAULT_QUERY, HANDSHAKE_QUERY, REQUEST_QUERY

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.control.handlers import Answer, Call
    from petstore_mock.control.schemas import Schema

__all__ = ["OPERATIONS", "Operation"]


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One thing that can be asked.

    Attributes:
        handler: what carries it out; its name is the operation's.
        method: the HTTP method.
        path: below ``/__petstore/``, with ``{parameters}``.
        summary: what it does, in a sentence.
        answers: the schema of the body by status; None for none.
        body: the schema of the request's body; None for none.
        needs_body: whether a request without a body is refused.
        query: the query parameters with their schemas.
        root_only: whether it is of all worlds, and stands at the root alone.
        media_type: of the answer.
        is_open: whether anybody may ask, without a token and from anywhere.
        conflicts: whether 409 may come.
    """

    handler: Callable[[Handlers, Call], Answer]
    method: str
    path: str
    summary: str
    answers: dict[int, str | None]
    body: str | None = None
    needs_body: bool = False
    query: dict[str, Schema] = field(default_factory=dict)
    root_only: bool = False
    media_type: str = "application/json"
    is_open: bool = False
    conflicts: bool = False

    @property
    def name(self) -> str:
        """What the description of the door calls it."""
        return self.handler.__name__


OPERATIONS: Final = (
    Operation(
        Handlers.health, "GET", "health", "Say that the stub serves.", {200: "Health"}, root_only=True, is_open=True
    ),
    Operation(Handlers.openapi, "GET", "openapi.json", "Describe the door itself.", {200: None}, root_only=True),
    Operation(
        Handlers.make_world,
        "PUT",
        "world",
        "Make the world, or make it anew.",
        {201: "World", 200: "World"},
        "WorldOptions",
    ),
    Operation(Handlers.show_world, "GET", "world", "Show the world.", {200: "World"}),
    Operation(Handlers.reset_world, "POST", "world/reset", "Return to the starting state.", {200: "World"}),
    Operation(
        Handlers.verify_world, "GET", "world/verification", "Say what a test would fail for.", {200: "Verification"}
    ),
    Operation(
        Handlers.tell_verification,
        "POST",
        "world/verification",
        "Say what a test must fail for by now, and count it as told.",
        {200: "Verification"},
        "Telling",
    ),
    Operation(Handlers.end_world, "DELETE", "world", "End the world.", {200: "Verification"}, conflicts=True),
    Operation(Handlers.list_pets, "GET", "pets", "Show the animals.", {200: "Pets"}),
    Operation(
        Handlers.add_pets, "POST", "pets", "Add animals, all or none.", {201: "Pets"}, "NewPets", needs_body=True
    ),
    Operation(
        Handlers.change_pet,
        "PATCH",
        "pets/{pet_id}",
        "Change an animal as another actor would (§3).",
        {200: "Pet"},
        "PetChange",
        needs_body=True,
    ),
    Operation(
        Handlers.remove_pet, "DELETE", "pets/{pet_id}", "Take an animal out as another actor would (§3).", {204: None}
    ),
    Operation(
        Handlers.list_faults,
        "GET",
        "faults",
        "Show the planned faults, spent ones too.",
        {200: "Faults"},
        query=FAULT_QUERY,
    ),
    Operation(
        Handlers.plan_fault,
        "POST",
        "faults",
        "Plan a fault.",
        {201: "Fault"},
        "NewFault",
        needs_body=True,
        query=FAULT_QUERY,
    ),
    Operation(Handlers.cancel_faults, "DELETE", "faults", "Take every fault away.", {204: None}),
    Operation(
        Handlers.cancel_fault,
        "DELETE",
        "faults/{fault_id}",
        "Take a fault away.",
        {204: None},
        query=CANCEL_QUERY,
    ),
    Operation(
        Handlers.list_requests,
        "GET",
        "requests",
        "Show the journal, oldest first.",
        {200: "Requests"},
        query=REQUEST_QUERY,
    ),
    Operation(Handlers.clear_requests, "DELETE", "requests", "Forget the journal.", {204: None}),
    Operation(
        Handlers.wait_for_requests,
        "POST",
        "requests/wait",
        "Wait until there are so many requests.",
        {200: "Waited"},
        "Wait",
    ),
    Operation(
        Handlers.assert_requests,
        "POST",
        "requests/assert",
        "Say whether requests came, and what came instead.",
        {200: "Asserted"},
        "Assertion",
        conflicts=True,
    ),
    Operation(
        Handlers.expect_requests,
        "POST",
        "requests/expect",
        "Let nobody answer for these violations.",
        {204: None},
        "Expectation",
        needs_body=True,
    ),
    Operation(Handlers.show_archive, "GET", "requests.har", "Show the journal as HAR 1.2.", {200: "Archive"}),
    Operation(
        Handlers.show_picture,
        "GET",
        "requests.svg",
        "Draw the latest requests and answers between two lifelines.",
        {200: "Picture"},
        query={"last": REQUEST_QUERY["last"]},
        media_type="image/svg+xml",
    ),
    Operation(Handlers.show_behaviour, "GET", "behaviour", "Show every gap with its choice.", {200: "Behaviour"}),
    Operation(
        Handlers.change_behaviour,
        "PATCH",
        "behaviour",
        "Choose alternatives for gaps.",
        {200: "Behaviour"},
        "BehaviourChange",
        needs_body=True,
    ),
    Operation(Handlers.list_gaps, "GET", "gaps", "Show the register of gaps.", {200: "Gaps"}),
    Operation(Handlers.show_clock, "GET", "clock", "Show the fake's time.", {200: "Clock"}),
    Operation(
        Handlers.change_clock,
        "PATCH",
        "clock",
        "Change the fake's time.",
        {200: "Clock"},
        "ClockChange",
        needs_body=True,
    ),
    Operation(Handlers.list_keys, "GET", "keys", "Show the API keys.", {200: "Keys"}),
    Operation(Handlers.issue_key, "POST", "keys", "Issue a further API key.", {201: "Key"}, "NewKey"),
    Operation(Handlers.revoke_key, "DELETE", "keys/{api_key}", "Revoke an API key.", {204: None}),
    Operation(Handlers.take_snapshot, "POST", "snapshots", "Keep a copy of the state.", {201: "Snapshot"}),
    Operation(
        Handlers.restore_snapshot,
        "POST",
        "snapshots/{snapshot_id}/restore",
        "Return to a copy of the state.",
        {200: "World"},
    ),
    Operation(Handlers.drop_snapshot, "DELETE", "snapshots/{snapshot_id}", "Forget a copy of the state.", {204: None}),
    Operation(Handlers.close_connections, "POST", "connections/close", "Close the idle kept connections.", {204: None}),
    Operation(
        Handlers.show_coverage, "GET", "coverage", "Count the documented outcomes that were shown.", {200: "Coverage"}
    ),
    Operation(
        Handlers.stream_events,
        "GET",
        "events",
        "Tell of requests as they come, and of worlds: made, reset, cleared of their requests, ended.",
        {200: None},
        media_type="text/event-stream",
    ),
    Operation(
        Handlers.list_handshakes,
        "GET",
        "handshakes",
        "Show the TLS handshakes, oldest first, once those that are running have ended or `wait` seconds are over.",
        {200: "Handshakes"},
        query=HANDSHAKE_QUERY,
        root_only=True,
    ),
    Operation(Handlers.list_worlds, "GET", "worlds", "Show every world.", {200: "Worlds"}, root_only=True),
    Operation(
        Handlers.end_worlds, "DELETE", "worlds", "End every world but the default one.", {204: None}, root_only=True
    ),
    Operation(
        Handlers.list_leaks, "GET", "leaks", "Show requests to worlds that were over.", {200: "Leaks"}, root_only=True
    ),
)
