"""``petstore-mock demo`` without Hypothesis, and the test that the demo suggests."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from tests.programs import run

# Python can't import a module that is None in sys.modules.
WITHOUT_HYPOTHESIS = """
import runpy, sys
sys.modules["hypothesis"] = None
sys.argv = ["petstore-mock", "demo"]
runpy.run_module("petstore_mock", run_name="__main__")
"""
CORRECT_CLIENT = """
import requests

class YourClient:
    def __init__(self, url, key):
        self.url, self.headers = url, {"Authorization": f"Bearer {key}"}

    def create_pet(self, *, name, category_id):
        pet = {"name": name, "categoryId": category_id}
        response = requests.post(f"{self.url}/pets", json=pet, headers=self.headers, timeout=1)
        response.raise_for_status()
        return response.json()
"""
RETRYING_CLIENT = f"""{CORRECT_CLIENT}
class YourClient(YourClient):
    def create_pet(self, **fields):
        try:
            return super().create_pet(**fields)
        except requests.ConnectionError:
            return super().create_pet(**fields)
"""


@pytest.fixture(scope="module")
def shown() -> str:
    """Return the output of the command."""
    return run(sys.executable, "-c", WITHOUT_HYPOTHESIS)


def test_demo_shows_the_bug_without_hypothesis(shown: str) -> None:
    assert "sent POST /v1/pets again" in " ".join(shown.split())
    assert shown.count("POST /v1/pets  ") == 2
    assert shown.count('"name": "Rex", "categoryId": 1}') == 2


@pytest.mark.seconds
@pytest.mark.parametrize(("client", "code"), [(CORRECT_CLIENT, 0), (RETRYING_CLIENT, 1)], ids=["correct", "retries"])
def test_suggested_test_fails_only_for_a_client_with_the_bug(
    shown: str, tmp_path: Path, client: str, code: int
) -> None:
    suggested = textwrap.dedent(shown.partition("run pytest:\n")[2].partition("\nTwo more")[0])
    (tmp_path / "your_package.py").write_text(client, encoding="utf-8")
    (tmp_path / "test_lost_response.py").write_text(suggested, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", "-pno:hypothesispytest"]
    printed = run(*command, cwd=tmp_path, code=code)
    assert ("sent POST /v1/pets again" in printed) is (code == 1)
