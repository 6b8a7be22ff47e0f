"""What a client of the stream costs that does not read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from petstore_mock.control import events
from petstore_mock.control.events import event_stream
from petstore_mock.core.tenants import Tenants
from tests.inside.unit.control.door import Door

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.core.tenant import Tenant


def named(tenant: Tenant) -> str:
    return tenant.name or "default"


def told(stream: Iterator[bytes], count: int) -> list[str]:
    """Return the worlds of the next events, and the comments between them."""
    lines = [next(stream).decode() for _ in range(count)]
    return [
        line.strip() if line.startswith(":") else json.loads(line.partition("data: ")[2])["world"] for line in lines
    ]


@pytest.mark.parametrize("bound", ["LONGEST_QUEUE", "HEAVIEST_QUEUE"])
def test_requests_that_nobody_reads_are_left_out_and_counted(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, bound, 1 if bound == "LONGEST_QUEUE" else 100)  # less than two requests
    door = Door()
    stream = event_stream(door.tenants, None, named)
    for _ in range(3):
        door.call(None, "/v1/pets")
    assert told(stream, 3)[1:] == ["default", ": 2 events are left out: they came faster than they were read"]
    door.call(None, "/v1/pets")
    assert told(stream, 1) == ["default"], "it goes on"


def test_worlds_that_nobody_reads_of_are_left_out_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LONGEST_QUEUE", 2)
    door = Door()
    stream = event_stream(door.tenants, None, named)
    for name in ("one", "two"):
        door.tenants.end(door.tenants.make(name)[0])
    assert told(stream, 4)[1:] == ["one", ": 2 events are left out: they came faster than they were read", "one"]


def test_stream_tells_what_became_of_worlds_and_of_their_journals() -> None:
    door = Door()
    stream = event_stream(door.tenants, None, named)
    next(stream)
    door.ask("PUT", "world", {}, world="one")
    door.ask("DELETE", "requests", world="one")
    door.ask("POST", "world/reset", world="one")
    door.ask("PUT", "world", {}, world="one")
    door.ask("DELETE", "world", world="one")
    events = [next(stream).decode() for _ in range(5)]
    assert {line.partition("\n")[0] for line in events} == {"event: world"}
    seen = [json.loads(line.partition("data: ")[2]) for line in events]
    assert seen == [{"world": "one", "event": event} for event in ("made", "cleared", "reset", "made", "ended")]


@pytest.mark.parametrize("world", ["", "one"])
def test_stream_of_which_no_line_is_read_listens_no_more(world: str) -> None:
    door = Door()
    tenant = door.tenants.make(world)[0] if world else door.tenants.default
    before = tenant.world.journal.listeners
    assert door.ask("HEAD", "events", world=world).status_code == 200
    assert (tenant.world.journal.listeners, tenant.visitors) == (before, 0)


def test_stream_of_a_world_ends_with_it_though_its_end_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LONGEST_QUEUE", 1)
    monkeypatch.setattr(events, "HEARTBEAT", 0.01)
    tenants = Tenants(Door().petstore.tenant)
    tenant, _ = tenants.make("one")
    stream = event_stream(tenants, tenant, named)
    tenant.reset()
    tenants.end(tenant)
    assert len(list(stream)) == 3, "the greeting, the reset, and what was left out"
