"""``python -m petstore_mock`` is the command ``petstore-mock``."""

from __future__ import annotations

import sys

from petstore_mock.cli import main

sys.exit(main())
