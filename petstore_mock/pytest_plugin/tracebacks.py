"""What pytest shows of an exception of this package: no frame of the package, and the sentence on the last line.

pytest does neither of them by itself. It hides a frame only if its function asks for that, and its last line begins
with the full name of the class, which leaves no room for the sentence.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import petstore_mock
from petstore_mock.errors import PetStoreMockError, ReportedError

if TYPE_CHECKING:
    from types import TracebackType

    import pytest

_PACKAGE: Final = str(Path(petstore_mock.__file__).parent)


def end_at_author(error: BaseException) -> None:
    """End the traceback of a misuse at the line of the author, before the package's frames."""
    # Doctest wraps the exception of an example, and collects several of them in ``failures``.
    for failure in getattr(error, "failures", [error]):
        wrapped: Any = getattr(failure, "exc_info", None)
        misuse = failure if wrapped is None else wrapped[1]
        trace = failure.__traceback__ if wrapped is None else wrapped[2]
        if isinstance(misuse, PetStoreMockError):
            _cut(trace)


def _cut(trace: TracebackType | None) -> None:
    """Drop the frames after the last one that is not the package's. Drop none if all are the package's."""
    last = None
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            last = trace
        trace = trace.tb_next
    if last is not None:
        last.tb_next = None


def show_sentence(report: pytest.TestReport, error: BaseException) -> None:
    """Let pytest's last line, and the ``message`` in junit.xml, begin with the sentence of an error of this package."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and isinstance(error, (PetStoreMockError, ReportedError)):
        crash.message = str(error)
