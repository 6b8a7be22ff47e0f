"""Each body is judged as the interface and the RFCs say, and is kept exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from petstore_mock import PetStoreMock
from tests.client import Client, Response
from tests.property.judge import judge_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

pytestmark = pytest.mark.untraced


def words(text: str) -> list[str]:
    return text.split()


def rarely(odd: Sequence[str], usual: SearchStrategy[str], *, one_in: int) -> SearchStrategy[str]:
    """Draw one of ``odd`` once in ``one_in`` times: a text is JSON only if all of its parts are."""
    return st.integers(1, one_in).flatmap(lambda turn: st.sampled_from(odd) if turn == one_in else usual)


# Texts that are JSON, and texts that nearly are

BLANKS: Final = rarely(
    ["\x0b", "\xa0", "\ufeff", "//\n", "\0", "\x0c", "\u2028"],
    st.sampled_from(["", "", " ", "\n", "\t\r\n "]),
    one_in=80,
)
EDGES: Final = (
    *words("0 -0 1 1.0 -0.0 1e2 1E+2 1e-2 1e400 -1e400 1e1000000000 0e0 0.10 9223372036854775807 9223372036854775808"),
    *words("-9223372036854775808 -9223372036854775809 9007199254740993 9223372036854775807.0"),
    *("1" + "0" * 18, "1" + "0" * 500, "-" + "9" * 5000),
)
NO_NUMBERS: Final = words(
    "00 01 -01 +1 1. .5 1e 1e+ - NaN Infinity -Infinity 1_0 0x10 1f --1 ١ １ 1,0 ١٢ 1.5.5 1e1.0 -.5 01e1 1١"
)
NUMBERS: Final = rarely(NO_NUMBERS, st.sampled_from(EDGES) | st.integers(-(2**65), 2**65).map(str), one_in=12)
ESCAPES: Final = (
    *("\\u0041", "\\u0000", "\\n", '\\"', "\\\\", "\\/", "\\b\\f\\r\\t", "\\ud83d\\ude00", "\\uD83D\\uDE00"),
    *("\\u2028", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffe", "é", "e\u0301", "😀", "\u200f", "a" * 70, "[{,:"),
)
ODD_ESCAPES: Final = (
    *("\\ud800", "\\udc00", "\\uDFFFa", "\\ude00\\ud83d", "\\ud83dx", "\\ud83d\\ud83d", "\\ud800\\u0041"),
    *("\\ud83d😀", "\\\\\\ud800", "\\ud83d\\\\ude00", "\\u12", "\\u", "\\x41", "\\'", "\\", "\\uGGGG", "\\u 041"),
    *("\\U00000041", "\\u+041", "\\u0x41", "\0", "\n", "\t", "\x1f", '"'),
)
CHARACTERS: Final = st.text(max_size=8).map(lambda text: "".join(c for c in text if c >= " " and c not in '\\"'))
STRINGS: Final = st.lists(rarely(ODD_ESCAPES, CHARACTERS | st.sampled_from(ESCAPES), one_in=20), max_size=4).map(
    lambda parts: f'"{"".join(parts)}"'
)
SCALARS: Final = rarely(
    ["nul", "True", "undefined", "''", "'a'", "\u201ca\u201d", "", "truefalse", "/**/1"],
    st.sampled_from(["null", "true", "false", '""', '"sold"', "1", "[]", "{}"]) | NUMBERS | STRINGS,
    one_in=20,
)
NAMES: Final = st.sampled_from(
    ['"name"', '"na\\u006de"', '"categoryId"', '"status"', '"id"', '"Name"', '"a.b"', '""', '"\\u0000"']
)


def joined(items: SearchStrategy[str], opening: str, closing: str) -> SearchStrategy[str]:
    return st.builds(
        lambda parts, blank, separator, end: f"{opening}{blank}{separator.join(parts)}{blank}{end}",
        st.lists(items, max_size=4),
        BLANKS,
        rarely([",,", " ", ";"], st.sampled_from([",", ",\n", " , "]), one_in=10),
        rarely(["", ",", f",{closing}", closing * 2, "]", "}"], st.just(closing), one_in=8),
    )


def member(names: SearchStrategy[str], values: SearchStrategy[str]) -> SearchStrategy[str]:
    colons = rarely(["=", "", "::"], st.sampled_from([":", " : ", "\n:"]), one_in=15)
    return st.builds(lambda name, colon, value: f"{name}{colon}{value}", names, colons, values)


VALUES: Final = st.recursive(
    SCALARS,
    lambda inner: (
        joined(inner, "[", "]")
        | joined(member(rarely(["1", "null", "[]"], STRINGS | NAMES, one_in=20), inner), "{", "}")
    ),
    max_leaves=6,
)
STATUSES: Final = rarely(
    ['"Sold"', '"sold "', "null", '""', '["sold"]', "{}", '"lost"', '"sold\\u0000"'],
    st.sampled_from(['"available"', '"pending"', '"sold"', '"s\\u006fld"']),
    one_in=5,
)
DEEP: Final = st.builds(
    lambda depth, inner, missing: "[" * depth + inner + "]" * (depth - missing),
    st.integers(95, 105),
    st.sampled_from(["", "1", '"[["', '"\\""', "{}"]),
    st.sampled_from([0, 0, 1, -1]),
) | st.integers(97, 103).map(lambda depth: '{"a":' * depth + "1" + "}" * depth)
INVALID_UTF8: Final = st.sampled_from(
    [b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98", b"\x80", b"\xef\xbb\xbf"]
)


@st.composite
def new_pets(draw: DrawFn) -> str:
    """Write a NewPet of which each member is right more often than not."""
    members = [
        '"name"' + draw(st.sampled_from([":", " : "])) + draw(st.one_of(*[STRINGS] * 9, VALUES)),
        '"categoryId":' + draw(st.one_of(*[st.integers(-(2**63), 2**63 - 1).map(str)] * 4, NUMBERS, VALUES)),
    ]
    if draw(st.booleans()):
        members.append('"status":' + draw(STATUSES))
    match draw(st.integers(0, 15)):
        case 7:
            members.append(draw(member(NAMES, VALUES)))
        case 8:
            members.append(draw(st.sampled_from(members)))
        case 9:
            members.pop(draw(st.integers(0, len(members) - 1)))
    blank = draw(BLANKS)
    return "{" + blank + f",{blank}".join(draw(st.permutations(members))) + "}"


@st.composite
def bodies(draw: DrawFn) -> bytes:
    """Draw the bytes of a body: a text, what may stand around it, in an encoding, changed now and then."""
    text = draw(BLANKS) + draw(st.one_of(*[new_pets()] * 4, VALUES, DEEP)) + draw(BLANKS)
    text += draw(st.sampled_from([""] * 60 + ["x", "{}", ",", "\0", "]", "1", '"']))
    odd = ["utf-8-sig", "utf-16", "utf-16-le", "utf-32-be", "latin-1", "utf-7"]
    body: bytes = text.encode(draw(st.sampled_from(["utf-8"] * 60 + odd)), "ignore")
    for _ in range(draw(st.sampled_from([0] * 16 + [1, 2]))):
        at = draw(st.integers(0, len(body)))
        piece = draw(st.binary(min_size=1, max_size=3) | INVALID_UTF8)
        body = draw(st.sampled_from([body[:at] + piece + body[at:], body[:at] + body[at + 1 :], body[:at]]))
    return body


MANY: Final = settings(max_examples=2 * settings().max_examples)  # each is quick


@pytest.fixture(scope="module")
def client() -> Client:
    """Give a client of a world of more animals than a page."""
    return Client(PetStoreMock(seed=130, api_key="k"))


def blamed(client: Client, response: Response) -> set[str]:
    """Return the paths that the journal has for a refusal; the message names them, as far as it goes."""
    violations = client.last.violations
    for violation in violations[:20]:
        assert f"{violation.path} " in response.message
    return {violation.path for violation in violations}


@MANY
@given(body=bodies())
@example(body=b"[" * 100_000)
@example(body=b'{"name":"a","categoryId":1}')
def test_body_is_judged_as_the_interface_says(client: Client, body: bytes) -> None:
    """A 400 names just the paths that are wrong or missing."""
    client.petstore.reset()
    response, expected = client.post(body), judge_body(body)
    if expected.pet is None:
        assert (response.status, client.refusal) == (400, expected.kind)
        found = blamed(client, response)
        assert found == expected.paths or (expected.kind == "malformed_json" and found < expected.paths)
        assert len(client.petstore.pets) == 130
        return
    assert response.status == 201
    pet = response.json()
    assert client.get(pet["id"]).json() == pet
    assert {name: value for name, value in pet.items() if name != "id"} == expected.pet
    assert len(client.petstore.pets) == 131
