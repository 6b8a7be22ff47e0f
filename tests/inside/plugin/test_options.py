"""Where the starting state comes from: markers, command line, ``petstore_options``, environment, settings."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest

from petstore_mock.pytest_plugin import FLAGS, SETTINGS
from tests.platforms import LOOPBACK_NETWORK

if TYPE_CHECKING:
    from collections.abc import Callable

    Inner = Callable[..., pytest.RunResult]
    Output = Callable[[pytest.RunResult], str]


@LOOPBACK_NETWORK
def test_settings_give_the_starting_state(inner: Inner, pytester: pytest.Pytester) -> None:
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


def test_pytest_can_leave_the_plugin_out(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(petstore): pass")
    result = pytester.runpytest_subprocess("-p", "no:petstore_mock")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*fixture 'petstore' not found*"])


def test_file_of_a_behaviour_needs_no_suffix(inner: Inner, pytester: pytest.Pytester) -> None:
    (pytester.path / "mine").write_text('list_order = "by_name"\n')
    source = """
        def test_it(petstore):
            assert petstore.behaviour.list_order == "by_name"
    """
    inner(source, settings="petstore_behaviour = mine").assert_outcomes(passed=1)


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


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        (
            "PETSTORE_MOCK_PORT",
            "http",
            "expected a whole number of at least 0 in the environment variable PETSTORE_MOCK_PORT",
        ),
        pytest.param(
            "PETSTORE_MOCK_PORT",
            "9" * 5000,
            "of at least 0 in the environment variable PETSTORE_MOCK_PORT",
            id="huge_port",
        ),
        ("PETSTORE_MOCK_SEED", "-1", "expected a number of animals from 0 to 10,000,000; got seed=-1"),
        pytest.param(
            "PETSTORE_MOCK_SEED", "9" * 5000, "from 0 to 10,000,000; got seed=a larger number", id="huge_seed"
        ),
        (
            "PETSTORE_MOCK_STRICT",
            "maybe",
            "expected true or false (yes, on, 1 or no, off, 0) in the environment variable PETSTORE_MOCK_STRICT",
        ),
        ("PETSTORE_MOCK_CORS", "http://shop.example/", "as browsers write it"),
        ("PETSTORE_MOCK_BEHAVIOUR", "hostil", "Did you mean 'hostile'?"),
    ],
)
def test_a_wrong_setting_says_where_it_stands(
    inner: Inner, output: Output, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    result = inner("def test_it(petstore): pass")
    result.assert_outcomes(errors=1)
    text = output(result)
    assert message in text
    assert f"the environment variable {variable}" in text
    assert "pytest_plugin.py" not in text, "a traceback into the plugin tells nobody anything"


def test_what_a_client_reads_from_the_environment_is_not_ours(inner: Inner, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PETSTORE_HOST": "petstore.example.com",
        "PETSTORE_PORT": "nonsense",
        "PETSTORE_API_KEY": "the key of the client",
        "PETSTORE_LEAKS": "nonsense",
        "PETSTORE_MOCK_PORT": "tcp://10.0.0.1:8080",  # what Kubernetes says of a service called petstore-mock
    }.items():
        monkeypatch.setenv(name, value)
    source = """
        def test_it(petstore):
            assert petstore.url.startswith("http://127.0.0.1:")
            assert petstore.api_key != "the key of the client"
    """
    result = inner(source)
    result.assert_outcomes(passed=1)
    assert not any(line.startswith("petstore-mock:") for line in result.outlines)


def test_the_header_says_which_settings_came_from_where(inner: Inner, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_header_tells_of_every_setting(inner: Inner, output: Output) -> None:
    values = {**dict.fromkeys(FLAGS, "true"), "leaks": "warn"}
    settings = "\n".join(f"petstore_{name} = {values.get(name, 'some')}" for name in SETTINGS)
    text = output(inner("def test_it(): pass", settings=settings))
    assert text.count(" from the setting petstore_") == len(SETTINGS)


@pytest.mark.parametrize(
    ("settings", "arguments", "expected"),
    [
        ("", (), []),
        ("petstore_seed = 1", (), ["petstore-mock: seed=1 from the setting petstore_seed"]),
        ("", ("--petstore-random-seed=7",), ["petstore-mock: random_seed=7 from --petstore-random-seed"]),
        ("petstore_strict = maybe", (), []),
    ],
)
def test_the_header_has_a_line_of_ours_only_where_there_is_something_to_say(
    inner: Inner, settings: str, arguments: tuple[str, ...], expected: list[str]
) -> None:
    result = inner("def test_it(): pass", *arguments, settings=settings)
    result.assert_outcomes(passed=1)
    assert [line for line in result.outlines if line.startswith("petstore-mock")] == expected


def test_options_that_can_not_be_say_where_each_comes_from(
    inner: Inner, output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PETSTORE_MOCK_API_KEY", "the-key-of-the-team")
    source = """
        @pytest.fixture(scope="session")
        def petstore_options():
            return {"port": 99999}

        def test_it(petstore): pass
    """
    result = inner(source, "--petstore-at=2030-01-01", settings="petstore_seed = 1")
    result.assert_outcomes(errors=1)
    text = output(result)
    assert "petstore: expected a port from 0 to 65535; got host='127.0.0.1', port=99999\n" in text
    assert (
        "(api_key comes from the environment variable PETSTORE_MOCK_API_KEY; "
        "seed comes from the setting petstore_seed; port comes from petstore_options; at comes from --petstore-at)\n"
    ) in text
    assert "the-key-of-the-team" not in text
    assert "pytest_plugin.py" not in text


@pytest.mark.untraced
def test_a_port_that_another_worker_has_says_so(inner: Inner, output: Output) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = inner("def test_it(petstore): pass", "-n1", settings=f"petstore_port = {port}")
    result.assert_outcomes(errors=1)
    text = output(result)
    assert f"petstore: expected a free port to listen on; got host='127.0.0.1', port={port}" in text
    assert ". Each worker of pytest-xdist has a fake of its own, and needs a port of its own" in text
    assert "(port comes from the setting petstore_port)" in text


def test_a_truth_value_that_is_none_names_its_setting(inner: Inner, output: Output) -> None:
    result = inner("def test_it(petstore): pass", settings="petstore_strict = maybe")
    result.assert_outcomes(errors=1)
    assert (
        "petstore: expected true or false (yes, on, 1 or no, off, 0) in the setting petstore_strict: "
        "invalid truth value 'maybe'"
    ) in output(result)


def test_unknown_options_name_the_right_ones(inner: Inner, output: Output) -> None:
    result = inner(_SHOWS_SEED.format(options={"behavior": "hostile"}, expected=0))
    result.assert_outcomes(errors=1)
    assert "petstore: expected keywords of PetStoreMock, from host, port" in output(result)
    assert "got 'behavior'. Did you mean 'behaviour'?" in output(result)
    assert "(behavior comes from petstore_options)" in output(result)


# What pytest 7.4 and 8.0 warn of whenever they refuse an option.
_OLDER_PYTEST = pytest.mark.filterwarnings("default::pluggy.PluggyTeardownRaisedWarning")


@_OLDER_PYTEST
@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--petstore-explor=3", "--petstore-explore"),
        ("--pestore-har", "--petstore-har"),
        ("--petstore-api-key=secret-key", "-o petstore_api_key=..."),
    ],
)
def test_a_misspelt_option_names_the_right_one(inner: Inner, option: str, meant: str) -> None:
    result = inner("def test_it(petstore): pass", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"Did you mean '{meant}'?" in result.stderr.str()
    assert "secret-key" not in result.stderr.str()


@_OLDER_PYTEST
def test_an_option_of_nobody_is_left_to_pytest(inner: Inner) -> None:
    result = inner("def test_it(petstore): pass", "--performance")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "unrecognized arguments: --performance" in result.stderr.str()


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


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("petstore(behavior='hostile')", "expected keywords of behaviour, seed, at, strict; got 'behavior'"),
        ("petstore('hostile')", "expected keywords only, of behaviour, seed, at, strict"),
        ("petstore(strict='no')", "expected strict to be True or False; got strict='no'"),
        ("petstore_assumes(list_ordr='by_name')", "Did you mean 'list_order'?"),
        ("petstore_assumes('list_order')", 'expected keywords, gap="alternative"'),
    ],
)
def test_a_wrong_mark_fails_its_own_test_alone(inner: Inner, output: Output, mark: str, message: str) -> None:
    source = f"""
        @pytest.mark.{mark}
        def test_it(petstore): raise RuntimeError("it has no starting state")

        def test_other(petstore): pass
    """
    result = inner(source)
    result.assert_outcomes(passed=1, errors=1)
    text = output(result)
    assert message in text
    assert f"@pytest.mark.{mark.partition('(')[0]} of test_inner.py::test_it: " in text
    assert "RuntimeError" not in text
    assert "pytest_plugin" not in text, "a traceback into the plugin tells nobody anything"


@pytest.mark.parametrize("option", ["--collect-only", "--fixtures", "--fixtures-per-test", "--petstore-explore=2"])
def test_a_wrong_mark_is_in_the_way_of_no_listing(inner: Inner, output: Output, option: str) -> None:
    source = """
        @pytest.mark.petstore(seeds=3)
        @pytest.mark.petstore_each("list_ordr")
        @pytest.mark.petstore_assumes(list_ordr="by_name")
        def test_wrong(petstore): pass

        def test_right(petstore): pass
    """
    result = inner(source, option, "-v", test_other=_TWO_MODULES["test_other"])
    assert not result.stderr.str()
    assert ("petstore_options" if option == "--fixtures" else "test_right") in output(result)
    listing = option != "--petstore-explore=2"
    assert result.ret == (pytest.ExitCode.OK if listing else pytest.ExitCode.TESTS_FAILED)


def test_every_mistake_in_the_marks_of_a_test_is_told(inner: Inner, output: Output) -> None:
    source = """
        @pytest.mark.petstore(seeds=3)
        @pytest.mark.petstore_each("list_ordr")
        @pytest.mark.petstore_assumes(list_ordr="by_name")
        def test_wrong(petstore): pass
    """
    result = inner(source)
    result.assert_outcomes(errors=1)
    for name in ("petstore", "petstore_each", "petstore_assumes"):
        assert f"@pytest.mark.{name} of test_inner.py::test_wrong: expected" in output(result)


def test_no_fixture_of_a_test_with_a_wrong_mark_meets_the_world_of_another(inner: Inner) -> None:
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


@pytest.mark.untraced
def test_a_wrong_mark_is_told_under_xdist(inner: Inner, output: Output) -> None:
    """xdist answers a usage error of a worker with an internal error that says nothing."""
    result = inner("@pytest.mark.petstore(sed=3)\ndef test_it(petstore): pass", "-n1")
    result.assert_outcomes(errors=1)
    assert "expected keywords of behaviour, seed, at, strict; got 'sed'. Did you mean 'seed'?" in output(result)


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


def test_options_of_one_module_among_several_are_refused(inner: Inner, output: Output) -> None:
    """The session's fake is made once: whichever module came second would find the options of the first."""
    result = inner(**_TWO_MODULES)
    result.assert_outcomes(passed=1, errors=1)
    message = "got another for test_other.py::test_other than for test_inner.py::test_it: put it into the conftest.py"
    assert message in output(result)


