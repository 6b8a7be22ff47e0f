"""A learned behaviour: what was seen of each gap, as a file for the fixture and the stub; and recordings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import as_path, counted
from petstore_mock.errors import PetStoreMockError
from petstore_mock.interface.behaviour import Behaviour, as_behaviour
from petstore_mock.interface.table import BASE_PATH
from petstore_mock.journal.har import read_har
from petstore_mock.verify.evidence import findings
from petstore_mock.verify.seen import History, Seen, operation_of, shown

if TYPE_CHECKING:
    from os import PathLike

    from petstore_mock.journal.exchange import Exchange
    from petstore_mock.verify.evidence import Finding
    from petstore_mock.verify.verdict import Verdict


@dataclass(frozen=True)
class Learned:
    """What was learned.

    Attributes:
        source: the service's base address, or that of the recording.
        began: when.
        gaps: what is known of every gap.
        notes: what else is to be told: bodies that a recording lacks, why a run ended early.
        verdict: the run's, where a service was asked.
    """

    source: str
    began: str
    gaps: Mapping[str, Finding]
    notes: tuple[str, ...] = ()
    verdict: Verdict | None = None

    @property
    def behaviour(self) -> Behaviour:
        """The choices as a ``Behaviour``; what could not be told stays at its default."""
        return Behaviour().replace(self.choices)

    @property
    def choices(self) -> dict[str, str]:
        """The gaps that could be told, with their alternatives."""
        return {name: finding.choice for name, finding in self.gaps.items() if finding.choice is not None}

    def to_toml(self) -> str:
        """Return a file for ``behaviour=`` and ``serve --behaviour``: a line a gap, with what showed it."""
        lines = [f"# Learned from {self.source}, {self.began}: {len(self.choices)} of {len(self.gaps)} gaps."]
        lines += [f"# {note}" for note in self.notes]
        lines += ["", *(f'{name} = "{value}"  # {self.gaps[name].evidence}' for name, value in self.choices.items())]
        lines += ["", "# What can't be told stays at its default:"]
        lines += [f"# {name}: {finding.evidence}" for name, finding in self.gaps.items() if finding.choice is None]
        return "\n".join(lines) + "\n"


def learned_from(verdict: Verdict) -> Learned:
    """Return what a run has learned."""
    notes = () if verdict.stopped is None else (f"It ended early: {verdict.stopped}",)
    return Learned(verdict.url, verdict.began, verdict.gaps, notes, verdict)


def learned_from_har(har: str | PathLike[str], url: str | None, date: str) -> Learned:
    """Return what a recording shows of the service at ``url``, or at the one base address that it has."""
    try:
        recorded = read_har(json.loads(as_path(har, "har").read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        refuse(f"expected a HAR file (JSON with log.entries) in {har}; {error}")
    except PetStoreMockError as error:
        refuse(f"{har}: {error}")
    base = _base(recorded, har) if url is None else url.rstrip("/")
    seen: list[Seen] = []
    for exchange in recorded:
        address = f"{exchange.base_url}{exchange.target}"
        if address.startswith(f"{base}/"):
            seen.append(Seen(exchange, address.removeprefix(base)))
    if not seen:
        refuse(f"expected requests to {base} in {har}; it has {len(recorded)} to other addresses")
    known = [one for one in seen if not one.exchange.cut_response]
    notes = [f"{len(seen)} of {len(recorded)} recorded requests are of this service"]
    if len(known) < len(seen):
        lacking = counted(len(seen) - len(known), "response")
        notes.append(f"{lacking} recorded without a body, of which nothing was learned")
    keys = tuple({key for one in seen for key in one.exchange.secrets})
    return Learned(shown(f"{base} (recorded)", keys), date, findings(History(known), keys), tuple(notes))


def _base(recorded: list[Exchange], har: object) -> str:
    """Return the base address that all requests to a pet store have in common."""
    bases: set[str] = set()
    for exchange in recorded:
        before, found, after = f"{exchange.base_url}{exchange.target}".partition(f"{BASE_PATH}/")
        if found and operation_of(exchange.method, f"/{after}") is not None:
            bases.add(before + BASE_PATH)
    if len(bases) != 1:
        known = f"; it has {', '.join(sorted(bases))}" if bases else ""
        refuse(f"expected requests to one base address that ends in {BASE_PATH} in {har}{known}: name it by --url")
    return bases.pop()


def recorded_choices(behaviour: object) -> dict[str, str]:
    """Return the choices that a service is to make still: of a file those that it names, of a ``Behaviour`` all."""
    if behaviour is None:
        return {}
    chosen = as_behaviour(behaviour)
    if isinstance(behaviour, Mapping):
        return dict(chosen)
    import tomllib  # noqa: PLC0415  # for those who have a file

    file = as_path(behaviour, "behaviour")
    named = tomllib.loads(file.read_text(encoding="utf-8-sig")) if file.is_file() else {"preset": ""}
    if not named:
        refuse(f"expected a behaviour with at least one gap in {behaviour}; it names none")
    return {name: chosen[name] for name in (chosen if "preset" in named else named)}
