"""What check_client says about bugs: the shortest test, which is true, the value that matters, and all of a run."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from petstore_mock import PetStoreMockError, VerificationError, checks, faults
from petstore_mock.stateful import ClientBugError, check_client
from tests.clients import patience, reports_kept, reports_more, slips
from tests.clients.buggy_reading import AskedWhenRead
from tests.clients.correct import Answer, HttpClientPets, Json, make_correct
from tests.clients.shapes import by_key, maker_of
from tests.programs import run
from tests.stateful.corpora import LEAVINGS, SETTINGS, bug_of, raised_by

pytestmark = [*LEAVINGS]

ROOT = Path(__file__).parents[2]
QUICKLY: dict[str, Any] = {"settings": SETTINGS, "max_examples": 1, "environment": (), "vary": ()}


def calls(bug: ClientBugError) -> list[str]:
    """Return the lines of a printed test that act, without those that only end faults."""
    lines = [line.strip() for line in bug.test.splitlines()]
    acting = [line for line in lines if line.startswith(("client.", "other_client.", "petstore.", "other."))]
    return [line for line in acting if not line.endswith("cancel_faults()")]


def found(client: type[HttpClientPets], **options: Any) -> ClientBugError:
    bug = bug_of(by_key(client), **{**QUICKLY, **options})
    assert bug is not None
    return bug


# One cause, one finding


@pytest.mark.seconds
@pytest.mark.parametrize(
    ("client", "words"),
    [
        (reports_more.TypeTwice, "got Content-Type 'application/json, application/json'"),
        (AskedWhenRead, "sent no request and returned"),
        (reports_more.AskedAtEachRead, "sent no request and returned"),
        (reports_more.BufferGrows, "Extra data"),
        (reports_more.MethodStays, "which no caller requested"),
    ],
)
def test_a_cause_that_shows_in_many_ways_is_one_finding(client: type[HttpClientPets], words: str) -> None:
    bug = found(client, first=False, vary=("media_type",))
    assert words in bug.sentence
    assert len(bug.bugs) == 1


@pytest.mark.seconds
def test_a_call_that_its_own_client_cancelled_is_named_so() -> None:
    bug = bug_of(maker_of(reports_more.TimeoutCancels), **{**QUICKLY, "faults": [faults.delay(0.8)]})
    assert bug is not None
    assert "a call is cancelled by its caller only" in bug.sentence


# Checks that were off


class ReadsAfterASecond(slips.ReadsMuchLater):
    # The machine waits for a thread, and a collection of garbage in this process may take long.
    pause = 1.0


@pytest.mark.seconds
def test_the_report_says_that_retries_were_not_checked_because_the_client_sends_requests_by_itself() -> None:
    words = "not checked, because the client sends requests by itself: "
    report = check_client(by_key(ReadsAfterASecond), **{**QUICKLY, "faults": ()})
    assert 0 < report.unclear <= report.calls
    assert f"{words}{report.unclear:,} of {report.calls:,} calls" in " ".join(str(report).split())
    assert words not in " ".join(str(check_client(make_correct("http.client"), **{**QUICKLY, "faults": ()})).split())


# Pauses


class PausesShortly(patience.Patient):
    pauses = (2.5,)


class PausesForLong(patience.Patient):
    pauses = (16,)


@pytest.mark.slow
@pytest.mark.parametrize("client", [PausesShortly, PausesForLong, patience.Patient])
def test_a_client_that_pauses_after_a_failure_is_not_accused(client: type[HttpClientPets]) -> None:
    report = check_client(by_key(client), **{**QUICKLY, "faults": [503, faults.rate_limited(1)]})
    assert ("still paused" in str(report)) is (report.paused > 0)
    assert report.paused == 0 or client is not PausesShortly


@pytest.mark.slow
def test_a_pause_that_is_longer_than_longest_wait_has_its_own_sentence() -> None:
    bug = found(PausesShortly, faults=[503], longest_wait=1)
    assert bug.rule == "long pause"
    assert bug.sentence.startswith("list_pets() paused for more than 1 s after it received 503")
    assert "longest_wait=1" in bug.test


@pytest.mark.slow
def test_a_lock_that_is_not_released_is_still_found() -> None:
    class Locked(patience.SlotLost):
        def __init__(self, url: str, key: str) -> None:
            super().__init__(url, key)
            self.slots = threading.Semaphore(1)

    assert found(Locked, faults=[faults.reset()]).rule == "endless wait"


# The shortest test


@pytest.mark.seconds
def test_a_directed_failure_is_shrunk_to_one_fault_and_one_call() -> None:
    bug = found(patience.FloatHint, vary=None)
    assert len(calls(bug)) == 2
    assert raised_by(bug, by_key(patience.FloatHint)) is not None
    assert raised_by(bug, make_correct("http.client")) is None


@pytest.mark.slow
def test_a_slow_client_is_played_sixty_times_before_shrinking_ends() -> None:
    """Each play takes a fifth of a second, so 25 plays take the five seconds that shrinking has."""
    plays = itertools.count()

    class Tires(HttpClientPets):
        calls = 0

        def __init__(self, url: str, key: str) -> None:
            super().__init__(url, key)
            next(plays)
            time.sleep(0.2)

        def send(self, method: str, path: str, body: bytes | None) -> Answer:
            self.calls += 1
            if self.calls > 6:
                raise KeyError(path)
            return super().send(method, path, body)

    bug = found(Tires, faults=(), max_examples=30)
    assert next(plays) >= 60
    assert bug.test.count("client.list_pets()") == 7


@pytest.mark.slow
def test_a_lost_slot_is_shrunk_to_one_fault_and_the_calls_that_it_takes() -> None:
    bug = found(patience.SlotLost)
    assert len(calls(bug)) <= 12
    assert raised_by(bug, by_key(patience.SlotLost)) is not None


@pytest.mark.seconds
def test_a_gap_is_named_only_if_its_default_does_not_show_the_bug() -> None:
    bug = found(patience.FloatHint, vary=None, faults=())
    assert "The bug needs rate_limit='retry_after_date'" in bug.sentence
    assert "Behaviour(rate_limit=" in bug.test
    bug = found(patience.FilterSticks, vary=None)
    assert "The bug needs" not in bug.sentence


@pytest.mark.seconds
@pytest.mark.untraced
@pytest.mark.parametrize("client", [patience.FilterSticks, patience.InheritsFilter, patience.KeyOfTheFirst])
def test_a_printed_test_is_true_for_a_client_with_state_in_its_class(client: type[HttpClientPets]) -> None:
    bug = found(client, faults=())
    assert len(calls(bug)) == 2
    assert "did not show again" not in bug.sentence
    source = "\n".join(line for line in bug.test.splitlines() if not line.startswith("# make_client"))
    program = (
        f"from tests.clients.patience import {client.__name__} as client_class\n"
        "from tests.clients.shapes import by_key\n"
        f"make_client = by_key(client_class)\n{source}\n"
        "try: test_client()\n"
        "except AssertionError: print('fails')"
    )
    assert run(sys.executable, "-c", program, cwd=ROOT).strip() == "fails"


settings_of_this_process: list[str] = []


def make_forgetful(petstore: Any) -> Json:
    """Make clients that fail only in the process of the test below."""
    client = make_correct("http.client")(petstore)
    if settings_of_this_process:
        client.query = lambda _limit, _status: "?limit=7"
    return client


@pytest.mark.seconds
def test_a_test_that_passes_in_a_new_process_is_not_called_true() -> None:
    settings_of_this_process.append("forgetful")
    bug = bug_of(make_forgetful, **{**QUICKLY, "faults": ()})
    assert bug is not None
    assert f"from {__name__} import make_forgetful as make_client" in bug.test
    assert "The test passes in a new process" in bug.sentence


@pytest.mark.seconds
def test_a_module_that_checks_a_client_when_it_is_imported_does_not_begin_a_second_run(tmp_path: Path) -> None:
    (tmp_path / "pets.py").write_text(
        "from petstore_mock.stateful import check_client\n"
        "class Sticky:\n"
        "    def __init__(self, petstore): pass\n"
        "    def list_pets(self, *, limit=None, status=None): return []\n"
        "def make_client(petstore): return Sticky(petstore)\n"
        "check_client(make_client, max_examples=1, environment=())\n",
        encoding="utf-8",
    )
    program = "import sys; sys.path.insert(0, '.'); import pets"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=120
    )
    assert done.stderr.count("ClientBugError: ") == 1
    assert "list_pets() sent no request and returned []" in done.stderr


# The value that matters


@pytest.mark.seconds
def test_a_sentence_shows_the_hint_of_a_response() -> None:
    bug = found(patience.FloatHint, faults=[faults.respond(503, headers={"Retry-After": "soon"})])
    assert "Retry-After: soon" in bug.sentence
    assert "headers=<" not in bug.sentence


def test_a_sentence_shows_where_the_key_stands_in_a_log() -> None:
    bug = found(patience.LogsItsHeaders, faults=())
    assert "in a log record of the logger 'pets.wire': " in bug.sentence
    assert "Bearer ***" in bug.sentence
    bug = found(patience.LogsItsKeyAsExtra, faults=())
    assert "in the attribute 'api_key' of a log record of the logger 'pets.wire'" in bug.sentence


@pytest.mark.seconds
def test_a_create_that_is_followed_as_a_read_is_named_so() -> None:
    bug = found(patience.FollowsAsRead)
    assert bug.rule == "followed as a read"
    assert "POST /v1/pets received 30" in bug.sentence
    assert "the client followed it with GET /v1/pets" in bug.sentence
    assert "classify=" not in bug.sentence


@pytest.mark.slow
def test_an_unknown_exception_is_reported_once() -> None:
    class OddError(Exception):
        pass

    class Odd(HttpClientPets):
        def checked(self, answer: Any, success: int) -> Any:
            if answer.status != success:
                raise OddError
            return answer

    with pytest.raises(checks.UnknownErrorError) as caught:
        check_client(by_key(Odd), **QUICKLY)
    assert "As a test:" not in str(caught.value)
    assert "As a test:" in str(caught.value.__cause__)


# All bugs of a run


@pytest.mark.seconds
def test_a_run_reports_all_bugs_the_shortest_first() -> None:
    with pytest.raises(ClientBugError) as caught:
        check_client(by_key(patience.ManyBugs), **QUICKLY)
    bugs = caught.value.bugs
    assert patience.kinds_of(bugs) == ["key in the output", "program error", "wrong parameter"]
    sizes = [len(bug.scenario.steps) for bug in bugs]
    assert sizes == sorted(sizes)
    assert str(caught.value).startswith("The client has 3 bugs.")
    for number, bug in enumerate(bugs, 1):
        assert f"Bug {number} of 3 (rule {bug.rule!r}): {bug.sentence}" in str(caught.value)
    assert caught.value.sentence == bugs[0].sentence


def test_first_stops_at_the_first_bug() -> None:
    with pytest.raises(ClientBugError) as caught:
        check_client(by_key(patience.ManyBugs), first=True, **QUICKLY)
    assert caught.value.bugs == (caught.value,)


@pytest.mark.seconds
def test_one_cause_is_one_bug() -> None:
    failures = [faults.not_found(), 500, faults.respond(202), faults.respond(206, json=[]), faults.malformed_json()]
    with pytest.raises(ClientBugError) as caught:
        check_client(by_key(reports_kept.FalsyErrorIgnored), **{**QUICKLY, "faults": failures})
    assert len(caught.value.bugs) == 1


@pytest.mark.seconds
def test_a_rule_can_be_switched_off_by_its_name() -> None:
    only = {**QUICKLY, "faults": [faults.respond(202, json={"id": 1})]}
    with pytest.raises(ClientBugError) as caught:
        check_client(by_key(patience.AcceptedTaken), **only)
    assert caught.value.rule == "202 is no success"
    assert any("ignore=['202 is no success']" in note for note in caught.value.__notes__)
    report = check_client(by_key(patience.AcceptedTaken), ignore=["202 is no success"], **only)
    assert report.ignored["202 is no success"] > 0
    assert "ignored: 202 is no success" in str(report)
    report = check_client(by_key(patience.AcceptedTaken), ignore=["no_result_from_broken_response"], **only)
    assert report.ignored["202 is no success"] > 0


@pytest.mark.parametrize(
    ("ignore", "message"),
    [(["202 is no succes"], "did you mean '202 is no success'?"), ("call_ends", "expected ignore= as a list of names")],
)
def test_a_wrong_name_of_a_rule_is_refused(ignore: Any, message: str) -> None:
    with pytest.raises(PetStoreMockError) as caught:
        check_client(make_correct("http.client"), ignore=ignore, **QUICKLY)
    assert message in str(caught.value)


def test_names_of_rules_are_unique() -> None:
    names = [rule for check in checks.CHECKS.values() for rule in check.rules]
    assert len(names) == len(set(names))
    assert all(check.rules for check in checks.CHECKS.values())


# Chance


@pytest.mark.slow
def test_a_bug_by_chance_says_how_often_it_showed_and_fixes_the_state_of_random() -> None:
    hint = {"Retry-After": "1"}
    told = [faults.rate_limited(1), *(faults.respond(503, headers=hint, body=text) for text in "abcd")]
    bug = found(patience.Jitter, faults=told)
    assert "depends on chance" in bug.sentence
    assert "did not show again" not in bug.sentence
    assert "import random\n" in bug.test
    assert "random.seed(" in bug.test
    for _ in range(3):
        assert raised_by(bug, by_key(patience.Jitter)) is not None
    assert raised_by(bug, make_correct("http.client")) is None


@pytest.mark.seconds
def test_the_state_of_random_is_the_same_after_a_run() -> None:
    state = random.getstate()
    check_client(make_correct("http.client"), **{**QUICKLY, "faults": ()})
    assert random.getstate() == state


# Directed scenarios: nothing of this depends on what is drawn.


@pytest.mark.seconds
@pytest.mark.parametrize("client", patience.DIRECTED)
def test_a_directed_scenario_finds_a_bug(client: type[HttpClientPets]) -> None:
    bug = found(client)
    assert raised_by(bug, by_key(client)) is not None
    assert raised_by(bug, make_correct("http.client")) is None
    assert len(calls(bug)) <= 4


# Policies of retries

PROMISED = checks.Policy(attempts=3, base=0.1, cap=1, jitter=0.1, on=(503,))
FAILURES: dict[str, Any] = {**QUICKLY, "retries": PROMISED, "faults": [faults.server_error(503), faults.respond(403)]}


ONE, *OTHERS = patience.UNPROMISED


@pytest.mark.seconds
@pytest.mark.parametrize("client", [ONE, *(pytest.param(client, marks=pytest.mark.slow) for client in OTHERS)])
def test_a_client_is_held_to_its_policy_of_retries(client: type[patience.Retrying]) -> None:
    many = faults.sequence(*[503] * 4)
    given = {**FAILURES, "faults": [*FAILURES["faults"], many]}
    with pytest.raises(ClientBugError) as caught:
        check_client(by_key(client), **given)
    bug = next(bug for bug in caught.value.bugs if bug.rule == patience.UNPROMISED[client])
    assert f"checks.{PROMISED!r}.check" in bug.test
    assert raised_by(bug, by_key(client)) is not None
    assert raised_by(bug, by_key(patience.Retrying)) is None


@pytest.mark.seconds
def test_a_client_that_keeps_its_policy_is_correct_and_its_profile_is_shown() -> None:
    quickly = {**QUICKLY, "faults": None}
    report = check_client(by_key(patience.Retrying), retries=PROMISED, **quickly)
    outage = report.outages["listPets", "server_error(503)"]
    assert (outage.attempts, outage.calls, outage.requests, outage.recovers) == (3, 2, 6, True)
    assert 1.5 < (outage.growth or 0) < 2.5
    assert "listPets 3 requests after server_error(503)" in str(report)
    assert report.outages["createPet", "server_error(503)"].attempts == 1
    assert report.outages["listPets", "unauthorized()"].attempts == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"attempts": 0}, "attempts= as a whole number of at least 1"),
        ({"attempts": 1, "jitter": 2}, "jitter= as a number from 0 to 1"),
        ({"attempts": 1, "on": ["reset"]}, "on= with statuses or protocol, timeout, transport"),
    ],
)
def test_a_wrong_policy_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PetStoreMockError, match=message):
        checks.Policy(**given)


# The complete pass

COMPLETE: dict[str, Any] = {**QUICKLY, "complete": "faults"}


@pytest.mark.slow
def test_a_complete_pass_says_so_and_pairs_need_a_client_that_sends_again() -> None:
    report = check_client(make_correct("http.client"), **COMPLETE)
    singles, both = report.coverage
    assert (len(singles.plans) > 300, singles.left) == (True, [])
    assert both.plans == []
    assert f"every single fault: complete ({len(singles.plans)})" in str(report)


@pytest.mark.seconds
def test_a_complete_pass_finds_a_bug_that_needs_two_faults_in_one_call() -> None:
    given = {**COMPLETE, "faults": [503, faults.not_found(), faults.bad_request()]}
    assert bug_of(by_key(patience.ForgetsTheSecondFailure), **{**given, "complete": None}) is None
    bug = bug_of(by_key(patience.ForgetsTheSecondFailure), **given)
    assert bug is not None
    assert "faults.sequence(faults.server_error(503), faults.not_found())" in bug.test
    assert raised_by(bug, by_key(patience.ForgetsTheSecondFailure)) is not None


def test_a_pass_that_is_left_for_want_of_time_is_named_and_fails() -> None:
    report = check_client(make_correct("http.client"), **{**COMPLETE, "complete": None}, max_seconds=0.01)
    assert report.coverage[0].left
    assert " left: " in str(report)
    with pytest.raises(VerificationError, match=r"every single fault: \d+ of \d+ left: .* allow more seconds"):
        check_client(make_correct("http.client"), **COMPLETE, max_seconds=0.01)
