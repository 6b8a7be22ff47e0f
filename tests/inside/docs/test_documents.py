"""Every code block of the documents is executed, and every generated part is up to date."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import tomllib
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock
from petstore_mock.cli import make_parser
from petstore_mock.control.openapi import door_document
from tests.inside.docs import generated as parts
from tests.inside.docs import noticed
from tests.live.stub import stub
from tests.platforms import HAS_SIGNALS, POSIX_SHELL
from tools.documents import charts
from tools.documents.blocks import DOCUMENTS, ROOT, Block, blocks, generated

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.untraced

PYTHON = [block for block in blocks("python") if not block.missing]
SHELL = [
    (block.where, line)
    for block in blocks("sh")
    if block.file_name is None
    for line in block.text.splitlines()
    if line.strip()
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with every named file of the documents, as a reader would have it."""
    for block in blocks("python", "sh", "toml", "json"):
        if block.file_name is not None and not block.has_tests:
            (tmp_path / block.file_name).write_text(block.text, encoding="utf-8")
    return tmp_path


def _run(folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PETSTORE_"))}
    # In a folder of its own, Hypothesis would make its table of characters anew, which takes seconds.
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / ".hypothesis")
    return subprocess.run(
        command, cwd=folder, env={**environment, **more}, capture_output=True, text=True, timeout=120, check=False
    )


# Whether a test of the documents works, few examples show.
FEW_EXAMPLES = """
from hypothesis import settings
settings.register_profile("few", max_examples=10, database=None)
settings.load_profile("few")
"""
# Unless told not to, Hypothesis's own plugin imports all of it, which takes a second.
NO_HYPOTHESIS = "-pno:hypothesispytest"


