"""A service that is asked need not be waited for as a guest waits."""

from __future__ import annotations

import pytest

from petstore_mock.verify import guest


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Waits take no time; the list says how long they were meant to be."""
    waited: list[float] = []
    monkeypatch.setattr(guest, "sleep", waited.append)
    return waited
