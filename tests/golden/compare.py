"""Compares output of the package with the golden files in this folder.

``GOLDEN=write`` writes the golden files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

import petstore_mock

HERE: Final = Path(__file__).parent
# Patterns of text that varies between runs, with their replacements.
_VARIES: Final = (
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"petstore-[0-9a-f]{8}-\d{6}"), "KEY"),
    (re.compile(r" *\b\d+\.\d+ m?s\b *"), " N ms  "),  # with the spaces, because the width of the column varies
    (re.compile(r'"(time|wait)": [\d.e-]+'), r'"\1": N'),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00| UTC)?"), "MOMENT"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"), "DATE"),
    (re.compile(r"/pets/\d{12,}"), "/pets/ABSENT"),
    (re.compile(re.escape(petstore_mock.__version__)), "VERSION"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


def hold(name: str, text: str, also: Mapping[str, str] | None = None) -> None:
    """Assert that a text is the same as a golden file.

    Args:
        name: the name of the golden file.
        text: the output to compare.
        also: replacements for other text that varies between runs, such as a temporary folder.
    """
    for word, instead in (also or {}).items():
        text = text.replace(word, instead)
    for pattern, instead in _VARIES:
        text = pattern.sub(instead, text)
    text = text.rstrip("\n") + "\n"
    golden = HERE / name
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
        pytest.skip(f"written to {golden}")
    assert golden.is_file(), f"{golden.name} does not exist: run with GOLDEN=write"
    assert text == golden.read_text(encoding="utf-8")


def hold_json(name: str, value: Any) -> None:
    """Assert that a JSON value is the same as a golden file, including the order of its members."""
    hold(name, json.dumps(value, ensure_ascii=False, indent=1))
