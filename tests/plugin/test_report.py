"""The report of a failing test, its HAR file and its page, also from xdist workers."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest

from tests.plugin.conftest import Inner

_FAILING = """
    def test_fails(petstore):
        call(petstore, path="/pets?lim=1")
        assert call(petstore)[1] == ["Rex"]

    def test_passes(petstore):
        assert call(petstore, path="/pets?limit=7")[0] == 200

    def test_has_nothing_to_do_with_it():
        assert 1 == 2

    @pytest.fixture
    def broken(petstore):
        call(petstore, path="/pets?limit=3")
        raise RuntimeError("in a fixture")

    @pytest.mark.parametrize("name", ["a/b", "a b", ".."])
    def test_errs(broken, name):
        pass

    @pytest.mark.xfail
    def test_expected(petstore):
        call(petstore, path="/pets?limit=9")
        assert 3 == 4
"""


def test_a_failing_test_shows_its_journal_in_every_report(inner: Inner, pytester: pytest.Pytester) -> None:
    """The terminal (even with --show-capture=no), junit.xml and a HAR file have it. Other tests have none."""
    result = inner(_FAILING, "--show-capture=no", "--junitxml=junit.xml", "--petstore-har=har/of-failures")
    result.assert_outcomes(failed=2, passed=1, errors=3, xfailed=1, warnings=1)
    text = str(result.stdout)
    assert text.count("petstore journal") == 4, "one for each failed test that used petstore"
    result.stdout.re_match_lines(
        [
            r"-+ petstore journal -+",
            r"1  GET /v1/pets\?limit=3  200 .* listPets",
            r"-+ petstore journal -+",
            r"1  GET /v1/pets\?lim=1  400 .* listPets .*\(§4.1\)",
            r"2  GET /v1/pets +200 .* listPets",
            r"  §4.1  The query parameters of listPets are limit.* status.*, all optional",
            r"  curl .*Bearer \$PETSTORE_KEY.*/v1/pets\?lim=1",
        ]
    )
    assert "limit=7" not in text
    assert "limit=9" not in text
    reports = [
        found.text or ""
        for case in ET.parse(pytester.path / "junit.xml").iter("testcase")
        for found in (*case.iter("failure"), *case.iter("error"))
        if case.get("name") != "test_has_nothing_to_do_with_it"
    ]
    assert len(reports) == 4
    assert all("petstore journal" in text and "GET /v1/pets" in text for text in reports)
    written = [*(pytester.path / "har" / "of-failures").iterdir()]
    assert len(written) == 4
    for path in written:
        assert json.loads(path.read_text())["log"]["entries"]
        assert f"HAR: {path}" in text
    assert sum(path.name.startswith("test_inner.py_test_fails-") for path in written) == 1


def test_a_har_file_that_can_not_be_written_does_not_hide_the_failure(inner: Inner, pytester: pytest.Pytester) -> None:
    (pytester.path / "taken").write_text("a file")
    result = inner(_FAILING, "--petstore-har=taken")
    result.assert_outcomes(failed=2, passed=1, errors=3, xfailed=1, warnings=1)
    assert "no HAR:" in str(result.stdout)
    assert "assert [] == ['Rex']" in str(result.stdout)


@pytest.mark.parametrize("ended", [True, False])
def test_the_report_and_the_har_file_have_the_requests_of_fresh_worlds(
    inner: Inner, pytester: pytest.Pytester, *, ended: bool
) -> None:
    result = inner(
        f"""
        def test_before(petstore):
            with petstore.fresh() as world:
                call(world, path="/pets?limit=1")

        @pytest.fixture
        def other(petstore):
            with petstore.fresh(api_key="key-of-fresh-world") as world:
                yield world

        def test_fails(other, petstore):
            with petstore.fresh(api_key="key-of-ended-world") as world:
                if {ended}:
                    other = world
                call(other, path="/pets?limit=7&q=" + other.api_key)
            assert 1 == 2
        """,
        "--petstore-har=har",
    )
    text = str(result.stdout)
    assert "no requests" not in text
    assert "in a world of fresh():" in text
    assert "query.q is not a parameter here" in text
    assert "q=***orld" in text
    assert "q=key-of" not in text
    assert "limit=1" not in text
    (path,) = (pytester.path / "har").iterdir()
    (entry,) = json.loads(path.read_text())["log"]["entries"]
    assert "limit=7" in entry["request"]["url"]


# --dist loadscope sends the functions to one worker and the class to another.
_WORKERS = """
    kept = []

    @pytest.mark.petstore(strict=True)
    def test_fails(petstore):
        kept.append(petstore.api_key)
        call(petstore, path="/pets?lim=1")

    def test_leaks(petstore):
        call(petstore, key=kept[0])
        assert call(petstore, path="/pets/1")[0] in (404, 410)

    class TestOther:
        @pytest.mark.petstore_assumes(list_order="by_name")
        def test_relies(self, petstore):
            petstore.inject(503, on="listPets", times=1)
            assert call(petstore)[0] == 503
            assert "status" not in call(petstore, "POST", body={"name": "Rex", "categoryId": 1})[1]

    def test_by_name(request):
        assert call(request.getfixturevalue("petstore")) == (200, [])
