"""A mistake of the test author's is shown at the line that has it, and not in ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Inner = Callable[..., pytest.RunResult]

pytestmark = pytest.mark.untraced

MISTAKES = {
    "inject": "petstore.inject(99)",
    "configure": "petstore.configure(list_order='by_nam')",
    "seed": "petstore.seed(nme='Rex')",
    "assert_called": "petstore.journal.assert_called('createPett')",
    "last": "petstore.journal.last",
    "option": "PetStoreMock(behaviour='strickt')",
    "a pattern": "petstore.expect_violation('(')",  # these have a cause, which the message tells of
    "an amount": "petstore.clock.advance(days='1')",
    "a value": "petstore.journal.assert_called(json={1, 2})",
    "a file": "PetStoreMock(behaviour='there-is-none.toml')",
    "an address": "connect('http://127.0.0.1:1')",
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("style", ["long", "short"])
def test_report_of_a_mistake_ends_at_the_line_that_has_it(inner: Inner, mistake: str, style: str) -> None:
    result = inner(
        f"""
        from petstore_mock import PetStoreMock, connect

        def test_mistake(petstore):
            {MISTAKES[mistake]}
        """,
        f"--tb={style}",
    )
    result.assert_outcomes(failed=1)
    shown = result.stdout.str()
    assert MISTAKES[mistake] in shown
    assert "PetStoreMockError" in shown
    assert "petstore_mock/" not in shown.partition("short test summary")[0]
    assert "direct cause" not in shown


def test_full_trace_shows_our_frames_too(inner: Inner) -> None:
    result = inner(
        """
        def test_mistake(petstore):
            petstore.inject(99)
        """,
        "--full-trace",
    )
    result.stdout.fnmatch_lines(["*petstore_mock/*.py:*"])


def test_other_errors_keep_our_frames(inner: Inner) -> None:
    """Else a bug of ours could not be found."""
    result = inner(
        """
        import pytest
        from petstore_mock import PetStoreMockError

        def test_bug(petstore, monkeypatch):
            with pytest.raises(PetStoreMockError):
                petstore.seed(nme="Rex")
            petstore.tenant.world.animals.store = None
            petstore.seed(name="Rex")
        """
    )
    result.stdout.fnmatch_lines(["*petstore_mock/*.py:*"])
