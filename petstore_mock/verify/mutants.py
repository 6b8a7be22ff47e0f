"""The mutants: services that break one clause of the interface each. They stand in the rows of the clauses.

The reports of the pytest plugin show which mutants a team's tests notice. A client can observe every mutant:
``petstore-mock verify`` detects each of them.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Final

from petstore_mock.common.refusing import require
from petstore_mock.common.values import by_name
from petstore_mock.verify.clauses import CLAUSES

MUTANTS: Final = by_name(chain.from_iterable(row.mutants for row in CLAUSES))
for _name in MUTANTS:
    require(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", _name), "a name with hyphens in lower case", mutant=_name)
