"""How often the journal of a remote world asks the door."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from petstore_mock import PetStoreMock
from petstore_mock.remote.journal import RemoteJournal
from petstore_mock.verbs import Verb
from petstore_mock.verbs.requests import list_requests
from tests.client import Client


def test_the_length_is_asked_for_once() -> None:
    """Another process may clear the journal between two requests to the door."""
    pages: list[dict[str, Any]] = []
    with PetStoreMock(control=True) as petstore, Client(petstore) as client:
        client.list()
        client.list()
        pages.append(json.loads(client.bare("GET", "/__petstore/requests").body) | {"clears": 0})

    def ask(verb: Verb, arguments: Mapping[str, Any]) -> Any:
        assert (verb, arguments["after"]) == (list_requests, 0)
        return pages.pop()

    assert len(RemoteJournal(ask, lambda: (), nullcontext)) == 2
    assert pages == []
