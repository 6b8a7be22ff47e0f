"""Other ways to run pytest: without the bodies of tests, with a part of the tests, in a debugger."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Inner

_BROKEN = """
    @pytest.fixture
    def planned(petstore):
        petstore.inject(503, on="createPet", times=1)
        petstore.httpserver.expect_ordered_request("/v1/store").respond_with_json([])
        call(petstore, path="/pets?lim=1")
        yield
        call(petstore, path="/pets?lim=2")

    def test_first(petstore, planned):
        raise RuntimeError("the body ran")

    def test_second(petstore, planned):
        raise RuntimeError("the body ran")
"""
_GOALS = (
    "--petstore-coverage-fail-under=90",
    "--petstore-mutants=2",
    "--petstore-mutants-fail-under=90",
    "--petstore-explore=2",
)


@pytest.mark.parametrize("mode", ["--setup-only", "--setup-plan", "--collect-only", "--fixtures", "--markers"])
@pytest.mark.parametrize("goals", [(), _GOALS])
def test_a_run_without_the_bodies_of_tests_verifies_nothing(inner: Inner, mode: str, goals: tuple[str, ...]) -> None:
    result = inner(_BROKEN, mode, *goals, settings="petstore_strict = true")
    assert result.ret == pytest.ExitCode.OK
    text = str(result.stdout)
    assert "ContractWarning" not in text
    assert "never fired" not in text
    assert "tests noticed" not in text
    assert "documented outcomes:" not in text


def test_the_plugin_can_be_switched_off(inner: Inner) -> None:
    inner("def test_it(): pass", "-p", "no:petstore_mock").assert_outcomes(passed=1)
    result = inner("def test_it(petstore): pass", "-p", "no:petstore_mock")
    result.assert_outcomes(errors=1)
    assert "fixture 'petstore' not found" in str(result.stdout)


@pytest.mark.parametrize("option", ["-x", "--maxfail=1"])
def test_a_run_that_stops_at_the_first_failure_shows_its_journal(inner: Inner, option: str) -> None:
    source = """
        def test_first(petstore):
            call(petstore)
            assert not "reached"

        def test_second(petstore):
            raise RuntimeError("this test must not start")
    """
    result = inner(source, option)
    result.assert_outcomes(failed=1)
    assert "1  GET /v1/pets  200" in str(result.stdout)


def test_only_the_tests_that_failed_run_again(inner: Inner, pytester: pytest.Pytester) -> None:
    source = """
        def test_passes(petstore):
            call(petstore)

        def test_plans(petstore):
            petstore.inject(503, times=1)
    """
    pytester.makepyfile(test_inner="")
    cached = ("-p", "cacheprovider")
    inner(source, *cached).assert_outcomes(passed=1, failed=1)
    inner(source, *cached, "--lf").assert_outcomes(failed=1)


def test_a_debugger_opens_at_a_failed_verification_and_at_the_line_of_a_misuse(inner: Inner) -> None:
    source = """
        def test_plans(petstore):
            petstore.inject(503, times=1)

        def test_misuse(petstore):
            petstore.inject(99)
    """
    debugger = """
        class Debugger:
            quitting = False
            def __init__(self, *arguments, **options): pass
            def reset(self): pass
            def interaction(self, frame, trace):
                while trace.tb_next is not None:
                    trace = trace.tb_next
                print("LINE", trace.tb_frame.f_code.co_name)
            def __getattr__(self, name): return lambda *arguments, **options: None
    """
    result = inner(source, "--pdb", "--pdbcls=debugger:Debugger", "-s", debugger=debugger)
    result.assert_outcomes(failed=2)
    assert "LINE test_misuse" in str(result.stdout)
    assert "never fired" in str(result.stdout)


_DEPRECATED = """
    def test_first(petstore):
        assert call(petstore, path="/pets/1")[0] == 404

    def test_second(petstore):
        assert call(petstore, path="/pets/2")[0] == 404
        call(petstore, path="/pets?lim=1")
"""


def test_a_run_warns_once_of_a_deprecated_operation_and_no_variant_repeats_a_warning(inner: Inner) -> None:
    result = inner(_DEPRECATED, "--petstore-explore=10", "--petstore-mutants=2")
    text = str(result.stdout)
    assert text.count("DeprecatedOperationWarning: the client called getPet") == 1
    assert text.count("ContractWarning: GET /v1/pets?lim=1") == 1


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ((), "petstore_deprecations = ignore"),
        (("-Wignore::petstore_mock.DeprecatedOperationWarning",), ""),
        (("-Werror::petstore_mock.DeprecatedOperationWarning",), "petstore_deprecations = ignore"),
    ],
)
def test_a_team_can_say_that_the_deprecated_call_is_known(
    inner: Inner, arguments: tuple[str, ...], settings: str
) -> None:
    result = inner(_DEPRECATED, *arguments, settings=settings)
    result.assert_outcomes(passed=2, warnings=1)
    assert "DeprecatedOperationWarning" not in str(result.stdout)


def test_the_filter_error_fails_each_test_that_calls_a_deprecated_operation(inner: Inner) -> None:
    inner(_DEPRECATED, "-Werror::petstore_mock.DeprecatedOperationWarning").assert_outcomes(failed=2)
    wrong = inner(_DEPRECATED, settings="petstore_deprecations = never")
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    assert "petstore_deprecations" in str(wrong.stderr)


_LAST_LINES = """
    from petstore_mock import PetStoreMock
    from petstore_mock.checks import watched
    from petstore_mock.stateful import check_client

    class Client:
        def __init__(self, petstore):
            self.petstore = petstore

        def list_pets(self):
            return [{"id": 1, "name": "Wrong", "categoryId": 1}]

    def test_machine():
        check_client(Client, max_examples=5)

    def test_misuse():
        PetStoreMock(strict="yes")

    def test_plans(petstore):
        petstore.inject(503, times=1)

    def test_asserts(petstore):
        petstore.journal.assert_called("listPets")
"""


@pytest.mark.seconds
def test_the_last_lines_begin_with_a_sentence_and_not_with_the_name_of_a_class(inner: Inner) -> None:
    text = str(inner(_LAST_LINES).stdout).partition("short test summary info")[2]
    lines = [line.partition(" - ")[2] for line in text.splitlines() if line.startswith("FAILED")]
    assert len(lines) == 4
    assert "petstore_mock" not in text
    assert lines[0].startswith(("list_pets()", "the client"))
    assert lines[1].startswith("expected ")
    assert lines[2].startswith("inject(")
    assert lines[3].startswith("expected listPets")
