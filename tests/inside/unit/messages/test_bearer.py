"""What is said of a key that was refused: the fault by its name, and no secret."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock.messages.bearer import key_fault
from petstore_mock.messages.request import ApiRequest
from tests.inside.core import Core

KEY = "petstore-0123abcd-000042"
FIXED = "a-key-that-a-team-has-fixed"
KEYS = (KEY, "short", FIXED)

MALFORMED = [
    ("", "the field is empty"),
    (" \t", "the field is empty"),
    ("Bearer", "the key is empty: nothing follows 'Bearer'"),
    ("bearer ", "the key is empty: nothing follows 'Bearer'"),
    ("Basic", "the scheme came as 'Basic', and no key follows"),
    (KEY, "there is no scheme: the value is the key alone"),
    ("petstore-ffffffff-000001", "there is no scheme: the value is the key alone"),
    ("short", "there is no scheme: the value is the key alone"),
    ("anothers", "there is no scheme: the value is one word of 8 characters"),
    ("None", "there is no scheme, and the key is the text 'None': the client's setting is not there"),
    (f"Token {KEY}", "the scheme came as 'Token'"),
    ("Basic dXNlcjpodW50ZXIyMjI=", "the scheme came as 'Basic'"),
    ("Digest username=x, response=y", "the scheme came as 'Digest'"),
    (f"Baerer  {KEY}", "the scheme came as 'Baerer'"),
    (f"xBearer {KEY}", "the scheme came as 'xBearer'"),
    (f"{KEY} Bearer", "there is no scheme: the value begins with the key"),
    ("short Bearer", "there is no scheme: the value begins with the key"),
    ("hunter2 x", "the value does not begin with 'Bearer'"),
    (f"correct-horse-battery-staple {KEY}", "the value does not begin with 'Bearer'"),
    (f"Authorization: Bearer {KEY}", "the value begins with the field's name"),
    (f"Bearer{KEY}", "no blank follows 'Bearer'"),
    (f"Bearer:{KEY}", "no blank follows 'Bearer'"),
    (f"Bearer: {KEY}", "no blank follows 'Bearer'"),
    (f"Bearer\t{KEY}", "what follows 'Bearer' is no plain blank"),
    (f"Bearer \xa0{KEY}", "what follows 'Bearer' is no plain blank"),
    (f"'Bearer {KEY}'", "the whole value is in quotes"),
    (f"Bearer {KEY} ", "there is white space around the value"),
    (f" Bearer {KEY}", "there is white space around the value"),
    (f"Bearer '{KEY}'", "the key is in quotes"),
    (f'Bearer "{KEY}"', "the key is in quotes"),
    (f"Bearer b'{KEY}'", "the key came as b'...', as Python writes bytes: decode it"),
    (f"Bearer <{KEY}>", "the key is in angle brackets"),
    ("Bearer {{api_key}}", "the key is in braces"),
    (f"Bearer Bearer {KEY}", "the key begins with 'Bearer' a second time"),
    ("Bearer <nil>", "the key is the text '<nil>': the client's setting is not there"),
    ("Bearer <API_KEY>", "the key is the text '<API_KEY>': the client's setting is not there"),
    (f"Bearer {KEY},Bearer {KEY}", "there is a comma in it, as when two Authorization fields are joined"),
    (f"Bearer {KEY} {KEY}", "there is white space in the key"),
    ("Bearer $API_KEY", "the key has '$' where a bearer token can't (RFC 6750 §2.1)"),
    ("Bearer a=b", "the key has '=' where a bearer token can't (RFC 6750 §2.1)"),
    ("Bearer k\xe9y", "the key has a character that is not printable ASCII"),
    ("Bearer a\x7f", "the key has a character that is not printable ASCII"),
]

UNKNOWN = [
    ("None", "the key is the text 'None': the client's setting is not there"),
    ("undefined", "the key is the text 'undefined': the client's setting is not there"),
    ("null", "the key is the text 'null': the client's setting is not there"),
    ("Bearer", "the key is the word 'Bearer' a second time, and no key follows"),
    (KEY.upper(), "the key differs from one that the fake knows in letter case alone"),
    (
        "petstore-ffffffff-000001",
        "it is none of this world's: it looks like one of another world, or of another run of the fake",
    ),
    ("x" * len(KEY), "the fake knows no such key, of 24 characters; a valid one has 24"),
    ("x", "the fake knows no such key, of 1 character; a valid one has 24"),
]


@pytest.mark.parametrize(("value", "fault"), MALFORMED)
def test_fault_of_malformed_credentials_is_named(value: str, fault: str) -> None:
    assert key_fault("malformed_credentials", [value], KEYS) == fault


@pytest.mark.parametrize(("key", "fault"), UNKNOWN)
def test_fault_of_an_unknown_key_is_named(key: str, fault: str) -> None:
    assert key_fault("unknown_key", [f"Bearer  {key}"], KEYS) == fault


def test_unknown_key_is_compared_with_none_where_there_is_none() -> None:
    assert key_fault("unknown_key", ["Bearer abc"], ()) == "the fake knows no such key, of 3 characters"


def test_fields_are_counted() -> None:
    assert key_fault("malformed_credentials", ["Bearer a", "", "x"], KEYS) == "3 Authorization fields came"


@pytest.mark.parametrize("condition", ["missing_key", "revoked_key", "expired_key"])
def test_condition_that_says_it_all_gets_no_words_on_top(condition: str) -> None:
    assert not key_fault(condition, [f"Bearer {KEY}"], KEYS)


_VISIBLE = st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_categories=["Cc", "Zs"])
_SECRET = st.text(_VISIBLE, min_size=12).map(lambda text: f"{text}7Q")
_AROUND = ["{}", "Bearer {}", "Token {}", "Basic {}", "Bearer Bearer {}", "Bearer '{}'", "{} x", "'{}'", "Bearer{} {}"]


@given(
    secret=_SECRET, value=st.sampled_from(_AROUND), condition=st.sampled_from(["malformed_credentials", "unknown_key"])
)
def test_no_fault_shows_a_secret(secret: str, value: str, condition: str) -> None:
    fault = key_fault(condition, [value.format(secret, secret)], KEYS)
    assert fault
    assert secret not in fault


@pytest.mark.parametrize(("value", "fault"), [*MALFORMED, *((f"Bearer {key}", fault) for key, fault in UNKNOWN)])
def test_fault_stands_in_error_body_and_journal_alike(value: str, fault: str) -> None:
    """The masks take nothing of it away."""
    core = Core(key=KEY)
    for other in ("short", FIXED):
        core.world.keys.add(other)
    answer = core.list(headers={"Authorization": value})
    assert answer.status == 401
    message = json.loads(answer.body)["message"]
    assert message.endswith(f": {fault}")
    assert message.startswith("The API key is ")
    assert "***" not in message.removesuffix(fault), "of our own words"
    assert core.journal.last.reason == message
    assert KEY not in message


def test_word_for_a_missing_setting_is_no_secret() -> None:
    assert not ApiRequest("GET", "/", [(b"Authorization", b"Bearer undefined")]).credentials
    assert ApiRequest("GET", "/", [(b"Authorization", b"Bearer undefined1")]).credentials == ["undefined1"]
