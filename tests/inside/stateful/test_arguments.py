"""What the machine is given: wrong arguments and wrong clients are told of at the call, before anything is drawn."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from petstore_mock import PetStoreMockError, faults
from petstore_mock.stateful import ClientBugError, check_client, classify_exception, client_machine
from tests.clients.correct import TIMEOUT, Answer, ApiError, HttpClientPets, Json, make_correct

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from petstore_mock import PetStoreMock


def check(make_client: Json, **options: Json) -> None:
    check_client(make_client, **{"max_examples": 10, "settings": settings(database=None), **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"make_client": 3}, "make_client=3"),
        (
            {"make_client": HttpClientPets},
            "pass a function such as lambda petstore: Client(petstore.url, petstore.api_key)",
        ),
        ({"make_client": lambda: None}, "a function of a PetStoreMock"),
        ({"patience": 0}, "patience=0"),
        ({"patience": True}, "patience=True"),
        ({"classify": 5}, "classify=5"),
        ({"faults": faults.reset()}, "expected faults to be a strategy"),
        ({"vary": ["list_ordr"]}, "Did you mean 'list_order'"),
        ({"vary": "list_order"}, "pass ['list_order']"),
        ({"vary": 3}, "vary=3 (int)"),
    ],
)
def test_a_wrong_argument_is_the_test_authors_mistake(options: dict[str, Any], words: str) -> None:
    """It is told of when the machine is made, not when it runs."""
    given: dict[str, Any] = {"make_client": make_correct("http.client"), **options}
    with pytest.raises(PetStoreMockError) as caught:
        client_machine(given.pop("make_client"), **given)
    assert words in str(caught.value)


@pytest.mark.parametrize("wrong", [0, 2.5, True])
def test_a_wrong_number_of_examples_is_the_test_authors_mistake(wrong: Json) -> None:
    with pytest.raises(PetStoreMockError, match=f"max_examples={wrong}"):
        check(lambda petstore: petstore, max_examples=wrong)


def test_faults_that_are_none_are_the_test_authors_mistake() -> None:
    with pytest.raises(PetStoreMockError, match=r"objects of petstore_mock\.faults; got 500 \(int\)"):
        check(make_correct("http.client"), faults=st.just(500))


@pytest.mark.untraced
@pytest.mark.parametrize(
    "fault",
    [
        faults.not_found(),
        faults.bad_request(),
        faults.respond(201, json={"id": 5}),
        faults.server_error(503, delay=0.02),
        faults.sequence(faults.reset(), faults.wrong_content_type(), faults.rate_limited(0), faults.delay(0.01)),
    ],
)
def test_every_fault_can_be_given(fault: faults.Fault) -> None:
    """One of a single operation meets this alone; a sequence is used once."""
    check(make_correct("http.client"), faults=st.just(fault))


@pytest.mark.untraced
def test_what_a_given_fault_answers_is_what_its_client_is_to_return() -> None:
    """It need be no animal, and no body at all; the animals that are there have no say in it."""

    class TakesAnySuccess(HttpClientPets):
        def checked(self, answer: Answer, success: int) -> Answer:
            return answer if answer.status in {202, 204} else super().checked(answer, success)

        def read(self, answer: Answer) -> Json:
            return super().read(answer) if answer.body else None

    for fault in (faults.respond(204), faults.respond(202, json={"queued": True}), faults.respond(202, json=3)):
        check(lambda petstore: TakesAnySuccess(petstore.url, petstore.api_key), faults=st.just(fault))


def test_a_sequence_is_told_as_it_is_injected() -> None:
    class FailsTwice(HttpClientPets):
        def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
            answer = super().ask(method, path, body)
            if answer.status == 500 and super().ask(method, path, body).status == 503:
                raise LookupError
            return answer

    given = faults.sequence(faults.server_error(500), faults.server_error(503))
    with pytest.raises(ClientBugError, match="LookupError") as caught:
        check(lambda petstore: FailsTwice(petstore.url, petstore.api_key), faults=st.just(given))
    injected = "petstore.inject(faults.sequence(faults.server_error(500), faults.server_error(503)), on="
    assert injected in caught.value.test


class WithoutCreate:
    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json: ...

    def get_pet(self, pet_id: int) -> Json: ...


class Misnamed(HttpClientPets):
    def create_pet(self, name: str, cat: int, status: str | None = None) -> Json: ...  # type: ignore[override]


class Demanding(HttpClientPets):
    def list_pets(self, limit: int, status: str) -> Json: ...  # type: ignore[override]


@pytest.mark.parametrize(
    ("make_client", "words"),
    [
        (lambda _: None, "=None (NoneType), which lacks list_pets, create_pet, get_pet"),
        (lambda _: WithoutCreate(), "(WithoutCreate), which lacks create_pet"),
        (lambda _: HttpClientPets, "make an instance of it"),
        (
            lambda petstore: Misnamed(petstore.url, ""),
            "create_pet(name=..., category_id=...) does not fit create_pet(name: 'str', cat: 'int'",
        ),
        (lambda petstore: Demanding(petstore.url, ""), "list_pets() does not fit list_pets(limit: 'int'"),
    ],
)
def test_what_is_no_client_is_the_test_authors_mistake(make_client: Json, words: str) -> None:
    """Nothing is drawn before: no steps stand beside the error."""
    with pytest.raises(PetStoreMockError) as caught:
        check(make_client)
    assert words in str(caught.value)
    assert not hasattr(caught.value, "__notes__")


class Adapted:
    """An asynchronous client in an adapter with a loop of its own."""

    def __init__(self, petstore: PetStoreMock) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = httpx.AsyncClient(
            base_url=petstore.url, headers=petstore.headers, timeout=TIMEOUT, trust_env=False, verify=False
        )

    def run(self, answer: Awaitable[httpx.Response], success: int) -> Json:
        async def wait() -> httpx.Response:
            return await answer

        response = self.loop.run_until_complete(wait())
        if response.status_code != success:
            raise ApiError(response.status_code)
        return response.json()

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        given = {"limit": limit, "status": status}
        params = {name: str(value) for name, value in given.items() if value is not None}
        return self.run(self.client.get("/pets", params=params), 200)

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        body = {"name": name, "categoryId": category_id, **({} if status is None else {"status": status})}
        return self.run(self.client.post("/pets", json=body), 201)

    def get_pet(self, pet_id: int) -> Json:
        return self.run(self.client.get(f"/pets/{pet_id}"), 200)

    def close(self) -> None:
        self.loop.run_until_complete(self.client.aclose())
        self.loop.close()


@pytest.mark.untraced
def test_an_asynchronous_client_is_checked_in_an_adapter() -> None:
    check(Adapted)


def test_an_error_that_classify_does_not_know_is_a_bug_of_the_client() -> None:
    class Secretive(HttpClientPets):
        def get_pet(self, pet_id: int) -> Json:
            raise LookupError(pet_id)

    with pytest.raises(ClientBugError, match="LookupError"):
        check(lambda petstore: Secretive(petstore.url, petstore.api_key))


class PetError(Exception):
    """A client's own."""


