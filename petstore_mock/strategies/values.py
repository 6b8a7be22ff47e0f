"""Strategies for values that a JSON Schema allows, simple ones first, and for values that break the schema.

Each kind of values (``interface/kinds.py``) has a row here, with its simple values and its strategies.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from json import loads
from operator import itemgetter, mul
from typing import TYPE_CHECKING, Final

from hypothesis import strategies as st

from petstore_mock.common.refusing import refuse
from petstore_mock.interface.kinds import KINDS, edges, kind_of, plain, wrong_texts
from petstore_mock.interface.schemas import allows

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from petstore_mock.common.values import Json, JsonObject
    from petstore_mock.interface.kinds import Schema

    Simple = Callable[[Schema], list[Json]]
    Strategies = dict[str, SearchStrategy[Json]]  # by the name of a member or an argument

# Small integers, one that is shorter with an exponent, the bounds of 32 and 64 bits, and the bounds of the integers
# that a float holds exactly.
_INTEGERS: Final = (
    1, 0, -1, 2, 3, 20, 21, 50, 99, 100, 1_000_000, 2**31 - 1, 2**31, -(2**31) - 1,
    2**53 - 1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63),
)  # fmt: skip
# Texts with a meaning in HTML, URLs, templates, spreadsheets and languages, or for code that guesses types: numbers,
# literals, formulas, dates and times, markup, escapes, error words, encodings that detectors guess (HZ, UTF-7).
_MEANINGFUL: Final = r"""
    &amp; %41 %s {0} \u0041 null 1.0 2026-01-01 ' a=b&c+d </script> {} NaN ../..
    007 1e5 0x1F 1,000 +1 -0 .5 1_000 True false None nil undefined yes off
    =1+1 @SUM(A1) 31/12/2021 10:30 1:30:00 <b>Rex</b> {{7*7}} ${HOME} \n \ %00 &#65; a+b error 404 REX . / Rex/
    1/2 ½ ٣ IV 50% $5 1e999 - 0 Infinity 1j 61e9540 12345678901234567890 N/A ~ y [1] [Rex] {"a":1} "Rex" 'Rex' (1,2)
    `Rex` 1/2/2021 2021-01-01T00:00:00Z May P1D 1609459200 $HOME %(name)s ~/Rex *Rex* [Rex](x) :dog: :) %20 \x41
    ~{Rex~} +AFI-ex
    =?utf-8?q?Rex?= Rex&copy unauthorized rEX “Rex” Rex… O'Neil Rex;Tom
