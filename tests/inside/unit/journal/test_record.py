"""An entry as a JSON value, and back: nothing that is said of it is lost, and no key is in it."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING

import pytest

from petstore_mock import PetStoreMock, faults
from petstore_mock.journal.exchange_svg import exchange_svg
from petstore_mock.journal.har import har_document
from petstore_mock.journal.outcomes import outcomes
from petstore_mock.journal.record import entry_of, record_of
from petstore_mock.journal.rendering import render_journal, render_line
from petstore_mock.messages.request import ApiRequest

if TYPE_CHECKING:
    from petstore_mock.journal.entry import Entry

KEY = "a-key-of-the-test-author-1234"


def came(petstore: PetStoreMock, method: str, target: str, body: bytes = b"", key: str | None = KEY) -> Entry:
    fields = [(b"Content-Type", b"application/json"), (b"Host", b"127.0.0.1:8080"), (b"X-Note", "é".encode("latin-1"))]
    if key is not None:
        fields.append((b"Authorization", f"Bearer {key}".encode()))
    answer = petstore.host.worlds.handle(ApiRequest(method, target, fields, body))
    assert answer is not None
    return petstore.journal.last


@pytest.mark.parametrize(
    ("method", "target", "body", "key", "fault"),
    [
        ("GET", "/v1/pets?limit=2&limit=3&a=%F0", b"", KEY, None),
        ("GET", "/v1/pets", b"", None, None),
        ("GET", "/v1/pets", b"", "another-key-of-somebody", None),
        ("HEAD", "/v1/pets", b"", KEY, None),
        ("POST", "/v1/pets", b'{"name": "Rex", "categoryId": 1}', KEY, None),
        ("POST", "/v1/pets", b'{"name": 1, "categoryId": 1.0, "x": 123456789012345678901234567890, "x": 1}', KEY, None),
        ("POST", "/v1/pets", b"\xff\xfe{", KEY, None),
        ("POST", "/v1/pets", b'{"name": "\\ud800", "categoryId": 1}', KEY, None),
        ("GET", f"/v1/pets/7?key={KEY}", b"", KEY, None),
        ("GET", "/nowhere", b"", KEY, None),
        ("BREW", "*", b"", KEY, None),
        ("POST", "/v1/pets", b'{"name": "Rex", "categoryId": 1}', KEY, faults.respond(500, body=b"\xff")),
        ("POST", "/v1/pets", b'{"name": "Rex", "categoryId": 1}', KEY, faults.malformed_json()),
        ("POST", "/v1/pets", b'{"name": "Rex", "categoryId": 1}', KEY, faults.delay(0.1)),
        ("POST", "/v1/pets", b'{"name": "Rex", "categoryId": 1}', KEY, faults.rate_limited("2030-01-01")),
    ],
)
def test_what_is_said_of_an_entry_is_said_of_the_one_made_of_its_record(
    method: str, target: str, body: bytes, key: str | None, fault: faults.Fault | None
) -> None:
    petstore = PetStoreMock(api_key=KEY, seed=3)
    if fault is not None:
        petstore.inject(fault)
    entry = came(petstore, method, target, body, key)
    text = json.dumps(record_of(entry))
    assert KEY not in text
    again = entry_of(json.loads(text))
    for said in (render_line, repr, lambda one: render_journal([one]), lambda one: har_document([one])):
        assert said(again) == said(entry)
    assert exchange_svg([again]) == exchange_svg([entry])
    assert list(outcomes(again, (1, 100, 20))) == list(outcomes(entry, (1, 100, 20)))
    for name in ("condition", "violations", "reason", "decision", "sentence", "section", "status", "fault", "query"):
        assert getattr(again, name) == getattr(entry, name)
    for name in ("response_headers", "headers", "operation", "moment", "executed", "outcome", "expected", "exchange"):
        assert getattr(again, name) == getattr(entry, name)


def test_a_key_within_a_body_or_a_violation_is_masked_in_the_record() -> None:
    petstore = PetStoreMock(api_key=KEY)
    entry = came(petstore, "POST", "/v1/pets", f'{{"name": "Rex", "categoryId": "{KEY}", "{KEY}": 1}}'.encode())
    record = record_of(entry)
    assert KEY not in json.dumps(record)
    assert KEY.encode() not in b64decode(record["body"])
    assert entry_of(record).reason == entry.reason
