"""A store of 100,000 animals against a store of 100, and the reset to the starting state."""

from __future__ import annotations

import gc
import io
import json
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from benchmarks.bodies import KEY, NEW_PET, environ
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.processes import resident_bytes
from benchmarks.timing import in_turns, isolated
from petstore_mock import PetStoreMock

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["measure", "resets", "sizes", "timings"]

SMALL: Final = 100
LARGE: Final = 100_000
OPERATIONS: Final = ("list", "list?status=sold", "get", "create")
_TIMES: Final = 1.5
_RESETS: Final = {20: 20e-6, 300: 50e-6, LARGE: 10e-3}  # the longest allowed median in seconds, by number of animals
_US: Final = 1e6


def _start_response(*_: object) -> Any:  # noqa: ANN401  # PEP 3333's write(), never used
    return None


def _calls(animals: int) -> dict[str, Callable[[], object]]:
    app = PetStoreMock(seed=animals, api_key=KEY).app
    listing, getting = environ("GET", "/v1/pets", KEY), environ("GET", f"/v1/pets/{animals // 2}", KEY)
    filtered = {**listing, "QUERY_STRING": "status=sold"}
    creating = environ("POST", "/v1/pets", KEY, NEW_PET)

    def create() -> object:
        creating["wsgi.input"] = io.BytesIO(NEW_PET)
        return app(creating, _start_response)

    return {
        f"{animals}: list": lambda: app(listing, _start_response),
        f"{animals}: list?status=sold": lambda: app(filtered, _start_response),
        f"{animals}: get": lambda: app(getting, _start_response),
        f"{animals}: create": create,
    }


def timings(*, large: int, rounds: int) -> dict[str, float]:
    """Return the seconds of a call in both stores, measured alternately. Call this in a new process."""
    small_calls, large_calls = _calls(SMALL), _calls(large)
    turns: dict[str, Callable[[], object]] = {}
    for operation in OPERATIONS:
        turns[f"small {operation}"] = small_calls[f"{SMALL}: {operation}"]
        turns[f"large {operation}"] = large_calls[f"{large}: {operation}"]
    return in_turns(turns, rounds=rounds, seconds=0.02)


def sizes(*, large: int) -> dict[str, float]:
    """Return the bytes of an animal as JSON and in memory, and the seconds of seeding. Call this in a new process."""
    warm = PetStoreMock(seed=SMALL)
    gc.collect()
    before = resident_bytes()
    start = perf_counter()
    petstore = PetStoreMock(seed=large)
    seconds = perf_counter() - start
    gc.collect()
    resident = resident_bytes() - before
    json_bytes = sum(len(json.dumps(pet, ensure_ascii=False, separators=(",", ":")).encode()) for pet in petstore.pets)
    del warm
    return {"json": json_bytes / large, "resident": resident / large, "seconds": seconds}


def resets(*, large: int, times: int) -> dict[str, float]:
    """Return the seconds of a reset after ten changes. Call this in a new process."""
    petstore = PetStoreMock(seed=large)
    taken = []
    for _ in range(times):
        for pet_id in range(1, 5):
            petstore.update(pet_id, status="sold")
        for pet_id in range(5, 8):
            petstore.remove(pet_id)
        petstore.seed_many(3)
        start = perf_counter()
        petstore.reset()
        taken.append(perf_counter() - start)
    assert len(petstore.pets) == large  # else the resets did nothing
    return {"median": median(taken), "most": max(taken)}


def measure(plan: Plan) -> Result:
    """Measure time and memory in a large store."""
    large = LARGE
    taken = isolated("large_store:timings", large=large, rounds=plan.pick(40, 6))
    size = isolated("large_store:sizes", large=large)
    reset = {many: isolated("large_store:resets", large=many, times=plan.pick(200, 20)) for many in _RESETS}
    result = Result()
    ratios = {name: taken[f"large {name}"] / taken[f"small {name}"] for name in OPERATIONS}
    beyond = size["resident"] - size["json"]
    words = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
    result.figures["large_store"] = Figure(
        f"{words}; {beyond:.0f} bytes per animal besides its JSON", max(ratios.values()) <= _TIMES
    )
    result.figures["reset"] = Figure(
        ", ".join(f"{one['median'] * _US:,.0f} µs" for one in reset.values()),
        all(one["median"] <= _RESETS[many] for many, one in reset.items()),
    )
    rows = [
        [name, f"{taken[f'small {name}'] * _US:.1f}", f"{taken[f'large {name}'] * _US:.1f}", f"{ratios[name]:.2f}"]
        for name in OPERATIONS
    ]
    head = ["call in process", f"{SMALL} animals, µs", f"{large:,} animals, µs", "ratio"]
    result.tables.append(Table("A large store against a small one", head, rows))
    result.notes.append(
        f"An animal: {size['json']:.0f} bytes of JSON, {size['resident']:.0f} bytes of resident memory; "
        f"seeding {large:,} took {size['seconds']:.1f} s."
    )
    return result
