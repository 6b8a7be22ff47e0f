"""The code blocks of the documents work, the generated parts are up to date, and the relative links have a target."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from petstore_mock import PetStoreMock, faults
from tests.live.stub import stub
from tests.platforms import HAS_SIGNALS, POSIX_SHELL
from tests.programs import PETSTORE_MOCK
from tests.sentences import DIGEST, sentences
from tests.stateful.corpora import CASES
from tools.documents import corpus, demo
from tools.documents.blocks import DOCUMENTS, ROOT, Block, blocks, generated
from tools.documents.parts import PARTS

pytestmark = pytest.mark.untraced

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHON = [block for block in blocks("python") if not block.missing]
SHELL = [
    pytest.param(line, id=f"{block.where}+{number}")
    for block in blocks("sh")
    if block.file_name is None
    for number, line in enumerate(block.text.splitlines())
    # test_check_pages compiles.
    if line.strip() and not line.startswith(("javac ", "go build "))
]
RECIPES = [
    pytest.param(line.strip().removeprefix("- ").partition(" || ")[0], id=f"{block.where}+{number}")
    for block in blocks("yaml")
    for number, line in enumerate(block.text.splitlines())
    if re.match(r"\s*(- )?petstore-mock ", line)
]
# Where the blocks of each language are run; `text` is the output of a program.
RUN_BY = {
    **dict.fromkeys(("python", "sh", "toml", "json", "dockerfile", "yaml"), "this module"),
    **dict.fromkeys(("java", "go"), "test_languages"),
    "typescript": "tests.node.test_package",
    **dict.fromkeys(("nginx", "haproxy"), "tests.live.test_scale_out"),
    "js": "tests.peers.test_openapi_tools",
    "javascript": "test_check_pages",
    "text": "nothing",
}
# A few examples show whether a test of the documents works.
FEW_EXAMPLES = """
from hypothesis import settings
settings.register_profile("few", max_examples=10, database=None)
settings.load_profile("few")
"""
# Hypothesis's plugin imports all of Hypothesis, which takes a second.
NO_HYPOTHESIS = "-pno:hypothesispytest"


def each(found: Iterable[Block]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", list(found), ids=lambda block: block.where)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with every named file of the documents, like the folder of a reader."""
    for block in blocks("python", "sh", "toml", "json"):
        if block.file_name is not None and not block.has_tests:
            (tmp_path / block.file_name).write_text(block.text, encoding="utf-8")
    return tmp_path


def run(folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PETSTORE_"))}
    # In another folder, Hypothesis would write its table of characters again, which takes seconds.
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / ".hypothesis")
    return subprocess.run(
        command, cwd=folder, env={**environment, **more}, capture_output=True, text=True, timeout=800, check=False
    )


