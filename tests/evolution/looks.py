"""Each room has the additions: ``test_grown_interface.py`` runs these tests on a copy whose interface has grown."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

import pytest
from hypothesis import find, settings

import petstore_mock
from petstore_mock import PetStoreMock, PetStoreMockError, faults, strategies
from petstore_mock.stateful import check_client

World = Any  # a PetStoreMock, but the static types of this checkout lack the additions
PACKAGE = Path(petstore_mock.__file__).parent
PET = "/v1/pets/{}"
COLOURED = {"name": "Rex", "categoryId": 1, "colours": ["brown", "grey"]}


@pytest.fixture
def petstore() -> Iterator[World]:
    with PetStoreMock(control=True, strict=False) as petstore:
        yield petstore


def ask(
    petstore: World, method: str, target: str, value: object = None, *, with_key: bool = True
) -> tuple[int, Any, str | None]:
    """Send a request; return the status, the JSON value and the field Allow of the response."""
    connection = http.client.HTTPConnection(urlsplit(petstore.url).netloc, timeout=10)
    fields = {**(petstore.headers if with_key else {}), "Content-Type": "application/json"}
    connection.request(method, target, None if value is None else json.dumps(value), fields)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body) if body else None, response.getheader("Allow")


def ids(pets: Any) -> list[int]:
    return [pet["id"] for pet in pets]


def test_process_runs_on_the_copy() -> None:
    assert PACKAGE.parent == Path(__file__).parent


def test_new_operation_is_routed(petstore: World) -> None:
    pet_id = petstore.seed(colours=["brown"])["id"]
    assert ask(petstore, "PUT", PET.format(pet_id))[:2] == (204, None)
    assert petstore.pets == []
    assert ask(petstore, "PUT", PET.format(pet_id))[0] == 404
    for method, section in (("PUT", "4.9"), ("GET", "4.3")):
        assert ask(petstore, method, PET.format("x"))[0] == 404
        assert petstore.journal.last.section == section
    for method in ("PATCH", "OPTIONS"):
        allowed = ask(petstore, method, PET.format(1))[2]
        assert allowed is not None
        assert {"PUT", "GET", "HEAD", "OPTIONS"} <= {*allowed.split(", ")}


def test_new_parameter_filters_and_is_suggested(petstore: World) -> None:
    petstore.seed_many([{"id": 1, "colours": ["brown"]}, {"id": 2, "colours": ["grey", "brown"]}, {"id": 3}])
    for colour, found in {"brown": [1, 2], "grey": [2], "no": []}.items():
        assert ids(ask(petstore, "GET", f"/v1/pets?colour={colour}")[1]) == found
    assert "did you mean colour?" in ask(petstore, "GET", "/v1/pets?colours=brown")[1]["message"]


def test_new_field_is_accepted_and_validated(petstore: World) -> None:
    status, created, _ = ask(petstore, "POST", "/v1/pets", COLOURED)
    assert (status, created["colours"]) == (201, ["brown", "grey"])
    assert ask(petstore, "POST", "/v1/pets", {**COLOURED, "colours": ["brown", 5]})[0] == 400
    assert petstore.journal.last.violations[0].path == "body.colours.1"


def test_openapi_describes_the_new_operation_parameter_and_field(petstore: World) -> None:
    document = petstore.openapi()
    removes = document["paths"]["/pets/{petId}"]["put"]
    assert removes["operationId"] == "retirePet"
    assert sorted(removes["responses"]) == ["204", "401", "404", "default"]
    listed = document["paths"]["/pets"]["get"]["parameters"]
    assert listed[-1]["name"] == "colour"
    for name in ("Pet", "NewPet"):
        assert "colours" in document["components"]["schemas"][name]["properties"]
    (sent,) = document["paths"]["/pets"]["post"]["requestBody"]["content"]["application/json"]["examples"].values()
    assert sent["value"]["colours"] == ["brown"]


def test_seed_and_update_accept_the_new_field(petstore: World) -> None:
    assert [pet["colours"] for pet in petstore.seed_many(2)] == [["brown"], ["grey", "white"]]
    pet = petstore.seed(colours=["new"])
    assert pet["colours"] == ["new"]
    assert petstore.update(pet["id"], colours=["other"])["colours"] == ["other"]
    assert "colours" not in petstore.update(pet["id"], colours=None)
    with pytest.raises(PetStoreMockError, match="colours must be an array"):
        petstore.seed(colours="brown")


def test_journal_knows_the_new_operation_and_its_criteria(petstore: World) -> None:
    pet = petstore.seed()
    ask(petstore, "PUT", PET.format(pet["id"]))
    ask(petstore, "GET", "/v1/pets?colour=brown")
    ask(petstore, "POST", "/v1/pets", COLOURED)
    petstore.journal.assert_called("retirePet", times=1, petId=pet["id"], status=204)
    petstore.journal.assert_called("listPets", times=1, colour="brown")
    petstore.journal.assert_called("createPet", times=1, colours=["brown", "grey"])
    assert all(one.executed for one in petstore.journal)


@pytest.mark.parametrize(("at", "is_left"), [("before_commit", True), ("after_commit", False)])
def test_faults_fire_before_and_after_the_commit(petstore: World, at: str, is_left: bool) -> None:
    pet = petstore.seed()
    with petstore.inject(faults.server_error(503), on="retirePet", at=at, where={"petId": pet["id"]}):
        assert ask(petstore, "PUT", PET.format(pet["id"]))[0] == 503
    assert (petstore.pets == [pet]) is is_left


COVERED = """
from looks import COLOURED, PET, ask

def test_it(petstore):
    ask(petstore, "PUT", PET.format(petstore.seed()["id"]))
    ask(petstore, "POST", "/v1/pets", COLOURED)
