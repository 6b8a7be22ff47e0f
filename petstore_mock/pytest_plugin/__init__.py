"""The pytest plugin: the fixture ``petstore``, its options and markers.

What pytest says of a run comes in by hooks; a world for each test, a verdict on what came to it, and the report of a
failure go out.

pytest imports this module in every run once the package is installed, used or not: it imports nothing else, and what
it does without (``activation`` and below) is loaded by the first test, option or setting that needs it.
What the options of the starting state mean is decided in this order, the first that says something wins:

1. the marker ``@pytest.mark.petstore(...)`` of a test,
2. the command line (``--petstore-at``, ``--petstore-random-seed``),
3. the fixture ``petstore_options``,
4. the environment (``PETSTORE_MOCK_API_KEY``, ``PETSTORE_MOCK_HOST``, ...),
5. the settings file (``petstore_api_key``, ``petstore_host``, ...).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from petstore_mock.mock.petstore import PetStoreMock

__all__ = ["petstore", "petstore_options"]

MARKERS = (
    (
        "petstore(behaviour=None, seed=None, at=None, strict=None): the starting state of this test's fake, on top "
        "of petstore_options: a Behaviour, preset or TOML file; more animals; its date; whether violations fail it."
    ),
    "petstore_each(*gaps): run the test once under each alternative of these gaps of the interface.",
    (
        "petstore_assumes(**gaps): the client is known to lean on these alternatives: the fake behaves so, "
        "exploration leaves them alone, and its summary lists them."
    ),
)


_PARTS = (
    "petstore_at",
    "petstore_coverage",
    "petstore_coverage_fail_under",
    "petstore_coverage_json",
    "petstore_explore",
    "petstore_mutants",
    "petstore_mutants_all",
    "petstore_mutants_fail_under",
    "petstore_mutants_json",
)
_STARTING_OPTIONS = ("petstore_at", "petstore_random_seed", "petstore_remote")
# Each may come from the environment as well: PETSTORE_MOCK_API_KEY for petstore_api_key.
SETTINGS = {
    "api_key": "A fixed API key, for clients of session scope",
    "host": "The address to listen on, 127.0.0.1 unless set",
    "port": "The port to listen on, a free one unless set",
    "behaviour": "A preset or a TOML file of gaps",
    "seed": "Animals of each test: how many, or a JSON file",
    "strict": "Whether contract violations fail the test",
    "control": "Whether the control door is open at petstore.control_url",
    "cors": "Origins whose pages may use it in a browser, or * for any",
    "tls": "Whether to listen with TLS",
    "remote": "The address of a stub that runs elsewhere, for the fixture to steer",
    "remote_token": "The control token of that stub",
    "remote_ca": "The file of the authority of that stub, where it speaks TLS (serve --tls-ca-out)",
    "leaks": "error, warn or ignore: requests of finished tests",
}
FLAGS = ("strict", "control", "tls")  # of these: true or false


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the group ``petstore`` and the settings."""
    group = parser.getgroup("petstore", "petstore: the fake pet store service")
    group.addoption(
        "--petstore-explore",
        type=int,
        default=0,
        metavar="N",
        help="Run each test that uses petstore as it is, then under N behaviours that differ in one gap each.",
    )
    group.addoption(
        "--petstore-mutants",
        metavar="N",
        help="Run each test that uses petstore as it is, then against N services, or all, that break one clause each.",
    )
    group.addoption(
        "--petstore-mutants-all",
        action="store_true",
        help="Run a mutant that a test has noticed in the further tests as well.",
    )
    group.addoption(
        "--petstore-mutants-fail-under",
        type=float,
        metavar="PERCENT",
        help="Fail the run if the tests noticed a smaller share of the mutants.",
    )
    group.addoption("--petstore-mutants-json", metavar="FILE", help="Write which mutants were noticed as JSON.")
    group.addoption(
        "--petstore-random-seed",
        type=int,
        metavar="S",  # no default: what was not said must not win over petstore_options
        help="What --petstore-explore and --petstore-mutants pick, and what the fake draws (default: 0).",
    )
    group.addoption(
        "--petstore-at",
        metavar="DATE",
        help="Run the suite at this date of the fake, such as 2030-12-06, and list the tests that still need getPet.",
    )
    group.addoption(
        "--petstore-remote",
        metavar="URL",
        help="Let the fixture steer a stub that runs elsewhere, at this address, by its control door: a world a test.",
    )
    group.addoption("--petstore-har", metavar="DIR", help="Write a HAR file of the requests of each failing test here.")
    group.addoption(
        "--petstore-html",
        metavar="DIR",
        help="Write a page for people on each failing test here: the report, the exchange as a picture, the requests.",
    )
    group.addoption(
        "--petstore-coverage",
        action="store_true",
        help="Tell at the end which documented outcomes and faults the tests showed to the client.",
    )
    group.addoption(
        "--petstore-coverage-fail-under",
        type=float,
        metavar="PERCENT",
        help="Fail the run if the tests showed a smaller share of the documented outcomes.",
    )
    group.addoption("--petstore-coverage-json", metavar="FILE", help="Write which outcomes were shown as JSON.")
    for name, text in SETTINGS.items():
        # Text, whatever it means: the same words may come from the environment.
        kind: Literal["string", "bool"] = "bool" if name in FLAGS else "string"
        parser.addini(f"petstore_{name}", f"{text} (or PETSTORE_MOCK_{name.upper()}).", type=kind)
    parser.addini(
        "petstore_assumes",
        "Gaps that the client is known to lean on, a line each: gap = alternative.",
        type="linelist",
    )


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(args: list[str], parser: pytest.Parser) -> Generator[None, object, object]:
    """Say which option a misspelt one may have meant: pytest does not. Conftests have added theirs by then."""
    result = yield
    if any(arg.startswith("--pe") for arg in args):
        from petstore_mock.pytest_plugin.options import refuse_misspelt  # noqa: PLC0415  # many runs do without

        refuse_misspelt(args, parser)
    return result


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and refuse options and settings that can't be right."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)
    asked = any(config.getoption(name) not in {None, False} for name in _PARTS)
    if asked or any(map(config.getini, ("petstore_assumes", "petstore_leaks"))) or "PETSTORE_MOCK_LEAKS" in os.environ:
        from petstore_mock.pytest_plugin.activation import isolation_of  # noqa: PLC0415  # many runs do without

        isolation_of(config)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which settings came from where: an environment may set some that nobody thinks of."""
    if not _says_something(config):
        return None
    from petstore_mock.pytest_plugin.options import report_header  # noqa: PLC0415  # many runs do without

    return report_header(config)


def _says_something(config: pytest.Config) -> bool:
    if any(name.startswith("PETSTORE_MOCK_") for name in os.environ):
        return True
    if any(config.getoption(name) is not None for name in _STARTING_OPTIONS):
        return True
    try:
        return any(config.getini(f"petstore_{name}") for name in SETTINGS)
    except (TypeError, ValueError, pytest.UsageError):  # one that can't be right, which is told where it is needed
        return True


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Multiply tests by the gaps of the interface, once all other parameters are known."""
    config = metafunc.config
    count, mutants = config.getoption("petstore_explore"), config.getoption("petstore_mutants")
    if count or mutants or metafunc.definition.get_closest_marker("petstore_each") is not None:
        from petstore_mock.pytest_plugin.exploration import multiply  # noqa: PLC0415  # as above
        from petstore_mock.pytest_plugin.options import assumed_gaps  # noqa: PLC0415  # as above

        seed = config.getoption("petstore_random_seed") or 0
        chosen: tuple[str, ...] = ()
        if mutants:
            from petstore_mock.pytest_plugin.mutants import choose  # noqa: PLC0415  # as above

            chosen = choose(mutants, seed)
        multiply(metafunc, count, seed, assumed_gaps(config), chosen)


