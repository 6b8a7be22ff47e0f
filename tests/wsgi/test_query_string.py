"""A query that werkzeug's test client is given apart from the path."""

from __future__ import annotations

import pytest
from werkzeug.test import Client

from petstore_mock import PetStoreMock


@pytest.mark.parametrize("query", ["limit=0", "limit=1&limit=1", "status=lost"])
def test_a_query_given_apart_from_the_path_is_judged(query: str) -> None:
    petstore = PetStoreMock()
    answer = Client(petstore.app).get("/v1/pets", query_string=query, headers=petstore.headers)
    assert answer.status_code == 400
    assert petstore.journal.violations[0].target == f"/v1/pets?{query}"


def test_a_query_in_the_path_is_judged_once() -> None:
    petstore = PetStoreMock()
    Client(petstore.app).get("/v1/pets?limit=3", headers=petstore.headers)
    assert not petstore.journal.violations
