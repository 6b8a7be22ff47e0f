"""Mutants of the service, and what must be reached of them and of outcome coverage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import petstore_mock.pytest_plugin.remote  # noqa: F401  # pytester forgets what an inner run is the first to import
from petstore_mock import PetStoreMock
from petstore_mock.contract.mutants import MUTANTS
from petstore_mock.pytest_plugin.mutants import choose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Inner = Callable[..., pytest.RunResult]
    Output = Callable[[pytest.RunResult], str]


def test_every_clause_has_a_mutant_before_any_has_two() -> None:
    clauses = {mutant.clause for mutant in MUTANTS.values()}
    assert {MUTANTS[name].clause for name in choose(str(len(clauses)), 3)} == clauses
    assert choose("all", 0) == tuple(MUTANTS) == choose("999", 1)


def test_which_mutants_are_chosen_depends_on_the_seed_alone() -> None:
    assert choose("10", 1) == choose("10", 1)
    assert choose("10", 1) != choose("10", 2)
    assert {*choose("10", 1)} < {*choose("20", 1)}


_SUITE = """
    import unittest
    from hypothesis import given, settings, strategies as st

    def test_filter(petstore):
        rex = petstore.seed(name="Rex", status="sold")
        petstore.seed(status="pending")
        assert call(petstore, path="/pets?status=sold") == (200, [rex])

    def test_looks_at_nothing(petstore):
        petstore.seed(status="sold")
        call(petstore, path="/pets?status=sold")

    @given(limit=st.integers(1, 29))
    @settings(max_examples=5, database=None, deadline=None)
    def test_limit(petstore, limit):
        petstore.seed_many(30)
        assert len(call(petstore, path=f"/pets?limit={limit}")[1]) == limit

    class TestKeys:
        @pytest.mark.parametrize("key", ["a", "b"])
        def test_key(self, petstore, key):
            assert call(petstore, key=key)[0] == 401

    def test_broken(petstore):
        call(petstore, path="/pets/1")
        assert petstore is None

    @pytest.mark.xfail(strict=True)
    def test_expected_to_fail(petstore):
        call(petstore, path="/pets/1")
        assert petstore is None

    @pytest.mark.skip
    def test_skipped(petstore):
        pass

    def test_without_petstore():
        pass

    class Case(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def before(self, petstore):
            self.petstore = petstore

        def test_case(self):
            assert call(self.petstore)[0] == 200
"""


def written(pytester: pytest.Pytester, name: str = "found.json") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((pytester.path / name).read_text(encoding="utf-8"))
    return document


@pytest.mark.parametrize("workers", ["-n0", pytest.param("-n2", marks=pytest.mark.slow)])
def test_the_summary_tells_what_no_test_noticed(
    inner: Inner, output: Output, pytester: pytest.Pytester, workers: str
) -> None:
    result = inner(_SUITE, "--petstore-mutants=all", "--petstore-mutants-json=found.json", "--tb=no", workers)
    text = output(result)
    outcomes = result.parseoutcomes()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (outcomes["passed"], outcomes["failed"], outcomes["xfailed"]) == (7, 1, 1)
    assert outcomes["noticed"] >= 15
    summary = text.partition("petstore mutants")[2].partition("short test summary")[0]
    found = written(pytester)
    noticed = {mutant["name"]: mutant["noticed_by"] for mutant in found["mutants"] if mutant["noticed"]}
    assert {"list-filter-ignored", "list-sold-ignored", "list-limit-and-one", "list-any-key"} <= {*noticed}
    assert {"list-as-html", "get-is-cut", "create-forgotten", "list-default-21"}.isdisjoint(noticed)
    assert noticed["list-filter-ignored"] == ["test_inner.py::test_filter"]
    assert noticed["list-limit-and-one"] == ["test_inner.py::test_limit"]
    assert f"The tests noticed {len(noticed)} of {len(MUTANTS)} services that break a clause each" in summary
    asked, _, unasked = summary.partition("No test asks for these:")
    asked, unasked = (" ".join(part.split()) for part in (asked, unasked))
    assert (
        "§1 Response bodies are application/json (1-media-type) list-as-html: listPets answers as text/html; "
        "asked by test_inner.py::test_filter, test_inner.py::test_limit, test_inner.py::test_looks_at" in asked
    )
    assert (
        "§4.3 GET /pets/{petId} answers 200: body is the Pet (4.3-get): get-finds-nothing, get-answers-204" in unasked
    )
    _, _, failed = summary.partition("Do not pass as they are")
    failed, _, not_run = failed.partition("Not run under mutants")
    assert [line.split("::")[1] for line in failed.splitlines() if "::" in line] == [
        "test_broken",
        "test_expected_to_fail",
        "test_skipped",
    ]
    assert "test_inner.py::Case::test_case" in not_run
    assert "test_without_petstore" not in summary
    assert found["count"] == len(MUTANTS)
    assert found["percent"] == round(100 * len(noticed) / len(MUTANTS), 2)
    assert found["not_run"] == ["test_inner.py::Case::test_case"]


@pytest.fixture
def stub() -> Iterator[PetStoreMock]:
    with PetStoreMock(control=True) as stub:
        yield stub


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("workers", "count"),
    [("-n0", 12), *(pytest.param(*more, marks=pytest.mark.slow) for more in [("-n0", 40), ("-n2", 8)])],
)
def test_a_stub_elsewhere_serves_the_same_mutants(
    inner: Inner, pytester: pytest.Pytester, stub: PetStoreMock, workers: str, count: int
) -> None:
    suite = f"""{_SUITE}
    def test_fresh(petstore):
        with petstore.fresh(seed=1) as other:
            assert len(call(other)[1]) == 1
    """
    options = (f"--petstore-mutants={count}", "--petstore-mutants-all", "--tb=no", workers)
    at_home = inner(suite, *options, "--petstore-mutants-json=home.json")
    elsewhere = inner(suite, *options, "--petstore-mutants-json=remote.json", f"--petstore-remote={stub.url}")
    assert written(pytester, "remote.json") == written(pytester, "home.json")
    if workers == "-n0":  # else it depends on which worker knows what, how many runs are left out
        assert at_home.parseoutcomes() == elsewhere.parseoutcomes()
    assert stub.host.worlds.named == {}


_PASSES = """
    def test_list(petstore):
        rex = petstore.seed(name="Rex")
        assert call(petstore) == (200, [rex])

    def test_again(petstore):
        assert call(petstore) == (200, [])
"""


def test_survivors_fail_nothing(inner: Inner) -> None:
    result = inner(_PASSES, "--petstore-mutants=all")
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes()["unnoticed"]
    assert "failed" not in result.parseoutcomes()


@pytest.mark.untraced
@pytest.mark.parametrize(("least", "code"), [("5", pytest.ExitCode.OK), ("90.5", pytest.ExitCode.TESTS_FAILED)])
def test_fail_under_fails_the_run(inner: Inner, output: Output, least: str, code: int) -> None:
    result = inner(_PASSES, "--petstore-mutants=all", f"--petstore-mutants-fail-under={least}")
    assert result.ret == code
    said = "is less than --petstore-mutants-fail-under=90.5" in output(result)
    assert said == (code != pytest.ExitCode.OK)


@pytest.mark.untraced
def test_a_mutant_that_was_noticed_is_not_run_again_unless_asked(inner: Inner, pytester: pytest.Pytester) -> None:
    options = ("--petstore-mutants=all", "--petstore-mutants-json=found.json")
    once = inner(_PASSES, *options).parseoutcomes()
    noticed_once = {mutant["name"]: mutant["noticed_by"] for mutant in written(pytester)["mutants"]}
    every = inner(_PASSES, *options, "--petstore-mutants-all").parseoutcomes()
    noticed_always = {mutant["name"]: mutant["noticed_by"] for mutant in written(pytester)["mutants"]}
    assert noticed_once["list-wrapped"] == ["test_inner.py::test_list"]
    assert noticed_always["list-wrapped"] == ["test_inner.py::test_again", "test_inner.py::test_list"]
    assert every["noticed"] > once["noticed"]
    assert [name for name, tests in noticed_once.items() if tests] == [
        name for name, tests in noticed_always.items() if tests
    ]


def test_what_a_test_does_not_ask_for_is_not_run(inner: Inner) -> None:
    outcomes = inner(_PASSES, "--petstore-mutants=all", "--petstore-mutants-all").parseoutcomes()
    lists = sum("listPets" in mutant.operations for mutant in MUTANTS.values())
    # The last item of all is run whatever it is: what was kept for it is torn down with it.
    assert outcomes["noticed"] + outcomes["unnoticed"] == 2 * lists + 1


def test_fixtures_of_wider_scope_are_torn_down_once(inner: Inner) -> None:
    result = inner(
        """
        made = []

        @pytest.fixture(scope="class")
        def of_class(request):
            made.append(request.node.name)
            yield
            assert made.pop() == request.node.name

        class TestFirst:
            def test_list(self, petstore, of_class):
                assert call(petstore) == (200, [])

        class TestSecond:
            def test_again(self, petstore, of_class):
                assert made == ["TestSecond"]
                assert call(petstore) == (200, [])

        def test_last():
            assert made == []
        """,
        "--petstore-mutants=30",
        "-p",
        "no:randomly",
    )
    assert result.parseoutcomes()["passed"] == 3
    assert result.ret == pytest.ExitCode.OK


def test_faults_clocks_and_fresh_worlds_work_as_ever(inner: Inner, pytester: pytest.Pytester) -> None:
    result = inner(
        """
        def test_faults(petstore):
            petstore.inject(503, on="listPets", times=1)
            assert call(petstore)[0] == 503
            assert call(petstore) == (200, [])

        def test_fresh(petstore):
            with petstore.fresh() as other:
                assert call(other, "POST", body={"name": "Rex", "categoryId": 1})[1]["name"] == "Rex"
        """,
        "--petstore-mutants=all",
        "--petstore-mutants-json=found.json",
        "-Werror",
    )
    assert result.ret == pytest.ExitCode.OK
    noticed = {mutant["name"] for mutant in written(pytester)["mutants"] if mutant["noticed"]}
    assert {"list-wrapped", "create-name-changed"} <= noticed


def test_exploration_and_coverage_know_nothing_of_mutants(inner: Inner, output: Output) -> None:
    result = inner(_PASSES, "--petstore-explore=3", "--petstore-mutants=all", "--petstore-coverage")
    text = output(result)
    assert "2 tests as they are and under up to 3 behaviours each" in text
    assert "No test shows that the client leans on" in text
    assert "mutant" not in text.partition("petstore exploration")[2].partition("petstore mutants")[0]
    assert result.ret == pytest.ExitCode.OK
    result.stdout.re_match_lines([r"200 empty page +1 +- +-", r"401 +0 +0 +0"])


def test_a_start_that_can_not_be_is_an_error_once(inner: Inner) -> None:
    result = inner(
        """
        @pytest.mark.petstore(seed=-1)
        def test_it(petstore):
            pass
        """,
        "--petstore-mutants=10",
    )
    outcomes = result.parseoutcomes()
    assert outcomes.get("errors", 0) + outcomes.get("error", 0) + outcomes.get("failed", 0) == 1
    assert "noticed" not in outcomes or outcomes["noticed"] == 1, "the last one is always run"


def test_an_example_that_took_too_long_has_noticed_nothing(inner: Inner) -> None:
    result = inner(
        """
        from datetime import timedelta
        from hypothesis.errors import DeadlineExceeded

        def test_slow(petstore):
            if call(petstore) != (200, []):
                raise DeadlineExceeded(timedelta(seconds=2), timedelta(seconds=1))
        """,
        "--petstore-mutants=all",
    )
    assert result.parseoutcomes()["noticed"] == 1, "JSON that is cut"
    assert result.parseoutcomes()["unnoticed"] > 3


def test_what_a_mutant_left_running_is_no_leak(inner: Inner) -> None:
    result = inner(
        """
        left = []

        def test_leaves_a_client(petstore):
            while left:
                mock, url, key = left.pop()
                call(petstore, key=key)
            if call(petstore) != (200, []):
                left.append((petstore, petstore.url, petstore.api_key))
                assert False
        """,
        "--petstore-mutants=all",
    )
    assert result.parseoutcomes()["noticed"] >= 3
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--petstore-mutants=0"], "--petstore-mutants: expected how many mutants, 1 or more, or all; got '0'"),
        (["--petstore-mutants=some"], "expected how many mutants, 1 or more, or all; got 'some'"),
        (["--petstore-mutants-all"], "--petstore-mutants-all: expected --petstore-mutants=N, or all, beside it"),
        (["--petstore-mutants-json=a"], "--petstore-mutants-json: expected --petstore-mutants=N"),
        (["--petstore-mutants-fail-under=1"], "--petstore-mutants-fail-under: expected --petstore-mutants=N"),
        (
            ["--petstore-mutants=1", "--petstore-mutants-fail-under=101"],
            "--petstore-mutants-fail-under: expected a percentage, 0 to 100; got 101",
        ),
        (["--petstore-coverage-fail-under=-1"], "expected a percentage, 0 to 100; got -1"),
        (["--petstore-coverage-fail-under=nan"], "expected a percentage, 0 to 100; got nan"),
    ],
)
def test_options_that_can_not_be_right_stop_the_run(inner: Inner, options: list[str], message: str) -> None:
    result = inner(_PASSES, *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in str(result.stderr.str())


# Outcome coverage


@pytest.mark.parametrize("workers", ["-n0", pytest.param("-n2", marks=pytest.mark.untraced)])
def test_coverage_is_written_and_must_be_reached(
    inner: Inner, output: Output, pytester: pytest.Pytester, workers: str
) -> None:
    options = ("--petstore-coverage-json=found/coverage.json", "--petstore-coverage-fail-under=50", workers)
    result = inner(_PASSES, *options)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    found = written(pytester, "found/coverage.json")
    shown = {f"{row['operation']} {row['outcome']}": row["tests"] for row in found["outcomes"] if row["shown"]}
    assert shown == {
        "listPets 200 empty page": ["test_inner.py::test_again"],
        "listPets 200 partial page": ["test_inner.py::test_list"],
        "listPets 200 status absent": ["test_inner.py::test_list"],
    }
    assert (found["count"], found["shown"]) == (len(found["outcomes"]), 3)
    assert not any(row["shown"] for row in found["faults"])
    share = f"{100 * 3 / found['count']:.1f} %"
    assert f"Shown: 3 of {found['count']} documented outcomes: {share}." in output(result)
    assert f"FAILED: {share} is less than --petstore-coverage-fail-under=50" in output(result)


def test_a_file_that_can_not_be_written_fails_the_run(inner: Inner, output: Output, tmp_path: Path) -> None:
    result = inner(_PASSES, f"--petstore-coverage-json={tmp_path}")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "FAILED: --petstore-coverage-json: no file could be written: " in output(result)
