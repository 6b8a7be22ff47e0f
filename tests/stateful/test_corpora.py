"""The machine finds each buggy client; each pasted test fails only for its client; correct clients pass."""

from __future__ import annotations

import locale
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.clients import reports_again, reports_later, reports_more, sharing, slips, surroundings
from tests.clients.correct import CORRECT, make_correct
from tests.clients.shapes import SHAPES, maker_of
from tests.platforms import HAS_PROCESSOR_TIMES, WITHOUT_PROCESSOR_TIMES
from tests.programs import run
from tests.stateful.corpora import CASES, EVERYWHERE, LEAVINGS, NEED_ODD_KEY, TWINS, bug_of, raised_by
from tests.threads import files_of_other_threads

pytestmark = [*LEAVINGS]

ROOT: Final = Path(__file__).parents[2]
OPTIONS: Final = {**reports_later.OPTIONS, **reports_again.OPTIONS}

# Clients that take few seconds, for different kinds of checks. `make slow` runs the others.
QUICK = {
    "LimitZeroForNone",
    "KeyInAnotherHeader",
    "StatusTakenForGranted",
    "NothingForMissing",
    "CreatesAgain",
    "RememberedByTheClass",
    "ListReused",
    "PrintsForDebugging",
    "ForcesIpv4",
}
# A date in Retry-After has whole seconds, so a client that is early by less than a second may need two runs. And on a
# busy computer, the calls of the pasted test may take so long that they stay below the rate limit.
BY_THE_CLOCK = {"DatesAreLocal"}
# These bugs show only in another locale, which must be installed.
NEEDS_LOCALE = {"DatesInTheLocale", "DateInTheLocale", "NumbersForPeople"}
# The machine tells a loop from a pause by the processor time of threads.
NEEDS_PROC = {"EndIsNoPart", "EndReadAgain"}


def has_another_locale() -> bool:
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return True


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_a_bug_is_found_and_its_pasted_test_fails_only_for_the_buggy_client(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some clients leave files
    if name in NEEDS_LOCALE and not has_another_locale():
        pytest.skip("needs the locale de_DE.UTF-8; it is not installed")
    if name in NEEDS_PROC and not HAS_PROCESSOR_TIMES:
        pytest.skip(WITHOUT_PROCESSOR_TIMES)
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("always")  # some clients show their key in a warning
        warnings.showwarning = lambda *_, **__: None
        bug = bug_of(case.make, **case.options)
        if bug is None and name in BY_THE_CLOCK:
            bug = bug_of(case.make, **case.options)
        assert bug is not None
        # On a busy computer, a request may end by its timeout, and the bug by another rule.
        if "did not show again" not in bug.sentence:
            assert ("The bug needs a key" in bug.sentence) is (name in NEED_ODD_KEY)
            depends_on_threads = "how the system schedules threads" in bug.sentence
            tries = 60 if depends_on_threads else 5 if name in BY_THE_CLOCK else 1
            assert any(raised_by(bug, case.make) is not None for _ in range(tries)), bug.test
        assert raised_by(bug, case.correct) is None, bug.test
        if name in NEEDS_PROC:
            assert reports_more.__file__ not in files_of_other_threads(), "the loop must end with its call"


def test_a_first_run_finds_a_client_that_sets_warning_filters_during_imports() -> None:
    code = (
        "from tests.stateful.corpora import CASES, bug_of\n"
        "print(bug_of(CASES['SilencesWarnings'].make, max_examples=5, environment=(), faults=(), vary=()))"
    )
    assert "changed warnings.filters" in run(sys.executable, "-c", code, cwd=ROOT)


def checked(make_client: Callable[[Any], Any], **options: Any) -> str:
    bug = bug_of(make_client, **options)
    return "" if bug is None else str(bug)


@pytest.mark.seconds
@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=() if name == "http.client" else pytest.mark.slow) for name in CORRECT]
)
def test_no_false_alarm_about_a_correct_client(library: str) -> None:
    assert checked(make_correct(library)) == ""


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_no_false_alarm_about_a_client_of_another_shape(shape: str) -> None:
    make_client, options = SHAPES[shape]
    assert checked(make_client, max_examples=50, **options) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", sharing.CORRECT)
def test_no_false_alarm_about_a_client_that_is_safe_to_share(name: str) -> None:
    assert checked(maker_of(sharing.CORRECT[name]), concurrent=True, max_examples=50) == ""


@pytest.mark.slow
@pytest.mark.parametrize("client", surroundings.CORRECT)
def test_no_false_alarm_in_any_environment(client: Any) -> None:
    assert checked(maker_of(client), environment=EVERYWHERE, max_examples=20) == ""


def place_of(client: Any, number: int) -> pytest.MarkDecorator:
    """Return the marker of a twin's check in all scenarios, which takes half a minute.

    A twin differs from correct clients above in few lines, and `make slow` runs the pasted test of its bug. So it
    checks only each fifth twin, and those whose bug nobody looks for. `make soak` checks the others.
    """
    is_tried = number % 5 == 0 or client.__name__ not in CASES
    return pytest.mark.slow if is_tried else pytest.mark.soak


@pytest.mark.parametrize(
    "client", [pytest.param(client, marks=place_of(client, number)) for number, client in enumerate(TWINS)]
)
def test_no_false_alarm_about_a_client_without_the_reported_bug(client: Any) -> None:
    assert checked(maker_of(TWINS[client]), max_examples=20, **OPTIONS.get(client, {})) == ""


@pytest.mark.slow
@pytest.mark.parametrize("client", slips.CORRECT)
def test_no_false_alarm_about_background_work_and_masked_keys(client: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert checked(maker_of(client), max_examples=50) == ""
