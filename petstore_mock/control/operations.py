"""What can be asked of the door: one table, by which requests are routed and validated, and the door is described."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.control.handlers import Handlers
from petstore_mock.control.schemas import CANCEL_QUERY, FAULT_QUERY, HANDSHAKE_QUERY, REQUEST_QUERY

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.control.handlers import DoorCall
    from petstore_mock.control.schemas import Schema

__all__ = ["OPERATIONS", "DoorOperation"]


@dataclass(frozen=True, slots=True, eq=False)
class DoorOperation:
    """One thing that can be asked.

    Attributes:
        handler: what carries it out; its name and its docstring are the operation's.
        method: the HTTP method.
        path: below ``/__petstore/``, with ``{parameters}``.
        answers: the schema of the body by status, the first unless the handler says otherwise; None for none.
        body: the schema of the request's body; None for none.
        needs_body: whether a request without a body is refused.
        query: the query parameters with their schemas.
        root_only: whether it is of all worlds, and stands at the root alone.
        media_type: of the answer.
        is_open: whether anybody may ask, without a token and from anywhere.
        conflicts: whether 409 may come.
    """

    handler: Callable[[Handlers, DoorCall], Any]
    method: str
    path: str
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

    @property
    def summary(self) -> str:
        """What it does, in a sentence: empty where Python keeps no docstrings (-OO)."""
        return self.handler.__doc__ or ""


OPERATIONS: Final = (
    DoorOperation(Handlers.health, "GET", "health", {200: "Health"}, root_only=True, is_open=True),
    DoorOperation(Handlers.openapi, "GET", "openapi.json", {200: None}, root_only=True),
    DoorOperation(Handlers.make_world, "PUT", "world", {201: "World", 200: "World"}, "WorldOptions"),
    DoorOperation(Handlers.show_world, "GET", "world", {200: "World"}),
    DoorOperation(Handlers.reset_world, "POST", "world/reset", {200: "World"}),
    DoorOperation(Handlers.verify_world, "GET", "world/verification", {200: "Verification"}),
    DoorOperation(Handlers.tell_verification, "POST", "world/verification", {200: "Verification"}, "Telling"),
    DoorOperation(Handlers.end_world, "DELETE", "world", {200: "Verification"}, conflicts=True),
    DoorOperation(Handlers.list_pets, "GET", "pets", {200: "Pets"}),
    DoorOperation(Handlers.add_pets, "POST", "pets", {201: "Pets"}, "NewPets", needs_body=True),
    DoorOperation(Handlers.change_pet, "PATCH", "pets/{pet_id}", {200: "Pet"}, "PetChange", needs_body=True),
    DoorOperation(Handlers.remove_pet, "DELETE", "pets/{pet_id}", {204: None}),
    DoorOperation(Handlers.list_faults, "GET", "faults", {200: "Faults"}, query=FAULT_QUERY),
    DoorOperation(
        Handlers.plan_fault, "POST", "faults", {201: "Fault"}, "NewFault", needs_body=True, query=FAULT_QUERY
    ),
    DoorOperation(Handlers.cancel_faults, "DELETE", "faults", {204: None}),
    DoorOperation(Handlers.cancel_fault, "DELETE", "faults/{fault_id}", {204: None}, query=CANCEL_QUERY),
    DoorOperation(Handlers.list_requests, "GET", "requests", {200: "Requests"}, query=REQUEST_QUERY),
    DoorOperation(Handlers.clear_requests, "DELETE", "requests", {204: None}),
    DoorOperation(Handlers.wait_for_requests, "POST", "requests/wait", {200: "Waited"}, "Wait"),
    DoorOperation(Handlers.assert_requests, "POST", "requests/assert", {200: "Asserted"}, "Assertion", conflicts=True),
    DoorOperation(Handlers.expect_requests, "POST", "requests/expect", {204: None}, "Expectation", needs_body=True),
    DoorOperation(Handlers.show_archive, "GET", "requests.har", {200: "Archive"}),
    DoorOperation(
        Handlers.show_picture,
        "GET",
        "requests.svg",
        {200: "Picture"},
        query={"last": REQUEST_QUERY["last"]},
        media_type="image/svg+xml",
    ),
    DoorOperation(Handlers.show_behaviour, "GET", "behaviour", {200: "Behaviour"}),
    DoorOperation(
        Handlers.change_behaviour, "PATCH", "behaviour", {200: "Behaviour"}, "BehaviourChange", needs_body=True
    ),
    DoorOperation(Handlers.list_gaps, "GET", "gaps", {200: "Gaps"}),
    DoorOperation(Handlers.show_clock, "GET", "clock", {200: "Clock"}),
    DoorOperation(Handlers.change_clock, "PATCH", "clock", {200: "Clock"}, "ClockChange", needs_body=True),
    DoorOperation(Handlers.list_keys, "GET", "keys", {200: "Keys"}),
    DoorOperation(Handlers.issue_key, "POST", "keys", {201: "Key"}, "NewKey"),
    DoorOperation(Handlers.revoke_key, "DELETE", "keys/{api_key}", {204: None}),
    DoorOperation(Handlers.take_snapshot, "POST", "snapshots", {201: "Snapshot"}),
    DoorOperation(Handlers.restore_snapshot, "POST", "snapshots/{snapshot_id}/restore", {200: "World"}),
    DoorOperation(Handlers.drop_snapshot, "DELETE", "snapshots/{snapshot_id}", {204: None}),
    DoorOperation(Handlers.close_connections, "POST", "connections/close", {204: None}),
    DoorOperation(Handlers.show_coverage, "GET", "coverage", {200: "Coverage"}),
    DoorOperation(Handlers.stream_events, "GET", "events", {200: None}, media_type="text/event-stream"),
    DoorOperation(
        Handlers.list_handshakes, "GET", "handshakes", {200: "Handshakes"}, query=HANDSHAKE_QUERY, root_only=True
    ),
    DoorOperation(Handlers.list_worlds, "GET", "worlds", {200: "Worlds"}, root_only=True),
    DoorOperation(Handlers.end_worlds, "DELETE", "worlds", {204: None}, root_only=True),
    DoorOperation(Handlers.list_leaks, "GET", "leaks", {200: "Leaks"}, root_only=True),
)
