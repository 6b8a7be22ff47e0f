"""Fills the placeholders of probes with what the responses showed so far."""

from __future__ import annotations

import re
import secrets
from collections import defaultdict
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from petstore_mock.common.dates import iso
from petstore_mock.common.guards import items_of
from petstore_mock.common.real import time
from petstore_mock.common.values import by_name, is_integer
from petstore_mock.interface.table import FIELDS, MEMBERS, OPERATIONS, known_part
from petstore_mock.verify.probes import LONG_TEXT, Probe, text_of
from petstore_mock.verify.seen import Wanted, is_pet, length

if TYPE_CHECKING:
    from petstore_mock.common.values import Json
    from petstore_mock.verify.seen import Pet, Seen


# A random id near it is probably unused, and a service that keeps ids in 32 bits can read it.
_FAR: Final = 2**31
# First letters that put labels in another order than ids.
_ORDER: Final = "mcxhqakvtdzbnjwfrepyglous"
_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z][\w:. -]*)\}", re.ASCII)
_VERY_LONG: Final = 4_000  # characters; servers refuse heads of 8,000 and more
# Some parsers fail at a depth of 1,000, and validators for Node at 6,000.
# Without its end, no service keeps it.
_DEEP: Final = 8_000 * "["
_MOST_VALUES: Final = 200  # of one field


class SkippedError(Exception):
    """A probe has no result. The message is the reason; it is empty if no response showed a needed animal."""


def nearly_right(key: str) -> dict[str, str]:
    """Return a key and forms of it that are nearly right, by the word of a template."""
    swapped = key.swapcase() if key.swapcase() != key else f"{key}0"
    return {"key": key, "key in another case": swapped, "key without its end": key[:-1] or f"{key}0"}


def authorization(template: str, key: str) -> str:
    """Return the value of Authorization. A template may ask for a key that is nearly right."""
    for word, form in {**nearly_right(key), "long": "x" * _VERY_LONG}.items():
        template = template.replace(f"{{{word}}}", form)
    return template


class Filling:
    """What the responses showed so far, as values for the next probes."""

    def __init__(self) -> None:
        # If no response showed an animal, 1 is a guess.
        self._known = 1
        # The animals of the longest list.
        self._listed: list[Pet] = []
        # The animals that the run created and did not remove: the number of their fields, by id.
        self.made: dict[int, int] = {}
        # Values of listed animals, by field.
        self._values: dict[str, list[Json]] = defaultdict(list)
        # The date and a number of the run, so that an owner can find and remove the animals.
        day = iso(time())[:10]
        self._run = f"{day.replace('-', '')}{secrets.randbelow(10_000):04}"
        absent = secrets.randbelow(_FAR // 2) + _FAR // 2
        # Values of placeholders that stay, and the label of the last animal that the run created.
        self._texts = {"run": self._run, "day": day, "absent": str(absent), "deep": _DEEP}

    def add(self, seen: Seen) -> None:
        if seen.operation.does.ends:
            self.made.pop(seen.target_id or 0, None)
        if not seen.pets:
            return
        last = seen.pets[-1]
        if seen.operation.commits:
            self.made[last["id"]] = len(last)
            if seen.probe.is_valid:
                self._texts["used label"] = seen.label
        elif seen.operation.shows_many:
            self._add_listed(seen)
        # No list showed an animal yet.
        elif not self._listed:
            self._known = last["id"]

    def _add_listed(self, seen: Seen) -> None:
        # A service may make up a list for a wrong limit.
        if seen.probe.is_valid:
            self._listed = max(seen.pets, self._listed, key=len)
        others = [pet_id for pet_id in seen.ids if pet_id not in self.made]
        self._known = [seen.ids[-1], *others][-1]
        for pet in filter(is_pet, seen.pets):
            for name, value in known_part(pet).items():
                known = self._values[name]
                is_new = value is not None and value not in known
                if is_new and len(known) < _MOST_VALUES:
                    known.append(value)

    def fill(self, probe: Probe, number: int) -> Probe:
        """Return a probe with values for its placeholders. ``number`` makes its label unique.

        Raises:
            SkippedError: no response showed a value.
        """
        turn, place = divmod(number, len(_ORDER))
        # A grown interface has so many probes that two letters are not enough.
        rest, second = divmod(turn, len(_ORDER))
        label = f"Verify{_ORDER[place]}{_ORDER[second]}{'z' * rest}{self._run}"

        def value_of(match: re.Match[str]) -> str:
            return self._value(match[1], label)

        def quoted(match: re.Match[str]) -> str:
            return quote(value_of(match))

        fields = tuple((name, _PLACEHOLDER.sub(value_of, value)) for name, value in probe.fields)
        target = _PLACEHOLDER.sub(quoted, probe.target)
        body = _PLACEHOLDER.sub(value_of, probe.body)
        return replace(probe, target=target, body=body, fields=fields, unfilled=probe.template)

    def _value(self, word: str, label: str) -> str:
        kind, _, name = word.partition(":")
        known = str(self._known)
        texts = {
            **self._texts,
            "label": label,
            "long label": label.ljust(LONG_TEXT, "x"),
            "known": known,
            "hex": f"{ord(known[0]):02X}",
            "rest": known[1:],
            # In 32 bits, it is the id of the known animal.
            "beyond": str(self._known + 2**32),
        }
        if kind in texts:
            return texts[kind]
        if kind == "used label":
            raise SkippedError
        if kind == "later":
            return self._later(*name.split(":"))
        if kind == "any":
            return self._of_field(name)
        if kind in MEMBERS:
            return text_of(self._references(kind)[0])
        if kind == "other":
            return text_of(self._references(name)[-1])
        return str(self._id(kind))

    def _id(self, word: str) -> int:
        if word == "made":
            if not self.made:
                raise SkippedError
            # The last one with all fields shows most.
            return max(reversed(self.made), key=self.made.__getitem__)
        place = int(word.removeprefix("odd"))
        if place > len(self._listed):
            raise SkippedError
        by_length = sorted(self._listed, key=length, reverse=True)
        return int(by_length[place - 1]["id"])

    def _of_field(self, name: str) -> str:
        """Return the text of the value in the middle: a filter such as ``after`` selects some animals with it."""
        ordered = sorted(filter(text_of, self._values[name])) or FIELDS[name].samples[:1]
        return text_of(ordered[len(ordered) // 2])

    def _later(self, operation: str, name: str) -> str:
        """Return the text of a filter that selects listed animals, but not the first one."""
        parameter = by_name(OPERATIONS[operation].parameters)[name]
        field = parameter.filters_by
        others = [{field: value} for value in self._values[field]]
        for item in chain.from_iterable(map(items_of, self._values[field])):
            wanted = Wanted(parameter, item)
            is_later = not any(map(wanted.selects, self._listed[:1]))
            if is_later and any(map(wanted.selects, others)):
                return text_of(item)
        return self._of_field(field)

    def _references(self, name: str) -> list[Json]:
        """Return at most two ids of records that exist: those that listed animals refer to."""
        known = [value for value in self._values[name] if not is_integer(value) or value > 0]
        return known[:2] or [1]
