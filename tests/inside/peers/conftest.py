"""The fixtures of ``tests/peers``, which the files here share with those there."""

from __future__ import annotations

from tests.peers.conftest import base_url, browser_type_launch_args, visit

__all__ = ["base_url", "browser_type_launch_args", "visit"]
