"""The worlds of one listener by name: how they are made, found, and ended."""

from __future__ import annotations

import pytest

from petstore_mock import Behaviour, PetStoreMock, PetStoreMockError
from petstore_mock.core.tenants import FullError, Tenants
from petstore_mock.messages.request import ApiRequest
from tests.inside.core import whole


@pytest.fixture
def petstore() -> PetStoreMock:
    return PetStoreMock(self_check=True, seed=2)


@pytest.fixture
def tenants(petstore: PetStoreMock) -> Tenants:
    return Tenants(petstore.tenant, max_worlds=2)


@pytest.mark.parametrize("name", ["a", "A", "0", "a.b_c~d-e", "...", ".a", "a" * 100, "Default", "~"])
def test_name_of_unreserved_characters_is_taken(tenants: Tenants, name: str) -> None:
    tenant, made = tenants.make(name)
    assert made
    assert tenants.find(name) is tenant


@pytest.mark.parametrize("name", ["", ".", "..", "default", "a/b", "a b", "ä", "a\n", "a" * 101, "%61", "a?b"])
def test_other_name_is_refused(tenants: Tenants, name: str) -> None:
    with pytest.raises(PetStoreMockError, match=r"expected a name of 1 to 100 .*; got name="):
        tenants.make(f"{name} " if name == "default" else name)
    assert len(tenants) == 1


def test_world_is_empty_unless_its_options_say_otherwise(tenants: Tenants) -> None:
    plain, _ = tenants.make("plain")
    other, _ = tenants.make("other", seed=3, behaviour="lenient", at="2030-12-06", strict=True, api_key="team")
    assert len(plain.world.animals.store) == 0
    assert plain.world.rules.behaviour == Behaviour()
    assert len(other.world.animals.store) == 3
    assert other.world.rules.behaviour == Behaviour.preset("lenient")
    assert other.world.clock.moment.isoformat().startswith("2030-12-06")
    assert (other.strict, other.key) == (True, "team")


def test_world_made_anew_is_another_test_s(tenants: Tenants) -> None:
    tenant, _ = tenants.make("one", seed=3, behaviour="lenient")
    key = tenant.key
    again, made = tenants.make("one")
    assert (again, made) == (tenant, False)
    assert len(tenant.world.animals.store) == 0
    assert tenant.world.rules.behaviour == Behaviour()
    assert tenant.key != key
    assert whole(tenants.default.worlds.handle(ApiRequest("GET", "/v1/pets", bearer(key)))).status == 401


def test_default_world_made_anew_keeps_the_keys_that_it_was_given() -> None:
    petstore = PetStoreMock(api_key="fixed", seed=2)
    tenants = Tenants(petstore.tenant)
    _, made = tenants.make("default", seed=1)
    assert not made
    assert petstore.api_key == "fixed"
    assert len(petstore.pets) == 1
    petstore.reset()
    assert len(petstore.pets) == 1, "it is the starting state by now"
    assert whole(petstore.host.worlds.handle(ApiRequest("GET", "/v1/pets", bearer("fixed")))).status == 200


@pytest.mark.parametrize("name", ["one", "default"])
def test_refused_options_change_nothing(petstore: PetStoreMock, tenants: Tenants, name: str) -> None:
    tenants.make("one", seed=2, api_key="team")
    before = [(tenant.key, tenant.world.animals.store.documents(), tenant.strict) for tenant in tenants]
    wrong: list[dict[str, object]] = [{"name": "Rex"}, {"name": 5}]
    with pytest.raises(PetStoreMockError, match="animal 1 of seed"):
        tenants.make(name, seed=wrong, strict=True, api_key="other")
    assert [(tenant.key, tenant.world.animals.store.documents(), tenant.strict) for tenant in tenants] == before
    assert whole(petstore.host.worlds.handle(ApiRequest("GET", "/w/one/v1/pets", bearer("team")))).status == 200


def test_one_world_too_many_is_refused(tenants: Tenants) -> None:
    tenants.make("one")
    two, _ = tenants.make("two")
    with pytest.raises(FullError, match="at most 2 worlds"):
        tenants.make("three")
    tenants.make("one")  # anew
    tenants.end(two)
    tenants.make("three")
    assert len(tenants) == 3


def test_world_that_nobody_asked_is_over(petstore: PetStoreMock) -> None:
    tenants = Tenants(petstore.tenant, ttl=60)
    asked, forgotten, waited_on = (tenants.make(name)[0] for name in ("asked", "forgotten", "waited"))
    for tenant in (asked, forgotten, waited_on):
        tenant.world.asked -= 120
    tenants.find("asked")
    with tenants.visiting(waited_on):
        waited_on.world.asked -= 120
        assert tenants.expire() == ["forgotten"]
    assert tenants.expire() == []
    assert tenants.find("forgotten") is None
    answer = whole(petstore.host.worlds.handle(ApiRequest("GET", "/w/forgotten/v1/pets")))
    assert answer.status == 404
    assert [leak.owner for leak in petstore.host.worlds.leaks] == ["forgotten"]


def test_request_to_its_address_keeps_a_world_alive(petstore: PetStoreMock) -> None:
    tenants = Tenants(petstore.tenant, ttl=60)
    tenant, _ = tenants.make("one")
    tenant.world.asked -= 120
    started = tenant.world.asked + 120
    request = ApiRequest("GET", "/w/one/v1/pets", bearer(tenant.key), b"", 0, 0, started)
    assert whole(petstore.host.worlds.handle(request)).status == 200
    assert tenants.expire() == []


def test_watchers_are_told(tenants: Tenants) -> None:
    told: list[tuple[str | None, str]] = []

    def watcher(tenant: object, event: str) -> None:
        told.append((getattr(tenant, "name", None), event))

    tenants.watch(watcher)
    one, _ = tenants.make("one")
    tenants.make("default")
    tenants.end(one)
    tenants.end(one)
    tenants.unwatch(watcher)
    tenants.make("two")
    tenants.end_all()
    assert told == [("one", "made"), (None, "made"), ("one", "ended")]
    assert len(tenants) == 1


def bearer(key: str) -> list[tuple[bytes, bytes]]:
    return [(b"Authorization", f"Bearer {key}".encode())]
