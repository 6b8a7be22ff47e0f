"""Strict decoding of what clients send: JSON bodies and percent-encoded text.

``json.loads`` alone accepts NaN, repeated members and lone surrogates, and fails with other errors than its own on
deep nesting and long integers. Each of these is a violation here, so that a client gets a clear 400.
"""

from __future__ import annotations

import json
import math
import re
import threading
from itertools import accumulate
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final, NoReturn

from petstore_mock.common.masking import cut
from petstore_mock.contract.violations import HugeInteger, JsonNumber, Violation, Violations, member_path, path_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "MalformedJsonError",
    "RepeatedMembers",
    "decode_json",
    "encode_flat",
    "encode_json",
    "integral_value",
    "members_of",
    "percent_decode",
    "read_integer",
    "unrepresentable",
]

# RFC 8259 §9 lets a parser limit depth and digits. No body of this interface nests deeper than 1; 100 leaves room for
# members that a behaviour ignores, and stays far from the recursion limit. Longer integers than 400 digits are not
# computed with: int() is quadratic in their length.
_MAX_DEPTH: Final = 100
_MAX_DIGITS: Final = 400

_SHOWN: Final = 60  # characters of a text that is no JSON: enough to tell a form, or what another language prints
_ENDS_EARLY: Final = "; it ends too early: Content-Length counts bytes, not characters"

# Strings are unrolled and possessive: an alternative for each character costs a second for a name of a megabyte.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in _STEPS)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PERCENT: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_BROKEN_PERCENT: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


class MalformedJsonError(Exception):
    """The body is no JSON text; carries the violation."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(str(violation))
        self.violation = violation


class RepeatedMembers(dict[str, Any]):
    """An object some of whose members stand more than once; the last of them is kept.

    Attributes:
        repeated: their names.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counted: dict[str, int] = {}  # a Counter costs three times as much for two members
        for name, _ in pairs:
            counted[name] = counted.get(name, 0) + 1
        self.repeated = [name for name, count in counted.items() if count > 1]


def read_integer(text: str) -> int:
    """Return the integer that ``text`` writes as JSON does; one of too many digits as a huge integer of its sign."""
    return int(text) if len(text) <= _MAX_DIGITS else HugeInteger(text)


def _refuse_constant(text: str) -> NoReturn:
    raise MalformedJsonError(_malformed(f"must not hold {text}, which is no JSON value (RFC 8259 §6)"))


class _Noted(threading.local):
    """Whether the text that this thread decodes repeats a member: without one, nobody need look for them."""

    repeated = False


_noted: Final = _Noted()


