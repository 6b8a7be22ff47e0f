"""The kinds of values: what a schema of a field or a parameter allows, in every form that the product needs.

How this works. ``kind_of`` finds the row that describes a schema. Validation, sentences, seeded animals, wrong bodies,
odd values and mutants ask the row; ``strategies/values.py`` has a strategy for each row. A schema with a type, a
format or a keyword that no row knows is refused when the package is imported.

JSON texts of a row may hold ``{label}``: ``verify`` replaces it by a text that is unique to the request.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# JSON values can have any type.

from __future__ import annotations

import html
import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from json import dumps
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn
from urllib.parse import unquote_plus

from petstore_mock.common.guards import is_array
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import by_name, is_integer
from petstore_mock.interface.strict_json import read_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from petstore_mock.common.values import Json, JsonObject

    Schema = Mapping[str, Json]
    Check = Callable[[Json], bool]
    Change = Callable[[Json], Json]

# Keywords that each schema may have: those that name its kind, and those that describe a value without restricting it.
_OF_EACH: Final = frozenset({"type", "format", "title", "description", "default", "examples"})
_BOUNDS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_LENGTHS: Final = frozenset({"minLength", "maxLength"})
_ITEMS: Final = frozenset({"items", "minItems", "maxItems", "uniqueItems"})
_MEMBERS: Final = frozenset({"properties", "required", "additionalProperties"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """Valid values of a kind that services often change, with the clause that says that they are kept."""

    id: str  # the end of the clause's id
    words: str  # the kind in the words of the clause
    holds: Check  # whether a value is of this sort


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """A mistake that services make with valid values of a kind: the value stays valid, but it is another one.

    Words hold ``{name}`` for the field. A mutant makes the mistake in a response, or in the store, or both.
    """

    change: Change  # returns the wrong value; it may be the same for values that show no mistake
    responds: str = ""  # the end of the mutant's name, if responses have the wrong value
    responds_words: str = ""  # what the operation does, after its name
    keeps: str = ""  # the end of the mutant's name, if the store has the wrong value
    keeps_words: str = ""  # what the store does, after "the store"
    is_of_long: bool = False  # whether only long values show the mistake
    is_beyond: bool = False  # whether only values beyond the plain ones show the mistake in a response


class Misshape(NamedTuple):
    """A mistake that services make with values of a kind, and that makes them invalid."""

    end: str  # the end of the mutant's name
    words: str  # what the operation does, after its name; ``{name}`` stands for the field
    change: Change


class Delicate(NamedTuple):
    """A valid value that a service may refuse, but that services often change: it has a clause of its own."""

    id: str  # the end of the clause's id, and of the mutant's name
    words: str  # the value in the words of the clause
    text: str  # its JSON text, perhaps with placeholders of a run
    change: Change | None = None  # the usual mistake; None if the fake refuses the value


def _unordered(value: Json) -> NoReturn:
    raise TypeError(f"expected a value of a kind that has an order; got {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of values.

    Attributes:
        name: the name of the row.
        type: the ``type`` of its schemas.
        format: the ``format`` of its schemas; empty if they have none.
        keywords: the keywords that its schemas may have, beside type, format and annotations.
        needs: the keywords that each of its schemas must have.
        quick: returns a check for a schema. True means valid; False means that jsonschema must decide.
        has_format: whether a text has the format; kinds without a check of their format accept every text.
        expected: what a text of the format is, after "must be".
        phrase: the kind in words; ``{values}`` stands for the values of an enum.
        wrong: JSON texts that break a schema, by the end of the clause's id; those beyond its limits follow from
            ``LIMITS``, and those of its parts from theirs.
        odd: valid JSON texts that services often refuse or change.
        beyond: valid values that services often change; None if there are none.
        delicate: valid values that services often change, each with its usual mistake.
        plain: a value that a schema without limits allows.
        others: returns other values, of which a schema may allow some.
        slips: mistakes of services that turn a value into another valid one.
        misshapen: mistakes of services that make a value invalid.
        numbered: returns a sample for a later turn of the samples, from the sample and the number of the turn.
        read: returns the value of a parameter's text, or the text itself if it is no such value.
        order: returns a key that orders values. For a kind without an order, it raises TypeError.
        is_free_text: whether nearly any text is a value.
    """

    name: str
    type: str
    format: str = ""
    keywords: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()
    quick: Callable[[Schema], Check]
    has_format: Callable[[str], bool] = lambda _: True
    expected: str = ""
    phrase: str
    wrong: Mapping[str, str]
    odd: tuple[str, ...] = ()
    beyond: Beyond | None = None
    delicate: tuple[Delicate, ...] = ()
    plain: Json = 1
    others: Callable[[Json, Schema], Iterable[Json]]
    slips: tuple[Slip, ...] = ()
    misshapen: tuple[Misshape, ...] = ()
    numbered: Callable[[Json, int], Json] = lambda value, _: value
    read: Callable[[str], Json] = str
    order: Change = _unordered
    is_free_text: bool = False


