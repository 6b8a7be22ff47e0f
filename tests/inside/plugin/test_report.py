"""The report of a failing test, its HAR file, and what crosses xdist."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from petstore_mock.pytest_plugin.run import file_name

if TYPE_CHECKING:
    from collections.abc import Callable

    Inner = Callable[..., pytest.RunResult]
    Output = Callable[[pytest.RunResult], str]

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


def test_a_failing_test_shows_its_journal_and_the_words_of_the_contract(inner: Inner, output: Output) -> None:
    result = inner(_FAILING)
    result.assert_outcomes(failed=2, passed=1, errors=3, xfailed=1, warnings=1)
    text = output(result)
    assert text.count("petstore journal") == 4, "one for each that failed and used petstore"
    result.stdout.re_match_lines(
        [
            r"-+ petstore journal -+",
            r"1  GET /v1/pets\?limit=3  200 .* listPets",
            r"-+ petstore journal -+",
            r"1  GET /v1/pets\?lim=1  400 .* listPets .*\(§4.1\)",
            r"2  GET /v1/pets +200 .* listPets",
            r"  §4.1  The query parameters are limit and status, both optional",
            r"  curl .*Bearer \$PETSTORE_KEY.*/v1/pets\?lim=1",
        ]
    )
    assert "limit=7" not in text
    assert "limit=9" not in text


def test_the_journal_is_in_reports_that_a_plugin_logs_later(inner: Inner, output: Output) -> None:
    """Plugins that fork or rerun tests make the reports first; who logs them may know nothing of the test's fake."""
    later = """
        import pytest
        from _pytest.runner import runtestprotocol

        _reports = []

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            _reports.extend(runtestprotocol(item, log=False, nextitem=nextitem))
            if nextitem is None:
                for report in _reports:
                    item.ihook.pytest_runtest_logreport(report=report)
            return True
        """
    result = inner(_FAILING, conftest=later)
    result.assert_outcomes(failed=2, passed=1, errors=3, xfailed=1, warnings=1)
    assert output(result).count("petstore journal") == 4, "as when each report is logged at once"


def test_har_files_are_written_for_failing_tests_only(inner: Inner, pytester: pytest.Pytester) -> None:
    result = inner(_FAILING, "--petstore-har=har/of-failures")
    written = {path.name: path for path in (pytester.path / "har" / "of-failures").iterdir()}
    assert len(written) == 4
    for path in written.values():
        assert json.loads(path.read_text())["log"]["entries"]
        assert f"HAR: {path}" in result.stdout.str()
    assert file_name("test_inner.py::test_fails") + ".har" in written


def test_a_har_that_can_not_be_written_does_not_hide_the_failure(
    inner: Inner, output: Output, pytester: pytest.Pytester
) -> None:
    (pytester.path / "taken").write_text("a file")
    result = inner(_FAILING, "--petstore-har=taken")
    result.assert_outcomes(failed=2, passed=1, errors=3, xfailed=1, warnings=1)
    assert "no HAR file:" in output(result)
    assert "assert [] == ['Rex']" in output(result)


def test_what_the_journal_still_has_is_shown_and_written_when_the_oldest_are_gone(
    inner: Inner, pytester: pytest.Pytester
) -> None:
    result = inner(
        """
        from petstore_mock.journal.journal import Journal

        def test_fails(petstore):
            petstore.tenant.world.journal = Journal(2)
            for limit in range(1, 6):
                call(petstore, path=f"/pets?limit={limit}")
            assert 1 == 2
        """,
        "--petstore-har=har",
    )
    result.stdout.re_match_lines(
        ["left out: 3 earlier requests, .*", r"4  GET /v1/pets\?limit=4 .*", r"5  GET /v1/pets\?limit=5 .*", "HAR: .*"]
    )
    (path,) = (pytester.path / "har").iterdir()
    urls = [entry["request"]["url"] for entry in json.loads(path.read_text())["log"]["entries"]]
    assert [url.rpartition("=")[2] for url in urls] == ["4", "5"]


