"""Each check finds the buggy clients that it is made for, and no correct client."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import http.client
import json
import os
import re
import threading
import time
import weakref
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, checks, faults
from tests.checks import stories
from tests.checks.stories import Story, creates, finds, lists, meets, misses, watch
from tests.clients import (
    buggy_asking,
    buggy_living,
    buggy_reading,
    lives_kept,
    lives_shown,
    patience,
    reports_again,
    reports_fresh,
    reports_later,
    reports_latest,
    reports_more,
    reports_shown,
    reports_unmet,
    slips,
)
from tests.clients.correct import CORRECT, Answer, ApiError, HttpClientPets, Json, RequestsPets, make_correct
from tests.clients.shapes import SHAPES, AiohttpBlock, AiohttpGroup, AsyncPets, Block, by_key, maker_of
from tests.clients.slips import ReadsMuchLater
from tests.platforms import PROCESSOR_TIMES
from tests.threads import files_of_other_threads
from tests.wire.raw import PATIENCE, eventually


class ReportsInAnOldTask(lives_kept.ReportsInATask):
    """Fails in a task that no quick collection of garbage reaches."""

    async def aclose(self) -> None:
        for _ in range(3):
            gc.collect()
        await super().aclose()


class ReadsForLong(ReadsMuchLater):
    """Correct: its threads still run after many further calls."""

    pause = 0.5


class RenamesAThread(HttpClientPets):
    """Names a thread after its key when the thread has begun."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        thread = threading.Thread(target=self.tracks)
        thread.start()
        thread.join()
        return super().ask(method, path, body)

    def tracks(self) -> None:
        threading.current_thread().name = f"pets-{self.key}"
        time.sleep(0.1)  # a thread goes on for some time


