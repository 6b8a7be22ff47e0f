"""Uses the console in a real browser and prints what it showed: ``drive_console.py BROWSER TASK URL [ARGUMENT]``."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Locator, Page

# As root, and where nothing beyond this machine answers.
FLAGS = [
    "--no-sandbox",
    "--no-proxy-server",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
]
FILLED = {  # what a pane has once it has been told what to show
    "requests": "#request-list li",
    "exchange": "#exchange-picture svg",
    "animals": "#animals-table tbody tr",
    "faults": "#faults-table tbody tr",
    "gaps": "#gaps-list .gap",
    "clock": "#clock-now[datetime]",
    "coverage": "#coverage-table tbody tr",
    "worlds": "#worlds-table tbody tr",
}
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


class Visit:
    """A page in a browser, with all that it must not do."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:  # noqa: ANN401  # those of a context
        self.url = url
        self.console: list[str] = []
        self.foreign: list[str] = []
        self.context = browser.new_context(
            **{"viewport": WIDE, "permissions": ["clipboard-read", "clipboard-write"], **options}
        )
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self._hear(message.type, message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("dialog", lambda dialog: self.console.append(f"dialog: {dialog.message}"))
        self.page.on("request", self._watch)

    def _hear(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            self.console.append(text)

    def _watch(self, request: Any) -> None:  # noqa: ANN401  # playwright's
        asked, own = urlsplit(request.url), urlsplit(self.url)
        if asked.scheme != "blob" and (asked.netloc != own.netloc or "/__petstore" not in asked.path):
            self.foreign.append(request.url)

    def open(self, place: str = "") -> Page:
        """Open the page, and wait until it follows the stream."""
        self.page.goto(f"{self.url}{place}")
        self.page.locator('#stream-state[data-state="live"]').wait_for()
        return self.page

    def pane(self, name: str) -> Locator:
        """Choose a pane by its link, as people do."""
        self.page.get_by_role("navigation").get_by_role("link", name=name).click()
        region = self.page.get_by_role("region", name=name, exact=True).first
        region.wait_for()
        return region

    @property
    def told(self) -> dict[str, Any]:
        return {"console": self.console, "foreign": self.foreign}


def wait_for_text(locator: Locator, text: str) -> None:
    locator.filter(has_text=text).first.wait_for()


def requests_pane(browser: Browser, url: str, _: str) -> dict[str, Any]:
    """Find out why a request failed, by mouse, by keyboard and by a link."""
    visit = Visit(browser, url)
    page = visit.open()
    rows = page.get_by_role("list", name="Requests, newest first").get_by_role("link")
    rows.first.wait_for()
    seen: dict[str, Any] = {"rows": rows.all_inner_texts()}
    page.get_by_role("combobox", name="Show").select_option("refused")
    seen["refused"] = rows.count()
    page.get_by_role("combobox", name="Show").select_option("all")
    page.keyboard.press("Escape")
    page.locator("#requests-told").click()
    page.keyboard.press("/")
    page.keyboard.type("categoryId")
    seen["found"] = rows.all_inner_texts()
    rows.first.click()
    why = page.get_by_role("note", name="Why")
    why.wait_for()
    seen |= {
        "why": why.inner_text(),
        "body": page.get_by_role("region", name="Body", exact=True).inner_text(),
        "link": page.url,
    }
    for name in ("curl", "a pytest test"):
        page.get_by_role("button", name=f"Copy as {name}").click()
        wait_for_text(page.get_by_role("status"), f"Copied as {name}.")
        seen[name] = page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("searchbox").fill("")
    page.locator("#requests-told").click()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    seen["second by keyboard"] = page.url
    page.keyboard.press("k")
    seen["first by keyboard"] = page.url
    page.goto(seen["link"])
    why.wait_for()
    page.goto(f"{url}latest")
    page.wait_for_url("**/latest#/requests/*")
    seen["latest"] = page.url
    return seen | visit.told


def live(browser: Browser, url: str, key: str) -> dict[str, Any]:
    """Watch a request whose answer is held back, then the world as it begins anew."""

    def ask(path: str, method: str = "GET") -> None:
        request = Request(url.replace("/__petstore/", path), method=method, headers={"Authorization": f"Bearer {key}"})
        build_opener(ProxyHandler({})).open(request, timeout=20).close()

    visit = Visit(browser, url)
    page = visit.open()
    slow = threading.Thread(target=ask, args=("/v1/pets?limit=1",))
    slow.start()
    row = page.locator("#request-1")
    row.filter(has_text="waiting").wait_for()
    row.filter(has_text="200").wait_for()
    slow.join()
    seen: dict[str, Any] = {"settled": row.inner_text()}
    ask("/v1/pets?limit=2")
    page.locator("#request-2").wait_for()
    ask("/__petstore/world/reset", "POST")
    page.locator("#request-2").wait_for(state="detached")
    seen["empty"] = page.locator("#requests-told").inner_text()
    ask("/v1/pets?limit=3")
    page.locator("#request-1").filter(has_text="limit=3").wait_for()
    page.get_by_role("button", name="Pause").click()
    ask("/v1/pets?limit=4")
    page.get_by_role("button", name="Clear").click()
    wait_for_text(page.get_by_role("status"), "The journal is empty.")
    page.get_by_role("button", name="Pause").click()
    page.locator("#request-1").wait_for(state="detached")
    ask("/v1/pets?limit=5")
    page.locator("#request-1").filter(has_text="limit=5").wait_for()
    return seen | visit.told


def animals_and_faults(browser: Browser, url: str, _: str) -> dict[str, Any]:
    """Add, change and remove animals; plan faults and cancel them."""
    visit = Visit(browser, url)
    page = visit.open()
    status = page.get_by_role("status")
    animals = visit.pane("Animals")
    animals.get_by_label("Name").fill("Rex")
    animals.get_by_label("Category").fill("7")
    animals.get_by_role("button", name="Add", exact=True).click()
    animals.get_by_role("cell", name="Rex", exact=True).wait_for()
    animals.get_by_role("button", name="Change animal 1").click()
    animals.get_by_label("Status").select_option("sold")
    animals.get_by_role("button", name="Change animal 1").first.click()
    animals.get_by_role("cell", name="sold").wait_for()
    animals.get_by_role("button", name="Add 20").click()
    wait_for_text(status, "Added 20 animals.")
    animals.get_by_role("button", name="Remove animal 2", exact=True).click()
    wait_for_text(status, "Removed animal 2.")
    seen: dict[str, Any] = {"animals": animals.get_by_role("row").count() - 1}
    faults = visit.pane("Faults")
    faults.get_by_role("combobox", name="Fault", exact=True).select_option("delay")
    faults.get_by_label("seconds").fill("0.25")
    faults.get_by_role("combobox", name="On", exact=True).select_option("createPet")
    faults.get_by_role("combobox", name="At", exact=True).select_option("after_commit")
    faults.get_by_role("button", name="Plan it").click()
    faults.get_by_role("cell", name="delay(seconds=0.25)").wait_for()
    faults.get_by_role("combobox", name="Fault", exact=True).select_option("hang")
    faults.get_by_role("button", name="Plan it").click()
    faults.get_by_role("button", name="Cancel fault 2").click()
    wait_for_text(status, "Cancelled fault 2.")
    seen["faults"] = faults.get_by_role("row").all_inner_texts()[1:]
    faults.get_by_label("Times").fill("0")
    faults.get_by_label("Times").evaluate("element => element.removeAttribute('min')")
    faults.get_by_role("button", name="Plan it").click()
    page.get_by_role("alert").wait_for()
    seen["problem"] = page.get_by_role("alert").inner_text()
    visit.console = [line for line in visit.console if "422" not in line]  # the browser tells of it as well
    faults.get_by_role("button", name="Cancel all").click()
    wait_for_text(status, "Cancelled all faults.")
    return seen | visit.told


def gaps_clock_and_worlds(browser: Browser, url: str, _: str) -> dict[str, Any]:
    """Choose an alternative, travel in time, make a world and end it."""
    visit = Visit(browser, url)
    page = visit.open()
    status = page.get_by_role("status")
    gaps = visit.pane("Gaps")
    gap = gaps.get_by_role("article", name="list_order")
    gap.get_by_role("combobox").select_option("by_name")
    wait_for_text(status, "list_order is now by_name.")
    seen: dict[str, Any] = {"gap": gap.inner_text()}
    gaps.get_by_label("only what is not the default").check()
    gaps.get_by_role("article", name="invalid_limit").wait_for(state="detached")
    seen["changed gaps"] = gaps.get_by_role("article").count()
    clock = visit.pane("Clock")
    clock.get_by_role("button", name="Freeze").click()
    wait_for_text(clock, "It is frozen.")
    clock.get_by_role("button", name="The day of the removal of getPet").click()
    wait_for_text(clock.locator("time"), "2030-12-05 00:00:00 UTC")
    clock.get_by_role("button", name="An hour later").click()
    wait_for_text(clock.locator("time"), "2030-12-05 01:00:00 UTC")
    clock.get_by_label("Date and time").fill("2031-01-02T03:04")
    clock.get_by_role("button", name="Travel to it").click()
    wait_for_text(clock.locator("time"), "2031-01-02 03:04:00 UTC")
    worlds = visit.pane("Worlds")
    worlds.get_by_label("Name").fill("of-the-page")
    worlds.get_by_role("button", name="Make it").click()
    worlds.get_by_role("link", name="of-the-page").click()
    page.wait_for_url("**/w/of-the-page/__petstore/**")
    wait_for_text(page.locator("#service-url"), "/w/of-the-page/v1")
    worlds = visit.pane("Worlds")
    worlds.get_by_role("button", name="End world of-the-page").click()
    page.wait_for_url(url)
    return seen | visit.told


def exchange(browser: Browser, url: str, _: str) -> dict[str, Any]:
    """Look at the picture and the coverage."""
    visit = Visit(browser, url)
    visit.open()
    pane = visit.pane("Exchange")
    picture = pane.get_by_role("img")
    picture.wait_for()
    seen = {"picture": picture.text_content(), "rows": pane.locator("table tr").count() - 1}
    pane.locator("g.answer").first.locator("text").first.click()
    visit.page.wait_for_url("**#/requests/*")
    coverage = visit.pane("Coverage")
    coverage.get_by_role("row").nth(1).wait_for()
    seen["coverage"] = [row.inner_text() for row in coverage.get_by_role("row").all()]
    return seen | visit.told


def axe(browser: Browser, url: str, source: str) -> dict[str, Any]:
    """Let axe-core look at every pane, in both schemes and at two widths."""
    found: list[str] = []
    looked = 0
    script = Path(source).read_text(encoding="utf-8")
    console: list[str] = []
    for scheme in ("light", "dark"):
        for size in (WIDE, PHONE):
            visit = Visit(browser, url, color_scheme=scheme, viewport=size)
            page = visit.open()
            page.get_by_role("list", name="Requests, newest first").get_by_role("link").first.wait_for()
            page.evaluate(script)
            for place in (*FILLED, *(f"requests/{number}" for number in range(1, 6))):
                page.evaluate("place => { location.hash = `#/${place}`; }", place)
                page.locator(FILLED.get(place, f"#entry h2:has-text('{place.rpartition('/')[2]} ')")).first.wait_for()
                result = page.evaluate("axe.run({ resultTypes: ['violations', 'incomplete'] })")
                looked += len(result["passes"]) > 0
                found += [
                    f"{scheme} {size['width']} {place}: {one['id']}: {[node['target'] for node in one['nodes']][:3]}"
                    for one in result["violations"]
                ]
            console += visit.console
            visit.context.close()
    return {"found": found, "looked": looked, "console": console, "foreign": []}


def hostile(browser: Browser, url: str, _: str) -> dict[str, Any]:
    """Open every request, and see whether anything of it became part of the page."""
    visit = Visit(browser, url)
    page = visit.open()
    rows = page.get_by_role("list", name="Requests, newest first").get_by_role("link")
    rows.first.wait_for()
    shown = []
    for row in rows.all():
        row.click()
        page.get_by_role("article", name="The chosen request").get_by_role("heading").first.wait_for()
        for details in page.locator("#entry details").all():
            details.evaluate("element => { element.open = true; }")
        shown.append(page.locator("#entry").inner_text())
    visit.pane("Animals").get_by_role("row").nth(1).wait_for()
    shown.append(page.locator("#animals").inner_text())
    visit.pane("Exchange").get_by_role("img").wait_for()
    shown.append(page.locator("#exchange").inner_text())
    tags = page.evaluate("[...new Set([...document.querySelectorAll('*')].map((one) => one.localName))]")
    scripts = page.evaluate("[...document.scripts].map((one) => one.getAttribute('src'))")
    return {
        "shown": shown,
        "tags": tags,
        "scripts": scripts,
        "pwned": page.evaluate("window.pwned ?? null"),
    } | visit.told


def token(browser: Browser, url: str, value: str) -> dict[str, Any]:
    """Come in with a token from the address, keep it over a reload, and type it where there is none."""
    visit = Visit(browser, url)
    page = visit.open(f"#token={value}&/animals")
    seen: dict[str, Any] = {"address": page.url, "pane": page.get_by_role("heading", level=1).inner_text()}
    page.reload()
    page.locator('#stream-state[data-state="live"]').wait_for()
    page.context.close()
    other = Visit(browser, url)
    other.page.goto(url)
    other.page.get_by_role("textbox", name="Token").fill(value)
    other.page.get_by_role("button", name="Enter").click()
    other.page.locator('#stream-state[data-state="live"]').wait_for()
    seen["heading"] = other.page.get_by_role("heading", level=1).inner_text()
    return seen | {"console": visit.console, "foreign": visit.foreign + other.foreign}


_MEASURE = """
() => {
  window.longest = 0;
  let before = performance.now();
  const look = (now) => {
    window.longest = Math.max(window.longest, now - before);
    before = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame((now) => { before = now; requestAnimationFrame(look); });
  window.drawings = 0;
  const list = document.getElementById('request-list');
  new MutationObserver(() => { window.drawings += 1; }).observe(list, { childList: true });
}
"""


def load(browser: Browser, url: str, seconds: str) -> dict[str, Any]:
    """Use the page while requests come; how soon it answers, how often it draws, what it holds on to."""
    visit = Visit(browser, url)
    page = visit.open()
    session = visit.context.new_cdp_session(page)
    session.send("Performance.setTimeDomain", {"timeDomain": "threadTicks"})  # so that nobody else's work counts
    session.send("Performance.enable")

    def metrics() -> dict[str, float]:
        return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}

    def heap() -> float:
        session.send("HeapProfiler.collectGarbage")
        return metrics()["JSHeapUsedSize"]

    page.locator("#request-list li").nth(499).wait_for(timeout=30_000)
    page.evaluate(_MEASURE)
    began, answers, heaps = time.monotonic(), [], []
    first = int(page.locator("#count-requests").inner_text().replace(",", ""))
    worked = metrics()["TaskDuration"]
    while time.monotonic() - began < float(seconds):
        took = page.evaluate(
            """async () => {
              const began = performance.now();
              const link = document.querySelector('#request-list li:nth-child(5) a');
              link.click();
              const number = link.getAttribute('href').split('/').pop();
              while (!document.querySelector('#entry h2')?.textContent.startsWith(`${number} `)) {
                await new Promise((resolve) => setTimeout(resolve, 1));
              }
              return performance.now() - began;
            }"""
        )
        answers.append(took)
        if len(answers) % 4 == 1:
            before = metrics()["TaskDuration"]
            heaps.append(heap())
            worked += metrics()["TaskDuration"] - before  # a collection that nobody but this test asked for
        page.wait_for_timeout(250)
    elapsed = time.monotonic() - began
    last = int(page.locator("#count-requests").inner_text().replace(",", ""))
    return {
        "rate": (last - first) / elapsed,
        "answers": answers,
        "busy": (metrics()["TaskDuration"] - worked) / elapsed,
        "longest": page.evaluate("window.longest"),
        "drawings": page.evaluate("window.drawings") / elapsed,
        "rows": page.locator("#request-list li").count(),
        "told": page.locator("#requests-told").inner_text(),
        "heaps": heaps,
    } | visit.told


def pictures(browser: Browser, url: str, directory: str) -> dict[str, Any]:
    """Take the pictures of the documents."""
    told = []
    for name, options, place in (
        ("console-light", {"color_scheme": "light"}, "#/requests/5"),
        ("console-dark", {"color_scheme": "dark"}, "#/requests/5"),
        ("console-phone", {"color_scheme": "light", "viewport": PHONE}, "#/requests/5"),
        ("console-exchange", {"color_scheme": "light"}, "#/exchange"),
    ):
        visit = Visit(browser, url, **options)
        page = visit.open(place)
        page.locator("#request-list li, #exchange-picture svg").first.wait_for(state="attached")
        page.wait_for_timeout(700)  # one drawing more
        page.screenshot(path=str(Path(directory) / f"{name}.png"))
        told += visit.console
        visit.context.close()
    return {"console": told, "foreign": []}


TASKS: dict[str, Callable[[Browser, str, str], dict[str, Any]]] = {
    task.__name__: task
    for task in (
        requests_pane,
        live,
        animals_and_faults,
        gaps_clock_and_worlds,
        exchange,
        axe,
        hostile,
        token,
        load,
        pictures,
    )
}


def main(browser_path: str, task: str, url: str, argument: str = "") -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        told = TASKS[task](browser, url, argument)
        browser.close()
    sys.stdout.write(json.dumps(told))


main(*sys.argv[1:])
