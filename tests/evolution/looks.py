"""Runs in a process that imports the grown package: prints what it does, as a JSON object of looks by name.

A look that fails has its error in the place of what it saw.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
import tempfile
import traceback
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit

import petstore_mock
from petstore_mock import PetStoreMock, PetStoreMockError, faults

if TYPE_CHECKING:
    from collections.abc import Callable

World = Any  # a PetStoreMock: its static types are those of the interface before it grew
PET = "/v1/pets/{}"
TAGGED = {"name": "Rex", "categoryId": 1, "tags": ["small", "old"]}
LOOKS: list[Callable[[World], object]] = []


def look(function: Callable[[World], object]) -> Callable[[World], object]:
    LOOKS.append(function)
    return function


def ask(petstore: World, method: str, target: str, value: object = None) -> tuple[int, Any, str | None]:
    """Send a request with the world's key; return the status, the JSON value and the field Allow of the response."""
    connection = http.client.HTTPConnection(urlsplit(petstore.url).netloc, timeout=10)
    fields = {**petstore.headers, "Content-Type": "application/json"}
    connection.request(method, target, None if value is None else json.dumps(value), fields)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body) if body else None, response.getheader("Allow")


@look
def package(_: World) -> object:
    return str(Path(petstore_mock.__file__).parent.parent)


@look
def routes(petstore: World) -> object:
    pet = petstore.seed(tags=["small"])
    gone = ask(petstore, "DELETE", PET.format(pet["id"]))
    return {
        "gone": gone[:2],
        "left": [one["id"] for one in petstore.pets],
        "again": ask(petstore, "DELETE", PET.format(pet["id"]))[0],
        "malformed": ask(petstore, "DELETE", PET.format("x"))[0],
        "allow": ask(petstore, "PUT", PET.format(1))[2],
        "options": ask(petstore, "OPTIONS", PET.format(1))[2],
    }


@look
def parameters(petstore: World) -> object:
    petstore.seed_many([{"id": 1, "tags": ["small"]}, {"id": 2, "tags": ["old", "small"]}, {"id": 3}])
    found = {}
    for tag in ("small", "old", "no"):
        found[tag] = [one["id"] for one in ask(petstore, "GET", f"/v1/pets?tag={tag}")[1]]
    unknown = ask(petstore, "GET", "/v1/pets?tags=small")[1]["message"]
    return {"found": found, "unknown": unknown}


@look
def bodies(petstore: World) -> object:
    status, created, _ = ask(petstore, "POST", "/v1/pets", TAGGED)
    refused = ask(petstore, "POST", "/v1/pets", {**TAGGED, "tags": ["small", 5]})
    return {"created": [status, created["tags"]], "refused": [refused[0], petstore.journal.last.violations[0].path]}


@look
def openapi(petstore: World) -> object:
    document = petstore.openapi()
    paths = document["paths"]
    return {
        "operation": paths["/pets/{petId}"]["delete"]["operationId"],
        "responses": sorted(paths["/pets/{petId}"]["delete"]["responses"]),
        "parameters": [one["name"] for one in paths["/pets"]["get"]["parameters"]],
        "schemas": ["tags" in document["components"]["schemas"][name]["properties"] for name in ("Pet", "NewPet")],
    }


@look
def seed_and_update(petstore: World) -> object:
    sampled = [pet.get("tags") for pet in petstore.seed_many(2)]
    pet = petstore.seed(tags=["new"])
    updated = petstore.update(pet["id"], tags=["other"])["tags"]
    taken = petstore.update(pet["id"], tags=None)
    try:
        refused = str(petstore.seed(tags="small"))
    except PetStoreMockError as error:
        refused = str(error)
    return {"sampled": sampled, "seeded": pet["tags"], "updated": updated, "taken": "tags" in taken, "refused": refused}


@look
def journal(petstore: World) -> object:
    pet = petstore.seed()
    ask(petstore, "DELETE", PET.format(pet["id"]))
    ask(petstore, "GET", "/v1/pets?tag=small")
    ask(petstore, "POST", "/v1/pets", TAGGED)
    petstore.journal.assert_called("deletePet", times=1, petId=pet["id"], status=204)
    petstore.journal.assert_called("listPets", times=1, tag="small")
    petstore.journal.assert_called("createPet", times=1, tags=["small", "old"])
    return [(one.operation, one.executed) for one in petstore.journal]


@look
def faults_of_operation(petstore: World) -> object:
    found = {}
    for at in ("before_commit", "after_commit"):
        pet = petstore.seed()
        with petstore.inject(faults.server_error(503), on="deletePet", at=at, where={"petId": pet["id"]}):
            status = ask(petstore, "DELETE", PET.format(pet["id"]))[0]
        found[at] = [status, pet["id"] in [one["id"] for one in petstore.pets]]
    return found


@look
def coverage(petstore: World) -> object:
    pet = petstore.seed()
    ask(petstore, "DELETE", PET.format(pet["id"]))
    ask(petstore, "POST", "/v1/pets", TAGGED)
    shown = ask(petstore, "GET", "/__petstore/coverage")[1]["outcomes"]
    return {f"{one['operation']} {one['outcome']}": one["shown"] for one in shown}


