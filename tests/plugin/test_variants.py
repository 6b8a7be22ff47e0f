"""Variants of tests (exploration and mutants), and the coverage of outcomes."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.conftest import Inner
from tests.programs import register

AS_IT_IS = "" if hasattr(pytest, "HIDDEN_PARAM") else "[as_it_is]"  # pytest before 8.4 can't hide an id


def is_of_status(outcome: str) -> bool:
    """Return whether an outcome concerns no optional field except ``status``."""
    return " status " in outcome or not outcome.endswith((" present", " absent"))


def written(pytester: pytest.Pytester, name: str = "found.json") -> dict[str, Any]:
    document: dict[str, Any] = json.loads((pytester.path / name).read_text(encoding="utf-8"))
    return document


# Exploration

_RELYING = """
    import unittest
    from hypothesis import given, settings, strategies as st

    def test_order(petstore):
        rex, ada = petstore.seed(name="Rex"), petstore.seed(name="Ada")
        assert [pet["id"] for pet in call(petstore)[1]] == [rex["id"], ada["id"]]

    @pytest.mark.parametrize("number", [1, 2])
    def test_parametrised(petstore, number):
        assert call(petstore)[0] == 200

    class TestMethods:
        @given(text=st.text())
        @settings(max_examples=2, database=None)
        def test_given(self, petstore, text):
            assert petstore.pets == []

    def test_broken(petstore):
        assert petstore is None

    def test_without_petstore():
        pass

    class Case(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def before(self, petstore):
            self.petstore = petstore

        def test_case(self):
            assert call(self.petstore)[0] == 200
"""


@pytest.mark.parametrize(
    ("source", "option", "code"),
    [
        ("def test(petstore): assert call(petstore)[0] == 200", "40", pytest.ExitCode.OK),
        (
            "def test(petstore): assert petstore.behaviour.list_order == 'id_ascending'",
            "40",
            pytest.ExitCode.TESTS_FAILED,
        ),
        ("def test(petstore): assert petstore is None", "40", pytest.ExitCode.TESTS_FAILED),
        ("def test(petstore): pass", "many", pytest.ExitCode.USAGE_ERROR),
        ("", "40", pytest.ExitCode.NO_TESTS_COLLECTED),
    ],
)
def test_the_exit_code_shows_the_result_of_the_exploration(inner: Inner, source: str, option: str, code: int) -> None:
    assert inner(source, "--petstore-explore", option).ret == code


@pytest.mark.untraced
def test_exploration_names_the_gap_that_the_client_relies_on(inner: Inner) -> None:
    result = inner(_RELYING, "--petstore-explore=all", "-q", "--tb=no")
    text = str(result.stdout)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "FAILED test_inner.py::test_order[list_order=id_descending]" in text
    assert "FAILED test_inner.py::test_order -" not in text
    summary = text.partition("petstore exploration")[2].partition("short test summary")[0]
    # Exploration varies all alternatives, except those of events and of rules that refuse values of a field.
    varied = [gap for gap in register()["gaps"] if gap["step"] != "event" and not gap["name"].endswith("_rule")]
    others = sum(len(gap["alternatives"]) - 1 for gap in varied)
    assert f"under up to {others} behaviours each" in summary
    assert summary.count("The client, or one of its tests, relies on") == 1
    assert "relies on list_order (§4.1): Pagination controls beyond limit: not shown" in summary
    assert "  list_order=by_name: test_inner.py::test_order\n" in summary
    broken, _, alone = summary.partition("These tests fail as they are")[2].partition("No variants")
    assert "test_inner.py::test_broken" in broken
    assert "test_inner.py::Case::test_case" in alone
    assert "test_without_petstore" not in summary


def test_an_expected_failure_shows_a_reliance_only_if_the_test_passes_as_it_is(inner: Inner) -> None:
    source = """
        @pytest.mark.xfail(strict=True, reason="a bug of the client")
        def test_strict(petstore):
            assert petstore.behaviour.list_order == "by_name"

        @pytest.mark.xfail(reason="fixed since")
        def test_passes_as_it_is(petstore):
            assert petstore.behaviour.list_order == "id_ascending"

        @pytest.mark.xfail(strict=True, reason="fixed since")
        def test_always_passes(petstore):
            pass

        def test_excuses_itself(petstore):
            if petstore.behaviour.json_style == "ascii":
                pytest.xfail("known")
    """
    text = str(inner(source, "--petstore-explore=60", "--tb=no").stdout)
    summary = text.partition("petstore exploration")[2].partition("short test summary")[0]
    relied, _, broken = summary.partition("These tests fail as they are")
    assert "test_inner.py::test_strict" in broken
    assert "  list_order=by_name: test_inner.py::test_passes_as_it_is\n" in relied
    assert "json_style" not in relied, "the test itself calls pytest.xfail()"
    assert "test_always_passes" not in summary, "only its mark makes this test fail"


def test_variants_of_a_test_that_fails_as_it_is_do_not_run(inner: Inner) -> None:
    source = """
        def test_broken(petstore):
            assert petstore is None

        def test_last():
            pass
    """
    result = inner(source, "--petstore-explore=40", "--tb=no")
    assert result.parseoutcomes() == {"failed": 1, "passed": 1}


def test_every_gap_comes_once_before_any_gap_comes_twice_and_an_id_selects_one_variant(inner: Inner) -> None:
    explore = ("--petstore-explore=27", "--petstore-random-seed=5", "-q")
    listed = [line for line in str(inner(_RELYING, "--collect-only", *explore).stdout).splitlines() if "::" in line]
    ours = [line for line in listed if "::test_order" in line]
    gaps = [line.partition("[")[2].partition("=")[0] for line in ours[1:]]
    assert ours[0] == f"test_inner.py::test_order{AS_IT_IS}"
    assert len({*gaps}) == len(gaps) == 27, "no gap comes twice before every gap came once"
    assert not {"rate_limit", "key_rotation", "visibility", "name_rule", "category_rule"} & {*gaps}
    assert f"test_inner.py::test_parametrised[1{AS_IT_IS.strip('[]') and '-as_it_is'}]" in listed
    assert len([line for line in listed if "test_without_petstore" in line]) == 1
    other = str(inner(_RELYING, "--collect-only", "--petstore-explore=27", "--petstore-random-seed=6", "-q").stdout)
    assert [line for line in other.splitlines() if "::test_order" in line] != ours
    unordered = next(line for line in ours[1:] if "list_order" not in line)
    inner(_RELYING, unordered, *explore).assert_outcomes(passed=1)


def test_a_known_assumption_is_kept_and_listed(inner: Inner) -> None:
    source = "def test_robust(petstore): assert call(petstore)[0] == 200"
    result = inner(source, "--petstore-explore=60", "-v", settings="petstore_assumes = list_order = by_name")
    assert result.ret == pytest.ExitCode.OK
    assert "  list_order=by_name: the setting petstore_assumes" in str(result.stdout)
    assert "test_robust[list_order=" not in str(result.stdout)


# Flakes. Each test passes as it is, and then fails for a reason that is no variant. A response that a mutant has broken
# is no reason either, because a test whose first failure has a mutant as its cause counts as no flake.
_FLAKES = {
    "each fourth run": """
        import contextlib

        runs = []

        def test_flaky(petstore):
            with contextlib.suppress(ValueError):
                call(petstore)
            runs.append(0)
            assert len(runs) % 4
    """,
    "from the third run on": """
        import contextlib

        runs = []

        def test_flaky(petstore):
            with contextlib.suppress(ValueError):
                call(petstore)
            runs.append(0)
            assert len(runs) < 3
    """,
    "each second run": """
        import contextlib

        runs = []

        def test_flaky(petstore):
            with contextlib.suppress(ValueError):
                call(petstore)
            runs.append(0)
            assert len(runs) % 2
    """,
}
_RELIES = """
    def test_relies(petstore):
        rex, ada = petstore.seed(name="Rex"), petstore.seed(name="Ada")
        assert call(petstore) == (200, [rex, ada])
"""


@pytest.mark.parametrize("source", _FLAKES.values(), ids=_FLAKES)
def test_exploration_calls_a_flake_a_flake_and_still_names_a_reliance(inner: Inner, source: str) -> None:
    text = str(inner(source + textwrap.indent(_RELIES, "    "), "--petstore-explore=all", "--show-capture=no").stdout)
    summary = text.partition("= petstore exploration =")[2].partition("short test summary")[0]
    relied, _, flaky = summary.partition("These tests are flaky")
    assert "test_inner.py::test_flaky" in flaky
    assert "test_flaky" not in relied
    assert "list_order=" in relied
    assert "test_inner.py::test_relies" in relied
    assert "- petstore: a flake -" in text, "the report of the failure says so too"


@pytest.mark.parametrize("source", _FLAKES.values(), ids=_FLAKES)
def test_a_flake_is_no_noticed_mutant(inner: Inner, pytester: pytest.Pytester, source: str) -> None:
    options = ("--petstore-mutants=40", "--petstore-mutants-json=found.json")
    result = inner(source + textwrap.indent(_RELIES, "    "), *options)
    found = written(pytester)
    tests = [test for mutant in found["mutants"] for test in mutant["noticed_by"]]
    assert found["flaky"] == ["test_inner.py::test_flaky"]
    assert {*tests} == {"test_inner.py::test_relies"}
    outcomes = result.parseoutcomes()
    assert outcomes["flaky"] >= 1
    assert (outcomes["noticed"] >= 1, outcomes["passed"]) == (True, 2)


def test_the_last_test_of_a_module_is_played_again_with_new_fixtures(inner: Inner) -> None:
    source = """
        @pytest.fixture(scope="module")
        def numbers():
            numbers = []
            yield numbers
            numbers.append("ended")

        def test_last(petstore, numbers):
            assert "ended" not in numbers
            assert petstore.behaviour.list_order == "id_ascending"
    """
    text = str(inner(source, "--petstore-explore=all", "-k", "test_last", "--tb=line").stdout)
    summary = text.partition("= petstore exploration =")[2]
    assert "relies on list_order" in summary
    assert "flaky" not in summary


# Mutants

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

    class Case(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def before(self, petstore):
            self.petstore = petstore

        def test_case(self):
            assert call(self.petstore)[0] == 200
"""
_PASSES = """
    def test_list(petstore):
        rex = petstore.seed(name="Rex")
        assert call(petstore) == (200, [rex])

    def test_again(petstore):
        assert call(petstore) == (200, [])
"""


@pytest.mark.seconds
@pytest.mark.parametrize("workers", ["-n0", pytest.param("-n2", marks=pytest.mark.slow)])
def test_the_document_lists_the_mutants_that_no_test_noticed(
    inner: Inner, pytester: pytest.Pytester, workers: str
) -> None:
    result = inner(_SUITE, "--petstore-mutants=all", "--petstore-mutants-json=found.json", "--tb=no", workers)
    outcomes = result.parseoutcomes()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert (outcomes["passed"], outcomes["failed"], outcomes["xfailed"]) == (6, 1, 1)
    found = written(pytester)
    mutants = {mutant["name"]: mutant for mutant in found["mutants"]}
    noticed = {name: mutant["noticed_by"] for name, mutant in mutants.items() if mutant["noticed"]}
    assert {"list-filter-ignored", "list-filter-finds-nothing", "list-limit-and-one", "list-any-key"} <= {*noticed}
    assert {"list-as-html", "get-is-cut", "create-forgotten", "list-default-21"}.isdisjoint(noticed)
    assert noticed["list-filter-ignored"] == ["test_inner.py::test_filter"]
    assert noticed["list-limit-and-one"] == ["test_inner.py::test_limit"]
    assert {"test_inner.py::test_filter", "test_inner.py::test_looks_at_nothing"} <= {
        *mutants["list-as-html"]["reached_by"]
    }
    assert (mutants["list-as-html"]["clause"], mutants["list-as-html"]["section"]) == ("1-media-type", "1")
    names = ["test_inner.py::test_broken", "test_inner.py::test_expected_to_fail", "test_inner.py::test_skipped"]
    assert found["failed_as_they_are"] == names
    assert found["not_run"] == ["test_inner.py::Case::test_case"]
    assert (found["count"], found["noticed"]) == (len(mutants), len(noticed))
    assert f"The tests noticed {len(noticed)} of {len(mutants)} mutants" in str(result.stdout)
    summary = str(result.stdout).partition("No test noticed these")[2].partition("These tests do not pass")[0]
    missed = [mutant for mutant in found["mutants"] if not mutant["noticed"]]
    unreached = [mutant["name"] for mutant in missed if not mutant["reached_by"]]
    assert f"No test reached {len(unreached)} other mutants; -v lists them." in summary
    listed = re.findall(r"^  ([a-z0-9-]+): ", summary, re.MULTILINE)
    assert {*listed} == {mutant["name"] for mutant in missed} - {*unreached}
    assert max(map(len, summary.splitlines())) < 100


def test_verbose_run_lists_the_mutants_that_no_test_reached_last(inner: Inner) -> None:
    result = inner(_PASSES, "--petstore-mutants=all", "-v")
    summary = str(result.stdout).partition("No test noticed these")[2]
    assert summary.index("list-as-html: ") < summary.index("get-is-cut: "), "mutants that tests reached come first"
    assert "reached by no test" in summary
    assert "-v lists them" not in summary


@pytest.mark.untraced
@pytest.mark.parametrize(("least", "code"), [("5", pytest.ExitCode.OK), ("90.5", pytest.ExitCode.TESTS_FAILED)])
def test_a_noticed_mutant_does_not_run_again_and_a_low_share_fails_the_run(
    inner: Inner, pytester: pytest.Pytester, least: str, code: pytest.ExitCode
) -> None:
    found = ("--petstore-mutants-json=found.json", f"--petstore-mutants-fail-under={least}")
    result = inner(_PASSES, "--petstore-mutants=all", *found)
    outcomes = result.parseoutcomes()
    assert (result.ret, "failed" in outcomes) == (code, False)
    noticed = {one["name"]: one["noticed_by"] for one in written(pytester)["mutants"]}
    assert noticed["list-wrapped"] == ["test_inner.py::test_list"]
    ran = outcomes["noticed"] + outcomes["unnoticed"]
    assert ran < 2 * len(noticed) * 3 / 4, "mutants of operations that a test does not call do not run"


def test_the_seed_chooses_the_mutants_and_every_clause_has_one_before_any_has_two(
    inner: Inner, pytester: pytest.Pytester
) -> None:
    def chosen(count: str, seed: int) -> dict[str, str]:
        inner(
            _PASSES,
            f"--petstore-mutants={count}",
            f"--petstore-random-seed={seed}",
            "--petstore-mutants-json=found.json",
        )
        return {mutant["name"]: mutant["clause"] for mutant in written(pytester)["mutants"]}

    assert chosen("9", 1) == chosen("9", 1) != chosen("9", 2)
    assert len({*chosen("9", 3).values()}) == 9


def test_a_slow_example_notices_no_mutant_and_the_key_of_a_finished_mutant_is_no_leak(inner: Inner) -> None:
    source = """
        from datetime import timedelta
        from hypothesis.errors import DeadlineExceeded
        left = []

        def test_slow(petstore):
            if call(petstore) != (200, []):
                raise DeadlineExceeded(timedelta(seconds=2), timedelta(seconds=1))

        def test_leaves_a_client(petstore):
            while left:
                call(petstore, key=left.pop())
            if call(petstore) != (200, []):
                left.append(petstore.api_key)
                assert False
    """
    slow = inner(source, "--petstore-mutants=all", "-k", "slow").parseoutcomes()
    assert slow["noticed"] == 1, "the client can't parse JSON that is cut"
    assert slow["unnoticed"] > 3
    result = inner(source, "--petstore-mutants=all", "-k", "leaves")
    assert result.parseoutcomes()["noticed"] >= 3
    assert result.ret == pytest.ExitCode.OK, "the key of a finished mutant is no leak"


# Coverage of outcomes, and another date


def test_coverage_is_written_and_a_low_share_fails_the_run(inner: Inner, pytester: pytest.Pytester) -> None:
    options = ("--petstore-coverage-json=found/coverage.json", "--petstore-coverage-fail-under=50")
    result = inner(_PASSES, *options, "--petstore-explore=3", "--petstore-mutants=30")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    found = written(pytester, "found/coverage.json")
    shown = {f"{row['operation']} {row['outcome']}": row["tests"] for row in found["outcomes"] if row["shown"]}
    assert {name: tests for name, tests in shown.items() if "401" not in name and is_of_status(name)} == {
        "listPets 200": ["test_inner.py::test_again", "test_inner.py::test_list"],
        "listPets 200 status absent": ["test_inner.py::test_list"],
    }
    assert (found["count"], found["shown"]) == (len(found["outcomes"]), len(shown))
    assert found["percent"] == round(100 * len(shown) / found["count"], 2)
    assert not any(row["shown"] for row in found["faults"])
    assert f"{found['percent']} % is less than --petstore-coverage-fail-under=50" in str(result.stdout)


def test_coverage_counts_faults_examples_and_fresh_worlds(inner: Inner, pytester: pytest.Pytester) -> None:
    source = """
        from hypothesis import given, settings, strategies as st
        from petstore_mock import faults

        def test_pages(petstore):
            petstore.seed_many(3)
            call(petstore, path="/pets?limit=2")
            petstore.reset()
            call(petstore, key="unknown")
            call(petstore, path="/nowhere")

        @given(status=st.sampled_from(["sold", None]))
        @settings(database=None)
        def test_examples(petstore, status):
            body = {"name": "Rex", "categoryId": 1, **({"status": status} if status else {})}
            assert call(petstore, "POST", body=body)[0] == 201

        def test_faults(petstore):
            petstore.inject(503, on="listPets", times=1)
            petstore.inject(faults.respond(200, json="no list"), on="listPets", times=1)
            assert [call(petstore)[0] for _ in range(2)] == [503, 200]

        def test_fresh(petstore):
            with petstore.fresh() as world:
                call(world)
    """
    inner(source, "--petstore-coverage-json=found.json")
    rows = written(pytester)["outcomes"] + written(pytester)["faults"]
    shown = {
        f"{row['operation']} {row.get('outcome') or row['fault']}": len(row["tests"]) for row in rows if row["shown"]
    }
    assert {name: tests for name, tests in shown.items() if is_of_status(name)} == {
        "listPets 200": 2,
        "listPets 200 status present": 1,
        "listPets 401": 1,
        "createPet 201": 1,
        "createPet 201 status present": 1,
        "createPet 201 status absent": 1,
        "listPets server_error": 1,
        "listPets respond": 1,
    }


def test_a_file_that_can_not_be_written_fails_the_run(inner: Inner, tmp_path: Path) -> None:
    result = inner(_PASSES, f"--petstore-coverage-json={tmp_path}")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "FAILED: no JSON: " in str(result.stdout)


def test_on_a_later_date_the_summary_lists_the_tests_that_call_a_removed_operation(inner: Inner) -> None:
    source = """
        def test_needs_it(petstore):
            assert call(petstore, path="/pets/1")[0] == 410

        def test_does_not(petstore):
            assert call(petstore)[0] == 200

        @pytest.mark.petstore(at="2029-01-01")
        def test_has_a_date_of_its_own(petstore):
            assert call(petstore, path="/pets/1")[0] == 404
    """
    result = inner(source, "--petstore-at=2030-12-06")
    result.assert_outcomes(passed=3, warnings=2)
    listed = str(result.stdout).partition("tests that call a removed operation")[2].partition("warnings summary")[0]
    assert [line for line in listed.splitlines() if "::" in line] == ["test_inner.py::test_needs_it"]


@pytest.mark.parametrize(
    "option",
    [
        *("--petstore-explore=-4", "--petstore-mutants=some", "--petstore-at=tomorrow"),
        *("--petstore-coverage-fail-under=x", "--petstore-mutants-fail-under=80", "--petstore-mutants-json=f"),
    ],
)
def test_wrong_options_stop_the_run(inner: Inner, option: str) -> None:
    assert inner(_PASSES, settings="petstore_leaks = maybe").ret == pytest.ExitCode.USAGE_ERROR
    result = inner(_PASSES, option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert option.partition("=")[0] in str(result.stderr.str())
