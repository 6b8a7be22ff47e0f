"""Rules for each operation. The operations come from the OpenAPI document, so the tests also cover new operations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from petstore_mock import PetStoreMock, faults
from tests.client import JSON, Client, Response


class Operation(NamedTuple):
    """An operation, with the example of its body and the status of its success."""

    name: Any  # an OperationName, which is a Literal
    method: str
    path: str
    body: bytes | None
    success: int
    examples: dict[str, Any]  # the values of the parameters in the path, by name

    def target(self, pet_id: object = 1) -> str:
        return f"/v1{self.path.format_map({**self.examples, 'petId': pet_id})}"

    def call(self, client: Client, pet_id: object = 1) -> Response:
        fields = () if self.body is None else (JSON,)
        return client.authed(self.method, self.target(pet_id), self.body, *fields)


def _operations() -> Iterator[Operation]:
    document: Any = PetStoreMock().openapi()
    for path, item in document["paths"].items():
        for method, row in item.items():
            body = None
            if "requestBody" in row:
                (example,) = row["requestBody"]["content"]["application/json"]["examples"].values()
                body = json.dumps(example["value"]).encode()
            in_path = [one for one in row["parameters"] if one["in"] == "path"]
            examples = {one["name"]: one["examples"]["first"]["value"] for one in in_path}
            yield Operation(row["operationId"], method.upper(), path, body, int(min(row["responses"])), examples)


OPERATIONS = [*_operations()]
OF_ONE_ANIMAL = [one for one in OPERATIONS if "{petId}" in one.path]
each = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
each_of_one_animal = pytest.mark.parametrize("operation", OF_ONE_ANIMAL, ids=lambda one: one.name)


@each
def test_only_unsafe_methods_change_animals(client: Client, operation: Operation) -> None:
    """RFC 9110 §9.2.1."""
    pets = client.petstore.seed_many(2)
    # The example has the values of the first animal.
    assert operation.call(client, 2).status == operation.success
    assert client.last.executed
    assert (client.petstore.pets == pets) is (operation.method == "GET")


@each
def test_operation_keeps_nothing_if_a_fault_meets_it_before_the_commit(client: Client, operation: Operation) -> None:
    pets = client.petstore.seed_many(2)
    with client.petstore.inject(faults.wrong_content_type(), on=operation.name, at="before_commit", times=1):
        client.bare(operation.method, operation.target(), [*client.petstore.headers.items(), JSON], operation.body)
    assert client.petstore.pets == pets
    assert client.last.executed is (operation.method == "GET")


@each
def test_operation_requires_a_valid_key(client: Client, operation: Operation) -> None:
    """For malformed keys see test_http_rules.py. §5"""
    pets = client.petstore.seed_many(2)
    for key, condition in (([], "missing_key"), ([("Authorization", "Bearer wrong")], "unknown_key")):
        response = client.send(operation.method, operation.target(), [JSON, *key], operation.body)
        assert (response.status, response.json()["code"], client.refusal) == (401, "unauthorized", condition)
        assert (client.last.section, client.last.executed, client.last.is_violation) == ("5", False, True)
    assert client.petstore.pets == pets


@each_of_one_animal
def test_absent_or_malformed_id_is_404(client: Client, operation: Operation) -> None:
    pets = client.petstore.seed_many(2)
    for pet_id, condition in ((7, "absent_pet"), ("x", "malformed_path")):
        assert (operation.call(client, pet_id).status, client.refusal) == (404, condition)
    assert client.petstore.pets == pets


@each_of_one_animal
def test_animal_that_clients_do_not_see_yet_is_404(client: Client, operation: Operation) -> None:
    """Gap visibility."""
    client.petstore.configure(visibility="delayed")
    pet = client.created(name="Rex", categoryId=1)
    assert (operation.call(client, pet["id"]).status, client.refusal) == (404, "absent_pet")
    assert client.petstore.pets == [pet]
