"""Prism's validation proxy agrees with the fake while the contract suite of the interface runs through it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.peers.tools import node_tool, run

pytestmark = [pytest.mark.peers]

ROOT = Path(__file__).parents[2]


def test_contract_suite_passes_through_prism() -> None:
    """The suite runs once more, in a process of its own, with Prism as the only carrier."""
    node_tool("prism")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-rs"]
    output = run(*command, "tests/contract/test_interface.py", cwd=ROOT, environment={"PETSTORE_OVER": "prism"})
    passed = re.search(r"([0-9]+) passed", output)
    assert passed, output
    assert int(passed[1]) >= 100, output
