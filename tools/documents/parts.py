"""The generated parts of the documents. ``make generated`` writes them, and the suite compares them."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tests.sentences import PASSAGES, Passage
from tools.documents import fault_clients, tables, tls_clients
from tools.documents.blocks import ROOT, blocks, generated, table

_DOCS: Final = ROOT / "docs"
_README: Final = ROOT / "README.md"
_PYTEST: Final = (sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider")
_SAME_EXAMPLES: Final = """
from hypothesis import settings
settings.register_profile("same", derandomize=True, database=None)
settings.load_profile("same")
"""


class Part(NamedTuple):
    """A generated part of a document."""

    document: Path
    make: Callable[[], str]
    mark: str = ""  # `slow` or `soak`, by its duration


# The package


def floors() -> str:
    """Return import-linter's floors. A folder imports only from the floors below its own."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in settings["contracts"] if contract["id"] == "floors")
    return "\n".join(["```text", *("   ".join(re.findall(r"\w+", layer)) for layer in layers), "```"])


# The interface and its sentences


def _unseen() -> list[Passage]:
    return [one for one in PASSAGES if not one.clauses and not one.gaps]


def fidelity_figures() -> str:
    """Return how many sentences of the interface have clauses, and how many have only gaps."""
    held = sum(bool(one.clauses) for one in PASSAGES)
    chosen = sum(bool(one.gaps) and not one.clauses for one in PASSAGES)
    return textwrap.fill(
        f"{len(tables.clauses())} clauses cover {held} of the interface's {len(PASSAGES)} sentences. {chosen} more "
        "sentences have only gaps, because they leave something open. No response can show the other "
        f"{len(_unseen())}. There are {len(tables.register())} gaps and {len(tables.mutants())} mutants.",
        width=120,
    )


def unseen_table() -> str:
    """Return the sentences that no response shows. Each row holds the sentences with the same reason."""
    rows: list[tuple[str, str]] = []
    for why in dict.fromkeys(one.why for one in _unseen()):
        told = [f"{f'§{one.section} ' if one.section else ''}{one.text}" for one in _unseen() if one.why == why]
        rows.append(("<br>".join(told), why))
    return table("what the interface says", "why no response shows it", rows=rows)


# Examples, as programs print them


def failing_example() -> str:
    """Return the report of pytest when the test of the first example misspells a status."""
    shop, example = _block("# shop.py"), _block("# test_shop.py")
    broken = _replaced(example, 'status="available") == [rex]', 'status="avalable") == [rex]')
    unneeded = ("xdist", "hypothesispytest", "respx", "anyio")
    files = {"shop.py": shop, "test_shop.py": broken}
    output = _run_pytest(files, "--tb=line", *(f"-pno:{plugin}" for plugin in unneeded))
    return f"```text\n{_journal_of(output)}\n```"