"""


def test_coverage_has_outcomes_of_the_new_operation_and_field(tmp_path: Path) -> None:
    (tmp_path / "test_covered.py").write_text(COVERED, encoding="utf-8")
    record = tmp_path / "covered.json"
    # Assertion rewriting makes syntax trees. In two threads at the same time, that can fail (python/cpython#106905).
    options = ["-q", "--assert=plain", f"--rootdir={tmp_path}", f"--petstore-coverage-json={record}"]
    command = [sys.executable, "-m", "pytest", *options]
    subprocess.run([*command, str(tmp_path)], check=False, timeout=100)
    outcomes = json.loads(record.read_text(encoding="utf-8"))["outcomes"]
    shown = {f"{one['operation']} {one['outcome']}": one["shown"] for one in outcomes}
    assert (shown["retirePet 204"], shown["retirePet 404"]) == (True, False)
    assert (shown["createPet 201 colours present"], shown["createPet 201 colours absent"]) == (True, False)


def test_door_describes_the_additions_and_accepts_the_new_field(petstore: World) -> None:
    document = ask(petstore, "GET", "/__petstore/openapi.json")[1]
    for name in ("Animal", "NewAnimal", "AnimalChanges", "Criteria"):
        assert "colours" in document["components"]["schemas"][name]["properties"]
    assert "colour" in document["components"]["schemas"]["Criteria"]["properties"]
    assert "retirePet" in json.dumps(document)
    status, added, _ = ask(petstore, "POST", "/__petstore/pets", {"colours": ["brown"]})
    assert (status, added["pets"][0]["colours"]) == (201, ["brown"])
    assert ask(petstore, "POST", "/__petstore/pets", {"colours": "brown"})[0] == 422


def test_console_hard_codes_no_field() -> None:
    page = PACKAGE / "control" / "page"
    assert [file.name for file in page.iterdir() if "categoryId" in file.read_text(encoding="utf-8")] == []


def test_mutants_break_the_new_operation_field_and_parameter() -> None:
    mutant: World
    with PetStoreMock(mutant="retire-without-key", strict=False) as mutant:
        assert ask(mutant, "PUT", PET.format(mutant.seed()["id"]), with_key=False)[0] == 204
    with PetStoreMock(mutant="create-colours-dropped", strict=False) as mutant:
        assert "colours" not in ask(mutant, "POST", "/v1/pets", COLOURED)[1]
    with PetStoreMock(mutant="list-colour-filter-ignored", strict=False) as mutant:
        mutant.seed(colours=["grey"])
        assert len(ask(mutant, "GET", "/v1/pets?colour=brown")[1]) == 1


def test_static_types_name_the_new_operation_and_field() -> None:
    source = (PACKAGE / "interface" / "static.py").read_text(encoding="utf-8")
    assert '"retirePet"]' in source
    assert source.count("    colours: list[str]") == 2  # in the fields of a new animal, and in the changes of an animal


def test_strategies_draw_the_new_field_and_parameter() -> None:
    quick = settings(database=None, max_examples=2000)
    new: Any = find(strategies.new_pets(), lambda pet: bool(pet.get("colours")), settings=quick)
    assert new["colours"] == ["Rex"]
    assert "colour" in find(strategies.list_queries(), lambda query: "colour" in query, settings=quick)
    assert find(strategies.invalid_new_pets(), lambda one: "colours" in str(one.body), settings=quick).rule


def test_verify_has_clauses_for_the_new_operation_and_field(petstore: World, tmp_path: Path) -> None:
    record = tmp_path / "verdict.json"
    command = [sys.executable, "-m", "petstore_mock", "verify", petstore.url, "--allow-create", "20"]
    options = ["--api-key-env", "KEY", "--rate", "1000", "--json", str(record)]
    subprocess.run([*command, *options], env={**os.environ, "KEY": petstore.api_key}, check=False, timeout=100)
    clauses = [one["id"] for one in json.loads(record.read_text(encoding="utf-8"))["clauses"]]
    assert any(name.startswith("4.9") for name in clauses)
    assert any("colours" in name for name in clauses)


class Client:
    """Counts how often the machine uses the new names."""

    counts: dict[str, int] = {}  # noqa: RUF012  # all instances share it

    def __init__(self, petstore: World) -> None:
        self.petstore = petstore

    def list_pets(self, limit: object = None, status: object = None, colour: object = None) -> object:
        query = {"limit": limit, "status": status, "colour": colour}
        given = {name: value for name, value in query.items() if value is not None}
        return self.ask("GET", f"/v1/pets?{urlencode(given)}", colour=colour)

    def create_pet(self, name: str, category_id: int, status: object = None, colours: object = None) -> object:
        body = {"name": name, "categoryId": category_id, "status": status, "colours": colours}
        given = {name: value for name, value in body.items() if value is not None}
        return self.ask("POST", "/v1/pets", given, colours=colours)

    def get_pet(self, pet_id: int) -> object:
        return self.ask("GET", PET.format(pet_id))

    def retire_pet(self, pet_id: int) -> object:
        return self.ask("PUT", PET.format(pet_id), retire=True)

    def ask(self, method: str, target: str, value: object = None, **new: object) -> object:
        for name, given in new.items():
            self.counts[name] = self.counts.get(name, 0) + (given is not None)
        status, body, _ = ask(self.petstore, method, target, value)
        if status >= 400:
            raise HTTPError(target, status, "", Message(), None)
        return body


def test_machine_uses_the_new_operation_parameter_and_field() -> None:
    with contextlib.suppress(AssertionError):  # its bugs do not matter here
        check_client(Client, faults=(), environment=(), max_examples=60)
    assert all(Client.counts[name] for name in ("retire", "colour", "colours"))
