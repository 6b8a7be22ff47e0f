r"""Finds API keys in texts, in each form in which clients and services write them.

How this works: a key stands in a text as it is, or in one encoding: hexadecimal, base64 (also within the base64 of a
longer text, such as ``Bearer KEY``), or UTF-16. In addition, each character may be escaped: percent-encoded, also
repeatedly, as JSON allows it (``\/``, ``\u002f``), or as HTML does (``&#47;``). A text with escapes is therefore
searched again after each of three decodings. ``_Decoded`` keeps the way back. That is all: a key in two encodings, such
as base64 of base64, or in another one, such as base32, is not found.

Two kinds of keys are found: the keys that the caller knows, and all keys that a world has issued, by their form. So
a text shows no issued key of another world either.

Clients choose the texts, so all work is linear. No regular expression runs on from a mistake.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from bisect import bisect_right
from functools import cached_property, lru_cache
from html import unescape
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

CUT: Final = "..."  # the end of a text that was cut
# Characters; a shorter fixed key, such as `test`, also occurs in ordinary words.
RECOGNISABLE: Final = 8

_ISSUED_START: Final = "petstore-"
_ISSUED_KEY: Final = re.compile(rf"{_ISSUED_START}[0-9a-f]{{8}}-[0-9]{{6,20}}")  # a key that a world issues
_CUT_ISSUED_KEY: Final = re.compile(rf"{_ISSUED_START}[0-9a-f]{{1,8}}(-[0-9]{{0,20}})?")
_LONGEST_ISSUED: Final = len(_ISSUED_START) + 8 + 1 + 20
_LONGEST: Final = 4096  # characters of a key whose encodings are kept; a client may send a key of 64 KiB
_MOST_DECODINGS: Final = 3
_URL_SAFE: Final = str.maketrans("+/", "-_")  # the other alphabet of base64 (RFC 4648 §5)
# A percent sign that was encoded again begins with %25. JSON inside JSON doubles backslashes.
_ESCAPE: Final = re.compile(
    r"""(%(?:25)*[0-9A-Fa-f]{2}|\\(?<!\\\\)\\{0,8}(?:[/"']|(?:u00|x)[0-9A-Fa-f]{2})"""
    r"""|&\#(?:[xX]0{0,4}[0-9A-Fa-f]{2}|0{0,4}[0-9]{2,3});)"""
)


class FoundKey(NamedTuple):
    """A key in a text. ``encoding`` is empty for a plain key; else words, such as " in base64"."""

    begin: int
    end: int
    key: str
    encoding: str
    # Whether the text was cut within the key.
    is_cut: bool = False


def find_keys(text: str, keys: Iterable[str], *, shortest: int = RECOGNISABLE) -> list[FoundKey]:
    """Return the ``keys`` in a text, and the keys that worlds issue, in order and without overlaps.

    A form of a key with fewer than ``shortest`` characters does not count.
    """
    forms = [*chain.from_iterable(_forms(key, shortest) for key in keys)]
    found_keys = [*_issued(text), *_known(text, forms), *_escaped(text, forms)]
    return _without_overlaps(found_keys) if found_keys else []


def key_in(text: str, keys: Iterable[str]) -> str | None:
    """Return how a text encodes one of ``keys``, in words (empty for a plain key), or None if it contains none."""
    wanted = tuple(keys)
    for found_key in find_keys(text, wanted):
        if found_key.key in wanted and not found_key.is_cut:
            return found_key.encoding
    return None


# Known keys


class _Form(NamedTuple):
    """A text that stands for a known key."""

    text: str
    key: str
    encoding: str  # as in ``FoundKey``


def _encodings(key: str) -> Mapping[str, str]:
    raw = key.encode("utf-8", "surrogatepass")
    encodings = dict.fromkeys((raw.hex(), raw.hex().upper()), _HEXADECIMAL)
    for before in range(3):
        alone = _in_base64(raw, before)
        encodings |= dict.fromkeys((alone, alone.translate(_URL_SAFE)), _BASE64)
    encodings["\0".join(key)] = _UTF_16
    encodings[key.replace("\\", "\\\\").replace('"', '\\"')] = " escaped"
    return encodings | {key: ""}


def _in_base64(raw: bytes, before: int) -> str:
    """Return the characters of base64 that depend on these bytes alone. ``before`` bytes of a group precede them."""
    encoded = b64encode(b"\0" * before + raw).decode()
    return encoded[_characters(before) : (before + len(raw)) * 8 // 6]


def _characters(count: int) -> int:
    """Return how many characters of base64 a number of bytes takes."""
    return -(-count * 8 // 6)


def _forms(key: str, shortest: int) -> tuple[_Form, ...]:
    """Return the forms of a key. The search for issued keys finds all of them at once."""
    if len(key) <= _LONGEST:
        return _kept_forms(key, shortest)
    return (_Form(key, key, ""),)


@lru_cache(maxsize=64)
def _kept_forms(key: str, shortest: int) -> tuple[_Form, ...]:
    if _ISSUED_KEY.fullmatch(key):
        return ()
    return tuple(_Form(text, key, encoding) for text, encoding in _encodings(key).items() if len(text) >= shortest)


def _whole(text: str, form: _Form) -> Iterator[FoundKey]:
    begin = text.find(form.text)
    while begin >= 0:
        end = begin + len(form.text)
        yield FoundKey(begin, end, form.key, form.encoding)
        begin = text.find(form.text, end)


def _cut(text: str, form: _Form) -> Iterator[FoundKey]:
    """Yield the beginnings of a key, from 8 characters, at which the text was cut."""
    start = form.text[:RECOGNISABLE]
    if start not in text:
        return
    longest = min(len(form.text), _LONGEST)
    former = 0
    end = text.find(CUT)
    while end >= 0:
        # Each place of the text is looked at for one cut only, so that the work is linear.
        begin = text.find(start, max(former, end - longest), end)
        while begin >= 0 and not form.text.startswith(text[begin:end]):
            begin = text.find(start, begin + 1, end)
        if begin >= 0:
            yield FoundKey(begin, end, form.key, "", is_cut=True)
        former = end + len(CUT)
        end = text.find(CUT, former)


def _known(text: str, forms: Iterable[_Form]) -> Iterator[FoundKey]:
    """Yield the known keys in a text whose characters are not escaped."""
    is_cut = CUT in text
    for form in forms:
        yield from _whole(text, form)
        if is_cut:
            yield from _cut(text, form)


# Issued keys


class _Coding(NamedTuple):
    """An encoding in which an issued key may stand."""

    words: str
    start: str  # the beginning of each issued key in this encoding
    run: re.Pattern[str]  # matches encoded text, also empty text
    longest: int  # characters of a run that a key can have
    decode: Callable[[str], str]  # returns the text of a run
    size: Callable[[int], int]  # returns the number of encoded characters of a number of characters


def _coding_of_base64(before: int) -> _Coding:
    """Return base64 behind a number of other bytes of the same group."""
    missing = _characters(before)

    def decode(run: str) -> str:
        padded = "A" * missing + run.translate(_STANDARD)
        whole = padded[: len(padded) - (len(padded) % 4 == 1)]
        decoded = b64decode(whole + "=" * (-len(whole) % 4)).decode("latin-1")
        # The missing characters have a part of the first one of the key.
        return _ISSUED_START[0] + decoded[before + 1 :]

    def size(count: int) -> int:
        return _characters(before + count) - missing

    start = _in_base64(_ISSUED_START.encode(), before)
    return _Coding(_BASE64, start, _BASE64_RUN, _characters(_LONGEST_ISSUED), decode, size)


def _coding_of_hexadecimal(start: str) -> _Coding:
    def decode(run: str) -> str:
        return bytes.fromhex(run[: len(run) // 2 * 2]).decode("latin-1")

    def size(count: int) -> int:
        return 2 * count

    return _Coding(_HEXADECIMAL, start, _HEXADECIMAL_RUN, 2 * _LONGEST_ISSUED, decode, size)


def _coding_of_utf_16() -> _Coding:
    def decode(run: str) -> str:
        return run[::2]

    def size(count: int) -> int:
        return 2 * count - 1

    return _Coding(_UTF_16, "\0".join(_ISSUED_START), _UTF_16_RUN, 2 * _LONGEST_ISSUED, decode, size)


_HEXADECIMAL: Final = " in hexadecimal"
_BASE64: Final = " in base64"
_UTF_16: Final = " in UTF-16"
_STANDARD: Final = str.maketrans("-_", "+/")
_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]*")
_HEXADECIMAL_RUN: Final = re.compile(r"[0-9A-Fa-f]*")
_UTF_16_RUN: Final = re.compile(r"(?:.\0)*.?", re.DOTALL)  # each character has a NUL behind it, except the last one
_HEXADECIMAL_START: Final = _ISSUED_START.encode().hex()
_CODINGS: Final = (
    *map(_coding_of_base64, range(3)),
    _coding_of_hexadecimal(_HEXADECIMAL_START),
    _coding_of_hexadecimal(_HEXADECIMAL_START.upper()),
    _coding_of_utf_16(),
)


def _issued(text: str) -> Iterator[FoundKey]:
    """Yield the issued keys in a text, also those that were cut."""
    if _ISSUED_START in text:
        for match in _ISSUED_KEY.finditer(text):
            yield FoundKey(*match.span(), match[0], "")
        for match in _CUT_ISSUED_KEY.finditer(text):
            if text.startswith(CUT, match.end()):
                yield FoundKey(*match.span(), match[0], "", is_cut=True)
    for coding in _CODINGS:
        begin = text.find(coding.start)
        while begin >= 0:
            yield from _encoded(text, begin, coding)
            begin = text.find(coding.start, begin + len(coding.start))


def _encoded(text: str, begin: int, coding: _Coding) -> Iterator[FoundKey]:
    """Yield the issued key whose encoded form begins at a position, if there is one."""
    run = cast("re.Match[str]", coding.run.match(text, begin, begin + coding.longest))
    decoded = coding.decode(run[0])
    key = _ISSUED_KEY.match(decoded)
    if key is not None:
        yield FoundKey(begin, begin + coding.size(len(key[0])), key[0], coding.words)
    elif text.startswith(CUT, run.end()):
        yield FoundKey(*run.span(), decoded, coding.words, is_cut=True)


# Escapes


def _has_escapes(text: str) -> bool:
    return "%" in text or "\\" in text or "&#" in text


def _escaped(text: str, forms: Iterable[_Form]) -> Iterator[FoundKey]:
    """Yield the keys that further decodings of a text show."""
    layers: list[_Decoded] = []
    decoded = text
    while len(layers) < _MOST_DECODINGS and _has_escapes(decoded):
        layer = _Decoded(decoded)
        if layer.text == decoded:
            return
        decoded = layer.text
        layers.append(layer)
        for hidden in (*_issued(decoded), *_known(decoded, forms)):
            yield _in_source(text, hidden, layers)


class _Decoded:
    """A text after one decoding of its escapes."""

    def __init__(self, source: str) -> None:
        # Literal parts and escapes in turn, beginning and ending with a literal part.
        self._parts = _ESCAPE.split(source)
        escapes = self._parts[1::2]
        characters = {escape: _character(escape) for escape in set(escapes)}
        self._decoded = self._parts.copy()
        self._decoded[1::2] = map(characters.__getitem__, escapes)
        self.text = "".join(self._decoded)

    @cached_property
    def _begins(self) -> tuple[list[int], list[int]]:
        """Where each part begins in the source and in the decoded text."""
        return _begins_of(self._parts), _begins_of(self._decoded)

    def source(self, position: int) -> int:
        """Return the position in the source of the character at ``position`` of the decoded text."""
        in_source, in_decoded = self._begins
        part = bisect_right(in_decoded, position) - 1
        return in_source[part] + position - in_decoded[part]


def _begins_of(parts: Iterable[str]) -> list[int]:
    return list(accumulate(map(len, parts), initial=0))[:-1]


def _character(escape: str) -> str:
    if escape.startswith("&"):
        return unescape(escape)
    return escape[-1] if escape[-1] in "/\"'" else chr(int(escape[-2:], 16))


def _in_source(text: str, hidden: FoundKey, layers: Iterable[_Decoded]) -> FoundKey:
    begin = hidden.begin
    end = hidden.end
    for layer in reversed(tuple(layers)):
        begin = layer.source(begin)
        end = layer.source(end)
    escaping = " percent-encoded" if "%" in text[begin:end] else " escaped"
    return hidden._replace(begin=begin, end=end, encoding=hidden.encoding or escaping)


def _without_overlaps(keys: Iterable[FoundKey]) -> list[FoundKey]:
    """Return keys in order; of two that overlap, the first, with the end of the other."""
    kept: list[FoundKey] = []
    for key in sorted(keys, key=lambda key: (key.begin, -key.end)):
        if not kept or key.begin >= kept[-1].end:
            kept.append(key)
        elif key.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=key.end)
    return kept