FOUND: dict[str, list[tuple[type, Story]]] = {
    "key_only_in_authorization": [
        (buggy_asking.KeyInQuery, lists),
        (slips.SendsBasicToo, lists),
    ],
    "requests_are_valid": [
        (buggy_asking.LimitZeroForNone, lists),
        (buggy_asking.TrailingSlash, lists),
        (buggy_asking.KeyWithoutScheme, lists),
        (buggy_asking.HostWithoutPort, lists),
        (buggy_living.LoggedOutOnClose, lists),
        (buggy_asking.BodyWithGet, lists),
    ],
    "requests_are_asked_for": [
        (buggy_asking.LimitForgotten, lists),
        (buggy_asking.CategoryAsFloat, creates),
        (buggy_asking.NegativeIdEscaped, misses),
        (buggy_living.ResentOnClose, meets(faults.reset(), "createPet")),
        (reports_more.MethodStays, stories.reads_after_a_create),
    ],
    "no_repeated_create": [
        (reports_more.HedgesAll, meets(faults.delay(0.6), "createPet")),
        (buggy_living.CreatesAgain, meets(faults.reset(), "createPet", at="after_commit")),
        (buggy_living.CreatesAgainAfterServerError, meets(503, "createPet")),
        (buggy_asking.CreatesAgainWhenUnreadable, meets(faults.malformed_json(), "createPet")),
    ],
    "retries_are_bounded": [
        (buggy_living.RetriesWithoutEnd, meets(503, "listPets", times=None)),
        (buggy_asking.RedirectedInACircle, stories.redirects),
        (stories.RetriesRefusals, misses),
    ],
    "retry_after_is_honoured": [
        (stories.RetriesAtOnce, meets(faults.respond(503, headers={"Retry-After": "1"}), "listPets")),
        (stories.RetriesAtOnce, meets(faults.respond(503, headers={"Retry-After": stories.FAR_AWAY}), "getPet")),
    ],
    "every_call_asks": [
        (buggy_asking.ZeroIdRefused, misses),
        (buggy_asking.CreateIfAbsent, creates),
        (buggy_living.GetsRemembered, lists),
        (buggy_reading.AskedWhenRead, lists),
        (lives_shown.EmptyAfterClose, stories.is_reused),
        (reports_more.AskedAtEachRead, lists),
    ],
    "call_ends": [
        (buggy_living.NoTimeout, meets(faults.hang(), "listPets")),
        (buggy_living.LockNotReleased, meets(faults.reset(), "listPets")),
        (lives_shown.HeldAfterAnInterrupt, stories.is_interrupted),
        (lives_shown.PermitLost, stories.is_interrupted),
        (
            reports_again.SlotHeldInRedirect,
            meets(faults.respond(307, headers={"Location": "/v1/pets"}), "listPets"),
        ),
    ],
    "event_loop_is_free": [
        (patience.SleepsInItsLoop, meets(503, "listPets")),
        (lives_shown.SleepsBriefly, meets(503, "listPets")),
    ],
    "interrupts_come_out": [
        (lives_shown.CancelledMeansFailed, stories.is_interrupted),
        (reports_again.CancelledWhileItPauses, stories.is_interrupted_in_a_pause),
        (lives_shown.LogoutIsTheResult, stories.is_left),
        (lives_shown.ExitAsksForAStatus, stories.is_left),
    ],
    "exceptions_are_usable": [
        (lives_shown.UnshownErrors, misses),
        (lives_shown.FrozenErrors, misses),
        (reports_shown.OneErrorForAll, misses),
        (reports_fresh.RaisedFromItself, meets(faults.reset(), "listPets")),
    ],
    "calls_are_independent": [
        (lives_shown.ContentTypeStays, stories.creates_between_lists),
        (lives_shown.OneIdempotencyKey, stories.creates_between_lists),
        (lives_shown.SlowAfterAnOutage, stories.recovers),
        (reports_latest.AgentGrows, misses),
        (reports_latest.RequestIdTwice, stories.looks_in_an_outage),
    ],
    "errors_reach_callers": [
        (lives_shown.DestructorFails, lists),
        (lives_shown.RefreshFails, lists),
        (ReportsInAnOldTask, stories.misses_once),
        (reports_shown.LogLineFails, stories.creates_a_format),
    ],
    "outcome_fits_response": [
        (buggy_reading.NothingForMissing, misses),
        (buggy_reading.FoundInTheFirstPage, finds),
        (buggy_living.FailureSwallowed, meets(faults.reset(), "listPets")),
        (reports_more.TimeoutCancels, meets(faults.delay(0.8), "listPets")),
        (buggy_living.CutBodyAccepted, meets(faults.truncate(0), "listPets")),
    ],
    "no_result_from_broken_response": [
        (stories.TakesAnyPage, meets(faults.respond(204), "listPets")),
        (buggy_reading.OnlyServerErrors, meets(faults.respond(200, json={"id": 1}), "createPet")),
    ],
    "result_is_the_response": [
        (buggy_reading.IdAsText, lists),
        (buggy_reading.Deduplicated, lists),
        (buggy_reading.EntitiesUnescaped, lists),
        (buggy_reading.FieldsAsAttributes, lists),
        (reports_fresh.ReprFails, lists),
        (reports_fresh.CopyRecurses, lists),
        (reports_unmet.EqualityFails, lists),
    ],
    "results_stay": [(buggy_living.ListReused, lists), (buggy_living.DefaultsShared, creates)],
    "close_succeeds": [
        (buggy_living.CloseFails, stories.loses_its_connection),
        (lives_shown.ClosedOnce, lists),
    ],
    "key_not_in_errors": [
        (buggy_living.KeyInError, misses),
        (slips.KeepsWhatItAsked, misses),
        (slips.WrapsWhatItAsked, misses),
    ],
    "key_not_in_output": [
        (buggy_asking.HeadersLogged, lists),
        (slips.PrintsForDebugging, lists),
        (slips.WarnsWithKey, lists),
        (stories.ShowsItsKey, lists),
        (lives_shown.AsksAChild, lists),
        (lives_shown.NamesAThread, lists),
        (RenamesAThread, lists),
        (lives_shown.LeavesItsConfiguration, lists),
        (reports_again.KeyInResults, lists),
    ],
    "connections_are_closed": [(buggy_living.ConnectionsKept, lists), (buggy_living.NeverClosed, lists)],
    "nothing_runs_on": [
        (buggy_living.ThreadsLeft, lists),
        (stories.NamesItsThreads, lists),
        (slips.CancelledAndForgotten, lists),
        (lives_shown.TemporaryConfiguration, lists),
        (lives_shown.PipeStaysOpen, lists),
        (lives_shown.StaysAlive, stories.is_reused),
        (reports_shown.PingsAfterClose, stories.is_reused),
        (lives_shown.HistoryGrows, stories.repeats),
        (reports_later.ChildLeft, lists),
        (reports_later.LoopLeft, lists),
    ],
    "program_unchanged": [
        (stories.ChangesTheEnvironment, lists),
        (stories.SetsTheRootLogger, lists),
        (reports_later.LibraryRetries, lists),
        (reports_again.LoopHandlerReplaced, lists),
        (reports_fresh.ReasonsForAll, lists),
        (reports_unmet.RequestReplaced, lists),
        *((client, lists) for client in lives_shown.PROGRAM),
    ],
}
# These checks need another service or a flawed certificate. Each has its own test below.
TESTED_BELOW = {"key_only_to_its_service", "certificate_is_verified"}


