"""The console in a real Chromium: what it shows, what it changes, and that hostile text stays text."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import subprocess
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

import pytest

from petstore_mock import PetStoreMock, RemotePetStore, connect, faults
from tests.client import Client
from tests.peers.tools import NODE_MODULES, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Locator

    from tests.peers.conftest import Console

expect = pytest.importorskip("playwright.sync_api", reason="no pytest-playwright: run 'make peers'").expect

pytestmark = [pytest.mark.peers]

HOSTILE: Final = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
PANES: Final = ("Requests", "Exchange", "Animals", "Faults", "Gaps", "Clock", "Worlds")
PHONE: Final = {"width": 390, "height": 844}
TABLET: Final = {"width": 1024, "height": 768}
DESK: Final = {"width": 1440, "height": 900}


def call(petstore: PetStoreMock | RemotePetStore, method: str, path: str, body: object = None, **headers: str) -> None:
    """Send one request to the service as a client. Ignore broken connections."""
    fields = {"Authorization": f"Bearer {petstore.api_key}", **headers}
    if body is not None:
        fields["Content-Type"] = "application/json"
    content = None if body is None else json.dumps(body).encode()
    with suppress(ConnectionError, http.client.HTTPException), Client(petstore) as client:
        client.bare(method, f"/v1{path}", list(fields.items()), content)


def ask(url: str | None, method: str, path: str, body: object = None) -> None:
    """Send a request to a stub from outside the page."""
    fields = {"Content-Type": "application/json"}
    content = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(urljoin(url or "", path), content, fields, method=method)
    with suppress(urllib.error.HTTPError), urllib.request.urlopen(request):
        pass


@contextmanager
def day_of_work() -> Iterator[PetStoreMock]:
    """Yield a mock with ten typical requests in its journal. The fifth and the ninth broke the contract."""
    with PetStoreMock(control=True) as petstore:
        call(petstore, "GET", "/pets?limit=2")
        call(petstore, "POST", "/pets", {"name": "Rex", "categoryId": 1})
        petstore.inject(faults.reset(), on="createPet", at="after_commit", times=1)
        call(petstore, "POST", "/pets", {"name": "Tom", "categoryId": 2, "status": "available"})
        call(petstore, "POST", "/pets", {"name": "Tom", "categoryId": 2, "status": "available"})
        call(petstore, "POST", "/pets", {"name": "Bella", "categoryId": "three", "colour": "brown"})
        petstore.inject(503, on="listPets", times=1)
        call(petstore, "GET", "/pets?limit=20")
        call(petstore, "GET", "/pets?limit=20")
        call(petstore, "GET", "/pets/99")
        call(petstore, "GET", "/pets", Authorization="Bearer nobodys-key")
        call(petstore, "GET", "/pets/1")
        yield petstore


def test_a_refused_request_shows_the_reason_at_its_field(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        expect(console.rows).to_have_count(10)
        expect(console.rows.filter(has_text="three")).to_contain_text("body.categoryId must be an integer")
        page.get_by_role("combobox", name="Show").select_option("refused")
        expect(console.rows).to_have_count(2)
        page.get_by_role("combobox", name="Show").select_option("all")
        page.get_by_role("searchbox").fill("three")
        expect(console.rows).to_have_count(1)
        console.rows.first.click()
        why = page.get_by_role("note", name="Why")
        expect(why).to_contain_text('body.categoryId must be an integer, got "three" (string)')
        expect(why).to_contain_text("§2 NewPet: categoryId, integer, int64, required")
        body = page.get_by_role("region", name="Body", exact=True)
        expect(body).to_contain_text('"colour": "brown"}◇ body.categoryId must be an integer')
        expect(body.get_by_role("mark")).to_have_text(['"three"', '"brown"'])


def test_each_request_has_an_address_and_the_address_latest_opens_the_newest(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open("#/requests/5")
        expect(console.entry.get_by_role("heading", name="POST /v1/pets")).to_be_visible()
        expect(page).to_have_title("Requests: default - petstore_mock")
        console.open("latest")
        expect(page).to_have_url(f"{petstore.control_url}latest#/requests/10")
        expect(console.entry.get_by_role("heading", name="GET /v1/pets/1")).to_be_visible()


def test_a_link_to_a_request_scrolls_to_its_row(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        for number in range(80):
            call(petstore, "GET", f"/pets?limit={number + 1}")
        console = visit(petstore.control_url)
        page = console.open("#/requests/5")
        row = page.get_by_role("link", name=re.compile("limit=5 "))
        expect(row).to_be_focused()
        expect(row).to_be_in_viewport()


def test_the_keyboard_opens_requests(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        expect(console.rows).to_have_count(10)
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("limit=20")
        expect(console.rows).to_have_count(2)
        page.get_by_role("searchbox").fill("")
        expect(console.rows).to_have_count(10)
        for _ in range(5):  # tab stops: two selects, two buttons, and the whole list
            page.keyboard.press("Tab")
        expect(console.rows.nth(3)).to_be_focused()
        for key, number in (("Home", 10), ("ArrowDown", 9), ("j", 8), ("ArrowUp", 9), ("End", 1), ("k", 2)):
            page.keyboard.press(key)
            expect(console.rows.nth(10 - number)).to_be_focused()
        expect(console.entry).to_be_hidden()
        page.keyboard.press("Home")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(console.entry.get_by_role("heading", level=2)).to_have_text("9 GET /v1/pets")
        page.keyboard.press("ArrowDown")
        expect(page).to_have_url(f"{petstore.control_url}#/requests/8")
        page.keyboard.press("c")
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert "/v1/pets/99" in page.evaluate("navigator.clipboard.readText()")
        page.keyboard.press("Escape")
        expect(console.entry).to_be_hidden()
        expect(console.rows.nth(2)).to_be_focused()
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("copies it as curl")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()


def test_on_a_phone_the_focus_moves_into_a_request_and_back(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url, viewport=PHONE)
        page = console.open()
        row = console.rows.filter(has_text="pets/99")
        row.focus()
        page.keyboard.press("Enter")
        expect(console.entry).to_be_focused()
        expect(row).to_be_hidden()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Close")).to_be_focused()
        page.keyboard.press("Enter")
        expect(row).to_be_focused()


def test_copies_contain_no_key_and_the_button_confirms_them(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open("#/requests/5")
        page.get_by_role("button", name="Copy as curl").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        expect(page.get_by_role("button", name="Copy as curl")).to_be_visible()
        page.get_by_role("button", name="Copy as fetch").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        fetched = page.evaluate("navigator.clipboard.readText()")
        assert petstore.api_key not in page.locator("body").inner_text() + copied + fetched
        assert fetched.startswith(f'const response = await fetch("{petstore.url}/pets", {{\n  method: "POST",')
    assert copied.startswith('curl -i -X POST -H "Authorization: Bearer $PETSTORE_KEY"')
    assert "Bella" in copied
    assert '"Authorization": `Bearer ${process.env.PETSTORE_KEY}`' in fetched


def test_a_fault_is_planned_for_the_next_request_like_this_one(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open("#/requests/4")
        page.get_by_role("button", name="Break the next request like this").click()
        expect(page.get_by_role("button", name="Plan fault")).to_be_focused()
        page.keyboard.press("Enter")
        planned = page.get_by_role("row").filter(has_text="active")
        expect(planned).to_contain_text('only if: {"name":"Tom","categoryId":2,"status":"available"}')
        expect(planned).to_contain_text("0 of 1 no request matched it")
        call(petstore, "POST", "/pets", {"name": "Rex", "categoryId": 2})
        call(petstore, "POST", "/pets", {"name": "Tom", "categoryId": 2, "status": "available"})
        expect(planned).to_have_count(0)
        assert [entry.status for entry in petstore.journal][-2:] == [201, 503]


def test_the_list_follows_a_late_response_a_reset_and_a_clear(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        petstore.inject(faults.delay(2), on="listPets", times=1)
        console = visit(petstore.control_url)
        page = console.open()
        slow = threading.Thread(target=call, args=(petstore, "GET", "/pets?limit=1"))
        slow.start()
        expect(console.rows).to_contain_text([re.compile(r"in flight [01] s")])
        expect(console.rows).to_contain_text([re.compile(r"200.*2,\d\d\d ms.*fault delay\(2\)")])
        slow.join()
        call(petstore, "GET", "/pets?limit=2")
        expect(console.rows).to_have_count(2)
        ask(petstore.control_url, "POST", "/__petstore/world/reset")
        expect(console.rows).to_have_count(0)
        expect(page.get_by_role("heading", name="No request arrived yet")).to_be_visible()
        call(petstore, "GET", "/pets?limit=3")
        expect(console.rows).to_contain_text(["limit=3"])
        page.get_by_role("button", name="Clear").click()
        expect(page.get_by_role("status")).to_have_text("The journal is empty.")
        expect(console.rows).to_have_count(0)
        call(petstore, "GET", "/pets?limit=5")
        expect(console.rows).to_contain_text(["limit=5"])


def test_all_open_pages_follow_when_one_clears_the_journal(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        call(petstore, "GET", "/pets?limit=1")
        consoles = [visit(petstore.control_url) for _ in range(2)]
        for console in consoles:
            console.open()
            expect(console.rows).to_have_count(1)
        consoles[0].page.get_by_role("button", name="Clear").click()
        for console in consoles:
            expect(console.rows).to_have_count(0)
        call(petstore, "GET", "/pets?limit=2")
        for console in consoles:
            expect(console.rows).to_contain_text(["limit=2"])


def test_panes_follow_requests_and_keep_the_focus(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        console.open()
        animals = console.pane("Animals")
        expect(animals.get_by_role("heading", name="There is no animal")).to_be_visible()
        call(petstore, "POST", "/pets", {"name": "Rex", "categoryId": 1})
        expect(animals.get_by_role("cell", name="Rex")).to_be_visible()
        expect(console.page.get_by_role("link", name="Animals 1")).to_be_visible()
        planned = petstore.inject(503, on="listPets", times=3)
        faults_pane = console.pane("Faults")
        cancel = faults_pane.get_by_role("button", name="Cancel fault 1")
        cancel.focus()
        call(petstore, "GET", "/pets")
        expect(faults_pane.get_by_role("cell", name="1 of 3")).to_be_visible()
        expect(cancel).to_be_focused()
        planned.cancel()


def test_a_lost_response_shows_that_the_request_was_executed(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        lost = console.rows.filter(has_text="reset")
        expect(lost).to_contain_text("committed, but the response was lost; fault reset()")
        lost.click()
        why = page.get_by_role("note", name="Why")
        expect(why).to_contain_text("The request met the fault reset().")
        expect(why).to_contain_text("A retry executes it a second time.")


def test_an_empty_list_shows_a_command_to_copy(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        page.get_by_role("button", name="Copy").click()
        line = page.evaluate("navigator.clipboard.readText()")
        assert line == f"curl -i -H 'Authorization: Bearer {petstore.api_key}' {petstore.url}/pets"
        subprocess.run(shlex.split(line), check=True, capture_output=True, timeout=20)
        expect(console.rows).to_contain_text(["200"])


def test_animals_can_be_changed_and_their_ids_are_exact(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        petstore.seed(id=2**62 + 1, name="Big")
        console = visit(petstore.control_url)
        page = console.open()
        animals = console.pane("Animals")
        form = animals.get_by_role("form", name="Add or change an animal")
        form.get_by_label("name").fill("Rex")
        form.get_by_label("categoryId").fill(str(2**61 + 3))
        form.get_by_role("button", name="Add", exact=True).click()
        expect(animals.get_by_role("cell", name="Rex", exact=True)).to_be_visible()
        animals.get_by_role("searchbox").fill("rex")
        expect(animals.get_by_role("row")).to_have_count(2)
        animals.get_by_role("button", name="Change animal").click()
        form.get_by_label("status").select_option("sold")
        form.get_by_role("button", name="Save animal").click()
        expect(animals.get_by_role("cell", name="sold")).to_be_visible()
        animals.get_by_role("searchbox").fill("")
        form.get_by_role("button", name="Add 20").click()
        expect(page.get_by_role("status")).to_have_text("Added 20 animals.")
        animals.get_by_role("button", name=f"Remove animal {2**62 + 1}").click()
        expect(page.get_by_role("status")).to_have_text(f"Removed animal {2**62 + 1}.")
        expect(animals.get_by_role("row")).to_have_count(22)
        [rex] = [pet for pet in petstore.pets if pet["name"] == "Rex" and pet.get("status") == "sold"]
        assert rex["categoryId"] == 2**61 + 3
        assert "Big" not in {pet["name"] for pet in petstore.pets}


def test_faults_can_be_planned_and_cancelled(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        planned = console.pane("Faults")
        form = planned.get_by_role("form", name="Plan a fault")
        form.get_by_label("kind").select_option("delay")
        form.get_by_label("seconds").fill("0.25")
        form.get_by_label("operation", exact=True).select_option("createPet")
        form.get_by_label("when", exact=True).select_option("after commit")
        form.get_by_label("probability").fill("0.5")
        form.get_by_label("only if").fill('{"name": "Rex"}')
        form.get_by_role("button", name="Plan fault").click()
        expect(planned.get_by_role("cell", name='delay {"seconds":0.25}')).to_be_visible()
        planned.get_by_role("button", name="No response").click()
        planned.get_by_role("button", name="Cancel fault 2").click()
        expect(page.get_by_role("status")).to_have_text("Cancelled fault 2.")
        [row] = planned.get_by_role("row").all_inner_texts()[1:]
        parts = ("active", "createPet", "when: after commit", "probability: 0.5", 'only if: {"name":"Rex"}', "0 of 1")
        assert [part for part in parts if part not in row] == []
        form.get_by_label("how often").fill("0")
        form.get_by_role("button", name="Plan fault").click()
        expect(page.get_by_role("alert")).to_contain_text("body.times")
        assert ["422" in line for line in console.errors] == [True], "the browser logs the refusal too"
        console.errors.clear()
        planned.get_by_role("button", name="Cancel all").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel all").click()
        expect(planned.get_by_role("heading", name="No fault is planned")).to_be_visible()


def test_gaps_clock_and_worlds_can_be_changed(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        gaps = console.pane("Gaps")
        gap = gaps.get_by_role("article", name="list_order")
        gap.get_by_role("combobox").select_option("by_name")
        expect(page.get_by_role("status")).to_have_text("list_order is now by_name.")
        expect(gap).to_contain_text("Do not assume: that a list has an order")
        expect(gaps.get_by_role("article").first).to_contain_text("list_order")
        clock = console.pane("Clock")
        clock.get_by_role("button", name="Freeze").click()
        expect(clock.get_by_text("The clock is frozen.")).to_be_visible()
        clock.get_by_role("button", name="Removal date of getPet").click()
        expect(clock.get_by_text("2030-12-05 00:00:00 UTC")).to_be_visible()
        clock.get_by_role("button", name="Advance 1 hour").click()
        expect(clock.get_by_text("2030-12-05 01:00:00 UTC")).to_be_visible()
        clock.get_by_label("Date and time").fill("2031-01-02T03:04")
        clock.get_by_role("button", name="Travel").click()
        expect(clock.get_by_text("2031-01-02 03:04:00 UTC")).to_be_visible()
        assert petstore.behaviour.list_order == "by_name"
        assert petstore.clock.moment.isoformat().startswith("2031-01-02T03:04:00")
        worlds = console.pane("Worlds")
        worlds.get_by_label("Name").fill("of-the-page")
        worlds.get_by_role("button", name="Make world").click()
        ask(petstore.control_url, "POST", "/w/of-the-page/__petstore/pets", {"count": 3})
        worlds.get_by_role("button", name="Make world").click()
        expect(page.get_by_role("alert")).to_contain_text("expected the name of a new world")
        assert console.errors.pop().count("412") == 1, "the browser logs the refusal"
        with connect(petstore.control_url, world="of-the-page") as world:
            assert len(world.pets) == 3
        worlds.get_by_role("table").get_by_role("link", name="of-the-page").click()
        page.wait_for_url("**/w/of-the-page/__petstore/**")
        expect(page.get_by_text("/w/of-the-page/v1").first).to_be_visible()
        console.pane("Worlds").get_by_role("button", name="End world of-the-page").click()
        page.get_by_role("dialog", name="End the world of-the-page?").get_by_role("button", name="Go back").click()
        expect(page).to_have_url(re.compile("/w/of-the-page/"))
        worlds.get_by_role("button", name="End world of-the-page").click()
        page.get_by_role("dialog").get_by_role("button", name="End world").click()
        expect(page).to_have_url(petstore.control_url)


def test_worlds_with_problems_are_first(visit: Callable[..., Console]) -> None:
    with serving() as url:
        for name in ("calm", "broken", "young"):
            ask(url, "PUT", f"/w/{name}/__petstore/world", {"strict": True})
        ask(url, "POST", "/w/broken/v1/pets", {"colour": 1})
        console = visit(url)
        console.open()
        worlds = console.pane("Worlds")
        expect(worlds.get_by_role("row")).to_contain_text(["state", "broken", "young", "calm", "default"])
        expect(worlds.get_by_role("row", name="broken")).to_contain_text(re.compile(r"has problems.*\d s"))
        worlds.get_by_role("searchbox").fill("cal")
        expect(worlds.get_by_role("row")).to_contain_text(["state", "calm"])


def test_the_exchange_is_shown(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        rows = console.pane("Exchange").locator("table").first.get_by_role("row")
        expect(rows.nth(1)).to_contain_text("10")
        expect(rows.filter(has_text="no response: reset")).to_contain_text("committed, fault reset()")
        page.get_by_role("link", name="5", exact=True).click()
        expect(page).to_have_url(f"{petstore.control_url}#/requests/5")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, TABLET, DESK], ids=["phone", "tablet", "desk"])
def test_axe_finds_no_violation(visit: Callable[..., Console], scheme: str, size: dict[str, int]) -> None:
    source = NODE_MODULES / "axe-core" / "axe.min.js"
    if not source.exists():
        pytest.skip("axe-core is not installed: run 'make peers'")
    found: list[str] = []
    with day_of_work() as petstore:
        petstore.inject(503, on="getPet").cancel()
        console = visit(petstore.control_url, color_scheme=scheme, viewport=size)
        page = console.open()
        page.evaluate(source.read_text(encoding="utf-8"))
        for place in (*PANES, *(f"Requests/{number}" for number in range(1, 11))):
            page.evaluate("place => { location.hash = `#/${place.toLowerCase()}`; }", place)
            if "/" in place:
                number = place.partition("/")[2]
                expect(console.entry.get_by_role("heading", level=2)).to_have_text(re.compile(rf"^{number}\b"))
            else:
                pane = page.get_by_role("region", name=place, exact=True).first
                expect(pane.locator("li, tbody tr, article, time[datetime]").first).to_be_visible()
            result = page.evaluate("axe.run({ resultTypes: ['violations'] })")
            assert result["passes"], "axe checked something"
            found += [
                f"{place}: {one['id']}: {[node['target'] for node in one['nodes']][:3]}" for one in result["violations"]
            ]
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{place} is {wide} pixels wider than the window"
    assert found == []


def test_hostile_text_is_shown_as_text(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        petstore.seed(name=HOSTILE)
        call(petstore, "POST", "/pets", {"name": HOSTILE, "categoryId": 1})
        call(petstore, "POST", "/pets", {"name": "Rex", "categoryId": HOSTILE, HOSTILE: HOSTILE})
        call(petstore, "GET", "/pets?name=%3Cimg%20src=x%20onerror=alert(1)%3E", **{"X-Hostile": HOSTILE})
        call(petstore, "POST", "/pets", None, **{"User-Agent": HOSTILE})
        petstore.inject(faults.respond(502, body=HOSTILE), on="listPets", times=1)
        call(petstore, "GET", "/pets")
        console = visit(petstore.control_url)
        page = console.open()
        expect(console.rows).to_have_count(5)
        shown = []
        for number in range(1, 6):
            page.goto(f"{petstore.control_url}#/requests/{number}")
            expect(console.entry.get_by_role("heading", level=2)).to_have_text(re.compile(rf"^{number}\b"))
            for details in console.entry.get_by_role("group").all():
                details.evaluate("element => { element.open = true; }")
            shown.append(console.entry.inner_text())
        animals = console.pane("Animals")
        expect(animals.get_by_role("cell", name=HOSTILE)).to_have_count(2)
        expect(console.pane("Exchange").locator("tbody")).to_contain_text(["onerror"])
        assert sum(HOSTILE in text or json.dumps(HOSTILE) in text for text in shown) >= 4
        assert page.evaluate("window.pwned ?? null") is None
        tags = page.evaluate("[...document.querySelectorAll('*')].map((one) => one.localName)")
        assert {"iframe", "object", "embed", "style"}.isdisjoint(tags)
        assert page.evaluate("[...document.scripts].map((one) => one.getAttribute('src'))") == ["main.js"]


def test_the_token_in_the_address_is_used_and_removed(visit: Callable[..., Console]) -> None:
    with serving("--control-token", "of-the-page") as url:
        console = visit(url)
        page = console.open("#token=of-the-page&/animals")
        expect(page).to_have_url(f"{url}#/animals")
        expect(page.get_by_role("heading", level=1)).to_have_text("Animals")
        page.reload()
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        page.get_by_role("button", name="Copy").click()
        line = page.evaluate("navigator.clipboard.readText()")
        subprocess.run(["sh", "-c", line], env={**os.environ, "PETSTORE_MOCK_CONTROL_TOKEN": "of-the-page"}, check=True)
        with connect(url, world="default", token="of-the-page") as steered:
            assert len(steered.pets) == 20
        assert console.errors == []
        other = visit(url)
        other.page.goto(url)
        other.page.get_by_role("textbox", name="Token").fill("of-the-page")
        other.page.get_by_role("button", name="Enter").click()
        expect(other.page.get_by_text("live", exact=True)).to_be_visible()
        expect(other.page.get_by_role("heading", level=1)).to_have_text("Requests")
        assert {"401" in line for line in other.errors} == {True}, "the browser logs the refusal too"
        other.errors.clear()


def test_many_tabs_follow_one_stub(visit: Callable[..., Console]) -> None:
    """A browser opens six connections to a host, and each stream takes one for as long as it lasts."""
    with PetStoreMock(control=True) as petstore:
        consoles = [visit(petstore.control_url)]
        consoles += [consoles[0].another() for _ in range(7)]
        for console in consoles:
            console.open()
        call(petstore, "GET", "/pets?limit=1")
        for console in consoles:
            expect(console.rows).to_contain_text(["limit=1"])
        consoles.pop(0).page.close()  # the one that read the stream
        call(petstore, "GET", "/pets?limit=2")
        for console in consoles:
            expect(console.rows).to_have_count(2)
        ask(petstore.control_url, "POST", "/__petstore/world/reset")
        for console in consoles:
            expect(console.rows).to_have_count(0)


def test_many_tabs_follow_worlds_of_their_own(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        names = [f"world-{number}" for number in range(8)]
        for name in names:
            ask(petstore.control_url, "PUT", f"/w/{name}/__petstore/world", {})
        first = visit(petstore.control_url)
        consoles = [first.another(urljoin(first.url, f"/w/{name}/__petstore/")) for name in names]
        for console in consoles:
            console.open()
        for name in names:
            with connect(petstore.control_url, world=name) as world:
                call(world, "GET", f"/pets?name={name}")
        for name, console in zip(names, consoles, strict=True):
            expect(console.rows).to_contain_text([name])
        for console in consoles[:4]:
            console.page.close()
        ask(petstore.control_url, "DELETE", "/w/world-7/__petstore/world")
        expect(consoles[7].page.get_by_text("this world has ended")).to_be_visible()
        consoles[7].errors.clear()  # the browser logs the 404


def test_a_hidden_tab_ends_its_stream_and_catches_up(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        define = "Object.defineProperty(document, 'hidden', { value: %s, configurable: true }); "
        define += "document.dispatchEvent(new Event('visibilitychange'))"
        page.evaluate(define % "true")
        expect(page.get_by_text("paused", exact=True)).to_be_visible()
        call(petstore, "GET", "/pets?limit=1")
        page.evaluate(define % "false")
        expect(console.rows).to_contain_text(["limit=1"])
        expect(page.get_by_text("live", exact=True)).to_be_visible()


# Returns the contrast of each visible text of an element with what lies behind it (WCAG 2.2, 1.4.3).
CONTRASTS: Final = """root => {
    const channels = color => (color.match(/[\\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const over = ([r, g, b, alpha = 1], back) =>
        [r, g, b].map((part, at) => part * alpha + back[at] * (1 - alpha));
    const behind = element => {
        if (element === null) return [255, 255, 255];
        const style = getComputedStyle(element);
        if (style.filter !== 'none' || style.backgroundImage !== 'none') throw new Error('a filter or an image');
        const own = channels(style.backgroundColor);
        return (own[3] ?? 1) === 1 ? own : over(own, behind(element.parentElement));
    };
    const texts = [root, ...root.querySelectorAll('*')].filter(one => one.checkVisibility()
        && (one.matches('input, select') || [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim())));
    return texts.map(one => {
        const back = behind(one);
        const both = [light(over(channels(getComputedStyle(one).color), back)), light(back)];
        return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
    });
}"""
CONTROLS: Final = "button, a:not(.skip), input, select, summary"
LOOK: Final = "one => [one.localName, one.className, one.closest('li, tr')?.localName ?? one.textContent].join(' ')"
READABLE: Final = 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_control_stays_readable_under_the_pointer_and_the_focus(
    visit: Callable[..., Console], scheme: str
) -> None:
    weak: list[str] = []
    counts: dict[str, int] = {}
    with day_of_work() as petstore:
        petstore.seed_many([{"name": f"Rex {number}"} for number in range(3)])
        petstore.inject(503, on="getPet").cancel()
        planned = petstore.inject(503, on="getPet", times=2)
        ask(petstore.control_url, "PUT", "/w/other/__petstore/world", {})
        console = visit(petstore.control_url, color_scheme=scheme, viewport={"width": 1280, "height": 3000})
        page = console.open()
        for place in (*PANES, "Requests/5", "Help"):
            page.evaluate("place => { location.hash = `#/${place.toLowerCase()}`; }", place)
            if place == "Help":
                page.get_by_role("button", name="Keyboard shortcuts").click()
            else:
                expect(page.locator("section:visible").locator("li, tbody tr, article, time").first).to_be_visible()
            controls = page.locator(CONTROLS).filter(visible=True)
            kinds: dict[str, Locator] = {}
            for control in controls.all():
                # Of controls that look the same, one is enough.
                look = control.evaluate(
                    "one => `${one.localName}.${one.className}.${one.closest('li, tr')?.localName ?? one.textContent}`"
                )
                kinds.setdefault(look, control)
            counts[place] = len(kinds)
            for look, control in kinds.items():
                weak += [f"{place}: {state}: {look}: {contrast:.2f}" for state, contrast in states_of(control)]
        planned.cancel()
    assert min(counts.values()) > 7
    assert weak == []


def states_of(control: Locator) -> Iterator[tuple[str, float]]:
    """Yield each state of a control in which a text is hard to read, with the contrast."""
    page = control.page

    def measure(state: str) -> Iterator[tuple[str, float]]:
        yield from ((state, contrast) for contrast in control.evaluate(CONTRASTS) if contrast < READABLE)

    yield from measure("idle")
    control.focus()
    yield from measure("focused")
    if page.locator("dialog[open]").count() == control.locator("xpath=ancestor::dialog").count():
        control.hover(force=True)
        yield from measure("hovered")
        if control.evaluate("one => one.localName") == "button":
            # A press far from its release is no click.
            page.mouse.down()
            yield from measure("pressed")
            page.mouse.move(0, 0)
            page.mouse.up()
    if control.evaluate("one => 'disabled' in one && !one.disabled"):
        control.evaluate("one => { one.disabled = true; }")
        yield from measure("disabled")
        control.evaluate("one => { one.disabled = false; }")


def test_a_refused_request_offers_no_fault_that_could_not_fire(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open("#/requests/5")
        breaks = page.get_by_role("button", name="Break the next request like this")
        for number, is_met in ((5, False), (9, False), (1, True), (8, True), (3, True)):
            page.goto(f"{petstore.control_url}#/requests/{number}")
            expect(console.entry.get_by_role("heading", level=2)).to_have_text(re.compile(rf"^{number}\b"))
            expect(breaks).to_be_enabled(enabled=is_met)
            expect(page.get_by_text("A fault meets only requests that the service accepts.")).to_have_count(
                int(not is_met)
            )


def test_common_faults_are_planned_at_once(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        console.open()
        pane = console.pane("Faults")
        buttons = pane.get_by_role("group", name="Common faults").get_by_role("button")
        for number, pressed in enumerate(buttons.all(), 1):
            pressed.click()
            expect(console.page.get_by_role("status")).to_contain_text(pressed.inner_text())
            expect(pane.get_by_role("button", name="Cancel fault")).to_have_count(number)
        expect(pane.get_by_role("row").filter(has_text="reset")).to_contain_text("when: after commit")
        pane.get_by_role("button", name="Cancel all").click()
        console.page.get_by_role("dialog").get_by_role("button", name="Cancel all").click()
        expect(pane.get_by_role("button", name="Cancel fault")).to_have_count(0)


def test_the_form_of_a_fault_speaks_in_words_and_takes_plain_names(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        form = console.pane("Faults").get_by_role("form", name="Plan a fault")
        assert "_" not in form.inner_text()
        form.get_by_label("kind").select_option("server error")
        form.get_by_label("when", exact=True).select_option("after commit")
        form.get_by_label("only if").fill("{name: Rex")
        form.get_by_role("button", name="Plan fault").click()
        expect(page.get_by_role("alert")).to_contain_text(
            'expected JSON for "only if", such as {"name": "Rex"}; got {name: Rex'
        )
        form.get_by_label("only if").fill('{name: "Rex", categoryId: 1}')
        form.get_by_role("button", name="Plan fault").click()
        expect(page.get_by_role("row").filter(has_text="active")).to_contain_text(
            'only if: {"name":"Rex","categoryId":1}'
        )
        ask(petstore.control_url, "DELETE", "/__petstore/faults")


def test_a_request_that_was_sent_again_shows_the_second_animal(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        again = console.rows.filter(has_text="sent again")
        expect(again).to_have_count(1)
        expect(again).to_contain_text("↻201")
        expect(again).to_contain_text("sent again after request 3 lost its response: a second animal")
        page.get_by_role("combobox", name="Show").select_option("trouble")
        again.click()
        expect(page.get_by_role("note", name="Why")).to_contain_text("There is a second animal.")
        page.get_by_role("note", name="Why").get_by_role("link", name="request 3").click()
        expect(page).to_have_url(f"{petstore.control_url}#/requests/3")


def test_a_response_that_browsers_hide_is_marked(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        foreign = {"Origin": "http://localhost:5173"}
        call(petstore, "OPTIONS", "/pets", **foreign, **{"Access-Control-Request-Method": "POST"})
        call(petstore, "GET", "/pets", **foreign)
        call(petstore, "GET", "/pets", **foreign, **{"Sec-Fetch-Site": "same-origin"})
        console = visit(petstore.control_url)
        page = console.open()
        hidden = console.rows.filter(has_text="browsers hide this response from pages of http://localhost:5173")
        expect(hidden).to_have_count(2)
        expect(hidden.last).to_contain_text("⊘204")
        hidden.last.click()
        why = page.get_by_role("note", name="Why")
        expect(why).to_contain_text("no Access-Control-Allow-Origin")
        expect(why).to_contain_text("serve --cors")


def test_a_new_world_shows_what_a_client_needs(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        worlds = console.pane("Worlds")
        worlds.get_by_label("Name").fill("a-test")
        worlds.get_by_role("button", name="Make world").click()
        made = page.get_by_role("group", name="The new world")
        with connect(petstore.control_url, world="a-test") as world:
            for name, text in (("Copy the address", world.url), ("Copy the key", world.api_key)):
                expect(made).to_contain_text(text)
                made.get_by_role("button", name=name).click()
                page.wait_for_function(
                    "text => navigator.clipboard.readText().then(copied => copied === text)", arg=text
                )
            call(world, "GET", "/pets?limit=0")
        expect(worlds.get_by_role("row", name="a-test")).to_contain_text("allows violations")
        expect(worlds.get_by_role("row", name="default")).to_contain_text("passes")


# Returns whether the text of a control is visible as a whole. The arrow of a select takes 20 pixels.
FITS: Final = """control => {
    const text = control.selectedOptions?.[0].text ?? control.placeholder ?? control.textContent;
    const style = getComputedStyle(control);
    const context = document.createElement('canvas').getContext('2d');
    context.font = style.font;
    const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
    return context.measureText(text).width + padding + (control.selectedOptions ? 20 : 0) <= control.clientWidth + 1;
}"""


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_rows_of_a_table_do_not_overlap(visit: Callable[..., Console], size: dict[str, int]) -> None:
    with day_of_work() as petstore:
        ask(petstore.control_url, "PUT", "/w/other/__petstore/world", {})
        console = visit(petstore.control_url, viewport=size)
        console.open()
        for place in ("Exchange", "Animals", "Faults", "Worlds"):
            rows = console.pane(place).locator("tbody > tr")
            expect(rows.first).to_be_visible()
            boxes = rows.evaluate_all("rows => rows.map(one => [one.offsetTop, one.offsetHeight, one.scrollHeight])")
            assert all(height >= needed - 1 for _, height, needed in boxes), (place, boxes)
            assert all(top + height <= below + 1 for (top, height, _), (below, *_) in pairwise(boxes)), (place, boxes)


def test_the_filters_fit_a_phone(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url, viewport=PHONE)
        page = console.open()
        for control in page.get_by_role("search").locator("input, select, button, a").all():
            box = control.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= PHONE["width"]
            assert control.evaluate(FITS), control
        filters = page.get_by_role("search").bounding_box()
        assert filters is not None
        assert filters["height"] < PHONE["height"] / 4
