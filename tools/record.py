"""Records what a tree decides about drawn requests, in process, and compares two recordings.

``python -m tools.record write FOLDER OUT`` sends the scenarios of :mod:`tools.drawing` to the ``PetStoreMock.app`` of
the tree in FOLDER and writes a JSON line for each request. With ``--like RECORDING`` it sends what that recording has,
so that a tree needs neither a command line nor the same gaps. ``python -m tools.record compare OLD NEW`` groups the
differences.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import time
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_to_bytes

from tools.differences import Report, comparable
from tools.drawing import KEY, PETS, Request, Scenario, encoded, scenarios

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT: Final = Path(__file__).parents[1]
SEED: Final = "2026"
_MOST_VIOLATIONS: Final = 20  # of one request that are written; their number is written too
_LONGEST_VALUE: Final = 300  # characters


def gaps_of(tree: Path) -> dict[str, list[str]]:
    """Return the alternatives of each gap that a tree has, the default first."""
    command = [sys.executable, "-m", "petstore_mock", "gaps", "--format", "json"]
    register = json.loads(subprocess.run(command, cwd=tree, check=True, capture_output=True).stdout)
    return {gap["name"]: gap["alternatives"] for gap in register["gaps"]}


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines of a file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def scenarios_of(recording: Path) -> list[Scenario]:
    """Return the scenarios that a recording was made from."""
    lines = groupby(read_lines(recording), key=lambda line: (line["scenario"], line["at"], line["gaps"]))
    return [
        Scenario(name, [Request.from_json(line["request"]) for line in steps], gaps, at)
        for (name, at, gaps), steps in lines
    ]


def write(tree: Path, out: Path, like: Path | None, seed: str) -> None:
    """Record what the tree decides; a child process imports it, so that no other tree is loaded."""
    drawn = scenarios(seed, gaps_of(tree)) if like is None else scenarios_of(like)
    text = "".join(f"{json.dumps(scenario.to_json())}\n" for scenario in drawn)
    out.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    with out.open("w", encoding="utf-8") as stdout:
        command = [sys.executable, "-m", "tools.record", "child", str(tree.resolve())]
        subprocess.run(command, cwd=ROOT, input=text, text=True, check=True, stdout=stdout)
    count = sum(1 for _ in read_lines(out))
    print(
        f"{count} requests of {text.count(chr(10))} scenarios recorded in {time.perf_counter() - started:.1f} s: {out}"
    )


def compare(old: Path, new: Path) -> Report:
    """Compare two recordings, request by request."""
    report = Report()
    others = {(line["scenario"], line["step"]): line for line in read_lines(new)}
    for line in read_lines(old):
        other = others.pop((line["scenario"], line["step"]), None)
        if other is None or "not_configured" in other["result"] or "not_configured" in line["result"]:
            report.missing += 1
            continue
        if other["request"] != line["request"] or other["gaps"] != line["gaps"]:
            sys.exit(f"expected both recordings to have the same requests; {line['scenario']!r} differs")
        request, gaps = line["request"], line["gaps"]
        was, is_now = (comparable(one["result"], gaps, request["method"]) for one in (line, other))
        report.add(was, is_now, gaps, f"{line['scenario']}: {Request.from_json(request)}")
    report.missing += len(others)
    return report


# In the child process


def play(tree: str, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Send each scenario to the tree's application, and yield what became of each request."""
    sys.path.insert(0, tree)
    import petstore_mock  # noqa: PLC0415  # the tree's own

    if not Path(petstore_mock.__file__).is_relative_to(tree):
        sys.exit(f"expected petstore_mock of {tree}; got {petstore_mock.__file__}")
    mocks: dict[str, petstore_mock.PetStoreMock] = {}
    for line in lines:
        scenario = Scenario.from_json(json.loads(line))
        if scenario.at not in mocks:
            mocks[scenario.at] = petstore_mock.PetStoreMock(api_key=KEY, seed=PETS, at=scenario.at, random_seed=7)
        petstore = mocks[scenario.at]
        petstore.reset()
        petstore.clock.freeze()
        petstore.clock.travel_to(scenario.at)
        refused = _configure(petstore, scenario.gaps)
        for step, request in enumerate(scenario.requests):
            result = {"not_configured": refused} if refused else _send(petstore, request)
            yield {
                "scenario": scenario.name,
                "step": step,
                "at": scenario.at,
                "gaps": scenario.gaps,
                "request": request.to_json(),
                "result": result,
            }


