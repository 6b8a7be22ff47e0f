"""The request journal, and its output as text, curl, JSON, HAR and HTML."""

from __future__ import annotations

# Any import of Exchange runs this import, which masks the keys in its copies and pickles.
from petstore_mock.journal import record as record