def test_a_key_in_a_file_that_is_written_again_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with PetStoreMock() as petstore, pytest.raises(AssertionError, match=r"the API key in the file cache\.json"):
            checks.watched(by_key(lives_kept.WritesACache), petstore).close()
        # Only the file is written again, not its folders.
        for folder in (tmp_path / ".pets", tmp_path):
            os.utime(folder, (0, 0))


def test_every_check_has_a_test() -> None:
    assert FOUND.keys() | TESTED_BELOW == checks.CHECKS.keys()


@pytest.mark.seconds
@pytest.mark.parametrize(
    ("check", "client", "story"),
    [
        pytest.param(check, client, story, id=f"{check}-{number}-{client.__name__}")
        for check, clients in FOUND.items()
        for number, (client, story) in enumerate(clients)
    ],
)
# pytest would report the sockets that clients leave open, and the warning of a client that shows its key.
@pytest.mark.usefixtures("leavings", "recwarn")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_check_finds_a_buggy_client(check: str, client: type, story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PETS", "before")
    with PetStoreMock() as petstore:
        with (
            pytest.raises(AssertionError, match=r" \((§|RFC|by the meaning of §|a )") as found,
            watch(maker_of(client), petstore, checks=[checks.CHECKS[check]]) as watched,
        ):
            story(petstore, watched)
        petstore.reset()  # discards the violations of the buggy client
    assert petstore.api_key not in str(found.value)
    assert os.environ["PETS"] == "before"


FAULTS = [
    *(faults.reset(), faults.empty_reply(), faults.truncate(), faults.malformed_chunk(), faults.malformed_json()),
    *(faults.server_error(503), faults.unauthorized(), faults.rate_limited(1), faults.respond(204), faults.delay(0.05)),
    *(faults.respond(200, body="<html>"), faults.respond(200, json={"message": "down"}), faults.respond(502, body="")),
]


@pytest.mark.seconds
@pytest.mark.parametrize("client", CORRECT.values(), ids=CORRECT)
def test_no_check_finds_a_correct_client(client: type) -> None:
    with PetStoreMock() as petstore:
        with watch(maker_of(client), petstore) as watched:
            for story in (lists, creates, misses, finds):
                story(petstore, watched)
            for fault in FAULTS:
                for operation in ("listPets", "getPet", "createPet"):
                    meets(fault, operation)(petstore, watched)
        petstore.reset()


TIDY = (
    *(reports_later.ChildEnded, reports_later.SessionRetries, reports_again.KeyHiddenInResults),
    *(reports_latest.AgentStays, reports_latest.RequestIdOnce, reports_latest.CloseWaitsForATimeout),
)


@pytest.mark.seconds
@pytest.mark.parametrize(
    "client", [*CORRECT.values(), *lives_shown.CORRECT, *TIDY, AsyncPets, AiohttpBlock, AiohttpGroup, Block]
)
def test_no_check_finds_a_correct_client_during_its_life(client: type) -> None:
    with PetStoreMock() as petstore:
        for end in stories.ENDS:
            with watch(maker_of(client), petstore, patience=2.0) as watched:
                for story in (lists, creates, misses, *stories.LIVES, end):
                    story(petstore, watched)
        petstore.reset()


CAREFUL = (
    *(reports_more.FailuresBreak, reports_more.HedgesReads),
    *(reports_more.ErrorOfItsOwn, reports_more.EmptyPartLeftOut),
)


@pytest.mark.seconds
@pytest.mark.parametrize("client", CAREFUL)
def test_no_check_finds_a_client_that_protects_itself_from_failures(client: type) -> None:
    with PetStoreMock() as petstore:
        with watch(maker_of(client), petstore) as watched:
            for fault in (faults.unauthorized(), faults.malformed_json(), faults.delay(0.6)):
                for operation in ("listPets", "getPet", "createPet"):
                    meets(fault, operation)(petstore, watched)
            petstore.inject(503)
            for _ in range(8):
                watched.list_pets()
            petstore.cancel_faults()
        petstore.reset()


@pytest.mark.parametrize("client", [reports_again.EndsWhileItPauses, AsyncPets, AiohttpBlock])
def test_a_client_may_be_cancelled_in_a_pause(client: type) -> None:
    with PetStoreMock() as petstore, watch(maker_of(client), petstore) as watched:
        stories.is_interrupted_in_a_pause(petstore, watched)


def test_a_call_that_never_ended_did_not_wait_before_its_first_request() -> None:
    with PetStoreMock() as petstore, watch(by_key(buggy_living.NoTimeout), petstore, patience=0.3) as client:
        petstore.inject(503, times=1)
        client.list_pets()
        client.list_pets()
        petstore.inject(faults.hang(), times=1)
        with pytest.raises(AssertionError, match="a response that never came"):
            client.list_pets()


def test_threads_that_still_run_are_no_growth_of_memory() -> None:
    with PetStoreMock() as petstore, watch(maker_of(ReadsForLong), petstore) as watched:
        stories.repeats(petstore, watched)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_client_of_any_shape_can_be_watched(shape: str) -> None:
    make_client, options = SHAPES[shape]
    with PetStoreMock() as petstore, watch(make_client, petstore, **options) as watched:
        lists(petstore, watched)
        creates(petstore, watched)
        misses(petstore, watched)


def test_a_client_may_reject_animals_by_a_rule_of_its_own() -> None:
    with PetStoreMock() as petstore, watch(maker_of(stories.RefusesOddNames), petstore) as watched:
        creates(petstore, watched)


def test_an_asynchronous_client_may_wait_as_a_task() -> None:
    with PetStoreMock() as petstore, watch(maker_of(patience.SleepsAsATask), petstore) as watched:
        meets(503, "listPets")(petstore, watched)


def test_a_call_may_raise_the_failure_of_any_of_its_requests() -> None:
    with PetStoreMock() as petstore, watch(maker_of(stories.RaisesTheFirstFailure), petstore) as watched:
        for operation in ("listPets", "getPet"):
            meets(faults.sequence(503, 500), operation, times=None)(petstore, watched)
            assert [entry.status for entry in petstore.journal[-3:]] == [503, 500, 200]


@pytest.mark.parametrize("is_cut_off", ["interrupted", "failed"])
def test_a_request_that_arrives_after_its_call_was_cut_off_switches_no_check_off(is_cut_off: str) -> None:
    with PetStoreMock() as petstore, watch(maker_of(buggy_living.CreatesAgain), petstore) as watched:
        if is_cut_off == "interrupted":
            watched.interrupt(checks.Call("listPets"))
        else:
            petstore.inject(503, on="listPets", times=1)
            watched.list_pets()
        # On a busy computer, the mock reads the request now.
        petstore.requests_session().get(f"{petstore.url}/pets", headers=petstore.headers)
        with pytest.raises(AssertionError, match="sent POST /v1/pets again"):
            meets(faults.reset(), "createPet", at="after_commit")(petstore, watched)


class CauseWithTheKey(HttpClientPets):
    """Raises an error whose cause has the key, and whose reason is another exception."""

    def checked(self, answer: Any, success: int) -> Any:
        if answer.status != success:
            error = ApiError(answer.status, b"")
            error.reason = OSError("refused")  # type: ignore[attr-defined]
            raise error from ValueError(self.key)
        return answer


def test_a_key_in_the_cause_of_an_exception_is_found_beside_a_reason() -> None:
    with (
        PetStoreMock() as petstore,
        watch(maker_of(CauseWithTheKey), petstore) as watched,
        pytest.raises(AssertionError, match="whose text contains the API key"),
    ):
        meets(503, "listPets")(petstore, watched)


# Checks in your own tests


def test_a_check_can_be_called_with_a_journal() -> None:
    with PetStoreMock() as petstore:
        client = buggy_living.CreatesAgain(petstore.url, petstore.api_key)
        client.create_pet(name="Rex", category_id=1)
        client.create_pet(name="Rex", category_id=1)
        checks.no_repeated_create(petstore.journal)  # two calls that both succeeded
        petstore.inject(faults.reset(), on="createPet", times=1, at="after_commit")
        client.create_pet(name="Rex", category_id=1)
        with pytest.raises(
            AssertionError, match=r"sent POST /v1/pets again after its response was lost \(by the meaning of §4.2"
        ):
            checks.no_repeated_create(petstore.journal)
        with pytest.raises(PetStoreMockError, match="expected an observation with outcome"):
            checks.result_is_the_response(petstore.journal)
        client.close()


@checks.check(section="8", words="our clients send one request", needs=["outcome"])
def one_request(seen: checks.Observation) -> str | None:
    return None if len(seen.exchanges) <= 1 else f"sent {len(seen.exchanges)} requests"


def test_you_can_add_a_check() -> None:
    assert one_request.name == "one_request"
    with PetStoreMock() as petstore:
        watched = watch(maker_of(stories.RetriesAtOnce), petstore, checks=[one_request])
        with pytest.raises(AssertionError, match=r"^list_pets\(\) sent 2 requests \(by the meaning of §8: our clients"):
            meets(503, "listPets")(petstore, watched)
        watched.close()
    with pytest.raises(PetStoreMockError, match="did you mean 'outcome'"):
        checks.check(section="1", words="", needs=["outcomes"])  # type: ignore[list-item]


# Facts that only check_client() collects


def test_a_key_sent_to_another_service_is_found() -> None:
    with PetStoreMock() as petstore, PetStoreMock() as other:
        for key in (petstore.api_key, other.api_key):
            with contextlib.closing(HttpClientPets(other.url, key)) as client, contextlib.suppress(ApiError):
                client.list_pets()
        leaked, borrowed = other.journal[:1], other.journal[1:]
        call = checks.Call("listPets")
        for foreign, words in ((leaked, "to another service"), (borrowed, "with the key of another client")):
            seen = checks.Observation([], call, foreign=foreign, keys=[petstore.api_key])
            with pytest.raises(AssertionError, match=words):
                checks.key_only_to_its_service(seen)
        made = checks.Observation([], foreign=borrowed, doing="make_client", keys=[petstore.api_key])
        with pytest.raises(AssertionError, match="make_client sent GET /v1/pets with the key of another client"):
            checks.key_only_to_its_service(made)
        made.others_work = True  # a thread of the other client may have sent it
        checks.key_only_to_its_service(made)
        checks.key_only_to_its_service(checks.Observation(borrowed, call, keys=[other.api_key]))
        other.reset()
        with contextlib.closing(http.client.HTTPConnection(urlsplit(other.url).netloc)) as connection:
            connection.request("GET", "/__petstore/health")
            connection.getresponse()
        probed = checks.Observation([], call, foreign=list(other.journal), keys=[petstore.api_key])
        checks.key_only_to_its_service(probed)  # another program looks for its own service at this port
        other.reset()


def test_the_host_of_the_first_service_in_a_redirected_request_is_found() -> None:
    with PetStoreMock() as petstore, PetStoreMock() as other:
        moved = faults.respond(307, headers={"Location": f"{other.url}/pets"})
        for client in (reports_more.FollowsElsewhere, reports_more.HostStays):
            petstore.inject(moved, on="listPets", times=1, off_contract=True)
            watched = watch(by_key(client), petstore, others=[other])
            if client is reports_more.HostStays:
                with pytest.raises(AssertionError, match="to another service with the Host of the first one"):
                    watched.list_pets()
            else:
                watched.list_pets()
            watched.close()
            other.reset()


class AsksFirst(HttpClientPets):
    """Sends a request when it is made, with the address and the key of the first client."""

    first: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, url: str, key: str) -> None:
        self.first.append((url, key))
        super().__init__(url, key)
        with contextlib.closing(HttpClientPets(*self.first[0])) as pets:
            pets.list_pets()