def quick(rules: Schema) -> Check:
    """Return a quick check of a schema: True means valid, and False means that jsonschema must decide."""
    # No quick check reads uniqueItems.
    if "type" not in rules or "uniqueItems" in rules or _unknown(rules):
        return _undecided
    check = kind_of(rules).quick(rules)
    if allows_null(rules):
        return partial(_is_null_or, check)
    return check


def _is_null_or(check: Check, value: Json) -> bool:
    return value is None or check(value)


def allows_null(rules: Schema) -> bool:
    """Whether a schema allows null beside the values of its kind."""
    named = rules.get("type")
    return is_array(named) and "null" in named


def type_of(rules: Schema) -> object:
    """Return the type of the values that are not null."""
    named: object = rules.get("type")
    if not is_array(named):
        return named
    others = [name for name in named if name != "null"]
    return others[0] if len(others) == 1 else named


def phrase(rules: Schema) -> str:
    """Return what a schema allows, in words: ``a date or null``."""
    words = kind_of(rules).phrase.format(values=", ".join(rules.get("enum", ())))
    if allows_null(rules):
        return f"{words} or null"
    return words


class Edge(NamedTuple):
    """A value that a schema just allows."""

    end: str  # the end of the clause's id
    words: str
    text: str  # its JSON text


class Limit(NamedTuple):
    """A keyword that limits the values of a kind."""

    edge: str  # the end of the id of the clause about the last valid value
    words: str
    broken: str  # the same for the first invalid value
    valid: int  # from the size of the keyword to a valid value
    invalid: int  # from the size of the keyword to an invalid value
    value: Change  # returns the value of a size


def _same(value: Json) -> Json:
    return value


def _letters(count: int) -> str:
    return "x" * count


LIMITS: Final = MappingProxyType(
    {
        "minLength": Limit("shortest", "a length of {}", "short", 0, -1, _letters),
        "maxLength": Limit("longest", "a length of {}", "long", 0, 1, _letters),
        "minimum": Limit("least", "{}", "minimum", 0, -1, _same),
        "maximum": Limit("most", "{}", "maximum", 0, 1, _same),
        "exclusiveMinimum": Limit("low", "{}", "bottom", 1, 0, _same),
        "exclusiveMaximum": Limit("high", "{}", "top", -1, 0, _same),
    }
)


def _limits(rules: Schema) -> Iterator[tuple[Limit, Json]]:
    """Yield the limits of a schema with their sizes, without those of int64."""
    for keyword, limit in LIMITS.items():
        size = rules.get(keyword)
        if size is not None and abs(size) < _MOST_EXACT:
            yield limit, size


