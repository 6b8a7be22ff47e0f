"""Clients with a cache: what HTTP lets a client store is no mistake."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

from petstore_mock import PetStoreMock, faults
from petstore_mock.stateful import check_client

cachecontrol = pytest.importorskip("cachecontrol")
pytestmark = [
    pytest.mark.peers,
    # CacheControl leaves temporary files open.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

from tests.clients.correct import RequestsPets  # noqa: E402  # after the marks of the module


class CachingPets(RequestsPets):
    """Correct: CacheControl with its defaults. It stores permanent redirects (RFC 9110 §15.4.2, §15.4.9)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.session: Any = cachecontrol.CacheControl(self.session)


def caching(petstore: PetStoreMock) -> CachingPets:
    return CachingPets(petstore.url, petstore.api_key)


@pytest.mark.parametrize("status", [301, 308])
def test_a_client_may_store_a_permanent_redirect(status: int) -> None:
    headers = {"Location": "{elsewhere}/pets"}
    given = [faults.respond(status, headers=headers), faults.respond(503)]
    check_client(caching, faults=given, max_examples=50, settings=settings(database=None, derandomize=True))


def test_cachecontrol_is_correct() -> None:
    check_client(caching, settings=settings(database=None, derandomize=True))
