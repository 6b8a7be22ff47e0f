"""What a client does with its key, whatever the key consists of."""

from __future__ import annotations

import pytest

from petstore_mock import Behaviour, PetStoreMock
from petstore_mock.common.masking import ISSUED_KEY
from petstore_mock.messages.bearer import KEY_TEXT
from petstore_mock.stateful import ClientBugError, client_machine
from petstore_mock.stateful.scenario import Scenario
from petstore_mock.stateful.steps import GetUnknown, Switch
from tests.clients.correct import ApiError, HttpClientPets, Json, make_correct
from tests.inside.clients.corpus import find, make_buggy
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by, told

pytestmark = leavings.EXPECTED


@pytest.mark.parametrize("name", ["KeyQuoted", "KeyLowered"])
def test_a_key_that_is_not_sent_as_it_is_is_found(name: str) -> None:
    error = find(name).error
    assert error is not None
    assert "It happens only with a key of all that a key may consist of" in error.sentence
    assert ": The API key is " in error.sentence
    assert raised_by(error.test, make_buggy(name)) is not None, error.test
    assert raised_by(error.test, make_correct("http.client")) is None, error.test


def test_odd_keys_can_be_sent_and_differ_and_are_masked() -> None:
    keys: list[str] = []

    class Fails(HttpClientPets):
        def __init__(self, url: str, key: str) -> None:
            super().__init__(url, key)
            keys.append(key)

        def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:  # noqa: ARG002
            if len(keys) > 1:
                self.ask("GET", f"/pets?limit=0&status={self.key}")

    machine = client_machine(lambda petstore: Fails(petstore.url, petstore.api_key))
    course = Scenario(Behaviour(), (GetUnknown(404), Switch()), odd_keys=True)
    with machine.run, machine.run.waiting.unlimited():
        error = machine.replay(course)
    assert error is not None
    assert len(set(keys)) == 2
    for key in keys:
        assert KEY_TEXT.fullmatch(key)
        assert {*"-._~+/="} <= {*key}
        assert key.lower() != key != key.upper()
        assert key not in str(error)
        assert key[8:-2] not in str(error)
    assert error.test.count("(api_key='Aa-._~+/") == 2


def test_a_request_with_an_odd_key_of_a_world_that_is_over_is_kept_apart() -> None:
    """As with any key that was issued: nobody else is blamed for it."""
    with PetStoreMock() as petstore:
        worlds = petstore.host.worlds  # the machine's own way to such keys
        key = worlds.new_key(of_all_characters=True)
        with petstore.fresh(api_key=key) as other:
            late = HttpClientPets(other.url, key)
            late.list_pets()
        with pytest.raises(Exception, match="401"):
            late.list_pets()
        late.close()
        assert len(petstore.journal) == 0
        assert len(worlds.leaks) == 1


def test_a_key_in_an_exception_is_found_and_not_shown() -> None:
    error = find("KeyInError").error
    assert error is not None
    assert "raised ApiError with the API key in its text (§5: " in error.sentence
    assert not ISSUED_KEY.search(str(error))
    assert isinstance(raised_by(error.test, make_buggy("KeyInError")), AssertionError), error.test
    assert raised_by(error.test, make_correct("http.client")) is None, error.test


class ToldError(Exception):
    """A client's own, without a word."""

    status = 404


@pytest.mark.parametrize("hidden", ["cause", "context", "note", "bytes", "dict"])
def test_a_key_is_found_wherever_an_exception_holds_it(hidden: str) -> None:
    class Tells(HttpClientPets):
        def get_pet(self, pet_id: int) -> Json:
            try:
                super().get_pet(pet_id)
            except ApiError as error:
                if hidden in {"cause", "context"}:
                    error.args = (self.headers(),)
                if hidden == "context":
                    raise ToldError  # noqa: B904  # the point of it
                told = ToldError({"note": "", "bytes": self.key.encode(), "dict": self.headers()}.get(hidden, ""))
                if hidden == "note":
                    told.add_note(self.key)
                raise told from error

    assert "with the API key in its text" in str(replayed(Tells))


class Quiet(HttpClientPets):
    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except ApiError as error:
            error.args = (self.headers(),)
            raise ToldError from None  # nobody sees the other one


class MuteError(ToldError):
    def __str__(self) -> str:
        raise ValueError(self)

    __repr__ = __str__


class Muted(HttpClientPets):
    def get_pet(self, pet_id: int) -> Json:
        super().ask("GET", f"/pets/{pet_id}")
        raise MuteError(MuteError())


class HoldingError(ToldError):
    """Holds its request, as those of aiohttp do, and does not show it."""

    def __init__(self, headers: object) -> None:
        super().__init__("404")
        self.headers = headers


class Holding(HttpClientPets):
    def get_pet(self, pet_id: int) -> Json:
        super().ask("GET", f"/pets/{pet_id}")
        raise HoldingError(self.headers())


def test_what_an_exception_does_not_show_is_its_own_affair() -> None:
    assert replayed(Quiet) is None
    assert replayed(Muted) is None
    assert replayed(Holding) is None


def replayed(client: type[HttpClientPets]) -> ClientBugError | None:
    return told(client, GetUnknown(404))