def test_options_of_the_only_module_that_runs_are_good(inner: Inner) -> None:
    result = inner(_TWO_MODULES["source"], "-k", "test_other", test_other=_TWO_MODULES["test_other"])
    result.assert_outcomes(passed=1, deselected=1)


def test_options_that_are_no_mapping_say_so(inner: Inner, output: Output) -> None:
    result = inner(_SHOWS_SEED.format(options=None, expected=0))
    result.assert_outcomes(errors=1)
    assert "petstore_options: expected a dict of keywords of PetStoreMock; got None" in output(result)


def test_a_wrong_value_of_a_mark_errs_at_its_test_only(inner: Inner, output: Output) -> None:
    result = inner(
        """
        @pytest.mark.petstore(behaviour="hostil")
        def test_wrong(petstore): pass

        def test_right(petstore): pass

        @pytest.mark.petstore(seed=-1)
        def test_wrong_again(petstore): pass
        """
    )
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.re_match_lines(
        [
            r"_+ ERROR at setup of test_wrong _+",
            r"@pytest.mark.petstore of test_inner.py::test_wrong: expected a preset, .*Did you mean 'hostile'\?",
            r"_+ ERROR at setup of test_wrong_again _+",
            r"@pytest.mark.petstore of test_inner.py::test_wrong_again: expected a number of animals .*; got seed=-1",
            r"=+ short test summary info =+",
        ],
        consecutive=True,
    )
    result = inner(
        """
        @pytest.mark.petstore(seed=-1)
        def test_by_name(request):
            request.getfixturevalue("petstore")

        def test_right(petstore): pass
        """
    )
    result.assert_outcomes(passed=1, failed=1)
    assert "@pytest.mark.petstore of test_inner.py::test_by_name: expected a number" in output(result)
    assert "Traceback" not in output(result)
    assert "petstore_mock/" not in output(result)


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="[tool.pytest] is new in pytest 9")
def test_settings_of_native_toml_are_text_but_for_two(pytester: pytest.Pytester, inner: Inner) -> None:
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
            assert petstore.tenant.strict
        """
    ).assert_outcomes(passed=1)


def test_options_and_markers_are_documented(inner: Inner, output: Output) -> None:
    text = output(inner("", "--help"))
    assert "petstore: the fake pet store service:" in text
    for option in (
        "--petstore-explore=N",
        "--petstore-at=DATE",
        "--petstore-har=DIR",
        "--petstore-html=DIR",
        "--petstore-coverage",
    ):
        assert option in text
    text = output(inner("", "--markers"))
    for marker in ("petstore(behaviour=None,", "petstore_each(*gaps)", "petstore_assumes(**gaps)"):
        assert f"@pytest.mark.{marker}" in text


def test_assumptions_hold_without_exploration(inner: Inner) -> None:
    source = """
        @pytest.mark.petstore_assumes(status_when_omitted="sold")
        def test_it(petstore):
            assert petstore.behaviour.status_when_omitted == "sold"
            assert petstore.behaviour.list_order == "by_name"
    """
    inner(source, settings="petstore_assumes =\n    list_order = by_name").assert_outcomes(passed=1)
    result = inner(source, settings="petstore_assumes = list_order")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected gap = alternative in each line of petstore_assumes; got 'list_order'*"])


def test_origins_of_pages_are_a_setting(inner: Inner, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        import urllib.request

        def test_it(petstore):
            request = urllib.request.Request(f"{petstore.url}/pets", headers={**petstore.headers, "Origin": "http://b.example"})
            with urllib.request.urlopen(request, timeout=10) as answer:
                assert answer.headers["Access-Control-Allow-Origin"] == "http://b.example"
    """
    inner(source, settings="petstore_cors = http://a.example http://b.example").assert_outcomes(passed=1)
    monkeypatch.setenv("PETSTORE_MOCK_CORS", "http://a.example")
    inner(source, settings="petstore_cors = http://b.example").assert_outcomes(failed=1)


