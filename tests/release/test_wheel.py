"""The sdist and the wheel of a release. The wheel is installed into an empty environment, and used."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Final
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from tests.platforms import POSIX_SIGNALS
from tests.programs import run

ROOT: Final = Path(__file__).parents[2]
SDIST: Final = """
    .gitignore CHANGELOG.md CODE_OF_CONDUCT.md CONTRIBUTING.md Dockerfile LICENSE Makefile PKG-INFO README.md
    SECURITY.md adapters benchmarks docs noxfile.py petstore_mock pyproject.toml schemas tests tools
"""
PATIENCE: Final = 20  # seconds; only a hang takes longer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist from the checkout, and the wheel from the sdist, which must be complete."""
    directory = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", directory, ROOT, cwd=directory)
    return directory


@pytest.fixture(scope="module")
def programs(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install only the wheel into a new environment. Return the directory of its programs."""
    environment = tmp_path_factory.mktemp("clean")
    venv.create(environment, with_pip=True)
    programs = environment / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", *dist.glob("*.whl"), cwd=environment)
    return programs


def test_wheel_has_only_package_schemas_and_license(dist: Path) -> None:
    """A top-level `tests` would land in the site-packages of every user."""
    package = {path for path in (ROOT / "petstore_mock").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    schemas = {f"petstore_mock/_schemas/{path.name}" for path in (ROOT / "schemas").glob("*.json")}
    assert schemas
    assert {path.suffix for path in package} >= {".py", ".typed", ".html", ".css", ".js"}
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    metadata = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    assert names - metadata == {path.relative_to(ROOT).as_posix() for path in package} | schemas
    assert any(name.endswith("/licenses/LICENSE") for name in metadata)


def test_sdist_has_only_the_files_for_building_and_testing(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        assert {name.split("/")[1] for name in archive.getnames() if "/" in name} == {*SDIST.split()}


def test_sdist_has_everything_that_its_tests_import(dist: Path, tmp_path: Path) -> None:
    run("tar", "xf", *dist.glob("*.tar.gz"), cwd=tmp_path)
    (root,) = tmp_path.iterdir()
    # Without the folder of the checkout, which is on the path after an editable install.
    code = f"import sys; sys.path.remove({str(ROOT)!r}) if {str(ROOT)!r} in sys.path else None; import pytest; "
    code += "sys.exit(pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider']))"
    assert "tests collected" in run(sys.executable, "-c", code, cwd=root)


def test_installed_package_reads_its_own_schemas(programs: Path) -> None:
    """The new environment has no other schemas, and the package does not find those of the checkout."""
    document = json.loads(run(programs / "petstore-mock", "openapi", cwd=programs))
    shipped = json.loads((ROOT / "schemas" / "NewPet.json").read_bytes())
    assert document["components"]["schemas"]["NewPet"]["required"] == shipped["required"]


def test_installed_fake_works_without_pytest_and_hypothesis(programs: Path) -> None:
    code = (
        "import importlib.util as util, petstore_mock as fake\n"
        "with fake.PetStoreMock() as petstore: print(petstore.seed(name='Rex')['name'])\n"
        "print([name for name in ('pytest', 'hypothesis') if util.find_spec(name)])"
    )
    assert run(programs / "python", "-c", code, cwd=programs).split() == ["Rex", "[]"]


def status(url: str, headers: dict[str, str]) -> int:
    try:
        with build_opener(ProxyHandler({})).open(Request(url, headers=headers), timeout=PATIENCE) as response:
            return int(response.status)
    except HTTPError as error:
        error.close()
        return error.code


@POSIX_SIGNALS
@pytest.mark.parametrize("program", [["petstore-mock"], ["python", "-m", "petstore_mock"]], ids=["script", "module"])
def test_installed_stub_serves_and_stops(programs: Path, program: list[str]) -> None:
    options = ("serve", "--port", "0", "--api-key", "a-key", "--log-format", "json", "--quiet")
    command: list[str | Path] = [programs / program[0], *program[1:], *options]
    with subprocess.Popen(command, cwd=programs, text=True, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["url"]
            assert status(f"{address}/pets", {"Authorization": "Bearer a-key"}) == 200
            assert status(f"{address}/pets", {}) == 401
            process.terminate()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
