"""The machine on a grown interface: it calls everything, passes a correct client, and finds the bugs of others."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

import pytest

from petstore_mock.interface.schemas import arguments, properties
from petstore_mock.interface.table import OPERATIONS, snake_case
from petstore_mock.stateful import ClientBugError, check_client

TIMEOUT = 0.25
World = Any  # a PetStoreMock, but the static types of this checkout lack the additions


class StatusError(Exception):
    """An error response."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the service returned {status}")
        self.status = status


class Client:
    """A correct client with a method for each operation, made from the table; it counts what the machine passes."""

    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self, petstore: World) -> None:
        self.address, self.headers = urlsplit(petstore.url), petstore.headers

    def __getattr__(self, name: str) -> Callable[..., object]:
        operation = next((row for row in OPERATIONS.values() if row.client_method == name), None)
        if operation is None:
            raise AttributeError(name)
        return partial(self.call, operation)

    def call(self, operation: Any, *positional: object, **keywords: object) -> object:
        names = {snake_case(name): name for name in arguments(operation)}
        given = {names[name]: value for name, value in keywords.items() if value is not None}
        if positional:
            given[operation.identifier.name] = positional[0]
        self.counts.update(f"{operation.name} {name}" for name in given)
        return self.request(operation, given)

    def request(self, operation: Any, given: dict[str, object]) -> object:
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}
        in_path = {one.name: quote(texts[one.name], safe="") for one in operation.parameters_in("path")}
        path = operation.path.format(**in_path)
        query = {one.name: texts[one.name] for one in operation.parameters_in("query") if one.name in texts}
        fields = {one.name: texts[one.name] for one in operation.parameters_in("header") if one.name in texts}
        body = None
        if operation.body is not None:
            fields["Content-Type"] = "application/json"
            body = json.dumps({name: given[name] for name in properties(operation.body) if name in given})
        return self.exchange(operation, f"{self.address.path}{path}?{urlencode(query)}", fields, body)

    def exchange(self, operation: Any, target: str, fields: dict[str, str], body: str | None) -> object:
        connection = http.client.HTTPConnection(self.address.netloc, timeout=TIMEOUT)
        try:
            connection.request(operation.method, target, body, {**self.headers, **fields})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status != operation.success:
            raise StatusError(response.status)
        if operation.response is None:
            return None
        if response.getheader("Content-Type", "").partition(";")[0].lower() != "application/json":
            raise http.client.HTTPException("the response is not JSON")
        return self.checked(operation, content)

    def checked(self, operation: Any, content: bytes) -> object:
        try:
            value = json.loads(content)
        except ValueError as error:
            raise http.client.HTTPException("the response is not JSON") from error
        pets = value if operation.shows_many else [value]
        if not isinstance(pets, list) or not all(isinstance(pet, dict) for pet in pets):
            raise http.client.HTTPException("the response has no animals")
        for pet in pets:
            if not all(
                isinstance(pet.get(name), kind) for name, kind in {"id": int, "name": str, "categoryId": int}.items()
            ):
                raise http.client.HTTPException("the response has no valid animal")
        return value


class SendsARestAgain(Client):
    def exchange(self, operation: Any, *request: Any) -> object:
        try:
            return super().exchange(operation, *request)
        except ConnectionError:
            if operation.name != "calmPet":
                raise
            return super().exchange(operation, *request)


class SendsAHomeAgain(Client):
    """Correct: PUT is idempotent."""

    def exchange(self, operation: Any, *request: Any) -> object:
        try:
            return super().exchange(operation, *request)
        except ConnectionError:
            if operation.name != "rehousePet":
                raise
            return super().exchange(operation, *request)


def test_machine_passes_a_correct_client_and_calls_each_operation_with_each_argument() -> None:
    check_client(SendsAHomeAgain, max_examples=60)
    for operation in OPERATIONS.values():
        for name in arguments(operation):
            assert Client.counts[f"{operation.name} {name}"] > 0, (operation.name, name)


class DropsTheHeader(Client):
    def exchange(self, operation: Any, target: str, fields: dict[str, str], body: str | None) -> object:
        return super().exchange(operation, target, {name: fields[name] for name in fields if name[:2] != "X-"}, body)


class RoundsTheWeight(Client):
    def checked(self, operation: Any, content: bytes) -> object:
        value: Any = super().checked(operation, content)
        for pet in value if isinstance(value, list) else [value]:
            if "weight" in pet:
                pet["weight"] = round(pet["weight"], 1)
        return value


class AcceptsAnythingAfterARetirement(Client):
    def exchange(self, operation: Any, *request: Any) -> object:
        try:
            return super().exchange(operation, *request)
        except StatusError:
            if operation.name != "retirePet":
                raise
            return None


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (SendsARestAgain, "§4.94: a second calmPet may change the animal twice"),
        (DropsTheHeader, "without X-Chipped="),
        (RoundsTheWeight, "weight"),
        (AcceptsAnythingAfterARetirement, "although the service returned"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_machine_finds_the_bug_of_a_new_operation_field_or_parameter(client: type[Client], words: str) -> None:
    with pytest.raises(ClientBugError) as caught:
        check_client(client, max_examples=100)
    assert words in str(caught.value)
