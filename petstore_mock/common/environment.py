"""What our options are called, and what the environment says of them: ``PETSTORE_MOCK_PORT`` for ``port``.

A plain ``PETSTORE_`` is left to the clients: ``PETSTORE_HOST`` and ``PETSTORE_API_KEY`` are what theirs read.
"""

from __future__ import annotations

import os
from typing import Final

__all__ = ["FLAG_WORDS", "as_flag", "flag_of", "text_of", "variable_of"]

FLAG_WORDS: Final = "true or false (yes, on, 1 or no, off, 0)"

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})


def flag_of(option: str) -> str:
    """Return the option of a command line that stands for ``option``: ``--log-format`` for ``log_format``."""
    return f"--{option.replace('_', '-')}"


def variable_of(option: str) -> str:
    """Return the variable that stands for ``option``, such as ``log-format`` or ``log_format``."""
    return f"PETSTORE_MOCK_{option.replace('-', '_').upper()}"


def text_of(option: str) -> str:
    """Return what the environment says for ``option``; empty when it says nothing."""
    text = os.environ.get(variable_of(option), "")
    # Kubernetes tells each pod of a service called petstore-mock by PETSTORE_MOCK_PORT=tcp://10.0.0.1:8080.
    return "" if text.startswith("tcp://") else text


def as_flag(text: str) -> bool | None:
    """Return whether ``text`` means true; None when it is none of :data:`FLAG_WORDS`."""
    word = text.lower()
    return word in _TRUE if word in _TRUE | _FALSE else None
