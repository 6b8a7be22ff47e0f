"""The door: worlds, animals, time, keys and copies of the state."""

from __future__ import annotations

import json
from typing import Any

import pytest

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.mutants import MUTANTS
from tests.inside.unit.control.door import Door


@pytest.fixture
def door() -> Door:
    return Door()


def names(answer: Any) -> list[str]:  # noqa: ANN401
    assert answer.status == 200
    return [pet["name"] for pet in json.loads(answer.body)]


def test_health_tells_version_uptime_and_worlds(door: Door) -> None:
    door.ask("PUT", "world", world="one")
    health = door.get("health")
    assert health["uptime"] >= 0
    assert {**health, "uptime": 0} == {"status": "ok", "version": "1.2.3", "uptime": 0, "worlds": 2}


def test_made_world_is_told_with_its_address_and_key(door: Door) -> None:
    answer = door.ask("PUT", "world", {"seed": 3}, world="one")
    assert answer.status_code == 201
    key = answer.json["api_key"]
    assert answer.json == {
        "name": "one",
        "url": "http://127.0.0.1:8080/w/one/v1",
        "api_key": key,
        "pets": 3,
        "requests": 0,
        "violations": 0,
        "faults": 0,
    }
    assert len(names(door.call(key, "/w/one/v1/pets"))) == 3
    assert door.get("world", world="one")["requests"] == 1


def test_a_world_breaks_one_clause_until_it_is_made_anew(door: Door) -> None:
    made = door.ask("PUT", "world", {"seed": 3, "mutant": "list-wrapped"}, world="one").json
    assert made["mutant"] == "list-wrapped"
    assert door.get("worlds")["worlds"][1]["mutant"] == "list-wrapped"
    assert b'{"pets":' in door.call(made["api_key"], "/w/one/v1/pets").body
    door.call("wrong", "/w/one/v1/pets")
    shown = door.get("requests", world="one")["requests"]
    assert [one.get("mutant") for one in shown] == ["list-wrapped", None]
    assert door.ask("POST", "world/reset", world="one").json["mutant"] == "list-wrapped"
    assert b'{"pets":' in door.call(door.get("world", world="one")["api_key"], "/w/one/v1/pets").body
    anew = door.ask("PUT", "world", {"seed": 3}, world="one").json
    assert "mutant" not in anew
    assert len(names(door.call(anew["api_key"], "/w/one/v1/pets"))) == 3
    assert "mutant" not in door.get("world")


def test_a_mutant_that_there_is_not_gets_422_with_the_nearest_and_changes_nothing(door: Door) -> None:
    door.ask("PUT", "world", {"mutant": "list-wrapped"}, world="one")
    answer = door.ask("PUT", "world", {"mutant": "list-wraped"}, world="one")
    assert answer.status_code == 422
    assert answer.json["violations"] == [
        {
            "field": "body.mutant",
            "message": f"body.mutant to be one of the {len(MUTANTS)} names in openapi.json; "
            "got \"list-wraped\" (string). Did you mean 'list-wrapped'?",
        }
    ]
    assert door.get("world", world="one")["mutant"] == "list-wrapped"
    known = door.get("openapi.json")["components"]["schemas"]["WorldOptions"]["properties"]["mutant"]["enum"]
    assert known == [*MUTANTS, None]


def test_url_begins_as_the_host_of_the_request_says(door: Door) -> None:
    url = door.get("world", headers={"Host": "localhost:8080"})["url"]
    assert url == "http://localhost:8080/v1"


def test_world_made_anew_tells_its_former_verification(door: Door) -> None:
    first = door.ask("PUT", "world", {"seed": 3, "strict": True}, world="one").json
    door.call(first["api_key"], "/w/one/v1/pets?limit=1000")
    again = door.ask("PUT", "world", world="one")
    assert again.status_code == 200
    assert again.json["previous"]["passed"] is False
    assert [one["kind"] for one in again.json["previous"]["problems"]] == ["violation"]
    assert again.json["api_key"] != first["api_key"]
    assert (again.json["pets"], again.json["requests"]) == (0, 0)
    assert door.get("world/verification", world="one") == {"passed": True, "problems": []}


