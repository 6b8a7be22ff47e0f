"""Sends the probes, one after another, and keeps what came of each."""

from __future__ import annotations

import secrets
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

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
        name: the beginning of the names of the animals that it creates.
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
                if not probe.is_last_resort or self._all_refused():
                    self._check(probe)
        except StoppedError:
            pass
        except KeyboardInterrupt:
            self.guest.stop("it was interrupted")
        finally:
            self.guest.close()

    def _all_refused(self) -> bool:
        probes = [probe.name for probe in PROBES if probe.creates == "yes"]
        sent = [seen for name in probes for seen in self.checked[name]]
        return bool(sent) and all(seen.is_refusal and seen.status not in {401, 403} for seen in sent)

    def _check(self, probe: Probe) -> None:
        seen = self._send(probe)
        if seen is None or probe.operation.effect != "creates" or not seen.pets:
            return
        made = seen.pets[0]["id"]
        removed = {view.operation for view in self.guest.seen if History.is_removed(view)}
        for reading in (reading for reading in read_back() if reading.operation not in removed):
            views = self.checked[reading.name]
            is_hopeless = len(views) >= 2 * _TRIES and not any(view.pets for view in views)
            for _ in range(1 if is_hopeless else _TRIES):  # gap visibility
                view = self._send(reading)
                if view is None or any(pet["id"] == made for pet in view.pets):
                    break
            return

    def _send(self, probe: Probe) -> Seen | None:
        before = len(self.guest.seen)
        try:
            seen = self.guest.ask(self._filled(probe))
        except SkippedError as error:
            self.skipped[probe.name] = str(error)
            return None
        except StoppedError:
            # What failed while the service was there breaks a clause; what stopped the run does not.
            sent = [one for one in self.guest.seen[before:] if one.probe is not None and one.probe.name == probe.name]
            self.checked[probe.name] += [one for one in sent if one.confirmed]
            raise
        self.checked[probe.name].append(seen)
        return seen

    def _filled(self, probe: Probe) -> Probe:
        """Return a probe with values in the place of what stands in braces."""
        history = History(self.guest.seen)
        values = self._values(history)
        target, body = probe.target, probe.body
        if "{name" in body:
            name = f"{self.name}{_ORDER[self._named % len(_ORDER)]}{self._named}"
            self._named += 1
            values |= {"name": name, "name256": name.ljust(LONG_NAME, "x")}
        for word, value in values.items():
            target, body = target.replace(f"{{{word}}}", value), body.replace(f"{{{word}}}", value)
        if "{" in target:
            missing = target.partition("{")[2].partition("}")[0]
            raise SkippedError("no animal was created" if missing == "made" else "no list showed an animal for it")
        return replace(probe, target=target, body=body)

    def _values(self, history: History) -> dict[str, str]:
        listed = history.listed
        categories = [pet.get("categoryId") for pet in listed]
        ids = [pet["id"] for pet in listed] or [*history.views] or [1]  # where no list shows an animal: a guess
        values = {
            "absent": str(self._absent),
            "known": str(ids[-1]),
            "category": str(next((one for one in categories if is_integer(one) and one > 0), 1)),
        }
        odd = dict.fromkeys(pet["id"] for pet in sorted(listed, key=_oddness, reverse=True))
        values |= {f"odd{number}": str(pet_id) for number, pet_id in enumerate([*odd][:3], 1)}
        if history.created:
            values["made"] = str(history.created[-1].pets[0]["id"])
        for pet in listed:
            for field, value in pet.items():
                first = next(iter(value), None) if isinstance(value, list) else value
                values.setdefault(f"a:{field}", str(first)) if first else None
        return values


def _oddness(pet: dict[str, Any]) -> tuple[bool, bool, int]:
    """Return how likely a service is to lose something of an animal."""
    name = str(pet.get("name"))
    return not name.isascii(), any(is_integer(value) and abs(value) > 2**53 for value in pet.values()), len(name)
