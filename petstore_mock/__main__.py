"""``python -m petstore_mock`` is the command ``petstore-mock``."""

from __future__ import annotations

import sys

from petstore_mock.cli import main

if __name__ == "__main__":
    sys.exit(main())