def test_default_world_made_anew_keeps_its_given_key() -> None:
    door = Door(PetStoreMock(api_key="fixed"))
    assert door.ask("PUT", "world", {"seed": 2}).json["api_key"] == "fixed"
    assert len(names(door.call("fixed", "/v1/pets"))) == 2
    assert door.ask("PUT", "world", {"api_key": "other"}).json["api_key"] == "other"
    assert door.call("fixed", "/v1/pets").status == 401
    door.ask("PUT", "world", {"api_key": "fixed"}, world="one")
    assert door.ask("PUT", "world").json["api_key"] == "fixed"


def test_world_made_anew_loses_the_key_that_the_test_before_gave_it(door: Door) -> None:
    assert door.ask("PUT", "world", {"api_key": "given"}, world="one").json["api_key"] == "given"
    key = door.ask("PUT", "world", world="one").json["api_key"]
    assert key != "given"
    assert [door.call(one, "/w/one/v1/pets").status for one in (key, "given")] == [200, 401]
    door.ask("PUT", "world", world="one")
    assert b"looks like one of another world" in door.call(key, "/w/one/v1/pets").body


def test_default_world_is_never_ended(door: Door) -> None:
    answer = door.ask("DELETE", "world")
    assert answer.status_code == 409
    assert answer.json["title"] == "Conflict"


@pytest.mark.parametrize("name", ["default", "a%2Fb", "%2e%2e", ".", "%20", "", "a" * 101, "%C3%A4"])
def test_name_that_is_none_is_refused(door: Door, name: str) -> None:
    answer = door.ask("PUT", "world", world=name) if name else door.client.put("/w//__petstore/world")
    assert answer.status_code in ({403} if not name else {422, 404} if name == "." else {422})
    assert door.get("health")["worlds"] == 1


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_world_that_is_not_there_is_404(door: Door, method: str) -> None:
    answer = door.ask(method, "world", world="nobody")
    assert answer.status_code == 404
    assert "nobody" in answer.json["detail"]
    assert door.petstore.host.worlds.leaks == []


def test_ended_world_leaks_and_is_listed(door: Door) -> None:
    key = door.ask("PUT", "world", world="one").json["api_key"]
    assert door.ask("DELETE", "world", world="one").json == {"passed": True, "problems": []}
    assert "over: a DELETE ended it, or nobody asked" in door.ask("GET", "world", world="one").json["detail"]
    assert door.call(key, "/w/one/v1/pets").status == 404
    assert door.call(key, "/v1/pets").status == 401
    assert door.get("leaks") == {
        "leaks": [
            {"world": "one", "request": "GET /v1/pets", "status": 404, "by_key": False},
            {"world": "one", "request": "GET /v1/pets", "status": 401, "by_key": True},
        ]
    }


def test_worlds_are_listed_and_ended_together(door: Door) -> None:
    for name in ("one", "two"):
        door.ask("PUT", "world", world=name)
    door.ask("POST", "faults", {"fault": 503, "times": 1}, world="two")
    worlds = door.get("worlds")["worlds"]
    assert [(world["name"], world["passed"]) for world in worlds] == [
        ("default", True),
        ("one", True),
        ("two", False),
    ]
    assert door.ask("DELETE", "worlds").status_code == 204
    assert door.get("health")["worlds"] == 1


@pytest.mark.parametrize("path", ["worlds", "leaks", "health", "openapi.json"])
def test_what_concerns_all_is_at_the_root_alone(door: Door, path: str) -> None:
    door.ask("PUT", "world", world="one")
    assert door.ask("GET", path, world="one").status_code == 404


def test_one_world_too_many_is_507() -> None:
    door = Door(max_worlds=1)
    assert door.ask("PUT", "world", world="one").status_code == 201
    answer = door.ask("PUT", "world", world="two")
    assert answer.status_code == 507
    assert "--max-worlds" in answer.json["detail"]
    assert door.ask("PUT", "world", world="one").status_code == 200


def test_reset_returns_to_the_start_and_keeps_what_is_to_be_answered_for(door: Door) -> None:
    door.ask("PUT", "world", {"seed": 1}, world="one")
    key = door.ask("POST", "keys", world="one").json["api_key"]
    door.ask("POST", "pets", {"count": 2}, world="one")
    door.ask("POST", "faults", {"fault": 503, "on": "createPet", "times": 1}, world="one")
    answer = door.ask("POST", "world/reset", world="one")
    assert answer.status_code == 200
    assert (answer.json["pets"], answer.json["faults"]) == (1, 0)
    assert door.call(key, "/w/one/v1/pets").status == 401
    problems = door.get("world/verification", world="one")["problems"]
    assert [one["kind"] for one in problems] == ["unfired_fault"]
    assert door.get("world/verification", world="one")["problems"] == problems, "to look changes nothing"


