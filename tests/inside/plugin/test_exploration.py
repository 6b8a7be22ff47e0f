"""Exploration, ``petstore_each``, outcome coverage and the suite at another date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from petstore_mock.contract.gaps import GAPS
from petstore_mock.pytest_plugin.exploration import pick

if TYPE_CHECKING:
    from collections.abc import Callable

    Inner = Callable[..., pytest.RunResult]
    Output = Callable[[pytest.RunResult], str]


def test_every_gap_is_varied_once_before_any_twice() -> None:
    varied = [name for name, gap in GAPS.items() if gap.step != "event"]
    allowed = {*varied} - {"name_rule", "category_rule", "json_style"}
    chosen = pick("test_a.py::test_a", 1000, 0, ["json_style"])
    names = [next(iter(variant)) for variant in chosen]
    assert set(names[: len(allowed)]) == allowed
    assert set(names) == allowed, "no event, nothing that refuses the test's own data, nothing that is held"
    assert len({tuple(variant.items()) for variant in chosen}) == len(chosen)
    assert sum(len(GAPS[name].alternatives) - 1 for name in allowed) == len(chosen)
    assert all(alternative != GAPS[name].default for variant in chosen for name, alternative in variant.items())


def test_variants_depend_on_name_and_seed_alone() -> None:
    assert pick("test_a", 5, 1, ()) == pick("test_a", 99, 1, ())[:5]
    assert pick("test_a", 5, 1, ()) != pick("test_a", 5, 2, ())
    assert pick("test_a", 5, 1, ()) != pick("test_b", 5, 1, ())


AS_IT_IS = "" if hasattr(pytest, "HIDDEN_PARAM") else "[as_it_is]"  # pytest 8.4 is the first to hide an id

_LEANING = """
    import unittest
    from hypothesis import given, settings, strategies as st

    def test_order(petstore):
        rex, ada = petstore.seed(name="Rex"), petstore.seed(name="Ada")
        assert [pet["id"] for pet in call(petstore)[1]] == [rex["id"], ada["id"]]

    def test_robust(petstore):
        assert call(petstore)[0] == 200

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


@pytest.mark.untraced
def test_exploration_names_the_silence_that_the_client_leans_on(inner: Inner, output: Output) -> None:
    result = inner(_LEANING, "--petstore-explore=60", "-q", "--tb=no")
    text = output(result)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "FAILED test_inner.py::test_order[list_order=id_descending]" in text
    assert "FAILED test_inner.py::test_order -" not in text
    summary = text.partition("petstore exploration")[2].partition("short test summary")[0]
    assert "6 tests as they are and under up to 60 behaviours each" in summary
    assert "--petstore-explore=60 --petstore-random-seed=0" in summary
    assert summary.count("The client, or a test of it, leans on") == 1
    assert (
        "The client, or a test of it, leans on list_order (§4.1): Pagination controls beyond limit: not shown"
        in summary
    )
    assert "It must not assume that a list has an order" in summary
    assert "  list_order=by_name: test_inner.py::test_order\n" in summary
    failed, _, not_explored = summary.partition("Not explored")
    assert "Fail as they are, so that their variants tell nothing:\n  test_inner.py::test_broken" in failed
    assert "test_inner.py::Case::test_case" in not_explored
    assert "test_without_petstore" not in summary


_EXPECTED = """
    @pytest.mark.xfail(strict=True, reason="a bug of the client's")
    def test_strict(petstore):
        assert petstore.behaviour.list_order == "by_name"

    @pytest.mark.xfail(reason="a bug of the client's")
    def test_lenient(petstore):
        assert petstore.behaviour.list_order == "by_name"

    @pytest.mark.xfail(reason="mended since")
    def test_passes_as_it_is(petstore):
        assert petstore.behaviour.list_order == "id_ascending"

    @pytest.mark.xfail(strict=True, reason="mended since")
    def test_always_passes(petstore):
        pass

    def test_excuses_itself(petstore):
        if petstore.behaviour.json_style == "ascii":
            pytest.xfail("known")
"""


