"""Each cause of a refusal has its status and code in the error, and its condition and section in the journal."""

from __future__ import annotations

import pytest

from tests.client import JSON, REX, Client

HTTP = "RFC 9110"
TEXT = ("Content-Type", "text/plain")
# Method, target, fields beside the key, body; then status, code, condition, section.
Row = tuple[str, str, list[tuple[str, str]], bytes | None, int, str, str, str]
REFUSALS: list[Row] = [
    ("GET", "/v1/cats", [], None, 404, "not_found", "unknown_path", "4"),
    ("PUT", "/v1/pets", [], None, 405, "method_not_allowed", "method_not_allowed", f"{HTTP} §15.5.6"),
    ("BREW", "/v1/pets", [], None, 501, "not_implemented", "unknown_method", f"{HTTP} §9.1"),
    ("GET", "/v1/pets/%zz", [], None, 400, "malformed_request", "malformed_target", "RFC 9112 §3.2"),
    ("GET", "/v1/" + "a" * 17_000, [], None, 414, "uri_too_long", "uri_too_long", f"{HTTP} §15.5.15"),
    ("GET", "/v1/pets", [("X", "a" * 70_000)], None, 431, "header_too_large", "header_too_large", "RFC 6585 §5"),
    ("GET", "/v1/pets", [("Expect", "x")], None, 417, "expectation_failed", "expectation_failed", f"{HTTP} §15.5.18"),
    ("POST", "/v1/pets", [TEXT], REX, 415, "unsupported_media_type", "unsupported_media_type", "4.2"),
    ("POST", "/v1/pets", [JSON], b" " * 1048577, 413, "body_too_large", "body_too_large", f"{HTTP} §15.5.14"),
    ("POST", "/v1/pets", [JSON], None, 400, "malformed_json", "malformed_json", "4.2"),
    ("POST", "/v1/pets", [JSON], b"{", 400, "malformed_json", "malformed_json", "4.2"),
    ("POST", "/v1/pets", [JSON], b"[]", 400, "invalid_body", "invalid_body", "4.2"),
    ("POST", "/v1/pets", [JSON], b'{"name":"a"}', 400, "invalid_body", "invalid_body", "2"),
    ("POST", "/v1/pets", [JSON], b'{"name":1,"categoryId":1}', 400, "invalid_body", "invalid_body", "2"),
    ("POST", "/v1/pets", [JSON], b'{"name":"a","categoryId":1,"x":1}', 400, "invalid_body", "invalid_body", "4.2"),
    ("POST", "/v1/pets", [JSON], b'{"name":"a","categoryId":1,"name.x":1}', 400, "invalid_body", "invalid_body", "4.2"),
    ("POST", "/v1/pets?x=1", [JSON], REX, 400, "invalid_parameter", "invalid_query", "4"),
    ("GET", "/v1/pets?limit=0", [], None, 400, "invalid_parameter", "invalid_query", "4.1"),
    ("GET", "/v1/pets?x=1", [], None, 400, "invalid_parameter", "invalid_query", "4.1"),
    ("GET", "/v1/pets/1?x=1", [], None, 400, "invalid_parameter", "invalid_query", "4"),
    ("GET", "/v1/pets/x", [], None, 404, "not_found", "malformed_path", "4.3"),
]


@pytest.mark.parametrize("row", REFUSALS, ids=range(len(REFUSALS)))
def test_a_refusal_has_a_status_a_code_a_condition_and_a_section(client: Client, row: Row) -> None:
    method, target, fields, body, *expected = row
    error = client.authed(method, target, body, *fields).json()
    assert [error["status"], error["code"], client.refusal, client.last.section] == expected
    assert set(error) == {"code", "message", "status"}
    assert client.last.is_violation
    assert client.petstore.journal.violations == [client.last]
    client.petstore.journal.assert_called(times=1, condition=client.refusal)
    assert client.list().status == 200


@pytest.mark.parametrize(("query", "words"), [("limit=0", "limit: integer"), ("limit.x=1", "The query parameters of")])
def test_a_refusal_quotes_the_sentence_of_its_parameter(client: Client, query: str, words: str) -> None:
    client.authed("GET", f"/v1/pets?{query}")
    assert client.last.sentence.text.startswith(words)


def test_error_that_the_client_can_t_prevent_is_no_violation(client: Client) -> None:
    petstore = client.petstore
    brief = petstore.issue_key(expires=60)
    petstore.clock.advance(seconds=60)
    petstore.configure(rate_limit="retry_after_seconds")
    found = [(client.get(1).json()["code"], client.refusal, client.last.section)]
    response = client.send("GET", "/v1/pets", [("Authorization", f"Bearer {brief}")])
    found.append((response.json()["code"], client.refusal, client.last.section))
    assert [client.list().status for _ in range(4)] == [200, 200, 200, 429]
    found.append(("rate_limited", client.refusal, client.last.section))
    assert found == [
        ("not_found", "absent_pet", "7"),
        ("unauthorized", "expired_key", "5"),
        ("rate_limited", "rate_limited", "8"),
    ]
    assert petstore.journal.violations == []
