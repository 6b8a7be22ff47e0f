"""What clients leave behind or let slip, beside what they log."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest
from hypothesis import seed, settings

from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful import ClientQuestionWarning, check_client, client_machine, holds_key
from petstore_mock.stateful.search import find_bug, machine_settings
from tests.clients.correct import HttpClientPets
from tests.clients.shapes import AsyncPets, maker_of
from tests.clients.slips import SLIPS, EndsItsTasks, SaysEnough, ShowsItsKey
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by

pytestmark = leavings.EXPECTED

SETTINGS = settings(database=None)
TOLD = {
    "PrintsForDebugging": " printed the API key: ",
    "PrintsFailures": " printed the API key: ",
    "WarnsWithKey": " warned of the API key: ",
    "LogsBasic": " logged the API key in base64: 'DEBUG:pets:Authorization: Basic ",
    "SendsBasicToo": " sent the API key in another place, in base64, beside Authorization (§5",
    "SendsState": " sent the API key in another place, in base64, beside Authorization (§5",
    "TellsTheUrl": " raised ApiError with the API key in hexadecimal in its text (§5",
    "ShowsItsHeaders": "str() of the client shows the API key: ",
    "KeepsWhatItAsked": " raised RequestError with the API key in its representation (§5",
    "WrapsWhatItAsked": " raised ApiError, and the RequestError behind it with the API key in its representation (§5",
    "RefreshTaskGoesOn": "went on after the client was closed: RefreshTaskGoesOn.refresh",
    "CancelledAndForgotten": "went on after the client was closed: CancelledAndForgotten.watch",
}


@pytest.mark.parametrize("client", SLIPS)
def test_what_slips_is_told_and_its_test_fails_when_pasted(
    client: Any,  # noqa: ANN401  # a class
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_client = maker_of(client)
    machine = seed(0)(client_machine(make_client))
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        found = find_bug(machine, machine_settings(SETTINGS, 200)).bug
    capsys.readouterr()
    assert found is not None
    assert TOLD[client.__name__] in found.sentence
    assert isinstance(raised_by(found.test, make_client), AssertionError), found.test
    correct = AsyncPets if issubclass(client, AsyncPets) else HttpClientPets
    assert raised_by(found.test, maker_of(correct)) is None, found.test


def test_who_says_no_more_than_he_should_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    """And what he prints and warns of goes where it went before."""
    streams, show = (sys.stdout, sys.stderr), warnings.showwarning
    with pytest.warns(DeprecationWarning, match="is an old key"):
        check_client(maker_of(SaysEnough), max_examples=5, settings=SETTINGS)
    assert "with the key ..." in capsys.readouterr().out
    assert (sys.stdout, sys.stderr) == streams
    assert warnings.showwarning == show


def test_who_ends_his_tasks_is_right() -> None:
    check_client(maker_of(EndsItsTasks), max_examples=5, settings=SETTINGS)


def test_a_client_whose_text_has_its_key_is_asked_whether_it_means_it() -> None:
    with pytest.warns(ClientQuestionWarning, match=r"repr\(\) of the client, a ShowsItsKey, shows the API key"):
        check_client(maker_of(ShowsItsKey), max_examples=2, settings=SETTINGS)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Bearer petstore-0a1b2c3d-000001", True),
        (b"petstore-0a1b2c3d-000001", True),
        ("cGV0c3RvcmUtMGExYjJjM2QtMDAwMDAx", True),
        ("eyJrZXkiOiAicGV0c3RvcmUtMGExYjJjM2QtMDAwMDAxIn0=", True),
        ("YTpwZXRzdG9yZS0wYTFiMmMzZC0wMDAwMDE=", True),
        ("70657473746f72652d30613162326333642d303030303031", True),
        ("petstore-0a1b2c3d-000002", False),
        ("...0001", False),
        ("", False),
    ],
)
def test_a_key_is_known_in_its_forms(text: str | bytes, holds: bool) -> None:
    assert holds_key(text, "petstore-0a1b2c3d-000001") is holds


def test_a_key_with_signs_is_known_percent_encoded() -> None:
    assert holds_key("?key=Aa-._~%2B%2Fkey-1%3D%3D", "Aa-._~+/key-1==")


def test_what_holds_no_text_is_told() -> None:
    with pytest.raises(PetStoreMockError, match="expected text and a key; got int"):
        holds_key(1, "key")
