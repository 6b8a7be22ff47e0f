"""Writes ``petstore_mock/pytest_plugin/static.py``: the settings of the plugin, from the table of options.

pytest imports the plugin in every run, and the table of options with its checks would take most of that time. Run
``python -m tools.plugin_settings`` after a change of the table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from petstore_mock.common.values import variable_of
from petstore_mock.core.options import OPTIONS, options_at

TARGET: Final = Path(__file__).parents[1] / "petstore_mock" / "pytest_plugin" / "static.py"
_HEAD: Final = '''"""The settings of the plugin. ``tools/plugin_settings.py`` generates this file.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import Literal

# The name, the environment variable, the kind of the setting for pytest, and its help text.
SETTINGS: tuple[tuple[str, str, Literal["bool", "string"], str], ...] = (
'''


def plugin_settings() -> str:
    """Return the text of ``static.py``."""
    text = _HEAD
    for name, option in options_at("setting").items():
        variable, words = variable_of(name), option.words
        if option.alternatives:
            words = f"{words}: {', '.join(option.alternatives)}"
        # The settings file returns numbers as text, because the environment has only text: so both share one parser.
        is_flag = name in OPTIONS and OPTIONS[name].is_flag
        kind = "bool" if is_flag else "string"
        cells = (name, variable, kind, words)
        text += "".join(["    (\n", *(f"        {json.dumps(cell)},\n" for cell in cells), "    ),\n"])
    return f"{text})\n"


if __name__ == "__main__":
    TARGET.write_text(plugin_settings(), encoding="utf-8")
