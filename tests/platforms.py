"""Markers for tests that need a feature that some systems lack."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

import pytest

HAS_SIGNALS: Final = os.name == "posix"
WITHOUT_SIGNALS: Final = "Windows ends a process without a signal"
POSIX_SIGNALS: Final = pytest.mark.skipif(not HAS_SIGNALS, reason=WITHOUT_SIGNALS)
POSIX_SHELL: Final = pytest.mark.skipif(
    not HAS_SIGNALS or shutil.which("sh") is None, reason="the test needs a POSIX shell"
)
HAS_PROCESSOR_TIMES: Final = Path("/proc/self/schedstat").exists()
WITHOUT_PROCESSOR_TIMES: Final = "the machine needs /proc/PID/task/*/schedstat"
PROCESSOR_TIMES: Final = pytest.mark.skipif(not HAS_PROCESSOR_TIMES, reason=WITHOUT_PROCESSOR_TIMES)
LOOPBACK_NETWORK: Final = pytest.mark.skipif(
    sys.platform == "darwin", reason="macOS has only the loopback address 127.0.0.1"
)
