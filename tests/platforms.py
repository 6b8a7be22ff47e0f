"""What some systems lack: markers for the tests that need it."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Final

import pytest

HAS_SIGNALS: Final = os.name == "posix"
WITHOUT_SIGNALS: Final = "Windows ends a process outright, where others send it a signal"
POSIX_SIGNALS: Final = pytest.mark.skipif(not HAS_SIGNALS, reason=WITHOUT_SIGNALS)
POSIX_SHELL: Final = pytest.mark.skipif(
    not HAS_SIGNALS or shutil.which("sh") is None, reason="it is a script for a POSIX shell"
)
LOOPBACK_NETWORK: Final = pytest.mark.skipif(
    sys.platform == "darwin", reason="macOS has 127.0.0.1 alone, unless an alias is made"
)
