"""Texts for people contain no keys and no control characters."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

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


ISSUED = {
    "plain": KEY,
    "hexadecimal": KEY.encode().hex(),
    "upper-case hexadecimal": KEY.encode().hex().upper(),
    **{f"base64 behind {user!r}": b64encode(f"{user}:{KEY}".encode()).decode() for user in ("", "a", "ab", "abc")},
    "base64, URL": urlsafe_b64encode(f"Bearer {KEY}, and ???".encode()).decode(),
    "base64 in percent": quote(b64encode(f"a:{KEY}".encode())),
    "UTF-16": "\0".join(KEY),
    "HTML": "".join(f"&#{ord(character)};" for character in KEY),
    "percent": "".join(f"%{ord(character):02X}" for character in KEY),
}


@pytest.mark.parametrize("form", ISSUED.values(), ids=ISSUED)
def test_an_issued_key_of_any_world_is_masked_in_each_form(form: str) -> None:
    shown = mask_text(f"<{form}>", ())
    assert "***0042" in shown
    assert "0123abcd" not in shown
    assert b"abcd".hex() not in shown.lower()
    assert not any(part in shown for part in ("MDEyM", "AxMjN", "wMTIz", "0\x001", "%30%31", "&#48;&#49;"))
    assert shown.startswith("<"), "all else stays as it is"


def test_a_text_that_only_looks_like_an_issued_key_stays() -> None:
    for text in ("petstore-mock", "petstore-0123abcd-00004", b64encode(b"petstore-mock is a fake").decode()):
        assert mask_text(f"<{text}>") == f"<{text}>"
        assert mask_text(f"<{text.encode().hex()}>") == f"<{text.encode().hex()}>"


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