@pytest.mark.parametrize("ended", [True, False])
def test_report_and_har_have_the_requests_of_fresh_worlds(
    inner: Inner, output: Output, pytester: pytest.Pytester, *, ended: bool
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
    text = output(result)
    assert "no requests" not in text
    assert "in a world of fresh():" in text
    assert "query.q is not a parameter here" in text
    assert "q=***orld" in text
    assert "q=key-of" not in text
    assert "limit=1" not in text
    (path,) = (pytester.path / "har").iterdir()
    (entry,) = json.loads(path.read_text())["log"]["entries"]
    assert "limit=7" in entry["request"]["url"]


def test_a_world_of_wider_scope_is_told_of_by_the_test_that_asked_it(inner: Inner, output: Output) -> None:
    """A fixture of class scope keeps one from its first test on; each test has its own part of the journal."""
    result = inner(
        """
        @pytest.fixture(scope="class")
        def world(petstore):
            with petstore.fresh() as world:
                yield world

        class TestWorld:
            def test_first(self, world):
                call(world, path="/pets?first=1")

            def test_second(self, world):
                call(world, path="/pets?second=1")
                assert False

            def test_third(self, world):
                assert False
        """
    )
    result.assert_outcomes(passed=1, failed=2, warnings=2)
    result.stdout.fnmatch_lines(["in a world of fresh():", "2  GET /v1/pets[?]second=1  400 *"])
    text = output(result)
    assert "1  GET /v1/pets?first=1" not in text, "another test's"
    assert text.count("no requests came to") == 1, "of the third"
    assert text.count("ContractWarning: GET /v1/pets?first=1 ") == 1
    assert text.count("ContractWarning: GET /v1/pets?second=1 ") == 1


def test_the_journal_of_a_test_comes_before_those_of_its_fresh_worlds(inner: Inner) -> None:
    result = inner(
        """
        def test_fails(petstore):
            with petstore.fresh() as other:
                call(other, path="/pets?limit=2")
            call(petstore, path="/pets?limit=1")
            assert 1 == 2
        """
    )
    own, fresh = "1  GET /v1/pets[?]limit=1 *", "1  GET /v1/pets[?]limit=2 *"
    result.stdout.fnmatch_lines([own, "in a world of fresh():", fresh])


_UNANSWERED = """
    from hypothesis import given, settings, strategies as st
    from petstore_mock import PetStoreMock

    def test_called(petstore):
        petstore.journal.assert_called("listPets")

    def test_not_called(petstore):
        call(petstore)
        petstore.journal.assert_not_called()

    def test_wait(petstore):
        petstore.journal.wait_for("listPets", timeout=0)

    def test_expected(petstore):
        with petstore.expect_violation():
            call(petstore)

    def test_fault(petstore):
        with petstore.inject(503, times=1):
            pass

    def test_verify(petstore):
        petstore.inject(503, times=1)
        petstore.verify()

    def test_end(petstore):
        petstore.inject(503, times=1)

    def test_fresh(petstore):
        with petstore.fresh() as other:
            other.inject(503, times=1)

    def test_alone():
        with PetStoreMock() as petstore:
            petstore.inject(503, times=1)

    @given(number=st.integers())
    @settings(max_examples=2, database=None)
    def test_examples(petstore, number):
        petstore.inject(503, times=1)

    @pytest.fixture
    def late(petstore):
        yield
        call(petstore, path="/pets?limit=0")

    @pytest.mark.filterwarnings("error::petstore_mock.ContractWarning")
    def test_teardown(late):
        pass

    def test_setup(broken):
        pass
"""


def test_a_failure_shows_the_lines_of_the_test_alone(inner: Inner, output: Output) -> None:
    fixtures = """
        import pytest

        @pytest.fixture
        def broken(petstore):
            raise ZeroDivisionError
        """
    result = inner(_UNANSWERED, conftest=fixtures)
    result.assert_outcomes(failed=10, passed=1, errors=2)
    places = re.findall(r"^(\S+\.py):\d+: ", output(result), re.MULTILINE)
    assert len(places) >= 12
    others = {place for place in places if "/pytest_asyncio/" not in place}  # which shows a frame of its own
    assert others == {"test_inner.py", "conftest.py"}


def test_a_failure_before_the_first_test_of_the_fake_says_nothing_of_it(inner: Inner, output: Output) -> None:
    result = inner(
        """
        def test_fails():
            assert 1 == 2

        def test_passes(petstore):
            call(petstore)
        """
    )
    result.assert_outcomes(failed=1, passed=1)
    assert "petstore journal" not in output(result)


def test_a_report_that_fails_hides_no_failure(inner: Inner, output: Output) -> None:
    result = inner(
        """
        import petstore_mock.journal.rendering

        def test_it(petstore, monkeypatch):
            monkeypatch.setattr(petstore_mock.journal.rendering, "render_journal", None)
            call(petstore)
            assert 1 == 2
        """
    )
    result.assert_outcomes(failed=1)
    text = output(result)
    assert "assert 1 == 2" in text
    assert "the journal can't be shown, which is a bug of petstore_mock: TypeError: 'NoneType' object" in text


def test_what_a_client_sends_is_bounded_wherever_it_is_told(inner: Inner, output: Output) -> None:
    result = inner(
        """
        def test_it(petstore):
            call(petstore, "M" * 4000, "/pets?" + "q" * 9000)
        """,
        settings="petstore_strict = true",
    )
    result.assert_outcomes(failed=1)
    told = [line for line in output(result).splitlines() if not line.startswith("  curl ")]  # which repeats it whole
    assert max(map(len, told)) < 1000


def test_coverage_counts_what_fresh_worlds_showed(inner: Inner) -> None:
    result = inner(
        """
        def test_it(petstore):
            with petstore.fresh() as world:
                call(world)
                call(world, "POST", body={"name": "Rex", "categoryId": 1})
        """,
        "--petstore-coverage",
    )
    result.stdout.re_match_lines_random([r"200 empty page +1 +- +-", r"201 status absent +- +1 +-"])


@pytest.mark.parametrize(
    "nodeid", ["tests/test_a.py::test_a[../../etc]", "tests/test_a.py::test_a[" + "x" * 500 + "]", "t.py::test[ä\0]"]
)
def test_a_file_name_is_safe_and_no_other_tests(nodeid: str) -> None:
    name = file_name(nodeid)
    assert len(name.encode()) < 200
    assert not set(name) & set("/\\:\0[] ")
    assert not name.startswith(".")
    assert name != file_name(nodeid.replace("[", "(")), "what is left out still counts"


# --dist loadscope gives the functions to one worker, and the class to another.
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
        def test_leans(self, petstore):
            petstore.inject(503, on="listPets", times=1)
            assert call(petstore)[0] == 503
            assert "status" not in call(petstore, "POST", body={"name": "Rex", "categoryId": 1})[1]

    def test_by_name(request):
        assert call(request.getfixturevalue("petstore")) == (200, [])
"""


@pytest.mark.untraced
def test_everything_crosses_xdist(inner: Inner, output: Output, pytester: pytest.Pytester) -> None:
    """Reports, HAR files, leaks, coverage, exploration and the tests that need getPet."""
    result = inner(
        _WORKERS,
        "-n2",
        "--dist=loadscope",
        "--petstore-har=har",
        "--petstore-coverage",
        "--petstore-explore=26",  # as many as there are gaps
        "--petstore-at=2030-12-06",
    )
    text = output(result)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "ContractViolationError: GET /v1/pets?lim=1 broke the contract (§4.1)" in text
    assert "  §4.1  The query parameters are limit and status, both optional" in text
    assert list((pytester.path / "har").iterdir())
    assert "GET /v1/pets and " in text
    assert "leaked by test_inner.py::test_fails" in text
    result.stdout.re_match_lines_random(
        [
            r"201 status absent +- +1 +-",
            r"fault server_error +1 +0 +0",
            r"3 tests as they are and under up to 26 behaviours each .*",
            r"The client, or a test of it, leans on status_when_omitted \(§3\): .*",
            r"  status_when_omitted=(available|pending|sold): test_inner\.py::TestOther::test_leans",
            r"  list_order=by_name: test_inner\.py::TestOther::test_leans",
            r"  test_inner\.py::test_by_name",
            r"=+ petstore: tests that still need getPet =+",
            r"test_inner\.py::test_leaks",
        ]
    )
    assert "The client, or a test of it, leans on list_order" not in text, "a declared assumption is held"


@pytest.mark.untraced
def test_a_leak_on_a_worker_fails_a_session_whose_tests_all_pass(inner: Inner, output: Output) -> None:
    result = inner(
        """
        kept = []

        @pytest.mark.parametrize("number", range(6))
        def test_leaks(petstore, number):
            kept.append(petstore.api_key)
            assert call(petstore, key=kept[0])[0] in (200, 401)
        """,
        "-n1",
    )
    result.assert_outcomes(passed=6)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "GET /v1/pets and 4 more: leaked by test_inner.py::test_leaks[0]" in output(result)


def test_a_path_that_no_expectation_matches_is_told_with_the_expectations(inner: Inner, output: Output) -> None:
    """As the interface writes it, the path has no /v1, and an expectation wants it."""
    result = inner(
        """
        def test_without_v1(petstore):
            petstore.httpserver.expect_request("/store/orders", headers=petstore.headers).respond_with_json([])
            assert call(petstore, path="/store/orders") == (200, [])

        def test_met(petstore):
            petstore.httpserver.expect_request("/v1/store/orders").respond_with_json([])
            call(petstore, path="/store/orders")
            call(petstore)
            assert 1 == 2

        def test_without_any(petstore):
            assert call(petstore, path="/store/orders") == (200, [])
        """
    )
    result.assert_outcomes(failed=3, warnings=2)
    told = "request 1 met no expectation of httpserver; it has: <RequestMatcher uri='/store/orders' method='__ALL'*"
    result.stdout.fnmatch_lines(["*petstore journal*", "1  GET /v1/store/orders  404*", told])
    assert output(result).count("met no expectation") == 1
    assert "'Bearer ***" in output(result)
    assert "'Bearer petstore" not in output(result)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("assert petstore.pets == ['Rex']", "no requests came to http://127.0.0.1:[0-9]+/v1"),
        ("petstore.stop(); assert 1 == 2", "no requests"),
    ],
)
def test_a_journal_without_requests_says_where_none_came(inner: Inner, body: str, told: str) -> None:
    """The client of a wrong address meets somebody else, or nobody."""
    result = inner(f"def test_elsewhere(petstore): {body}")
    result.assert_outcomes(failed=1)
    result.stdout.re_match_lines(["-+ petstore journal -+", told])


def test_the_report_says_which_mock_it_is_about(inner: Inner, output: Output) -> None:
    autouse = """
        import pytest

        @pytest.fixture(autouse=True)
        def everywhere(petstore):
            yield
        """
    source = """
        from petstore_mock import PetStoreMock

        def test_own():
            with PetStoreMock() as own:
                call(own, path="/pets?limit=7")
                assert 1 == 2

        def test_both(petstore):
            call(petstore, path="/pets?limit=8")
            with PetStoreMock() as own, own.fresh() as other:
                call(other, path="/pets?limit=9")
                assert 1 == 2

        def test_of_the_fixture(petstore):
            with petstore.fresh() as other:
                call(other, path="/pets?limit=6")
                assert 1 == 2
    """
    result = inner(source, conftest=autouse)
    result.assert_outcomes(failed=3)
    text = output(result)
    assert text.count("where the fixture petstore listens") == 1
    assert len(re.findall(r"(?m)^E +petstore journal of http://127", text)) == 2
    assert len(re.findall(r"(?m)^E +petstore journal of a world of fresh\(\):", text)) == 1
    assert (
        text.count("of the fixture petstore; that of a mock of the test's own stands in a note of its exception:") == 1
    )
    assert text.count("/pets?limit=6  200") == 1, "the report has it, and no note"
