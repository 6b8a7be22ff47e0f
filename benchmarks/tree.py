"""The measurements of one tree, by its public names only. Each one runs in a new process."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from time import perf_counter, thread_time
from typing import Any, Final

from benchmarks.bodies import ANIMALS, KEY, NEW_PET, call, environ
from petstore_mock import PetStoreMock

_TURN: Final = 0.05  # seconds, approximately; the calls of a turn are timed together


def _in_turns(functions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the seconds that one call of each function takes: the median over rounds in which all take turns.

    It is the CPU time of the thread, which other programs do not change. So the functions must not wait.
    """
    counts = {name: _calls_in_a_turn(function) for name, function in functions.items()}
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            taken[name].append(_seconds_of(function, counts[name]) / counts[name])
    return {name: median(values) for name, values in taken.items()}


def _seconds_of(function: Callable[[], object], count: int) -> float:
    start = thread_time()
    for _ in range(count):
        function()
    return thread_time() - start


def _calls_in_a_turn(function: Callable[[], object]) -> int:
    """Return how many calls take about as long as a turn. This is also the warm-up."""
    count = 1
    while True:
        taken = _seconds_of(function, count)
        if taken >= _TURN / 4:
            return max(1, int(count * _TURN / taken))
        count *= 4


def new_pets() -> Iterator[bytes]:
    """Return bodies of createPet that all differ but have the same length."""
    return (
        f'{{"name":"Rex {number:09}","categoryId":1,"status":"available"}}'.encode() for number in itertools.count()
    )


def _start_response(*_: object) -> Any:  # noqa: ANN401  # PEP 3333's write(), never used
    return None


def _create(created: Iterator[bytes]) -> Callable[[], object]:
    """Return a function that creates an animal from the next body. All bodies have the same length."""
    app = PetStoreMock(seed=ANIMALS, api_key=KEY).app
    request = environ("POST", "/v1/pets", next(created))
    call(app, request)  # it is a success

    def create() -> object:
        request["wsgi.input"] = io.BytesIO(next(created))
        return app(request, _start_response)

    return create


def in_process(*, rounds: int) -> dict[str, float]:
    """Return the seconds of one call of the WSGI app, by operation. Call this in a new process."""
    app = PetStoreMock(seed=ANIMALS, api_key=KEY).app
    listing, getting = environ("GET", "/v1/pets"), environ("GET", "/v1/pets/1")
    for request in (listing, getting):
        call(app, request)  # it is a success
    calls = {
        "list": lambda: app(listing, _start_response),
        "get": lambda: app(getting, _start_response),
        "create": _create(itertools.repeat(NEW_PET)),
        "create, bodies differ": _create(new_pets()),
    }
    return _in_turns(calls, rounds)


def verdict(*, library: str, examples: int) -> float:
    """Check the suite's correct client with ``library``. Return the seconds. Call this in a new process."""
    from petstore_mock.stateful import check_client  # noqa: PLC0415  # other measurements do not need it
    from tests.clients.correct import make_correct  # noqa: PLC0415

    began = perf_counter()
    check_client(make_correct(library), max_examples=examples)
    return perf_counter() - began
