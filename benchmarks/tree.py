"""The measurements of one tree, by its public names only. Each measurement runs in a new process."""

from __future__ import annotations

import io
import itertools
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks.bodies import ANIMALS, KEY, NEW_PET, call, environ
from benchmarks.timing import in_turns
from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["in_process", "new_pets", "resets"]


def new_pets() -> Iterator[bytes]:
    """Return bodies of createPet that all differ but have the same length."""
    return (
        f'{{"name":"Rex {number:09}","categoryId":1,"status":"available"}}'.encode() for number in itertools.count()
    )


def _start_response(*_: object) -> Any:  # noqa: ANN401  # PEP 3333's write(), never used
    return None


def _create(bodies: Iterator[bytes]) -> Callable[[], object]:
    """Return a function that creates an animal from the next body. All ``bodies`` have the same length."""
    app = PetStoreMock(seed=ANIMALS, api_key=KEY).app
    request = environ("POST", "/v1/pets", KEY, next(bodies))
    call(app, request)  # it is a success

    def create() -> object:
        request["wsgi.input"] = io.BytesIO(next(bodies))
        return app(request, _start_response)

    return create


def in_process(*, rounds: int) -> dict[str, float]:
    """Return the seconds of one call of the WSGI app, by operation."""
    app = PetStoreMock(seed=ANIMALS, api_key=KEY).app
    listing, getting = environ("GET", "/v1/pets", KEY), environ("GET", "/v1/pets/1", KEY)
    for request in (listing, getting):
        call(app, request)  # it is a success
    calls: dict[str, Callable[[], object]] = {
        "list": lambda: app(listing, _start_response),
        "get": lambda: app(getting, _start_response),
        "create": _create(itertools.repeat(NEW_PET)),
        "create, bodies differ": _create(new_pets()),
    }
    return in_turns(calls, rounds=rounds)


def resets(*, animals: int, times: int) -> float:
    """Return the seconds that a change and a reset take with this number of animals."""
    petstore = PetStoreMock(seed=animals)
    taken = []
    for _ in range(times):
        began = perf_counter()
        petstore.update(1, status="sold")  # timed as well, because a store may postpone its copy to the next change
        petstore.reset()
        taken.append(perf_counter() - began)
    assert len(petstore.pets) == animals
    return median(taken)