class Wrapping(HttpClientPets):
    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except Exception as error:
            raise PetError from error


class Swallowing(HttpClientPets):
    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except Exception:  # noqa: BLE001  # whatever it was
            raise PetError  # noqa: B904  # the point of it


def test_an_error_says_what_it_was_raised_from() -> None:
    check(lambda petstore: Wrapping(petstore.url, petstore.api_key))


def test_an_error_does_not_say_what_was_merely_being_handled() -> None:
    """Its user could not tell either: `raise ... from` is what makes the cause part of it."""
    with pytest.raises(ClientBugError, match=r"says neither a status nor what went wrong \(raise it from"):
        check(lambda petstore: Swallowing(petstore.url, petstore.api_key))


def test_classify_can_be_replaced() -> None:
    def classify(error: BaseException) -> Json:
        return classify_exception(error.__context__ if isinstance(error, PetError) and error.__context__ else error)

    check(lambda petstore: Swallowing(petstore.url, petstore.api_key), classify=classify)


@pytest.mark.parametrize("module", ["strategies", "stateful"])
def test_without_hypothesis_the_error_says_how_to_get_it(module: str) -> None:
    code = f"import sys; sys.modules['hypothesis'] = None; import petstore_mock.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ModuleNotFoundError: ")
    assert 'pip install "petstore-mock[hypothesis]"' in done.stderr.splitlines()[-1]


class UnspeakableError(Exception):
    """Takes for granted that it has a response."""

    def __str__(self) -> str:
        return str(self.args[0].text)

    __repr__ = __str__


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (UnspeakableError(), "raised UnspeakableError (<str() of it raised IndexError>), which says neither"),
        (asyncio.CancelledError(), "raised CancelledError, which says neither a status nor what went wrong"),
        (SystemExit(3), "raised SystemExit (3), which says neither a status nor what went wrong"),
    ],
)
def test_whatever_a_client_raises_is_told_of(error: BaseException, words: str) -> None:
    class Raises(HttpClientPets):
        def get_pet(self, pet_id: int) -> Json:
            super().ask("GET", f"/pets/{pet_id}")
            raise error

    with pytest.raises(ClientBugError) as caught:
        check(lambda petstore: Raises(petstore.url, petstore.api_key))
    assert words in caught.value.sentence


def test_what_a_client_returns_is_told_of_though_it_can_t_be_shown() -> None:
    class Hidden:
        def __repr__(self) -> str:
            raise LookupError

    class Returns(HttpClientPets):
        def create_pet(self, **given: Json) -> Json:
            del given
            return Hidden()

    with pytest.raises(ClientBugError, match=r"sent no request and returned <repr\(\) of it raised LookupError>"):
        check(lambda petstore: Returns(petstore.url, petstore.api_key))