def test_a_request_to_the_world_of_another_client_is_found_when_a_client_is_made() -> None:
    with PetStoreMock() as petstore, petstore.fresh() as other:
        with watch(by_key(AsksFirst), petstore), pytest.raises(AssertionError, match="with the key of another client"):
            watch(by_key(AsksFirst), other, others=[petstore])
        petstore.reset()


def test_a_thread_of_another_client_may_send_a_request_when_a_client_is_made() -> None:
    with PetStoreMock() as petstore, petstore.fresh() as other:
        rex = petstore.seed(name="Rex", categoryId=1)

        def waits_for_the_thread(mock: PetStoreMock) -> Any:
            petstore.journal.wait_for(operation="listPets")
            return by_key(HttpClientPets)(mock)

        with watch(by_key(ReadsMuchLater), petstore) as reader:
            reader.get_pet(rex["id"])
            watch(waits_for_the_thread, other, others=[petstore]).close()


def test_a_request_after_a_failed_certificate_check_is_found() -> None:
    with PetStoreMock() as petstore:
        with contextlib.closing(HttpClientPets(petstore.url, petstore.api_key)) as client:
            client.list_pets()
        seen = checks.Observation(list(petstore.journal), checks.Call("listPets"), flaw=faults.tls.expired())
        with pytest.raises(AssertionError, match="although the service's certificate had expired"):
            checks.certificate_is_verified(seen)
        checks.certificate_is_verified(checks.Observation([], flaw=faults.tls.expired()))


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (checks.Outcome(value=[]), r"sent no request and returned \[\]"),
        (checks.Outcome(value={}, ended="stood still"), "while list_pets.* was under way in another thread"),
    ],
)
def test_a_sentence_describes_two_concurrent_calls(outcome: checks.Outcome, words: str) -> None:
    call, other = checks.Call("getPet", {"petId": 7}), checks.Call("listPets")
    seen = checks.Observation([], call, outcome, meanwhile=other)
    found = [str(finding) for check in checks.CHECKS.values() if (finding := check.find(seen))]
    assert any(re.search(words, one) for one in found), found