def _passes(folder: Path, blocks_of_one_run: list[Block], *options: str) -> None:
    expected = 0
    for block in blocks_of_one_run:
        (folder / f"test_{block.document.stem}_{block.line}.py").write_text(block.text, encoding="utf-8")
        expected += len(re.findall(r"^(?:async )?def test_", block.text, re.MULTILINE))
    result = _run(folder, sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", *options, ".")
    passed = re.search(r"(\d+) passed", result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    assert passed, result.stdout
    assert int(passed[1]) >= expected


# Where the blocks of each language are run; `text` is what a program prints.
RUN_BY = {
    "python": "this module",
    "sh": "this module",
    "toml": "this module",
    "json": "this module",
    "dockerfile": "this module",
    "yaml": "test_recipes",
    "typescript": "test_languages",
    "java": "test_languages",
    "go": "test_languages",
    "nginx": "tests.live.test_scale_out",
    "haproxy": "tests.live.test_scale_out",
    "text": "nothing",
}


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.where)
def test_every_block_is_run_in_its_language(block: Block) -> None:
    assert block.language in RUN_BY, "say above what runs it"
    typed = re.match(
        r"\$|(curl|pytest|pip|petstore-mock|python|sh|make|npm|go|import|from|def) (?!serves )", block.text
    )
    assert block.language != "text" or not typed, "it is more than what a program prints: name its language"


@pytest.mark.skipif(not os.environ.get("CI"), reason="only where everything is installed")
def test_what_the_blocks_import_is_installed() -> None:
    assert not [f"{block.where}: {block.missing}" for block in blocks("python") if block.missing]


@pytest.mark.parametrize("block", blocks("toml", "json"), ids=lambda block: block.where)
def test_every_block_of_data_can_be_read(block: Block) -> None:
    (tomllib.loads if block.language == "toml" else json.loads)(block.text)


@pytest.mark.parametrize("block", blocks("dockerfile"), ids=lambda block: block.where)
def test_every_dockerfile_starts_the_stub_by_options_that_exist(block: Block) -> None:
    """Nobody can build it here; its instructions are Docker's, and its command is ours."""
    for line in block.text.splitlines():
        assert re.match(r"(FROM|RUN|USER|EXPOSE|ENTRYPOINT|CMD|WORKDIR|ENV|COPY|HEALTHCHECK) \S", line), line
    _, command, *options = json.loads(re.findall(r"^ENTRYPOINT (.*)$", block.text, re.MULTILINE)[0])
    assert make_parser().parse_args([command, *options, "--port", "0"]).command == "serve"


def test_every_python_block_that_has_tests_passes(folder: Path) -> None:
    """One inner run for all blocks, each a module of its own."""
    (folder / "conftest.py").write_text(FEW_EXAMPLES, encoding="utf-8")
    _passes(folder, [block for block in PYTHON if block.has_tests and not block.is_session_wide and not block.is_slow])


@pytest.mark.slow
def test_every_python_block_that_runs_the_machine_passes(folder: Path) -> None:
    _passes(folder, [block for block in PYTHON if block.is_slow])


@pytest.mark.slow
def test_the_examples_notice_as_many_mutants_as_is_said() -> None:
    assert noticed.documented() == noticed.sentence(noticed.unnoticed()), (
        "'python -m tests.inside.docs.noticed' writes it"
    )


@pytest.mark.parametrize("block", [block for block in PYTHON if block.is_session_wide], ids=lambda block: block.where)
def test_block_that_sets_the_session_up_passes_alone(tmp_path: Path, block: Block) -> None:
    _passes(tmp_path, [block], NO_HYPOTHESIS, "-pno:html", "-pno:allure_pytest", "-pno:respx")


@pytest.mark.parametrize(
    "block", [block for block in PYTHON if not block.has_tests and not block.file_name], ids=lambda block: block.where
)
def test_python_block_without_tests_runs_as_a_script(folder: Path, block: Block) -> None:
    result = _run(folder, sys.executable, "-c", block.text)
    assert result.returncode == 0, result.stderr


@cache
def _help_of_ours(command: str) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        make_parser().parse_args([command, "--help"])
    return printed.getvalue()


@cache
def _help_of_pytest() -> str:
    return _run(ROOT, sys.executable, "-m", "pytest", NO_HYPOTHESIS, "--help").stdout


def _curl(options: list[str]) -> None:
    answer = _run(ROOT, "curl", "--silent", "--fail-with-body", *options)
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize(("where", "line"), SHELL)
def test_every_shell_line_is_a_command_that_exists(where: str, line: str) -> None:
    """What a line does is tested where it belongs; here, that program, command and options exist."""
    words = shlex.split(line, comments=True)
    match words:
        case ["make", target, *_]:
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), where
        case ["eval", inner]:
            if not HAS_SIGNALS:
                pytest.skip("it is a line for a POSIX shell")
            script = _run(ROOT, sys.executable, "-m", *inner.strip("$()").replace("-", "_", 1).split())
            assert _run(ROOT, "bash", "-n", "-c", script.stdout).returncode == 0, script.stderr
            assert script.stdout, where
        case ["petstore-mock", command, *options]:
            shown = _help_of_ours(command)
            assert all(option in shown for option in options if option.startswith("--")), shown
        case ["pip", "install", *wanted]:
            project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            for name, extra in (re.fullmatch(r"([\w-]+)(?:\[(\w+)\])?", text).groups() for text in wanted):  # type: ignore[union-attr]  # no match fails
                assert name == project["name"], where
                assert extra is None or extra in project["optional-dependencies"], where
        case ["curl", *options] if "http://127.0.0.1:8444" in line:  # the port of a door beside TLS
            with stub("--tls", "--control-port", "0", "--log-format", "json", lines=1) as running:
                door = json.loads(running.first[0])["control_url"].removesuffix("/__petstore/")
                _curl([word.replace("http://127.0.0.1:8444", door) for word in options])
        case ["curl", *options]:
            petstore = PetStoreMock(api_key="secret", seed=20, control=True).start()
            try:
                root = petstore.url.removesuffix("/v1")
                _curl([word.replace("http://127.0.0.1:8080", root) for word in options])
                assert not petstore.journal.violations
            finally:  # without a judgement: what one line plans, another meets
                petstore.stop()
        case ["pytest", *options]:
            shown = _help_of_pytest()
            assert all(option in shown for option in options if option.startswith("--")), where
        case _:
            pytest.fail(f"{where}: nothing checks {line!r}")


# A program that knows of the service what its environment says; it exits with the number of animals in its first page.
OTHER_PROGRAM = """
import os, sys
from shop import PetClient, ShopError
client = PetClient(os.environ["PETSTORE_URL"], os.environ["PETSTORE_API_KEY"])
try:
    sys.exit(len(client.list_pets()))
except ShopError:
    sys.exit(len(client.list_pets()) + 1)
"""


@pytest.fixture
def with_command(folder: Path) -> str:
    """A search path on which ``petstore-mock`` is, installed beside this Python or not."""
    command = folder / "petstore-mock"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m petstore_mock "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@POSIX_SHELL
