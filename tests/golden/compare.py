"""Holds what the package writes for people and programs against golden files, which stand beside this module.

``GOLDEN=write`` writes them anew; ``GOLDEN=folder`` writes them there: each tree has its own.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

import petstore_mock

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["hold", "hold_json"]

HERE: Final = Path(__file__).parent
# What differs from run to run, and what stands for it.
_VARIES: Final = (
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"petstore-[0-9a-f]{8}-\d{6}"), "KEY"),
    (re.compile(r" *\b\d+\.\d+ m?s\b *"), " N ms  "),  # a column of them is as wide as the longest
    (re.compile(r'"(time|wait)": [\d.e-]+'), r'"\1": N'),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00| UTC)?"), "MOMENT"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"), "DATE"),
    (re.compile(r"/pets/\d{12,}"), "/pets/ABSENT"),
    (re.compile(re.escape(petstore_mock.__version__)), "VERSION"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


def hold(name: str, text: str, also: Mapping[str, str] | None = None) -> None:
    """Assert that a text is that of a golden file.

    Args:
        name: the file.
        text: the text.
        also: further words that differ from run to run, such as a temporary folder, and what stands for each.
    """
    for word, instead in (also or {}).items():
        text = text.replace(word, instead)
    for pattern, instead in _VARIES:
        text = pattern.sub(instead, text)
    text = text.rstrip("\n") + "\n"
    if target := os.environ.get("GOLDEN"):
        folder = HERE if target == "write" else Path(target)
        (folder / name).write_text(text, encoding="utf-8")
        pytest.skip(f"written to {folder / name}")
    golden = HERE / name
    assert golden.is_file(), f"there is no {golden.name} yet: GOLDEN=write makes it"
    assert text == golden.read_text(encoding="utf-8")


def hold_json(name: str, value: Any) -> None:  # noqa: ANN401  # a JSON value is any value
    """Assert that a JSON value is that of a golden file, the order of members included."""
    hold(name, json.dumps(value, ensure_ascii=False, indent=1))