@pytest.hookimpl(trylast=True)  # what -k and its like took out is not asked for
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Load the parts if a test has to do with the fixture, and find the markers that can't be right."""
    if any(map(_is_concerned, items)):
        from petstore_mock.pytest_plugin.activation import check, isolation_of  # noqa: PLC0415  # as above

        isolation_of(config)
        check(config, items)


def _is_concerned(item: pytest.Item) -> bool:
    """Return whether a test asks for the fixture, bears a marker of ours, or may ask for it in a Hypothesis example."""
    names = getattr(item, "fixturenames", ())
    return (
        "petstore" in names
        or any(mark.name.startswith("petstore") for mark in item.iter_markers())
        or ("request" in names and hasattr(getattr(item, "obj", None), "hypothesis"))
    )


_running: list[pytest.Item] = []  # the test that runs; one that runs pytest itself (pytester) has others inside


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Know the test that runs."""
    _running.append(item)
    try:
        return (yield)
    finally:
        _running.pop()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Verify a test whose body is the first of all to ask for the fixture: the part that would was not there yet."""
    __tracebackhide__ = True
    plugins = item.config.pluginmanager
    if plugins.hasplugin("petstore-worlds"):
        return (yield)
    try:
        result = yield
    except BaseException as error:
        if (isolation := plugins.get_plugin("petstore-worlds")) is not None:
            isolation.end_call(item, error)
        raise
    if (isolation := plugins.get_plugin("petstore-worlds")) is not None:
        isolation.end_call(item)
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:  # noqa: ANN401  # xdist's, which may not be installed
    """Take over what a worker of xdist has seen of finished tests: its controller runs none itself."""
    if found := (getattr(node, "workeroutput", None) or {}).get("petstore_leaks"):
        from petstore_mock.pytest_plugin.activation import leaks_of  # noqa: PLC0415  # as above

        leaks_of(node.config).take(found)


@pytest.fixture(scope="session")
def petstore_options() -> Mapping[str, Any]:
    """Keywords of ``PetStoreMock`` for the fixture ``petstore``: override it to give every test a starting state."""
    return {}


@pytest.fixture(scope="session")
def petstore(petstore_options: Mapping[str, Any]) -> Generator[PetStoreMock]:
    """Give a fake pet store service that listens on loopback, as new in each test and each Hypothesis example.
    Talk to it: url, api_key, headers; app, asgi and requests_session() in process.
    Set the scene: seed(name="Rex"), seed_many(300), update(), remove(), configure(list_order="by_name"), clock.
    Break the answer: inject(503, on="listPets", times=1), inject(faults.reset(), at="after_commit"), revoke_key().
    Look back: pets, journal.assert_called("createPet", times=1, name="Rex"), journal.last, expect_violation().
    """  # noqa: D205  # `pytest --fixtures` shows the first paragraph alone
    from petstore_mock.pytest_plugin.activation import isolation_of  # noqa: PLC0415  # as above
    from petstore_mock.pytest_plugin.options import start_mock  # noqa: PLC0415  # as above

    # Not by `request`: pytest makes one for each test whose fixtures ask for it, even for those that are made once.
    item = _running[-1]
    isolation = isolation_of(item.config)
    isolation.meet(item)
    mock = start_mock(item.config, petstore_options)
    with isolation.open(mock):
        yield cast("PetStoreMock", mock)  # or what has its face, over a stub elsewhere
