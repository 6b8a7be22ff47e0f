"""What an exception that leaves the block of a mock tells of it (PEP 678)."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from werkzeug.test import Client

from petstore_mock import PetStoreMock, VerificationError
from petstore_mock.journal import rendering
from petstore_mock.journal.failure_note import error_of
from petstore_mock.journal.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path


def ask(petstore: PetStoreMock, query: str = "") -> None:
    Client(petstore.app).get(f"/v1/pets{query}", headers=petstore.headers)


def note_of(error: BaseException) -> str:
    (note,) = error.__notes__
    return str(note)


def test_an_exception_that_leaves_the_block_tells_the_journal_and_what_else_was_wrong() -> None:
    petstore = PetStoreMock(strict=True).start()
    url, key = petstore.url, petstore.api_key
    petstore.inject(503, on="createPet", times=1)
    ask(petstore, f"?limit=1000&q={key}")
    with pytest.raises(ZeroDivisionError) as caught, petstore:
        raise ZeroDivisionError
    lines = note_of(caught.value).splitlines()
    assert lines[0] == f"petstore journal of {url}:"
    assert lines[1].startswith("also: inject(server_error(503), on='createPet', times=1) never fired: no request")
    assert lines[2].startswith("also: GET /v1/pets?limit=1000&q=***")
    assert lines[3].startswith("1  GET /v1/pets?limit=1000&q=***")
    assert "request 1 broke the contract" in note_of(caught.value)
    assert key not in note_of(caught.value)


def test_a_verification_at_the_end_of_the_block_tells_the_journal_once() -> None:
    with pytest.raises(VerificationError) as caught, PetStoreMock(strict=True) as petstore:
        ask(petstore, "?limit=1000")
    assert "also:" not in note_of(caught.value), "the words of the exception say it"
    assert "1  GET /v1/pets?limit=1000  400" in note_of(caught.value)


def test_of_several_mocks_each_tells_which_it_is() -> None:
    urls = []

    def test() -> None:
        with PetStoreMock() as outer, PetStoreMock() as inner, inner.fresh() as fresh:
            urls.extend([outer.url, inner.url])
            outer.tenant.world.journal = Journal(1)
            ask(outer)
            ask(outer)
            ask(fresh)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        test()
    of_fresh, of_inner, of_outer = caught.value.__notes__
    assert of_fresh.startswith("petstore journal of a world of fresh():\n1  GET /v1/pets  200")
    assert of_inner == f"petstore journal of {urls[1]}:\nno requests"
    assert of_outer.startswith(f"petstore journal of {urls[0]}:\nleft out: 1 earlier request, since the journal keeps")


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_only_ends_the_program_gets_no_note(ending: type[BaseException]) -> None:
    with pytest.raises(ending) as caught, PetStoreMock():
        raise ending
    assert not hasattr(caught.value, "__notes__")


def test_a_stopped_mock_still_tells() -> None:
    def test() -> None:
        with PetStoreMock() as petstore:
            petstore.stop()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        test()
    assert note_of(caught.value) == "petstore journal of a mock that was stopped:\nno requests"


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    words: str


def test_an_exception_that_takes_no_notes_leaves_as_it_came() -> None:
    with pytest.raises(FrozenError), PetStoreMock():
        raise FrozenError("as it is")


def test_a_journal_that_can_not_be_shown_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "render_kept", None)
    with pytest.raises(ZeroDivisionError) as caught, PetStoreMock():
        raise ZeroDivisionError
    assert "which is a bug of petstore_mock: TypeError" in note_of(caught.value)


def test_a_failing_unittest_prints_the_journal_of_its_mock(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        """
import unittest
import urllib.request
from petstore_mock import PetStoreMock

class Case(unittest.TestCase):
    def test_it(self):
        with PetStoreMock() as petstore:
            request = urllib.request.Request(petstore.url + "/pets?limit=7", headers=petstore.headers)
            with urllib.request.urlopen(request, timeout=10) as answer:
                self.assertEqual(answer.status, 201)
""",
        encoding="utf-8",
    )
    run = subprocess.run(
        [sys.executable, "-m", "unittest", "test_it"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "AssertionError: 200 != 201\npetstore journal of http://127.0.0.1:" in run.stderr
    assert "1  GET /v1/pets?limit=7  200" in run.stderr


def test_an_error_names_the_first_of_many_problems_and_counts_the_others() -> None:
    """A client in a loop may break a rule thousands of times; nobody reads more than some."""
    problems = [("violation", f"problem {number}") for number in range(1000)]
    error = error_of([*problems, ("unfired_fault", "never met")])
    assert isinstance(error, VerificationError)
    assert str(error).splitlines() == [
        *(words for _, words in problems[:120]),
        "and 880 more violations",
        "and 1 more unfired fault",
    ]
