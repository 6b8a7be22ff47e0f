"""The request journal, and its output as text, curl, JSON, HAR and HTML."""

from __future__ import annotations

# This import registers the masking of keys in copies and pickles. Every import of Exchange runs it.
from petstore_mock.journal import record as record