def test_tls_is_a_setting(inner: Inner, output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    source = """
        import urllib.request

        def test_it(petstore):
            assert petstore.url.startswith("https://127.0.0.1:")
            request = urllib.request.Request(f"{petstore.url}/pets", headers=petstore.headers)
            with urllib.request.urlopen(request, context=petstore.tls.client_context(), timeout=10) as answer:
                assert answer.status == 200
    """
    inner(source, settings="petstore_tls = true").assert_outcomes(passed=1)
    monkeypatch.setenv("PETSTORE_MOCK_TLS", "off")
    inner(source, settings="petstore_tls = true").assert_outcomes(failed=1)
    monkeypatch.setenv("PETSTORE_MOCK_TLS", "perhaps")
    assert "PETSTORE_MOCK_TLS" in output(inner(source))


def test_a_failing_test_shows_the_handshakes_that_failed(inner: Inner, output: Output) -> None:
    source = """
        import socket, ssl
        from petstore_mock import faults

        def test_it(petstore):
            petstore.inject(faults.tls.expired())
            host, port = petstore.httpserver.host, petstore.httpserver.port
            with socket.create_connection((host, port), 10) as raw:
                petstore.tls.client_context().wrap_socket(raw, server_hostname=host)

        def test_that_it_must_be_met(petstore):
            petstore.inject(faults.tls.expired())
    """
    result = inner(source, settings="petstore_tls = true")
    result.assert_outcomes(failed=2)
    text = output(result)
    assert "fault expired(): TLS handshake of connection 1: " in text
    assert "inject(tls.expired()) never fired: no connection met it" in text
