"""Strict decoding of what clients send: JSON bodies and percent-encoded text.

``json.loads`` alone accepts NaN, repeated members and lone surrogates, and fails with other errors than its own on
deep nesting and long integers. Each of these is a violation here, so that a client gets a clear 400.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final, NoReturn

from petstore_mock.violations import HugeInteger, JsonNumber, Violation, member_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MalformedJsonError", "decode_json", "encode_flat", "encode_json", "integral_value", "percent_decode"]

# RFC 8259 §9 lets a parser limit depth and digits. No body of this interface nests deeper than 1; 100 leaves room for
# members that a behaviour ignores, and stays far from the recursion limit. Longer integers than 400 digits are not
# computed with: int() is quadratic in their length.
_MAX_DEPTH: Final = 100
_MAX_DIGITS: Final = 400

# Strings are unrolled and possessive: an alternative for each character costs a second for a name of a megabyte.
_TOKENS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)
_PERCENT: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_BROKEN_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


class MalformedJsonError(Exception):
    """The body is no JSON text; carries the violation."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


class _Members(dict[str, Any]):
    """An object some of whose members stand more than once; the last of them is kept."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counted = Counter(name for name, _ in pairs)
        self.repeated = [name for name, count in counted.items() if count > 1]


def _integer(text: str) -> int:
    return int(text) if len(text) <= _MAX_DIGITS else HugeInteger(text)


def _refuse_constant(text: str) -> NoReturn:
    raise MalformedJsonError(_malformed(f"must not hold {text}, which is no JSON value (RFC 8259 §6)"))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _Members(pairs)


_decoder: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=JsonNumber, parse_constant=_refuse_constant
)


def _malformed(expected: str) -> Violation:
    return Violation("body", "json", expected)


def decode_json(body: bytes) -> tuple[Any, list[Violation]]:
    """Decode a JSON text strictly (RFC 8259, and RFC 7493 for repeated members and surrogates).

    Returns:
        The value, with the last of repeated members kept, and one violation (rule ``uniqueMembers``) for each of them.

    Raises:
        MalformedJsonError: the body is no JSON text, or none that can be answered for.
    """
    text = _text(body)
    # Brackets inside strings count here too; only a body that may be deep is scanned exactly.
    if body.count(b"[") + body.count(b"{") > _MAX_DEPTH:
        _refuse_depth(body)
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise MalformedJsonError(_syntax(error)) from None
    if b"\\u" in body:
        _refuse_surrogates(value)
    repeated: list[Violation] = []
    _find_repeated(value, "body", repeated)
    return value, repeated


def _text(body: bytes) -> str:
    if not body:
        raise MalformedJsonError(_malformed("must be a JSON object and is empty"))
    if body.startswith(b"\xef\xbb\xbf"):
        raise MalformedJsonError(_malformed("must not begin with a byte-order mark (RFC 8259 §8.1)"))
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedJsonError(_malformed(f"must be UTF-8; byte {error.start} is not (RFC 8259 §8.1)")) from None


def _syntax(error: json.JSONDecodeError) -> Violation:
    return _malformed(f"must be JSON; {error.msg} at line {error.lineno} column {error.colno}")


def _find_repeated(value: Any, path: str, found: list[Violation]) -> None:  # noqa: ANN401  # walks any JSON value
    if isinstance(value, dict):
        if isinstance(value, _Members):
            words = "must stand only once in its object"
            found += [
                Violation(member_path(path, name), "uniqueMembers", words, value[name]) for name in value.repeated
            ]
        for name, member in value.items():
            if isinstance(member, (dict, list)):
                _find_repeated(member, member_path(path, name), found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                _find_repeated(item, f"{path}.{index}", found)


def _refuse_depth(body: bytes) -> None:
    depth = 0
    for token in _TOKENS.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth > _MAX_DEPTH:
                raise MalformedJsonError(_malformed(f"must not nest deeper than {_MAX_DEPTH} levels (RFC 8259 §9)"))
        elif first in b"]}":
            depth -= 1


def _strings(value: Any, path: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401  # walks any JSON value
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield path, name
            yield from _strings(member, member_path(path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, f"{path}.{index}")


def _refuse_surrogates(value: Any) -> None:  # noqa: ANN401
    for path, text in _strings(value, "body"):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            violation = Violation(path, "unicode", "must not hold a lone surrogate (RFC 7493 §2.1)", text)
            raise MalformedJsonError(violation) from None


def integral_value(number: JsonNumber) -> int | None:
    """Return the integer that ``number`` equals (``1.0``, ``1e2``), or None when it has a fraction.

    A number beyond any bound comes back as a huge integer of its sign, so that the schema's bounds refuse it.
    """
    mantissa, _, exponent = number.text.lower().partition("e")
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 0
    if len(exponent) > _MAX_DIGITS:  # further than any number of digits can make up for
        return None if exponent.startswith("-") else HugeInteger(number.text)
    significant = digits.rstrip("0")
    zeros = int(exponent or 0) - len(fraction) + len(digits) - len(significant)
    if zeros < 0:
        return None
    if len(significant) + zeros > _MAX_DIGITS:
        return HugeInteger(number.text)
    value = int(significant + "0" * zeros)
    return -value if mantissa.startswith("-") else value


def encode_json(value: Any) -> bytes:  # noqa: ANN401  # a JSON value is any value
    """Return the canonical bytes of ``value``: compact, UTF-8, members in the order given."""
    return _encoder.encode(value).encode("utf-8")


def encode_flat(document: Mapping[str, Any]) -> bytes:
    """Return the canonical bytes of an object of strings and integers, as an animal is: those of :func:`encode_json`.

    A fifth of the time: JSONEncoder builds its machinery anew for each object; this is what it quotes strings with.
    """
    quote = encode_basestring
    members = []
    for name, value in document.items():
        if type(value) is str:
            members.append(f"{quote(name)}:{quote(value)}")
        elif type(value) is int:
            members.append(f"{quote(name)}:{value}")
        else:
            return encode_json(document)
    return f"{{{','.join(members)}}}".encode()


_encoder: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def percent_decode(text: str) -> str | None:
    """Decode percent-encoded UTF-8 (RFC 3986 §2.1); None when it is neither valid encoding nor valid UTF-8."""
    if "%" not in text:
        return text if text.isascii() else None
    if _BROKEN_PERCENT.search(text) or not text.isascii():
        return None
    raw = _PERCENT.sub(lambda match: bytes([int(match[1], 16)]), text.encode("ascii"))
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
