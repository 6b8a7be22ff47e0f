"""Runs of ``verify`` on the mutants of a copy of the package, such as one whose interface has grown."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.evolution.copies import run_python

# Prints each mutant that breaks another clause than its own, or none.
_PROGRAM: Final = """
import sys
from petstore_mock import PetStoreMock
from petstore_mock.verify import verify
from petstore_mock.verify.mutants import MUTANTS

for name in dict.fromkeys([*MUTANTS][int(sys.argv[1]) :: int(sys.argv[2])] + sys.argv[3:]):
    with PetStoreMock(seed=22, mutant=name, strict=False) as petstore:
        verdict = verify(petstore.url, api_key=petstore.api_key, allow_create=120, rate=1e6, max_requests=2000)
    broken = [clause.id for clause in verdict.broken]
    if broken != [MUTANTS[name].clause]:
        print(name, MUTANTS[name].clause, *broken)
"""


def wrong_mutants(folder: Path, *names: str, first: int = 0, step: int = 1) -> list[str]:
    """Return the mutants that do not break exactly their clause, with the clauses that they break.

    Args:
        folder: the folder with the copy of the package.
        names: mutants to run in any case.
        first: the place of the first mutant.
        step: the distance between two mutants; 1 runs all, which takes minutes for a grown interface.
    """
    file = folder / "mutants.py"
    file.write_text(_PROGRAM, encoding="utf-8")
    return run_python(folder, file.name, str(first), str(step), *names, counts=True).splitlines()