def test_a_call_that_does_not_stop_sending_requests_is_found() -> None:
    class Endless(HttpClientPets):
        def get_pet(self, pet_id: int) -> Any:
            while True:
                super().get_pet(pet_id)

    with PetStoreMock(seed=1) as petstore, contextlib.closing(Endless(petstore.url, petstore.api_key)) as endless:
        client = checks.watched(lambda _: endless, petstore, checks=[checks.call_ends])
        with pytest.raises(AssertionError, match=r"get_pet\(1\) sent more than 200 requests and did not end"):
            client.get_pet(1)


@pytest.mark.usefixtures("leavings")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_call_that_sends_requests_although_it_was_ended_is_found() -> None:
    """It is not ended while a callback runs, where Python only reports errors."""
    is_over, threads = threading.Event(), list[threading.Thread]()

    class Endless(HttpClientPets):
        def get_pet(self, pet_id: int) -> Any:
            threads.append(threading.current_thread())
            while not is_over.is_set():
                with contextlib.suppress(BaseException):
                    weakref.finalize(self.ask("GET", f"/pets/{pet_id}"), time.sleep, 0.005)

    @checks.check(section="", words="a check may take time")
    def takes_time(seen: checks.Observation) -> None:
        sent = len(petstore.journal)
        if seen.call is not None:
            eventually(lambda: len(petstore.journal) > sent + 200, "as many requests as end a call")

    with PetStoreMock(seed=1) as petstore, contextlib.closing(Endless(petstore.url, petstore.api_key)) as endless:
        # On a busy computer, so many requests take longer than a check otherwise may.
        client = checks.watched(lambda _: endless, petstore, checks=[takes_time, checks.call_ends], patience=PATIENCE)
        with pytest.raises(AssertionError, match=r"get_pet\(1\) sent more than 200 requests and did not end"):
            client.get_pet(1)
        is_over.set()
        for thread in threads:
            thread.join()


