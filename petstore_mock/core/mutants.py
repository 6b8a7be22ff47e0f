"""The mutants by name. This is the only module of the fake that imports the verifier, which has the mutants."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.http.mutant import Mutant


def mutants() -> Mapping[str, Mutant]:
    """Return the mutants by name."""
    from petstore_mock.verify.mutants import MUTANTS  # most worlds have no mutant

    return MUTANTS
