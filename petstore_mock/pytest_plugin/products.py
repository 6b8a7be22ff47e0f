"""The verifier and the remote control, which the plugin imports here alone, and only if an option asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.pytest_plugin.home import Home
    from petstore_mock.verify.row import Clause, Mutant


def mutants() -> Mapping[str, Mutant]:
    from petstore_mock.verify.mutants import MUTANTS  # most runs do not need it

    return MUTANTS


def clause_of(mutant: Mutant) -> Clause:
    """Return the clause that a mutant breaks."""
    from petstore_mock.verify.clauses import CLAUSES  # most runs do not need it

    return next(clause for clause in CLAUSES if clause.id == mutant.clause)


def remote_home(address: str, options: Mapping[str, object], token: str | None) -> Home:
    """Return the control of a stub in another process. Its class has the methods of ``Home``."""
    from petstore_mock.remote.fixture import Elsewhere  # most runs do not need it

    return cast("Home", Elsewhere(address, options, token))
