"""What a run reaches in percent: held against what it must, and written as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock.common.environment import flag_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Goal", "percent"]


def percent(share: float) -> str:
    """Return a share of 100 as people write it; never 100 where something is missing."""
    return "100 %" if share == 100 else f"{min(share, 99.9):.1f} %"


class Goal:
    """What an option must reach, and the file for what it has found.

    Args:
        config: where the command line is.
        option: the option, as its two others begin: ``NAME_fail_under`` and ``NAME_json``.
    """

    def __init__(self, config: pytest.Config, option: str) -> None:
        self._flag = flag_of(option)
        self._least: float | None = config.getoption(f"{option}_fail_under")
        name = config.getoption(f"{option}_json")
        self._path = None if name is None else config.invocation_params.dir / name
        self._problems: list[str] = []
        self._told: list[str] = []

    def finish(self, session: pytest.Session, exitstatus: int, share: float, document: Mapping[str, Any]) -> None:
        """Write the file, and let the session fail that reaches too little; on a worker of xdist, do nothing."""
        if hasattr(session.config, "workerinput"):
            return
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.write_text(f"{json.dumps(document, indent=2, ensure_ascii=False)}\n", encoding="utf-8")
                self._told.append(f"JSON: {self._path}")
            except OSError as error:
                self._problems.append(f"{self._flag}-json: no file could be written: {error}")
        if self._least is not None and share < self._least:
            self._problems.append(f"{percent(share)} is less than {self._flag}-fail-under={self._least:g}")
        if self._problems and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def tell(self, write: Callable[..., None]) -> None:
        """Say what came of it."""
        for line in self._told:
            write(line)
        for line in self._problems:
            write(f"FAILED: {line}", red=True)
