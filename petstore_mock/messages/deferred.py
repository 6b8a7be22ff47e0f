"""Answers that do not go out whole and at once, and how their waiting ends."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock.messages.response import ApiResponse, Delivery

__all__ = ["Completion", "DeferredResponse", "DeferredResponses"]


class Completion(Protocol):
    """Is told by an adapter what became of a deferred response."""

    def complete(self, outcome: str, *, sent: bool) -> None:
        """Take note of the end, or of a hang that has begun; the latest word counts.

        Args:
            outcome: what became of it, such as ``delayed`` or ``client gone``.
            sent: whether its head went out, so that the client knows the status.
        """


class DeferredResponses:
    """The deferred responses of one world that have not ended, until all are released at once."""

    def __init__(self) -> None:
        self._releases: set[Callable[[], None]] = set()
        self._lock = threading.Lock()
        self._over = False

    def __len__(self) -> int:
        return len(self._releases)

    def add(self, release: Callable[[], None]) -> None:
        """Call ``release`` (from any thread) when the waiting must end; at once if all were released already."""
        with self._lock:
            if not self._over:
                self._releases.add(release)
                return
        release()  # the core decided before the reset, and the adapter began to wait after it

    def discard(self, release: Callable[[], None]) -> None:
        """Forget a response that has ended by itself."""
        with self._lock:
            self._releases.discard(release)

    def release(self) -> None:
        """End the waiting of every response, and of whatever is still added."""
        with self._lock:
            self._over = True
            releases, self._releases = self._releases, set()
        for release in releases:
            release()


class DeferredResponse:
    """What the core returns instead of an answer that is late, or that a fault of the connection delivers.

    Attributes:
        resume: makes the answer; to be called once ``delay`` is over. It isn't called when the client has gone by then:
            what was to be committed is not.
        completion: is to be told what became of it.
        pending: where an adapter registers how to end its waiting, so that ``reset()`` and ``stop()`` can.
        delay: seconds to wait.
        delivery: how what ``resume`` returns goes out; None for whole.
    """

    __slots__ = ("completion", "delay", "delivery", "pending", "resume")

    def __init__(
        self,
        resume: Callable[[], ApiResponse | DeferredResponse],
        completion: Completion,
        pending: DeferredResponses,
        *,
        delay: float = 0.0,
        delivery: Delivery | None = None,
    ) -> None:
        self.resume = resume
        self.completion = completion
        self.pending = pending
        self.delay = delay
        self.delivery = delivery

    def __repr__(self) -> str:
        return f"<DeferredResponse after {self.delay:g} s{f', {self.delivery.kind}' if self.delivery else ''}>"
