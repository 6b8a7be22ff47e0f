"""The pages about clients in other languages: a newcomer's folder, their commands, and the bug that each page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.platforms import POSIX_SHELL
from tools.documents.blocks import ROOT, Block, blocks

pytestmark = [POSIX_SHELL, pytest.mark.slow, pytest.mark.untraced]

# The program that a page needs, and the kit that its reader copies.
PAGES = {
    "check-node": ("node", "adapters/node/petstore-adapter.mjs"),
    "check-java": ("javac", "adapters/java/PetstoreAdapter.java"),
    "check-go": ("go", "adapters/go/petstore_adapter.go"),
}
_FILE = re.compile(r"// ([\w.]+)\n")


def of_page(page: str, *languages: str) -> list[Block]:
    return [block for block in blocks(*languages) if block.document.stem == page]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_leads_from_an_empty_folder_to_the_bug_that_it_shows(page: str, tmp_path: Path) -> None:
    program, kit = PAGES[page]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    shutil.copy(ROOT / kit, tmp_path)
    for block in of_page(page, "javascript", "java", "go"):
        named = _FILE.match(block.text)
        assert named is not None, block.where
        (tmp_path / named[1]).write_text(block.text, encoding="utf-8")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "petstore-mock"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m petstore_mock "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    script = "set -e\n" + "".join(block.text for block in of_page(page, "sh"))
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=800, check=False
    )
    (shown,) = of_page(page, "text")
    # The page wraps the sentence, and leaves out its end.
    beginning = " ".join(shown.text.split()).removesuffix(" ...")
    assert done.returncode == 1, done.stdout + done.stderr
    assert beginning in " ".join(done.stdout.split())
    assert (tmp_path / "petstore-check.json").exists()
