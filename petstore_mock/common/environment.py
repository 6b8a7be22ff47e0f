"""The environment variables of our options: ``PETSTORE_MOCK_PORT`` for ``port``.

Names that begin with a plain ``PETSTORE_`` are left to the clients: ``PETSTORE_API_KEY`` may be what theirs read.
"""

from __future__ import annotations

import os


def variable_of(option: str) -> str:
    """Return the name of the variable of an option."""
    return f"PETSTORE_MOCK_{option.upper()}"


def text_of(option: str) -> str:
    """Return the value of the variable of an option; empty when it is not set."""
    text = os.environ.get(variable_of(option), "")
    # In each pod, Kubernetes sets PETSTORE_MOCK_PORT=tcp://10.0.0.1:8080 for a service called petstore-mock.
    return "" if text.startswith("tcp://") else text
