"""Hypothesis strategies from the rules of one schema: values that it accepts, and values that break one keyword.

Only what our schemas use, and what a changed copy of them may well use, is generated with aim. Whatever other keyword
stands there is honoured by filtering, so that nothing invalid is ever drawn as valid.
"""

from __future__ import annotations

import json
import re
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from hypothesis import strategies as st

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hypothesis.strategies import SearchStrategy

__all__ = ["breakers", "integers", "json_values", "texts", "values", "when_drawn"]

P = ParamSpec("P")
T = TypeVar("T")

# Both sides of what goes wrong most: signs, the ends of 32 bits, of a float's exact integers and of 64 bits.
_EDGES: Final = tuple(
    sorted(
        {
            sign * (2**bits) + step
            for bits in (0, 7, 8, 15, 16, 31, 32, 53, 63)
            for sign in (1, -1)
            for step in (-1, 0, 1)
        }
    )
)
_FURTHER: Final = 2**70  # how far out of bounds an integer is drawn

# What software gets wrong in text: emptiness, quotes and escapes, controls, line separators, combining marks,
# right-to-left runs and overrides, emoji of several code points, characters beyond the BMP, what looks like syntax.
_TRICKY_TEXTS: Final = (
    "",
    " ",
    '"',
    "'",
    "\\",
    "\0",
    "\n",
    "\r\n",
    "\t",
    "\x7f",
    "\u2028",
    "\u2029",
    "\u0085",
    "\ufeff",
    "\ufffd",
    "\uffff",
    "e\u0301",
    "\u0301",
    "שלום",
    "مرحبا",
    "\u202eabc",
    "\u200d",
    "🐕",
    "👩\u200d👩\u200d👧",
    "🏳️\u200d🌈",
    "𝄞",
    "ﬁ",
    "ß",
    "İ",
    "Rex & Co",
    "a=b",
    "a+b",
    "%41",
    "</script>",
    "{}",
    "[]",
    "null",
    "true",
    "0",
    "-1",
    "1e5",
    "NaN",
    "$ref",
    "../..",
)
_CHARACTERS: Final = st.characters(codec="utf-8")  # no lone surrogates


def texts(schema: Mapping[str, Any]) -> SearchStrategy[str]:
    """Draw text within the bounds of ``schema``, tricky and very long ones among it."""
    low, high = int(schema.get("minLength", 0)), schema.get("maxLength")
    if "enum" in schema:
        return st.sampled_from([item for item in schema["enum"] if isinstance(item, str)])
    plain = st.text(_CHARACTERS, min_size=low, max_size=high)
    if "pattern" in schema:
        return st.from_regex(schema["pattern"]).filter(
            lambda text: low <= len(text) and (high is None or len(text) <= high)
        )
    tricky = [text for text in _TRICKY_TEXTS if low <= len(text) and (high is None or len(text) <= high)]
    longest = 4000 if high is None else min(high, 4000)
    drawn = [plain]
    if tricky:
        drawn.append(st.sampled_from(tricky))
    if longest > 100:
        drawn.append(_repeated(max(low, 100), longest))
    return st.one_of(drawn)


def _repeated(low: int, high: int) -> SearchStrategy[str]:
    unit = st.text(_CHARACTERS, min_size=1, max_size=3)
    length = st.integers(low, high)
    return st.builds(lambda part, size: (part * size)[:size], unit, length)


def integers(schema: Mapping[str, Any]) -> SearchStrategy[int]:
    """Draw integers within the bounds of ``schema``, and its edges often."""
    low, high = bounds(schema)
    if "enum" in schema:
        return st.sampled_from([item for item in schema["enum"] if isinstance(item, int)])
    step = int(schema.get("multipleOf", 1))
    inside = sorted(
        (
            edge
            for edge in {low, high, *_EDGES}
            if edge is not None and (low is None or low <= edge) and (high is None or edge <= high) and not edge % step
        ),
        key=lambda edge: (abs(edge), edge < 0),
    )
    drawn = _multiples(step, low, high)
    return st.one_of(drawn, st.sampled_from(inside)) if inside else drawn