def _configure(petstore: Any, gaps: Mapping[str, str]) -> str:  # noqa: ANN401  # of either tree
    try:
        petstore.configure(**gaps)
    except Exception as error:  # noqa: BLE001  # a gap that the tree does not have
        return f"{type(error).__name__}: {error}"
    return ""


def _send(petstore: Any, request: Request) -> dict[str, Any]:  # noqa: ANN401  # of either tree
    answered: dict[str, Any] = {}

    def start_response(status: str, headers: list[tuple[str, str]], _exc_info: object = None) -> None:
        answered["status"] = int(status.partition(" ")[0])
        answered["headers"] = sorted([name, value] for name, value in headers if name.lower() != "date")

    count = len(petstore.journal)
    try:
        body = b"".join(petstore.app(_environ(request), start_response))
    except Exception as error:  # noqa: BLE001  # what a tree raises is recorded
        return {"raised": f"{type(error).__name__}: {error}"}
    journalled = len(petstore.journal) - count
    decision = _decision(petstore.journal[-1]) if journalled == 1 else None
    return {**answered, "body": encoded(body), "code": _code(body), "journalled": journalled, "decision": decision}


def _environ(request: Request) -> dict[str, Any]:
    path, _, query = request.target.partition("?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "REQUEST_URI": request.target,
        "SERVER_NAME": "petstore.test",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "petstore.test",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(request.body or b""),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    if request.body is not None:
        environ["CONTENT_LENGTH"] = str(len(request.body))
    for name, value in request.headers:
        variable = name.upper().replace("-", "_")
        if variable in {"CONTENT_TYPE", "CONTENT_LENGTH"}:
            environ[variable] = value
        else:
            variable = f"HTTP_{variable}"
            environ[variable] = f"{environ[variable]}, {value}" if variable in environ else value
    return environ


def _code(body: bytes) -> object:
    try:
        document = json.loads(body)
    except ValueError:
        return None
    return document.get("code") if isinstance(document, dict) else None


def _decision(entry: Any) -> dict[str, Any]:  # noqa: ANN401  # of either tree
    """Return what the journal's entry says, as data; ``words`` and ``detail`` are sentences."""
    return {
        "operation": entry.operation,
        "condition": entry.condition and entry.condition.name,
        "section": entry.section,
        "is_violation": entry.is_violation,
        "executed": entry.executed,
        "violations": [_violation(one) for one in entry.violations[:_MOST_VIOLATIONS]],
        "violation_count": len(entry.violations),
        "omitted": entry.omitted,
        "detail": entry.detail,
    }


def _violation(violation: Any) -> dict[str, Any]:  # noqa: ANN401  # of either tree
    found = {
        "path": violation.path,
        "rule": violation.rule,
        "section": violation.sentence.section,
        "words": str(violation),
    }
    if violation.has_value:
        found["value"] = _plain(violation.value)
    return found


def _plain(value: object) -> object:
    """Return a value as JSON that two trees write alike; a long one by its beginning and its length."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**40:
        return {"integer": "huge" if value > 0 else "-huge"}
    if isinstance(value, float):
        return {"number": repr(float(value))}
    try:
        text = json.dumps(value, default=repr)
    except RecursionError:
        return {"deep": type(value).__name__}
    return value if len(text) <= _LONGEST_VALUE else {"begins": text[:_LONGEST_VALUE], "length": len(text)}


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(prog="python -m tools.record", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="record a tree")
    writing.add_argument("tree", type=Path)
    writing.add_argument("out", type=Path)
    writing.add_argument("--like", type=Path, help="send what this recording has")
    writing.add_argument("--seed", default=SEED)
    comparing = commands.add_parser("compare", help="group the differences between two recordings")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--sentences", action="store_true", help="list each pair of sentences that differ")
    child = commands.add_parser("child", help="internal: plays the scenarios of stdin")
    child.add_argument("tree")
    options = parser.parse_args()
    if options.command == "write":
        write(options.tree, options.out, options.like, options.seed)
    elif options.command == "compare":
        sys.exit(compare(options.old, options.new).show(sentences=options.sentences))
    else:
        for line in play(options.tree, sys.stdin):
            print(json.dumps(line))


if __name__ == "__main__":
    main()
