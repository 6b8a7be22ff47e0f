"""The report of the machine about a client with a bug. Its pasted test shows the bug."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack, closing
from typing import Any

import pytest
from hypothesis import settings

from petstore_mock import PetStoreMock
from petstore_mock.stateful import ClientBugError, check_client
from tests.clients.correct import ApiError, HttpClientPets, Json
from tests.golden.compare import hold


class CreatesAgain(HttpClientPets):
    """Retries createPet after a server error, although the first request may have been executed."""

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            return super().create_pet(name=name, category_id=category_id, status=status)
        except ApiError as error:
            if error.status < 500:
                raise
            return super().create_pet(name=name, category_id=category_id, status=status)


pytestmark = pytest.mark.seconds


class ForgetsTheStatus(HttpClientPets):
    """Ignores the status filter."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:  # noqa: ARG002
        return super().list_pets(limit=limit)


def made(client: type[HttpClientPets]) -> Callable[[PetStoreMock], HttpClientPets]:
    return lambda petstore: client(petstore.url, petstore.api_key)


@pytest.fixture(scope="module", params=[CreatesAgain, ForgetsTheStatus])
def client(request: pytest.FixtureRequest) -> type[HttpClientPets]:
    """Return a client with a bug."""
    kind: type[HttpClientPets] = request.param
    return kind


@pytest.fixture(scope="module")
def report(client: type[HttpClientPets]) -> str:
    """Return the report of the machine about the client."""
    alike = settings(derandomize=True, database=None, print_blob=False)
    with pytest.raises(ClientBugError) as caught:
        check_client(made(client), settings=alike, max_examples=10, environment=())
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


_PASTED = re.compile(r"^(?:import|from) .*?^def test_client.*?:\n(?:(?: {4}[^\n]*)?\n)+", re.DOTALL | re.MULTILINE)


def run_pasted(report: str, client: type[HttpClientPets]) -> None:
    """Run the test of a report with a client."""
    found = _PASTED.search(report)
    assert found, report
    with ExitStack() as stack:
        names: dict[str, Any] = {
            "make_client": lambda petstore: stack.enter_context(closing(made(client)(petstore))),
        }
        exec(compile(found[0], "pasted", "exec"), names)  # the product under test
        names["test_client"]()


def test_report_of_a_bug(client: type[HttpClientPets], report: str) -> None:
    hold(f"bug-{client.__name__}.txt", report)


def test_pasted_test_fails_only_for_the_client_with_the_bug(client: type[HttpClientPets], report: str) -> None:
    run_pasted(report, HttpClientPets)
    with pytest.raises(AssertionError):
        run_pasted(report, client)
