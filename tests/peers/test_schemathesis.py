"""Schemathesis finds nothing: all its checks and phases, over the socket and the WSGI app, with a key and without.

One setting is not the default: JSON Schema calls ``1.0`` an integer and Schemathesis sends it as valid data, which the
gap ``integral_float`` refuses unless it is ``accept``. No check is left out.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from tests.live.stub import stub
from tests.peers.tools import HERE, openapi_document, python_tool, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.peers]

KEY = "schemathesis"
EXAMPLES = "40"
SEED = ["--seed", "1"] if os.environ.get("CI") else []  # as Hypothesis's profile `ci`: a find belongs to its change


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Give a folder with our document, for Schemathesis to work in."""
    openapi_document(tmp_path)
    return tmp_path


def check(directory: Path, url: str, environment: dict[str, str], *, with_key: bool) -> None:
    """Run Schemathesis; any failed check, error or skipped phase fails the test."""
    key = ["--header", f"Authorization: Bearer {KEY}"] if with_key else []
    output = run(
        *(python_tool("st"), "--no-color", "run", "openapi.json", "--url", url, "--checks", "all"),
        *("--phases", "examples,coverage,fuzzing,stateful", "--max-examples", EXAMPLES, *SEED, *key),
        cwd=directory,
        environment={"COLUMNS": "120", **environment},
    )
    summary = output[output.index("= SUMMARY =") :]
    for phase in ("Coverage", "Fuzzing", "Stateful"):
        assert re.search(rf"✅ {phase}", summary), output
    assert re.search(r"([0-9]+) generated, \1 passed", summary), output
    if with_key:  # without, no answer has an id for a link to follow
        assert "4 covered / 4 selected" in output
    else:
        assert "3 operations returned only 401/403 responses" in output


@pytest.mark.parametrize("with_key", [True, False], ids=["with key", "without key"])
def test_schemathesis_finds_nothing_over_the_socket(directory: Path, with_key: bool) -> None:
    with stub("--quiet", "--api-key", KEY, "--seed", "5", "--set", "integral_float=accept") as running:
        check(directory, running.url, {"NO_PROXY": "127.0.0.1"}, with_key=with_key)
        assert running.end()[::2] == (0, "")


@pytest.mark.parametrize("with_key", [True, False], ids=["with key", "without key"])
def test_schemathesis_finds_nothing_in_the_wsgi_app(directory: Path, with_key: bool) -> None:
    (directory / "behaviour.toml").write_text('integral_float = "accept"\n', encoding="utf-8")
    environment = {
        "SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks.py"),
        "PETSTORE_KEY": KEY,
        "PETSTORE_BEHAVIOUR": str(directory / "behaviour.toml"),
    }
    check(directory, "http://localhost/v1", environment, with_key=with_key)