def _multiples(step: int, low: int | None, high: int | None) -> SearchStrategy[int]:
    first = None if low is None else -(-low // step)
    last = None if high is None else high // step
    return st.integers(first, last).map(lambda number: number * step)


def numbers(schema: Mapping[str, Any]) -> SearchStrategy[float]:
    """Draw numbers within the bounds of ``schema``."""
    low, high = bounds(schema)
    return st.floats(low, high, allow_nan=False, allow_infinity=False)


def bounds(schema: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the lowest and the highest integer that ``schema`` allows; None for no bound."""
    lows = [schema[name] + step for name, step in (("minimum", 0), ("exclusiveMinimum", 1)) if name in schema]
    highs = [schema[name] - step for name, step in (("maximum", 0), ("exclusiveMaximum", 1)) if name in schema]
    return max(lows, default=None), min(highs, default=None)


_AIMED: Final = {
    "string": (texts, {"minLength", "maxLength", "pattern", "enum"}),
    "integer": (integers, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum"}),
    "number": (numbers, {"minimum", "maximum"}),
}
_SILENT: Final = {
    "type",
    "title",
    "description",
    "format",
    "default",
    "examples",
    "$comment",
    "$schema",
    "$id",
    "deprecated",
}


def values(schema: Mapping[str, Any], accepts: Callable[[Any], bool]) -> SearchStrategy[Any]:
    """Draw values that ``schema`` allows; ``accepts`` decides where a keyword is not generated with aim."""
    make, aimed = _AIMED.get(str(schema.get("type")), (None, set()))
    if make is None:
        drawn: SearchStrategy[Any] = st.sampled_from(schema["enum"]) if "enum" in schema else json_values()
        return drawn.filter(accepts)
    strategy: SearchStrategy[Any] = make(schema)
    return strategy if schema.keys() <= aimed | _SILENT else strategy.filter(accepts)


def json_values() -> SearchStrategy[Any]:
    """Draw any JSON value, small ones mostly."""
    scalars = (
        st.none()
        | st.booleans()
        | st.integers(-_FURTHER, _FURTHER)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(_CHARACTERS, max_size=10)
    )
    return st.recursive(
        scalars,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(_CHARACTERS, max_size=5), inner, max_size=3)
        ),
        max_leaves=5,
    )


# So that none of them is rare, as numbers are among JSON values.
_OF_EACH_TYPE: Final = st.sampled_from(["null", "true", "1", "1.5", '"1"', "[]", "{}"]).map(json.loads)


def _is_no(kind: str, value: object) -> bool:
    python: Any = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "array": list,
        "object": dict,
        "null": type(None),
    }.get(kind, object)
    return not isinstance(value, python) or (kind != "boolean" and isinstance(value, bool))


def breakers(schema: Mapping[str, Any]) -> dict[str, SearchStrategy[Any]]:
    """Return, for each keyword of a value's ``schema``, a strategy that aims at breaking this one alone.

    What it draws may break another keyword too (a text that is too short may not match the pattern either): the
    caller validates it.
    """
    kind = str(schema.get("type"))
    makers = {"integer": _integer_breakers, "string": _text_breakers}
    found = makers[kind](schema) if kind in makers else {}
    for keyword, wanted in schema.items():
        if keyword == "type":
            found[keyword] = (_OF_EACH_TYPE | json_values()).filter(partial(_is_no, kind))
        elif keyword == "enum":
            found[keyword] = _outside(list(wanted))
    return found


def _outside(allowed: list[Any]) -> SearchStrategy[Any]:
    """Draw what an enumeration does not hold, near misses often."""
    near = [text for item in allowed if isinstance(item, str) for text in (item.upper(), f"{item} ", item[:-1])]
    drawn: SearchStrategy[Any] = st.sampled_from(near) | st.text(_CHARACTERS) if near else json_values()
    return drawn.filter(lambda value: value not in allowed)


def _integer_breakers(schema: Mapping[str, Any]) -> dict[str, SearchStrategy[Any]]:
    low, high = bounds(schema)
    step = int(schema.get("multipleOf", 1))
    found: dict[str, SearchStrategy[Any]] = {}
    for keyword in schema:
        if keyword in {"minimum", "exclusiveMinimum"} and low is not None:
            found[keyword] = _multiples(step, low - _FURTHER, low - 1) | _multiples(step, low - step, low - 1)
        elif keyword in {"maximum", "exclusiveMaximum"} and high is not None:
            found[keyword] = _multiples(step, high + 1, high + _FURTHER) | _multiples(step, high + 1, high + step)
        elif keyword == "multipleOf" and step > 1:
            found[keyword] = st.integers(low, high).filter(lambda value: bool(value % step))
    return found


def _text_breakers(schema: Mapping[str, Any]) -> dict[str, SearchStrategy[Any]]:
    found: dict[str, SearchStrategy[Any]] = {}
    if schema.get("minLength", 0) > 0:
        found["minLength"] = st.text(_CHARACTERS, max_size=schema["minLength"] - 1)
    if "maxLength" in schema:
        found["maxLength"] = st.text(_CHARACTERS, min_size=schema["maxLength"] + 1, max_size=schema["maxLength"] + 50)
    if "pattern" in schema:
        pattern = re.compile(schema["pattern"])
        found["pattern"] = st.text(_CHARACTERS).filter(lambda text: not pattern.search(text))
    return found


def when_drawn(make: Callable[P, SearchStrategy[T]]) -> Callable[P, SearchStrategy[T]]:
    """Put off what ``make`` does until a value is drawn, so that a wrong argument fails the test and not the import."""

    @wraps(make)
    def lazy(*args: P.args, **kwargs: P.kwargs) -> SearchStrategy[T]:
        return st.deferred(lambda: make(*args, **kwargs))

    return lazy


def require_strategy(value: object, name: str) -> SearchStrategy[Any]:
    """Return ``value`` if it is a strategy.

    Raises:
        PetStoreMockError: it is none.
    """
    if not isinstance(value, st.SearchStrategy):
        raise PetStoreMockError(
            f"expected a strategy; got {name}={value!r} ({type(value).__name__}): pass st.just(...)"
        )
    return value
