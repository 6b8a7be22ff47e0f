"""The sources of the starting state: markers, command line, ``petstore_options``, environment and settings."""

from __future__ import annotations

import json
import re

import pytest

from tests.platforms import LOOPBACK_NETWORK
from tests.plugin.conftest import Inner


@LOOPBACK_NETWORK
def test_settings_set_the_starting_state(inner: Inner, pytester: pytest.Pytester) -> None:
    (pytester.path / "animals.json").write_text(json.dumps([{"id": 7, "name": "Rex", "categoryId": 1}]))
    (pytester.path / "gaps.toml").write_text('list_order = "by_name"\n')
    settings = """
petstore_api_key = a-fixed-key
petstore_host = 127.0.0.2
petstore_port = 0
petstore_behaviour = gaps.toml
petstore_seed = animals.json
petstore_strict = true
"""
    source = """
        def test_it(petstore):
            assert petstore.api_key == "a-fixed-key"
            assert petstore.url.startswith("http://127.0.0.2:")
            assert petstore.behaviour.list_order == "by_name"
            assert petstore.pets == [{"id": 7, "name": "Rex", "categoryId": 1}]
            with petstore.expect_violation():
                call(petstore, path="/pets?lim=1")
    """
    inner(source, settings=settings).assert_outcomes(passed=1)


@pytest.mark.parametrize("setting", ["behaviour = sub/nope.toml", "behaviour = nope.toml", "seed = nope.json"])
def test_the_error_of_a_missing_file_shows_its_path_in_the_folder_of_the_settings(
    inner: Inner, pytester: pytest.Pytester, setting: str
) -> None:
    shown = str(inner("def test_it(petstore): pass", settings=f"petstore_{setting}").stdout)
    assert str(pytester.path / setting.rpartition(" ")[2]) in shown.partition("= ERRORS =")[2]


def test_a_preset_and_a_number_win_over_files_of_the_same_name(inner: Inner, pytester: pytest.Pytester) -> None:
    for name in ("lenient", "20"):
        (pytester.path / name).write_text("[]")
    source = """
        def test_it(petstore):
            assert petstore.behaviour.unknown_query == "ignore"
            assert len(petstore.pets) == 20
    """
    inner(source, settings="petstore_behaviour = lenient\npetstore_seed = 20").assert_outcomes(passed=1)


_SHOWS_SEED = """
    @pytest.fixture(scope="session")
    def petstore_options():
        return {options}

    def test_it(petstore):
        assert len(petstore.pets) == {expected}
"""


