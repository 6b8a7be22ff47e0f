"""The recipes for CI: they are YAML, and the commands and options in them exist."""

from __future__ import annotations

import io
import re
import shlex

import pytest
import yaml

from petstore_mock.cli import run
from tools.documents.blocks import Block, blocks

pytestmark = pytest.mark.untraced

COMMANDS = [
    (block.where, line.strip().removeprefix("- ").partition(" || ")[0])
    for block in blocks("yaml")
    for line in block.text.splitlines()
    if re.match(r"\s*(- )?petstore-mock ", line)
]


@pytest.mark.parametrize("block", blocks("yaml"), ids=lambda block: block.where)
def test_every_recipe_is_yaml(block: Block) -> None:
    assert isinstance(yaml.safe_load(block.text), dict)


@pytest.mark.parametrize(("where", "line"), COMMANDS)
def test_every_command_of_a_recipe_exists(where: str, line: str) -> None:
    _, command, *options = shlex.split(line)
    out = io.StringIO()
    assert run([command, "--help"], out, io.StringIO()) == 0
    assert all(option in out.getvalue() for option in options if option.startswith("--")), where
