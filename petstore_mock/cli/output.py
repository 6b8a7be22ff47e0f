"""Writes to a stream that may be full, or gone: what went out is counted, and whoever waits can stop waiting."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Output"]

_PIECE: Final = 4096  # bytes handed over at once, which a pipe takes whole (PIPE_BUF): a slow reader shows by them
_REST: Final = 0.01  # seconds before a pipe that is full, and does not wait, is asked again
_READER_PATIENCE: Final = 0.5  # seconds that a full pipe waits for its reader at the end, before he is taken to be gone
_PATIENCE: Final = 5.0  # seconds in all, for one who reads on


class Output:
    """A stream, written below its buffer.

    A thread that waits for a reader would hold the buffer's lock, which Python wants at its exit. And a full pipe takes
    a part of what it is given, so that somebody must ask how much.

    Attributes:
        lines: how many have gone out.
        trouble: why nothing can be written any more, or None.
        is_given_up: whether nothing is to be written any more.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began: float | None = None  # when the write that is still to end began
        self._thread: threading.Thread | None = None
        self.is_given_up = False
        self.lines = 0
        self.trouble: OSError | None = None

    def write(self, text: str) -> None:
        """Write ``text``, however long it takes.

        After an error, such as that of a reader who has gone, nothing is written any more.
        """
        if self.is_given_up or self.trouble is not None:
            return
        stream = self._stream
        try:
            stream.flush()
            binary = getattr(stream, "buffer", None)
            if binary is None:  # no file: what a program reads itself
                stream.write(text)
                stream.flush()
                self.lines += text.count("\n")
                return
            raw = getattr(binary, "raw", binary)  # with PYTHONUNBUFFERED there is no buffer between
            data = text.encode(stream.encoding, stream.errors or "strict")
            at = 0
            while at < len(data) and not self.is_given_up:
                if self._began is None:
                    self._began = time.monotonic()
                taken = raw.write(data[at : at + _PIECE]) or 0  # None: another program has made the pipe not wait
                if not taken:
                    time.sleep(_REST)
                    continue
                self._began = None
                self.lines += data.count(b"\n", at, at + taken)
                at += taken
        except OSError as error:  # the reader has gone, the terminal too, or the disk is full
            self.trouble = error

    def begin(self, write: Callable[[], object]) -> None:
        """Call ``write``, which writes here, in a thread of its own."""
        self._thread = threading.Thread(target=write, name="petstore-mock-output", daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait for that thread as long as somebody reads what it writes; then let it write no more."""
        thread, start = self._thread, time.monotonic()
        while thread is not None and thread.is_alive() and (now := time.monotonic()) < start + _PATIENCE:
            began = self._began  # a thread that a busy machine does not let run is not waiting for a reader
            if began is not None and now - max(began, start) > _READER_PATIENCE:
                break
            thread.join(_REST)
        self.is_given_up = True
