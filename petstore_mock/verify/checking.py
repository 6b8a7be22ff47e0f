"""Sends the probes, one after another, and keeps what came of each."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from petstore_mock.verify.facts import Facts
from petstore_mock.verify.guest import Request, SkippedError, StoppedError
from petstore_mock.verify.probes import PROBES, credentials_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from petstore_mock.verify.exchange import Exchange
    from petstore_mock.verify.guest import Guest
    from petstore_mock.verify.probes import Probe

__all__ = ["Checking", "plan"]

_LONG: Final = 256
_LIKELY: Final = 1  # the id of an animal, where nothing has shown any
_FAR: Final = 2**52  # below which a randomly chosen id is taken by nobody, and exact everywhere
_ORDER: Final = "mcxhqakvtdzbnjwfrepyglous"  # names in another order than their ids


class Checking:
    """A run of the probes.

    Attributes:
        checked: the exchanges that are held against the clauses, by the names of their probes.
        skipped: why probes showed nothing, by their names.
    """

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self.checked: dict[str, list[Exchange]] = {}
        self.skipped: dict[str, str] = {}
        self._run = f"{datetime.now(UTC):%Y-%m-%d} {secrets.token_hex(3)}"
        self._absent = secrets.randbelow(_FAR // 2) + _FAR // 2
        self._named = 0

    def go(self) -> None:
        """Send every probe, as far as the user's limits and the service let it."""
        try:
            for probe in PROBES:
                self._do(probe)
        except StoppedError:
            pass
        except KeyboardInterrupt:
            self.guest.stop("it was interrupted")

    def _do(self, probe: Probe) -> None:
        try:
            for turn in range(probe.repeat):
                exchange = self._send(probe)
                self.checked[probe.name] = [exchange]
                if turn + 1 < probe.repeat and not self._is_missing(exchange):
                    break
        except SkippedError as error:
            self.skipped[probe.name] = str(error)

    def _send(self, probe: Probe) -> Exchange:
        facts = Facts(self.guest.exchanges)
        target = _filled(probe.target, self._values(probe.target, facts))
        if "{made}" in probe.target and any(facts.is_removed(one) for one in self.guest.exchanges[-1:]):
            made = facts.created[-1].pets[0]
            target = f"/pets?status={made['status']}&limit=100" if made.get("status") else "/pets?limit=100"
        body = None if probe.body is None else self._body(probe.body, facts)
        sent = self.guest.exchanges
        count = len(sent)
        try:
            exchange = self.guest.ask(Request(probe.name, probe.method, target, probe.key, probe.fields, body))
        except StoppedError:
            # What was known to fail while the service was there is to be checked; what stopped the run is not.
            self.checked.setdefault(
                probe.name, [one for one in sent[count:] if one.probe == probe.name and one.confirmed]
            )
            raise
        if self._knows_category(facts):
            exchange.notes.append("known category")
        return exchange

    def _is_missing(self, exchange: Exchange) -> bool:
        created = Facts(self.guest.exchanges).created
        made = created[-1].pets[0]["id"] if created else None
        return made is not None and all(pet["id"] != made for pet in exchange.pets)

    # What stands in braces

    def _values(self, text: str, facts: Facts) -> dict[str, str]:
        values: dict[str, str] = {"absent": str(self._absent)}
        if "{known}" in text:
            # Where no list shows an animal, one that was created, or a guess, may show that the list should.
            listed = [pet["id"] for one in self.guest.exchanges if one.operation == "listPets" for pet in one.pets]
            values["known"] = str((listed or facts.read or [_LIKELY])[-1])
        if "{made}" in text:
            if not facts.created:
                message = "no animal was created"
                raise SkippedError(message)
            values["made"] = str(facts.created[-1].pets[0]["id"])
        return values

    @staticmethod
    def _knows_category(facts: Facts) -> bool:
        return any(one.operation == "listPets" and one.pets for one in facts.exchanges)

    def _body(self, text: str, facts: Facts) -> bytes:
        known = [pet.get("categoryId") for one in facts.exchanges if one.operation == "listPets" for pet in one.pets]
        numbers = [number for number in known if type(number) is int and number > 0]
        name = f"petstore-mock verify {self._run} {_ORDER[self._named % len(_ORDER)]}{self._named}"
        self._named += 1
        values = {
            "category": str(numbers[0] if numbers else 1),
            "name256": name.ljust(_LONG, "x"),
            "name": name,
        }
        return _filled(text, values).encode("utf-8")


def _filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def plan(*, allow_create: int, max_requests: int) -> Iterator[str]:
    """Yield the requests that a run would send, in order; keys and what is known by then only stay in braces."""
    sent = 0
    for probe in PROBES:
        if probe.method == "POST" and not allow_create:
            continue
        sent += 1
        if sent > max_requests:
            return
        key = credentials_of(probe.key)
        words = [probe.method, probe.target, *(f"{name}: {value}" for name, value in probe.fields)]
        words += [f"Authorization: {key}"] if key else []
        words += [probe.body] if probe.body is not None else []
        words += [{"yes": "(creates an animal)", "maybe": "(may create an animal)", "no": ""}[probe.creates]]
        yield "  ".join(word for word in words if word)
