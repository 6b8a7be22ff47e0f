"""What the door does with a world, an operation a method. Each leaves everything as it was when it refuses.

The docstring of an operation is what the description of the door, ``openapi.json``, says of it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from werkzeug import Response

from petstore_mock import faults
from petstore_mock.common.masking import mask_text
from petstore_mock.common.real_time import RealTime
from petstore_mock.contract.behaviour import Behaviour, gap_register
from petstore_mock.contract.interface import BASE_PATH
from petstore_mock.contract.strict_json import encode_json
from petstore_mock.control import documents
from petstore_mock.control.events import event_stream
from petstore_mock.control.problems import ProblemError
from petstore_mock.core.world_registry import DEFAULT_WORLD
from petstore_mock.errors import PetStoreMockError
from petstore_mock.journal.criteria import Criteria
from petstore_mock.journal.exchange_svg import exchange_svg
from petstore_mock.journal.har import har_document
from petstore_mock.journal.journal import EvictedError
from petstore_mock.journal.waiting import wait_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from petstore_mock.core.fault_plan import FaultHandle
    from petstore_mock.core.tenant import Tenant
    from petstore_mock.core.tenants import Tenants
    from petstore_mock.core.world import World
    from petstore_mock.journal.entry import Entry

__all__ = ["DoorCall", "Handlers"]

_NUMBER: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_DRAWN: Final = 50  # requests
_DEFAULT_WAIT: Final = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class DoorCall:
    """One request to the door, validated.

    Attributes:
        name: the world that it is about.
        at_root: whether it came at the root.
        origin: scheme, host and port of the service, as the client addresses it.
        arguments: of the path.
        query: of the query.
        body: the decoded body; an empty object without one.
    """

    name: str
    at_root: bool
    origin: str
    arguments: dict[str, str]
    query: dict[str, Any]
    body: Any


class Handlers:
    """Carries out what is asked of the door; each operation returns the content of its answer, or None for none.

    Its status and its media type are those of the table of operations.

    Args:
        tenants: the worlds.
        version: of the package.
        started: when the stub began, by ``time.monotonic()``.
        close_connections: closes the idle connections of these numbers, or all for None.
        own_port: whether the door has a port of its own.
    """

    def __init__(
        self,
        tenants: Tenants,
        version: str,
        started: float,
        close_connections: Callable[[frozenset[int] | None], None],
        *,
        own_port: bool,
    ) -> None:
        self._tenants = tenants
        self._version = version
        self._started = started
        self._close_connections = close_connections
        self._own_port = own_port

    # The stub

    def health(self, _: DoorCall) -> dict[str, Any]:
        """Say that the stub serves."""
        uptime = round(RealTime.monotonic() - self._started, 3)
        return {"status": "ok", "version": self._version, "uptime": uptime, "worlds": len(self._tenants)}

    def openapi(self, call: DoorCall) -> dict[str, Any]:
        """Describe the door itself."""
        from petstore_mock.control.openapi import door_document  # noqa: PLC0415  # for those who ask; and it knows us

        return door_document(call.origin, self._version)

    # Worlds

    def make_world(self, call: DoorCall) -> dict[str, Any] | Response:
        """Make the world, or make it anew."""
        options = dict(call.body)
        if isinstance(options.get("behaviour"), dict):
            options["behaviour"] = Behaviour().replace(**options["behaviour"])
        former = self._tenants.find(call.name)
        previous = None if former is None else _verification(former)
        tenant, made = self._tenants.make(call.name, **options)
        more = {} if previous is None else {"previous": previous}
        document = {**self._world(call, tenant), **more}
        return document if made else Response(encode_json(document), content_type="application/json")

    def show_world(self, call: DoorCall) -> dict[str, Any]:
        """Show the world."""
        return self._world(call, self._tenant(call))

    def reset_world(self, call: DoorCall) -> dict[str, Any]:
        """Return to the starting state."""
        tenant = self._tenant(call)
        tenant.reset()
        return self._world(call, tenant)

    def verify_world(self, call: DoorCall) -> dict[str, Any]:
        """Say what a test would fail for."""
        return _verification(self._tenant(call))

    def tell_verification(self, call: DoorCall) -> dict[str, Any]:
        """Say what a test must fail for by now, and count it as told."""
        tenant = self._tenant(call)
        if call.body.get("excuse", False):
            tenant.excuse()
            return _told([])
        return _told(tenant.tell(again=call.body.get("again", True)))

    def end_world(self, call: DoorCall) -> dict[str, Any]:
        """End the world."""
        tenant = self._tenant(call)
        if tenant is self._tenants.default:
            raise ProblemError(409, "expected a world by address, /w/NAME; the default one lasts as long as the stub")
        verification = _verification(tenant)
        self._tenants.end(tenant)
        return verification

    def list_worlds(self, call: DoorCall) -> dict[str, Any]:
        """Show every world."""
        worlds = [{**self._world(call, tenant), "passed": not tenant.problems} for tenant in self._tenants]
        return {"worlds": worlds}

    def end_worlds(self, _: DoorCall) -> None:
        """End every world but the default one."""
        self._tenants.end_all()

    def list_leaks(self, _: DoorCall) -> dict[str, Any]:
        """Show requests to worlds that were over."""
        leaks = tuple(self._tenants.default.worlds.leaks)
        return {"leaks": [documents.leak_document(leak) for leak in leaks]}

    def list_handshakes(self, call: DoorCall) -> dict[str, Any]:
        """Show the TLS handshakes, oldest first, once those that are running have ended or `wait` seconds are over."""
        handshakes = self._tenants.default.world.journal.handshakes  # nobody knows which world a connection is for
        deadline = RealTime.monotonic() + call.query.get("wait", 0.0)
        for handshake in handshakes:
            handshake.has_settled(max(0.0, deadline - RealTime.monotonic()))
        return {"handshakes": [documents.handshake_document(one) for one in handshakes]}

    def _tenant(self, call: DoorCall) -> Tenant:
        tenant = self._tenants.find(call.name)
        if tenant is None:
            came = f"expected the name of a world; got {call.name[:100]!r}"
            if self._tenants.is_over(call.name):
                came += ", which is over: a DELETE ended it, or nobody asked for it as long as --world-ttl says"
            raise ProblemError(404, f"{came}: PUT world makes it")
        return tenant

    def _world(self, call: DoorCall, tenant: Tenant) -> dict[str, Any]:
        world = tenant.world
        mount = "" if tenant.name is None else f"/w/{tenant.name}"
        with world.lock:
            return {
                "name": _name_of(tenant),
                "url": f"{call.origin}{mount}{BASE_PATH}",
                "api_key": tenant.key,
                "pets": len(world.animals.store),
                "requests": world.journal.total,
                "violations": world.journal.violation_count,
                "faults": sum(1 for _ in world.plan),
                **({} if world.mutation is None else {"mutant": world.mutation.mutant.name}),
            }

    # Animals

    def list_pets(self, call: DoorCall) -> dict[str, Any]:
        """Show the animals."""
        world = self._tenant(call).world
        with world.lock:  # for the copy alone: the service waits for it
            pets = world.animals.store.bodies()
        return {"pets": list(map(json.loads, pets))}

    def add_pets(self, call: DoorCall) -> dict[str, Any]:
        """Add animals, all or none."""
        tenant, sent = self._tenant(call), call.body
        if isinstance(sent, list):
            added = tenant.seed_many(sent)
        elif set(sent) == {"count"}:
            added = tenant.seed_many(sent["count"])
        else:
            added = [tenant.seed(sent, {})]
        return {"pets": added}

    def change_pet(self, call: DoorCall) -> dict[str, Any]:
        """Change an animal as another actor would (§3)."""
        world = self._tenant(call).world
        with world.lock:
            return world.animals.update(_pet_id(world, call), call.body)

    def remove_pet(self, call: DoorCall) -> None:
        """Take an animal out as another actor would (§3)."""
        world = self._tenant(call).world
        with world.lock:
            world.animals.remove(_pet_id(world, call))

    # Faults

    def list_faults(self, call: DoorCall) -> dict[str, Any]:
        """Show the planned faults, spent ones too."""
        return {"faults": [_fault_document(handle, call) for handle in self._tenant(call).world.plan.every()]}

    def plan_fault(self, call: DoorCall) -> dict[str, Any]:
        """Plan a fault."""
        options = dict(call.body)
        fault = faults.from_data(options.pop("fault"))
        tenant = self._tenant(call)
        if fault.meets_handshakes and tenant.worlds.tls and tenant.name is None and not self._own_port:
            raise PetStoreMockError(
                f"expected a control door on a port of its own, serve --control-port PORT, for {fault}: at the "
                "service's port the door's own connections would meet it as well, and nobody could take it away"
            )
        handle = tenant.inject(fault, **options)
        as_written = {"fault": call.body["fault"]}  # and not in its shortest form
        return {**_fault_document(handle, call), **as_written}

    def cancel_faults(self, call: DoorCall) -> None:
        """Take every fault away."""
        self._tenant(call).cancel_faults()

    def cancel_fault(self, call: DoorCall) -> None:
        """Take a fault away."""
        plan = self._tenant(call).world.plan
        handles = plan.every()
        wanted = call.arguments["fault_id"]
        handle = next((one for one in handles if str(one.id) == wanted), None)
        if handle is None:
            ids = ", ".join(str(one.id) for one in handles[-10:]) or "which there is none"
            raise ProblemError(404, f"expected the id of a planned fault, of {ids}; got {wanted[:40]!r}")
        unfired = handle.never_fired and call.query.get("required", False)
        handle.cancel()
        if unfired:
            plan.left_unfired(handle)

    # Requests

    def list_requests(self, call: DoorCall) -> dict[str, Any]:
        """Show the journal, oldest first."""
        journal, query = self._tenant(call).world.journal, call.query
        clears, kept, total = journal.clears, journal.kept, journal.total
        first = kept[0].number if kept else total + 1
        found = [entry for entry in kept if _is_asked_for(entry, query)]
        last = query.get("last")
        found = found[: query.get("limit", 1000)] if last is None else found[-last:]
        with_record = query.get("record", False)
        return {
            "requests": [documents.entry_document(entry, with_record=with_record) for entry in found],
            "total": total,
            "evicted": first - 1,
            **({"clears": clears} if with_record else {}),
        }

    def expect_requests(self, call: DoorCall) -> None:
        """Let nobody answer for these violations."""
        world, numbers = self._tenant(call).world, set(call.body["numbers"])
        with world.lock:
            journal = world.journal
            if call.body.get("clears", journal.clears) == journal.clears:
                for entry in journal.kept:
                    if entry.number in numbers:
                        entry.expected = True

    def clear_requests(self, call: DoorCall) -> None:
        """Forget the journal."""
        self._tenant(call).clear_requests()

    def wait_for_requests(self, call: DoorCall) -> dict[str, Any]:
        """Wait until there are so many requests."""
        tenant, asked = self._tenant(call), call.body
        world = tenant.world
        journal = world.journal
        criteria = Criteria(asked.get("operation"), asked.get("where") or {}, world.schemas)
        count, clears = asked.get("count", 1), journal.clears
        narrow = bool(asked.get("where"))

        def is_met() -> bool:
            came = sum(map(criteria.matches, journal.kept)) if narrow else journal.count(criteria.operation)
            return bool(came >= count)

        with self._tenants.visiting(tenant):
            wait_blocking(
                self._tenants.announcer(tenant),
                lambda: journal.clears != clears or is_met(),
                float(asked.get("timeout", _DEFAULT_WAIT)),
            )
        found = [entry for entry in journal.kept if criteria.matches(entry)]
        met = journal.clears == clears and is_met()
        return {"met": met, "requests": [documents.entry_document(entry) for entry in found]}

    def assert_requests(self, call: DoorCall) -> dict[str, Any]:
        """Say whether requests came, and what came instead."""
        asked = call.body
        journal = self._tenant(call).world.journal
        operation, times, where = asked.get("operation"), asked.get("times"), asked.get("where") or {}
        try:
            passed, message = journal.check(operation, times, where)
        except EvictedError as lost:
            raise ProblemError(409, str(lost)) from None
        return {"passed": passed, "message": message}

    def show_archive(self, call: DoorCall) -> dict[str, Any]:
        """Show the journal as HAR 1.2."""
        return har_document(self._tenant(call).entries)

    def show_picture(self, call: DoorCall) -> str:
        """Draw the latest requests and answers between two lifelines."""
        kept = self._tenant(call).world.journal.kept
        return exchange_svg(kept[-call.query.get("last", _DRAWN) :])

    # Choices and time

    def show_behaviour(self, call: DoorCall) -> dict[str, Any]:
        """Show every gap with its choice."""
        return documents.behaviour_document(self._tenant(call))

    def change_behaviour(self, call: DoorCall) -> dict[str, Any]:
        """Choose alternatives for gaps."""
        tenant, gaps = self._tenant(call), dict(call.body)
        preset = gaps.pop("preset", None)
        tenant.configure(None if preset is None else Behaviour.preset(preset), gaps)
        return documents.behaviour_document(tenant)

    def list_gaps(self, call: DoorCall) -> dict[str, Any]:
        """Show the register of gaps."""
        self._tenant(call)
        return gap_register()

    def show_clock(self, call: DoorCall) -> dict[str, Any]:
        """Show the fake's time."""
        return documents.clock_document(self._tenant(call).world.clock)

    def change_clock(self, call: DoorCall) -> dict[str, Any]:
        """Change the fake's time."""
        world, asked = self._tenant(call).world, call.body
        clock = world.clock
        with world.lock:
            before = clock.snapshot()
            try:
                if "travel_to" in asked:
                    clock.travel_to(asked["travel_to"])
                if "advance" in asked:
                    amounts: Any = {unit: float(amount) for unit, amount in asked["advance"].items()}
                    clock.advance(**amounts)
            except PetStoreMockError:
                clock.restore(before)
                raise
            if "freeze" in asked:
                (clock.freeze if asked["freeze"] else clock.unfreeze)()
            return documents.clock_document(clock)

    # Keys and copies

    def list_keys(self, call: DoorCall) -> dict[str, Any]:
        """Show the API keys."""
        world = self._tenant(call).world
        with world.lock:
            keys = [key for name in world.keys if (key := world.keys.get(name)) is not None]
            shown = [documents.key_document(key, revoked=bool(world.keys.problem(key))) for key in keys]
        return {"keys": shown}

    def issue_key(self, call: DoorCall) -> dict[str, Any]:
        """Issue a further API key."""
        expires = call.body.get("expires")
        return {"api_key": self._tenant(call).issue_key(expires)}

    def revoke_key(self, call: DoorCall) -> None:
        """Revoke an API key."""
        tenant = self._tenant(call)
        if call.arguments["api_key"] not in tenant.world.keys:
            raise ProblemError(404, "expected a key of this world; got one that it never had")
        tenant.revoke_key(call.arguments["api_key"])

    def take_snapshot(self, call: DoorCall) -> dict[str, Any]:
        """Keep a copy of the state."""
        tenant = self._tenant(call)
        return {"id": tenant.keep_snapshot()}

    def restore_snapshot(self, call: DoorCall) -> dict[str, Any]:
        """Return to a copy of the state."""
        tenant = self._tenant(call)
        tenant.restore(tenant.snapshots[_snapshot_id(tenant, call)])
        return self._world(call, tenant)

    def drop_snapshot(self, call: DoorCall) -> None:
        """Forget a copy of the state."""
        tenant = self._tenant(call)
        del tenant.snapshots[_snapshot_id(tenant, call)]

    # Connections, coverage, events

    def close_connections(self, call: DoorCall) -> None:
        """Close the idle kept connections."""
        tenant = self._tenant(call)
        self._close_connections(None if call.at_root else self._used_last_by(tenant))

    def _used_last_by(self, tenant: Tenant) -> frozenset[int]:
        latest = {entry.connection: entry.request.started for entry in tenant.entries if entry.connection}
        for other in self._tenants:
            if other is not tenant:
                for entry in other.entries:
                    if latest.get(entry.connection, entry.request.started) < entry.request.started:
                        del latest[entry.connection]
        return frozenset(latest)

    def show_coverage(self, call: DoorCall) -> dict[str, Any]:
        """Count the documented outcomes that were shown."""
        return documents.coverage_document(self._tenant(call))

    def stream_events(self, call: DoorCall) -> Iterator[bytes]:
        """Tell of requests as they come, and of worlds: made, reset, cleared of their requests, ended."""
        only = None if call.at_root else self._tenant(call)
        return event_stream(self._tenants, only, _name_of)