def parts(rules: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the parts of a value with their schemas: the items of an array, or the members of an object."""
    if "items" in rules:
        yield "item", rules["items"]
    yield from rules.get("properties", {}).items()


def with_part(rules: Schema, name: str, text: str) -> str:
    """Return the JSON text of a plain value, in which one part has a text."""
    if "items" in rules:
        return f"[{text}]"
    members = {other: dumps(value) for other, value in plain(rules).items()}
    return as_text(members | {name: text})


def as_text(members: Mapping[str, str]) -> str:
    """Return the JSON text of an object whose members are JSON texts."""
    written = [f"{dumps(name)}: {text}" for name, text in members.items()]
    return f"{{{', '.join(written)}}}"


def plain(rules: Schema) -> Json:
    """Return a valid value of a schema."""
    for limit, size in _limits(rules):
        return limit.value(size + limit.valid)
    if "enum" in rules:
        return rules["enum"][0]
    members = {name: plain(rules["properties"][name]) for name in rules.get("required", ())}
    return members or kind_of(rules).plain


def another(value: Json, rules: Schema) -> Json:
    """Return another value that a schema allows, or the same one if there is no other."""
    if value is None:
        return plain(rules)
    accepts = quick(rules)
    for other in kind_of(rules).others(value, rules):
        if other != value and accepts(other):
            return other
    return value


def wrong_texts(rules: Schema) -> Mapping[str, str]:
    """Return JSON texts that break a schema, by the end of the clause's id. ``null`` breaks only a required field."""
    texts = {**kind_of(rules).wrong, "null": "null"}
    allowed: Iterable[str] = rules.get("enum", ())
    for value in map(str.swapcase, allowed):
        if value not in allowed:
            texts.setdefault("case", dumps(value))
    for limit, size in _limits(rules):
        texts[limit.broken] = dumps(limit.value(size + limit.invalid))
    if allows_null(rules):
        texts.pop("null", None)
    return texts | _wrong_parts(rules)


def _wrong_parts(rules: Schema) -> dict[str, str]:
    """Return JSON texts in which a part of the value is missing or wrong."""
    texts: dict[str, str] = {}
    required = rules.get("required", ())
    for name in required:
        others = plain(rules)
        del others[name]
        texts[f"{name.lower()}-required"] = dumps(others)
    for name, part in parts(rules):
        is_optional = name not in {"item", *required}
        for end, text in wrong_texts(part).items():
            # As for fields, the interface does not say whether null means that an optional member is absent.
            means_absent = is_optional and end == "null"
            if not means_absent:
                texts[f"{name.lower()}-{end}"] = with_part(rules, name, text)
    return texts


def wrong_parameters(rules: Schema) -> dict[str, str]:
    """Return texts of a parameter that a schema refuses, by the end of the clause's id."""
    reads = kind_of(rules).read
    accepts = quick(rules)
    texts = {"value": "no-such-value"}
    for limit, size in _limits(rules):
        texts[limit.broken] = str(limit.value(size + limit.invalid))
    return {end: text for end, text in texts.items() if not accepts(reads(text))}


def wrong_text(rules: Schema) -> str:
    """Return a text of a parameter that a schema refuses; empty if the schema refuses no text but an empty one."""
    return next(iter(wrong_parameters(rules).values()), "")


def edges(rules: Schema) -> Iterator[Edge]:
    """Yield the values at the limits of a schema, and null if the schema allows it."""
    for limit, size in _limits(rules):
        last = size + limit.valid
        yield Edge(limit.edge, limit.words.format(last), dumps(limit.value(last)))
    if allows_null(rules):
        yield Edge("null", "null", "null")
    for name, part in parts(rules):
        for edge in edges(part):
            text = with_part(rules, name, edge.text)
            yield Edge(f"{name.lower()}-{edge.end}", f"{name} {edge.words}", text)


def kind_of(rules: Schema) -> Kind:
    """Return the kind that a schema describes.

    Raises:
        PetStoreMockError: no row knows its type and its format.
    """
    if "enum" in rules:
        return KINDS["enum"]
    form = type_of(rules), rules.get("format", "")
    for kind in KINDS.values():
        if (kind.type, kind.format) == form:
            return kind
    known = ", ".join(f"{kind.type} {kind.format}".strip() for kind in KINDS.values())
    return refuse(f"expected a type and a format that a row of interface/kinds.py knows ({known}); got {dict(rules)}")


def _unknown(rules: Schema) -> list[str]:
    """Return the keywords of a schema that its kind does not know."""
    return sorted(rules.keys() - kind_of(rules).keywords - _OF_EACH)


def require_known(rules: Schema, place: str) -> None:
    """Refuse a schema that a row does not know completely. ``place`` names it in the error."""
    kind = kind_of(rules)
    unknown = _unknown(rules)
    if unknown:
        advice = "add it to its row in interface/kinds.py, with a quick check or a reason why jsonschema decides"
        refuse(f"{place}: expected the keywords {', '.join(sorted(kind.keywords))}; got {', '.join(unknown)}: {advice}")
    missing = [keyword for keyword in kind.needs if keyword not in rules]
    if missing:
        refuse(f"{place}: expected the keywords {', '.join(kind.needs)} for the kind {kind.name}; got {dict(rules)}")
    for name, part in parts(rules):
        require_known(part, f"{place}.{name}")


# Quick checks. Each reads all keywords of its kind.


def _undecided(_: object) -> bool:
    return False


_NUMBERS: Final[Mapping[object, set[type]]] = {"integer": {int}, "number": {int, float}, "boolean": {bool}}


def _quick_number(rules: Schema) -> Check:
    types = _NUMBERS[type_of(rules)]
    least = rules.get("minimum", -inf)
    most = rules.get("maximum", inf)
    above = rules.get("exclusiveMinimum", -inf)
    below = rules.get("exclusiveMaximum", inf)
    return lambda value: type(value) in types and least <= value <= most and above < value < below


def _quick_text(rules: Schema) -> Check:
    least = rules.get("minLength", 0)
    most = rules.get("maxLength", inf)
    return lambda value: type(value) is str and least <= len(value) <= most


def _quick_enum(rules: Schema) -> Check:
    allowed = rules["enum"]
    return lambda value: type(value) is str and value in allowed


def _quick_formatted(rules: Schema) -> Check:
    has_format = kind_of(rules).has_format
    return lambda value: type(value) is str and has_format(value)


def _quick_array(rules: Schema) -> Check:
    accepts = quick(rules["items"])
    least = rules.get("minItems", 0)
    most = rules.get("maxItems", inf)
    return lambda value: type(value) is list and least <= len(value) <= most and all(map(accepts, value))


def _quick_object(rules: Schema) -> Check:
    members = {name: quick(member) for name, member in rules.get("properties", {}).items()}
    return partial(_is_object, frozenset(rules.get("required", ())), members)


def _is_object(required: frozenset[str], members: Mapping[str, Check], value: Json) -> bool:
    if type(value) is not dict or not value.keys() >= required:
        return False
    for name, member in value.items():  # noqa: SIM110  # all() of a generator takes 50 % longer
        if name not in members or not members[name](member):
            return False
    return True


# Formats of texts (RFC 3339 §5.6)

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MOMENT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}):([0-9]{2})(\.[0-9]{1,30})?([Zz]|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)


