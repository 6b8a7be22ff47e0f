"""``verify`` on third-party services. A separate program, ``by_hand``, confirms each of its findings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.peers import by_hand
from tests.peers.foreign_services import SERVICES
from tools.documents.blocks import ROOT

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("service", SERVICES)
def test_a_separate_program_confirms_each_finding_and_the_document_lists_it(service: str, tmp_path: Path) -> None:
    verdict, found = by_hand.findings(service, tmp_path)
    assert verdict.exit_code == 1
    assert [clause for clause, came in found.items() if not came] == []
    assert found == by_hand.documented()[service], "'python -m tests.peers.by_hand' writes the table"
    holds = sum(clause.result == "holds" for clause in verdict.clauses)
    counts = (ROOT / "docs" / "how-to" / "verify.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| [^|]*{service}[^|]* \| {holds} \| {len(found)} \|", counts, re.MULTILINE), holds
    if service == "FastAPI":
        assert verdict.gaps["malformed_pet_id"].kind == "neither"
        assert "GET /pets/+{known} -> 200" in verdict.gaps["malformed_pet_id"].evidence
