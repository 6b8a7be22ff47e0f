"""Finds the code blocks of the documents, so that each can be executed, and writes tables and generated parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS: Final = (
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT")),
    *PAGES,
)

# Matches Sphinx directives (in braces) as well as languages. Else the end of a directive would open a block.
_FENCE = re.compile(r"^ *```([^\n`]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(r"^ *(?:import|from) ([\w.]+)", re.MULTILINE)
_FILE_NAME = re.compile(r"# (\w+\.(?:py|sh|toml|json))\n")


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    document: Path
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        """The document and the line."""
        return f"{self.document.relative_to(ROOT)}:{self.line}"

    @property
    def file_name(self) -> str | None:
        """The file name in the block's first line, or None if it has none."""
        match = _FILE_NAME.match(self.text)
        return match[1] if match else None

    @property
    def has_tests(self) -> bool:
        """Whether the block defines tests."""
        return re.search(r"^ *(async )?def test_", self.text, re.MULTILINE) is not None

    @property
    def is_session_wide(self) -> bool:
        """Whether the tests set up the whole session, and so need their own run."""
        return self.has_tests and "def petstore_options" in self.text

    @property
    def missing(self) -> list[str]:
        """The imported packages that are not installed. Modules of the documents do not count."""
        imported = {name.partition(".")[0] for name in _IMPORT.findall(self.text)}
        return sorted(name for name in imported - _modules() if find_spec(name) is None)

    @property
    def is_slow(self) -> bool:
        """Whether the block runs the machine, which takes seconds."""
        return "check_client(" in self.text


def blocks(*languages: str) -> list[Block]:
    """Return the blocks of all documents in one of ``languages``, in order; all blocks by default."""
    found: list[Block] = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        found += [
            Block(document, text.count("\n", 0, match.start()) + 1, match[1], match[2])
            for match in _FENCE.finditer(text)
            if not match[1].startswith("{") and (not languages or match[1] in languages)
        ]
    return found


@cache
def _modules() -> set[str]:
    """Return the names of the modules that readers of the documents save."""
    return {block.file_name.removesuffix(".py") for block in blocks("python") if block.file_name}


def table(*head: str, rows: Iterable[Sequence[str]], numbers: bool = False) -> str:
    """Return a Markdown table. With ``numbers``, all columns except the first align to the right."""
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    ruler = ["---", *(["--:" if numbers else "---"] * (len(head) - 1))]
    return "\n".join([lines[0], f"|{'|'.join(ruler)}|", *lines[1:]])


def generated(document: Path, name: str) -> str:
    """Return the generated part of a document."""
    return _split(document, name)[1].strip("\n")


def write(document: Path, name: str, text: str) -> None:
    """Replace a generated part by a text."""
    before, _, after = _split(document, name)
    document.write_text(f"{before}{text}{after}", encoding="utf-8")


def _split(document: Path, name: str) -> tuple[str, str, str]:
    """Return the text before a part, the part without its markers, and the text after it."""
    text = document.read_text(encoding="utf-8")
    begin = re.search(rf"<!-- {name}: made by [^\n]* -->\n", text)
    end = text.find(f"\n<!-- end of {name} -->")
    assert begin, f"{document} has no part {name!r}"
    assert end >= begin.end() - 1, f"{document} has no end of part {name!r}"
    return text[: begin.end()], text[begin.end() : end], text[end:]