def is_date(text: str) -> bool:
    """Whether a text is a full-date: ``2021-06-15``."""
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_moment(text: str) -> bool:
    """Whether a text is a date-time with an offset: ``2021-06-15T10:00:00Z``."""
    return _moment(text) is not None


def _moment(text: str) -> tuple[datetime, str] | None:
    """Return a date-time in UTC, with its digits of a fraction. None if the text is no date-time."""
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        return None
    day, minute, second, fraction, offset = parts.groups()
    whole = "59" if second == "60" else second  # RFC 3339 §5.7 allows a leap second, and Python does not
    try:
        moment = datetime.fromisoformat(f"{day}T{minute}:{whole}{offset.upper()}")
        return moment.astimezone(UTC), (fraction or "").rstrip("0")
    except (ValueError, OverflowError):  # the offset moves the date out of the years 1 to 9999
        return None


# Other values


def _other_numbers(value: float, rules: Schema) -> Iterable[float]:
    bounds = [rules[bound] for bound in _BOUNDS & rules.keys()]
    return value - 1, value + 1, *bounds


def _other_arrays(value: list[Json], rules: Schema) -> Iterable[list[Json]]:
    items = rules["items"]
    changed = [another(item, items) for item in value[:1]]
    return [*changed, *value[1:]], [], [*value, plain(items)]


def _other_objects(value: JsonObject, rules: Schema) -> Iterator[JsonObject]:
    for name, part in parts(rules):
        yield {**value, name: another(value.get(name), part)}


# Mistakes of services

_MOST_EXACT: Final = 2**63 - 1
# RFC 8259 §6
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)


# Replaces the characters that take four bytes in UTF-8, such as emoji.
_basic: Final = partial(re.sub, "[\U00010000-\U0010ffff]", "?")


def _cut(text: str) -> str:
    return text[:50]


def _rounded(number: int) -> int:
    """Return the integer as a parser reads it that knows only doubles."""
    return min(int(float(number)), _MOST_EXACT)


def _day_before(text: str) -> str:
    day = date.fromisoformat(text)
    before = date.max if day == date.min else day - timedelta(days=1)
    return before.isoformat()


def _to_minutes(text: str) -> str:
    """Return a date-time without its seconds and their fraction."""
    parts = _MOMENT.fullmatch(text)
    return text if parts is None else f"{parts[1]}T{parts[2]}:00{parts[5]}"


def _nothing(_: object) -> None: ...


