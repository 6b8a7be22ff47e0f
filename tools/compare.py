"""Compares the stubs of two trees: ``python -m tools.compare OLD NEW``.

Both receive the same requests over a raw socket and the same calls of the control door. Status, head, body, journal
entries and log lines are compared. TLS, the event stream and the command line beside ``serve`` are not looked at.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tools.differences import Report, comparable, comparable_body, untimed
from tools.drawing import AT, AUTHORIZED, ESSENTIALS, JSON, KEY, PETS, VALID, Request, create, scenarios
from tools.record import SEED, gaps_of
from tools.wire import Connection, Stub, exchange, request_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SCRATCH: Final = Path(__file__).parents[1] / ".cache" / "compare"
_TABLES: Final = tomllib.loads(Path(__file__).with_name("compared.toml").read_text(encoding="utf-8"))
_FORMS: Final = ("plain", "plain", "plain", "chunked", "expect", "1.0", "close", "segments", "pipelined")
_FIXED_FORM: Final = frozenset({"expect", "connection", "upgrade"})  # fields that decide about the form themselves
_NEXT: Final = Request("next", target="/v1/pets/2")
_FAULTED: Final = (Request("fault"), _NEXT, Request("fault", "HEAD"), Request("fault", headers=()))
_WIRE_GAPS: Final = frozenset({"answer_framing", "header_names", "connection"})
_MOST_FAILURES: Final = 20  # of one tree; each costs the patience of a client
_MARKER: Final = "/end-of-play-"


@dataclass(frozen=True)
class Play:
    """What one fresh world meets in order."""

    name: str
    steps: Sequence[Request | bytes | DoorCall]
    gaps: Mapping[str, str] = field(default_factory=dict)
    at: str = AT


class DoorCall(NamedTuple):
    """A call of the control door; ``body`` is sent as it is."""

    method: str
    path: str
    body: str | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.body or ''}".strip()


def plays(gaps: Mapping[str, Sequence[str]], share: float, seed: str) -> Iterator[Play]:
    """Yield what is compared: a share of the recorded scenarios, and all heads, faults and calls of the door."""
    for scenario in scenarios(seed, gaps):
        lengths = [request for request in scenario.requests if "announced length" in request.about]
        if Random(f"share: {scenario.name}").random() < share and not lengths:  # over a socket, one would wait for more
            yield Play(scenario.name, scenario.requests, scenario.gaps, scenario.at)
    for text in _TABLES["heads"]:
        yield Play(f"head {text!r}", [text.replace("KEY", KEY).encode("latin-1")])
    for gap in sorted(_WIRE_GAPS & gaps.keys()):
        for value in gaps[gap][1:]:
            yield from (Play(f"{gap}={value}", [request] * 3, {gap: value}) for request in ESSENTIALS)
    shown = [DoorCall("GET", "faults"), DoorCall("GET", "pets"), DoorCall("GET", "world/verification")]
    for rule in _TABLES["faults"]:
        for request in (create("fault", VALID.encode()), *_FAULTED):
            yield Play(f"fault {rule}", [DoorCall("POST", "faults", rule), request, request, _NEXT, *shown])
    for story in _TABLES["door"]:
        yield Play(f"door: {story['name']}", [_step(*step) for step in story["steps"]])


def _step(method: str, path: str, body: str | None = None) -> Request | DoorCall:
    """Return a step of the table: a target that begins with a slash is the service's, another path the door's."""
    if not path.startswith("/"):
        return DoorCall(method, path, body)
    return Request("door", method, path, (AUTHORIZED, JSON) if body else (AUTHORIZED,), body.encode() if body else None)


def run(folder: Path, name: str, all_plays: Sequence[Play]) -> list[dict[str, Any]]:
    """Play everything to the stub of one tree; return what each play brought."""
    _SCRATCH.mkdir(parents=True, exist_ok=True)
    errors = _SCRATCH / f"{name}.stderr"
    results: list[dict[str, Any]] = []
    with Stub(folder, _SCRATCH / f"{name}.json", errors) as stub:
        failures = 0
        for play in all_plays:
            results.append(_played_or_failed(stub, play) if failures < _MOST_FAILURES else {"failed": "given up"})
            failures += "failed" in results[-1]
            if failures < _MOST_FAILURES:
                _mark(stub, len(results))
        logged = _marked_off(stub, len(results))
    if errors.stat().st_size:
        print(f"the {name} stub wrote to stderr: {errors}")
    for number, result in enumerate(results, start=1):
        lines = result["log"] = logged.get(number, [])
        result["condition"] = next((line["condition"] for line in lines if "condition" in line), "")
    return [{"greeting": json.loads(stub.plain(json.dumps(stub.greeting)))}, *results]


def _played_or_failed(stub: Stub, play: Play) -> dict[str, Any]:
    """Play, and say so where the stub keeps silent or breaks."""
    try:
        result = _played(stub, play)
    except (OSError, HTTPException, ValueError, LookupError) as error:
        stub.renew_door()
        return {"failed": type(error).__name__}
    if any(step.get("end") == "silent" for step in result["steps"]):
        return {"failed": "no response"}
    return result


def _played(stub: Stub, play: Play) -> dict[str, Any]:
    world = {"seed": PETS, "behaviour": play.gaps, "at": play.at, "random_seed": 7}
    made = stub.door("PUT", "world", json.dumps(world))
    frozen = stub.door("PATCH", "clock", '{"freeze": true}')
    moved = stub.door("PATCH", "clock", json.dumps({"travel_to": play.at}))  # exact, since the clock stands still
    steps = []
    connection = Connection(stub.port)
    for number, step in enumerate(play.steps):
        if isinstance(step, DoorCall):
            steps.append({"call": f"{step.method} {step.path}", **comparable(stub.door(*step), play.gaps)})
            continue
        if not connection.is_open:
            connection.close()
            connection = Connection(stub.port)
        method = step.method if isinstance(step, Request) else "GET"
        found = _raw(connection, step) if isinstance(step, bytes) else _sent(connection, step, f"{play.name} {number}")
        steps.extend(comparable(one, play.gaps, method) for one in found)
    connection.close()
    entries = json.loads(stub.door("GET", "requests")["body"]).get("requests", [])
    for entry in entries:
        entry["response_body"] = comparable_body(json.dumps(entry.get("response_body")).encode(), play.gaps)
    begun = [one["status"] for one in (made, frozen, moved)]
    return {"begun": begun, "steps": steps, "entries": untimed(entries)}


def _sent(connection: Connection, request: Request, name: str) -> list[dict[str, Any]]:
    """Send a request in the form that its name draws; a pipelined one is followed by another at once."""
    fields = {field.lower() for field, _ in request.headers}
    form = "plain" if fields & _FIXED_FORM else Random(f"form: {name}").choice(_FORMS)
    if form != "pipelined":
        return exchange(connection, request, form)
    both = b"".join(part for one in (request, _NEXT) for part in request_bytes(one, "plain", connection.host))
    connection.send(both)
    first = connection.read(request.method)
    return [first, connection.read()] if connection.is_open else [first]


def _raw(connection: Connection, data: bytes) -> list[dict[str, Any]]:
    """Send bytes, and a request behind them that ends the connection; return all responses."""
    connection.send(data + b"".join(request_bytes(_NEXT, "close", connection.host)))
    found = []
    while connection.is_open:
        found.append(connection.read())
    return found


def _mark(stub: Stub, number: int) -> None:
    """Let a line of the log say that the play of this number is over."""
    with suppress(OSError), Connection(stub.port) as connection:
        exchange(connection, Request("marker", target=f"{_MARKER}{number}", headers=()), "close")


def _marked_off(stub: Stub, last: int) -> dict[int, list[Any]]:
    """Return the log's lines about each play, by its number."""
    deadline = time.monotonic() + 5
    while not any(f'"{_MARKER}{last}"' in line for line in stub.lines[-3:]) and time.monotonic() < deadline:
        time.sleep(0.05)
    found: dict[int, list[Any]] = {}
    lines: list[Any] = []
    for text in list(stub.lines):
        line = json.loads(stub.plain(text))
        target = line.get("target") or ""
        if target.startswith(_MARKER):
            found[int(target.removeprefix(_MARKER))] = lines
            lines = []
        else:
            lines.append(untimed(line))
    return found


