r"""Finds API keys in texts, in each form in which clients and services write them.

How this works: a key stands in a text as it is, or in a fixed encoding such as base64 (``forms``). In addition, each
character may be escaped: percent-encoded, also repeatedly, or as JSON allows it (``\/``, ``\u002f``). A text with
percent signs or backslashes is therefore searched again after each decoding. ``_Decoded`` keeps the way back.

Clients choose the texts, so all work is linear. The one regular expression decides within a few characters.
"""

from __future__ import annotations

import re
from base64 import b64encode
from bisect import bisect_right
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

CUT: Final = "..."  # the end of a text that was cut
_ISSUED_START: Final = "petstore-"
_ISSUED_KEY: Final = re.compile(rf"{_ISSUED_START}[0-9a-f]{{8}}-\d{{6,}}")  # a key that a world issues
# Characters; a shorter fixed key, such as `test`, also occurs in ordinary words.
RECOGNISABLE: Final = 8

_LONGEST: Final = 4096  # characters of a key whose encodings are kept; a client may send a key of 64 KiB
_MOST_DECODINGS: Final = 3
_URL_SAFE: Final = str.maketrans("+/", "-_")  # the other alphabet of base64 (RFC 4648 §5)
# A percent sign that was encoded again begins with %25. JSON inside JSON doubles backslashes.
_ESCAPE: Final = re.compile(r"""(%(?:25)*[0-9A-Fa-f]{2}|\\(?<!\\\\)\\{0,8}(?:[/"']|(?:u00|x)[0-9A-Fa-f]{2}))""")


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
    keys = tuple(keys)
    found = list(_unescaped(text, keys, shortest))
    layers: list[_Decoded] = []
    decoded = text
    for _ in range(_MOST_DECODINGS):
        if "%" not in decoded and "\\" not in decoded:
            break
        layer = _Decoded(decoded)
        if layer.text == decoded:
            break
        decoded = layer.text
        layers.append(layer)
        found += [_in_source(text, hidden, layers) for hidden in _unescaped(decoded, keys, shortest)]
    return _without_overlaps(found)


def key_in(text: str, keys: Iterable[str]) -> str | None:
    """Return how a text encodes one of ``keys``, in words (empty for a plain key), or None if it contains none."""
    wanted = tuple(keys)
    found = [one for one in find_keys(text, wanted) if one.key in wanted and not one.is_cut]
    return found[0].encoding if found else None


@lru_cache(maxsize=64)
def _encodings(key: str) -> Mapping[str, str]:
    raw = key.encode("utf-8", "surrogatepass")
    found = dict.fromkeys((raw.hex(), raw.hex().upper()), " in hexadecimal")
    # Base64 encodes groups of three bytes, and the key may begin anywhere in a group.
    for before in range(3):
        encoded = b64encode(b"\0" * before + raw).decode()
        # The characters that depend on the key alone.
        alone = encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
        found |= dict.fromkeys((alone, alone.translate(_URL_SAFE)), " in base64")
    found["\0".join(key)] = " in UTF-16"
    found[key.replace("\\", "\\\\").replace('"', '\\"')] = " escaped"
    return found | {key: ""}


def _forms(key: str) -> Mapping[str, str]:
    """Return the encodings of a key, each with words about it."""
    return _encodings(key) if len(key) <= _LONGEST else {key: ""}


def _unescaped(text: str, keys: Iterable[str], shortest: int) -> Iterator[FoundKey]:
    """Yield the keys in a text whose characters are not escaped."""
    is_cut = CUT in text
    for key in keys:
        for form, encoding in _forms(key).items():
            if len(form) >= shortest:
                yield from _whole(text, key, form, encoding)
                if is_cut:
                    yield from _cut(text, key, form)
    if _ISSUED_START in text:
        for match in _ISSUED_KEY.finditer(text):
            yield FoundKey(*match.span(), match[0], "")


def _whole(text: str, key: str, form: str, encoding: str) -> Iterator[FoundKey]:
    begin = text.find(form)
    while begin >= 0:
        end = begin + len(form)
        yield FoundKey(begin, end, key, encoding)
        begin = text.find(form, end)


def _cut(text: str, key: str, form: str) -> Iterator[FoundKey]:
    """Yield the beginnings of a key, from 8 characters, at which the text was cut."""
    least = len(_ISSUED_START) + 1 if form.startswith(_ISSUED_START) else RECOGNISABLE
    start = form[:least]
    begin = text.find(start)
    while begin >= 0:
        end = text.find(CUT, begin + least, begin + len(form) + len(CUT))
        if end >= 0 and form.startswith(text[begin:end]):
            yield FoundKey(begin, end, key, "", is_cut=True)
        begin = text.find(start, begin + least)


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
    return escape[-1] if escape[-1] in "/\"'" else chr(int(escape[-2:], 16))


def _in_source(text: str, hidden: FoundKey, layers: Iterable[_Decoded]) -> FoundKey:
    begin, end = hidden.begin, hidden.end
    for layer in reversed(tuple(layers)):
        begin, end = layer.source(begin), layer.source(end)
    escaping = " percent-encoded" if "%" in text[begin:end] else " escaped"
    return hidden._replace(begin=begin, end=end, encoding=hidden.encoding or escaping)


def _without_overlaps(found: Iterable[FoundKey]) -> list[FoundKey]:
    """Return keys in order; of two that overlap, the first, with the end of the other."""
    kept: list[FoundKey] = []
    for one in sorted(found, key=lambda one: (one.begin, -one.end)):
        if not kept or one.begin >= kept[-1].end:
            kept.append(one)
        elif one.end > kept[-1].end:
            kept[-1] = kept[-1]._replace(end=one.end)
    return kept
