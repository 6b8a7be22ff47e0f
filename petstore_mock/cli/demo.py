"""``petstore-mock demo``: shows how the fake finds a famous bug of clients. It needs no Hypothesis, and no network."""

from __future__ import annotations

import http.client
import json
import shutil
import textwrap
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, TextIO
from urllib.parse import urlsplit

from petstore_mock import faults
from petstore_mock.checks import watched
from petstore_mock.journal.text import journal_text
from petstore_mock.mock.petstore import PetStoreMock

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

DESCRIPTION: Final = (
    "Show a famous bug. The fake adds an animal and drops the response. A built-in client sends the request again, and "
    "there are two animals. Needs no network."
)
_BEFORE: Final = (
    "A client adds one animal. The fake commits it, and closes the connection before it sends the response. The client "
    "sends the request again, as wget and Java's HttpURLConnection do."
)
_NEXT: Final = """\
Do the same to your client. Save this as test_lost_response.py and run pytest:

    from petstore_mock import checks, faults
    from your_package import YourClient

    def test_lost_response(petstore):
        petstore.inject(faults.empty_reply(), on="createPet", at="after_commit", times=1)
        with checks.watched(lambda mock: YourClient(mock.url, mock.api_key), petstore, quiet=True) as client:
            client.create_pet(name="Rex", category_id=1)

Two more things to try:

    petstore_mock.stateful.check_client(make_client)   searches for such bugs (needs the extra "hypothesis")
    petstore-mock serve --seed 20                      serves clients in any language"""


class HastyClient:
    """The client with the bug: it retries a POST whose response was lost."""

    def __init__(self, petstore: PetStoreMock) -> None:
        self._petstore = petstore

    def create_pet(self, *, name: str, category_id: int) -> Any:  # noqa: ANN401  # JSON
        body = json.dumps({"name": name, "categoryId": category_id})
        try:
            return self._post(body)
        except OSError:  # the bug: the service may have added the animal
            return self._post(body)

    def _post(self, body: str) -> Any:  # noqa: ANN401  # JSON
        fields = {**self._petstore.headers, "Content-Type": "application/json"}
        address = urlsplit(self._petstore.url)
        with closing(http.client.HTTPConnection(address.netloc, timeout=1)) as connection:
            connection.request("POST", f"{address.path}/pets", body, fields)
            return json.load(connection.getresponse())


def add_options(_: ArgumentParser) -> None:
    pass


def run(_: Namespace, stdout: TextIO, __: TextIO) -> int:
    found = ""
    with PetStoreMock() as petstore:
        petstore.inject(faults.empty_reply(), on="createPet", at="after_commit", times=1)
        with watched(HastyClient, petstore) as client:
            try:
                client.create_pet(name="Rex", category_id=1)
            except AssertionError as bug:
                found = str(bug)
        exchange, pets = journal_text(petstore.journal), petstore.pets
    width = min(shutil.get_terminal_size().columns, 100)
    before, sentence = (textwrap.fill(one, width, break_on_hyphens=False) for one in (_BEFORE, found))
    after = "\n".join([f"The store now has {len(pets)} animals:", *(f"   {json.dumps(pet)}" for pet in pets)])
    print(before, sentence, exchange, after, _NEXT, sep="\n\n", file=stdout)
    return 0
