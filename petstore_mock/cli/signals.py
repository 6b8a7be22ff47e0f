"""Handlers of signals, for a block."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable


@contextmanager
def handling(numbers: Iterable[int], handler: Callable[[int, object], object]) -> Generator[None]:
    """Let a function handle signals in a block. The block ends with the handlers of before."""
    former = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former_handler in former.items():
            signal.signal(number, former_handler)
