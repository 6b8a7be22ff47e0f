"""The journal of requests, and its forms for people and programs."""

from __future__ import annotations

# Registers how copies and pickles of an exchange are masked, wherever the class is imported from.
from petstore_mock.journal import record as record
