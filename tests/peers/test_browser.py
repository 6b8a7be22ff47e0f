"""Pages in a real Chromium: one of another origin that may use the service, and one that may not."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from petstore_mock import PetStoreMock, faults
from tests.peers.tools import HERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

pytest.importorskip("pytest_playwright", reason="no pytest-playwright here: 'make peers' has it")

pytestmark = [pytest.mark.peers]


@contextmanager
def page_server() -> Iterator[str]:
    """Serve the page on another port; gives its origin, which is none of the service's."""
    with PetStoreMock() as server:
        text = (HERE / "browser_page.html").read_text(encoding="utf-8")
        server.httpserver.expect_request("/page").respond_with_data(text, content_type="text/html; charset=utf-8")
        yield server.url.removesuffix("/v1")


@dataclass
class Told:
    """What a page got, what it shows, and what the browser had to say of it."""

    outcomes: dict[str, Any]
    shown: list[str]
    messages: list[str]


def visit(page: Page, petstore: PetStoreMock, origin: str) -> Told:
    """Open the page in the browser, and wait until it has asked for everything."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(f"{origin}/page#{quote(f'{petstore.url} {petstore.api_key}')}")
    page.wait_for_function("window.outcomes !== undefined")
    return Told(page.evaluate("window.outcomes"), page.get_by_role("listitem").all_text_contents(), messages)


def test_a_page_that_is_allowed_lists_creates_and_reads_errors(page: Page) -> None:
    with page_server() as origin, PetStoreMock(cors=[origin]) as petstore:
        petstore.inject(faults.rate_limited(7), on="listPets", when=lambda request: request.query.get("limit") == "1")
        told = visit(page, petstore, origin)
        got = told.outcomes
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
        assert told.shown == ["Rex"]
        assert got["limited"]["fields"]["retry-after"] == "7"
        assert "invalid_token" in got["wrong key"]["fields"]["www-authenticate"]
        assert petstore.journal.wait_for("createPet"), "a plain test may wait though pytest-playwright has a loop"
        assert {"deprecation", "sunset"} <= got["get"]["fields"].keys()
        assert not [line for line in told.messages if "CORS" in line]
        preflights = [entry for entry in petstore.journal if entry.method == "OPTIONS"]
        assert preflights
        assert all(entry.status == 204 and "authorization" not in entry.headers for entry in preflights)


@pytest.mark.parametrize("cors", [None, ["http://127.0.0.1:1"]], ids=["no page", "another page"])
def test_a_page_that_is_not_allowed_gets_nothing_and_changes_nothing(cors: list[str] | None, page: Page) -> None:
    with page_server() as origin, PetStoreMock(cors=cors) as petstore:
        told = visit(page, petstore, origin)
        assert {one.get("error") for one in told.outcomes.values()} == {"TypeError: Failed to fetch"}
        assert any("blocked by CORS policy" in line for line in told.messages)
        assert petstore.pets == []
        assert {entry.method for entry in petstore.journal} == {"OPTIONS"}, "the browser asked, and left it at that"


# TLS: how the browser is told of a certificate, as docs/how-to/tls.md says


def test_a_browser_is_told_of_the_certificate_by_its_key_and_refuses_those_of_faults(
    launch_browser: Callable[..., Browser], browser_type_launch_args: dict[str, Any]
) -> None:
    with page_server() as origin, PetStoreMock(tls=True, cors=[origin]) as petstore:
        option = f"--ignore-certificate-errors-spki-list={petstore.tls.spki_hash}"
        browser = launch_browser(args=[*browser_type_launch_args["args"], option])
        told = visit(browser.new_page(), petstore, origin)
        assert (told.outcomes["list"]["status"], told.shown) == (200, ["Rex"])
        petstore.reset()
        for flaw in (faults.tls.expired(), faults.tls.wrong_host(), faults.tls.untrusted_root()):
            with petstore.inject(flaw) as planned:
                told = visit(browser.new_page(), petstore, origin)
            assert {one.get("error") for one in told.outcomes.values()} == {"TypeError: Failed to fetch"}
            assert any("net::ERR_CERT_AUTHORITY_INVALID" in line for line in told.messages), flaw
            assert planned.hits > 0
        assert len(petstore.journal) == 0
        browser.close()


def test_a_browser_that_was_told_nothing_trusts_nobody(page: Page) -> None:
    with page_server() as origin, PetStoreMock(tls=True, cors=[origin]) as petstore:
        told = visit(page, petstore, origin)
        assert any("net::ERR_CERT_AUTHORITY_INVALID" in line for line in told.messages)
        assert len(petstore.journal) == 0
