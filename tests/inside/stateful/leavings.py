"""What buggy clients leave behind is the bug to be found, and no failure of the suite."""

from __future__ import annotations

from typing import Final

import pytest

# For the `pytestmark` of a module: sockets that nobody closed, and threads that were stopped.
EXPECTED: Final = [
    pytest.mark.usefixtures("collected"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]
