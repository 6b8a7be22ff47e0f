"""The console in a real Chromium: what people see and do there, and that it stays theirs."""

from __future__ import annotations

import http.client
import json
import os
import re
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock, faults
from tests.peers.tools import HERE, NODE_MODULES, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.peers.conftest import Console

expect = pytest.importorskip("playwright.sync_api", reason="no pytest-playwright here: 'make peers' has it").expect

pytestmark = [pytest.mark.peers]

HOSTILE: Final = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
PANES: Final = ("Requests", "Exchange", "Animals", "Faults", "Gaps", "Clock", "Coverage", "Worlds")
PHONE: Final = {"width": 390, "height": 844}
TABLET: Final = {"width": 820, "height": 1180}
DESK: Final = {"width": 1440, "height": 900}
SMALL: Final = {"width": 1120, "height": 660}  # of the documents, and so of the repository


def call(petstore: PetStoreMock, method: str, path: str, body: object = None, **headers: str) -> None:
    """Let a client of the service send one request, whatever becomes of it."""
    parts = urlsplit(petstore.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    fields = {"Authorization": f"Bearer {petstore.api_key}", **headers}
    if body is not None:
        fields["Content-Type"] = "application/json"
    try:
        connection.request(method, f"{parts.path}{path}", None if body is None else json.dumps(body), fields)
        connection.getresponse().read()
    except (ConnectionError, http.client.HTTPException):
        pass  # a fault: the journal tells of it
    finally:
        connection.close()


def ask_door(petstore: PetStoreMock, method: str, path: str, world: str = "") -> None:
    """Let another than the page steer the stub."""
    parts = urlsplit(petstore.control_url or "")
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    connection.request(method, f"/{world}__petstore/{path}")
    assert connection.getresponse().status < 300
    connection.close()


@contextmanager
def day_of_work() -> Iterator[PetStoreMock]:
    """Give a stub with a day's work in its journal; the fifth request is the one that people come for."""
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


def test_a_refused_request_tells_why_at_its_field(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        expect(console.rows).to_have_count(10)
        page.get_by_role("combobox", name="Show").select_option("refused")
        expect(console.rows).to_have_count(2)
        page.get_by_role("combobox", name="Show").select_option("all")
        page.get_by_role("searchbox").fill("categoryId")
        expect(console.rows).to_have_count(1)
        console.rows.first.click()
        why = page.get_by_role("note", name="Why")
        expect(why).to_contain_text('body.categoryId must be an integer, got "three" (string)')
        expect(why).to_contain_text("§2 NewPet: categoryId, integer, int64, required")
        at_field = page.get_by_role("region", name="Body", exact=True).inner_text().split("\n")
        assert at_field[at_field.index('  "categoryId": "three",') + 1].endswith('got "three" (string) (§2)')


def test_a_request_has_an_address_and_latest_is_the_newest(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open("#/requests/5")
        expect(console.entry.get_by_role("heading", name="POST /v1/pets")).to_be_visible()
        expect(page).to_have_title("Requests: default - petstore_mock")
        console.open("latest")
        expect(page).to_have_url(f"{petstore.control_url}latest#/requests/10")
        page.get_by_role("button", name="Copy the link").click()
        expect(page.get_by_role("status")).to_have_text("Copied the link.")
        page.goto(page.evaluate("navigator.clipboard.readText()"))
        expect(page).to_have_url(f"{petstore.control_url}#/requests/10")
        expect(console.entry.get_by_role("heading", name="GET /v1/pets/1")).to_be_visible()


def test_requests_are_chosen_by_keyboard(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        expect(console.rows).to_have_count(10)
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("limit=20")
        expect(console.rows).to_have_count(2)
        page.get_by_role("searchbox").fill("")
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Requests").focus()
        for key, number in (("j", 10), ("j", 9), ("k", 10), ("ArrowDown", 9)):
            page.keyboard.press(key)
            expect(page).to_have_url(f"{petstore.control_url}#/requests/{number}")
            expect(console.rows.nth(10 - number)).to_be_focused()
        page.keyboard.press("Escape")
        expect(page).to_have_url(f"{petstore.control_url}#/requests")


def test_the_focus_goes_into_a_request_and_back_at_phone_width(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url, viewport=PHONE)
        page = console.open()
        row = console.rows.filter(has_text="404")
        row.focus()
        page.keyboard.press("Enter")
        expect(console.entry).to_be_focused()
        expect(row).to_be_hidden()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Close")).to_be_focused()
        page.keyboard.press("Enter")
        expect(row).to_be_focused()


def test_a_copy_as_curl_shows_no_key(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open("#/requests/5")
        page.get_by_role("button", name="Copy as curl").click()
        expect(page.get_by_role("status")).to_have_text("Copied as curl.")
        copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl -i -X 'POST' -H \"authorization: Bearer $PETSTORE_KEY\"")
    assert "Bella" in copied


def test_the_list_follows_answers_that_come_late_and_a_world_that_begins_anew(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        petstore.inject(faults.delay(2), on="listPets", times=1)
        console = visit(petstore.control_url)
        page = console.open()
        slow = threading.Thread(target=call, args=(petstore, "GET", "/pets?limit=1"))
        slow.start()
        expect(console.rows).to_contain_text(["waiting"])
        expect(console.rows).to_contain_text(["200"])
        expect(console.rows).to_contain_text(["fault delay(2)"])
        slow.join()
        call(petstore, "GET", "/pets?limit=2")
        expect(console.rows).to_have_count(2)
        ask_door(petstore, "POST", "world/reset")
        expect(console.rows).to_have_count(0)
        expect(page.get_by_text("No request came yet. Send one to http://127.0.0.1:")).to_be_visible()
        call(petstore, "GET", "/pets?limit=3")
        expect(console.rows).to_contain_text(["limit=3"])
        page.get_by_role("button", name="Pause").click()
        call(petstore, "GET", "/pets?limit=4")
        page.get_by_role("button", name="Clear").click()
        expect(page.get_by_role("status")).to_have_text("The journal is empty.")
        page.get_by_role("button", name="Pause").click()
        expect(console.rows).to_have_count(0)
        call(petstore, "GET", "/pets?limit=5")
        expect(console.rows).to_contain_text(["limit=5"])


def test_pages_of_others_follow_when_somebody_clears_the_journal(visit: Callable[..., Console]) -> None:
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


def test_panes_follow_what_clients_do_and_leave_the_focus_where_it_is(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        console.open()
        animals = console.pane("Animals")
        expect(animals.get_by_text("There is no animal.")).to_be_visible()
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


def test_a_lost_answer_tells_that_its_request_was_carried_out(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        expect(console.rows.filter(has_text="reset")).to_contain_text("answer lost, animal created; fault reset()")
        console.rows.filter(has_text="reset").click()
        why = page.get_by_role("note", name="Why")
        expect(why).to_contain_text("The fault reset() was planned for it.")
        expect(why).to_contain_text("A client that tries again makes a second one.")


def test_an_empty_list_says_where_else_requests_may_be(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        expect(page.get_by_text("No request came yet.")).to_be_visible()
        ask_door(petstore, "PUT", "world", "w/a-test/")
        expect(page.get_by_text("Other worlds have their own: 1 under Worlds.")).to_be_visible()


def test_animals_and_faults_are_steered(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        status = page.get_by_role("status")
        animals = console.pane("Animals")
        animals.get_by_label("Name").fill("Rex")
        animals.get_by_label("Category").fill("7")
        animals.get_by_role("button", name="Add", exact=True).click()
        expect(animals.get_by_role("cell", name="Rex", exact=True)).to_be_visible()
        animals.get_by_role("button", name="Change animal 1").click()
        animals.get_by_label("Status").select_option("sold")
        animals.get_by_role("button", name="Change animal 1").first.click()
        expect(animals.get_by_role("cell", name="sold")).to_be_visible()
        animals.get_by_role("button", name="Add 20").click()
        expect(status).to_have_text("Added 20 animals.")
        animals.get_by_role("button", name="Remove animal 2", exact=True).click()
        expect(status).to_have_text("Removed animal 2.")
        expect(animals.get_by_role("row")).to_have_count(21)
        planned = console.pane("Faults")
        planned.get_by_role("combobox", name="Fault", exact=True).select_option("delay")
        planned.get_by_label("seconds").fill("0.25")
        planned.get_by_role("combobox", name="On", exact=True).select_option("createPet")
        planned.get_by_role("combobox", name="At", exact=True).select_option("after_commit")
        planned.get_by_role("button", name="Plan it").click()
        expect(planned.get_by_role("cell", name="delay(seconds=0.25)")).to_be_visible()
        planned.get_by_role("combobox", name="Fault", exact=True).select_option("hang")
        planned.get_by_role("button", name="Plan it").click()
        planned.get_by_role("button", name="Cancel fault 2").click()
        expect(status).to_have_text("Cancelled fault 2.")
        rows = planned.get_by_role("row").all_inner_texts()[1:]
        assert rows == ["delay(seconds=0.25)\tcreatePet\tafter the commit\t0 of 1\twaits\tCancel"]
        planned.get_by_label("Times").evaluate("element => element.removeAttribute('min')")
        planned.get_by_label("Times").fill("0")
        planned.get_by_role("button", name="Plan it").click()
        expect(page.get_by_role("alert")).to_have_text("expected body.times to be at least 1; got 0 (integer)")
        assert ["422" in line for line in console.errors] == [True], "the browser tells of it as well"
        console.errors.clear()
        planned.get_by_role("button", name="Cancel all").click()
        expect(status).to_have_text("Cancelled all faults.")
        assert petstore.pets[0] == {"id": 1, "name": "Rex", "categoryId": 7, "status": "sold"}
        assert len(petstore.pets) == 20
        assert 2 not in {pet["id"] for pet in petstore.pets}


def test_gaps_clock_and_worlds_are_steered(visit: Callable[..., Console]) -> None:
    with PetStoreMock(control=True) as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        gaps = console.pane("Gaps")
        gap = gaps.get_by_role("article", name="list_order")
        gap.get_by_role("combobox").select_option("by_name")
        expect(page.get_by_role("status")).to_have_text("list_order is now by_name.")
        expect(gap).to_contain_text("Do not assume: that a list has an order")
        gaps.get_by_label("only what is not the default").check()
        expect(gaps.get_by_role("article")).to_have_count(1)
        clock = console.pane("Clock")
        clock.get_by_role("button", name="Freeze").click()
        expect(clock.get_by_text("It is frozen.")).to_be_visible()
        clock.get_by_role("button", name="The day of the removal of getPet").click()
        expect(clock.get_by_text("2030-12-05 00:00:00 UTC")).to_be_visible()
        clock.get_by_role("button", name="An hour later").click()
        expect(clock.get_by_text("2030-12-05 01:00:00 UTC")).to_be_visible()
        clock.get_by_label("Date and time").fill("2031-01-02T03:04")
        clock.get_by_role("button", name="Travel to it").click()
        expect(clock.get_by_text("2031-01-02 03:04:00 UTC")).to_be_visible()
        assert petstore.behaviour.list_order == "by_name"
        assert petstore.clock.moment.isoformat().startswith("2031-01-02T03:04:00")
        worlds = console.pane("Worlds")
        worlds.get_by_label("Name").fill("of-the-page")
        worlds.get_by_role("button", name="Make it").click()
        worlds.get_by_role("link", name="of-the-page").click()
        page.wait_for_url("**/w/of-the-page/__petstore/**")
        expect(page.get_by_text("/w/of-the-page/v1").first).to_be_visible()
        console.pane("Worlds").get_by_role("button", name="End world of-the-page").click()
        expect(page).to_have_url(petstore.control_url)


def test_the_picture_and_the_coverage_are_there(visit: Callable[..., Console]) -> None:
    with day_of_work() as petstore:
        console = visit(petstore.control_url)
        page = console.open()
        pane = console.pane("Exchange")
        picture = pane.get_by_role("img")
        expect(picture).to_contain_text("3 no answer: reset")
        expect(picture).to_contain_text("retry of 3")
        pane.get_by_text("The same as a table").click()
        expect(pane.get_by_role("table").get_by_role("row")).to_have_count(11)
        picture.get_by_text("3 no answer: reset").last.click()
        expect(page).to_have_url(f"{petstore.control_url}#/requests/3")
        coverage = console.pane("Coverage").get_by_role("row")
        expect(coverage.filter(has_text="201 status absent")).to_have_text("201 status absent-1-")
        expect(coverage.filter(has_text="201 status present")).to_have_text("201 status present-1-")
        expect(coverage.filter(has_text="401")).to_have_text("4011nevernever")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, TABLET, DESK], ids=["phone", "tablet", "desk"])
def test_axe_finds_nothing(visit: Callable[..., Console], scheme: str, size: dict[str, int]) -> None:
    source = NODE_MODULES / "axe-core" / "axe.min.js"
    if not source.exists():
        pytest.skip("axe-core is not installed: 'make peers' does it")
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
                expect(pane.locator("li, svg, tbody tr, article, time[datetime]").first).to_be_visible()
            result = page.evaluate("axe.run({ resultTypes: ['violations'] })")
            assert result["passes"], "it looked at something"
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
        expect(console.pane("Exchange").get_by_role("img")).to_be_visible()
        assert sum(HOSTILE in text or json.dumps(HOSTILE) in text for text in shown) >= 4
        assert page.evaluate("window.pwned ?? null") is None
        tags = page.evaluate("[...document.querySelectorAll('*')].map((one) => one.localName)")
        assert {"iframe", "object", "embed", "style"}.isdisjoint(tags)
        assert page.evaluate("[...document.scripts].map((one) => one.getAttribute('src'))") == ["main.js"]


def test_token_comes_from_the_address_and_leaves_it(visit: Callable[..., Console]) -> None:
    with serving("--control-token", "of-the-page") as url:
        console = visit(url)
        page = console.open("#token=of-the-page&/animals")
        expect(page).to_have_url(f"{url}#/animals")
        expect(page.get_by_role("heading", level=1)).to_have_text("Animals")
        page.reload()
        expect(page.get_by_text("live", exact=True)).to_be_visible()
        assert console.errors == []
        other = visit(url)
        other.page.goto(url)
        other.page.get_by_role("textbox", name="Token").fill("of-the-page")
        other.page.get_by_role("button", name="Enter").click()
        expect(other.page.get_by_text("live", exact=True)).to_be_visible()
        expect(other.page.get_by_role("heading", level=1)).to_have_text("Requests")
        assert {"401" in line for line in other.errors} == {True}, "the browser tells of it as well"
        other.errors.clear()


def hold_still(petstore: PetStoreMock) -> None:
    """Give the requests the times of a made-up morning, so that a page which is as it was gives the same pictures."""
    for entry in petstore.journal:
        entry.timestamp = datetime(2026, 3, 2, 9, 30, entry.number, tzinfo=UTC).timestamp()
        entry.request.started = float(entry.number)
        entry.duration = entry.number / 10_000


def picture(console: Console, place: str) -> bytes:
    """Take a picture of the page at a place, at the address that people know from the documents."""
    world = {"name": "default", "url": "http://127.0.0.1:8080/v1", "pets": 3, "faults": 0}
    console.page.route("**/__petstore/world", lambda asked: asked.fulfill(json=world))
    page = console.open(place)
    expect(page.get_by_role("link", name="Requests 10")).to_be_visible()
    expect(page.locator("#entry h2, #exchange-picture svg").first).to_be_visible()
    taken = page.screenshot(animations="disabled")
    page.close()
    assert isinstance(taken, bytes)
    return taken


def test_pictures_of_the_documents_are_taken(visit: Callable[..., Console], tmp_path: Path) -> None:
    """The console as it is; ``make pictures`` lets them be taken into the documents."""
    wanted: dict[str, tuple[dict[str, Any], str]] = {
        "console-light": ({"color_scheme": "light"}, "#/requests/5"),
        "console-dark": ({"color_scheme": "dark"}, "#/requests/3"),
        "console-phone": ({"color_scheme": "light", "viewport": PHONE}, "#/requests/5"),
        "console-exchange": ({"color_scheme": "light", "viewport": {"width": 1240, "height": 660}}, "#/exchange"),
    }
    taken: list[dict[str, bytes]] = []
    for _ in range(2):
        with day_of_work() as petstore:
            hold_still(petstore)
            of_page = {
                f"{name}.png": picture(visit(petstore.control_url, **{"viewport": SMALL, **options}), place)
                for name, (options, place) in wanted.items()
            }
            taken.append(of_page)
    assert taken[0] == taken[1], "what has not changed makes no new picture"
    directory = Path(os.environ.get("CONSOLE_PICTURES") or tmp_path)
    for name, content in taken[0].items():
        (directory / name).write_bytes(content)
    pictures = HERE.parents[1] / "docs" / "pictures"
    assert taken[0].keys() == {path.name for path in pictures.glob("*.png")}, "run `make pictures`"
