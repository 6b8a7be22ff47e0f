"""``make visits``: shows the modules that a request visits, from the listener to the response."""

from __future__ import annotations

import argparse
import http.client
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final
from urllib.parse import urlsplit

import petstore_mock
from petstore_mock import PetStoreMock

_ROOT: Final = Path(__file__).parents[1]
_PACKAGE: Final = Path(petstore_mock.__file__).parent
_NEW_PET: Final = '{"name": "Rex", "categoryId": 1, "status": "available"}'
_SENDS: Final = {"send", "sendall", "sendmsg"}
_SETTLE: Final = 0.1  # seconds in which the listener accepts a connection, or finishes the work of a request


@dataclass(frozen=True)
class Outcome:
    """A request and the status that it must get."""

    status: int
    method: str
    path: str
    body: str | None = None
    key: bool = True

    def __str__(self) -> str:
        """Return the label of the request in the tables."""
        return f"{self.status} {self.method} {self.path}{'' if self.key else ' without a key'}"


_OUTCOMES: Final = (
    Outcome(200, "GET", "/pets"),
    Outcome(201, "POST", "/pets", _NEW_PET),
    Outcome(200, "GET", "/pets/1"),
    Outcome(401, "GET", "/pets", key=False),
    Outcome(404, "GET", "/pets/999"),
    Outcome(400, "GET", "/pets?limit=0"),
    Outcome(405, "DELETE", "/pets"),
)


@dataclass(frozen=True)
class Step:
    """A call of a function of the package, or the return from it.

    Attributes:
        module: the module that runs after the step; None after the return to other code.
        caller: the nearest module of the package on the stack of a call; None for a return.
    """

    module: str | None
    caller: str | None = None


class Recorder:
    """Records the steps of all threads that start after ``threading.setprofile``."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._sent_at = 0
        self._on = False

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:  # noqa: ANN401  # the event decides its type
        """Take one event of ``threading.setprofile``."""
        if not self._on:
            return
        if event == "c_call" and argument.__name__ in _SENDS:
            self._sent_at = len(self._steps)
        elif event in {"call", "return"} and (module := _module(frame)):
            caller = next(filter(None, map(_module, _callers(frame))), None)
            self._steps.append(Step(module, caller) if event == "call" else Step(caller))

    def begin(self) -> None:
        """Discard the earlier steps, and start to record."""
        self._steps.clear()
        self._sent_at = 0
        self._on = True

    def end(self) -> list[Step]:
        """Return the steps up to the last byte of the response."""
        self._on = False
        return self._steps[: self._sent_at]


def _module(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    return path.relative_to(_PACKAGE).with_suffix("").as_posix() if path.is_relative_to(_PACKAGE) else None


def _callers(frame: FrameType) -> Iterator[FrameType]:
    caller = frame.f_back
    while caller is not None:
        yield caller
        caller = caller.f_back


class Floors:
    """The layers of ``[tool.importlinter]``, from high to low."""

    def __init__(self) -> None:
        text = (_ROOT / "pyproject.toml").read_text(encoding="utf-8")
        contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
        layers = next(contract["layers"] for contract in contracts if contract["id"] == "floors")
        self._floors = {name.strip(" ()"): -depth for depth, layer in enumerate(layers) for name in layer.split("|")}

    def up(self, before: str | None, after: str | None) -> bool:
        """Return whether the step goes to a higher floor."""
        if before is None or after is None:
            return False
        return self._floors[after.partition("/")[0]] > self._floors[before.partition("/")[0]]


def _stays(steps: Sequence[Step]) -> list[str]:
    """Return the visited modules in order, without immediate repeats."""
    found: list[str] = []
    for step in steps:
        if step.module is not None and found[-1:] != [step.module]:
            found.append(step.module)
    return found


def _send(petstore: PetStoreMock, outcome: Outcome, recorder: Recorder) -> list[Step]:
    address = urlsplit(petstore.url)
    headers = dict(petstore.headers) if outcome.key else {}
    if outcome.body is not None:
        headers["Content-Type"] = "application/json"
    with closing(http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)) as connection:
        connection.connect()
        time.sleep(_SETTLE)
        recorder.begin()
        connection.request(outcome.method, address.path + outcome.path, outcome.body, headers)
        response = connection.getresponse()
        response.read()
        time.sleep(_SETTLE)
        steps = recorder.end()
    assert response.status == outcome.status, f"expected {outcome}; got {response.status}"
    assert steps, "no step was recorded before the response"
    return steps


def _show(title: str, visits: dict[Outcome, list[Step]], floors: Floors) -> None:
    print(f"\n{title:36} modules  stays  back up  calls up")
    for outcome, steps in visits.items():
        stays = _stays(steps)
        back = sum(map(floors.up, stays, stays[1:]))
        calls = sum(floors.up(step.caller, step.module) for step in steps)
        print(f"  {outcome!s:34} {len(set(stays)):7} {len(stays):6} {back:8} {calls:9}")


def main() -> None:
    """Send each request twice, and print the modules that it visits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", action="store_true", help="also print the modules in the order of the visits")
    arguments = parser.parse_args()
    floors, recorder = Floors(), Recorder()
    threading.setprofile(recorder.profile)
    with PetStoreMock(seed=3) as petstore:
        first = {outcome: _send(petstore, outcome, recorder) for outcome in _OUTCOMES}
        again = {outcome: _send(petstore, outcome, recorder) for outcome in _OUTCOMES}
    _show("the first time", first, floors)
    _show("sent again", again, floors)
    print(
        "\nA stay begins when a call or a return leads to another module. 'back up' counts the stays on a higher floor"
    )
    print("than the stay before. 'calls up' counts the calls to a higher floor.")
    visited = Counter(module for steps in first.values() for module in set(_stays(steps)))
    print(f"\n{len(visited)} visited modules, and how many of the {len(first)} requests visit each, the first time")
    for module, count in sorted(visited.items()):
        print(f"  {count} {module}")
    if arguments.turns:
        for outcome, steps in first.items():
            print(f"\n{outcome}: {' '.join(_stays(steps))}")


if __name__ == "__main__":
    main()
