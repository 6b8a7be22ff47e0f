"""The console while a thousand requests a second come: it answers, draws no more than it may, and holds on to nothing.

How soon it answers is what the page itself measures, from the press of the button on to the frame that shows the
answer; what a driver sees from outside has its own way to the browser in it. On a machine that does other things as
well, the page's thread waits for a core: that is told apart, since Linux counts it (``/proc/PID/schedstat``).
"""

from __future__ import annotations

import http.client
import json
import statistics
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

import pytest

from tests.peers.tools import serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.peers.conftest import Console

pytest.importorskip("pytest_playwright", reason="no pytest-playwright here: 'make peers' has it")

pytestmark = [pytest.mark.peers]

RATE: Final = 1000  # requests a second
SECONDS: Final = 10
PATIENCE: Final = 200  # milliseconds that a person does not notice
ROUNDS: Final = 3  # the other processes of the browser wait for a core as well, which nobody counts for us
KEY: Final = "key-of-the-load"

_MEASURE: Final = """
() => {
  window.measured = { answers: [], drawings: 0 };
  let pressed = null;
  addEventListener('pointerdown', (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (pressed === null) return;
    const since = pressed;
    pressed = null;
    requestAnimationFrame(() => setTimeout(() => measured.answers.push(performance.now() - since)));
  }).observe(document.getElementById('entry'), { childList: true });
  new MutationObserver(() => { measured.drawings += 1; })
    .observe(document.getElementById('request-list'), { childList: true });
}
"""


@dataclass
class Round:
    """What ten seconds of load showed.

    Attributes:
        rate: requests a second that the client got answered.
        measured: the slowest answer of the page, in milliseconds, as it measured it.
        slowest: the same, less the time for which its thread waited for a core.
        median: of all answers, less that time.
        answers: how many there were.
        busy: the part of a core that the page's thread took.
        waited: the part of the time for which it waited for one.
        drawings: of the list, a second.
        heap: what the page held on to at the beginning and at the end, in kilobytes.
    """

    rate: int
    measured: int
    slowest: int
    median: int
    answers: int
    busy: float
    waited: float
    drawings: float
    heap: tuple[int, int]


class Threads:
    """The main threads of the browser's pages, as Linux counts them: of all but one there is nothing to count.

    Args:
        console: the page that is busy.
    """

    def __init__(self, console: Console) -> None:
        browser = console.page.context.browser
        assert browser is not None
        processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
        self._files = [Path(f"/proc/{one['id']}/schedstat") for one in processes if one["type"] == "renderer"]

    def ran_and_waited(self) -> tuple[float, float]:
        """Return for how many milliseconds they ran so far, and for how many they waited for a core."""
        counts = [file.read_text(encoding="ascii").split() for file in self._files]
        return sum(int(ran) for ran, _, _ in counts) / 1e6, sum(int(waited) for _, waited, _ in counts) / 1e6


class Client:
    """Sends requests at a steady rate on one connection: pages of animals, and one in ten that breaks the contract."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self.sent = 0

    def send(self, most: int) -> None:
        """Send so many requests as fast as they are answered; the twentieth alone breaks the contract."""
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=10)
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        for number in range(1, most + 1):
            if number == 20:
                connection.request("POST", "/v1/pets", json.dumps({"name": "Rex", "categoryId": "three"}), headers)
            else:
                connection.request("GET", f"/v1/pets?limit={number % 10 + 1}", headers=headers)
            connection.getresponse().read()
        connection.close()

    def _send(self) -> None:
        connection = http.client.HTTPConnection(self._url.hostname or "", self._url.port, timeout=10)
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        wrong = json.dumps({"name": "Rex", "categoryId": "three"})
        began = time.perf_counter()
        while not self._over.is_set():
            self._over.wait(max(0.0, began + self.sent / RATE - time.perf_counter()))
            if self.sent % 10:
                connection.request("GET", f"/v1/pets?limit={self.sent % 10}", headers=headers)
            else:
                connection.request("POST", "/v1/pets", wrong, headers)
            connection.getresponse().read()
            self.sent += 1
        connection.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def heap(session: Any) -> int:  # noqa: ANN401  # a session of Chromium's protocol
    """Return how many kilobytes the page's scripts hold on to."""
    session.send("HeapProfiler.collectGarbage")
    return int(session.send("Runtime.getHeapUsage")["usedSize"]) // 1024


def use(console: Console, client: Client) -> Round:
    """Choose one request after the other for ten seconds."""
    page, thread = console.page, Threads(console)
    session = page.context.new_cdp_session(page)
    page.evaluate("measured.answers.length = measured.drawings = 0")
    held = heap(session)
    began, sent = time.perf_counter(), client.sent
    ran, waited = thread.ran_and_waited()
    measured: list[float] = []
    answers: list[float] = []
    while time.perf_counter() - began < SECONDS:
        before = thread.ran_and_waited()[1]
        page.mouse.click(300, 300 + 55 * (len(answers) % 5))
        page.wait_for_function("count => measured.answers.length > count", arg=len(answers))
        measured.append(page.evaluate("measured.answers.at(-1)"))
        answers.append(measured[-1] - (thread.ran_and_waited()[1] - before))
        page.wait_for_timeout(200)
    elapsed = time.perf_counter() - began
    ran, waited = (after - before for before, after in zip((ran, waited), thread.ran_and_waited(), strict=True))
    return Round(
        rate=round((client.sent - sent) / elapsed),
        measured=round(max(measured)),
        slowest=round(max(answers)),
        median=round(statistics.median(answers)),
        answers=len(answers),
        busy=round(ran / elapsed / 1000, 3),
        waited=round(waited / elapsed / 1000, 3),
        drawings=round(page.evaluate("measured.drawings") / elapsed, 2),
        heap=(held, heap(session)),
    )


def test_a_thousand_requests_a_second_do_not_freeze_it(visit: Callable[..., Console]) -> None:
    with serving("--api-key", KEY, "--seed", "10") as url, Client(url) as client:
        console = visit(url)
        page = console.open()
        page.locator("#request-list li").nth(499).wait_for(timeout=30_000)
        page.evaluate(_MEASURE)
        for _ in range(ROUNDS):
            seen = use(console, client)
            sys.stdout.write(f"{seen}\n")
            if seen.rate > RATE * 0.8 and seen.slowest < PATIENCE:
                break
        assert seen.rate > RATE * 0.8, "or this machine has too much to do for such a load"
        assert seen.slowest < PATIENCE
        assert seen.answers > SECONDS
        assert seen.busy < 0.4
        assert seen.drawings <= 2.2
        assert seen.heap[1] < seen.heap[0] * 1.25 + 1000, "memory stays flat"
        assert page.locator("#request-list li").count() == 500
        assert "earlier left out" in page.locator("#requests-told").inner_text()


def test_a_search_finds_one_of_ten_thousand(visit: Callable[..., Console]) -> None:
    with serving("--api-key", KEY, "--seed", "10", "--keep-requests", "10000") as url:
        Client(url).send(10_000)
        console = visit(url)
        page = console.open()
        page.get_by_text("500 requests, 9,500 earlier left out.").wait_for()
        began = time.perf_counter()
        page.get_by_role("searchbox").fill("three")
        console.rows.filter(has_text="body.categoryId must be an integer").wait_for(timeout=30_000)
        sys.stdout.write(f"found in {time.perf_counter() - began:.1f} s\n")
        page.get_by_text("1 of 10,000 match.").wait_for()
        console.rows.first.click()
        assert console.entry.get_by_role("heading", level=2).inner_text() == "20 POST /v1/pets"
