"""``petstore-mock demo``: shows how the fake finds a famous bug of clients. It needs no Hypothesis, and no network."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import TYPE_CHECKING, Final, TextIO
from urllib.request import Request, urlopen

from petstore_mock.checks.scenario import Scenario
from petstore_mock.stateful.example import Example
from petstore_mock.stateful.report import explain
from petstore_mock.stateful.run import Options, Run

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from petstore_mock.common.values import Json
    from petstore_mock.mock.petstore import PetStoreMock

DESCRIPTION: Final = (
    "Show a famous bug. The fake adds an animal and drops the response. A built-in client sends the request again, and "
    "there are two animals. Needs no network."
)
_BEFORE: Final = (
    "A client adds one animal. The fake commits it, and closes the connection before it sends the response. The client "
    "sends the request again, as wget and Java's HttpURLConnection do."
)
# The scenario in the form that `Scenario.to_data()` returns, after the machine found and shrank it.
_SCENARIO: Final = """\
{
  "behaviour": {},
  "odd_key": false,
  "steps": [
    {"plannedfault": {"fault": {"kind": "empty_reply"}, "on": "createPet", "at": "after_commit"}},
    {"ask": {"operation": "createPet", "arguments": {"name": "Rex", "categoryId": 1}}}
  ]
}"""
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

    def create_pet(self, *, name: str, category_id: int) -> Json:
        body = json.dumps({"name": name, "categoryId": category_id}).encode()
        fields = {**self._petstore.headers, "Content-Type": "application/json"}
        request = Request(f"{self._petstore.url}/pets", body, fields)  # noqa: S310  # the mock's own address
        try:
            return _sent(request)
        except OSError:  # the bug: the service may have added the animal
            return _sent(request)


def _sent(request: Request) -> Json:
    with urlopen(request, timeout=1) as response:  # noqa: S310
        return json.load(response)


def add_options(_: ArgumentParser) -> None:
    pass


def run(_: Namespace, stdout: TextIO, stderr: TextIO) -> int:
    with Run(Options(make_client=HastyClient)) as machine:
        example = Example(machine, Scenario.from_data(json.loads(_SCENARIO))).play()
        bug = explain(example)
        pets = example.worlds["petstore"].petstore.pets
    if bug is None:
        stderr.write("petstore-mock: expected a bug in the built-in client; found none. Please report this\n")
        return 1
    width = min(shutil.get_terminal_size().columns, 100)
    before, sentence = (textwrap.fill(text, width, break_on_hyphens=False) for text in (_BEFORE, bug.sentence))
    after = "\n".join([f"The store now has {len(pets)} animals:", *(f"   {json.dumps(pet)}" for pet in pets)])
    print(before, sentence, bug.wire, after, _NEXT, sep="\n\n", file=stdout)
    return 0
