"""Memory of the stub over a million read-only requests."""

from __future__ import annotations

from typing import Final

from benchmarks import wrk
from benchmarks.goals import Figure, Plan, Result, Table
from benchmarks.servers import FAKE, HEADERS, running

__all__ = ["measure"]

REQUESTS: Final = 1_000_000
_WARM_UP: Final = 20_000  # they fill the ring of the journal
_REACH: Final = 10  # MiB
_MIB: Final = 1 << 20
# Successes and refusals in turn. Creates are left out: an animal that the store keeps is no leak.
_PATHS: Final = "/v1/pets /v1/pets/1 /v1/pets?limit=5&status=sold /v1/pets/999 /v1/pets?limit=x /v1/nothing"


def measure(plan: Plan) -> Result:
    """Send requests until there were a million, and compare the resident memory."""
    result = Result()
    if problem := wrk.missing():
        result.notes.append(f"{problem}: no figure for memory.")
        return result
    wanted = plan.pick(REQUESTS, REQUESTS // 20)
    with running(FAKE) as process:
        _send(process.port, min(_WARM_UP, wanted), seconds=1)
        before = process.resident_bytes()
        sent = _send(process.port, wanted, seconds=plan.pick(3, 1))
        after = process.resident_bytes()
    grown = (after - before) / _MIB
    result.figures["memory"] = Figure(f"{grown:+.1f} MiB over {sent:,} requests", grown <= _REACH)
    row = [f"{sent:,}", f"{before / _MIB:.1f}", f"{after / _MIB:.1f}", f"{grown:+.1f}"]
    result.tables.append(Table("Resident memory of the stub, MiB", ["requests", "before", "after", "growth"], [row]))
    result.notes.append(f"In turn: {_PATHS.replace(' ', ', ')}.")
    return result


def _send(port: int, wanted: int, *, seconds: int) -> int:
    sent = 0
    while sent < wanted:
        sent += wrk.load(port, _PATHS, HEADERS, seconds=seconds).requests
    return sent
