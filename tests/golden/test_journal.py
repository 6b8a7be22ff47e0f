"""The output of the journal: archives, near misses, and the reasons of a failed verification."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from petstore_mock import PetStoreMock, VerificationError, faults
from tests.client import Client
from tests.golden.compare import hold, hold_json


def test_har(day: PetStoreMock, tmp_path: Path) -> None:
    day.journal.to_har(tmp_path / "day.har")
    document = json.loads((tmp_path / "day.har").read_bytes())
    assert [entry["response"]["status"] for entry in document["log"]["entries"]] == [
        *(200, 201, 0, 400, 429, 404, 401, 200)
    ]
    assert day.api_key not in json.dumps(document)
    hold_json("day.har.json", document)


MISSES: dict[str, Callable[[PetStoreMock], object]] = {
    "another value": lambda petstore: petstore.journal.assert_called("createPet", name="Tim"),
    "another type": lambda petstore: petstore.journal.assert_called(
        "createPet", json={"name": "Rex", "categoryId": "1"}
    ),
    "a status": lambda petstore: petstore.journal.assert_called("listPets", times=1, status=500),
    "a query": lambda petstore: petstore.journal.assert_called("listPets", query={"limit": "3"}),
    "too often": lambda petstore: petstore.journal.assert_called("getPet", times=1),
    "too few": lambda petstore: petstore.journal.assert_called("createPet", times=7),
    "not at all": lambda petstore: petstore.journal.assert_not_called("createPet"),
    "of any operation": lambda petstore: petstore.journal.assert_called(None, path="/v1/dogs"),
    "no wait": lambda petstore: petstore.journal.wait_for("getPet", times=9, timeout=0.01),
}


def test_near_misses(day: PetStoreMock) -> None:
    parts = []
    for name, miss in MISSES.items():
        with pytest.raises(VerificationError) as caught:
            miss(day)
        parts.append(f"{name}\n{'=' * len(name)}\n{caught.value}")
    hold("near-misses.txt", "\n\n".join(parts))


def _refused(client: Client) -> None:
    client.create(name=5)
    client.list("?limit=0&colour=brown")


def _unmet(client: Client) -> None:
    with pytest.raises(VerificationError) as caught, client.petstore.expect_violation("another sentence"):
        client.create(name=5, categoryId=1)
    raise caught.value


def _unfired(client: Client) -> None:
    client.petstore.inject(503, on="getPet", times=2)
    client.petstore.inject(faults.delay(1), on="createPet", where={"name": "Tom"}, times=1)
    client.create(name="Rex", categoryId=1)
    client.petstore.inject(faults.reset(), on="listPets", when=lambda _: False, times=1)
    client.list()


def _failing(client: Client) -> None:
    def broken(_: Any) -> bool:
        raise LookupError("no such thing")

    client.petstore.inject(503, on="listPets", when=broken, times=1)
    client.status()


PROBLEMS: dict[str, Callable[[Client], object]] = {
    "a contract that is broken": _refused,
    "an expected violation that never happened": _unmet,
    "faults that never fired": _unfired,
    "a condition that fails": _failing,
}


@pytest.mark.filterwarnings("ignore")
def test_reasons_of_a_failed_verification() -> None:
    parts = []
    for name, do in PROBLEMS.items():
        petstore = PetStoreMock(strict=True)
        with Client(petstore, "wsgi") as client, pytest.raises(AssertionError) as caught:  # noqa: PT012
            do(client)  # it may raise the error itself
            petstore.verify()
        parts.append(f"{name}\n{'=' * len(name)}\n{caught.value}")
    hold("problems.txt", "\n\n".join(parts))


def test_an_exchange_as_text(day: PetStoreMock) -> None:
    shown = [f"{entry}\nwhy: {entry.reason}\nwhere: {entry.section}" for entry in day.journal]
    hold("exchanges.txt", "\n\n".join([repr(day.journal), *shown]))
