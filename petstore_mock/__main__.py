"""Runs the command ``petstore-mock`` for ``python -m petstore_mock``."""

from __future__ import annotations

import sys

from petstore_mock.cli import main

sys.exit(main())
