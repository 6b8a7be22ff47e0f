"""Texts for people contain no keys and no control characters."""

from __future__ import annotations

import pytest

from petstore_mock.common.masking import mask_field, mask_target, mask_text, printable, request_line

KEY = "petstore-0123abcd-000042"
FIXED = "a-key-that-a-team-has-fixed"


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        (f"authorization: bearer  {KEY}", "bearer ***0042"),
        (f"Authorization: {KEY} Bearer", "***"),
        (f"Authorization: Bearer short x {KEY}", "Bearer ***0042"),
        ("Authorization: Bearer short", "Bearer ***"),
        ("Authorization: Bearer", "Bearer"),
        ("Proxy-Authorization: Digest username=a, response=bbbbbbbbbbbb", "Digest ***"),
        ("Set-Cookie: session=abcdefghijkl; Path=/", "***"),
        ("X-Client-Secret: abcdefghijkl", "***ijkl"),
        (f"X-Other: see {KEY} and {FIXED}.", "see ***0042 and ***ixed."),
        ("Idempotency-Key: b7f1c9d2", "b7f1c9d2"),
        ('WWW-Authenticate: Bearer realm="petstore"', 'Bearer realm="petstore"'),
    ],
)
def test_field_shows_no_credentials(field: str, shown: str) -> None:
    name, _, value = field.partition(": ")
    assert mask_field(name, value, [FIXED]) == shown


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        (f"?api_key={KEY}&limit=1", "?api_key=***0042&limit=1"),
        ("?key=abcdefghijkl&monkey=abcdefghijkl", "?key=***ijkl&monkey=abcdefghijkl"),
        (f"/{KEY}?q={FIXED}", "/***0042?q=***ixed"),
        ("?q=a%2Fkey%2Bwith%3Dsigns", "?q=***igns"),
        (f"/%70{KEY[1:]}/x%20y?a%20b={FIXED[:-1]}%64", "/***0042/x%20y?a%20b=***ixed"),
        ("?api_key=***abcdefghijkl", "?api_key=***ijkl"),  # stars alone do not make a masked key
        ("?api_key=***ijkl", "?api_key=***ijkl"),
        ("?q=" + "x" * 300 + f"&api_key={KEY}", "?q=" + "x" * 300 + "&api_key=***0042"),
    ],
)
def test_target_shows_no_key(query: str, shown: str) -> None:
    assert mask_target(f"/v1/pets{query}", (FIXED, "a/key+with=signs")) == f"/v1/pets{shown}"


def test_text_shows_no_key_even_if_the_key_was_cut() -> None:
    assert mask_text("longest-key-of-two", ["longest-key", "longest-key-of-two"]) == "***-two"
    assert mask_text(f"{FIXED[:9]}... and data...", [FIXED]) == "***... and data..."
    assert mask_text(f"{FIXED[:7]}... and {FIXED[:9]} and", [FIXED]) == f"{FIXED[:7]}... and {FIXED[:9]} and"
    assert mask_text(f"see petstore-... and {KEY[:12]}...", [KEY]) == "see petstore-... and ***..."
    assert mask_text("a latest pet", ["test"]) == "a latest pet"
    plain = 'E  KeyError: "100 %"\n  at %41 of /{}?a=b c'
    assert mask_text(plain.format(f"%70{KEY[1:]}"), [KEY]) == plain.format("***0042"), "all else stays as it is"
    assert request_line("GET", f"/\n{KEY}{'x' * 300}", ()) == f"GET /\\n***0042{'x' * 191}..."
    assert printable("a\x1b[31m\u202e Zoë 🐕") == "a\\x1b[31m\\u202e Zoë 🐕"
