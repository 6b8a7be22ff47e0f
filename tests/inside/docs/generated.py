"""The parts of the documents that are made from the code: what they must be, and ``make generated`` to write them.

Whoever changes a gap or a message runs ``make generated``; the suite only compares.
"""

from __future__ import annotations

import http.client
import io
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from petstore_mock import PetStoreMock
from petstore_mock.cli import run
from petstore_mock.contract.gaps import GAPS
from petstore_mock.contract.mutants import MUTANTS
from petstore_mock.verify import guest, learn
from petstore_mock.verify.clauses import CLAUSES
from petstore_mock.verify.gap_evidence import NEEDS, NOT_LOOKED_AT
from petstore_mock.verify.probes import PROBES
from tests.inside.docs import reference_tables
from tests.sentences import PASSAGES, Passage
from tools.documents import charts, fault_clients
from tools.documents.blocks import ROOT, blocks, generated, write

if TYPE_CHECKING:
    from collections.abc import Callable


def gaps_table() -> str:
    """The register as a Markdown table."""
    out = io.StringIO()
    assert run(["gaps", "--format", "markdown"], out, io.StringIO()) == 0
    return out.getvalue().strip("\n")


def failing_example() -> str:
    """What pytest prints when the client of the first example misspells a status."""
    shop, example = (
        next(block.text for block in blocks("python") if mark in block.text) for mark in ("# shop.py", "# test_shop.py")
    )
    broken = example.replace('status="available") == [rex]', 'status="avalable") == [rex]')
    assert broken != example
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "shop.py").write_text(shop, encoding="utf-8")
        (Path(directory) / "test_shop.py").write_text(broken, encoding="utf-8")
        unneeded = ("cacheprovider", "xdist", "hypothesispytest", "html", "allure_pytest", "respx", "anyio")
        command = [sys.executable, "-m", "pytest", "-q", "--tb=line", *(f"-pno:{plugin}" for plugin in unneeded)]
        output = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60, check=False).stdout
    return f"```text\n{_steady(output)}\n```"


def machine_example() -> str:
    """What the machine says of the client that retries blindly."""
    checked, shop, hasty = (
        next(block.text for block in blocks("python") if mark in block.text)
        for mark in ("check_client(lambda", "# shop.py", "# hasty.py")
    )
    test = checked.replace("from shop import PetClient", "from hasty import HastyClient as PetClient")
    assert test != checked
    with tempfile.TemporaryDirectory() as directory:
        for name, text in (("shop.py", shop), ("hasty.py", hasty), ("test_shop.py", test)):
            (Path(directory) / name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
        output = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=300, check=False).stdout
    lines = [line[1:].removeprefix("       ") for line in output.splitlines() if line.startswith("E ")]
    return f"```text\n{_steady_times(chr(10).join(line.rstrip() for line in lines))}\n```"


def machine_sentence() -> str:
    """The first sentence of what the machine says there."""
    document, _ = PARTS["machine example"]
    sentence = generated(document, "machine example").splitlines()[1].partition(": ")[2]
    return "\n".join(textwrap.wrap(sentence, 118, initial_indent="> ", subsequent_indent="> "))


