"""The mutants that the mutation tester makes of source code."""

from __future__ import annotations

from tools.mutation import mutants_of

SOURCE = '''
"""A docstring."""
from typing import Literal
Kind = Literal["a"]
def f(x: "int") -> "int":
    if x < 5:
        g(x)
    return f"{x} words"
'''


def test_mutants_change_only_executed_code() -> None:
    found = {
        (one.kind, one.apply(SOURCE.encode()).decode().splitlines()[one.line - 1])
        for one in mutants_of(SOURCE.encode(), "m")
    }
    assert found == {
        ("negated condition", "    if (not (x < 5)):"),
        ("swapped comparison", "    if x <= 5:"),
        ("changed constant", "    if x < 6:"),
        ("dropped call", "        None"),
        ("return None", "    return None"),
    }
