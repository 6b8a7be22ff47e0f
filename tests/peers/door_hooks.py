"""Lowers numbers in the valid requests of Schemathesis: no test needs a million animals or a wait of 25 seconds.

``SCHEMATHESIS_HOOKS`` names this file.
"""

from __future__ import annotations

from typing import Any, Final

import schemathesis  # type: ignore[import-not-found]  # it has an environment of its own

# For each member, the largest value to send and the largest valid value.
LIMITS: Final[dict[str, tuple[float, float]]] = {"seed": (1000, 1e6), "count": (1000, 1e6), "timeout": (0.05, 25)}


@schemathesis.hook  # type: ignore[untyped-decorator]
def before_call(_context: Any, case: Any, _options: Any) -> None:
    if not isinstance(case.body, dict):
        return
    for name, (most, valid) in LIMITS.items():
        value = case.body.get(name)
        if isinstance(value, (int, float)) and most < value <= valid:
            case.body[name] = most
