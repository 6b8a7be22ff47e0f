"""Pages in a real Chromium: one of another origin that may use the service, and one that may not."""

from __future__ import annotations

import json
import shutil
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from petstore_mock import PetStoreMock, faults
from petstore_mock.messages.handshake import CERTIFICATE_FLAWS
from tests.peers.tools import HERE, python_tool, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.peers]

NAMES = ("chromium", "chromium-browser", "google-chrome")


class Pages(SimpleHTTPRequestHandler):
    """Serves the page without a word on the terminal."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Say nothing."""


@contextmanager
def page_server() -> Iterator[str]:
    """Serve the page; gives its origin, which is none of the service's: the port differs."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=str(HERE))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def visit(petstore: PetStoreMock, origin: str, tmp_path: Path, *options: str) -> dict[str, Any]:
    """Open the page in the browser; return what it got and what it shows.

    Args:
        petstore: the service that the page asks.
        origin: where the page is.
        tmp_path: a directory to run in.
        options: further options of the browser.
    """
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip("no Chromium is installed: Debian's package 'chromium' is enough")
    python = python_tool("python")
    url = f"{origin}/browser_page.html#{quote(f'{petstore.url} {petstore.api_key}')}"
    told: dict[str, Any] = json.loads(run(python, str(HERE / "drive_browser.py"), browser, url, *options, cwd=tmp_path))
    return told


def test_a_page_that_is_allowed_lists_creates_and_reads_errors(tmp_path: Path) -> None:
    with page_server() as origin, PetStoreMock(cors=[origin], self_check=True) as petstore:
        petstore.inject(faults.rate_limited(7), on="listPets", when=lambda request: request.query.get("limit") == "1")
        told = visit(petstore, origin, tmp_path)
        got = told["outcomes"]
        assert {name: one["status"] for name, one in got.items()} == {
            "create": 201,
            "list": 200,
            "get": 200,
            "absent": 404,
            "unknown path": 404,
            "wrong key": 401,
            "limited": 429,
        }
        assert got["list"]["body"] == petstore.pets == [got["create"]["body"]]
        assert told["shown"] == ["Rex"]
        assert got["limited"]["fields"]["retry-after"] == "7"
        assert "invalid_token" in got["wrong key"]["fields"]["www-authenticate"]
        assert {"deprecation", "sunset"} <= got["get"]["fields"].keys()
        assert not [line for line in told["console"] if "CORS" in line]
        preflights = [entry for entry in petstore.journal if entry.method == "OPTIONS"]
        assert preflights
        assert all(entry.status == 204 and "authorization" not in entry.headers for entry in preflights)


@pytest.mark.parametrize("cors", [None, ["http://127.0.0.1:1"]], ids=["no page", "another page"])
def test_a_page_that_is_not_allowed_gets_nothing_and_changes_nothing(cors: list[str] | None, tmp_path: Path) -> None:
    with page_server() as origin, PetStoreMock(cors=cors, self_check=True) as petstore:
        told = visit(petstore, origin, tmp_path)
        assert {one.get("error") for one in told["outcomes"].values()} == {"TypeError: Failed to fetch"}
        assert any("blocked by CORS policy" in line for line in told["console"])
        assert petstore.pets == []
        assert {entry.method for entry in petstore.journal} == {"OPTIONS"}, "the browser asked, and left it at that"


# TLS: how the browser is told of a certificate, as docs/how-to/tls.md says


def test_a_browser_is_told_of_the_certificate_by_its_key_and_refuses_those_of_faults(tmp_path: Path) -> None:
    with page_server() as origin, PetStoreMock(tls=True, cors=[origin], self_check=True) as petstore:
        option = f"--ignore-certificate-errors-spki-list={petstore.tls.spki_hash}"
        told = visit(petstore, origin, tmp_path, option)
        assert (told["outcomes"]["list"]["status"], told["shown"]) == (200, ["Rex"])
        petstore.reset()
        for flaw in CERTIFICATE_FLAWS:
            with petstore.inject(getattr(faults.tls, flaw)()):
                told = visit(petstore, origin, tmp_path, option)
            assert {one.get("error") for one in told["outcomes"].values()} == {"TypeError: Failed to fetch"}
            assert any("net::ERR_CERT_AUTHORITY_INVALID" in line for line in told["console"]), flaw
            assert {one.wait(10).alert for one in petstore.journal.handshakes if one.flaw == flaw} == {
                "certificate_unknown"
            }
        assert len(petstore.journal) == 0


def test_a_browser_that_was_told_nothing_trusts_nobody(tmp_path: Path) -> None:
    with page_server() as origin, PetStoreMock(tls=True, cors=[origin]) as petstore:
        told = visit(petstore, origin, tmp_path)
        assert any("net::ERR_CERT_AUTHORITY_INVALID" in line for line in told["console"])
        assert len(petstore.journal) == 0
