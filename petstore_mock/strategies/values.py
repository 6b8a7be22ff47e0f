"""Strategies for values that a JSON Schema allows, simple ones first, and for values that break the schema."""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from petstore_mock.interface.schemas import violations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import SearchStrategy

    Schema = Mapping[str, Any]

# Small integers, the bounds of 32 and 64 bits, and the bounds of the integers that a float holds exactly.
_INTEGERS: Final = (
    *(1, 0, -1, 2, 3, 20, 21, 50, 99, 100, 1_234_567, 2**31 - 1, 2**31, -(2**31) - 1),
    *(2**53 - 1, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)),
)
# Simple texts first. Then empty texts, quotes, escapes, separators, marks, right-to-left text, emoji, and texts with a
# meaning in HTML, URLs, templates, or code that guesses types.
_TEXTS: Final = (
    *("Rex", "Tom", "", " ", "é\U0001f415", '\u2028\r\n\0"\\', "שלום", "&amp;", "%41", "%s", "{0}", "\\u0041"),
    *("null", "1.0", "2026-01-01", "e\u0308", "'", "\t", "\x7f", "\u0085", "\ufeff", "\ufffd", "\uffff", "مرحبا"),
    *("\u202eabc", "👩\u200d👩\u200d👧", "𝄞", "ﬁ", "ß", "İ", "a=b&c+d", "</script>", "{}", "NaN", "../.."),
    "ab" * 600,
)
_AWKWARD: Final = (
    "Rexab 019 \t\r\n\v\0\x1f\x7f\"\\/'<>&%+,;{}[]éßĀЖשלמر\u0301\u0308\u200d\ufe0f"
    "\u0085\u2028\u2029\u00a0\ufeff猫犬한\U0001f415\U0001f408\U0001f1e9\U00010348"
)
CHARACTERS: Final = st.sampled_from(_AWKWARD) | st.characters(exclude_categories=["Cs"])  # no lone surrogates
_LENGTHS: Final = (1, 1, 2, 20, 300)
_OF_EACH_TYPE: Final[st.SearchStrategy[Any]] = st.sampled_from([None, True, 1, 1.5, "1", [], {}])
_HANDLED: Final = {"type", "title", "description", "default", "minimum", "maximum"}  # keywords that need no filter


def samples(schema: Schema) -> list[Any]:
    """Return values that a schema allows, the simplest first."""
    if "enum" in schema:
        return list(schema["enum"])
    if schema.get("type") == "array":
        return [[value] for value in samples(schema.get("items", {}))[:3]] + [[]]
    candidates = {"string": _TEXTS, "boolean": (True, False)}.get(schema.get("type", ""), _INTEGERS)
    return [value for value in candidates if not violations(schema, value, "")]


def values(schema: Schema) -> SearchStrategy[Any]:
    """Draw values that a schema allows."""
    if schema.get("type") == "object":
        return objects(schema)
    if "enum" in schema or schema.get("type") == "boolean":
        return st.sampled_from(samples(schema))
    drawn = st.sampled_from(samples(schema)) | _others(schema)
    return drawn if schema.keys() <= _HANDLED else drawn.filter(lambda value: not violations(schema, value, ""))


def _others(schema: Schema) -> SearchStrategy[Any]:
    low, high = schema.get("minimum"), schema.get("maximum")
    kind = schema.get("type")
    if kind == "string":
        text = st.text(CHARACTERS, max_size=8)
        return st.builds(mul, text, st.sampled_from(_LENGTHS))
    if kind == "array":
        unique = repr if schema.get("uniqueItems") else None
        return st.lists(values(schema.get("items", {})), max_size=schema.get("maxItems"), unique_by=unique)
    if kind == "integer":
        return st.integers(low, high)
    return st.floats(low, high, allow_nan=False) if kind == "number" else json_values()


def objects(schema: Schema) -> SearchStrategy[dict[str, Any]]:
    """Draw objects that a schema allows, with and without each optional member."""
    members = {name: values(part) for name, part in schema.get("properties", {}).items()}
    required = {name: members[name] for name in members if name in schema.get("required", ())}
    optional = {name: members[name] for name in members if name not in required}
    return st.fixed_dictionaries(required, optional=optional)


def json_values() -> SearchStrategy[Any]:
    """Draw any JSON value, mostly a small one."""
    texts = st.text(CHARACTERS, max_size=10)
    return st.recursive(
        _OF_EACH_TYPE | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=5,
    )


def wrong_values(schema: Schema) -> SearchStrategy[Any]:
    """Draw values that mostly break a keyword of a schema."""
    drawn = [_OF_EACH_TYPE, json_values()]  # json_values() alone rarely draws a given type
    if "minimum" in schema:
        drawn.append(st.integers(max_value=schema["minimum"] - 1))
    if "maximum" in schema:
        drawn.append(st.integers(min_value=schema["maximum"] + 1))
    if "enum" in schema:
        near = [text for item in schema["enum"] for text in (item.upper(), f"{item} ", item[:-1])]
        drawn.append(st.sampled_from(near) | st.text(CHARACTERS))
    return st.one_of(drawn)
