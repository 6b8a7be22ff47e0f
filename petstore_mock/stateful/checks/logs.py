"""Listens to what a client logs: a key that stands there is read by many."""

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

__all__ = ["Ear", "log_problem"]

_SILENT: Final = -1  # below the level of every handler


class Ear:
    """Hears what is logged while it is entered, at every level that a logger lets pass, and keeps it from all others.

    Thousands of deliberate failures would fill the report with a library's warnings; and pytest keeps the exceptions in
    their arguments, with the frames and the open sockets that hang on them.

    Attributes:
        keys: what must not be logged.
    """

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self._told: str | None = None

    def __enter__(self) -> Self:
        _all.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _all.leave(self)

    def start_over(self) -> None:
        """Forget what was heard, and the keys: the next client is not to answer for this one."""
        self.keys.clear()
        self._told = None

    def take(self) -> str | None:
        """Return the first record with a key in it since the last look, keys masked, or None."""
        told, self._told = self._told, None
        return told

    def hear(self, record: logging.LogRecord) -> None:
        """Remember a record with a key in it."""
        if self._told is not None:
            return
        with suppress(Exception):  # a message that does not go with its arguments is the client's own affair
            error = record.exc_info[1] if record.exc_info else None
            text = f"{record.levelname}:{record.name}:{record.getMessage()}{'' if error is None else f' {error}'}"
            if any(key in text for key in self.keys):
                self._told = mask_text(text, tuple(self.keys))


class _Ears:
    """The ears of all runs, behind the one factory of records: runs in several threads begin and end in any order."""

    def __init__(self) -> None:
        self._ears: tuple[Ear, ...] = ()
        self._lock = threading.Lock()
        self._make: Callable[..., logging.LogRecord] = logging.LogRecord
        self._level = self._disabled = logging.NOTSET

    def enter(self, ear: Ear) -> None:
        """Let ``ear`` hear what is logged from now on."""
        with self._lock:
            if not self._ears:
                self._make = logging.getLogRecordFactory()
                self._level, self._disabled = logging.root.level, logging.root.manager.disable
                logging.setLogRecordFactory(self._hear)
                logging.root.setLevel(logging.DEBUG)
                logging.disable(logging.NOTSET)
            self._ears = (*self._ears, ear)

    def leave(self, ear: Ear) -> None:
        """Let it hear no more; after the last, logging is as it was."""
        with self._lock:
            self._ears = tuple(other for other in self._ears if other is not ear)
            if not self._ears:
                logging.disable(self._disabled)
                logging.root.setLevel(self._level)
                logging.setLogRecordFactory(self._make)

    def _hear(self, *args: Any, **options: Any) -> logging.LogRecord:  # noqa: ANN401  # those of LogRecord
        record = self._make(*args, **options)
        for ear in self._ears:
            ear.hear(record)
        record.levelno = _SILENT
        return record


_all: Final = _Ears()


def log_problem(ear: Ear, who: str, code: str) -> Problem | None:
    """Return what is wrong with what was logged.

    Args:
        ear: what has listened.
        who: who did it.
        code: has it done again.
    """
    told = ear.take()
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