def test_a_test_that_is_expected_to_fail_shows_no_leaning_by_passing(inner: Inner, output: Output) -> None:
    result = inner(_EXPECTED, "--petstore-explore=60", "--tb=no")
    summary = output(result).partition("petstore exploration")[2].partition("short test summary")[0]
    leanings, _, rest = summary.partition("Fail as they are, so that their variants tell nothing:")
    assert [line.strip() for line in rest.splitlines() if line.strip()][:2] == [
        "test_inner.py::test_lenient",
        "test_inner.py::test_strict",
    ]
    assert leanings.count("The client, or a test of it, leans on") == 1
    assert "  list_order=by_name: test_inner.py::test_passes_as_it_is\n" in leanings
    assert "json_style" not in leanings, "the test says itself that it is known"
    assert "test_always_passes" not in summary, "it fails by its mark alone"


def test_variants_of_a_test_that_fails_as_it_is_are_left_out(inner: Inner) -> None:
    source = """
        def test_broken(petstore):
            assert petstore is None

        @pytest.mark.petstore_each("null_status")
        def test_by_hand(petstore):
            assert petstore is None

        def test_last():
            pass
    """
    result = inner(source, "--petstore-explore=40", "--tb=no")
    assert result.parseoutcomes() == {"failed": 2 + len(GAPS["null_status"].alternatives), "passed": 1}


def test_a_request_that_an_earlier_test_left_hides_no_leaning(inner: Inner, output: Output) -> None:
    source = """
        old = []

        def test_order(petstore):
            old.append(petstore.api_key)
            call(petstore, key=old[0])
            rex, ada = petstore.seed(name="Rex"), petstore.seed(name="Ada")
            assert [pet["id"] for pet in call(petstore)[1]] == [rex["id"], ada["id"]]
    """
    text = output(inner(source, "--petstore-explore=60", "--tb=no"))
    assert "  list_order=by_name: test_inner.py::test_order\n" in text


def test_a_client_of_wider_scope_shows_no_leaning_and_notices_nothing(inner: Inner, output: Output) -> None:
    source = """
        @pytest.fixture(scope="module")
        def headers(petstore):
            return petstore.headers

        def test_list(petstore, headers):
            assert call(petstore, key=headers["Authorization"].removeprefix("Bearer "))[0] == 200
    """
    text = output(inner(source, "--petstore-explore=3", "--petstore-mutants=40", "--tb=no"))
    assert "No test shows that the client leans on what the interface leaves open." in text
    assert "The tests noticed 0 of 40" in text
    assert "a client of wider scope than the test: set petstore_api_key" in text


@pytest.mark.parametrize(
    "source",
    [
        'def test_by_name(request): assert call(request.getfixturevalue("petstore"))[0] == 200',
        "@pytest.mark.xfail\ndef test_fails(petstore): assert petstore is None",
        "def test_alone(): pass",
    ],
    ids=["getfixturevalue", "fails", "none"],
)
def test_where_nothing_could_be_explored_nothing_is_claimed(inner: Inner, output: Output, source: str) -> None:
    result = inner(source, "--petstore-explore=3", "--tb=no")
    text = output(result)
    assert "No test shows" not in text
    assert "Nothing is known of what the client leans on: no test passes as it is" in text
    not_explored = "test_inner.py::test_by_name" in text.partition("Not explored (")[2]
    assert not_explored == ('usefixtures("petstore")' in text) == ("getfixturevalue" in source)


def test_a_test_that_uses_the_fixture_by_a_mark_is_explored(inner: Inner, output: Output) -> None:
    source = """
        @pytest.mark.usefixtures("petstore")
        def test_by_mark(request): assert call(request.getfixturevalue("petstore"))[0] == 200
    """
    assert "1 tests as they are and under up to 3 behaviours each" in output(inner(source, "--petstore-explore=3"))


def test_the_order_of_items_is_as_it_is_first_and_ids_can_be_run_alone(inner: Inner, output: Output) -> None:
    explore = ("--petstore-explore=3", "--petstore-random-seed=5", "-q")
    listed = [line for line in output(inner(_LEANING, "--collect-only", *explore)).splitlines() if "::" in line]
    ours = [line for line in listed if "::test_order" in line]
    assert ours[0] == f"test_inner.py::test_order{AS_IT_IS}"
    assert len(ours) == 4
    assert len([line for line in listed if "test_parametrised[1" in line]) == 4
    assert f"test_inner.py::test_parametrised[1{AS_IT_IS.strip('[]') and '-as_it_is'}]" in listed
    assert len([line for line in listed if "test_without_petstore" in line]) == 1
    inner(_LEANING, ours[2], *explore).assert_outcomes(passed=1)