def assert_passes(folder: Path, blocks_of_one_run: list[Block], *options: str) -> None:
    expected = 0
    for block in blocks_of_one_run:
        (folder / f"test_{block.document.stem}_{block.line}.py").write_text(block.text, encoding="utf-8")
        expected += len(re.findall(r"^(?:async )?def test_", block.text, re.MULTILINE))
    result = run(folder, sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", *options, ".")
    passed = re.search(r"(\d+) passed", result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    assert passed, result.stdout
    assert int(passed[1]) >= expected


@each(blocks())
def test_every_block_has_a_language_with_a_runner(block: Block) -> None:
    assert block.language in RUN_BY, "name its runner above"
    typed = re.match(
        r"\$|(curl|pytest|pip|petstore-mock|python|sh|make|npm|go|import|from|def) (?!serves )", block.text
    )
    assert block.language != "text" or not typed, "it is no output of a program: name its language"


@pytest.mark.skipif(not os.environ.get("CI"), reason="only where everything is installed")
def test_the_imports_of_the_blocks_are_installed() -> None:
    assert not [f"{block.where}: {block.missing}" for block in blocks("python") if block.missing]


@each(blocks("toml", "json", "yaml"))
def test_every_block_of_data_can_be_read(block: Block) -> None:
    read: dict[str, Callable[[str], object]] = {"toml": tomllib.loads, "json": json.loads, "yaml": yaml.safe_load}
    assert isinstance(read[block.language](block.text), (dict, list))


def test_every_python_block_that_has_tests_passes(folder: Path) -> None:
    """One inner run of pytest has a module for each block."""
    (folder / "conftest.py").write_text(FEW_EXAMPLES, encoding="utf-8")
    assert_passes(folder, [one for one in PYTHON if one.has_tests and not one.is_session_wide and not one.is_slow])


@pytest.mark.slow
def test_every_python_block_that_runs_the_machine_passes(folder: Path) -> None:
    assert_passes(folder, [block for block in PYTHON if block.is_slow])


@pytest.mark.seconds
@each(block for block in PYTHON if block.is_session_wide)
def test_block_that_sets_the_session_up_passes_alone(folder: Path, block: Block) -> None:
    assert_passes(folder, [block], NO_HYPOTHESIS, "-pno:respx")


@each(block for block in PYTHON if not block.has_tests and not block.file_name)
def test_python_block_without_tests_runs_as_a_script(folder: Path, block: Block) -> None:
    result = run(folder, sys.executable, "-c", block.text)
    assert result.returncode == 0, result.stderr


# The command line


@cache
def help_of(*command: str) -> str:
    return run(ROOT, *command, "--help").stdout


def assert_exist(options: list[str], *command: str) -> None:
    known = re.findall(r"(?<![\w-])--[\w-]+", help_of(*command))
    assert known, command
    own = takewhile(lambda option: option != "--", options)  # behind it stands the command of an adapter
    assert {option.partition("=")[0] for option in own if option.startswith("--")} <= set(known)


@each(blocks("dockerfile"))
def test_every_dockerfile_starts_the_stub_by_options_that_exist(block: Block) -> None:
    """No test can build the image. This test checks that Docker has the instructions, and the stub has the options."""
    for line in block.text.splitlines():
        assert re.match(r"(FROM|RUN|USER|EXPOSE|ENTRYPOINT|CMD|WORKDIR|ENV|COPY|HEALTHCHECK) \S", line), line
    _, command, *options = json.loads(re.findall(r"^ENTRYPOINT (.*)$", block.text, re.MULTILINE)[0])
    assert command == "serve"
    assert_exist(options, *PETSTORE_MOCK, command)


@pytest.mark.parametrize("line", RECIPES)
def test_every_command_of_a_recipe_exists(line: str) -> None:
    _, command, *options = shlex.split(line)
    assert_exist(options, *PETSTORE_MOCK, command)


def curl(options: list[str]) -> None:
    response = run(ROOT, "curl", "--silent", "--fail-with-body", *options)
    assert response.returncode == 0, response.stdout + response.stderr


@pytest.mark.seconds
@pytest.mark.parametrize("line", SHELL)
def test_every_shell_line_is_a_command_that_exists(line: str) -> None:
    """Other tests show the effects of a line. This one shows that program, command and options exist."""
    match shlex.split(line, comments=True):
        case ["make", target, *_]:
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        case ["eval", inner]:
            if not HAS_SIGNALS:
                pytest.skip("it is a line for a POSIX shell")
            script = run(ROOT, sys.executable, "-m", *inner.strip("$()").replace("-", "_", 1).split())
            assert script.stdout
            assert run(ROOT, "bash", "-n", "-c", script.stdout).returncode == 0, script.stderr
        case ["petstore-mock", command, *options] | ["uvx", "--from", ".", "petstore-mock", command, *options]:
            assert_exist(options, *PETSTORE_MOCK, command)
        case ["pip", "install", *wanted]:
            for name in wanted:
                found = re.fullmatch(r"(\.|[\w-]+)(?:\[(\w+)\])?", name)
                assert found
                assert found[1] in {".", PROJECT["name"]}
                assert found[2] is None or found[2] in PROJECT["optional-dependencies"]
        case ["curl", *options] if "http://127.0.0.1:8444" in line:  # the separate port of the door, with TLS
            with stub("--tls", "--control-port", "0", "--log-format", "json", lines=1) as running:
                door = json.loads(running.first[0])["control_url"].removesuffix("/__petstore/")
                curl([word.replace("http://127.0.0.1:8444", door) for word in options])
        case ["curl", *options]:
            petstore = PetStoreMock(api_key="secret", seed=20, control=True).start()
            try:
                root = petstore.url.removesuffix("/v1")
                curl([word.replace("http://127.0.0.1:8080", root) for word in options])
                assert not petstore.journal.violations
            finally:  # no verification: a fault of this line can't fire, because its request is on another line
                petstore.stop()
        case ["pytest", *options]:
            assert_exist(options, sys.executable, "-m", "pytest", NO_HYPOTHESIS)
        case _:
            pytest.fail(f"nothing checks {line!r}")


# The scripts of the documents


# Uses the environment variables, and exits with the number of animals in the first page, plus 1 after an error.
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
    """Return a search path with ``petstore-mock``, which need not be installed beside this Python."""
    command = folder / "petstore-mock"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m petstore_mock "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@POSIX_SHELL
def test_shell_script_starts_a_stub_for_a_program_and_exits_with_its_code(folder: Path, with_command: str) -> None:
    result = run(folder, "sh", "with_stub.sh", sys.executable, "-c", OTHER_PROGRAM, PATH=with_command)
    assert (result.returncode, result.stdout, result.stderr) == (20, "", "")
    (log,) = folder.glob("stub.log.*")
    serving, request = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    assert (serving["event"], request["status"]) == ("serving", 200)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", urlsplit(serving["url"]).port))


@POSIX_SHELL
def test_shell_script_ends_when_the_stub_can_not_start(folder: Path, with_command: str) -> None:
    script = folder / "with_stub.sh"
    script.write_text(script.read_text(encoding="utf-8").replace("--seed 20", "--seed nothing"), encoding="utf-8")
    result = run(folder, "sh", "with_stub.sh", "echo", "reached", PATH=with_command)
    assert result.returncode != 0
    assert "--seed" in result.stderr
    assert result.stdout == ""


PASSING = f"try:\n    exec({OTHER_PROGRAM!r})\nexcept SystemExit:\n    pass"
UNFIRED = "the tests passed, but: "


@pytest.mark.parametrize(
    ("program", "code", "begins"),
    [
        pytest.param(PASSING, 0, "", id="passed"),
        pytest.param("", 1, UNFIRED, id="met no fault"),
        # A program that fails before it sends a request meets no fault either.
        pytest.param(OTHER_PROGRAM, 21, "", id="failed"),
        pytest.param("import sys; sys.exit(21)", 21, "", id="failed at once"),
    ],
)
def test_script_with_faults_exits_with_the_code_of_the_program_or_1_for_an_unfired_fault(
    folder: Path, program: str, code: int, begins: str
) -> None:
    result = run(folder, sys.executable, "with_faults.py", sys.executable, "-c", program)
    assert (result.returncode, bool(result.stderr)) == (code, bool(begins))
    assert result.stderr.startswith(begins)
    assert "Traceback" not in result.stderr


def test_script_with_faults_runs_twice_at_once(folder: Path) -> None:
    command = [sys.executable, "with_faults.py", sys.executable, "-c", PASSING]
    runs = [subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE) for _ in range(2)]
    assert [(run.communicate(timeout=60)[1], run.returncode) for run in runs] == [(b"", 0)] * 2


@POSIX_SHELL
@pytest.mark.parametrize("number", ["SIGHUP", "SIGINT", "SIGTERM"])
def test_a_signal_ends_the_script_with_faults_and_its_tests(folder: Path, number: str) -> None:
    command = [sys.executable, "with_faults.py", "sh", "-c", "sleep 0.5; echo $$; exec sleep 60"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        tests = int(process.stdout.readline())
        process.send_signal(getattr(signal, number))
        assert process.wait(10) == 1
    with pytest.raises(ProcessLookupError):
        os.kill(tests, 0)


# The documents themselves


def test_each_json_form_on_the_page_of_faults_is_a_fault() -> None:
    page = (ROOT / "docs" / "reference" / "faults.md").read_text(encoding="utf-8")
    forms = [json.loads(form) for form in re.findall(r'`(\{"kind": "(?!tls)[^`]*)`', page)]
    without_arguments = {"hang", "reset", "empty_reply", "malformed_chunk", "malformed_json", "wrong_content_type"}
    assert {form["kind"] for form in forms} >= without_arguments
    assert [faults.coerce(form).kind for form in forms] == [form["kind"] for form in forms]


def test_the_page_of_the_interface_has_the_words_of_the_specification() -> None:
    """Change the page only if the specification changes. Then put the new digest in ``tests/sentences.py``."""
    words = "\n".join(f"{section} {text}" for section, text in sentences())
    digest = sha256(words.encode()).hexdigest()[:16]
    assert digest == DIGEST, f"the page has changed: its digest is {digest}"


@pytest.mark.seconds
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[getattr(pytest.mark, part.mark)] if part.mark else ()) for name, part in PARTS.items()],
)
def test_generated_part_is_up_to_date(name: str) -> None:
    if name == "failing example" and pytest.version_tuple < (9,):
        pytest.skip("it is the report of pytest 9")
    assert generated(PARTS[name].document, name) == PARTS[name].make(), "run `make generated`"


