"""The first refusal of a fresh process. Its client must not wait for imports that only a refusal needs."""

from __future__ import annotations

import http.client
from contextlib import closing
from statistics import median
from time import perf_counter
from typing import Final

from benchmarks.bodies import KEY
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import HOST
from benchmarks.servers import FAKE, running
from benchmarks.timing import isolated
from petstore_mock import PetStoreMock

__all__ = ["measure", "of_the_fixture"]

_REACH: Final = 0.15  # seconds
_WRONG: Final = (
    b'{"name": 5, "category_id": "1", "status": "lost"}'  # three kinds of mistakes; category_id resembles categoryId
)
_FIELDS: Final = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}


def of_the_fixture() -> tuple[float, float]:
    """Return the seconds of the first and of the second refusal. Call this in a new process."""
    with PetStoreMock(api_key=KEY) as petstore:
        return _refusals(petstore.httpserver.port)


def _refusals(port: int) -> tuple[float, float]:
    with closing(http.client.HTTPConnection(HOST, port, timeout=30)) as connection:
        return _refused(connection), _refused(connection)


def _refused(connection: http.client.HTTPConnection) -> float:
    began = perf_counter()
    connection.request("POST", "/v1/pets", _WRONG, _FIELDS)
    answer = connection.getresponse()
    answer.read()
    taken = perf_counter() - began
    assert answer.status == http.HTTPStatus.BAD_REQUEST
    return taken


def measure(plan: Plan) -> Result:
    """Measure new processes: the fixture refuses its first request, and a stub refuses right after its first 200."""
    taken: dict[str, list[tuple[float, float]]] = {"the fixture": [], "petstore-mock serve": []}
    for _ in range(plan.pick(9, 1)):
        taken["the fixture"].append(isolated("first_refusal:of_the_fixture"))
        with running(FAKE) as process:
            taken["petstore-mock serve"].append(_refusals(process.port))
    first = {name: median(pair[0] for pair in pairs) for name, pairs in taken.items()}
    rows = [
        [
            name,
            f"{first[name] * 1000:.1f}",
            f"{max(pair[0] for pair in pairs) * 1000:.1f}",
            f"{median(pair[1] for pair in pairs) * 1000:.1f}",
            str(len(pairs)),
        ]
        for name, pairs in taken.items()
    ]
    words = ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in first.items())
    result = Result(figures={"first_refusal": Figure(words, max(first.values()) <= _REACH)})
    result.tables.append(Table("Refused createPet", ["case", "first, ms", "max ms", "second, ms", "processes"], rows))
    return result
