"""HTTP messages as values: requests, responses, credentials and framing, without I/O."""

from __future__ import annotations