@PROCESSOR_TIMES
@pytest.mark.usefixtures("leavings")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.seconds
@pytest.mark.parametrize(
    ("client", "fault"),
    [
        (reports_more.EndReadAgain, faults.truncate(0.5)),
        (reports_more.EndIsNoPart, faults.empty_reply()),
    ],
)
def test_a_call_that_reads_on_forever_is_found_and_ends(client: type[Any], fault: faults.Fault) -> None:
    with PetStoreMock(seed=1) as petstore:
        made = maker_of(client)(petstore)
        with checks.watched(lambda _: made, petstore) as watched:
            petstore.inject(fault, times=1)
            with pytest.raises(
                AssertionError, match=r"^list_pets\(\) computed for .* and did not end \(a call ends when"
            ):
                watched.list_pets()
    assert reports_more.__file__ not in files_of_other_threads()


class WorksThenPauses(HttpClientPets):
    """Correct: it reads its configuration after a failure, which takes a while, and then pauses."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        answer = super().ask(method, path, body)
        if answer.status != 503:
            return answer
        end = time.thread_time() + 1.5
        while time.thread_time() < end:
            self.query(1, "available")
        time.sleep(5)
        return super().ask(method, path, body)


@pytest.mark.seconds
def test_a_client_that_works_and_pauses_after_a_failure_is_not_accused(petstore: PetStoreMock) -> None:
    petstore.inject(503, times=1)
    with watch(by_key(WorksThenPauses), petstore) as client:
        client.list_pets()


class ReadsInTheThreadOfItsCaller(reports_more.EndIsNoPart):
    """Is asynchronous, except for a method."""

    def __init__(self, petstore: PetStoreMock) -> None:
        super().__init__(petstore)
        self.other = reports_more.EndReadAgain(petstore.url, petstore.api_key)

    async def list_pets(self, **query: Any) -> Any:
        self.loop = asyncio.get_running_loop()
        return await super().list_pets(**query)

    def get_pet(self, pet_id: int) -> Any:
        return self.other.get_pet(pet_id)


@PROCESSOR_TIMES
@pytest.mark.usefixtures("leavings")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.seconds
def test_an_event_loop_goes_on_if_another_thread_reads_on_forever() -> None:
    with PetStoreMock(seed=1) as petstore:
        made = ReadsInTheThreadOfItsCaller(petstore)
        with checks.watched(lambda _: made, petstore, quiet=True) as watched:
            watched.list_pets()
            petstore.inject(faults.truncate(0.5), times=1)
            with pytest.raises(AssertionError, match=r"^get_pet\(1\) computed for .* and did not end"):
                watched.get_pet(1)
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), made.loop).result(10)


def test_a_call_is_shown_as_python_source() -> None:
    arguments: dict[str, Any] = {"name": "x" * 80, "categoryId": 1}
    assert checks.Call("createPet", arguments).code == "create_pet(name='x' * 80, category_id=1)"
    assert str(checks.Call("getPet", {"petId": -3})) == "get_pet(-3)"


@pytest.mark.parametrize(("length", "shown"), [(58, "x" * 58), (60, "x" * 60), (61, "x" * 60 + "...")])
def test_a_sentence_shows_sixty_characters_of_an_exception(length: int, shown: str) -> None:
    assert f"{checks.Outcome(error=ValueError('x' * length))}" == f"raised ValueError ({shown})"


def test_a_request_without_a_key_belongs_to_the_client_that_sent_it() -> None:
    """Without a key, it reaches the newest world of the service."""
    with PetStoreMock() as mock, mock.fresh(api_key="own-key") as petstore, mock.fresh() as other:
        with watch(by_key(reports_later.NewKeyForgotten), petstore, others=[other]) as client:
            petstore.inject(faults.unauthorized(), on="listPets")
            with pytest.raises(AssertionError, match=r"^list_pets\(\) sent GET /v1/pets: The API key is missing"):
                client.list_pets()
        other.reset()


def group_of(outcome: checks.Outcome, **given: Any) -> tuple[str, ...]:
    """Return the group of the finding about a call to which the service returned 200."""
    with PetStoreMock() as petstore, contextlib.closing(make_correct("http.client")(petstore)) as client:
        client.ask("GET", "/pets")
        seen = checks.Observation([*petstore.journal], checks.Call("listPets"), outcome, **given)
    finding = checks.outcome_fits_response.find(seen)
    assert finding is not None
    return finding.group


def outcome_of(body: bytes) -> checks.Outcome:
    try:
        return checks.Outcome(json.loads(body))
    except ValueError as error:
        return checks.Outcome(error=error, kind=checks.classify_exception(error))


def test_a_response_that_can_not_be_read_is_one_bug_whatever_class_the_error_has() -> None:
    assert group_of(outcome_of(b"{")) == group_of(outcome_of(b'"\xff"'))
    assert group_of(outcome_of(b"{")) != group_of(checks.Outcome(error=TimeoutError(), kind="timeout"))


def test_the_outcomes_of_two_calls_at_once_are_one_bug() -> None:
    other = checks.Call("getPet", {"petId": 1})
    late = checks.Outcome(error=TimeoutError(), kind="timeout")
    assert group_of(outcome_of(b"{"), meanwhile=other) == group_of(late, meanwhile=other)


def test_a_closed_client_may_refuse_later_calls_too() -> None:
    with PetStoreMock() as petstore, watch(by_key(reports_later.PoolOfTheLast), petstore) as client:
        client.reuse()
        client.list_pets()


@pytest.mark.parametrize("location", ["{petstore}/pets?limit=1", "/v1/pets?limit=1", "?limit=1", "?limit=1#pets"])
def test_a_redirection_may_name_other_parameters(petstore: PetStoreMock, location: str) -> None:
    headers = {"Location": location.format(petstore=petstore.url)}
    petstore.inject(faults.respond(307, headers=headers), times=1, on="listPets")
    with checks.watched(maker_of(reports_shown.LocationResolved), petstore) as client:
        client.list_pets(status="available")


class VariesItsHeaders(HttpClientPets):
    """Correct: no header is the header of the request before with a part once more."""

    sent = 0

    def headers(self) -> dict[str, str]:
        self.sent += 1
        accepted = ["application/json", "text/plain", "*/*"][: self.sent]
        counted = {"X-Attempt": f"{self.sent} of 9", "X-Sequence": "1" * self.sent}
        counted["X-Trail"] = " ".join(["listPets"] * self.sent)
        usual = {"Accept": ", ".join(accepted), "X-Twice": "a, a", "X-Words": "a b" if self.sent % 2 else "a b c"}
        return {**super().headers(), **counted, **usual}


def test_headers_may_differ_from_those_of_the_request_before(petstore: PetStoreMock) -> None:
    with watch(by_key(VariesItsHeaders), petstore) as client:
        for _ in range(4):
            client.list_pets()


class KeepsTheResponse(RequestsPets):
    """Correct: a response that it keeps holds the pool of its closed session (urllib3 2)."""

    def checked(self, response: Any, success: int) -> Json:
        self.last_response = response
        return super().checked(response, success)


def test_a_closed_client_may_keep_its_last_response(petstore: PetStoreMock) -> None:
    with watch(maker_of(KeepsTheResponse), petstore) as client:
        client.list_pets()


class SetsAVariable(HttpClientPets):
    """Sets a context variable in its block, as tracers do, and notes another one of its caller."""

    inside: ClassVar[ContextVar[bool]] = ContextVar("inside", default=False)
    caller: ClassVar[ContextVar[str]] = ContextVar("caller", default="")

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.callers: list[str] = []

    def __enter__(self) -> Self:
        self.token = self.inside.set(True)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self.inside.reset(self.token)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        assert self.inside.get()
        self.callers.append(self.caller.get())
        return super().ask(method, path, body)


def test_a_client_may_set_a_context_variable_in_its_block(petstore: PetStoreMock) -> None:
    with watch(maker_of(SetsAVariable), petstore) as watched:
        watched.list_pets()
        token = SetsAVariable.caller.set("a test")
        watched.list_pets()
        SetsAVariable.caller.reset(token)
        assert watched.client.client.callers == ["", "a test"]


class StopsInALongBody(HttpClientPets):
    """Waits for room in a buffer that it does not empty (node-fetch#151)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.has_room = threading.Event()
        self.threads: list[threading.Thread] = []

    def read(self, answer: Answer) -> Json:
        if len(answer.body) > 2_000:
            self.threads.append(threading.current_thread())
            self.has_room.wait(60)
        return super().read(answer)


@pytest.mark.seconds
def test_a_call_that_never_ends_after_a_right_response_does_not_speak_of_failures(petstore: PetStoreMock) -> None:
    petstore.seed_many(50)
    words = "a call ends after its response, however long that is"
    with contextlib.closing(StopsInALongBody(petstore.url, petstore.api_key)) as made:
        with watch(lambda _: made, petstore) as client, pytest.raises(AssertionError, match=words):
            client.list_pets(limit=50)
        made.has_room.set()
        for thread in made.threads:
            thread.join()


class AsksForGzip(HttpClientPets):
    """Asks for a content coding, and does not read it (cozy/request-json#58)."""

    asked = "gzip, deflate"

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "Accept-Encoding": self.asked}