def test_a_suite_that_leans_on_nothing_passes_and_says_so(inner: Inner, output: Output) -> None:
    source = "def test_robust(petstore): assert call(petstore)[0] == 200"
    result = inner(source, "--petstore-explore=60", "-v", settings="petstore_assumes = list_order = by_name")
    assert result.ret == pytest.ExitCode.OK
    assert "No test shows that the client leans on what the interface leaves open." in output(result)
    assert "  list_order=by_name: the setting petstore_assumes" in output(result)
    assert "test_robust[list_order=" not in output(result)


def test_each_runs_every_alternative_by_hand(inner: Inner, output: Output) -> None:
    source = """
        @pytest.mark.petstore_each("list_order", "rate_limit")
        def test_each(petstore):
            with open("seen", "a") as file:
                file.write(f"{petstore.behaviour}\\n")

        @pytest.mark.petstore_each("json_style")
        def test_by_name(request):
            assert call(request.getfixturevalue("petstore"))[0] == 200
    """
    result = inner(source, "-v", "--strict-markers")
    result.assert_outcomes(passed=8 + 4)
    text = output(result)
    assert "test_each[list_order=id_ascending]" in text
    assert "test_each[rate_limit=retry_after_date]" in text
    assert "test_by_name[json_style=ascii]" in text
    explored = inner(source, "--petstore-explore=60", "--collect-only", "-q").stdout.str().splitlines()
    ours = [line for line in explored if "::test_each" in line]
    assert ours[0] == f"test_inner.py::test_each{AS_IT_IS}"
    assert len(ours) == len(set(ours))


def test_each_hands_the_alternative_to_the_fake(inner: Inner, pytester: pytest.Pytester) -> None:
    source = """
        @pytest.mark.petstore_each("list_order")
        def test_each(petstore):
            with open("seen", "a") as file:
                file.write(petstore.behaviour.list_order + " ")
    """
    inner(source).assert_outcomes(passed=5)
    assert (pytester.path / "seen").read_text().split() == list(GAPS["list_order"].alternatives)


def test_a_gap_that_is_named_twice_is_varied_once(inner: Inner, output: Output) -> None:
    source = """
        @pytest.mark.petstore_each("list_order")
        class TestIt:
            @pytest.mark.petstore_each("json_style", "list_order")
            def test_each(self, petstore):
                pass
    """
    result = inner(source, "-v")
    result.assert_outcomes(passed=5 + 4)
    assert "test_each[list_order=by_name]" in output(result)


def test_exploration_takes_no_parameter_of_the_tests_for_its_own(inner: Inner, output: Output) -> None:
    source = """
        @pytest.mark.parametrize("text", ["list_order=by_name", "other"])
        @pytest.mark.petstore_each("list_order")
        def test_order(petstore, text):
            assert petstore.behaviour.list_order != "by_name"
    """
    text = output(inner(source, "--petstore-explore=1", "--tb=no"))
    named = "test_inner.py::test_order[list_order=by_name], test_inner.py::test_order[other]"
    assert f"  list_order=by_name: {named}\n" in text


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ('petstore_each("list_ordr")', "got 'list_ordr'. Did you mean 'list_order'?"),
        ('petstore_each(["list_order"])', "got ['list_order']. Did you mean 'list_order'?"),
        ("petstore_each()", "expected names of gaps"),
    ],
)
def test_a_wrong_each_fails_its_own_test_alone(inner: Inner, output: Output, mark: str, message: str) -> None:
    result = inner(f"@pytest.mark.{mark}\ndef test_it(petstore): pass\n\ndef test_other(petstore): pass")
    result.assert_outcomes(passed=1, errors=1)
    assert message in output(result)


def test_a_unittest_method_can_not_be_multiplied_and_says_so(inner: Inner, output: Output) -> None:
    result = inner(
        """
        import unittest

        @pytest.mark.petstore_each("list_order")
        class Case(unittest.TestCase):
            def test_case(self):
                pass
        """
    )
    result.assert_outcomes(errors=1)
    assert "pytest can't multiply a method of unittest.TestCase" in output(result)


