"""What the plugin asks of the fake that a run tests against, in this process or in another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from petstore_mock.core.tenant import Ending
    from petstore_mock.core.world_registry import Leak
    from petstore_mock.journal.entry import Entry
    from petstore_mock.journal.journal import Journal

__all__ = ["Subject"]


class _TestWorld(Protocol):
    """The world of the present test: ``Tenant``, or one elsewhere."""

    at_end: Callable[[Ending], None] | None

    @property
    def renew(self) -> Callable[..., None]:
        """Begin the world of another test, or of an example; see ``Tenant.renew``."""

    def verify(self, *, again: bool = True) -> None:
        """Raise for what the test must answer for."""

    def excuse(self) -> None:
        """Let nobody answer for what came so far."""

    def secrets(self) -> Iterable[str]:
        """Return its keys, which must not show."""

    @property
    def entries(self) -> list[Entry]:
        """What its journal still has."""

    @property
    def is_used(self) -> bool:
        """Whether a request came, or a fault is planned."""

    @property
    def guests(self) -> Sequence[Ending]:
        """The worlds of ``fresh()`` that are not over."""

    @property
    def elders(self) -> Sequence[Ending]:
        """The worlds of ``fresh()`` that earlier tests have begun and that are not over."""

    @property
    def leaks(self) -> list[Leak]:
        """The requests so far to worlds of this session that were over."""

    @property
    def limit_bounds(self) -> tuple[int, int, int]:
        """The least, the largest and the default number of animals on a page."""


class _Host(Protocol):
    """Where the fake listens."""

    @property
    def is_listening(self) -> bool:
        """Whether clients can connect."""

    @property
    def url(self) -> str:
        """The base address."""

    def clear(self) -> None:
        """Forget the expectations of ``httpserver``."""

    def expectations(self) -> list[str]:
        """Return those that are in force."""


class Subject(Protocol):
    """The fake that a run tests against."""

    adds_notes: bool

    @property
    def tenant(self) -> _TestWorld:
        """The world of the present test."""

    @property
    def host(self) -> _Host:
        """Where it listens."""

    @property
    def journal(self) -> Journal:
        """What came to the present world."""

    def start(self) -> object:
        """Listen; harmless when it listens already."""

    def stop(self) -> None:
        """Listen no more."""
