"""Strict decoders for the input of clients: JSON bodies, integers in parameters, percent-encoded text.

``json.loads`` accepts NaN, repeated members and lone surrogates. Deep nesting and long integers make it raise
RecursionError and ValueError. Here each of these is a violation, unless a gap allows it. The client gets a clear 400.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NoReturn
from urllib.parse import unquote

from petstore_mock.common.masking import cut
from petstore_mock.common.refusing import refuse
from petstore_mock.interface.violations import Violation, Violations, path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from petstore_mock.common.values import Json, JsonObject, JsonValue

    _Container = dict[str, JsonValue] | list[JsonValue]

# RFC 8259 §9 lets a parser limit depth and digits. Bodies of this interface have one level; 100 levels leave room for
# unknown members that a behaviour ignores. The time of int() is quadratic in the number of digits.
_DEEPEST: Final = 100
_MOST_DIGITS: Final = 400
_SHOWN: Final = 60  # characters of a text that is not JSON
_TOO_DEEP: Final = f"must not nest deeper than {_DEEPEST} levels (RFC 8259 §9)"
_ENDS_EARLY: Final = "; it ends too early: Content-Length counts bytes, not characters"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)  # as JSON writes it (RFC 8259 §6)
_BROKEN_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_LONG_INTEGER: Final = b"0" * (_MOST_DIGITS + 1)


class MalformedJsonError(Exception):
    """The body is not JSON; ``violation`` says why."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


class RepeatedMembers(dict[str, Any]):
    """An object with repeated names: it keeps the last member of each name, and the repeated ``names``."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs)
        self.names = [name for name, count in counts.items() if count > 1]


def _members(pairs: list[tuple[str, Any]]) -> JsonObject:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    return RepeatedMembers(pairs)


def _integer(text: str) -> int:
    return int(text[:_MOST_DIGITS])  # the first digits of a longer integer exceed every bound as well


def _refuse(expected: str) -> NoReturn:
    raise MalformedJsonError(Violation("body", "json", expected)) from None


def _refuse_constant(text: str) -> NoReturn:
    _refuse(f"must not contain {text}, which is not a JSON value (RFC 8259 §6)")


_decoder: Final = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_refuse_constant)
# Of a body with thousands of numbers, the calls of ``parse_int`` take most of the time.
_decoder_of_long_integers: Final = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_integer, parse_constant=_refuse_constant
)
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def decode_json(body: bytes) -> tuple[Json, Violations]:
    """Decode a JSON text strictly (RFC 8259, and RFC 7493 for repeated members and surrogates)."""
    value = _decoded(body)
    repeated = Violations()
    # UTF-8 has no surrogates, so a lone one stands in an escape.
    may_have_surrogates = b"\\ud" in body or b"\\uD" in body
    is_plain = not isinstance(value, RepeatedMembers)
    if body.count(b"{") + body.count(b"[") > 1:
        is_plain = _is_plain(value)
    if may_have_surrogates or not is_plain:
        _look_through(value, (), repeated)
    return value, repeated


def _decoded(body: bytes) -> JsonValue:
    if not body:
        _refuse("must be a JSON object and is empty")
    if body.startswith(b"\xef\xbb\xbf"):
        _refuse("must not begin with a byte-order mark (RFC 8259 §8.1)")
    has_long_integer = _LONG_INTEGER in body.translate(_DIGITS)
    decoder = _decoder_of_long_integers if has_long_integer else _decoder
    try:
        value: JsonValue = decoder.decode(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        early = _ENDS_EARLY if error.reason == "unexpected end of data" else ""
        _refuse(f"must be UTF-8; byte {error.start} is not valid (RFC 8259 §8.1){early}")
    except json.JSONDecodeError as error:
        _refuse_syntax(error)
    except RecursionError:
        _refuse(_TOO_DEEP)
    return value


def _is_plain(value: JsonValue) -> bool:
    """Return whether no member is repeated, and no container nests too deep."""
    containers = [value] if isinstance(value, (dict, list)) else []
    for _ in range(_DEEPEST):
        if not containers:
            return True
        if any(isinstance(container, RepeatedMembers) for container in containers):
            return False
        parts = chain.from_iterable(map(_parts, containers))
        containers = [part for part in parts if isinstance(part, (dict, list))]
    return not containers


def _parts(container: _Container) -> Iterable[JsonValue]:
    if isinstance(container, dict):
        return container.values()
    return container


def _refuse_syntax(error: json.JSONDecodeError) -> NoReturn:
    ends = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    early = _ENDS_EARLY if ends and not error.doc.isascii() else ""
    where = f"at line {error.lineno} column {error.colno} of {cut(error.doc, _SHOWN)!r}"
    _refuse(f"must be JSON; {error.msg.removesuffix(' at')} {where}{early}")


def _look_through(value: JsonValue, steps: tuple[str | int, ...], repeated: Violations) -> None:
    """Add repeated members to ``repeated``; refuse lone surrogates and deep nesting. ``steps`` is the value's path."""
    if isinstance(value, str):
        if _SURROGATE.search(value):
            words = "must not contain a lone surrogate (RFC 7493 §2.1)"
            raise MalformedJsonError(Violation(path_of(steps), "unicode", words, value))
    elif isinstance(value, (list, dict)):
        _look_into(value, steps, repeated)


def _look_into(container: _Container, steps: tuple[str | int, ...], repeated: Violations) -> None:
    if len(steps) >= _DEEPEST:
        _refuse(_TOO_DEEP)
    if isinstance(container, RepeatedMembers):
        repeated.fill(container.names, partial(_repeated, container, steps))
    members: Iterable[tuple[str | int, JsonValue]] = enumerate(container)
    if isinstance(container, dict):
        members = container.items()
    for step, part in members:
        if isinstance(step, str):
            _look_through(step, steps, repeated)
        # A body can have thousands of numbers, and a call for each takes most of the time.
        if not isinstance(part, (int, float)):
            _look_through(part, (*steps, step), repeated)


def _repeated(container: Mapping[str, JsonValue], steps: Sequence[str | int], name: str) -> Violation:
    words = "must appear only once in its object"
    return Violation(path_of([*steps, name]), "uniqueMembers", words, container[name])


def encode_json(value: Json) -> bytes:
    """Return the canonical bytes of a value: compact, UTF-8, members in the order given."""
    return _encode(value).encode("utf-8")


def copy_json(value: Json, advice: str) -> Json:
    """Return a copy of the argument ``json``, so the caller can't change it later. A refusal ends with ``advice``."""
    try:
        return json.loads(encode_json(value))
    except (TypeError, ValueError, RecursionError) as error:
        refuse(f"expected json to be a JSON value; {error}: {advice}")


def read_integer(text: str) -> int | str:
    """Return the text of a parameter as an integer if it is a JSON integer other than -0; else return the text."""
    is_integer = text != "-0" and _INTEGER.fullmatch(text) is not None
    return _integer(text) if is_integer else text


def percent_decode(text: str) -> str | None:
    """Decode percent-encoded UTF-8 (RFC 3986 §2.1); return None if the encoding or the UTF-8 is invalid."""
    if not text.isascii():
        return None
    if "%" not in text:
        return text
    if _BROKEN_PERCENT.search(text):
        return None
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return None