@look
def door(petstore: World) -> object:
    document = ask(petstore, "GET", "/__petstore/openapi.json")[1]
    status, added, _ = ask(petstore, "POST", "/__petstore/pets", {"tags": ["small"]})
    wrong = ask(petstore, "POST", "/__petstore/pets", {"tags": "small"})[0]
    schemas = document["components"]["schemas"]
    kinds = ("Animal", "NewAnimal", "AnimalChanges", "Criteria")
    return {
        "schemas": ["tags" in schemas[name]["properties"] for name in kinds],
        "criteria": "tag" in schemas["Criteria"]["properties"],
        "operations": "deletePet" in json.dumps(document),
        "added": [status, added["pets"][0]["tags"]],
        "wrong": wrong,
    }


@look
def console(_: World) -> object:
    page = Path(petstore_mock.__file__).parent / "control" / "page"
    return sorted(file.name for file in page.iterdir() if "categoryId" in file.read_text(encoding="utf-8"))


@look
def mutants(_: World) -> object:
    found = {}
    kind: World
    forgetful: World
    unfiltered: World
    with PetStoreMock(mutant="delete-without-key", strict=False) as kind:
        pet = kind.seed()
        connection = http.client.HTTPConnection(urlsplit(kind.url).netloc, timeout=10)
        connection.request("DELETE", PET.format(pet["id"]))
        found["without key"] = connection.getresponse().status
        connection.close()
    with PetStoreMock(mutant="create-tags-dropped", strict=False) as forgetful:
        found["dropped"] = "tags" in ask(forgetful, "POST", "/v1/pets", TAGGED)[1]
    with PetStoreMock(mutant="list-tag-filter-ignored", strict=False) as unfiltered:
        unfiltered.seed(tags=["old"])
        found["ignored"] = len(ask(unfiltered, "GET", "/v1/pets?tag=small")[1])
    return found


@look
def static_types(_: World) -> object:
    source = Path(petstore_mock.__file__).parent / "interface" / "static.py"
    return source.read_text(encoding="utf-8")


@look
def strategies(_: World) -> object:
    from hypothesis import find, settings  # noqa: PLC0415  # a look of its own may fail

    from petstore_mock import strategies  # noqa: PLC0415

    quick = settings(database=None, max_examples=2000)
    return {
        "new_pets": find(strategies.new_pets(), lambda pet: bool(pet.get("tags")), settings=quick)["tags"],
        "list_queries": "tag" in find(strategies.list_queries(), lambda query: "tag" in query, settings=quick),
        "invalid": find(strategies.invalid_new_pets(), lambda one: "tags" in str(one.body), settings=quick).rule,
    }


@look
def clauses(petstore: World) -> object:
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "verdict.json"
        command = [sys.executable, "-m", "petstore_mock", "verify", petstore.url, "--allow-create", "20"]
        options = ["--api-key-env", "KEY", "--rate", "1000", "--json", str(record)]
        environment = {"KEY": petstore.api_key, "PYTHONPATH": str(Path.cwd())}
        subprocess.run([*command, *options], env=environment, capture_output=True, check=False, timeout=100)
        found = json.loads(record.read_text(encoding="utf-8"))["clauses"]
    return [one["id"] for one in found]


@look
def machine(_: World) -> object:
    from petstore_mock.stateful import check_client  # noqa: PLC0415

    calls = dict.fromkeys(("delete_pet", "tag", "tags"), 0)

    class Client:
        def __init__(self, petstore: World) -> None:
            self.petstore = petstore

        def list_pets(self, limit: object = None, status: object = None, tag: object = None) -> object:
            calls["tag"] += tag is not None
            query = {"limit": limit, "status": status, "tag": tag}
            given = {name: value for name, value in query.items() if value is not None}
            return self._ask("GET", f"/v1/pets?{urlencode(given)}")

        def create_pet(self, name: str, category_id: int, status: object = None, tags: object = None) -> object:
            calls["tags"] += tags is not None
            body = {"name": name, "categoryId": category_id, "status": status, "tags": tags}
            return self._ask("POST", "/v1/pets", {name: value for name, value in body.items() if value is not None})

        def get_pet(self, pet_id: int) -> object:
            return self._ask("GET", PET.format(pet_id))

        def delete_pet(self, pet_id: int) -> object:
            calls["delete_pet"] += 1
            return self._ask("DELETE", PET.format(pet_id))

        def _ask(self, method: str, target: str, value: object = None) -> object:
            status, body, _ = ask(self.petstore, method, target, value)
            if status >= 400:
                raise HTTPError(target, status, "", Message(), None)
            return body

    with contextlib.suppress(AssertionError):  # its bugs are not what this look is about
        check_client(Client, faults=(), environment=(), max_examples=60)
    return {name: count > 0 for name, count in calls.items()}


def _seen(function: Callable[[World], object]) -> object:
    try:
        with PetStoreMock(control=True, strict=False) as petstore:
            return function(petstore)
    except Exception:  # noqa: BLE001  # the test shows it
        return {"error": traceback.format_exc()}


if __name__ == "__main__":
    seen = {function.__name__: _seen(function) for function in LOOKS}
    print(json.dumps(seen))  # noqa: T201  # the test reads it
