"""Where the control door of a stub is, from the stub's root or a world's ``/w/NAME`` on."""

from __future__ import annotations

from typing import Final

__all__ = ["DOOR_PATH"]

DOOR_PATH: Final = "/__petstore"
