"""Pages in a real Chromium: one from the origin of the fake, and one from another origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from petstore_mock import PetStoreMock, faults
from tests.peers.tools import HERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

Error = pytest.importorskip("playwright.sync_api", reason="no pytest-playwright: run 'make peers'").Error

pytestmark = [pytest.mark.peers]


def serve_page(petstore: PetStoreMock) -> str:
    """Serve the page from a fake, and return the origin of the page."""
    text = (HERE / "browser_page.html").read_text(encoding="utf-8")
    petstore.httpserver.expect_request("/page").respond_with_data(text, content_type="text/html; charset=utf-8")
    return petstore.url.removesuffix("/v1")


@dataclass
class Told:
    """The responses that a page received, the names that it shows, and the messages of the browser."""

    outcomes: dict[str, Any]
    shown: list[str]
    messages: list[str]


def visit(page: Page, petstore: PetStoreMock, origin: str) -> Told:
    """Open the page in the browser, and wait until it has sent all its requests."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(f"{origin}/page#{quote(f'{petstore.url} {petstore.api_key}')}")
    page.wait_for_function("window.outcomes !== undefined")
    return Told(page.evaluate("window.outcomes"), page.get_by_role("listitem").all_text_contents(), messages)


def test_a_page_of_the_same_origin_can_list_and_create_animals_and_read_errors(page: Page) -> None:
    with PetStoreMock() as petstore:
        petstore.inject(faults.rate_limited(7), on="listPets", when=lambda request: request.query.get("limit") == "1")
        told = visit(page, petstore, serve_page(petstore))
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
        assert petstore.journal.wait_for("createPet"), "wait_for() must work although pytest-playwright runs a loop"
        assert {"deprecation", "sunset"} <= got["get"]["fields"].keys()


def test_a_page_of_another_origin_reads_no_response_and_changes_nothing(page: Page) -> None:
    with PetStoreMock() as other, PetStoreMock() as petstore:
        told = visit(page, petstore, serve_page(other))
        assert {one.get("error") for one in told.outcomes.values()} == {"TypeError: Failed to fetch"}
        assert any("blocked by CORS policy" in line for line in told.messages)
        assert petstore.pets == []
        assert {entry.method for entry in petstore.journal} == {"OPTIONS"}, "only preflight requests"


def test_a_page_of_an_allowed_origin_lists_creates_and_reads_errors(page: Page) -> None:
    with PetStoreMock() as other:
        origin = serve_page(other)
        with PetStoreMock(cors=origin, control=True) as petstore:
            petstore.inject(
                faults.rate_limited(7), on="listPets", when=lambda request: request.query.get("limit") == "1"
            )
            told = visit(page, petstore, origin)
            assert [one["status"] for one in told.outcomes.values()] == [201, 200, 200, 404, 404, 401, 429]
            assert told.outcomes["limited"]["fields"]["retry-after"] == "7"
            assert told.shown == ["Rex"]
            blocked = page.evaluate(f"fetch('{petstore.control_url}world').catch(error => String(error))")
            assert blocked == "TypeError: Failed to fetch"


# TLS: the option of docs/how-to/tls.md makes the browser trust the certificate


def test_a_browser_with_the_hash_of_the_key_trusts_the_fake_and_refuses_flawed_certificates(
    launch_browser: Callable[..., Browser], browser_type_launch_args: dict[str, Any]
) -> None:
    with PetStoreMock(tls=True) as petstore:
        option = f"--ignore-certificate-errors-spki-list={petstore.tls.spki_hash}"
        browser = launch_browser(args=[*browser_type_launch_args["args"], option])
        told = visit(browser.new_page(), petstore, serve_page(petstore))
        assert (told.outcomes["list"]["status"], told.shown) == (200, ["Rex"])
        petstore.reset()
        for flaw in (faults.tls.expired(), faults.tls.wrong_host(), faults.tls.untrusted_root()):
            with petstore.inject(flaw) as planned:
                assert_untrusted(browser.new_page(), petstore)
            assert planned.hits > 0
        browser.close()


def test_a_browser_without_the_hash_of_the_key_refuses_the_certificate(page: Page) -> None:
    with PetStoreMock(tls=True) as petstore:
        assert_untrusted(page, petstore)


def assert_untrusted(page: Page, petstore: PetStoreMock) -> None:
    with pytest.raises(Error, match="net::ERR_CERT_AUTHORITY_INVALID"):
        page.goto(f"{serve_page(petstore)}/page")
    assert len(petstore.journal) == 0
