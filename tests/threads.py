"""What the other threads of the process run."""

from __future__ import annotations

import sys
import threading
import traceback


def files_of_other_threads() -> set[str]:
    """Return the files of the code that other threads run at this moment."""
    own = threading.get_ident()
    others = [frame for ident, frame in sys._current_frames().items() if ident != own]
    return {line.filename for frame in others for line in traceback.extract_stack(frame)}
