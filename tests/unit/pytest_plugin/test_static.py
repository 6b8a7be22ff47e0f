"""The generated settings of the plugin."""

from __future__ import annotations

from tools.plugin_settings import TARGET, plugin_settings


def test_settings_match_the_table_of_options() -> None:
    stale = "stale settings: run python -m tools.plugin_settings"
    assert TARGET.read_text(encoding="utf-8") == plugin_settings(), stale