class RefusesGzip(AsksForGzip):
    """Correct: a weight of 0 means "not acceptable" (RFC 9110 §12.4.2)."""

    asked = "gzip;q=0, identity;q=0.5"


class AsksForAnything(AsksForGzip):
    """Correct: no client can read each coding that a service may think of."""

    asked = "*"


class ReadsGzip(AsksForGzip):
    """Correct."""

    def receive(self, response: http.client.HTTPResponse) -> Answer:
        answer = super().receive(response)
        if answer.headers.get("Content-Encoding") == "gzip":
            answer.body = gzip.decompress(answer.body)
        return answer


@pytest.mark.parametrize("client", [HttpClientPets, ReadsGzip, RefusesGzip, AsksForAnything])
def test_a_client_may_fail_to_read_a_content_coding_that_it_did_not_ask_for(
    client: type[HttpClientPets], petstore: PetStoreMock
) -> None:
    for coding in ("gzip", "x-gzip"):
        petstore.inject(faults.encoded(coding), times=1)
        with checks.watched(maker_of(client), petstore) as watched, contextlib.suppress(ValueError):
            watched.list_pets()


@pytest.mark.parametrize("asked", [AsksForGzip.asked, "gzip;q=1.0, deflate;q=0.6, identity;q=0.3", "GZIP"])
def test_a_client_reads_a_content_coding_that_it_asked_for(
    petstore: PetStoreMock, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr(AsksForGzip, "asked", asked)
    petstore.inject(faults.encoded("gzip"), times=1)
    words = "encoded.'gzip'., which the request asked for by its Accept-Encoding"
    with checks.watched(maker_of(AsksForGzip), petstore) as watched, pytest.raises(AssertionError, match=words):
        watched.list_pets()


def test_a_loss_without_a_line_of_the_client_has_other_causes_than_an_interim_response(petstore: PetStoreMock) -> None:
    """An adapter in another process shows no line. A loss after a plain response must stay a finding of its own."""
    petstore.inject(faults.interim(100), on="listPets")
    groups = set[object]()
    for _ in range(2):
        with contextlib.closing(HttpClientPets(petstore.url, petstore.api_key)) as client:
            client.list_pets()
        outcome = checks.Outcome(error=ConnectionError(), kind="transport")
        seen = checks.Observation([petstore.journal.last], checks.Call("listPets"), outcome)
        finding = checks.outcome_fits_response.find(seen)
        assert finding is not None
        groups.add(finding.group)
        petstore.cancel_faults()
    assert len(groups) == 2
