"""Draws the terminal of the demo, which is the first picture of the documents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import escape
from typing import Final

from tools.documents.blocks import ROOT

TARGET: Final = ROOT / "docs" / "pictures" / "demo.svg"
_COLUMNS, _CHARACTER, _LINE = 100, 7.6, 19  # terminal width; pixels of a character and a line


def picture() -> str:
    """Return a picture of the output of ``petstore-mock demo``, without its last part, the next steps."""
    command = [sys.executable, "-m", "petstore_mock", "demo"]
    environment = {**os.environ, "COLUMNS": str(_COLUMNS)}
    output = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout
    shown = re.sub(r"\d+\.\d ms +", "0.3 ms  ", output.partition("\n\nDo the same")[0])
    colours = {"create_pet(": "#ff9b8e", "every createPet": "#ff9b8e", "1  POST": "#8ec7ff", "2  POST": "#8ec7ff"}
    parts = []
    for number, line in enumerate(["$ petstore-mock demo", *shown.splitlines()]):
        colour = next((colours[begin] for begin in colours if line.startswith(begin)), "#e6edf3")
        if line:
            parts.append(
                f'<text x="16" y="{34 + number * _LINE}" fill="{colour}" textLength="{len(line) * _CHARACTER:.0f}" '
                f'xml:space="preserve">{escape(line)}</text>'
            )
    width, height = round(32 + _COLUMNS * _CHARACTER), 54 + number * _LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'aria-label="The output of petstore-mock demo" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="12.6">\n'
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