def test_coverage_tells_what_the_tests_showed_and_what_none_did(inner: Inner, output: Output) -> None:
    result = inner(
        """
        from hypothesis import given, settings, strategies as st
        from petstore_mock import faults

        def test_pages(petstore):
            call(petstore)
            petstore.seed_many(3)
            petstore.seed(name="of no status")
            call(petstore)
            call(petstore, path="/pets?limit=2")
            call(petstore, path="/pets?limit=99999999999999999999999999")

        def test_again(petstore):
            call(petstore)

        def test_refusals(petstore):
            call(petstore, "POST", body={})
            call(petstore, key="unknown")
            call(petstore, path="/pets/1")
            call(petstore, path="/nowhere")

        @given(status=st.sampled_from(["sold", None]))
        @settings(database=None)
        def test_examples_are_one_test(petstore, status):
            body = {"name": "Rex", "categoryId": 1, **({"status": status} if status else {})}
            assert call(petstore, "POST", body=body)[0] == 201

        def test_faults(petstore):
            petstore.inject(503, on="listPets", times=1)
            petstore.inject(faults.respond(200, json="no list"), on="listPets", times=1)
            assert call(petstore)[0] == 503
            assert call(petstore) == (200, "no list")
            for status, operation, path in ((200, "listPets", "/pets"), (200, "getPet", "/pets/1")):
                petstore.inject(faults.respond(status), on=operation, times=1)
                answered = call(petstore, path=path)  # an Error (§2), which has a status of its own
                assert answered[1]["status"] == answered[0] == 200
            petstore.inject(faults.dribble(1e9), on="getPet", times=1)
            assert call(petstore, path="/pets/1")[0] == 404
            petstore.inject(faults.delay(0), on="createPet", times=1)
            petstore.inject(503, on="createPet", times=1, at="after_commit")
            assert call(petstore, "POST", body={"name": "Rex", "categoryId": 1})[0] == 503
        """,
        "--petstore-coverage",
    )
    result.assert_outcomes(passed=5, warnings=result.parseoutcomes().get("warnings", 0))
    result.stdout.re_match_lines(
        [
            r"=+ petstore: outcomes that the tests showed to the client, by tests =+",
            r" +listPets +createPet +getPet",
            r"200 empty page +2 +- +-",
            r"200 full page +1 +- +-",
            r"200 partial page +1 +- +-",
            r"200 status absent +1 +- +0",
            r"200 status present +1 +- +0",
            r"201 status absent +- +1 +-",
            r"201 status present +- +1 +-",
            r"400 +- +1 +-",
            r"401 +1 +0 +0",
            r"404 +- +- +2",
            r"fault delay +0 +1 +0",
            r"fault dribble +0 +0 +1",
            r"fault respond +1 +0 +1",
            r"fault server_error +1 +1 +0",
            r"Never shown: createPet 401, getPet 200 status present, getPet 200 status absent, getPet 401\.",
            r"Faults never shown: bad_request, empty_reply, .*",
        ]
    )
    assert "sequence" not in output(result)


_NEEDS_GET_PET = """
    def test_needs_it(petstore):
        pet = petstore.seed()
        call(petstore, path=f"/pets/{pet['id']}")

    def test_does_not(petstore):
        call(petstore)
        assert petstore.clock.moment.year == 2030

    @pytest.mark.petstore(at="2029-01-01")
    def test_has_a_date_of_its_own(petstore):
        assert call(petstore, path="/pets/1")[0] == 404
"""


def test_a_suite_at_another_date_lists_the_tests_that_need_get_pet(inner: Inner, output: Output) -> None:
    result = inner(_NEEDS_GET_PET, "--petstore-at=2030-12-06")
    listed = output(result).partition("tests that still need getPet")[2].splitlines()
    assert listed[1] == "test_inner.py::test_needs_it"
    assert "test_has" not in listed[2]
    text = output(inner("def test_it(petstore): call(petstore)", "--petstore-at=2030-12-06"))
    assert "none: no test called it" in text


def test_a_wrong_date_is_a_usage_error(inner: Inner) -> None:
    result = inner(_NEEDS_GET_PET, "--petstore-at=tomorrow")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--petstore-at: expected a date such as '2030-12-06'" in result.stderr.str()


def test_a_negative_number_of_behaviours_is_a_usage_error(inner: Inner) -> None:
    result = inner("def test_it(petstore): pass", "--petstore-explore=-4")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "--petstore-explore: expected how many behaviours, 0 or more; got -4" in result.stderr.str()