def test_animals_are_added_changed_and_removed(door: Door) -> None:
    one = door.ask("POST", "pets", {"name": "Rex", "status": "sold"})
    assert one.status_code == 201
    assert one.json == {"pets": [{"id": 1, "name": "Rex", "categoryId": 1, "status": "sold"}]}
    many = door.ask("POST", "pets", [{"name": "Tom"}, {}]).json["pets"]
    assert [pet["id"] for pet in many] == [2, 3]
    assert len(door.ask("POST", "pets", {"count": 4}).json["pets"]) == 4
    changed = door.ask("PATCH", "pets/1", {"status": None, "name": "Max"})
    assert changed.json == {"id": 1, "name": "Max", "categoryId": 1}
    assert door.ask("DELETE", "pets/2").status_code == 204
    assert [pet["id"] for pet in door.get("pets")["pets"]] == [1, 3, 4, 5, 6, 7]


def test_of_several_animals_all_or_none_are_added(door: Door) -> None:
    door.ask("POST", "pets", {"id": 7})
    before = door.get("pets")
    answer = door.ask("POST", "pets", [{"name": "A"}, {"name": "B"}, {"name": 5}])
    assert answer.status_code == 422
    assert "animal 2" in answer.json["detail"]
    assert door.get("pets") == before
    assert door.ask("POST", "pets", {}).json["pets"][0]["id"] == 8, "no id was used up"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"count": "2"}, 'body.count to be of type integer; got "2" (string)'),
        ({"count": -2}, "body.count to be at least 0; got -2 (integer)"),
        ({"count": 2, "name": "Rex"}, "no member body.name: there is count"),
        ([1], "body.0 to be of type object; got 1 (integer)"),
        ("Rex", 'body to be an animal, an array of animals, or how many, as {"count": 20}; got "Rex" (string)'),
    ],
)
def test_of_several_forms_the_refusal_speaks_of_the_one_that_was_meant(door: Door, body: object, words: str) -> None:
    answer = door.ask("POST", "pets", body)
    assert (answer.status_code, answer.json["detail"]) == (422, f"expected {words}")


@pytest.mark.parametrize("pet_id", ["9", "x", "1_0", "99999999999999999999999", "-1"])
@pytest.mark.parametrize(("method", "body"), [("PATCH", {"name": "A"}), ("DELETE", None)])
def test_animal_that_is_not_there_is_404(door: Door, method: str, body: object, pet_id: str) -> None:
    assert door.ask(method, f"pets/{pet_id}", body).status_code == 404


@pytest.mark.parametrize("body", [{"name": 5}, {"id": 2}, {"colour": "red"}, {"status": "gone"}])
def test_change_that_can_not_be_right_is_422(door: Door, body: object) -> None:
    door.ask("POST", "pets", {"name": "Rex"})
    assert door.ask("PATCH", "pets/1", body).status_code == 422
    assert door.get("pets")["pets"][0]["name"] == "Rex"


def test_behaviour_is_shown_and_changed(door: Door) -> None:
    behaviour = door.get("behaviour")
    assert behaviour == {name: gap.default for name, gap in GAPS.items()}
    changed = door.ask("PATCH", "behaviour", {"preset": "lenient", "list_order": "by_name"}).json
    lenient = Behaviour.preset("lenient").replace(list_order="by_name")
    assert changed == {name: getattr(lenient, name) for name in GAPS}
    assert door.ask("PATCH", "behaviour", {"limits": "x"}).status_code == 422
    assert door.get("behaviour") == changed
    assert [gap["name"] for gap in door.get("gaps")["gaps"]] == list(GAPS)


def test_clock_travels_advances_and_freezes(door: Door) -> None:
    answer = door.ask("PATCH", "clock", {"travel_to": "2030-12-06", "advance": {"minutes": 1}, "freeze": True})
    assert answer.json == {"now": "2030-12-06T00:01:00.000Z", "frozen": True}
    assert door.get("clock") == answer.json
    assert door.ask("PATCH", "clock", {"travel_to": "2031-01-01", "advance": {"days": 1e12}}).status_code == 422
    assert door.get("clock") == answer.json, "nothing has changed"
    assert door.ask("PATCH", "clock", {"freeze": False}).json["frozen"] is False


