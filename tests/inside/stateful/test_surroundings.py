"""What clients meet in the environment of their process: proxies, a netrc file, an IPv6 address."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import seed, settings

from petstore_mock import Behaviour
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful import check_client, client_machine, environment, surroundings
from petstore_mock.stateful.scenario import Scenario
from petstore_mock.stateful.search import find_bug, machine_settings
from petstore_mock.stateful.steps import CreatePet, GetKnown, ListPets, Redirect, Step, Switch
from petstore_mock.stateful.surroundings import DEFAULT_ENVIRONMENTS, ENVIRONMENTS
from tests.clients.shapes import AiohttpBlock
from tests.clients.surroundings import (
    BUGGY,
    CORRECT,
    DateInTheLocale,
    HostWithoutBrackets,
    NetrcWins,
    PortAfterFirstColon,
    WithoutEnvironment,
    make_surrounded,
)
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = leavings.EXPECTED

SETTINGS = settings(database=None)
STEPS: tuple[Step, ...] = (
    ListPets(),
    CreatePet(),
    GetKnown(),
    Redirect(),
    Redirect(307, "getPet", "elsewhere"),
    Switch(),
    CreatePet(),
)
TRACED = (HostWithoutBrackets, PortAfterFirstColon, DateInTheLocale)  # each is told of in a way of its own
KEPT = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "NETRC")


@pytest.fixture(autouse=True)
def _german(monkeypatch: pytest.MonkeyPatch, locales: Path | None) -> None:
    """Have a locale that is not English, whatever is installed."""
    if locales is not None:
        monkeypatch.setenv("LOCPATH", str(locales))


@pytest.fixture(scope="session")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """Return where a German locale is that was made for these tests; None where none has to be made, or can be."""
    path = tmp_path_factory.mktemp("locales")
    localedef = shutil.which("localedef")
    if surroundings.is_there("locale") or localedef is None:
        return None
    command = [localedef, "-i", "de_DE", "-f", "UTF-8", str(path / "de_DE.UTF-8")]
    made = subprocess.run(command, check=False, capture_output=True)  # it warns as well, and says so by its status
    return path if made.returncode == 0 else None


def need(where: str) -> None:
    if where == "locale" and not surroundings.is_there("locale"):
        pytest.skip("no locale but English ones is installed, nor what makes one (apt-get install locales)")


@pytest.mark.untraced
@pytest.mark.parametrize("where", ["ipv6", "proxies", "netrc", "locale"])
@pytest.mark.parametrize("client", [*CORRECT, AiohttpBlock])
def test_who_takes_the_environment_as_it_is_passes(
    client: Any,  # noqa: ANN401  # a class
    where: str,
) -> None:
    need(where)
    before = {name: os.environ.get(name) for name in KEPT}
    machine = client_machine(make_surrounded(client))
    with machine.run, machine.run.waiting.unlimited():
        assert machine.replay(Scenario(Behaviour(), STEPS, environment=where)) is None
    assert {name: os.environ.get(name) for name in KEPT} == before
    assert time.strftime("%a", time.gmtime(0)) == "Thu"


@pytest.mark.untraced
@pytest.mark.parametrize("client", [*CORRECT, AiohttpBlock])
def test_no_false_alarm_in_any_environment(client: Any) -> None:  # noqa: ANN401  # a class
    check_client(make_surrounded(client), environment=ENVIRONMENTS, max_examples=15, settings=SETTINGS)


@pytest.mark.parametrize(
    "client", [one if one in TRACED else pytest.param(one, marks=pytest.mark.untraced) for one in BUGGY]
)
def test_who_does_not_is_found_and_the_environment_is_named(client: Any) -> None:  # noqa: ANN401  # a class
    make_client, where = make_surrounded(client), BUGGY[client]
    need(where)
    machine = seed(0)(client_machine(make_client, environment=ENVIRONMENTS))
    found = find_bug(machine, machine_settings(SETTINGS, 200)).bug
    assert found is not None
    assert ENVIRONMENTS[where] in found.sentence
    assert ("host='::1'" if where == "ipv6" else f"with environment('{where}'), PetStoreMock(") in found.test
    assert raised_by(found.test, make_client) is not None, found.test
    for correct in [AiohttpBlock] if issubclass(client, AiohttpBlock) else CORRECT:
        assert raised_by(found.test, make_surrounded(correct)) is None, found.test


@pytest.mark.untraced
def test_a_netrc_file_is_met_by_those_alone_who_ask_for_it() -> None:
    assert "netrc" not in DEFAULT_ENVIRONMENTS
    check_client(make_surrounded(NetrcWins), max_examples=25, settings=SETTINGS)


@pytest.mark.untraced
def test_what_is_not_named_is_not_met() -> None:
    for client in BUGGY:
        check_client(make_surrounded(client), environment=(), max_examples=3, settings=SETTINGS)


def test_a_misspelt_environment_is_told_with_the_nearest() -> None:
    with pytest.raises(PetStoreMockError, match=r"got 'proxy'\. Did you mean 'proxies'\?"):
        check_client(make_surrounded(WithoutEnvironment), environment=["proxy"])
    for other in ("ipv4", "ipv6", "time_zone"):  # a block makes no address, and time_zone() is another one
        with (
            pytest.raises(PetStoreMockError, match=f"some of locale, netrc, proxies; got '{other}'"),
            environment(other),
        ):
            pass


def test_a_locale_that_is_not_there_is_told_and_not_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surroundings, "_LOCALES", ("xx_XX.UTF-8",))
    with pytest.raises(PetStoreMockError, match="got none that is installed"), environment("locale"):
        pass
    assert surroundings.in_environment(6 * 12, ["locale"]) is None


def test_a_block_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid")
    monkeypatch.delenv("NETRC", raising=False)
    with environment("proxies", "netrc"):
        assert os.environ["HTTP_PROXY"] != "http://proxy.invalid"
        path = os.environ["NETRC"]
        assert os.path.exists(path)  # noqa: PTH110  # as the environment has it
    assert os.environ["HTTP_PROXY"] == "http://proxy.invalid"
    assert "NETRC" not in os.environ
    assert not os.path.exists(path)  # noqa: PTH110
