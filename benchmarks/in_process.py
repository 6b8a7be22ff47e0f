"""Calls without a socket: our WSGI app, our sessions for client libraries, and libraries that patch clients."""

from __future__ import annotations

import http.client
import io
import itertools
from contextlib import closing
from importlib.metadata import version
from statistics import median
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any, Final

from benchmarks.bodies import ANIMALS, HEADERS, KEY, NEW_PET, bodies, call, environ
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import HOST, isolated
from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["first_refusals", "measure", "new_pets", "of_the_app", "of_the_clients", "resets"]

_REACH: Final = {"list": 25e-6, "create": 40e-6}  # seconds
_TURN: Final = 0.05  # seconds, approximately; the calls of a turn are timed together
_US: Final = 1e6
_URL: Final = "http://petstore.test/v1/pets"
# Three kinds of mistakes; category_id resembles categoryId.
_WRONG: Final = b'{"name": 5, "category_id": "1", "status": "lost"}'


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


def of_the_app(*, rounds: int) -> dict[str, float]:
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


def of_the_clients(*, rounds: int) -> dict[str, float]:
    """Return the seconds of a list through requests and httpx. Call this in a new process.

    The calls go to our app, and to two libraries that patch requests and httpx.
    """
    import httpx  # noqa: PLC0415  # of the bench group, as the next three
    import requests  # noqa: PLC0415
    import responses  # noqa: PLC0415
    import respx  # noqa: PLC0415

    petstore, body = PetStoreMock(seed=ANIMALS, api_key=KEY), bodies().listed
    app: Any = petstore.app
    over_wsgi = httpx.Client(transport=httpx.WSGITransport(app=app), headers=HEADERS)
    own = petstore.requests_session()
    router = respx.Router()
    router.get(_URL).mock(return_value=httpx.Response(200, content=body))
    routed = httpx.Client(transport=httpx.MockTransport(router.handler), headers=HEADERS)
    patching = responses.RequestsMock()
    patching.start()
    patching.add("GET", _URL, body=body, content_type="application/json")
    patched = requests.Session()
    own.trust_env = patched.trust_env = False
    assert over_wsgi.get(_URL).content == own.get(_URL, headers=HEADERS).content == body
    calls: dict[str, Callable[[], object]] = {
        "petstore_mock: httpx over WSGI": lambda: over_wsgi.get(_URL),
        "petstore_mock: requests_session()": lambda: own.get(_URL, headers=HEADERS),
        # These two keep each call, so they clear their records before each.
        "respx: httpx": lambda: (router.calls.reset(), routed.get(_URL)),
        "responses: requests Session": lambda: (patching.calls.reset(), patched.get(_URL, headers=HEADERS)),
    }
    return _in_turns(calls, rounds)


def resets(*, animals: int, times: int) -> float:
    """Return the seconds that a change and a reset take with this number of animals. Call this in a new process."""
    petstore = PetStoreMock(seed=animals)
    taken = []
    for _ in range(times):
        began = perf_counter()
        petstore.update(1, status="sold")  # timed as well, because a store may postpone its copy to the next change
        petstore.reset()
        taken.append(perf_counter() - began)
    assert len(petstore.pets) == animals
    return median(taken)


def first_refusals() -> list[float]:
    """Return the seconds of the first and of the second refusal by the fixture. Call this in a new process."""
    taken = []
    with PetStoreMock(api_key=KEY) as petstore:
        port = petstore.httpserver.port
        with closing(http.client.HTTPConnection(HOST, port, timeout=30)) as connection:
            for _ in range(2):
                began = perf_counter()
                connection.request("POST", "/v1/pets", _WRONG, {**HEADERS, "Content-Type": "application/json"})
                response = connection.getresponse()
                response.read()
                taken.append(perf_counter() - began)
                assert response.status == http.HTTPStatus.BAD_REQUEST
    return taken


def measure(plan: Plan) -> Result:
    """Measure calls in process."""
    rounds = plan.pick(60, 8)
    app, clients = (isolated(f"in_process:{name}", rounds=rounds) for name in ("of_the_app", "of_the_clients"))
    rows = [[f"petstore_mock: WSGI, {name}", f"{seconds * _US:.1f}"] for name, seconds in app.items()]
    rows += [[f"{name}, list", f"{seconds * _US:.1f}"] for name, seconds in clients.items()]
    words = ", ".join(f"{app[name] * _US:.1f} µs" for name in _REACH)
    result = Result(figures={"in_process": Figure(words, all(app[name] <= most for name, most in _REACH.items()))})
    result.tables.append(Table("One call in process", ["call", "median µs"], rows))
    peers = ", ".join(f"{name} {version(name)}" for name in ("httpx", "requests", "responses", "respx"))
    result.notes.append(f"With {peers}. The calls of a row share one client.")
    result.notes.append("respx and responses clear their records before each call.")
    return result
