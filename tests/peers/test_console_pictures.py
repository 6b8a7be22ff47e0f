"""The pictures of the console in the documentation. ``make pictures`` takes them again."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.peers.tools import HERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from petstore_mock import PetStoreMock
    from tests.peers.conftest import Console

expect = pytest.importorskip("playwright.sync_api", reason="no pytest-playwright: run 'make peers'").expect

from tests.peers.test_console import PHONE, day_of_work  # noqa: E402  # needs Playwright too

pytestmark = [pytest.mark.peers]

SMALL: Final = {"width": 1120, "height": 660}  # keeps the files in the repository small


def hold_still(petstore: PetStoreMock) -> None:
    """Give the requests fixed times, so that an unchanged page gives the same pictures."""
    for entry in petstore.journal:
        entry.timestamp = datetime(2026, 3, 2, 9, 30, entry.number, tzinfo=UTC).timestamp()
        entry.request = replace(entry.request, started=float(entry.number))
        entry.duration = entry.number / 10_000


def picture(console: Console, place: str) -> bytes:
    """Take a picture of the page at ``place``. The page shows the service address of the documentation."""
    world = {"name": "default", "url": "http://127.0.0.1:8080/v1", "pets": 3, "faults": 0}
    console.page.route("**/__petstore/world", lambda asked: asked.fulfill(json=world))
    page = console.open(place)
    expect(page.get_by_role("link", name="Requests 10")).to_be_visible()
    expect(page.locator("#request-list a:focus, #entry:focus, #exchange-table tr").first).to_be_visible()
    page.wait_for_timeout(1200)  # the page draws the list twice in this time
    taken = page.screenshot(animations="disabled")
    page.close()
    assert isinstance(taken, bytes)
    return taken


def test_the_pictures_of_the_documentation_are_taken(visit: Callable[..., Console], tmp_path: Path) -> None:
    """Takes each picture. ``make pictures`` writes them into the documentation, other runs into a temporary folder."""
    wanted: dict[str, tuple[dict[str, Any], str]] = {
        "console-light": ({"color_scheme": "light"}, "#/requests/5"),
        "console-dark": ({"color_scheme": "dark"}, "#/requests/3"),
        "console-phone": ({"color_scheme": "light", "viewport": PHONE}, "#/requests/5"),
        "console-exchange": ({"color_scheme": "light", "viewport": {"width": 1240, "height": 660}}, "#/exchange"),
    }
    with day_of_work() as petstore:
        hold_still(petstore)
        taken = {
            f"{name}.png": picture(visit(petstore.control_url, **{"viewport": SMALL, **options}), place)
            for name, (options, place) in wanted.items()
        }
    directory = Path(os.environ.get("CONSOLE_PICTURES") or tmp_path)
    for name, content in taken.items():
        (directory / name).write_bytes(content)
    pictures = HERE.parents[1] / "docs" / "pictures"
    assert taken.keys() == {path.name for path in pictures.glob("*.png")}, "run `make pictures`"
