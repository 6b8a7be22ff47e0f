"""``--petstore-html``: a page for people on each failing test, and the picture in other plugins' reports."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from petstore_mock.pytest_plugin.run import file_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Inner = Callable[..., pytest.RunResult]

_FAILS = """
    from petstore_mock import faults

    def test_passes(petstore):
        call(petstore)

    def test_fails(petstore):
        call(petstore, "POST", body={"name": "<b>Rex</b>", "categoryId": "one"})
        petstore.inject(faults.reset(), on="createPet", at="after_commit")
        try:
            call(petstore, "POST", body={"name": "Rex", "categoryId": 1})
        except ConnectionError:
            pass
        assert call(petstore) == petstore.api_key
"""


class _Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def said(self) -> str:
        return " ".join(self.words)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def page_of(directory: Path, test: str = "test_fails") -> str:
    return (directory / f"{file_name(f'test_inner.py::{test}')}.html").read_text(encoding="utf-8")


def test_a_failing_test_gets_a_page_with_report_picture_and_requests(inner: Inner, pytester: pytest.Pytester) -> None:
    result = inner(_FAILS, "--petstore-html=pages/here")
    directory = pytester.path / "pages" / "here"
    assert [path.name for path in directory.iterdir()] == [f"{file_name('test_inner.py::test_fails')}.html"]
    result.stdout.fnmatch_lines([f"page: {directory}*"])
    text = page_of(directory)
    page = _Page(text)
    assert "assert (200, [" in page.said
    assert "request 1 broke the contract" in page.said
    assert page.count("svg") == 1
    assert "no answer: reset" in page.said
    assert "body.categoryId" in page.said
    assert "§2" in page.said
    assert "curl -i -X POST" in page.said
    (svg,) = re.findall(r"<svg .*?</svg>", text, re.DOTALL)
    ET.fromstring(svg)


def test_the_page_loads_nothing_runs_nothing_and_shows_no_key(inner: Inner, pytester: pytest.Pytester) -> None:
    inner(_FAILS, "--petstore-html=pages")
    text = page_of(pytester.path / "pages")
    page = _Page(text)
    assert {"script", "link", "iframe", "img", "b", "object"}.isdisjoint(name for name, _ in page.tags)
    for _, attributes in page.tags:
        assert not {"src", "href", "style", "onclick", "onload"} & attributes.keys()
    assert "<b>Rex</b>" in page.said, "as text"
    assert not re.search(r"petstore-[0-9a-f]{8}-\d{6}", text)
    policy = next(attributes["content"] for name, attributes in page.tags if "http-equiv" in attributes)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_a_test_that_fails_twice_has_both_reasons_on_its_page(inner: Inner, pytester: pytest.Pytester) -> None:
    inner(
        """
        @pytest.fixture
        def broken(petstore):
            yield
            call(petstore, path="/pets?limit=2")
            assert "torn" == "down"

        def test_fails(petstore, broken):
            call(petstore, path="/pets?limit=1")
            assert "called" == "out"
        """,
        "--petstore-html=pages",
    )
    said = _Page(page_of(pytester.path / "pages")).said
    assert "assert 'called' == 'out'" in said
    assert "assert 'torn' == 'down'" in said
    assert "limit=2" in said


def test_worlds_of_fresh_have_pictures_of_their_own(inner: Inner, pytester: pytest.Pytester) -> None:
    inner(
        """
        def test_fails(petstore):
            with petstore.fresh() as other:
                call(other, path="/pets?limit=7")
            assert 1 == 2
        """,
        "--petstore-html=pages",
    )
    page = _Page(page_of(pytester.path / "pages"))
    assert "No request came." in page.said
    assert "In a world of fresh()" in page.said
    assert page.count("svg") == 1


@pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n1",), marks=pytest.mark.untraced)], ids=["one process", "xdist"]
)
def test_coverage_is_a_picture_of_the_run_and_of_each_failure(
    inner: Inner, pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = inner(_FAILS, "--petstore-html=pages", "--petstore-coverage", *workers)
    directory = pytester.path / "pages"
    result.stdout.fnmatch_lines([f"page: {directory / 'coverage.html'}"])
    whole, failing = _Page((directory / "coverage.html").read_text(encoding="utf-8")), _Page(page_of(directory))
    assert "Never shown: listPets 200 empty page" not in whole.said
    assert "getPet 200 status present" in whole.said
    assert "never" in whole.words
    assert whole.count("table") == 1
    assert "Outcomes that this test showed to the client" in failing.said


def test_a_page_that_can_not_be_written_does_not_hide_the_failure(inner: Inner, pytester: pytest.Pytester) -> None:
    (pytester.path / "taken").write_text("a file")
    result = inner(_FAILS, "--petstore-html=taken", "--petstore-coverage")
    result.assert_outcomes(failed=1, passed=1, warnings=1)
    result.stdout.fnmatch_lines(["no page: *", "no page: *"])


@pytest.mark.parametrize(
    "workers", [(), pytest.param(("-n1",), marks=pytest.mark.untraced)], ids=["one process", "xdist"]
)
def test_pytest_html_shows_the_picture(inner: Inner, pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    pytest.importorskip("pytest_html", reason="pytest-html is not installed: the test group has it")
    inner(_FAILS, "--html=report.html", "--self-contained-html", *workers)
    text = (pytester.path / "report.html").read_text(encoding="utf-8")
    (picture,) = set(re.findall(r"data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)", text))
    svg = base64.b64decode(picture).decode()
    ET.fromstring(svg)
    assert "no answer: reset" in svg


def test_allure_shows_the_picture(inner: Inner, pytester: pytest.Pytester) -> None:
    pytest.importorskip("allure_pytest", reason="allure-pytest is not installed: the test group has it")
    inner(_FAILS, "--alluredir=allure")
    results = [json.loads(path.read_text()) for path in (pytester.path / "allure").glob("*-result.json")]
    (failed,) = (one for one in results if one["name"] == "test_fails")
    (attached,) = (one for one in failed["attachments"] if one["name"] == "petstore exchange")
    assert attached["type"] == "image/svg+xml"
    ET.fromstring((pytester.path / "allure" / attached["source"]).read_text())
