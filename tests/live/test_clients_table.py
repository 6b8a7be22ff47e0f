"""Every real client does what ``docs/reference/clients.md`` says of it."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import pytest

from petstore_mock import PetStoreMock
from tests.live.clients import CLIENTS, STEPS, Client, cells_of, documented

pytestmark = pytest.mark.untraced


@cache
def succeeds(command: tuple[str, ...]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_client_does_what_the_table_says(client: Client) -> None:
    if client.probe and not succeeds(client.probe):
        pytest.skip(f"not installed, or too old: {' '.join(client.probe)} fails")
    with PetStoreMock() as petstore, client.open(petstore) as send:
        assert cells_of(petstore, send) == documented(client.name)


def test_the_table_has_every_client_and_every_step() -> None:
    for client in CLIENTS:
        assert documented(client.name).keys() == STEPS.keys()
