"""Schemathesis finds nothing, with all its checks and phases, over the socket and the WSGI app, with and without a key.

Over the socket, it reads the document that the stub serves, as ``docs/how-to/stand-alone.md`` says. The fake accepts
``1.0`` as an integer (gap ``integral_float``), which is not its default: JSON Schema calls ``1.0`` an integer, so
Schemathesis sends it as valid data.
"""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from tests.live.stub import stub
from tests.peers.tools import HERE, openapi_document, schemathesis

pytestmark = [pytest.mark.peers]

KEY = "schemathesis"
# Without a key, no response has an id, so Schemathesis can't follow the links of the document.
FOUND = {True: "4 covered / 4 selected", False: "3 operations returned only 401/403 responses"}


@pytest.mark.parametrize("with_key", [True, False], ids=["with key", "without key"])
@pytest.mark.parametrize("over", ["socket", "wsgi"])
def test_schemathesis_finds_nothing(tmp_path: Path, over: str, with_key: bool) -> None:
    key = ["--header", f"Authorization: Bearer {KEY}"] if with_key else []
    if over == "socket":
        with stub("--quiet", "--api-key", KEY, "--seed", "5", "--set", "integral_float=accept") as running:
            door = running.url.replace("/v1", "/__petstore/")
            served = f"{door}service/openapi.json"
            output = schemathesis(tmp_path, running.url, "40", *key, document=served, NO_PROXY="127.0.0.1")
            with urllib.request.urlopen(f"{door}pets", timeout=30) as response:
                ids = [pet["id"] for pet in json.load(response)["pets"]]
            assert ids[:5] == [1, 2, 3, 4, 5], "Schemathesis sends no request to the door"
            assert running.end()[::2] == (0, "")
    else:
        openapi_document(tmp_path)
        hooks = {"SCHEMATHESIS_HOOKS": str(HERE / "schemathesis_hooks.py"), "PETSTORE_KEY": KEY}
        output = schemathesis(tmp_path, "http://localhost/v1", "40", *key, **hooks)
    assert FOUND[with_key] in output
