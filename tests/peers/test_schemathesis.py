"""Schemathesis finds nothing: all its checks and phases, over the socket and the WSGI app, with a key and without.

One setting is not the default: JSON Schema calls ``1.0`` an integer and Schemathesis sends it as valid data, which the
gap ``integral_float`` refuses unless it is ``accept``. No check is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.live.stub import stub
from tests.peers.tools import HERE, openapi_document, schemathesis

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.peers]

KEY = "schemathesis"
# Without a key, no response has an id for a link to follow.
FOUND = {True: "4 covered / 4 selected", False: "3 operations returned only 401/403 responses"}


@pytest.mark.parametrize("with_key", [True, False], ids=["with key", "without key"])
@pytest.mark.parametrize("over", ["socket", "wsgi"])
def test_schemathesis_finds_nothing(tmp_path: Path, over: str, with_key: bool) -> None:
    openapi_document(tmp_path)
    key = ["--header", f"Authorization: Bearer {KEY}"] if with_key else []
    if over == "socket":
        with stub("--quiet", "--api-key", KEY, "--seed", "5", "--set", "integral_float=accept") as running:
            output = schemathesis(tmp_path, running.url, "40", *key, NO_PROXY="127.0.0.1")
            assert running.end()[::2] == (0, "")
    else:
        hooks = {"SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks.py"), "PETSTORE_KEY": KEY}
        output = schemathesis(tmp_path, "http://localhost/v1", "40", *key, **hooks)
    assert FOUND[with_key] in output
