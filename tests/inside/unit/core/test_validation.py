"""Reading the key, and judging a body by its head and its content."""

from __future__ import annotations

from typing import Any

import pytest

from petstore_mock import Behaviour
from petstore_mock.contract.interface import OPERATIONS
from petstore_mock.contract.schemas import default_schemas
from petstore_mock.contract.strict_json import encode_json
from petstore_mock.contract.violations import Violation
from petstore_mock.core.new_pet import NewPet
from petstore_mock.core.routing import Refusal, Route, Rules
from petstore_mock.core.validation import validate, validate_body, validate_head
from petstore_mock.messages.request import ApiRequest, RequestFields

JSON = (b"Content-Type", b"application/json")


def rules(**gaps: str) -> Rules:
    return Rules(Behaviour().replace(gaps), default_schemas())


def post(body: bytes, *fields: tuple[bytes, bytes]) -> ApiRequest:
    return ApiRequest("POST", "/v1/pets", fields or (JSON,), body)


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ([], (None, "missing_key")),
        ([(b"Authorization", b"Bearer abc")], ("abc", "")),
        ([(b"X-Authorizatio", b"Bearer abc")], (None, "missing_key")),
        ([(b"AUTHORIZATION", b"BEARER  a+/b==")], ("a+/b==", "")),
        ([(b"Authorization", b"Bearer abc "), (b"X", b"y")], (None, "malformed_credentials")),
        ([(b"Authorization", b"Bearer abc"), (b"authorization", b"Bearer abc")], (None, "malformed_credentials")),
        ([(b"Authorization", b"Bearer abc"), (b"authorization", b"")], (None, "malformed_credentials")),
        ([(b"Authorization", b"Bearer a\xc3\xa4")], (None, "malformed_credentials")),
        ([(b"Authorization", b"xBearer abc")], (None, "malformed_credentials")),
    ],
)
def test_key_is_read_from_one_authorization_field(
    fields: list[tuple[bytes, bytes]], read: tuple[str | None, str]
) -> None:
    assert RequestFields(fields).bearer == read


@pytest.mark.parametrize("length", [None, 0, 1024 * 1024])
def test_head_of_json_within_the_limit_is_right(length: int | None) -> None:
    assert validate_head(rules(), post(b""), length) is None


def test_head_over_the_limit_is_refused() -> None:
    refusal = validate_head(rules(), post(b""), 1024 * 1024 + 1)
    assert refusal == Refusal("body_too_large", detail="at most 1048576 bytes are read")
    assert validate_head(rules(body_limit="none"), post(b""), 10**9) is None


def test_media_type_in_a_message_is_shortened() -> None:
    refusal = validate_head(rules(), post(b"", (b"Content-Type", b"x" * 1000)), 0)
    assert refusal is not None
    assert len(refusal.detail) < 120


def test_another_field_of_that_length_is_no_media_type() -> None:
    refusal = validate_head(rules(), post(b"", (b"X-Media-Type", b"application/json")), 0)
    assert refusal is not None
    assert refusal.condition == "unsupported_media_type"


def test_two_media_types_are_none() -> None:
    refusal = validate_head(rules(), post(b"", JSON, JSON), 0)
    assert refusal is not None
    assert refusal.detail == "Content-Type came as 'application/json, application/json'"


def test_body_that_an_adapter_cut_is_too_large() -> None:
    request = post(b"")
    request.oversized = True
    refusal = validate_body(rules(), request)
    assert refusal == Refusal("body_too_large", detail="at most 1048576 bytes are read")


@pytest.mark.parametrize(
    ("body", "gaps", "document"),
    [
        (b'{"name":"a","categoryId":1}', {}, {"name": "a", "categoryId": 1}),
        (b'{"name":"a","categoryId":1.0}', {"integral_float": "accept"}, {"name": "a", "categoryId": 1}),
        (b'{"name":"a","categoryId":1,"status":null}', {"null_status": "as_omitted"}, {"name": "a", "categoryId": 1}),
        (b'{"name":"a","categoryId":1,"x":1.5}', {"unknown_body_field": "ignore"}, {"name": "a", "categoryId": 1}),
        (b'{"name":"b","name":"a","categoryId":1}', {"duplicate_member": "last"}, {"name": "a", "categoryId": 1}),
    ],
)
def test_right_body_becomes_a_document(body: bytes, gaps: dict[str, str], document: dict[str, Any]) -> None:
    judged = validate_body(rules(**gaps), post(body))
    assert isinstance(judged, NewPet)
    assert judged.fields == document
    assert judged.animal(7, None) == (encode_json({"id": 7, **document}), None)
    sold = encode_json({"id": 7, **document, "status": "sold"})
    assert judged.animal(7, "sold") == (sold, "sold")
    assert type(judged.fields["categoryId"]) is int


def test_rules_of_gaps_are_not_repeated_where_the_schema_speaks_already() -> None:
    judged = validate_body(
        rules(category_rule="positive", name_rule="non_empty"), post(b'{"name":"","categoryId":false}')
    )
    assert isinstance(judged, Refusal)
    assert [(one.path, one.rule) for one in judged.violations] == [
        ("body.categoryId", "type"),
        ("body.name", "minLength"),
    ]


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        (b"{}", ["query.x", "body.categoryId", "body.name"]),
        (b'{"name":"a","categoryId":1}', ["query.x"]),
        (b"no json", ["query.x"]),
    ],
)
def test_fields_of_the_body_are_added_to_a_refused_query(body: bytes, paths: list[str]) -> None:
    invalid = Refusal("invalid_query", (Violation("query.x", "additionalProperties", "is not a parameter here"),))
    refusal = validate(rules(), post(body), Route(OPERATIONS["createPet"], invalid=invalid))
    assert isinstance(refusal, Refusal)
    assert refusal.condition == "invalid_query"
    assert [one.path for one in refusal.violations] == paths
