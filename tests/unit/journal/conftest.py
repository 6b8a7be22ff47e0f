"""Exchanges as the core makes them."""

from __future__ import annotations

from typing import Any

import pytest

from petstore_mock import faults
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.http.response import Head, Response
from petstore_mock.interface.conditions import CONDITIONS
from petstore_mock.interface.violations import Violation
from petstore_mock.journal.exchange import Exchange

KEY = "petstore-0123abcd-000001"
REX = b'{"name": "Rex", "categoryId": 1}'


def exchange(
    method: str = "GET",
    target: str = "/v1/pets",
    body: bytes = b"",
    status: int | None = 200,
    **more: Any,
) -> Exchange:
    """Return an exchange; ``more`` has header fields, the operation, the response's body and other attributes."""
    fields = [(b"Host", b"127.0.0.1:8080"), (b"Authorization", f"Bearer {KEY}".encode()), *more.pop("fields", ())]
    request = ApiRequest(method, target, Fields(fields), body, 1, 1)
    made = Exchange(1, "test_x", request, 1893456000.5)
    made.operation = "createPet" if method == "POST" else "listPets"
    made.duration = 0.0123
    if status is not None:
        head = Head(status, [("Content-Type", "application/json")])
        made.response = Response(head, more.pop("response_body", b"[]"), b"Tue, 01 Jan 2030 00:00:00 GMT")
    for name, value in more.items():
        setattr(made, name, value)
    return made


@pytest.fixture
def exchanges() -> list[Exchange]:
    """Return exchanges of a list, a creation, a refusal, a lost response and a corrupted response."""
    json_type = [(b"Content-Type", b"application/json")]
    broken = (Violation("body.name", "type", "must be a string", 5), Violation("body.x", "required", "is missing"))
    found = [
        exchange(target="/v1/pets?limit=5"),
        exchange("POST", body=REX, status=201, fields=json_type, executed=True, response_body=b'{"id":1}'),
        exchange(
            "POST", body=b'{"name": 5}', status=400, condition=CONDITIONS["invalid_body"], violations=broken, omitted=3
        ),
        exchange(fault=faults.reset(), outcome="reset", sent=False),
        exchange("POST", body=b"\xff%'", status=201, fault=faults.truncate(), outcome="truncated", executed=True),
    ]
    for number, made in enumerate(found, 1):
        made.number = number
    return found
