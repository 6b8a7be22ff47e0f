"""The world of each request, and requests that leak."""

from __future__ import annotations

import gc
from weakref import ref

import pytest

from petstore_mock.core.refusals import ProblemError
from petstore_mock.core.registry import Worlds
from petstore_mock.core.world import Host, World
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.http.response import Response
from petstore_mock.verbs.state import drop_snapshot, take_snapshot
from petstore_mock.verbs.worlds import make_world


def worlds_of(**options: object) -> Worlds:
    return Worlds(World(Host(), options))


def send(worlds: Worlds, key: str, target: str = "/v1/pets") -> int:
    fields = Fields([(b"Authorization", f"Bearer {key}".encode())])
    response: Response = worlds.handle(ApiRequest("GET", target, fields))  # type: ignore[assignment]  # no fault defers it
    return response.status


def test_world_exists_before_watchers_receive_its_event() -> None:
    worlds = worlds_of()
    heard: list[tuple[str, bool]] = []
    worlds.host.watchers.append(lambda world, event, _: heard.append((event, world.name in worlds.named)))
    for _ in range(2):
        make_world(worlds, {"name": "one"})
    assert heard == [("made", True), ("made", True)]


def test_leak_names_the_finished_test_of_its_key() -> None:
    worlds = worlds_of()
    world = worlds.default
    first = world.key
    world.renew("test_a")
    of_a = world.key
    world.renew("test_b", seed=2, strict=True)
    assert (send(worlds, world.key), send(worlds, of_a), send(worlds, first)) == (200, 401, 401)
    assert [leak["world"] for leak in worlds.leaks] == ["test_a", "an earlier world"]
    assert (world.journal.total, len(world.store), world.verification.strict) == (1, 2, True)


def test_world_of_an_earlier_test_gets_only_requests_with_its_key() -> None:
    worlds = worlds_of()
    kept = World(worlds.host, {}, owner="test_a")
    worlds.push(kept)
    worlds.default.renew("test_b")
    worlds.bring_forward(worlds.default)
    assert (send(worlds, "unknown"), send(worlds, kept.key)) == (401, 200)
    assert (worlds.current.journal.total, kept.journal.total) == (1, 1)


def test_path_selects_the_world_if_worlds_share_a_key() -> None:
    worlds = worlds_of(api_key="team")
    worlds.add("one", {"api_key": "team", "seed": 1})
    one = worlds.find("one")
    assert (send(worlds, "team", "/w/one/v1/pets"), send(worlds, "team")) == (200, 200)
    assert (one.journal.total, worlds.default.journal.total) == (1, 1)
    worlds.end(one)
    targets = ("/w/one/v1/pets", "/w/none/v1/pets", "/v1/pets")
    assert [send(worlds, "team", target) for target in targets] == [404, 404, 200]
    assert [(leak["world"], leak["by_key"]) for leak in worlds.leaks] == [("one", False)]


def test_a_world_sees_its_own_request_and_leaves_that_of_the_client_alone() -> None:
    worlds = worlds_of()
    worlds.host.public_url = "https://example.com/shop"
    worlds.add("one", {"api_key": "k"})
    fields = Fields([(b"Authorization", b"Bearer k")])
    request = ApiRequest("GET", "/w/%6fne/v1/pets?limit=1", fields)
    before = dict(vars(request))
    for _ in range(2):
        worlds.handle(request)
    assert vars(request) == before
    seen = worlds.find("one").journal[1].request
    assert (seen.target, seen.mount, seen.base_path) == ("/v1/pets?limit=1", "/w/%6fne", "/shop/w/%6fne")


def test_the_owners_of_keys_have_a_bound_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petstore_mock.core.world._REMEMBERED", 100_000)
    worlds = worlds_of()
    world = worlds.default
    long = "k" * 10_000
    for number in range(50):
        world.add_key(f"{number}{long}")
        worlds.host.retire(f"{number}{long}", world)
    retired = worlds.host.retired
    assert sum(len(key) for key in retired) < 100_000
    assert list(retired) == [f"{number}{long}" for number in range(50 - len(retired), 50)]
    for number in range(50):
        world.add_key(f"{number}{long}")
    assert retired == {}
    assert worlds.host.retired_bytes == 0


def test_snapshots_of_the_door_have_a_bound_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    world = worlds_of(seed=1000).default
    monkeypatch.setattr("petstore_mock.core.world._KEPT_SNAPSHOTS", 5 * world.store.weight() // 2)
    numbers = [take_snapshot(world, {}), take_snapshot(world, {})]
    with pytest.raises(ProblemError, match="delete some") as caught:
        take_snapshot(world, {})
    assert caught.value.status == 507
    drop_snapshot(world, {"snapshot_id": numbers[0]["id"]})
    take_snapshot(world, {})


@pytest.mark.seconds
@pytest.mark.untraced
def test_a_cache_of_routes_and_responses_has_a_bound_in_bytes() -> None:
    worlds = worlds_of(api_key="team")
    store = worlds.default.store
    for number in range(2000):
        send(worlds, "team", f"/v1/pets?{'&'.join(f'x{part}{number}=1' for part in range(40))}"[:400])
    assert sum(route.weight for route in store.rules.kept_routes.values()) < 2**19
    store.seed_each([{"name": "x" * 100_000}] * 3)
    for limit in range(1, 4):
        send(worlds, "team", f"/v1/pets?limit={limit}")
    assert store.responses == {}


def test_an_ended_world_leaves_no_request_behind_even_without_a_garbage_collection() -> None:
    worlds = worlds_of()
    worlds.add("one", {"api_key": "k", "seed": 5})
    world = worlds.find("one")
    world.snapshots[1] = world.snapshot()
    send(worlds, "k", "/w/one/v1/pets")
    contents: list[ref[object]] = [ref(world.journal[0]), ref(world.store)]
    gc.disable()
    try:
        worlds.end(world)
        assert [content() for content in contents] == [None, None]
        assert (len(world.store), world.snapshots) == (0, {})
    finally:
        gc.enable()
