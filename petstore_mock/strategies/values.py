"""Values that a JSON Schema allows, edges and awkward ones among them, and values that break one of its keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

from petstore_mock.interface.schemas import violations

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hypothesis.strategies import SearchStrategy

    Schema = Mapping[str, Any]

# The ends of signs, of 32 and 64 bits, and of the integers that a float holds exactly.
_EDGES: Final = sorted(
    {sign * 2**bits + step for bits in (0, 7, 8, 15, 16, 31, 32, 53, 63) for sign in (1, -1) for step in (-1, 0, 1)},
    key=lambda edge: (abs(edge), edge < 0),
)
_FURTHER: Final = 2**70  # how far beyond its bounds an integer is drawn
CHARACTERS: Final = st.characters(codec="utf-8")  # without lone surrogates
# Emptiness, quotes and escapes, controls, line separators, combining marks, text from right to left, emoji of several
# code points, characters beyond 16 bits, and texts that look like syntax.
_TRICKY: Final = (
    *("", " ", '"', "'", "\\", "\0", "\n", "\r\n", "\t", "\x7f", "\u2028", "\u2029", "\u0085", "\ufeff", "\ufffd"),
    *("\uffff", "e\u0301", "\u0301", "שלום", "مرحبا", "\u202eabc", "\u200d", "🐕", "👩\u200d👩\u200d👧", "🏳️\u200d🌈"),
    *("𝄞", "ﬁ", "ß", "İ", "Rex & Co", "a=b", "a+b", "%41", "</script>", "{}", "[]", "null", "true", "0", "-1", "1e5"),
    *("NaN", "$ref", "../.."),
)
_OF_EACH_TYPE: Final[tuple[Any, ...]] = (None, True, 1, 1.5, "1", [], {})  # a type is rare among JSON values


def values(schema: Schema) -> SearchStrategy[Any]:
    """Draw values that a schema allows."""
    make = _MAKERS.get(str(schema.get("type")), _anything)
    drawn = st.sampled_from(schema["enum"]) if "enum" in schema else make(schema)
    return drawn.filter(lambda value: not violations(schema, value, "value"))


def _texts(schema: Schema) -> SearchStrategy[str]:
    low, high = schema.get("minLength", 0), schema.get("maxLength")
    plain = st.text(CHARACTERS, min_size=low, max_size=high)
    long = st.builds(lambda unit, size: (unit * size)[:high], st.text(CHARACTERS, min_size=1, max_size=3), _LENGTHS)
    return plain | st.sampled_from(_TRICKY).filter(lambda text: low <= len(text) <= (high or len(text))) | long


_LENGTHS: Final = st.integers(100, 2000)


def _integers(schema: Schema) -> SearchStrategy[int]:
    low, high = schema.get("minimum", -_FURTHER), schema.get("maximum", _FURTHER)
    return st.integers(low, high) | st.sampled_from([one for one in (low, high, *_EDGES) if low <= one <= high])


def _arrays(schema: Schema) -> SearchStrategy[list[Any]]:
    unique = repr if schema.get("uniqueItems") else None
    sizes = {"min_size": schema.get("minItems", 0), "max_size": schema.get("maxItems")}
    return st.lists(values(schema.get("items", {})), unique_by=unique, **sizes)


def objects(schema: Schema) -> SearchStrategy[dict[str, Any]]:
    """Draw objects that a schema allows, with and without each optional member."""
    members = {name: values(part) for name, part in schema.get("properties", {}).items()}
    required = {name: members[name] for name in members if name in schema.get("required", ())}
    optional = {name: members[name] for name in members if name not in required}
    return st.fixed_dictionaries(required, optional=optional)


_MAKERS: Final[dict[str, Callable[[Schema], SearchStrategy[Any]]]] = {
    "string": _texts,
    "integer": _integers,
    "number": lambda schema: st.floats(schema.get("minimum"), schema.get("maximum"), allow_nan=False),
    "boolean": lambda _: st.booleans(),
    "array": _arrays,
    "object": objects,
}


def _anything(_: Schema) -> SearchStrategy[Any]:
    return json_values()


def json_values() -> SearchStrategy[Any]:
    """Draw any JSON value, mostly a small one."""
    numbers = st.integers(-_FURTHER, _FURTHER) | st.floats(allow_nan=False, allow_infinity=False)
    texts = st.text(CHARACTERS, max_size=10)
    return st.recursive(
        st.none() | st.booleans() | numbers | texts | st.sampled_from(_OF_EACH_TYPE),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=5,
    )


def breakers(schema: Schema) -> dict[str, SearchStrategy[Any]]:
    """Return for keywords of a schema a strategy that aims at breaking each; the caller has the values judged."""
    found: dict[str, SearchStrategy[Any]] = {"type": json_values()}
    if "minimum" in schema:
        found["minimum"] = st.integers(1, _FURTHER).map(lambda step: schema["minimum"] - step)
    if "maximum" in schema:
        found["maximum"] = st.integers(1, _FURTHER).map(lambda step: schema["maximum"] + step)
    if "enum" in schema:
        near = [text for item in map(str, schema["enum"]) for text in (item.upper(), f"{item} ", item[:-1])]
        found["enum"] = st.sampled_from(near) | st.text(CHARACTERS)
    return found
