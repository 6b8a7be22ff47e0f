"""The third-party programs, which ``make peers`` installs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.programs import PETSTORE_MOCK, run

HERE: Final = Path(__file__).parent
CACHE: Final = HERE.parents[1] / ".cache"
PYTHON_BIN: Final = CACHE / "peers" / "bin"
NODE_MODULES: Final = CACHE / "npm" / "node_modules"


def python_tool(name: str) -> str:
    """Return the path of a program from ``requirements.txt``."""
    return _existing(PYTHON_BIN / name)


def node_tool(name: str) -> str:
    """Return the path of a program from ``package.json``."""
    return _existing(NODE_MODULES / ".bin" / name)


def _existing(path: Path) -> str:
    if not path.exists():
        pytest.skip(f"{path.name} is not installed: run 'make peers'")
    return str(path)


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """Run the stub in its own process, and yield the address of its console."""
    command = [*PETSTORE_MOCK, "serve", "--port", "0", "--log-format", "json", "--quiet"]
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["control_url"]
        finally:
            process.terminate()


def openapi_document(folder: Path) -> Path:
    """Write the OpenAPI document of the package into a folder, and return its path."""
    path = folder / "openapi.json"
    path.write_text(run(*PETSTORE_MOCK, "openapi", cwd=folder), encoding="utf-8")
    return path


def generate_python(document: str, folder: Path, package: str) -> None:
    """Generate a package from a document with openapi-python-client."""
    options = ("--path", document, "--meta", "none", "--output-path", package, "--fail-on-warning")
    path = f"{PYTHON_BIN}{os.pathsep}{os.environ['PATH']}"  # it formats its output with ruff
    run(python_tool("openapi-python-client"), "generate", *options, cwd=folder, environment={"PATH": path})


def compile_typescript(document: str, folder: Path, source: str) -> None:
    """Generate types from a document with openapi-typescript, and compile a program with them to ``drive.js``."""
    run(node_tool("openapi-typescript"), document, "-o", "schema.d.ts", cwd=folder)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (folder / "drive.ts").write_text(source, encoding="utf-8")
    options = ("--strict", "--module", "nodenext", "--target", "es2022", "--types", "node", "--skipLibCheck")
    run(node_tool("tsc"), *options, "drive.ts", cwd=folder)


def schemathesis(
    folder: Path, url: str, examples: str, *options: str, document: str = "openapi.json", **environment: str
) -> str:
    """Run Schemathesis; return its output. A failed check, error or skipped phase (except Examples) fails the test."""
    seed = ["--seed", "1"] if os.environ.get("CI") else []  # as in the profile `ci` of tests/conftest.py
    output = run(
        *(python_tool("st"), "--no-color", "run", document, "--url", url, "--checks", "all"),
        *("--phases", "examples,coverage,fuzzing,stateful", "--max-examples", examples, *seed, *options),
        cwd=folder,
        environment={"COLUMNS": "120", **environment},
    )
    summary = output[output.index("= SUMMARY =") :]
    for phase in ("Coverage", "Fuzzing", "Stateful"):
        assert re.search(rf"✅ {phase}", summary), output
    assert re.search(r"([0-9]+) generated, \1 passed", summary), output
    return output
