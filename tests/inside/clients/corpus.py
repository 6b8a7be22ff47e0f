"""The corpus: every buggy client by its name, and how the machine fares with it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import seed as with_seed
from hypothesis import settings

from petstore_mock.stateful import ClientBugError, client_machine
from petstore_mock.stateful.search import find_bug, machine_settings
from tests.clients.buggy_asking import ASKING
from tests.clients.buggy_living import LIVING
from tests.clients.buggy_reading import READING

if TYPE_CHECKING:
    from petstore_mock import PetStoreMock
    from tests.clients.correct import Json

CORPUS: dict[str, Any] = {client.__name__: client for client in (*ASKING, *READING, *LIVING)}


def make_buggy(name: str) -> Json:
    """Return what makes a client of the corpus, for the machine."""

    def make_client(petstore: PetStoreMock) -> Json:
        return CORPUS[name](petstore.url, petstore.api_key)

    return make_client


@dataclass(frozen=True)
class Finding:
    """What the machine made of a client.

    Attributes:
        error: what it raised, or None.
        examples: how many examples it took to find the bug, shrinking left out.
        seconds: how long finding and shrinking took.
        question: the first that it asks, or None.
    """

    error: ClientBugError | None
    examples: int | None
    seconds: float
    question: str | None = None

    @property
    def sentence(self) -> str:
        return "" if self.error is None else " ".join(self.error.sentence.split())


def find(name: str) -> Finding:
    """Run the machine against one client of the corpus."""
    return find_bug_of(make_buggy(name))


def find_bug_of(make_client: Json, *, seed: int = 0, max_examples: int = 200, **options: Json) -> Finding:
    """Run the machine, with its options, against a client."""
    machine = with_seed(seed)(client_machine(make_client, **options))
    started = time.perf_counter()
    verdict = find_bug(machine, settings(machine_settings(max_examples=max_examples), database=None))
    seconds = time.perf_counter() - started
    return Finding(verdict.bug, verdict.report.examples, seconds, next(iter(verdict.report.questions), None))