_AS_TEXT: Final = (Misshape("text", "returns {name} as text", str),)
_AS_NULL: Final = (Misshape("null", "returns null as {name}", _nothing),)
_TEXT_SLIPS: Final = (
    Slip(
        change=_basic,
        responds="emoji",
        responds_words="returns ? for emoji in {name}",
        keeps="basic",
        keeps_words="replaces emoji in {name}",
        is_beyond=True,
    ),
    Slip(
        change=str.strip,
        responds="trimmed",
        responds_words="trims {name}",
        keeps="trimmed",
        keeps_words="trims {name}",
    ),
    Slip(change=_cut, keeps="cut", keeps_words="cuts a long {name}", is_of_long=True),
)


def _as_double(text: str) -> str:
    if _NUMBER.fullmatch(text):
        return str(float(text))
    return text


def _without(pattern: str) -> Change:
    return partial(re.sub, pattern, "")


_DAY: Final = r"\d{4}-\d\d-\d\d"
_DELICATE_TEXTS: Final = (
    Delicate("digits", "digits with leading zeros", '"000{run}"', _without(r"\A0+(?=\d*\Z)")),
    Delicate("exponent", "digits with an exponent", '"{run}e3"', _as_double),
    Delicate("date", "a date", '"{day}"', partial(re.sub, rf"\A({_DAY})\Z", r"\1T00:00:00Z")),
    Delicate("moment", "a date with a time", '"{day}T10:00:00Z"', _without(rf"(?<={_DAY})T[\d:]+Z\Z")),
    Delicate("true", "the word true", '"true"', partial(re.sub, r"\Atrue\Z", "True")),
    Delicate("null", "the word null", '"null"', _without(r"\Anull\Z")),
    Delicate("backslash", "a text with backslashes and dollar signs", r'"{label}\\n\\\\$$x$0"', _without(r"\\")),
    Delicate("html", "a text with HTML and quotes", '"{label}<b id=\\"x\\">&amp;\'</b>"', html.escape),
    Delicate("percent", "a text with percent signs", '"{label}%2Fx+y%20z"', unquote_plus),
    Delicate("blanks", "a text with runs of blanks", '"{label}   x"', _without("  +(?= )")),
    Delicate("lines", "a text with line breaks", r'"{label}\r\n\tx"', _without(r"\r")),
    Delicate(
        "invisible",
        "a text with invisible characters",
        r'"{label}\u200dx\u00a0y"',
        _without("[\u200d\u00a0]"),
    ),
    Delicate(
        "decomposed", "a text with a decomposed letter", r'"{label}Zo\u0308e"', partial(re.sub, "o\u0308", "\u00f6")
    ),
    Delicate("nul", "a text with U+0000", r'"{label}\u0000x"', _without("(?s)\0.*")),
    Delicate("surrogate", "a text with half a surrogate pair", r'"{label}\ud83d"'),
    Delicate("marks", "a letter with 100 combining marks", '"{label}e' + r"\u0301" * 100 + '"', _without("\u0301{90}")),
)


# Texts of parameters


def _read_number(text: str) -> float | str:
    if _NUMBER.fullmatch(text) is None:
        return text
    whole = read_integer(text)
    return whole if is_integer(whole) else float(text)


def _read_boolean(text: str) -> bool | str:
    return {"true": True, "false": False}.get(text, text)


