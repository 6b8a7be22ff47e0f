"""Captures what a client logs: a key that stands there is read by many."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.masking import mask_text
from petstore_mock.stateful.model.call import Problem, shortened

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__captures__ = ["LogCapture", "log_problem"]

_SILENT: Final = -1  # below the level of every handler


class LogCapture:
    """Captures what is logged while it is entered, at each level that a logger lets pass, and keeps it from others.

    Thousands of deliberate failures would fill the report with a library's warnings; and pytest keeps the exceptions in
    their arguments, with the frames and the open sockets that hang on them.

    Attributes:
        keys: what must not be logged.
    """

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self._told: str | None = None

    def __enter__(self) -> Self:
        _captures.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _captures.leave(self)

    def start_over(self) -> None:
        """Forget what was logged, and the keys: the next client is not to answer for this one."""
        self.keys.clear()
        self._told = None

    def take(self) -> str | None:
        """Return the first record with a key in it since the last look, keys masked, or None."""
        told, self._told = self._told, None
        return told

    def take_note(self, record: logging.LogRecord) -> None:
        """Remember a record with a key in it; the first since the last look."""
        if self._told is not None:
            return
        with suppress(Exception):  # a message that does not go with its arguments is the client's own affair
            error = record.exc_info[1] if record.exc_info else None
            text = f"{record.levelname}:{record.name}:{record.getMessage()}{'' if error is None else f' {error}'}"
            if any(key in text for key in self.keys):
                self._told = mask_text(text, tuple(self.keys))


class _Captures:
    """The captures of all runs, behind the one factory of records: runs in threads begin and end in any order."""

    def __init__(self) -> None:
        self._captures: tuple[LogCapture, ...] = ()
        self._lock = threading.Lock()
        self._make: Callable[..., logging.LogRecord] = logging.LogRecord
        self._level = self._disabled = logging.NOTSET

    def enter(self, capture: LogCapture) -> None:
        """Let ``capture`` have what is logged from now on."""
        with self._lock:
            if not self._captures:
                self._make = logging.getLogRecordFactory()
                self._level, self._disabled = logging.root.level, logging.root.manager.disable
                logging.setLogRecordFactory(self._make_record)
                logging.root.setLevel(logging.DEBUG)
                logging.disable(logging.NOTSET)
            self._captures = (*self._captures, capture)

    def leave(self, capture: LogCapture) -> None:
        """Let it have no more; after the last, logging is as it was."""
        with self._lock:
            self._captures = tuple(other for other in self._captures if other is not capture)
            if not self._captures:
                logging.disable(self._disabled)
                logging.root.setLevel(self._level)
                logging.setLogRecordFactory(self._make)

    def _make_record(self, *args: Any, **options: Any) -> logging.LogRecord:  # noqa: ANN401  # those of LogRecord
        record = self._make(*args, **options)
        for capture in self._captures:
            capture.take_note(record)
        record.levelno = _SILENT
        return record


_captures: Final = _Captures()


def log_problem(capture: LogCapture, who: str, code: str) -> Problem | None:
    """Return what is wrong with what was logged.

    Args:
        capture: what has captured it.
        who: who did it.
        code: has it done again.
    """
    told = capture.take()
    if told is None:
        return None
    check = (
        "with unittest.TestCase().assertLogs(level='DEBUG') as logged, contextlib.suppress(Exception):",
        "    logging.debug('there may be no other record')",
        f"    {code}",
        "assert {petstore}.api_key not in str(logged.output)",
    )
    words = "the API key is sent as a bearer token; whoever reads a log could send it as well"
    return Problem(f"{who} logged the API key: {shortened(told)}", "5", words, check)
