"""The request journal, and its output as text, curl, JSON, HAR and HTML."""

from __future__ import annotations

# The import makes copies and pickles of an exchange masked, wherever Exchange is imported from.
from petstore_mock.journal import record as record