def test_shell_script_serves_a_program_and_exits_as_it_does(folder: Path, with_command: str) -> None:
    (folder / "stub.log").write_text("of an earlier run\n", encoding="utf-8")
    result = _run(folder, "sh", "with_stub.sh", sys.executable, "-c", OTHER_PROGRAM, PATH=with_command)
    assert (result.returncode, result.stdout, result.stderr) == (20, "", "")
    serving, request = map(json.loads, (folder / "stub.log").read_text(encoding="utf-8").splitlines())
    assert (serving["event"], request["status"]) == ("serving", 200)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", urlsplit(serving["url"]).port))


@POSIX_SHELL
def test_shell_script_ends_when_the_stub_can_not_start(folder: Path, with_command: str) -> None:
    script = folder / "with_stub.sh"
    script.write_text(script.read_text(encoding="utf-8").replace("--seed 20", "--seed nothing"), encoding="utf-8")
    result = _run(folder, "sh", "with_stub.sh", "echo", "reached", PATH=with_command)
    assert result.returncode != 0
    assert "--seed" in result.stderr
    assert result.stdout == ""


def test_script_with_faults_judges_a_program_that_passed(folder: Path) -> None:
    """In a sentence: a traceback would be that of the script, which nobody asked about."""
    passing = f"try:\n    exec({OTHER_PROGRAM!r})\nexcept SystemExit:\n    pass"
    result = _run(folder, sys.executable, "with_faults.py", sys.executable, "-c", passing)
    assert (result.returncode, result.stderr) == (0, "")
    result = _run(folder, sys.executable, "with_faults.py", sys.executable, "-c", "")
    assert result.returncode == 1
    assert result.stderr.startswith("the tests passed, but: ")
    assert "never fired" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("program", [OTHER_PROGRAM, "import sys; sys.exit(21)"])
def test_script_with_faults_exits_as_a_program_that_failed(folder: Path, program: str) -> None:
    """Whatever the fake has against it: one that failed before it sent a request met no fault either."""
    result = _run(folder, sys.executable, "with_faults.py", sys.executable, "-c", program)
    assert (result.returncode, result.stderr) == (21, "")


def test_the_page_of_the_door_names_what_is_internal() -> None:
    """As the door's own description marks it: all else is a promise."""
    page = (ROOT / "docs" / "reference" / "door.md").read_text(encoding="utf-8")
    marked: set[str] = set()

    def look(part: object, name: str = "") -> None:
        if isinstance(part, dict):
            if part.get("x-internal") and not str(part.get("description", "")).endswith("with ?record=true."):
                marked.add(name)
            for key, value in part.items():
                look(value, str(part["name"]) if key == "schema" and "name" in part else str(key))
        elif isinstance(part, list):
            for value in part:
                look(value, name)

    look(door_document("http://127.0.0.1:8080", ""))
    assert marked == {"record", "clears", "excuse"}
    told = page.partition("Internal, and free to change")[2]
    assert all(re.search(rf"`\??{name}\b", told) for name in marked)


# A report of pytest's own: others have another line here and there, and before 8 none of ours with --tb=line.
OF_THIS_PYTEST = {"failing example"}
SLOW = {"machine example"}  # a whole run of the machine, shrinking included; `make generated` writes it anew


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak) if name in SLOW else name for name in parts.PARTS]
)
def test_generated_part_is_up_to_date(name: str) -> None:
    if name in OF_THIS_PYTEST and pytest.version_tuple < (9,):
        pytest.skip("it is the report of pytest 9")
    document, make = parts.PARTS[name]
    assert generated(document, name) == make(), "run `make generated`"


@pytest.mark.parametrize("chart", charts.CHARTS, ids=lambda chart: chart.name)
def test_chart_is_drawn_from_the_latest_results(chart: Path) -> None:
    assert chart.read_text(encoding="utf-8") == charts.CHARTS[chart](), "run `make generated`"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (document.parent / target).exists(), target


def test_every_link_of_the_readme_leads_somewhere_from_a_package_index() -> None:
    """There, a relative link would lead nowhere; and one to the site must be one of its pages."""
    site = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Documentation"]
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    pages = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    pictures = {
        f"_images/{picture.name}" for picture in (ROOT / "docs" / "pictures").iterdir()
    }  # where Sphinx puts them
    assert links
    for link in links:
        page = link.removeprefix(f"{site}/").rstrip("/")
        assert link.startswith(f"{site}/"), link
        assert page in pages | pictures or f"{page}/index" in pages, link
