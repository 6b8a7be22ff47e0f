"""Marks of single tests."""

from __future__ import annotations

from typing import Final

import pytest

# For tests in tests/face of what only a socket shows: by default an object at home does not listen.
on_a_socket: Final = pytest.mark.parametrize("carrier", ["listening", "remote"], indirect=True)