def _journal_of(output: str) -> str:
    """Return the report of the fixture, with fixed words for values that vary."""
    start = output.rindex("\n", 0, output.index("petstore journal")) + 1
    part = output[start:]
    # pytest's next output ends it: a line of `=`, the counts, or (with --tb=line) the failing line.
    end = re.search(r"^(=+ .* =+|\d+ (failed|passed).*|/.*:\d+: .*)$", part[1:], re.MULTILINE)
    part = part[: end.start() + 1] if end else part
    return _steady_times(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", part))


def machine_example() -> str:
    """Return the report of the machine about the client that retries blindly."""
    test = _replaced(
        _block("check_client(lambda"), "from shop import PetClient", "from hasty import HastyClient as PetClient"
    )
    files = {"shop.py": _block("# shop.py"), "hasty.py": _block("# hasty.py"), "test_shop.py": test}
    output = _run_pytest(files, "--hypothesis-seed=0")
    if "The name of the rule is 'create sent again'" not in output:
        raise SystemExit(f"expected the bug of HastyClient; got {output}")
    lines = [line[1:].removeprefix("       ").rstrip() for line in output.splitlines() if line.startswith("E ")]
    return f"```text\n{_steady_times(chr(10).join(lines))}\n```"


def machine_sentence() -> str:
    """Return the first sentence of the machine's report, from the document that shows the report."""
    sentence = generated(PARTS["machine example"].document, "machine example").splitlines()[1].partition(": ")[2]
    return "\n".join(textwrap.wrap(sentence, 118, initial_indent="> ", subsequent_indent="> "))


def serving_example() -> str:
    """Return the stub's output at its start, and its log of one right and two wrong requests."""
    command = [sys.executable, "-m", "petstore_mock", "serve", "--port", "0", "--api-key", "secret", "--seed", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        first = ""
        while "curl" not in first:
            first += stub.stdout.readline()
        port = re.findall(r":(\d+)/v1", first)[0]
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=10)
        key = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
        for method, path, body, headers in (
            ("GET", "/v1/pets?limit=2", None, key),
            ("POST", "/v1/pets", '{"name": 1}', key),
            ("GET", "/v1/pets", None, {}),
        ):
            connection.request(method, path, body, headers)
            connection.getresponse().read()
        connection.close()
        stub.send_signal(signal.SIGTERM)
        output, errors = stub.communicate(timeout=10)
    text = (first + output + errors).replace(f":{port}", ":8080")
    text = re.sub(r"^\d\d:\d\d:\d\d", "12:00:00", text, flags=re.MULTILINE)
    return f"```text\n{_steady_times(text)}\n```"


def missed_mutants() -> str:
    """Return how many mutants the documents' examples detect, and which they miss. This takes minutes."""
    files = {"conftest.py": _SAME_EXAMPLES}
    for block in blocks("python", "sh", "toml", "json"):
        if block.file_name is not None and not block.has_tests:
            files[block.file_name] = block.text
        elif block.has_tests and not (block.is_session_wide or block.is_slow or block.missing):
            files[f"test_{block.document.stem}_{block.line}.py"] = block.text
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "found.json")
        _run_pytest(files, "--petstore-mutants=all", f"--petstore-mutants-json={report}", fails=False, seconds=900)
        found = json.loads(report.read_text(encoding="utf-8"))["mutants"]
    missed = [mutant["name"] for mutant in found if not mutant["noticed"]]
    names = ", ".join(f"`{name}`" for name in missed)
    return f"The examples of these pages notice {len(found) - len(missed)} of {len(found)} mutants. They miss {names}."


def _block(text: str) -> str:
    return next(block.text for block in blocks("python") if text in block.text)


def _replaced(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new)


def _run_pytest(files: dict[str, str], *options: str, fails: bool = True, seconds: float = 300) -> str:
    """Run pytest over files in their own folder; return its output."""
    names = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PETSTORE_"))}
    names["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / ".hypothesis")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        done = subprocess.run(
            [*_PYTEST, *options, "."],
            cwd=folder,
            env=names,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    assert (done.returncode == 1) is fails, done.stdout + done.stderr
    return done.stdout


def _steady_times(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? ?ms", "0.1 ms", text).strip("\n")


PARTS: Final[dict[str, Part]] = {
    "floors": Part(_DOCS / "explanation" / "architecture.md", floors),
    "gaps": Part(_DOCS / "reference" / "gaps.md", tables.gaps),
    "retries": Part(_DOCS / "how-to" / "retries.md", tables.retries),
    "commands": Part(_DOCS / "reference" / "cli.md", tables.commands),
    "keywords": Part(_DOCS / "reference" / "options.md", tables.keywords),
    "settings": Part(_DOCS / "reference" / "options.md", tables.settings),
    "door": Part(_DOCS / "reference" / "door.md", tables.door),
    "faults": Part(_DOCS / "reference" / "faults.md", fault_clients.measured_table),
    "tls faults": Part(_DOCS / "reference" / "faults.md", tls_clients.measured_table, "slow"),
    "directed scenarios": Part(_DOCS / "explanation" / "machine" / "scenarios.md", tables.directed),
    "faults of every run": Part(_DOCS / "explanation" / "machine" / "scenarios.md", tables.sent_faults),
    "checks": Part(_DOCS / "reference" / "api" / "checks.md", tables.checks),
    "learnable gaps": Part(_DOCS / "reference" / "clauses.md", tables.learnable),
    "clauses": Part(_DOCS / "reference" / "clauses.md", tables.clauses_table),
    "mutants": Part(_DOCS / "reference" / "mutants.md", tables.mutants_table),
    "mutants that our examples miss": Part(_DOCS / "how-to" / "mutants.md", missed_mutants, "slow"),
    "fidelity figures": Part(_DOCS / "explanation" / "fidelity.md", fidelity_figures),
    "unseen sentences": Part(_DOCS / "explanation" / "fidelity.md", unseen_table),
    "serving example": Part(_DOCS / "tutorial" / "first-stub.md", serving_example),
    "machine example": Part(_DOCS / "tutorial" / "find-a-bug.md", machine_example, "soak"),
    "machine sentence": Part(_README, machine_sentence),  # reads the example above, so it comes later
    "failing example": Part(_README, failing_example),
}
