"""How many mutants the examples of the documents notice: measured, and written into the documents.

It takes minutes, so that a slow test compares it, and ``python -m tests.inside.docs.noticed`` writes it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from petstore_mock.contract.mutants import MUTANTS
from tools.documents.blocks import ROOT, blocks

__all__ = ["documented", "sentence", "unnoticed"]

DOCUMENT: Final = ROOT / "docs" / "how-to" / "mutants.md"
_BEGIN: Final = "<!-- mutants that our examples miss: made by `python -m tests.inside.docs.noticed` -->"
_END: Final = "<!-- end of mutants that our examples miss -->"
_SAME_EXAMPLES: Final = """
from hypothesis import settings
settings.register_profile("same", derandomize=True, database=None)
settings.load_profile("same")
"""


def unnoticed() -> list[str]:
    """Run the tests of all documents under every mutant, and return those that none of them notices."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "conftest.py").write_text(_SAME_EXAMPLES, encoding="utf-8")
        for block in blocks("python", "sh", "toml", "json"):
            if block.file_name is not None and not block.has_tests:
                (folder / block.file_name).write_text(block.text, encoding="utf-8")
            elif block.has_tests and not (block.is_session_wide or block.is_slow or block.missing):
                (folder / f"test_{block.document.stem}_{block.line}.py").write_text(block.text, encoding="utf-8")
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PETSTORE_"))
        }
        environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / ".hypothesis")
        options = ("-pno:cacheprovider", "--petstore-mutants=all", "--petstore-mutants-json=found.json")
        command = [sys.executable, "-m", "pytest", "-q", *options, "."]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return [mutant["name"] for mutant in found["mutants"] if not mutant["noticed"]]


def sentence(missed: list[str]) -> str:
    """Return what the document says of it."""
    count = len(MUTANTS) - len(missed)
    names = ", ".join(f"`{name}`" for name in missed)
    return f"The examples of these pages notice {count} of {len(MUTANTS)}. They miss {names}."


def main() -> None:
    """Measure, and write it into the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    _, ended, after = rest.partition(_END)
    assert ended, f"{DOCUMENT} has no such part"
    DOCUMENT.write_text(f"{before}{_BEGIN}\n{sentence(unnoticed())}\n{_END}{after}", encoding="utf-8")


def documented() -> str:
    """Return what the document says."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return text.partition(_BEGIN)[2].partition(_END)[0].strip("\n")


if __name__ == "__main__":
    main()
