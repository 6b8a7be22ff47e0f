"""A learned behaviour: what was seen of each gap, as a file for the fixture and the stub."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from petstore_mock.contract.behaviour import PRESETS, Behaviour
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from petstore_mock.verify.gap_evidence import Finding
    from petstore_mock.verify.verdict import Verdict

__all__ = ["Learned", "learned_from", "recorded_choices"]


@dataclass(frozen=True)
class Learned:
    """What was learned.

    Attributes:
        source: the service's base address, or the recording.
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
        return Behaviour().replace(**self.choices)  # type: ignore[arg-type]  # the register has them

    @property
    def choices(self) -> dict[str, str]:
        """The gaps that could be told, with their alternatives."""
        return {name: finding.choice for name, finding in self.gaps.items() if finding.choice is not None}

    def to_toml(self) -> str:
        """Return a file for ``behaviour=`` and ``serve --behaviour``: a line a gap, with what showed it."""
        lines = [f"# Learned from {self.source}, {self.began}: {len(self.choices)} of {len(self.gaps)} gaps."]
        lines += [f"# {note}" for note in self.notes]
        lines.append("")
        for name, finding in self.gaps.items():
            if finding.choice is not None:
                lines.append(f'{name} = "{finding.choice}"  # {finding.evidence}')
        untold = [finding for finding in self.gaps.values() if finding.choice is None]
        if untold:
            lines += ["", "# What can't be told stays at its default:"]
            lines += [f"# {finding.gap}: {finding.evidence}" for finding in untold]
        return "\n".join(lines) + "\n"


def learned_from(verdict: Verdict) -> Learned:
    """Return what a run has learned."""
    notes = () if verdict.stopped is None else (f"It ended early: {verdict.stopped}",)
    return Learned(verdict.url, verdict.began, verdict.gaps, notes, verdict)


def recorded_choices(behaviour: Behaviour | str | PathLike[str] | None) -> dict[str, str]:
    """Return the choices that a service is to make still: of a file those that it names, of a ``Behaviour`` all.

    Raises:
        PetStoreMockError: the file can't be read, or names no gaps.
    """
    if behaviour is None:
        return {}
    if isinstance(behaviour, Behaviour):
        return {name: getattr(behaviour, name) for name in Behaviour.__dataclass_fields__}
    chosen = Behaviour.from_toml(behaviour)
    import tomllib  # noqa: PLC0415  # for those who have a file

    named = tomllib.loads(Path(behaviour).read_text(encoding="utf-8-sig"))
    if not named:
        raise PetStoreMockError(f"expected a behaviour with at least one gap in {behaviour}; it names none")
    preset = named.get("preset")
    names = Behaviour.__dataclass_fields__ if preset in PRESETS else named
    return {name: getattr(chosen, name) for name in names}