"""


@pytest.mark.seconds
@pytest.mark.untraced
def test_reports_and_summaries_are_complete_with_xdist(inner: Inner, pytester: pytest.Pytester) -> None:
    """Covers reports, HAR files, leaks, coverage, exploration, and the tests that call a removed operation."""
    result = inner(
        _WORKERS,
        "-n2",
        "--dist=loadscope",
        "--petstore-har=har",
        "--petstore-coverage",
        "--petstore-explore=26",  # every gap that exploration varies, except the assumption of test_relies
        "--petstore-at=2030-12-06",
    )
    text = str(result.stdout)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "\nGET /v1/pets?lim=1 broke the contract (§4.1)" in text
    assert re.search(r"\ntest_inner\.py:\d+: ContractViolationError\n", text)
    assert list((pytester.path / "har").iterdir())
    assert "GET /v1/pets and " in text
    assert "leaked by test_inner.py::test_fails" in text
    result.stdout.re_match_lines_random(
        [
            r"  §4.1  The query parameters of listPets are limit.* status.*, all optional",
            r"createPet 201 status absent: 1 test",
            r"listPets fault server_error: 1 test",
            r"3 tests ran as is and under up to 26 behaviours each .*",
            r"The client, or one of its tests, relies on status_when_omitted \(§3\): .*",
            r"  status_when_omitted=(available|pending|sold): test_inner\.py::TestOther::test_relies",
            r"  list_order=by_name: test_inner\.py::TestOther::test_relies",
            r"  test_inner\.py::test_by_name",
            r"=+ petstore: tests that call a removed operation =+",
            r"test_inner\.py::test_leaks",
        ]
    )
    assert "relies on list_order" not in text, "a known assumption is kept"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("assert petstore.pets == ['Rex']", "no request arrived at http://127.0.0.1:[0-9]+/v1"),
        ("assert petstore.pets == ['Rex']", r"a proxy is set \(HTTPS_PROXY\): a client .* sends its requests there"),
        ("petstore.stop(); assert 1 == 2", "no requests"),
    ],
)
def test_a_report_without_requests_shows_the_address_of_the_fake_and_the_proxies(
    inner: Inner, monkeypatch: pytest.MonkeyPatch, body: str, line: str
) -> None:
    """The client may use a wrong address, or a proxy."""
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@127.0.0.1:9")
    result = inner(f"def test_elsewhere(petstore): {body}")
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines(["-+ petstore journal -+", line])
    assert "secret" not in str(result.stdout)


MISTAKES = (
    "petstore.inject(99)",
    "petstore.configure(list_order='by_nam')",
    "petstore.seed(nme='Rex')",
    "petstore.journal.assert_called('createPett')",
    "petstore.journal.last",
    "PetStoreMock(behaviour='strickt')",
    "petstore.expect_violation('(')",  # the errors from here on have a cause, and the message includes it
    "petstore.clock.advance(days='1')",
    "petstore.journal.assert_called(json={1, 2})",
    "PetStoreMock(behaviour='there-is-none.toml')",
)


@pytest.mark.parametrize("style", ["long", "short"])
def test_the_traceback_of_a_misuse_ends_at_the_line_of_the_test(inner: Inner, style: str) -> None:
    tests = [f"def test_{number}(petstore): {mistake}" for number, mistake in enumerate(MISTAKES)]
    result = inner("from petstore_mock import PetStoreMock\n" + "\n".join(tests), f"--tb={style}")
    result.assert_outcomes(failed=len(MISTAKES))
    shown = str(result.stdout).partition("short test summary")[0]
    reports = re.split(r"\n_+ test_\d _+\n", shown)[1:]
    for mistake, report in zip(MISTAKES, reports, strict=True):
        assert mistake in report
        assert "Error: expected" in report
    assert "petstore_mock/" not in shown
    assert "direct cause" not in shown


def test_a_doctest_has_warnings_failures_and_a_journal(inner: Inner) -> None:
    """A doctest item has no module, and its error has no traceback from pytest."""
    names = {
        "test_docs": """
            def listed(petstore):
                '''
                >>> from client import call
                >>> call(getfixture("petstore"), path="/pets?lim=1")[0]
                400
                '''
            """,
        "test_misuse": """
            def misused(petstore):
                '''
                >>> getfixture("petstore").inject(99)
                '''
            """,
        "test_wrong": """
            def wrong(petstore):
                '''
                >>> from client import call
                >>> call(getfixture("petstore"))[0]
                404
                '''
            """,
    }
    result = inner("", "--doctest-modules", **names)
    result.assert_outcomes(passed=1, failed=2, warnings=1)
    text = str(result.stdout)
    assert "ContractWarning: GET /v1/pets?lim=1" in text
    assert re.search(r"-+ petstore journal -+\n1  GET /v1/pets  200", text)
    assert inner("", "--doctest-modules", "-k", "misuse", **names).stdout.str().count("petstore_mock/") == 0
    strict = inner("", "--doctest-modules", "-Werror::petstore_mock.ContractWarning", "-k", "docs", **names)
    strict.assert_outcomes(failed=1, deselected=2)
    assert re.search(r"\nGET /v1/pets\?lim=1 broke .*\n\n\S*test_docs.py:\d+: ContractWarning\n", str(strict.stdout))


_ITEMS = """
    import pytest
    from client import call

    class Item(pytest.Item):
        def runtest(self):
            petstore = self.config.petstore
            if self.name == "misuse":
                petstore.inject(99)  # the author's line
            call(petstore, path="/pets?lim=1")
            assert self.name != "fails"

    class File(pytest.File):
        def collect(self):
            return [Item.from_parent(self, name=name) for name in ("warns", "fails", "misuse")]

    def pytest_collect_file(file_path, parent):
        return File.from_parent(parent, path=file_path) if file_path.suffix == ".yaml" else None

    @pytest.fixture(scope="session", autouse=True)
    def keep(petstore, request):
        request.config.petstore = petstore
