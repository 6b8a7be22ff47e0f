"""One line on the terminal that says what a long run does."""

from __future__ import annotations

import os
import sys
from typing import Final

from petstore_mock.common.real import monotonic

_QUIET: Final = 2.0  # seconds without a line
_BETWEEN: Final = 0.2  # seconds between two lines
_ERASE: Final = "\r\x1b[K"


class Progress:
    """Writes the line to standard error, if that is a terminal and the run is not in CI."""

    def __init__(self) -> None:
        self._stream = None if os.environ.get("CI") else sys.__stderr__
        if self._stream is not None and not self._stream.isatty():
            self._stream = None
        self._began = self._written = monotonic()
        self._has_line = False

    def show(self, phase: str, examples: int) -> None:
        now = monotonic()
        seconds = now - self._began
        is_early = seconds < _QUIET or now - self._written < _BETWEEN
        if self._stream is None or is_early:
            return
        self._written = now
        self._has_line = True
        self._stream.write(f"{_ERASE}check_client: {phase}, {examples:,} scenarios, {seconds:.0f} seconds")
        self._stream.flush()

    def end(self) -> None:
        """Erase the line."""
        if self._stream is not None and self._has_line:
            self._stream.write(_ERASE)
            self._stream.flush()