def test_keys_are_issued_and_revoked(door: Door) -> None:
    key = door.ask("POST", "keys").json["api_key"]
    brief = door.ask("POST", "keys", {"expires": 60}).json["api_key"]
    assert names(door.call(key, "/v1/pets")) == names(door.call(brief, "/v1/pets")) == []
    assert door.ask("DELETE", f"keys/{key}").status_code == 204
    door.ask("PATCH", "clock", {"advance": {"seconds": 61}})
    assert [door.call(one, "/v1/pets").status for one in (key, brief)] == [401, 401]
    assert [one["revoked"] for one in door.get("keys")["keys"]] == [False, True, True]
    assert door.ask("DELETE", "keys/nobody").status_code == 404


def test_key_with_odd_characters_is_found_in_a_path() -> None:
    door = Door(PetStoreMock(api_key="a/b+c~=="))
    assert door.ask("DELETE", "keys/a%2Fb+c~==").status_code == 204
    assert door.call("a/b+c~==", "/v1/pets").status == 401


def test_state_is_copied_and_restored(door: Door) -> None:
    door.ask("POST", "pets", {"count": 2})
    number = door.ask("POST", "snapshots").json["id"]
    door.ask("POST", "pets", {"count": 2})
    restored = door.ask("POST", f"snapshots/{number}/restore")
    assert (restored.status_code, restored.json["pets"]) == (200, 2)
    door.ask("POST", "world/reset")
    assert door.ask("POST", f"snapshots/{number}/restore").json["pets"] == 2, "copies stay over a reset"
    assert door.ask("DELETE", f"snapshots/{number}").status_code == 204
    assert door.ask("DELETE", f"snapshots/{number}").status_code == 404


def test_idle_connections_are_closed_for_all_or_for_one_world(door: Door) -> None:
    door.ask("PUT", "world", world="one")
    assert door.ask("POST", "connections/close").status_code == 204
    assert door.ask("POST", "connections/close", world="one").status_code == 204
    assert door.closed == [None, frozenset()]


def test_a_verification_that_is_told_is_told_once_unless_it_is_asked_again() -> None:
    door = Door()
    door.ask("PUT", "world", {"strict": True}, world="one")
    key = door.get("world", world="one")["api_key"]
    door.call(key, "/w/one/v1/pets?limit=x")
    tell = [door.ask("POST", "world/verification", body, world="one").json for body in ({}, {"again": False}, {})]
    assert [one["passed"] for one in tell] == [False, True, False]
    assert tell[0]["problems"] == tell[2]["problems"] == door.get("world/verification", world="one")["problems"]
    door.ask("POST", "world/reset", world="one")
    assert not door.ask("POST", "world/verification", world="one").json["problems"]  # told before
    door.call(key, "/w/one/v1/pets?limit=y")
    assert door.ask("POST", "world/verification", {"excuse": True}, world="one").json["passed"]
    assert door.ask("POST", "world/verification", {"again": False}, world="one").json["passed"]


def test_violations_that_were_expected_are_excused_unless_the_numbers_are_others() -> None:
    door = Door()
    door.ask("PUT", "world", {"strict": True}, world="one")
    key = door.get("world", world="one")["api_key"]
    door.call(key, "/w/one/v1/pets?limit=x")
    clears = door.get("requests?record=true", world="one")["clears"]
    wrong = door.ask("POST", "requests/expect", {"numbers": [1], "clears": clears + 1}, world="one")
    assert wrong.status_code == 204
    assert not door.get("world/verification", world="one")["passed"]
    door.ask("POST", "requests/expect", {"numbers": [1, 7], "clears": clears}, world="one")
    assert door.get("world/verification", world="one")["passed"]
    assert door.ask("POST", "requests/expect", {"numbers": ["1"]}, world="one").status_code == 422


def test_a_fault_that_must_fire_can_be_taken_away_and_answered_for() -> None:
    door = Door()
    for query, passed in (("", True), ("?required=true", False)):
        fault = door.ask("POST", "faults?record=true", {"fault": 503, "times": 1}).json
        assert fault["why_not"] == "no request matched it"
        assert fault["words"] == "inject(server_error(503), times=1)"
        assert door.ask("DELETE", f"faults/{fault['id']}{query}").status_code == 204
        assert door.get("faults") == {"faults": []}
        assert door.get("world/verification")["passed"] is passed