def test_picture_of_the_demo_is_up_to_date() -> None:
    assert demo.TARGET.read_text(encoding="utf-8") == demo.picture(), "run `make generated`"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (document.parent / target).exists(), target


def test_every_link_of_the_readme_leads_to_a_file_or_an_issue() -> None:
    """Until there is a release, people read the README in a checkout."""
    links = re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert links
    for link in links:
        is_report = re.fullmatch(r"https://github\.com/[\w-]+/[\w-]+/issues/\d+", link)  # a bug of another project
        assert is_report or (ROOT / link).is_file(), link


@pytest.mark.parametrize("page", corpus.PAGES)
def test_page_of_the_corpus_has_each_client_and_its_bug(page: str) -> None:
    """No test compares the third column: measuring the reports of the machine takes tens of minutes."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| ..", generated(corpus.page_of(page), "corpus"), re.MULTILINE)
    assert rows == [(one.__name__, corpus.bug_in_words(one.__name__)) for one in corpus.PAGES[page]]


def test_the_corpus_has_a_page_for_each_client_that_the_machine_checks() -> None:
    assert generated(corpus.SUMMARY, "corpus summary") == corpus.summary()
    names = [one.__name__ for clients in corpus.PAGES.values() for one in clients]
    assert len({*names}) == len(names)
    assert {*CASES} <= {*names}


def test_other_example_clients_have_each_operation() -> None:
    """A client that inherits from that of the tutorial has its methods."""
    clients = [block.text for block in blocks("python") if "check_client(" in block.text and "class " in block.text]
    document: Any = PetStoreMock().openapi()
    names = [_snake_case(one["operationId"]) for item in document["paths"].values() for one in item.values()]
    own = [text for text in clients if "(PetClient)" not in text]
    assert own
    for text in own:
        assert [name for name in names if name not in text] == [], text


def test_client_of_the_tutorial_has_each_operation_with_each_argument() -> None:
    """Without a method or an argument, the machine would test less than the interface has, in silence."""
    (source,) = [block.text for block in blocks("python") if block.file_name == "shop.py"]
    methods = {node.name: node.args for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    document: Any = PetStoreMock().openapi()
    schemas = document["components"]["schemas"]
    for item in document["paths"].values():
        for operation in item.values():
            names = [parameter["name"] for parameter in operation["parameters"]]
            if "requestBody" in operation:
                reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                names += schemas[reference.rpartition("/")[2]]["properties"]
            arguments = methods[_snake_case(operation["operationId"])]
            taken = {argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)}
            assert {*map(_snake_case, names)} <= taken, operation["operationId"]


def test_clients_of_the_how_to_guide_have_the_method_of_each_operation() -> None:
    """The machine leaves out an operation without a method, in silence. One client overrides a single method."""
    on_page = [block for block in blocks("python") if block.document.name == "check-a-client.md"]
    whole = [block for block in on_page if "list_pets" in block.text]
    assert len(whole) == 3
    for item in PetStoreMock().openapi()["paths"].values():
        for operation in item.values():
            method = _snake_case(operation["operationId"])
            assert [block.where for block in whole if method not in block.text] == [], method


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name.replace("-", "_")).lower()
