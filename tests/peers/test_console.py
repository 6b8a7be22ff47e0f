"""The console in a real Chromium: what people see and do there, and that it stays theirs."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock, faults
from tests.peers.test_browser import NAMES
from tests.peers.tools import HERE, NODE_MODULES, python_tool, run

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.peers]

HOSTILE: Final = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
RATE: Final = 1000  # requests a second
PATIENCE: Final = 200  # milliseconds that a person does not notice


def chromium() -> str:
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip("no Chromium is installed: Debian's package 'chromium' is enough")
    return browser


def use(task: str, url: str | None, tmp_path: Path, argument: str = "") -> dict[str, Any]:
    """Let a browser do a task; no error may come up in it, and no request to anybody else."""
    assert url is not None
    python = python_tool("python")
    told: dict[str, Any] = json.loads(
        run(python, str(HERE / "drive_console.py"), chromium(), task, url, argument, cwd=tmp_path)
    )
    assert told["console"] == [], "no error and no warning in the browser's console"
    assert told["foreign"] == [], "no request to anybody else, nor to the service that it shows"
    return told


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


@contextmanager
def console() -> Iterator[PetStoreMock]:
    """Give a stub with a day's work in its journal; the fifth request is the one that people come for."""
    with PetStoreMock(control=True, self_check=True) as petstore:
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


def test_a_refused_request_tells_why_at_its_field_and_can_be_repeated(
    tmp_path: Path, pytester: pytest.Pytester
) -> None:
    with console() as petstore:
        told = use("requests_pane", petstore.control_url, tmp_path)
    assert [row.split("\n")[0] for row in told["rows"]] == [str(number) for number in range(10, 0, -1)]
    assert told["refused"] == 2
    assert len(told["found"]) == 1
    assert 'body.categoryId must be an integer, got "three" (string)' in told["why"]
    assert "§2 NewPet: categoryId, integer, int64, required" in told["why"]
    at_field = told["body"].split("\n")
    assert at_field[at_field.index('  "categoryId": "three",') + 1].endswith('got "three" (string) (§2)')
    assert told["link"].endswith("#/requests/5")
    assert [told[f"{which} by keyboard"].rpartition("/")[2] for which in ("second", "first")] == ["9", "10"]
    assert told["latest"].endswith("/latest#/requests/10")
    assert told["curl"].startswith("curl -i -X 'POST' -H \"authorization: Bearer $PETSTORE_KEY\"")
    assert "Bella" in told["curl"]
    pytester.makepyfile(told["a pytest test"])
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1, warnings=1)


def test_the_list_follows_answers_that_come_late_and_a_world_that_begins_anew(tmp_path: Path) -> None:
    with PetStoreMock(control=True, self_check=True) as petstore:
        petstore.inject(faults.delay(2), on="listPets", times=1)
        told = use("live", petstore.control_url, tmp_path, petstore.api_key)
    assert "fault delay(2)" in told["settled"]
    assert told["empty"].startswith("No request came yet. Send one to http://127.0.0.1:")


def test_animals_and_faults_are_steered(tmp_path: Path) -> None:
    with PetStoreMock(control=True, self_check=True) as petstore:
        told = use("animals_and_faults", petstore.control_url, tmp_path)
        assert petstore.pets[0] == {"id": 1, "name": "Rex", "categoryId": 7, "status": "sold"}
        assert 2 not in {pet["id"] for pet in petstore.pets}
        assert told["animals"] == len(petstore.pets) == 20
        assert told["faults"] == ["delay(seconds=0.25)\tcreatePet\tafter the commit\t0 of 1\twaits\tCancel"]
        assert told["problem"] == "expected body.times to be at least 1; got 0 (integer)"


def test_gaps_clock_and_worlds_are_steered(tmp_path: Path) -> None:
    with PetStoreMock(control=True, self_check=True) as petstore:
        told = use("gaps_clock_and_worlds", petstore.control_url, tmp_path)
        assert petstore.behaviour.list_order == "by_name"
        assert petstore.clock.moment.isoformat().startswith("2031-01-02T03:04:00")
        assert "Do not assume: that a list has an order" in told["gap"]
        assert told["changed gaps"] == 1


def test_the_picture_and_the_coverage_are_there(tmp_path: Path) -> None:
    with console() as petstore:
        told = use("exchange", petstore.control_url, tmp_path)
    assert "3 no answer: reset" in told["picture"]
    assert "retry of 3" in told["picture"]
    assert told["rows"] == 10
    assert "201 status absent\t-\t1\t-" in told["coverage"]
    assert "201 status present\t-\t1\t-" in told["coverage"]
    assert "401\t1\tnever\tnever" in told["coverage"]


