"""Captures what a client logs, prints and warns of: a key that stands there is read by many."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TextIO

from petstore_mock.common.masking import mask_text
from petstore_mock.stateful.model.call import Problem, shortened
from petstore_mock.stateful.model.key_forms import PLAIN, form_in, masked

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

__all__ = ["OutputCapture", "key_is_absent", "more_runs_than_one", "output_problem", "root_level", "set_root_level"]

_SILENT: Final = -1  # below the level of every handler
_EVERYTHING: Final = 1  # a level that nobody else sets, so that whoever sets the root logger's is seen


class OutputCapture:
    """Captures what is logged, printed and warned of while it is entered.

    What is logged is kept from others: thousands of deliberate failures would fill the report with a library's
    warnings; and pytest keeps the exceptions in their arguments, with the frames and the open sockets that hang on
    them. What is printed or warned of goes on to where it went before.

    Attributes:
        keys: what must not stand there.
    """

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self._told: tuple[str, str, str] | None = None

    def __enter__(self) -> Self:
        _captures.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        _captures.leave(self)

    def start_over(self) -> None:
        """Forget what came, and the keys: the next client is not to answer for this one."""
        self.keys.clear()
        self._told = None

    def take(self) -> tuple[str, str, str] | None:
        """Return the first text with a key in it since the last look.

        Returns:
            How it came (``"logged"``, ``"printed"`` or ``"warned of"``), the form of the key, and the text with keys
            masked; None when there is none.
        """
        told, self._told = self._told, None
        return told

    def take_note(self, how: str, text: str) -> None:
        """Remember a text with a key in it; the first since the last look."""
        if self._told is not None:
            return
        for key in tuple(self.keys):
            form = form_in(text, key)
            if form is not None:
                self._told = how, form, masked(mask_text(text, tuple(self.keys)), key)
                return


class _Watched:
    """A stream that is looked at, and otherwise the one behind it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text, and look at it."""
        _captures.take_note("printed", text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the stream has
        return getattr(self._stream, name)


class _Captures:
    """The captures of all runs, behind the one factory of records: runs in threads begin and end in any order."""

    def __init__(self) -> None:
        self._captures: tuple[OutputCapture, ...] = ()
        self._lock = threading.Lock()
        self._make: Callable[..., logging.LogRecord] = logging.LogRecord
        self._level = self._disabled = logging.NOTSET
        self._streams: dict[str, tuple[TextIO, _Watched]] = {}
        self._show: Callable[..., None] = warnings.showwarning

    def enter(self, capture: OutputCapture) -> None:
        """Let ``capture`` have what is logged from now on."""
        with self._lock:
            if not self._captures:
                self._make = logging.getLogRecordFactory()
                self._level, self._disabled = logging.root.level, logging.root.manager.disable
                logging.setLogRecordFactory(self._make_record)
                logging.root.setLevel(_EVERYTHING)
                logging.disable(logging.NOTSET)
                self._watch()
            self._captures = (*self._captures, capture)

    def leave(self, capture: OutputCapture) -> None:
        """Let it have no more; after the last, logging is as it was."""
        with self._lock:
            self._captures = tuple(other for other in self._captures if other is not capture)
            if not self._captures:
                logging.disable(self._disabled)
                logging.root.setLevel(self._level)
                logging.setLogRecordFactory(self._make)
                self._look_away()

    def are_several(self) -> bool:
        """Say whether several runs are under way, in threads."""
        return len(self._captures) > 1

    def root_level(self) -> int:
        """Return the level of the root logger, or what it was before the machine has changed it."""
        level = logging.root.level
        return self._level if level == _EVERYTHING and self._captures else level

    def set_root_level(self, level: int) -> None:
        """Set it back to what :meth:`root_level` returned."""
        logging.root.setLevel(_EVERYTHING if self._captures and level == self._level else level)

    def _watch(self) -> None:
        """Look at what is printed and warned of."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is not None:
                watched = _Watched(stream)
                self._streams[name] = stream, watched
                setattr(sys, name, watched)
        self._show = warnings.showwarning
        warnings.showwarning = self._show_warning

    def _look_away(self) -> None:
        """Leave it as it was, unless somebody has put another thing in its place."""
        for name, (stream, watched) in self._streams.items():
            if getattr(sys, name) is watched:
                setattr(sys, name, stream)
        self._streams.clear()
        if warnings.showwarning == self._show_warning:
            warnings.showwarning = self._show

    def take_note(self, how: str, text: str) -> None:
        """Let every capture look at a text."""
        for capture in self._captures:
            capture.take_note(how, text)

    def _show_warning(self, message: Warning | str, *args: Any, **options: Any) -> None:  # noqa: ANN401
        with suppress(Exception):
            self.take_note("warned of", str(message))
        self._show(message, *args, **options)

    def _make_record(self, *args: Any, **options: Any) -> logging.LogRecord:  # noqa: ANN401  # those of LogRecord
        record = self._make(*args, **options)
        with suppress(Exception):  # a message that does not go with its arguments is the client's own affair
            error = record.exc_info[1] if record.exc_info else None
            text = f"{record.levelname}:{record.name}:{record.getMessage()}{'' if error is None else f' {error}'}"
            self.take_note("logged", text)
        record.levelno = _SILENT
        return record


_captures: Final = _Captures()
more_runs_than_one: Final = _captures.are_several
root_level: Final = _captures.root_level
set_root_level: Final = _captures.set_root_level


def key_is_absent(text: str, form: str) -> str:
    """Return the line of a test that a text holds no key, which was found in a form."""
    if form == PLAIN:
        return f"assert {{petstore}}.api_key not in {text}"
    return f"assert not holds_key({text}, {{petstore}}.api_key)"


_HOW: Final[dict[str, tuple[tuple[str, ...], str]]] = {  # the lines before the call, and what it has left
    "logged": (
        (
            "with unittest.TestCase().assertLogs(level='DEBUG') as logged, contextlib.suppress(Exception):",
            "    logging.debug('there may be no other record')",
        ),
        "str(logged.output)",
    ),
    "printed": (
        (
            "printed = io.StringIO()",
            "with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):",
            "    with contextlib.suppress(Exception):",
        ),
        "printed.getvalue()",
    ),
    "warned of": (
        (
            "with warnings.catch_warnings(record=True) as warned, contextlib.suppress(Exception):",
            "    warnings.simplefilter('always')",
        ),
        "str([str(warning.message) for warning in warned])",
    ),
}


def output_problem(capture: OutputCapture, who: str, code: str) -> Problem | None:
    """Return what is wrong with what ``who`` has logged, printed or warned of; ``code`` has it done again."""
    told = capture.take()
    if told is None:
        return None
    how, form, text = told
    lines, left = _HOW[how]
    indent = "        " if lines[-1].startswith("    with") else "    "
    check = (*lines, f"{indent}{code}", key_is_absent(left, form))
    words = "the API key is sent as a bearer token; whoever reads a log could send it as well"
    as_it_is = "" if form == PLAIN else f" {form}"
    return Problem(f"{who} {how} the API key{as_it_is}: {shortened(text)}", "5", words, check)
