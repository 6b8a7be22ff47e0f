"""The installed Chromium, driven by pytest-playwright, and a fixture that opens consoles and checks their pages."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import BrowserContext, Locator, Page, Request

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
# With these flags, Chromium also runs as root, and on a machine without a network.
_FLAGS: Final = (
    "--no-sandbox",
    "--no-proxy-server",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
)
WIDE: Final = {"width": 1280, "height": 800}


@pytest.fixture(scope="session")
def base_url() -> None:
    """Return None, because each page has its own address. The fixture of the plugin causes a warning in pytest 9.1."""


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Make pytest-playwright start the installed Chromium, because it brings no browser."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("no Chromium is installed: Debian's package 'chromium' is enough")
    return {**browser_type_launch_args, "executable_path": program, "args": list(_FLAGS)}


@dataclass
class Console:
    """The console of a stub in a page of the browser.

    Attributes:
        page: the page.
        url: the console's address.
        errors: errors and warnings of the browser. A test that expects some removes them.
        foreign: requests to other addresses than the door of the stub.
    """

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on(
            "console",
            lambda message: self.errors.append(message.text) if message.type in {"error", "warning"} else None,
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: self.errors.append(f"dialog: {dialog.message}"))
        self.page.on("request", self._watch)

    def _watch(self, request: Request) -> None:
        asked, own = urlsplit(request.url), urlsplit(self.url)
        if asked.scheme != "blob" and (asked.netloc != own.netloc or "/__petstore" not in asked.path):
            self.foreign.append(request.url)

    def open(self, place: str = "") -> Page:
        """Open the page at a place, and wait until it follows the stream."""
        self.page.goto(f"{self.url}{place}")
        self.page.get_by_text("live", exact=True).wait_for()
        return self.page

    def another(self, url: str = "") -> Console:
        """Return another tab of the same browser, which the checks after the test cover too."""
        return Console(self.page.context.new_page(), url or self.url, self.errors, self.foreign)

    def pane(self, name: str) -> Locator:
        """Open a pane by its link."""
        self.page.get_by_role("navigation").get_by_role("link", name=name).click()
        region = self.page.get_by_role("region", name=name, exact=True).first
        region.wait_for()
        return region

    @property
    def rows(self) -> Locator:
        """The requests of the list, the newest first."""
        return self.page.get_by_role("list", name="Requests, newest first").get_by_role("link")

    @property
    def entry(self) -> Locator:
        """The chosen request."""
        return self.page.get_by_role("article", name="The chosen request")


@pytest.fixture
def visit(new_context: Callable[..., BrowserContext]) -> Iterator[Callable[..., Console]]:
    """Yield a function that opens a console in its own browser context. It takes the options of the context.

    After each test, no page may have an error, or a request to another address.
    """
    consoles: list[Console] = []

    def show(url: str | None, **options: Any) -> Console:
        assert url is not None
        context = new_context(**{"viewport": WIDE, "permissions": ["clipboard-read", "clipboard-write"], **options})
        console = Console(context.new_page(), url)
        consoles.append(console)
        return console

    yield show
    assert [error for console in consoles for error in console.errors] == []
    assert [request for console in consoles for request in console.foreign] == []