def serving_example() -> str:
    """What the stub prints when it starts, and logs for a right and two wrong requests."""
    command = [sys.executable, "-m", "petstore_mock", "serve", "--port", "0", "--api-key", "secret", "--seed", "20"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        first = ""
        while "curl" not in first:
            first += stub.stdout.readline()
        port = int(re.findall(r":(\d+)/v1", first)[0])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
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


def _steady_times(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? ?ms", "0.1 ms", text).strip("\n")


def _steady(output: str) -> str:
    """Keep the report's own part, and put fixed words for what differs from run to run."""
    start = output.index("petstore journal")
    start = output.rindex("\n", 0, start) + 1
    part = output[start:]
    # The report's own part ends where pytest goes on: a rule of `=`, the counts, or (with --tb=line) the failing line.
    end = re.search(r"^(=+ .* =+|\d+ (failed|passed).*|/.*:\d+: .*)$", part[1:], re.MULTILINE)
    part = part[: end.start() + 1] if end else part
    part = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", part)
    return _steady_times(part)


README: Final = ROOT / "README.md"
DOCS: Final = ROOT / "docs"


def clauses_table() -> str:
    """The clauses as a Markdown table."""
    rows = ["| clause | what the interface says | probes |", "|---|---|---|"]
    for clause in CLAUSES:
        shown = ", ".join(f"`{pattern}`" for pattern in clause.probes)
        rows.append(f"| `{clause.id}` | {clause.words.replace('<', '&lt;')} | {shown} |")
    return "\n".join(rows)


def mutants_table() -> str:
    """The mutants as a Markdown table."""
    rows = ["| clause | mutant | what the service does |", "|---|---|---|"]
    rows += [f"| `{mutant.clause}` | `{name}` | {mutant.words} |" for name, mutant in MUTANTS.items()]
    return "\n".join(rows)


def fidelity_figures() -> str:
    """How much of the interface is held, and by what."""
    held = sum(bool(one.clauses) for one in PASSAGES)
    chosen = sum(bool(one.gaps) and not one.clauses for one in PASSAGES)
    return textwrap.fill(
        f"Of the interface's {len(PASSAGES)} sentences, {held} are held by {len(CLAUSES)} clauses, which "
        f"{len(PROBES)} probes show; {chosen} more say that something is left open, and are gaps ({len(GAPS)} in all); "
        f"{len(_unseen())} show in no answer. There are {len(MUTANTS)} mutants.",
        width=120,
    )


def _unseen() -> list[Passage]:
    return [one for one in PASSAGES if not one.clauses and not one.gaps]


def unseen_table() -> str:
    """The sentences that nobody can see kept, as a Markdown table; those for the same reason share a row."""
    rows = ["| what the interface says | why it can't be seen |", "|---|---|"]
    for why in dict.fromkeys(one.why for one in _unseen()):
        told = [f"{f'§{one.section} ' if one.section else ''}{one.text}" for one in _unseen() if one.why == why]
        rows.append(f"| {'<br>'.join(told)} | {why} |")
    return "\n".join(rows)


def learnable_table() -> str:
    """What ``learn`` can tell of each gap: found out by learning from the fake, from a recording of it as well."""
    asked = guest.sleep
    guest.sleep = lambda _seconds: None
    try:
        with PetStoreMock(seed=30, at="2030-12-06") as petstore, tempfile.TemporaryDirectory() as directory:
            har = Path(directory) / "recording.har"
            reading, creating = (
                learn(petstore.url, api_key=petstore.api_key, allow_create=allowed, rate=1e6) for allowed in (0, 40)
            )
            petstore.journal.to_har(har)
            recorded = learn(har=har)
    finally:
        guest.sleep = asked
    rows = [
        "| gap | by GET alone | with `--allow-create` | from a recording | what is said where it can't be told |",
        "|---|---|---|---|---|",
    ]
    for name in GAPS:
        told = ["yes" if name in learned.choices else "" for learned in (reading, creating, recorded)]
        rows.append(f"| `{name}` | {' | '.join(told)} | {NEEDS.get(name, NOT_LOOKED_AT)} |")
    return "\n".join(rows)


PARTS: Final[dict[str, tuple[Path, Callable[[], str]]]] = {
    "gaps": (DOCS / "reference" / "gaps.md", gaps_table),
    "faults": (DOCS / "reference" / "faults.md", fault_clients.table),
    "commands": (DOCS / "reference" / "cli.md", reference_tables.commands),
    "keywords": (DOCS / "reference" / "options.md", reference_tables.keywords),
    "settings": (DOCS / "reference" / "options.md", reference_tables.settings),
    "door": (DOCS / "reference" / "door.md", reference_tables.door),
    "learnable gaps": (DOCS / "reference" / "clauses.md", learnable_table),
    "mutants": (DOCS / "reference" / "mutants.md", mutants_table),
    "fidelity figures": (DOCS / "explanation" / "fidelity.md", fidelity_figures),
    "unseen sentences": (DOCS / "explanation" / "fidelity.md", unseen_table),
    "clauses": (DOCS / "reference" / "clauses.md", clauses_table),
    "serving example": (DOCS / "tutorial" / "first-stub.md", serving_example),
    "machine example": (DOCS / "tutorial" / "find-a-bug.md", machine_example),
    "machine sentence": (README, machine_sentence),  # of the example above, so that it comes after it
    "failing example": (README, failing_example),
}


def main() -> None:
    """Write every generated part into its document, and draw the charts."""
    charts.draw()
    for name, (document, make) in PARTS.items():
        write(document, name, make())


if __name__ == "__main__":
    main()