def test_axe_finds_nothing_in_either_scheme_at_either_width(tmp_path: Path) -> None:
    source = NODE_MODULES / "axe-core" / "axe.min.js"
    if not source.exists():
        pytest.skip("axe-core is not installed: 'make peers' does it")
    with console() as petstore:
        planned = petstore.inject(503, on="getPet")
        told = use("axe", petstore.control_url, tmp_path, str(source))
        planned.cancel()
    assert told["found"] == []
    assert told["looked"] == 2 * 2 * 13, "schemes, widths, panes and entries"


def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    with PetStoreMock(control=True) as petstore:
        petstore.seed(name=HOSTILE)
        call(petstore, "POST", "/pets", {"name": HOSTILE, "categoryId": 1})
        call(petstore, "POST", "/pets", {"name": "Rex", "categoryId": HOSTILE, HOSTILE: HOSTILE})
        call(petstore, "GET", "/pets?name=%3Cimg%20src=x%20onerror=alert(1)%3E", **{"X-Hostile": HOSTILE})
        call(petstore, "POST", "/pets", None, **{"User-Agent": HOSTILE})
        petstore.inject(faults.respond(502, body=HOSTILE), on="listPets", times=1)
        call(petstore, "GET", "/pets")
        told = use("hostile", petstore.control_url, tmp_path)
    assert told["pwned"] is None
    assert {"iframe", "object", "embed", "style"}.isdisjoint(told["tags"])
    assert told["scripts"] == ["main.js"]
    assert sum(HOSTILE in text or json.dumps(HOSTILE) in text for text in told["shown"]) >= 5


def test_token_comes_from_the_address_and_leaves_it(tmp_path: Path) -> None:
    with serving("--control-token", "of-the-page") as url:
        python = python_tool("python")
        driver = str(HERE / "drive_console.py")
        told = json.loads(run(python, driver, chromium(), "token", url, "of-the-page", cwd=tmp_path))
    assert "of-the-page" not in told["address"]
    assert told["address"].endswith("#/animals")
    assert (told["pane"], told["heading"]) == ("Animals", "Requests")
    assert told["foreign"] == []


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Run the stub in a process of its own; gives the console's address."""
    command = [sys.executable, "-m", "petstore_mock", "serve", "--port", "0", "--log-format", "json", "--quiet"]
    command += ["--api-key", "key-of-the-load", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["control_url"]
        finally:
            process.terminate()


def send_steadily(url: str, over: threading.Event) -> None:
    """Send requests at a steady rate, on one connection."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    began, sent = time.perf_counter(), 0
    while not over.is_set():
        over.wait(max(0.0, began + sent / RATE - time.perf_counter()))
        connection.request(
            "GET", f"/v1/pets?limit={sent % 100 + 1}", headers={"Authorization": "Bearer key-of-the-load"}
        )
        connection.getresponse().read()
        sent += 1
    connection.close()


def test_a_thousand_requests_a_second_do_not_freeze_it(tmp_path: Path) -> None:
    over = threading.Event()
    with serving() as url:
        client = threading.Thread(target=send_steadily, args=(url, over))
        client.start()
        try:
            told = use("load", url, tmp_path, "10")
        finally:
            over.set()
            client.join()
    sys.stdout.write(
        f"{ {name: told[name] for name in ('rate', 'answers', 'longest', 'busy', 'drawings', 'heaps')} }\n"
    )
    assert told["rate"] > RATE * 0.8
    assert told["rows"] == 500
    assert "earlier left out" in told["told"]
    assert told["drawings"] <= 2.2
    answers = told["answers"]
    thirds = [answers[third::3] for third in range(3)]
    assert statistics.median(answers) < PATIENCE
    assert min(map(max, thirds)) < PATIENCE, "what froze by its own doing would do so all the time"
    assert told["busy"] < 0.5, "the page's own thread, whatever else this machine does"
    first, last = statistics.mean(told["heaps"][:2]), statistics.mean(told["heaps"][-2:])
    assert last < first * 1.25 + 1_000_000, "memory stays flat"


def test_pictures_of_the_documents_are_taken(tmp_path: Path) -> None:
    """The console as it is; ``make pictures`` lets them be taken into the documents."""
    directory = Path(os.environ.get("CONSOLE_PICTURES") or tmp_path)
    with console() as petstore:
        use("pictures", petstore.control_url, tmp_path, str(directory))
        petstore.journal.to_svg(directory / "exchange.svg")
    taken = {path.name: path.read_bytes() for path in directory.iterdir()}
    assert taken.keys() >= {f"console-{name}.png" for name in ("light", "dark", "phone", "exchange")}
    assert all(content.startswith(b"\x89PNG") for name, content in taken.items() if name.endswith(".png"))
    pictures = HERE.parents[1] / "docs" / "pictures"
    assert taken.keys() == {path.name for path in pictures.iterdir()}, "run `make pictures`"
