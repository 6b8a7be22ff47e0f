"""No key and no control character may reach what people read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from petstore_mock.common.masking import mask, mask_field, mask_target, mask_text, printable

KEY = "petstore-0123abcd-000042"
FIXED = "a-key-that-a-team-has-fixed"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("Authorization", f"Bearer {KEY}", "Bearer ***0042"),
        ("authorization", f"bearer  {KEY}", "bearer ***0042"),
        ("Authorization", KEY, "***0042"),
        ("Authorization", f"{KEY} Bearer", "***"),
        ("Authorization", f"Bearer short x {KEY}", "Bearer ***0042"),
        ("Authorization", "Bearer short", "Bearer ***"),
        ("Authorization", "Bearer", "Bearer"),
        ("Authorization", "", ""),
        ("Authorization", "Basic dXNlcjpodW50ZXIyMjI=", "Basic ***"),
        ("Proxy-Authorization", "Digest username=a, response=bbbbbbbbbbbb", "Digest ***"),
        ("Cookie", "session=abcdefghijkl", "***"),
        ("Set-Cookie", "session=abcdefghijkl; Path=/", "***"),
        ("X-Api-Key", KEY, "***0042"),
        ("apikey", KEY, "***0042"),
        ("X-Auth-Token", "abc", "***"),
        ("X-Client-Secret", "abcdefghijkl", "***ijkl"),
        ("X-Other", f"see {KEY}.", "see ***0042."),
        ("X-Other", f"see {FIXED}.", "see ***ixed."),
        ("Idempotency-Key", "b7f1c9d2", "b7f1c9d2"),
        ("Content-Type", "application/json", "application/json"),
        ("WWW-Authenticate", 'Bearer realm="petstore"', 'Bearer realm="petstore"'),
    ],
)
def test_field_shows_no_credentials(name: str, value: str, shown: str) -> None:
    assert mask_field(name, value, [FIXED]) == shown


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (f"/v1/pets?api_key={KEY}&limit=1", "/v1/pets?api_key=***0042&limit=1"),
        ("/v1/pets?limit=1&access_token=abc", "/v1/pets?limit=1&access_token=***"),
        ("/v1/pets?key=abcdefghijkl", "/v1/pets?key=***ijkl"),
        ("/v1/pets?monkey=abcdefghijkl", "/v1/pets?monkey=abcdefghijkl"),
        (f"/v1/pets/{KEY}", "/v1/pets/***0042"),
        (f"/v1/pets?q={FIXED}", "/v1/pets?q=***ixed"),
        ("/v1/pets?q=a%2Fkey%2Bwith%3Dsigns", "/v1/pets?q=***igns"),
        (f"/v1/pets?limit=%70{KEY[1:]}", "/v1/pets?limit=***0042"),
        (f"/v1/%70{KEY[1:]}/x%20y?a%20b={FIXED[:-1]}%64", "/v1/***0042/x%20y?a%20b=***ixed"),
        ("/v1/pets?limit=1&status=sold", "/v1/pets?limit=1&status=sold"),
        ("/v1/pets?api_key=", "/v1/pets?api_key="),
        ("/v1/pets?api_key=***abcdefghijkl", "/v1/pets?api_key=***ijkl"),  # stars do not make it a masked one
        ("/v1/pets?api_key=***ijkl", "/v1/pets?api_key=***ijkl"),
    ],
)
def test_target_shows_no_key(target: str, shown: str) -> None:
    assert mask_target(target, [FIXED, "a/key+with=signs"]) == shown


def test_key_that_begins_with_another_is_masked_whole() -> None:
    assert mask_text("longest-key-of-two", ["longest-key", "longest-key-of-two"]) == "***-two"


@pytest.mark.parametrize("key", [FIXED, "eyJhbGciOiJIUzI1NiJ9." + "A" * 50 + "." + "B" * 43], ids=["short", "long"])
@pytest.mark.parametrize("kept", [8, 9, 20])
def test_beginning_of_a_key_that_was_cut_short_is_masked(key: str, kept: int) -> None:
    assert mask_text(f'got "x {key[:kept]}... (string), {key[:kept]}...', [key]) == 'got "x ***... (string), ***...'
    assert mask_text(f"{key[:7]}... and {key[:9]} and a-kex...", [key]) == f"{key[:7]}... and {key[:9]} and a-kex..."


def test_key_that_was_cut_short_is_masked_where_it_begins_the_text() -> None:
    key = "abcdefgh-the-key"
    assert mask_text(f"{key[:9]}...", [key]) == "***..."


def test_words_beside_a_key_that_was_cut_short_stay_whole() -> None:
    """Even one that ends, where it is cut, as the key begins."""
    key = "abcdefgh-the-key"
    assert mask_text(f"{key[:9]}... and data...", [key]) == "***... and data..."


def test_what_every_issued_key_begins_with_is_a_word() -> None:
    text = "see petstore... and petstore-..."
    assert mask_text(text, [KEY]) == text
    assert mask_text(f"see {KEY[:12]}...", [KEY]) == "see ***..."


def test_short_key_is_not_searched_for_in_other_words() -> None:
    """A team's fixed key may be `test`; where keys belong it is masked by its place."""
    assert mask_text("a latest pet", ["test"]) == "a latest pet"
    assert mask_field("Authorization", "Bearer test", ["test"]) == "Bearer ***"


@given(st.text(min_size=12))
def test_mask_shows_at_most_the_end(secret: str) -> None:
    assert mask(secret) == f"***{secret[-4:]}"


@given(st.text(max_size=11))
def test_mask_shows_nothing_of_a_short_secret(secret: str) -> None:
    assert mask(secret) == "***"


@given(st.text())
def test_printable_text_is_printable_and_loses_nothing(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable()
    assert text.isprintable() <= (shown == text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\x1b[31mb", "a\\x1b[31mb"), ("a\nb", "a\\nb"), ("\u202eabc", "\\u202eabc"), ("Zoë 🐕", "Zoë 🐕")],
)
def test_printable_escapes_what_a_terminal_obeys(text: str, shown: str) -> None:
    assert printable(text) == shown
