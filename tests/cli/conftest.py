"""A fixture that runs the command line in this process."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

import pytest

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs the console script in this process, and returns exit code, stdout and stderr."""
    (script,) = entry_points(group="console_scripts", name="petstore-mock")
    main = script.load()

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        return (code, *capsys.readouterr())

    return run