"""
# Empty texts, quotes, separators, marks, right-to-left text and emoji, and texts that trimming, collapsing or
# normalising changes.
_UNUSUAL: Final = (
    "", " ", "é\U0001f415", '\u2028\r\n\0"\\', "שלום", "e\u0308", "\t", "\x7f", "\u0085", "\ufeff", "\ufffd", "\uffff",
    "مرحبا", "\u202eabc", "👩\u200d👩\u200d👧", "𝄞", "ﬁ", "ß", "İ", "\uff11\uff12", "<!-- x -->", "Not Found",
    "undefined is not a function", " Rex", "Rex ", "Rex  Tom", "Rex\n", "\u00a0Rex", "\u3000", "\u212b", "\u2167",
    "A\u030a", "Re\u200bx", "Rex\ufeff", "Re\u00adx", "Re\u2011x", "\x1b[1mRex", "ab" * 600,
    "Rex, Tom", "a: b", "# Rex", "- Rex", "Rex\tTom", "Internal Server Error",
)  # fmt: skip
# Simple texts first.
_TEXTS: Final = ("Rex", "Tom", *_UNUSUAL, *_MEANINGFUL.split())
_AWKWARD: Final = (
    "Rexab 019 \t\r\n\v\0\x1f\x7f\"\\/'<>&%+,;{}[]éßĀЖשלמر\u0301\u0308\u200d\ufe0f"
    "\u0085\u2028\u2029\u00a0\ufeff猫犬한\U0001f415\U0001f408\U0001f1e9\U00010348"
)
CHARACTERS: Final = st.sampled_from(_AWKWARD) | st.characters(exclude_categories=["Cs"])  # no lone surrogates
_SHORT_TEXTS: Final = st.text(CHARACTERS, max_size=10)
_LENGTHS: Final = (1, 1, 2, 20, 300)
_OF_EACH_TYPE: Final[st.SearchStrategy[Json]] = st.sampled_from([None, True, 1, 1.5, "1", [], {}])


def _always(*values: Json) -> Simple:
    return lambda _: list(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawn:
    """The values of a kind.

    Attributes:
        simple: returns values that a schema may allow, the simplest first.
        others: returns a strategy for further values; None if the simple ones are all.
        near: returns wrong texts that resemble right values, beside those of the kind.
    """

    simple: Simple
    others: Callable[[Schema], SearchStrategy[Json]] | None = None
    near: Simple = lambda _: []


def _of_kind(schema: Schema) -> list[Json]:
    """Return the plain value of a schema, and the odd values of its kind."""
    return [plain(schema), *map(loads, kind_of(schema).odd)]


def _texts(_: Schema) -> SearchStrategy[str]:
    return st.builds(mul, st.text(CHARACTERS, max_size=8), st.sampled_from(_LENGTHS))


def _near_enum(schema: Schema) -> list[Json]:
    near: list[Json] = []
    for item in schema["enum"]:
        near += [item.upper(), f"{item} ", item[:-1]]
    return near


def _bounds(schema: Schema) -> tuple[Json, Json]:
    least = schema.get("minimum", schema.get("exclusiveMinimum"))
    most = schema.get("maximum", schema.get("exclusiveMaximum"))
    return least, most


def _simple_arrays(schema: Schema) -> list[Json]:
    return [[value] for value in samples(schema["items"])[:3]] + [[]]


def _arrays(schema: Schema) -> SearchStrategy[list[Json]]:
    unique = repr if schema.get("uniqueItems") else None
    return st.lists(values(schema["items"]), max_size=schema.get("maxItems"), unique_by=unique)


def objects(schema: Schema) -> SearchStrategy[JsonObject]:
    """Draw objects that a schema allows, with and without each optional member."""
    required: Strategies = {}
    optional: Strategies = {}
    for name, part in schema["properties"].items():
        members = required if name in schema.get("required", ()) else optional
        members[name] = values(part)
    return st.fixed_dictionaries(required, optional=optional)


_WHOLE: Final = _Drawn(
    simple=_always(*_INTEGERS), others=lambda schema: st.integers(*_bounds(schema)), near=_always(-(2**63) - 1)
)
_ROWS: Final = {
    "text": _Drawn(simple=_always(*_TEXTS), others=_texts),
    "enum": _Drawn(simple=itemgetter("enum"), near=_near_enum),
    "int64": _WHOLE,
    "integer": _WHOLE,
    "number": _Drawn(
        simple=_of_kind, others=lambda schema: st.floats(*_bounds(schema), allow_nan=False, allow_infinity=False)
    ),
    "boolean": _Drawn(simple=_always(True, False)),  # noqa: FBT003  # values of JSON, not flags
    "date": _Drawn(simple=_of_kind, others=lambda _: st.dates().map(date.isoformat)),
    "date-time": _Drawn(simple=_of_kind, others=lambda _: st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)),
    "array": _Drawn(simple=_simple_arrays, others=_arrays),
    "object": _Drawn(simple=_of_kind, others=objects),
}
if _ROWS.keys() != KINDS.keys():
    refuse(f"expected a strategy for each kind of values; unmatched: {', '.join(sorted(_ROWS.keys() ^ KINDS.keys()))}")


def samples(schema: Schema) -> list[Json]:
    """Return values that a schema allows, the simplest first."""
    simple = [*_ROWS[kind_of(schema).name].simple(schema)]
    simple += [loads(edge.text) for edge in edges(schema)]
    return [*filter(partial(allows, schema), simple)]


def values(schema: Schema) -> SearchStrategy[Json]:
    """Draw values that a schema allows."""
    simple = samples(schema)
    others = _ROWS[kind_of(schema).name].others
    drawn: list[SearchStrategy[Json]] = [st.sampled_from(simple)] if simple else []
    if others is not None:
        drawn.append(others(schema).filter(partial(allows, schema)))
    return st.one_of(drawn)


def json_values() -> SearchStrategy[Json]:
    """Draw any JSON value, mostly a small one."""
    numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(_OF_EACH_TYPE | numbers | _SHORT_TEXTS, _containers, max_leaves=5)


def _containers(parts: SearchStrategy[Json]) -> SearchStrategy[Json]:
    return st.lists(parts, max_size=3) | st.dictionaries(_SHORT_TEXTS, parts, max_size=3)


def wrong_values(schema: Schema) -> SearchStrategy[Json]:
    """Draw values that mostly break a schema."""
    near = [*map(loads, wrong_texts(schema).values()), *_ROWS[kind_of(schema).name].near(schema)]
    # json_values() alone rarely draws a given type.
    return _OF_EACH_TYPE | json_values() | st.sampled_from(near)
