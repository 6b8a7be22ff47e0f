"""A natural guess meets the nearest right name: in attributes, arguments, values, faults, checks and strategies."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import petstore_mock
from petstore_mock import PetStoreMock, PetStoreMockError, checks, connect, faults, stateful, strategies, verify

if TYPE_CHECKING:
    from collections.abc import Callable


def error_of(call: Callable[[], object]) -> str:
    with pytest.raises((AttributeError, TypeError, PetStoreMockError)) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("base_url", "url"),
        ("key", "api_key"),
        ("requests", "journal"),
        ("add_pet", "seed"),
        ("last_request", "journal.last"),
        ("assert_called_once_with", "journal.assert_called"),
        ("travel_to", "clock.travel_to"),
        ("delete_pet", "remove"),
        ("behavior", "behaviour"),
        ("Url", "url"),
        ("apiKey", "api_key"),
        ("console", "control_url"),
        ("call_count", "journal"),
        ("given_that", "inject"),
        ("expect_request", "inject"),
        ("replyWithError", "inject"),
        ("persist", "inject"),
        ("scenario", "inject"),
        ("delay", "inject"),
        ("add_passthru", "inject"),
        ("freeze_time", "clock.freeze"),
        ("not_found", "inject"),
        ("register", "inject"),
        ("errors", "journal.violations"),
        ("state", "pets"),
        ("dump", "snapshot"),
        ("rotate_token", "issue_key"),
        ("async_client", "url"),
        ("animals", "pets"),
        ("wait_for_requests", "journal.wait_for"),
    ],
)
def test_attribute_of_the_mock_that_does_not_exist(petstore: PetStoreMock, name: str, meant: str) -> None:
    assert f"did you mean {meant!r}?" in error_of(lambda: getattr(petstore, name))


@pytest.mark.parametrize(("name", "meant"), [("test_client", "requests_session"), ("httpx_client", "app")])
def test_client_of_a_mock_in_this_process(name: str, meant: str) -> None:
    assert f"did you mean {meant!r}?" in error_of(lambda: getattr(PetStoreMock(), name))


def test_attribute_like_no_other_lists_those_that_exist(petstore: PetStoreMock) -> None:
    message = error_of(lambda: getattr(petstore, "zzz"))  # noqa: B009  # the type checker would refuse it
    assert "it has " in message
    assert "journal" in message


def test_unknown_attributes_stay_absent_for_programs_that_ask(petstore: PetStoreMock) -> None:
    for part in (petstore, petstore.journal, petstore.clock, faults, checks, strategies, stateful, petstore_mock):
        assert not hasattr(part, "no_such_name")
        assert not hasattr(part, "__no_such_name__")


@pytest.mark.parametrize(
    ("part", "name", "meant"),
    [
        ("journal", "last_request", "last"),
        ("journal", "call_count", "total"),
        ("clock", "tick", "advance"),
        ("clock", "travel", "travel_to"),
    ],
)
def test_attribute_of_a_part(petstore: PetStoreMock, part: str, name: str, meant: str) -> None:
    assert f"did you mean {meant!r}?" in error_of(lambda: getattr(getattr(petstore, part), name))


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [
        (petstore_mock, "mock_petstore", "'PetStoreMock'"),
        (petstore_mock, "Petstore_Mock", "'PetStoreMock'"),
        (stateful, "check", "'check_client'"),
        (strategies, "new_pet", "'new_pets'"),
        (checks, "no_repeated_creates", "'no_repeated_create'"),
        (verify, "Result", "'ClauseResult'"),
        (faults, "timeout", "faults.hang()"),
        (faults, "latency", "faults.delay()"),
        (faults, "connection_error", "faults.reset()"),
        (faults, "CONNECTION_RESET_BY_PEER", "faults.reset()"),
        (faults, "too_many_requests", "faults.rate_limited(retry_after=1)"),
        (faults, "service_unavailable", "faults.server_error(503)"),
        (faults, "forbidden", "faults.respond(403)"),
        (faults, "gzip", "faults.encoded()"),
        (faults, "http_503", "faults.server_error(503)"),
        (faults, "uniform_distribution", "faults.delay()"),
        (petstore_mock, "activate", "'PetStoreMock'"),
        (petstore_mock, "create_app", "'PetStoreMock'"),
        (petstore_mock, "check_client", "'stateful'"),
        (faults, "maintenance", "faults.server_error()"),
        (petstore_mock, "responses", "'PetStoreMock'"),
        (petstore_mock, "Error", "'PetStoreMockError'"),
    ],
)
def test_name_that_a_module_does_not_have(module: Any, name: str, meant: str) -> None:
    assert f"did you mean {meant}?" in error_of(lambda: getattr(module, name))


def guess(function: Any, *args: object, **kwargs: object) -> Callable[[], object]:
    """Return a call whose arguments the type checker does not see."""
    return partial(function, *args, **kwargs)


def make_client(petstore: PetStoreMock) -> PetStoreMock:
    return petstore


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (guess(PetStoreMock, sed=3), "seed"),
        (guess(PetStoreMock, pets=3), "seed"),
        (guess(PetStoreMock, allow_origins="*"), "cors"),
        (guess(PetStoreMock, base_url="http://127.0.0.1:8080"), "host"),
        (guess(PetStoreMock, on_unhandled_request="error"), "strict"),
        (guess(PetStoreMock().inject, 503, body={}), "fault"),
        (guess(faults.delay, 1, jitter=0.1), "seconds"),
        (guess(PetStoreMock().inject, 503, prob=0.5), "probability"),
        (guess(PetStoreMock().inject, status=503), "fault"),
        (guess(PetStoreMock().inject, 503, time=1), "times"),
        (guess(PetStoreMock().inject, 503, retry_after=1), "fault"),
        (guess(PetStoreMock().inject, 404, pet_id=1), "where"),
        (guess(PetStoreMock().inject, 503, operation="listPets"), "on"),
        (guess(PetStoreMock().fresh, behavior="strict"), "behaviour"),
        (guess(PetStoreMock().clock.advance, second=1), "seconds"),
        (guess(PetStoreMock().issue_key, expire=1), "expires"),
        (guess(PetStoreMock().journal.wait_for, "listPets", count=1), "times"),
        (guess(PetStoreMock().configure, list_ordr="by_name"), "list_order"),
        (guess(connect, "http://127.0.0.1:1", api_key="k"), "token"),
        (guess(faults.delay, secs=1), "seconds"),
        (guess(faults.respond, 200, header={}), "headers"),
        (guess(faults.tls.expired, delays=1), None),
        (guess(strategies.behaviours, gaps=["list_order"]), "vary"),
        (guess(stateful.check_client, make_client, timeout=3), "patience"),
        (guess(stateful.check_client, make_client, fault=()), "faults"),
        (guess(checks.watched, make_client, PetStoreMock(), ignored=()), "ignore"),
        (guess(checks.check, section="4.2", text="x"), None),
        (guess(verify.verify, "http://127.0.0.1:1/v1", api_key="k", creates=3), "allow_create"),
    ],
)
def test_argument_that_does_not_exist(call: Callable[[], object], meant: str | None) -> None:
    message = error_of(call)
    if meant is None:
        assert "it takes " in message
    else:
        assert f"did you mean {meant!r}?" in message


def test_second_argument_by_position_lists_the_names(petstore: PetStoreMock) -> None:
    assert "on=, times=, after=" in error_of(guess(petstore.inject, 503, "listPets"))


def test_arguments_that_have_only_a_position_are_listed(petstore: PetStoreMock) -> None:
    assert error_of(guess(petstore.remove, name="Rex")).endswith("no argument 'name'; it takes pet_id")
    message = error_of(guess(petstore.update, id=1, name="Rex"))
    assert message.endswith("missing 1 required positional argument: 'pet_id'; it takes pet_id, **fields")


@pytest.mark.parametrize("animals", [3, [{"name": "Rex"}], "Rex"])
def test_several_animals_lead_to_seed_many(petstore: PetStoreMock, animals: Any) -> None:
    assert "seed_many() takes a list or a number" in error_of(guess(petstore.seed, animals))


def test_error_inside_a_method_stays_as_it_is(petstore: PetStoreMock) -> None:
    def broken() -> object:
        raise TypeError("my own")

    class Animals:
        def __iter__(self) -> object:
            return broken()

    animals: Any = Animals()
    assert error_of(lambda: petstore.seed_many(animals)) == "my own"


@pytest.mark.parametrize(
    ("fault", "meant"),
    [
        ("timeout", "faults.hang()"),
        ("503", "faults.server_error(503)"),
        (TimeoutError, "faults.hang()"),
        (ConnectionResetError("gone"), "faults.reset()"),
        (faults.reset, "faults.reset()"),
        ([503, 429], "faults.sequence()"),
        ({"status": 503}, "'kind': 'respond'"),
        ({"seconds": 1}, "'kind': 'delay'"),
    ],
)
def test_value_that_is_no_fault(petstore: PetStoreMock, fault: Any, meant: str) -> None:
    assert f"did you mean {meant}?" in error_of(lambda: petstore.inject(fault))


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("GET /pets", "listPets"),
        ("get /v1/pets?limit=3", "listPets"),
        ("POST /pets", "createPet"),
        ("GET /pets/7", "getPet"),
        ("/pets/{petId}", "getPet"),
        ("list_pets", "listPets"),
        ("create", "createPet"),
        ("CREATE", "createPet"),
        ("POST", "createPet"),
        ("GET http://127.0.0.1:8080/v1/pets", "listPets"),
        ("pets.list", "listPets"),
    ],
)
def test_request_line_in_place_of_an_operation(petstore: PetStoreMock, line: str, operation: str) -> None:
    message = error_of(guess(petstore.inject, 503, on=line))
    assert f"did you mean {operation}?" in message.replace("'", "")


def test_field_in_the_spelling_of_python(petstore: PetStoreMock) -> None:
    assert "did you mean categoryId?" in error_of(guess(petstore.seed, category_id=1))


@pytest.mark.parametrize(
    ("field", "instead"),
    [
        ("Connection", "faults.empty_reply()"),
        ("Content-Length", "faults.truncate()"),
        ("Transfer-Encoding", "faults.malformed_chunk()"),
        ("Date", "petstore.clock.travel_to()"),
    ],
)
def test_header_field_that_the_fake_sets_names_the_fault_that_does_it(field: str, instead: str) -> None:
    assert instead in error_of(lambda: faults.respond(503, headers={field: "x"}))


def test_request_that_the_interface_does_not_have_leads_to_no_operation(petstore: PetStoreMock) -> None:
    assert "did you mean" not in error_of(guess(petstore.inject, 503, on="DELETE /pets/7"))


@pytest.mark.parametrize(("value", "meant"), [("lax", "lenient"), ("chaos", "hostile"), ("strickt", "strict")])
def test_preset_in_other_words(petstore: PetStoreMock, value: str, meant: str) -> None:
    assert f"did you mean {meant!r}?" in error_of(guess(petstore.configure, value))
