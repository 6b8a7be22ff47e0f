"""Which origins can be allowed, and how a mistake is told."""

from __future__ import annotations

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError


@pytest.mark.parametrize(
    ("cors", "told"),
    [
        ("http://localhost:5173", r"a list of origins, or '\*'"),
        (5173, "a list of origins"),
        ([5173], "such as http://localhost:5173"),
        (["localhost:5173"], "such as http://localhost:5173"),
        (["http://[::1"], "such as http://localhost:5173"),
        (["http://localhost:port"], "such as http://localhost:5173"),
        (["http://localhost:5173/"], "'http://localhost:5173'"),
        (["http://localhost:5173/shop"], "'http://localhost:5173'"),
        (["http://LOCALHOST:5173"], "'http://localhost:5173'"),
        (["https://shop.example:443"], "'https://shop.example'"),
        (["http://user@shop.example"], "'http://shop.example'"),
    ],
)
def test_what_no_browser_sends_is_refused(cors: object, told: str) -> None:
    with pytest.raises(PetStoreMockError, match=told):
        PetStoreMock(cors=cors)  # type: ignore[arg-type]


@pytest.mark.parametrize("origin", ["http://localhost", "https://a.example:8443", "http://[::1]:5173", "null", "*"])
def test_what_browsers_send_is_taken(origin: str) -> None:
    PetStoreMock(cors=[origin])
