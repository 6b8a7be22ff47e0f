"""The settings of the plugin. ``tools/plugin_settings.py`` generates this file.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import Literal

# The name, the environment variable, the kind of the setting for pytest, and its help text.
SETTINGS: tuple[tuple[str, str, Literal["bool", "string"], str], ...] = (
    (
        "host",
        "PETSTORE_MOCK_HOST",
        "string",
        "The address to listen on",
    ),
    (
        "port",
        "PETSTORE_MOCK_PORT",
        "string",
        "The port to listen on; 0 takes a free one",
    ),
    (
        "cors",
        "PETSTORE_MOCK_CORS",
        "string",
        "An origin whose pages may use the service in a browser (CORS); * for any",
    ),
    (
        "api_key",
        "PETSTORE_MOCK_API_KEY",
        "string",
        "A fixed valid API key",
    ),
    (
        "seed",
        "PETSTORE_MOCK_SEED",
        "string",
        "The animals of the starting state: a number of them, or a JSON file with an array of them",
    ),
    (
        "behaviour",
        "PETSTORE_MOCK_BEHAVIOUR",
        "string",
        "The fake's choice for each gap of the interface: a preset or a TOML file",
    ),
    (
        "strict",
        "PETSTORE_MOCK_STRICT",
        "bool",
        "Whether a contract violation by the client fails the test",
    ),
    (
        "control",
        "PETSTORE_MOCK_CONTROL",
        "bool",
        "Open the control door",
    ),
    (
        "tls",
        "PETSTORE_MOCK_TLS",
        "bool",
        "Whether to listen with TLS; needs the extra tls",
    ),
    (
        "remote",
        "PETSTORE_MOCK_REMOTE",
        "string",
        "The address of a remote stub that the fixture controls",
    ),
    (
        "remote_token",
        "PETSTORE_MOCK_REMOTE_TOKEN",
        "string",
        "The control token of that stub",
    ),
    (
        "leaks",
        "PETSTORE_MOCK_LEAKS",
        "string",
        "How to report requests of finished tests: error, warn, ignore",
    ),
    (
        "deprecations",
        "PETSTORE_MOCK_DEPRECATIONS",
        "string",
        "How to report calls of deprecated operations: warn, ignore",
    ),
)
