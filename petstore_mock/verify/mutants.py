"""The mutants: services that break one clause of the interface each. They stand in the rows of the clauses.

The reports of the pytest plugin show which mutants a team's tests notice. A client can observe every mutant:
``petstore-mock verify`` detects each of them.
"""

from __future__ import annotations

import re
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from petstore_mock.common.refusing import refuse
from petstore_mock.verify.clauses import CLAUSES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from petstore_mock.verify.row import Mutant

_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)


def _by_name() -> dict[str, Mutant]:
    found: dict[str, Mutant] = {}
    for mutant in chain.from_iterable(row.mutants for row in CLAUSES):
        if _NAME.fullmatch(mutant.name) is None:
            refuse(f"expected the name of a mutant in lower case with hyphens; got {mutant.name} ({mutant.words})")
        if mutant.name in found:
            other = found[mutant.name]
            refuse(f"expected a unique name for each mutant; got {mutant.name} for: {other.words}, and: {mutant.words}")
        found[mutant.name] = mutant
    return found


MUTANTS: Final[Mapping[str, Mutant]] = MappingProxyType(_by_name())
