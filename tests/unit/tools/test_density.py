"""The figures that ``make lint`` limits."""

from __future__ import annotations

from pathlib import Path

from tools.density import LIMITS, measure

SOURCE = '''
"""A docstring counts as no statement."""
TABLE = {number: [number, number, number] for number in range(9) if number}
def f(x: int) -> int:
    """Return a number."""
    # A comment counts for nothing.
    if x and x > 1:
        return 1 if x else 2
    return sum([TERMS])
'''


def test_figures_of_a_module(tmp_path: Path) -> None:
    module = tmp_path / "package" / "module.py"
    module.parent.mkdir()
    module.write_text(SOURCE.replace("TERMS", ", ".join("x" * 40)), encoding="utf-8")
    measured = measure(module, module.parent)
    assert measured.statements == 5  # the table, the function, the condition and two returns
    assert measured.hidden == 4  # the comprehension with its condition, `and`, and the conditional expression
    assert measured.heavy == [(44, "package/module.py:9")]
    assert measured.functions == [(4, "package/module.py:4 f")]
    assert measured.figures.keys() == LIMITS.keys()