def test_the_environment_wins_over_settings_and_options_over_both(
    inner: Inner, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = "petstore_seed = 1"
    inner(_SHOWS_SEED.format(options={}, expected=1), settings=settings).assert_outcomes(passed=1)
    monkeypatch.setenv("PETSTORE_MOCK_SEED", "2")
    inner(_SHOWS_SEED.format(options={}, expected=2), settings=settings).assert_outcomes(passed=1)
    inner(_SHOWS_SEED.format(options={"seed": 3}, expected=3), settings=settings).assert_outcomes(passed=1)


def test_the_command_line_wins_over_options(inner: Inner) -> None:
    source = """
        @pytest.fixture(scope="session")
        def petstore_options():
            return {"at": "2029-01-01", "random_seed": 1}

        def test_it(petstore):
            petstore.configure(id_assignment="random_int64")
            print("drawn:", petstore.clock.now() // 86400, petstore.seed()["id"])
    """
    starts = set()
    for arguments in [
        (),
        ("--petstore-at=",),
        ("--petstore-random-seed=1",),
        ("--petstore-random-seed=0",),
        ("--petstore-at=2030-01-01",),
    ]:
        result = inner(source, "-s", *arguments)
        result.assert_outcomes(passed=1)
        starts.add(next(line for line in result.outlines if "drawn:" in line))
    assert len(starts) == 3


def test_the_header_shows_the_source_of_each_setting(inner: Inner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETSTORE_MOCK_API_KEY", "the-key-of-the-team")
    monkeypatch.setenv("PETSTORE_MOCK_SEED", "2")
    result = inner(
        "def test_it(): pass",
        "--petstore-at=2030-12-06",
        settings="petstore_seed = 1\npetstore_strict = true\npetstore_leaks = warn",
    )
    result.assert_outcomes(passed=1)
    assert (
        "petstore-mock: api_key=***team from the environment variable PETSTORE_MOCK_API_KEY; "
        "seed=2 from the environment variable PETSTORE_MOCK_SEED; strict=True from the setting petstore_strict; "
        "leaks=warn from the setting petstore_leaks; at=2030-12-06 from --petstore-at"
    ) in result.outlines


_MARKED = """
    from petstore_mock import Behaviour

    @pytest.fixture(scope="session")
    def petstore_options():
        return {"seed": 2, "behaviour": "helpful"}

    @pytest.mark.petstore(seed=[{"name": "Extra"}], behaviour="hostile", at="2030-12-06")
    class TestMarked:
        def test_class_mark(self, petstore):
            assert len(petstore.pets) == 3
            assert "Extra" in [pet["name"] for pet in petstore.pets]
            assert petstore.behaviour == Behaviour.preset("hostile")
            assert petstore.clock.moment.year == 2030

        @pytest.mark.petstore(behaviour=Behaviour(list_order="by_name"))
        def test_nearest_mark_wins(self, petstore):
            assert petstore.behaviour == Behaviour(list_order="by_name")
            assert len(petstore.pets) == 3

        def test_reset_returns_to_the_marked_state(self, petstore):
            petstore.seed()
            petstore.configure(list_order="by_name")
            petstore.clock.travel_to("2040-01-01")
            petstore.reset()
            assert len(petstore.pets) == 3
            assert petstore.behaviour == Behaviour.preset("hostile")
            assert petstore.clock.moment.year == 2030

    def test_unmarked(petstore):
        assert len(petstore.pets) == 2
        assert petstore.behaviour == Behaviour.preset("helpful")
        assert petstore.clock.moment.year != 2030
"""


def test_marks_change_the_starting_state_of_a_test(inner: Inner) -> None:
    inner(_MARKED, "--strict-markers").assert_outcomes(passed=4)


def test_fixtures_of_a_test_with_a_wrong_mark_do_not_change_the_world_of_another_test(inner: Inner) -> None:
    source = """
        @pytest.fixture
        def seeded(petstore):
            petstore.inject(503, times=1)

        def test_first(petstore): pass

        @pytest.mark.petstore(behaviour="hostil")
        def test_wrong(seeded): pass

        @pytest.mark.skip
        @pytest.mark.petstore(seeds=3)
        def test_skipped(seeded): pass

        def test_last(petstore): assert call(petstore)[0] == 200
    """
    inner(source).assert_outcomes(passed=2, errors=1, skipped=1)


_TWO_MODULES = {
    "source": "def test_it(petstore): assert petstore.pets == []",
    "test_other": """
        import pytest

        @pytest.fixture(scope="session")
        def petstore_options():
            return {"seed": 1}

        def test_other(petstore): assert len(petstore.pets) == 1
    """,
}


def test_options_of_one_module_among_several_are_refused(inner: Inner) -> None:
    """The session has one fake, so the second module would get the options of the first."""
    result = inner(**_TWO_MODULES)
    result.assert_outcomes(passed=1, errors=1)
    assert "test_other.py::test_other: expected one petstore_options for all tests" in str(result.stdout)


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="[tool.pytest] is new in pytest 9")
def test_settings_of_native_toml_are_text_except_flags_and_assumptions(pytester: pytest.Pytester, inner: Inner) -> None:
    pytester.makefile(
        ".toml",
        pytest="""
            [pytest]
            asyncio_default_fixture_loop_scope = "function"
            petstore_port = "0"
            petstore_seed = "3"
            petstore_strict = true
            petstore_assumes = ["list_order = by_name"]
        """,
    )
    inner(
        """
        def test_it(petstore):
            assert len(petstore.pets) == 3
            assert petstore.behaviour.list_order == "by_name"
            with petstore.expect_violation():
                call(petstore, path="/pets?lim=1")
        """
    ).assert_outcomes(passed=1)


def test_the_fake_follows_known_assumptions_also_without_exploration(inner: Inner) -> None:
    source = """
        @pytest.mark.petstore_assumes(status_when_omitted="sold")
        def test_it(petstore):
            assert petstore.behaviour.status_when_omitted == "sold"
            assert petstore.behaviour.list_order == "by_name"
    """
    inner(source, settings="petstore_assumes =\n    list_order = by_name").assert_outcomes(passed=1)
    result = inner(source, settings="petstore_assumes = list_order")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected GAP=VALUE, such as *=*; got petstore_assumes=*"])


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("PORT", "http", "a whole number"),
        ("PORT", "99999", "expected a port from 0 to 65535; got port=99999"),
        ("SEED", "-1", "expected a number of animals"),
        ("STRICT", "maybe", "expected true or false"),
        ("BEHAVIOUR", "hostil", "did you mean 'hostile'?"),
    ],
)
def test_the_error_of_a_wrong_setting_names_its_source(
    inner: Inner, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(f"PETSTORE_MOCK_{variable}", value)
    result = inner("def test_it(petstore): pass")
    result.assert_outcomes(errors=1)
    assert words in str(result.stdout)
    assert f"from the environment variable PETSTORE_MOCK_{variable}" in str(result.stdout).partition("= ERRORS =")[2]
    assert "pytest_plugin" not in str(result.stdout), "no traceback into the plugin"


MARKS = {
    "petstore(behavior='hostile')": "did you mean 'behaviour'?",
    "petstore('hostile')": "expected keyword arguments only",
    "petstore(strict='no')": "expected True or False; got strict='no'",
    "petstore(behaviour='hostil')": "did you mean 'hostile'?",
    "petstore(seed=-1)": "got seed=-1",
    "petstore_assumes(list_ordr='by_name')": "did you mean 'list_order'?",
    "petstore_assumes('list_order')": 'expected keyword arguments gap="alternative"',
}


@pytest.mark.parametrize("is_first", [True, False])
def test_a_wrong_mark_fails_only_its_own_test(inner: Inner, *, is_first: bool) -> None:
    wrong = [
        f"@pytest.mark.{mark}\ndef test_{number}(petstore): raise RuntimeError('this test must not start')"
        for number, mark in enumerate(MARKS)
    ]
    right = "def test_right(petstore): pass"
    result = inner("\n\n".join([*wrong, right] if is_first else [right, *wrong]))
    result.assert_outcomes(passed=1, errors=len(MARKS))
    reports = re.split(r"\n_+ ERROR at setup of test_\d _+\n", str(result.stdout))[1:]
    for number, (words, report) in enumerate(zip(MARKS.values(), reports, strict=True)):
        assert words in report
        assert f"the options and marks of test_inner.py::test_{number}: " in report
    assert "RuntimeError" not in str(result.stdout)
    assert "pytest_plugin" not in str(result.stdout)
    assert inner("\n\n".join(wrong), "--collect-only").ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    ("given", "words"), [({"behavior": "hostile"}, "did you mean 'behaviour'?"), (None, "petstore_options=None")]
)
def test_wrong_options_fail_the_test_with_a_message(inner: Inner, given: object, words: str) -> None:
    result = inner(_SHOWS_SEED.format(options=given, expected=0))
    result.assert_outcomes(errors=1)
    assert words in str(result.stdout)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("--petstore-explor", "--petstore-explore"),
        ("--petstore-seed", "-o petstore_seed=..."),
        ("--petstore-key", "-o petstore_api_key=..."),
    ],
)
def test_misspelt_option_names_the_nearest_one(inner: Inner, name: str, place: str) -> None:
    result = inner("def test_one(petstore): pass", name, "3")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"unknown option {name} (did you mean '{place}'?)" in str(result.stderr)


def test_misspelt_setting_and_variable_name_the_nearest_ones(inner: Inner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETSTORE_MOCK_SEEDS", "3")
    result = inner("def test_one(petstore): pass", settings="petstore_strikt = true")
    result.assert_outcomes(passed=1, warnings=3)  # pytest's own warning of the setting is the third
    printed = result.stdout.str()
    assert "unknown setting petstore_strikt (did you mean 'petstore_strict'?)" in printed
    assert "unknown environment variable PETSTORE_MOCK_SEEDS; did you mean PETSTORE_MOCK_SEED?" in printed


def test_setting_allows_pages_of_other_origins(inner: Inner) -> None:
    source = """
        def test_one(petstore):
            assert petstore.service.host.cors.origins == ("http://a.example", "*")
    """
    inner(source, settings="petstore_cors = http://a.example, *").assert_outcomes(passed=1)