"""


def test_items_of_other_collectors_and_text_files_are_verified(inner: Inner, pytester: pytest.Pytester) -> None:
    pytester.makefile(".yaml", items="")
    pytester.makefile(
        ".txt", page=">>> from client import call\n>>> call(getfixture('petstore'), path='/pets?a=1')[0]\n400"
    )
    arguments = ("page.txt", "items.yaml", "test_inner.py", "--doctest-glob=page.txt")
    source = "def test_it(petstore): pass"
    result = inner(source, *arguments, "--junitxml=junit.xml", conftest=_ITEMS)
    result.assert_outcomes(passed=3, failed=2, warnings=3)
    text = str(result.stdout)
    misuse = text.rpartition("the author's line")[2].partition("warnings summary")[0]
    assert "petstore_mock/" not in misuse
    assert re.search(r"page\.txt:1: ContractWarning: GET /v1/pets\?a=1", text)
    texts = [failure.text or "" for failure in ET.parse(pytester.path / "junit.xml").iter("failure")]
    assert [re.findall("petstore journal|lim=1 +400", one) for one in texts] == [["petstore journal", "lim=1  400"], []]
    result = inner(source, *arguments, "-Werror::petstore_mock.ContractWarning", conftest=_ITEMS)
    result.assert_outcomes(passed=1, failed=4)


def test_a_page_shows_both_failures_and_all_requests_but_no_key(inner: Inner, pytester: pytest.Pytester) -> None:
    source = """
        @pytest.fixture
        def broken(petstore):
            yield
            call(petstore, path="/pets?limit=2")
            assert "torn" == "down"

        def test_fails(petstore, broken):
            call(petstore, "POST", body={"name": "<b>Rex</b>", "categoryId": "one"})
            call(petstore, path=f"/pets?k={petstore.api_key}")
            with petstore.fresh() as other:
                call(other, path="/pets?limit=7")
            assert petstore.api_key == "called out"
    """
    result = inner(source, "--petstore-html=pages/here")
    index, path = sorted((pytester.path / "pages" / "here").iterdir())
    result.stdout.fnmatch_lines([f"page: {path}", f"index: {index}"])
    text = path.read_text(encoding="utf-8")
    rule = "<p>POST /v1/pets: body.categoryId must be an integer, got &quot;one&quot; (string)</p>"
    places = [text.index(words) for words in ("<h1>", "called out", rule, "<table", "<h2>Journal", "<h2>Traceback")]
    assert places == sorted(places), "the page starts with the reason"
    assert f'<a href="{path.name}">' in index.read_text(encoding="utf-8")
    for words in ("called out", "assert &#x27;torn&#x27;", "limit=2", "limit=7", "body.categoryId", "curl -i -X POST"):
        assert words in text
    assert "default-src 'none'" in text
    assert "<b>" not in text
    assert not re.search(r"<(script|link|iframe|img)|(src|href|onclick)=", text)
    assert not re.search(r"petstore-[0-9a-f]{8}-\d{6}", text + index.read_text(encoding="utf-8"))
