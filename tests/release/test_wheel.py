"""What would be published: built as a release would be, installed where there is nothing else, and used."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tarfile
import threading
import venv
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from tests.platforms import POSIX_SIGNALS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
KEY = "a-key-for-the-wheel"
PATIENCE = 20  # seconds; far above what a start or a stop may take, so that only a hang is told from success

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command to its end and return what it printed; show all of it when it fails."""
    done = subprocess.run(command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist from the checkout and the wheel from the sdist, so that the sdist is shown to be whole."""
    directory = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", directory, ROOT, cwd=directory)
    return directory


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (path,) = dist.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(dist: Path) -> Path:
    (path,) = dist.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel and nothing else into a new environment; the directory of its programs."""
    environment = tmp_path_factory.mktemp("clean")
    venv.create(environment, with_pip=True)
    programs = environment / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", wheel, cwd=environment)
    return programs


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_file_of_the_package_and_every_schema(wheel: Path) -> None:
    package = {path for path in (ROOT / "petstore_mock").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    schemas = {f"petstore_mock/_schemas/{path.name}" for path in (ROOT / "schemas").glob("*.json")}
    assert schemas
    assert {path.suffix for path in package} >= {".py", ".typed", ".html", ".css", ".js"}
    assert {path.relative_to(ROOT).as_posix() for path in package} | schemas == {
        name for name in contents(wheel) if name.startswith("petstore_mock/")
    }


def test_wheel_holds_nothing_beside_the_package_and_its_metadata(wheel: Path) -> None:
    """No tests, above all: a top-level `tests` would land in every user's site-packages."""
    tops = {name.split("/")[0] for name in contents(wheel)}
    assert tops == {"petstore_mock", f"{wheel.name.removesuffix('-py3-none-any.whl')}.dist-info"}


def test_wheel_holds_the_license(wheel: Path) -> None:
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in contents(wheel))


def test_sdist_holds_what_building_and_testing_need_and_no_more(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert tops == {
        ".gitignore",
        "CHANGELOG.md",
        "CODE_OF_CONDUCT.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "PKG-INFO",
        "README.md",
        "SECURITY.md",
        "docs",
        "noxfile.py",
        "petstore_mock",
        "pyproject.toml",
        "schemas",
        "tests",
    }


@pytest.mark.parametrize("module", ["pytest", "hypothesis"])
def test_wheel_does_not_bring_what_is_the_users_own(programs: Path, module: str) -> None:
    code = f"import importlib.util; print(importlib.util.find_spec({module!r}))"
    assert run(programs / "python", "-c", code, cwd=programs).strip() == "None"


def test_installed_package_reads_the_schemas_that_it_ships(programs: Path) -> None:
    """Its environment has no others; the checkout, whose package lies in a folder of its own, does not lend it any."""
    document = json.loads(run(programs / "petstore-mock", "openapi", cwd=programs))
    shipped = {path.stem: json.loads(path.read_bytes()) for path in (ROOT / "schemas").glob("*.json")}
    schemas = document["components"]["schemas"]
    assert schemas["NewPet"]["required"] == shipped["NewPet"]["required"]
    assert {*schemas["Error"]["properties"]} == {*shipped["Error"]["properties"]}


def test_installed_fake_works_without_pytest_and_hypothesis(programs: Path) -> None:
    code = "import petstore_mock as fake; print(fake.PetStoreMock().seed(name="Rex"))"
    assert "'name': 'Rex'" in run(programs / "python", "-c", code, cwd=programs)


@contextmanager
def serving(*command: str | Path, cwd: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the stub, wait until it has printed its address and key, and give the process and the base address."""
    with subprocess.Popen(command, cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        watchdog = threading.Timer(PATIENCE, process.kill)  # ends the reading below, whatever the stub does
        watchdog.start()
        try:
            printed = ""
            while not ((address := re.search(r"http://127\.0\.0\.1:\d+/v1", printed)) and KEY in printed):
                line = process.stdout.readline()
                assert line, f"expected the address and the key; the stub printed:\n{printed}"
                printed += line
            yield process, address.group()
        finally:
            watchdog.cancel()
            process.kill()


def answer(url: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """Ask once, by way of no proxy."""
    try:
        with build_opener(ProxyHandler({})).open(Request(url, headers=headers), timeout=PATIENCE) as response:
            return response.status, response.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


@POSIX_SIGNALS
@pytest.mark.parametrize("program", [["petstore-mock"], ["python", "-m", "petstore_mock"]], ids=["script", "module"])
def test_installed_stub_serves_and_stops(programs: Path, program: list[str]) -> None:
    with serving(programs / program[0], *program[1:], "serve", "--port", "0", "--api-key", KEY, cwd=programs) as (
        process,
        address,
    ):
        assert answer(f"{address}/pets", {"Authorization": f"Bearer {KEY}"}) == (200, b"[]")
        assert answer(f"{address}/pets", {})[0] == 401
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
