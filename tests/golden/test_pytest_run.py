"""The output of a failing pytest run: journal, notes and coverage on the terminal, HAR files and HTML pages."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import programs
from tests.golden.compare import hold

SUITE = """
import http.client
import json
from urllib.parse import urlsplit

import pytest

from petstore_mock import faults


def call(petstore, method="GET", path="/pets", body=None, content=None, **fields):
    parts = urlsplit(petstore.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    headers = {**petstore.headers, "Content-Type": "application/json", **fields}
    content = content if body is None else json.dumps(body)
    try:
        connection.request(method, parts.path + path, content, headers)
        connection.getresponse().read()
    except ConnectionError:
        pass
    finally:
        connection.close()


def test_with_each_outcome(petstore):
    petstore.clock.travel_to("2026-03-02T09:30:00Z")
    petstore.clock.freeze()
    call(petstore, "POST", body={"name": "<b>Bella</b>", "categoryId": "one", "colour": "brown"})
    petstore.inject(faults.reset(), on="createPet", at="after_commit", times=1)
    call(petstore, "POST", body={"name": "Rex", "categoryId": 1})
    call(petstore, "POST", body={"name": "Rex", "categoryId": 1})
    petstore.inject(503, on="listPets", times=1)
    call(petstore)
    call(petstore, path="/pets?limit=5")
    call(petstore, path="/pets/99")
    pytest.fail("on purpose", pytrace=False)


def test_with_a_world_of_its_own(petstore):
    with petstore.fresh(seed=1) as other:
        call(other, path="/pets/1")
        pytest.fail("on purpose", pytrace=False)


def test_with_a_fault_that_no_request_meets(petstore):
    call(petstore)
    petstore.inject(faults.delay(1), on="createPet", times=1)


def test_with_odd_requests(petstore):
    with petstore.expect_violation("categoryId"):
        call(petstore, "POST", body={"name": "Rex"})
    for _ in range(4):
        call(petstore, path="/pets?limit=0")
    call(petstore, "POST", content=bytes(range(256)))
    call(petstore, "POST", body={"name": "R" * 5000})
    call(petstore, "POST", content="'$(whoami)' it's @file")
    call(petstore, Authorization=f"Bearer Bearer {petstore.api_key}")
    call(petstore, Authorization=petstore.api_key)
    call(petstore, path=f"/pets?key={petstore.api_key}")
    call(petstore, "PURGE")
    call(petstore, path="/dogs")
    petstore.inject(faults.delay(0.01), on="listPets", times=1)
    petstore.inject(faults.truncate(), on="createPet", times=1)
    call(petstore)
    pytest.fail("on purpose", pytrace=False)


def test_that_passes(petstore):
    call(petstore)
"""


class Run(NamedTuple):
    """The text on the terminal, and the folder with the files."""

    text: str
    folder: Path

    def archive(self, test: str) -> list[dict[str, dict[str, object]]]:
        (path,) = self.folder.glob(f"har/*{test}*.har")
        entries: list[dict[str, dict[str, object]]] = json.loads(path.read_bytes())["log"]["entries"]
        return entries

    def page(self, test: str) -> str:
        (path,) = self.folder.glob(f"pages/*{test}*.html")
        return path.read_text(encoding="utf-8")


def words(page: str) -> str:
    """Return the text of a page, one line for each piece. Styles are left out."""
    pieces = re.split(r"<style>.*?</style>|<[^>]*>", page, flags=re.DOTALL)
    return "\n".join(html.unescape(piece).strip("\n") for piece in pieces if piece.strip())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    (folder / "test_drawn.py").write_text(SUITE, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    options = ("--petstore-html=pages", "--petstore-har=har", "--petstore-coverage", "-p", "no:cacheprovider")
    command = (sys.executable, "-m", "pytest", "--tb=short", *options)
    printed = programs.run(*command, cwd=folder, without=("PETSTORE_", "PYTEST_", "CI", "BUILD_NUMBER"), code=1)
    assert re.search(r"4 failed, 1 passed|3 failed, 2 passed, 1 error", printed), printed
    return Run(printed, folder)


def sections(text: str) -> str:
    """Return the sections that the plugin writes. Sections of pytest itself differ between its versions."""
    kept, ours = [], False
    for line in text.splitlines():
        if re.match(r"[-=_]{3,}.*[-=_]{3,}$", line) or line.startswith("FAILED"):
            title = line.strip("-=_ ")
            ours = title.startswith("petstore")
            kept += [f"--- {title}"] if ours or title.startswith("test_") else []
        elif ours:
            kept.append(line)
    return "\n".join(kept)


@pytest.mark.seconds
def test_terminal(run: Run) -> None:
    text = sections(run.text)
    assert "body.categoryId" in text
    assert re.search(r"petstore-[0-9a-f]{8}-", text) is None, "no key is shown"
    hold("terminal.txt", text, {str(run.folder): "FOLDER"})


@pytest.mark.parametrize("test", ["each_outcome", "world_of_its_own", "odd_requests"])
def test_page(run: Run, test: str) -> None:
    hold(f"page-{test}.txt", words(run.page(test)), {str(run.folder): "FOLDER"})


def test_page_shows_the_bodies_and_fields_of_the_har_file(run: Run) -> None:
    text = words(run.page("each_outcome"))
    shown = []
    for entry in run.archive("each_outcome"):
        sent, received = entry["request"].get("postData"), entry["response"]["content"]
        for content in (sent, received):
            if isinstance(content, dict) and content.get("text"):
                assert content["text"] in text
                shown.append(content["text"])
        for headers in (entry["request"]["headers"], entry["response"]["headers"]):
            assert isinstance(headers, list)
            assert all(f"{field['name']}: {field['value']}" in text for field in headers)
    assert len(shown) == 8, "three request bodies and five response bodies, since one response was lost"
