"""Hypothesis, or word of how to get it: it is an extra."""

from __future__ import annotations

try:
    import hypothesis  # noqa: F401  # only whether it is there
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "petstore_mock.strategies and petstore_mock.stateful need Hypothesis, which is an extra: "
        'pip install "petstore-mock[hypothesis]"',
        name=error.name,
    ) from error