def _name_of(tenant: Tenant) -> str:
    return tenant.name or DEFAULT_WORLD


def _verification(tenant: Tenant) -> dict[str, Any]:
    return _told(tenant.problems)


def _told(problems: list[tuple[str, str]]) -> dict[str, Any]:
    return {"passed": not problems, "problems": [{"kind": kind, "message": text} for kind, text in problems]}


def _fault_document(handle: FaultHandle, call: DoorCall) -> dict[str, Any]:
    """Return a fault as it was planned, and what has come of it; how it is told, for those who make reports."""
    document = handle.to_data()
    if call.query.get("record", False):
        document["why_not"] = handle.why_not() if handle.never_fired else None
        document["words"] = mask_text(str(handle))
    return document


def _pet_id(world: World, call: DoorCall) -> int:
    text = call.arguments["pet_id"]
    if not _NUMBER.fullmatch(text) or world.animals.store.get(int(text)) is None:
        raise ProblemError(404, f"expected the id of an animal in the store; got {text[:40]!r}")
    return int(text)


def _snapshot_id(tenant: Tenant, call: DoorCall) -> int:
    text = call.arguments["snapshot_id"]
    found = next((number for number in tenant.snapshots if str(number) == text), None)
    if found is None:
        raise ProblemError(404, f"expected the id of a snapshot of this world; got {text[:40]!r}")
    return found


def _is_asked_for(entry: Entry, query: dict[str, Any]) -> bool:
    return bool(
        entry.number > query.get("after", 0)
        and query.get("operation", entry.operation) == entry.operation
        and query.get("status", entry.status) == entry.status
        and query.get("violations", entry.is_violation) == entry.is_violation
    )