def _common(old: Mapping[str, list[str]], new: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the gaps and alternatives that both trees have, and print the others."""
    pairs = {name: {(gap, value) for gap in gaps for value in gaps[gap]} for name, gaps in (("old", old), ("new", new))}
    for name, other in (("old", "new"), ("new", "old")):
        if only := sorted(f"{gap}={value}" for gap, value in pairs[name] - pairs[other]):
            print(f"in the {name} tree only: {', '.join(only)}")
    return {gap: [value for value in old[gap] if value in new[gap]] for gap in old if gap in new}


def compare(old: Path, new: Path, share: float, seed: str) -> Report:
    """Play to both trees side by side, and compare."""
    all_plays = list(plays(_common(gaps_of(old), gaps_of(new)), share, seed))
    with ThreadPoolExecutor(2) as pool:
        was, is_now = pool.map(lambda folder, name: run(folder, name, all_plays), (old, new), ("old", "new"))
    report = Report()
    report.add(was[0], is_now[0], {}, "the first line of the log")
    for play, one, other in zip(all_plays, was[1:], is_now[1:], strict=True):
        if "failed" in one or "failed" in other:  # nothing else of the two can be compared
            one, other = ({"failed": result.get("failed")} for result in (one, other))  # noqa: PLW2901
        report.add(one, other, play.gaps, f"{play.name}: {' | '.join(map(str, play.steps[:3]))[:600]}")
    report.requests = sum(len(one.get("entries", ())) for one in was[1:])
    return report


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tools.compare", description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="of the recorded scenarios (default: all)")
    parser.add_argument("--seed", default=SEED, help="draw other requests than those of the recording")
    parser.add_argument("--sentences", action="store_true", help="list each pair of sentences that differ")
    options = parser.parse_args()
    started = time.perf_counter()
    try:
        report = compare(options.old, options.new, options.share, options.seed)
    except ChildProcessError as error:
        sys.exit(str(error))
    status = report.show(sentences=options.sentences)
    print(f"{time.perf_counter() - started:.0f} s")
    sys.exit(status)


if __name__ == "__main__":
    main()
