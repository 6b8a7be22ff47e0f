"""Sends the probes, one after another, and keeps what came of each."""

from __future__ import annotations

import secrets
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.guards import is_array
from petstore_mock.common.values import is_integer
from petstore_mock.verify.guest import SkippedError, StoppedError
from petstore_mock.verify.probes import LONG_NAME, PROBES, Probe, read_back
from petstore_mock.verify.seen import History

if TYPE_CHECKING:
    from petstore_mock.verify.guest import Guest
    from petstore_mock.verify.seen import Seen

_TRIES: Final = 3  # to read an animal that was just created
_FAR: Final = 2**52  # below which nobody has taken a random id, and numbers are exact everywhere
_ORDER: Final = "mcxhqakvtdzbnjwfrepyglous"  # names in another order than their ids


class Run:
    """A run of the probes.

    Attributes:
        checked: the exchanges that are held against the clauses, by the names of their probes.
        skipped: why probes were not sent, by their names.
        name: the beginning of the names of the animals that it creates: 12 letters and digits.
    """

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self.checked: dict[str, list[Seen]] = defaultdict(list)
        self.skipped: dict[str, str] = {}
        self.name = f"Verify{secrets.token_hex(3)}"
        self._absent = secrets.randbelow(_FAR // 2) + _FAR // 2
        self._named = 0

    def go(self) -> None:
        """Send every probe, as far as the user's limits and the service let it."""
        try:
            for probe in PROBES:
                if probe.creates != "last resort" or self._all_refused():
                    seen = self._send(probe)
                    if seen is not None and seen.effect == "creates" and seen.pets:
                        self._read_back(seen.pets[0]["id"])
        except StoppedError:
            pass
        except KeyboardInterrupt:
            self.guest.stop("it was interrupted")
        finally:
            self.guest.close()

    def _all_refused(self) -> bool:
        sent = [seen for probe in PROBES if probe.creates == "yes" for seen in self.checked[probe.name]]
        return bool(sent) and all(seen.is_refusal and seen.status not in {401, 403} for seen in sent)

    def _read_back(self, pet_id: int) -> None:
        removed = {view.operation for view in self.guest.seen if History.is_removed(view)}
        reading = next(probe for probe in read_back() if probe.operation not in removed)
        views = self.checked[reading.name]
        is_hopeless = len(views) >= 2 * _TRIES and not any(view.pets for view in views)
        for _ in range(1 if is_hopeless else _TRIES):  # gap visibility
            view = self._send(reading)
            if view is None or any(pet["id"] == pet_id for pet in view.pets):
                return

    def _send(self, probe: Probe) -> Seen | None:
        before = len(self.guest.seen)
        try:
            self.checked[probe.name].append(self.guest.ask(self._filled(probe)))
        except SkippedError as error:
            self.skipped[probe.name] = str(error)
            return None
        except StoppedError:
            # What failed while the service was there breaks a clause; what stopped the run does not.
            self.checked[probe.name] += [one for one in self.guest.seen[before:] if one.confirmed]
            raise
        return self.checked[probe.name][-1]

    def _filled(self, probe: Probe) -> Probe:
        """Return a probe with values in the place of what stands in braces."""
        values = self._values(History(self.guest.seen))
        target, body = probe.target, probe.body
        for word, value in values.items():
            target, body = target.replace(f"{{{word}}}", value), body.replace(f"{{{word}}}", value)
        if "{" in target:
            raise SkippedError("no animal was created" if "{made}" in target else "no list showed enough animals")
        return replace(probe, target=target, body=body)

    def _values(self, history: History) -> dict[str, str]:
        listed = history.listed
        categories = [pet.get("categoryId") for pet in listed]
        ids = [pet["id"] for pet in listed] or [*history.views] or [1]  # where no list shows an animal: a guess
        self._named += 1
        name = f"{self.name}{_ORDER[self._named % len(_ORDER)]}{self._named}"
        values = {
            "absent": str(self._absent),
            "known": str(ids[-1]),
            "category": str(next((one for one in categories if is_integer(one) and one > 0), 1)),
            "name": name,
            "long name": name.ljust(LONG_NAME, "x"),
        }
        odd = dict.fromkeys(pet["id"] for pet in sorted(listed, key=_oddness, reverse=True))
        values |= {f"odd{number}": str(pet_id) for number, pet_id in enumerate([*odd][:3], 1)}
        if history.created:
            values["made"] = str(history.created[-1].pets[0]["id"])
        for field, value in (pair for pet in listed for pair in pet.items() if pair[1]):
            values.setdefault(f"a:{field}", str(value[0] if is_array(value) else value))
        return values


def _oddness(pet: dict[str, Any]) -> tuple[bool, bool, int]:
    """Return how likely a service is to lose something of an animal."""
    name = str(pet.get("name"))
    return not name.isascii(), any(is_integer(value) and abs(value) > 2**53 for value in pet.values()), len(name)