def members_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object as ``object_pairs_hook`` does; ``RepeatedMembers`` if one stands twice."""
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    _noted.repeated = True
    return RepeatedMembers(pairs)


_decoder: Final = json.JSONDecoder(
    object_pairs_hook=members_of, parse_int=read_integer, parse_float=JsonNumber, parse_constant=_refuse_constant
)
# For a body that is too short for a number of too many digits: the scanner then makes its integers in C.
_short_decoder: Final = json.JSONDecoder(
    object_pairs_hook=members_of, parse_float=JsonNumber, parse_constant=_refuse_constant
)


_NONE: Final = Violations()  # not to be added to


def _malformed(expected: str) -> Violation:
    return Violation("body", "json", expected)


def decode_json(body: bytes) -> tuple[Any, Violations]:
    """Decode a JSON text strictly (RFC 8259, and RFC 7493 for repeated members and surrogates).

    Returns:
        The value, with the last of repeated members kept, and one violation (rule ``uniqueMembers``) for each of them.

    Raises:
        MalformedJsonError: the body is no JSON text, or none that can be answered for.
    """
    text = _text(body)
    # Brackets inside strings count here too; only a body that may be deep is scanned exactly.
    if len(body) > _MAX_DEPTH and body.count(b"[") + body.count(b"{") > _MAX_DEPTH:
        _refuse_depth(body)
    decoder = _decoder if len(body) > _MAX_DIGITS else _short_decoder
    _noted.repeated = False  # an earlier text may have failed after it had repeated a member
    try:
        # As clients send it, there is nothing around the object, and no white space need be looked for.
        value, end = decoder.raw_decode(text) if text[0] == "{" and text[-1] == "}" else (None, 0)
        if end != len(text):
            value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise MalformedJsonError(_syntax(error)) from None
    if b"\\u" in body:
        _refuse_surrogates(value)
    if not _noted.repeated:
        return value, _NONE
    repeated = Violations()
    find_repeated(value, [], repeated)
    return value, repeated


def _text(body: bytes) -> str:
    if not body:
        raise MalformedJsonError(_malformed("must be a JSON object and is empty"))
    if body.startswith(b"\xef\xbb\xbf"):
        raise MalformedJsonError(_malformed("must not begin with a byte-order mark (RFC 8259 §8.1)"))
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        early = _ENDS_EARLY if error.reason == "unexpected end of data" else ""
        words = f"must be UTF-8; byte {error.start} is not (RFC 8259 §8.1){early}"
        raise MalformedJsonError(_malformed(words)) from None


def _syntax(error: json.JSONDecodeError) -> Violation:
    said = error.msg.removesuffix(" at")  # as json goes on with a colon
    ends = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    early = _ENDS_EARLY if ends and not error.doc.isascii() else ""
    shown = repr(cut(error.doc, _SHOWN))
    return _malformed(f"must be JSON; {said} at line {error.lineno} column {error.colno} of {shown}{early}")


def find_repeated(value: Any, steps: list[str | int], found: Violations) -> None:  # noqa: ANN401  # any JSON value
    """Add the repeated members of ``value``, a container that ``steps`` lead to; a path is written only where due."""
    if isinstance(value, RepeatedMembers):
        names = value.repeated[: found.room]
        found.omitted += len(value.repeated) - len(names)
        path = path_of(steps, "body") if names else ""
        words = "must stand only once in its object"
        found += [Violation(member_path(path, name), "uniqueMembers", words, value[name]) for name in names]
    for step, part in value.items() if isinstance(value, dict) else enumerate(value):
        if part and isinstance(part, (dict, list)):
            steps.append(step)
            find_repeated(part, steps, found)
            steps.pop()


def _refuse_depth(body: bytes) -> None:
    """Refuse a body that nests too deep, by its brackets alone: a megabyte of them takes a twentieth of a second."""
    brackets = _STRING.sub(b"", body).translate(None, _NO_BRACKETS)
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > _MAX_DEPTH:
        raise MalformedJsonError(_malformed(f"must not nest deeper than {_MAX_DEPTH} levels (RFC 8259 §9)"))


def _refuse_surrogates(value: Any) -> None:  # noqa: ANN401
    try:
        _plain_encoder.encode(value).encode("utf-8")  # in C, and fails only for what the walk then finds
    except UnicodeEncodeError:
        steps: list[str | int] = []
        text = find_lone_surrogate(value, steps)
        violation = Violation(path_of(steps, "body"), "unicode", "must not hold a lone surrogate (RFC 7493 §2.1)", text)
        raise MalformedJsonError(violation) from None


def find_lone_surrogate(value: Any, steps: list[str | int]) -> str | None:  # noqa: ANN401
    """Return the first text with a lone surrogate, or None; ``steps`` then lead to it, or to the object it names."""
    if isinstance(value, str):
        return value if _SURROGATE.search(value) else None
    if not value or not isinstance(value, (dict, list)):
        return None
    for step, part in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(step, str) and _SURROGATE.search(step):
            return step
        steps.append(step)
        found = find_lone_surrogate(part, steps)
        if found is not None:
            return found
        steps.pop()
    return None


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


def unrepresentable(value: Any, path: str) -> Violations:  # noqa: ANN401  # a JSON value is any value
    """Return what of ``value`` no answer of ours can say again (RFC 8259 §6), however deep inside.

    The schemas that ship allow nothing of the kind; others may.
    """
    found = Violations()
    _find_unrepresentable(value, path, found)
    return found


def _find_unrepresentable(value: Any, path: str, found: Violations) -> None:  # noqa: ANN401
    if isinstance(value, HugeInteger) or (isinstance(value, float) and not math.isfinite(value)):
        if found.room:
            found.append(Violation(path, "double", "must be within the range of a double", value))
        else:
            found.omitted += 1
    elif isinstance(value, (dict, list)):
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(part, (int, float, dict, list)):  # a path is written only where due
                _find_unrepresentable(part, member_path(path, str(step)), found)


def encode_json(value: Any) -> bytes:  # noqa: ANN401  # a JSON value is any value
    """Return the canonical bytes of ``value``: compact, UTF-8, members in the order given."""
    return _encoder.encode(value).encode("utf-8")


def encode_flat(document: Mapping[str, Any]) -> bytes:
    """Return the canonical bytes of an object of strings and integers, as an animal is: those of :func:`encode_json`.

    Half of the time: JSONEncoder builds its machinery anew for each object; this is what it quotes strings with.
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
_plain_encoder: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False)  # of whatever was decoded


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
