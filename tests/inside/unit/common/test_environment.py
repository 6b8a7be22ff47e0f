"""What the environment says of our options."""

from __future__ import annotations

import pytest

from petstore_mock.common.environment import as_flag, text_of, variable_of


def test_an_option_has_a_variable_of_its_name() -> None:
    assert variable_of("log-format") == variable_of("log_format") == "PETSTORE_MOCK_LOG_FORMAT"


def test_what_kubernetes_says_of_a_service_of_our_name_is_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETSTORE_MOCK_PORT", "8080")
    assert text_of("port") == "8080"
    monkeypatch.setenv("PETSTORE_MOCK_PORT", "tcp://10.0.0.1:8080")
    assert text_of("port") == ""


@pytest.mark.parametrize(
    ("text", "meant"), [("true", True), ("YES", True), ("on", True), ("1", True), ("False", False), ("0", False)]
)
def test_a_flag_is_true_or_false(text: str, meant: bool) -> None:
    assert as_flag(text) is meant


@pytest.mark.parametrize("text", ["", "maybe", "2", "truee"])
def test_any_other_word_is_no_flag(text: str) -> None:
    assert as_flag(text) is None