_INTEGER: Final = Kind(
    name="integer",
    type="integer",
    keywords=_BOUNDS,
    quick=_quick_number,
    phrase="an integer",
    wrong={"type": '"1"', "fraction": "1.5", "boolean": "true"},
    others=_other_numbers,
    misshapen=_AS_TEXT,
    read=read_integer,
    order=_same,
)
_ROWS: Final = (
    Kind(
        name="text",
        type="string",
        keywords=_LENGTHS,
        quick=_quick_text,
        phrase="a string",
        wrong={"type": "5"},
        odd=('"{label}Žofka✓"', r'"{label}😀\ud83d\ude00"', '" {label}  x "'),
        delicate=_DELICATE_TEXTS,
        beyond=Beyond(id="text", words="string, also beyond ASCII", holds=lambda text: not text.isascii()),
        plain="x",
        others=lambda value, _: (value.swapcase(), f"{value}x", value[:-1]),
        slips=_TEXT_SLIPS,
        misshapen=_AS_NULL,
        numbered=lambda text, turn: f"{text} {turn + 1}",
        order=_same,
        is_free_text=True,
    ),
    # After text: ``kind_of`` finds the row of an enum by its keyword.
    Kind(
        name="enum",
        type="string",
        keywords=frozenset({"enum"}),
        quick=_quick_enum,
        phrase="one of {values}",
        wrong={"value": '"no-such-value"', "type": "1"},
        others=lambda _, rules: rules["enum"],
        misshapen=(Misshape("upper", "returns {name} in another case", str.swapcase),),
    ),
    replace(
        _INTEGER,
        name="int64",
        format="int64",
        needs=("minimum", "maximum"),  # jsonschema checks no bounds because of a format
        phrase="an int64",
        wrong={**_INTEGER.wrong, "range": "9223372036854775808"},
        odd=("9007199254740993", "-1"),
        beyond=Beyond(id="int64", words="int64, also beyond 2^53", holds=lambda number: number > 2**53),
        slips=(
            Slip(
                change=_rounded,
                responds="rounded",
                responds_words="rounds a large {name}",
                keeps="rounded",
                keeps_words="rounds {name}",
                is_beyond=True,
            ),
        ),
    ),
    _INTEGER,
    Kind(
        name="number",
        type="number",
        keywords=_BOUNDS,
        quick=_quick_number,
        phrase="a number",
        wrong={"type": '"1.5"', "boolean": "true"},
        odd=("0.123456789", "12.3456789", "-2.5e-7", "123456789.125"),
        others=_other_numbers,
        slips=(
            Slip(
                change=partial(round, ndigits=1),
                responds="rounded",
                responds_words="rounds {name} to one digit",
                keeps="rounded",
                keeps_words="rounds {name} to one digit",
            ),
        ),
        misshapen=_AS_TEXT,
        read=_read_number,
        order=_same,
    ),
    Kind(
        name="boolean",
        type="boolean",
        quick=_quick_number,
        phrase="a boolean",
        wrong={"type": '"true"', "number": "1"},
        plain=True,
        others=lambda value, _: [not value],
        misshapen=_AS_TEXT,
        read=_read_boolean,
    ),
    Kind(
        name="date",
        type="string",
        format="date",
        quick=_quick_formatted,
        has_format=is_date,
        expected="a date, such as 2021-06-15 (RFC 3339 §5.6)",
        phrase="a date",
        wrong={
            "type": "5",
            "word": '"yesterday"',
            "day": '"2021-02-30"',
            "time": '"2021-06-15T10:00:00Z"',
        },
        odd=('"2024-02-29"', '"0001-01-01"', '"9999-12-31"'),
        plain="2021-06-15",
        others=lambda value, _: [_day_before(value)],
        slips=(Slip(change=_day_before, keeps="shifted", keeps_words="moves {name} by a day"),),
        misshapen=_AS_NULL,
        order=_same,
    ),
    Kind(
        name="date-time",
        type="string",
        format="date-time",
        quick=_quick_formatted,
        has_format=is_moment,
        expected="a date and time with an offset, such as 2021-06-15T10:00:00Z (RFC 3339 §5.6)",
        phrase="a date-time",
        wrong={
            "type": "5",
            "word": '"yesterday"',
            "date": '"2021-06-15"',
            "zone": '"2021-06-15T10:00:00"',
        },
        odd=('"2021-06-15T10:00:00.123456Z"', '"2021-06-15T23:59:59+02:00"'),
        plain="2021-06-15T10:00:00Z",
        others=lambda *_: ("2001-02-03T04:05:06Z", "2001-02-03T04:05:07Z"),
        slips=(Slip(change=_to_minutes, keeps="minutes", keeps_words="cuts {name} to minutes"),),
        misshapen=_AS_NULL,
        order=_moment,
    ),
    Kind(
        name="array",
        type="array",
        keywords=_ITEMS,
        needs=("items",),
        quick=_quick_array,
        phrase="an array",
        wrong={"type": '"text"'},
        odd=("[]",),
        plain=[],
        others=_other_arrays,
        misshapen=_AS_TEXT,
    ),
    Kind(
        name="object",
        type="object",
        keywords=_MEMBERS,
        needs=("properties",),
        quick=_quick_object,
        phrase="an object",
        wrong={"type": '"text"'},
        plain={},
        others=_other_objects,
        misshapen=_AS_TEXT,
    ),
)
KINDS: Final = by_name(_ROWS)
