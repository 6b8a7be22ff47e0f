"""What the environment says of the options of a command, as a container is told: ``PETSTORE_MOCK_PORT=8080``."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.environment import FLAG_WORDS, as_flag, text_of, variable_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["ANY_ADDRESS", "complete", "origin_of"]

ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # shown and asked, not bound

_BETWEEN: Final = re.compile(r"[,\s]+")  # of the values of an option that may be repeated; none of them has a comma


def complete(options: argparse.Namespace, actions: Iterable[argparse.Action]) -> list[str]:
    """Give each option that the command line leaves out (it is None) what the environment says of it.

    Returns:
        The variables that something was taken from.

    Raises:
        argparse.ArgumentTypeError: a variable can't be right; names it.
    """
    taken = []
    for action in actions:
        name = action.option_strings[0].removeprefix("--")
        text = text_of(name)
        if not text or getattr(options, action.dest) is not None:
            continue
        variable = variable_of(name)
        try:
            setattr(options, action.dest, _value(action, text))
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentTypeError(f"the environment variable {variable}: {error}") from None
        taken.append(variable)
    return taken


def _value(action: argparse.Action, text: str) -> object:
    if action.nargs == 0:
        flag = as_flag(text)
        if flag is None:
            raise argparse.ArgumentTypeError(f"expected {FLAG_WORDS}; got {text!r}")
        return flag
    if action.choices is not None and text not in action.choices:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(action.choices)}; got {text!r}")
    read: Callable[[str], Any] = action.type if callable(action.type) else str
    if isinstance(action, argparse._AppendAction):  # noqa: SLF001  # argparse has no public word for it
        return [read(part) for part in _BETWEEN.split(text) if part]
    return read(text)


def origin_of(scheme: str, host: str, port: object) -> str:
    """Return scheme, host and port under which what listens at ``host`` can be asked from this machine."""
    host = ANY_ADDRESS.get(host, host)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
