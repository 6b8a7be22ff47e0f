"""The machine's judgement of single courses: what unusual, correct clients may do, and how a bug is told."""

from __future__ import annotations

import contextlib
import threading
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import pytest
import requests
from hypothesis import settings

from petstore_mock import Behaviour, faults
from petstore_mock.stateful import ClientBugError, client_machine
from petstore_mock.stateful.scenario import Scenario, simplest
from petstore_mock.stateful.search import find_bug, machine_settings, shrink
from petstore_mock.stateful.steps import (
    CloseConnections,
    CreatePet,
    GetKnown,
    GetUnknown,
    Inject,
    ListPets,
    Redirect,
    Repeat,
    RevokeKey,
    Seed,
    SeedMany,
    Step,
    Switch,
    TravelPastRemoval,
    Update,
)
from tests.clients.correct import CORRECT, Answer, ApiError, HttpClientPets, Json, make_correct
from tests.clients.shapes import by_key
from tests.inside.clients.corpus import make_buggy
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import play, raised_by

if TYPE_CHECKING:
    from petstore_mock.faults import Fault
    from petstore_mock.faults.kinds import Answer as AnswerFault

pytestmark = leavings.EXPECTED  # a pasted test does not close its clients

REX: dict[str, Any] = {"name": "Rex", "categoryId": 1}


def sentence(client: Json, *steps: Step, behaviour: Behaviour | None = None) -> str | None:
    """Let a client, or one of the corpus, go through the steps; return what the machine says, or None."""
    found = told(client, *steps, behaviour=behaviour)
    return None if found is None else found.sentence


def told(client: Json, *steps: Step, behaviour: Behaviour | None = None) -> ClientBugError | None:
    """Return what the machine raises, or None."""
    return play(make_buggy(client) if isinstance(client, str) else by_key(client), *steps, behaviour=behaviour)


class ListsFromGets(HttpClientPets):
    """Makes a list up of the animals that it knows of."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        del limit, status
        return [self.get_pet(1)]


class GetsWhenRefused(HttpClientPets):
    """Shows a single animal when it is refused the list."""

    def list_pets(self, *, limit: int | None = None, status: str | None = None) -> Json:
        try:
            return super().list_pets(limit=limit, status=status)
        except ApiError:
            return [self.get_pet(1)]


class FallsBackOnList(HttpClientPets):
    """Looks in a list when getPet refuses; tells of the refusal when the animal is not there."""

    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except ApiError:
            for pet in self.list_pets(limit=100):
                if pet["id"] == pet_id:
                    return pet
            raise


class WaitsLocally(HttpClientPets):
    """Asks nothing while it is told to wait, and tells that itself."""

    until = 0.0

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        if time.time() < self.until:
            raise ApiError(429)
        answer = super().ask(method, path, body)
        if answer.status == 429:
            after = answer.headers.get("Retry-After") or "0"
            seconds = time.time() + float(after) if after.isdecimal() else parsedate_to_datetime(after).timestamp()
            self.until = seconds
        return answer


class NeverAsksAgain(HttpClientPets):
    """Has a circuit breaker that never closes."""

    broken = 0

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        if self.broken:
            raise ApiError(self.broken)
        answer = super().ask(method, path, body)
        if answer.status in {429, 503}:
            self.broken = answer.status
        return answer


class GoneForAll(HttpClientPets):
    """Remembers for every client that getPet is gone."""

    gone: ClassVar[bool] = False

    def get_pet(self, pet_id: int) -> Json:
        if GoneForAll.gone:
            raise ApiError(410)
        try:
            return super().get_pet(pet_id)
        except ApiError as error:
            GoneForAll.gone = error.status == 410
            raise


class LockedAfterFailure(HttpClientPets):
    """Takes a lock, and gives it back only when all goes well."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.lock = threading.Lock()

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        if not self.lock.acquire(timeout=0.2):
            raise TimeoutError("busy")
        answer = super().ask(method, path, body)
        self.lock.release()
        return answer


class UrlRefused(HttpClientPets):
    """Has a library that takes what it can't make a URL of for an error of the transport."""

    def get_pet(self, pet_id: int) -> Json:
        raise requests.exceptions.InvalidURL(pet_id)


class GoesOnAfterTimeout(HttpClientPets):
    """Asks on the same connection though the answer of the request before has not come in time."""

    timeout = 0.2

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        connection = self.connect()
        connection.request(method, self.base + path, body=body, headers=self.headers())
        try:
            return self.receive(connection.getresponse())
        except TimeoutError:
            connection._HTTPConnection__state = "Idle"  # type: ignore[attr-defined]  # noqa: SLF001  # as if answered
            raise


def test_a_call_that_returns_without_its_own_request_is_the_clients_bug() -> None:
    found = sentence("CreateIfAbsent", Seed(), CreatePet())
    assert found is not None
    assert "without sending POST /pets (\u00a74.2: every createPet adds an animal" in found
    found = sentence(ListsFromGets, Seed(), ListPets())
    assert found is not None
    assert "without sending GET /pets (\u00a74.1: listPets alone says" in found
    found = sentence(GetsWhenRefused, Seed(), Inject(faults.server_error()))
    assert found is not None
    assert "although the service answered 500" in found


def test_a_client_that_finds_no_animal_in_a_list_may_tell_what_get_pet_was_answered() -> None:
    """After the removal of getPet, of an animal that is on no page."""
    many: Step = SeedMany(101)
    assert sentence(FallsBackOnList, many, many, TravelPastRemoval(), GetKnown()) is None
    assert sentence(FallsBackOnList, TravelPastRemoval(), GetUnknown()) is None
    found = sentence("FoundInTheFirstPage", many, many, GetKnown())
    assert found is not None
    assert "although the animal is there, whether it was on the page that was asked for or not (§4.1" in found


@pytest.mark.parametrize(
    ("fault", "behaviour"),
    [
        (faults.rate_limited(30), Behaviour()),
        (faults.rate_limited("2040-01-01"), Behaviour()),
        (faults.delay(0.0), Behaviour(rate_limit="retry_after_seconds")),
        (faults.delay(0.0), Behaviour(rate_limit="retry_after_date")),
    ],
)
def test_a_client_that_is_told_to_wait_may_tell_so_itself(fault: Fault, behaviour: Behaviour) -> None:
    calls: list[Step] = [ListPets(), GetUnknown(), CreatePet()] * 3
    steps: list[Step] = [Inject(fault), *calls, Switch()]
    assert sentence(WaitsLocally, *steps, behaviour=behaviour) is None


@pytest.mark.parametrize("fault", [faults.rate_limited(0), faults.server_error(503)])
def test_a_client_that_tells_a_status_of_itself_is_told_of(fault: AnswerFault) -> None:
    found = sentence(NeverAsksAgain, Inject(fault), ListPets())
    assert found is not None
    assert f"sent no request and raised ApiError ({fault.status}: b'')" in found
    assert "(\u00a74.1: every call asks the service: a status that it was answered before may hold" in found


def test_a_limit_of_the_clients_own_is_not_put_down_to_its_memory() -> None:
    class FourCalls(HttpClientPets):
        calls = 0

        def list_pets(self, **query: Json) -> Json:
            self.calls += 1
            if self.calls > 4:
                raise ApiError(429)
            return super().list_pets(**query)

    found = sentence(FourCalls, *[ListPets()] * 5)
    assert found is not None
    assert "every call asks the service, which never answered 429; if the client has a limit or a circuit" in found


@pytest.mark.parametrize("fault", [faults.rate_limited(1), faults.rate_limited(None)])
def test_a_client_may_tell_a_status_of_itself_for_a_second_or_for_as_long_as_it_thinks_right(fault: Fault) -> None:
    steps: list[Step] = [Inject(fault), ListPets()]
    assert sentence(NeverAsksAgain, *steps) is None


def test_a_status_that_an_earlier_client_was_answered_is_told_as_such() -> None:
    assert sentence(GoneForAll, TravelPastRemoval()) is None
    found = sentence(GoneForAll, GetUnknown())
    assert found is not None
    assert "it made that up, or remembers what an earlier client was answered" in found


def test_a_call_that_fails_by_itself_is_told_by_what_failed() -> None:
    """A refused argument, and a lock that was not given back; not a connection."""
    found = sentence("ZeroIdRefused", GetUnknown(0))
    assert found is not None
    assert "raised ValueError (an id is needed) (\u00a74.3: the interface allows the call: the client itself" in found
    found = sentence(UrlRefused, GetUnknown(0))
    assert found is not None
    assert "raised InvalidURL (0) (\u00a74.3: the interface allows the call: the client itself" in found
    found = sentence("NameInHeader", CreatePet("\u732b"))
    assert found is not None
    assert "(\u00a72: no limits of name and categoryId are shown: the client itself refuses" in found
    steps: list[Step] = [Inject(faults.reset()), ListPets()]
    found = sentence(LockedAfterFailure, *steps)
    assert found is not None
    assert "(\u00a74.1: no answer was due: the client waited for something of its own" in found
    steps[0] = Inject(faults.hang())
    found = sentence(GoesOnAfterTimeout, *steps)
    assert found is not None
    assert "or asked on a connection on which an earlier answer is still due (RFC 9112 §9.3)" in found
    found = sentence("StaleConnection", ListPets(), CloseConnections())
    assert found is not None
    assert "RFC 9112 \u00a79.3: a connection that the service has closed" in found


def test_a_second_creation_is_seen_whatever_was_asked_in_between() -> None:
    found = sentence("CreatesAgainAfterLooking", Inject(faults.reset(), "createPet"))
    assert found is not None
    assert "sent POST /pets again when its answer was lost" in found
    found = sentence(
        "CreatesAgainWhenUnreadable", Inject(faults.malformed_json(), "createPet", committed=True), Repeat()
    )
    assert found is not None
    assert "sent POST /pets again when it was answered 201 (fault malformed_json())" in found


class LooksForTheLost(HttpClientPets):
    """Looks for an animal whose creation failed where it would be, and tells what it found there."""

    looks = 1

    def create_pet(self, **given: Json) -> Json:
        try:
            return super().create_pet(**given)
        except OSError:
            for _ in range(1, self.looks):
                with contextlib.suppress(ApiError):
                    self.get_pet(1)
            return self.get_pet(1)


class LooksAgainForTheLost(LooksForTheLost):
    looks = 2


@pytest.mark.parametrize("client", [LooksForTheLost, LooksAgainForTheLost])
@pytest.mark.parametrize("committed", [False, True])
def test_what_became_of_a_creation_is_for_create_pet_to_say(client: type[HttpClientPets], committed: bool) -> None:
    found = told(client, Inject(faults.reset(), "createPet", 1, 0, committed))
    assert found is not None
    assert "the service reset the connection instead of answering" in found.sentence
    assert isinstance(raised_by(found.test, lambda petstore: client(petstore.url, petstore.api_key)), AssertionError)
    assert raised_by(found.test, make_correct("http.client")) is None, found.test


class ImpatientAfterLooking(HttpClientPets):
    """Looks for other animals in the time that it is to wait."""

    def get_pet(self, pet_id: int) -> Json:
        try:
            return super().get_pet(pet_id)
        except ApiError as error:
            if error.status != 429:
                raise
            self.list_pets()
            return super().get_pet(pet_id)


def test_a_request_that_comes_too_early_is_seen_whatever_was_asked_in_between() -> None:
    found = told(ImpatientAfterLooking, Inject(faults.rate_limited(1), "getPet"))
    assert found is not None
    assert "with 'Retry-After: 1'" in found.sentence
    assert "if entry.operation == 'getPet'" in found.test


def test_the_test_of_a_violation_counts_what_its_call_sent() -> None:
    """An earlier getPet was permitted, since the machine asked for it."""
    found = told("LimitZeroForNone", TravelPastRemoval(), ListPets())
    assert found is not None
    assert "limit=0" in found.sentence
    names: dict[str, Any] = {"make_client": make_correct("http.client")}
    exec(compile(found.test, "pasted", "exec"), names)  # ours: the product under test
    names["test_client"]()
    names["make_client"] = make_buggy("LimitZeroForNone")
    with pytest.raises(AssertionError):
        names["test_client"]()


class ForgetsAfterFailure(HttpClientPets):
    """Sends half of an animal once a creation was lost."""

    lost = False

    def body(self, name: str, category_id: int, status: str | None) -> dict[str, Json]:
        return {"name": name} if self.lost else super().body(name, category_id, status)

    def create_pet(self, *, name: str, category_id: int, status: str | None = None) -> Json:
        try:
            return super().create_pet(name=name, category_id=category_id, status=status)
        except OSError:
            self.lost = True
            raise


def test_a_fault_that_never_happened_fails_no_correct_client() -> None:
    """Shrinking has not always the time to take away what does not matter."""
    resets = Inject(faults.reset(), "createPet", 2)
    found = told(ForgetsAfterFailure, resets, Redirect(307, "createPet", "relative"))
    assert found is not None
    assert "redirection = petstore.inject(faults.respond(307" in found.test
    assert raised_by(found.test, make_correct("http.client")) is None, found.test
    buggy = raised_by(found.test, lambda petstore: ForgetsAfterFailure(petstore.url, petstore.api_key))
    assert type(buggy) is AssertionError, found.test


class SendsNothing(HttpClientPets):
    def encode(self, body: dict[str, Any]) -> bytes:
        del body
        return b""


def test_a_body_that_is_not_there_is_told_as_such() -> None:
    """Also where a refused key comes before what is wrong with the body."""
    found = told(SendsNothing, RevokeKey("createPet"))
    assert found is not None
    assert "create_pet(name='Rex', category_id=1) sent no body (§4.2" in found.sentence
    error = raised_by(found.test, lambda petstore: SendsNothing(petstore.url, petstore.api_key))
    assert isinstance(error, AssertionError), found.test
    assert raised_by(found.test, make_correct("http.client")) is None, found.test


def test_headers_that_rule_the_answer_out_are_told_of() -> None:
    found = sentence("HostWithoutPort", ListPets())
    assert found is not None
    assert "list_pets() sent 'Host: 127.0.0.1' (RFC 9110 \u00a77.2: Host is the target's authority" in found
    found = sentence("AcceptsOtherVersion", ListPets())
    assert found is not None
    assert "sent 'Accept: application/vnd.petstore.v2+xml' (\u00a71: " in found


class AcceptsJson(HttpClientPets):
    accept = "*/*"

    def headers(self) -> dict[str, str]:
        return {**super().headers(), "ACCEPT": self.accept, "HOST": f"{self.host}:{self.port}"}


@pytest.mark.parametrize("accept", ["text/html, */*;q=0.1", "Application/JSON; charset=utf-8", "application/*"])
def test_what_admits_json_is_no_bug(monkeypatch: pytest.MonkeyPatch, accept: str) -> None:
    monkeypatch.setattr(AcceptsJson, "accept", accept)
    assert sentence(AcceptsJson, ListPets(), CreatePet()) is None


def test_a_name_that_looks_like_another_is_shown_escaped() -> None:
    found = sentence("NameNormalised", CreatePet("e\u0301"))
    assert found is not None
    assert "create_pet(name='e\\u0301', category_id=1)" in found


@pytest.mark.parametrize(
    "fault",
    [
        faults.rate_limited(None),
        faults.rate_limited("2020-01-01T10:20:30+02:00"),
        faults.respond(503, headers={"Retry-After": "1"}),
        faults.respond(502, json=["Bad gateway"]),
        faults.respond(502, body="d\u00e9fectueuse".encode("latin-1")),
    ],
)
def test_the_code_of_a_fault_makes_the_same(fault: Fault) -> None:
    assert eval(fault.code(), {"faults": faults}) == fault  # ours: the product under test


@pytest.mark.parametrize("name", CORRECT)
def test_a_status_that_is_taken_away_is_gone(name: str) -> None:
    steps: list[Step] = [CreatePet("Rex", 1, "sold"), GetKnown(), Update(status=None), GetKnown()]
    assert sentence(CORRECT[name], *steps, ListPets()) is None
    found = sentence("MergedWithStale", *steps)
    assert found is not None
    assert "whose status is 'sold', which the service did not answer" in found


REDIRECTED: list[Step] = [
    Redirect(status, operation, where)
    for status in (301, 302, 303, 307, 308)
    for operation in ("listPets", "createPet", "getPet")
    for where in ("elsewhere", "here", "relative", "nowhere", "round")
]


class FollowsByPost(HttpClientPets):
    """Follows a redirection within the service, in the same method unless it is told to GET."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        there = urlsplit(answer.headers.get("Location") or "")
        if answer.status in {301, 302, 307, 308} and there.port in {None, self.port} and there.path:
            return self.send(method, there.path.removeprefix(self.base), body)
        return answer


@pytest.mark.untraced
@pytest.mark.parametrize("client", [*CORRECT.values(), FollowsByPost])
@pytest.mark.parametrize("first", [Seed(), ListPets()])
def test_redirections_may_be_followed_or_told(client: Json, first: Step) -> None:
    """requests follows those of a GET by itself, up to 30 of them."""
    assert sentence(client, first, *REDIRECTED, ListPets()) is None


def test_a_redirection_is_for_its_own_call() -> None:
    """One that was refused for a rate limit met none; the next animal is another."""
    steps: list[Step] = [
        *[ListPets()] * 4,
        Redirect(307, "getPet", "here"),
        GetUnknown(),
        ListPets(5),
    ]
    assert sentence(CORRECT["requests"], *steps, behaviour=Behaviour(rate_limit="retry_after_date")) is None


@pytest.mark.parametrize(
    ("name", "redirection", "words"),
    [
        (
            "CreatedByAList",
            Redirect(302, "createPet", "here"),
            "returned [] although the service answered 302 (fault respond(",
        ),
        (
            "LocationTakenForAbsolute",
            Redirect(302, "listPets", "relative"),
            "which says 'transport', when the service answ",
        ),
        (
            "LocationTakenForAbsolute",
            Redirect(302, "getPet", "nowhere"),
            "when the service answered 302 (fault respond(302)",
        ),
    ],
)
def test_a_wrong_way_to_follow_is_told_of(name: str, redirection: Redirect, words: str) -> None:
    found = sentence(name, redirection)
    assert found is not None
    assert words in found


def test_redirections_that_are_followed_without_end_are_told_of() -> None:
    """By their number, or by the watchdog, which looks after each call."""
    found = sentence("RedirectedInACircle", Redirect(302, "listPets", "round"))
    assert found is not None
    assert "sent 153 requests (RFC 9110 \u00a715.4" in found or "asked again without an end" in found


def test_a_client_that_asks_without_end_is_stopped() -> None:
    found = sentence("RenewsKeyWithoutEnd", RevokeKey())
    assert found is not None
    assert "asked again without an end while it was answered 401" in found


def test_as_many_redirections_as_curl_follows_are_allowed() -> None:
    class FollowsFifty(HttpClientPets):
        def ask(self, method: str, path: str, body: bytes | None = None) -> Json:
            answer = self.send(method, path, body)
            for _ in range(50):
                if method == "GET" and answer.status == 302:
                    answer = self.send(method, path, None)
            return answer

    assert sentence(FollowsFifty, Redirect(302, "listPets", "round")) is None


class FollowsByGet(HttpClientPets):
    """Follows a redirection of a POST by a GET, as browsers and some libraries do, and tells what that was answered."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self.send(method, path, body)
        there = urlsplit(answer.headers.get("Location") or "")
        if answer.status in {301, 303} and there.port == self.port:
            return self.send("GET", there.path.removeprefix(self.base), None)
        return answer


@pytest.mark.parametrize("status", [301, 303])
def test_a_client_may_tell_what_became_of_a_redirection_that_its_library_followed(status: int) -> None:
    lists_fail = Inject(faults.server_error(), times=2)
    assert sentence(FollowsByGet, lists_fail, Redirect(status, "createPet")) is None


class BudgetSpentError(Exception):
    """The client has met ten failures, and asks no more."""


class HasABudget(HttpClientPets):
    """Counts failures for as long as it lives, plain refusals as well."""

    failed = 0

    def checked(self, answer: Answer, success: int) -> Answer:
        self.failed += answer.status >= 400
        return super().checked(answer, success)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        if self.failed >= 10:
            raise BudgetSpentError
        return super().ask(method, path, body)


@pytest.mark.untraced
@pytest.mark.parametrize("gap", ["key_rotation", "rate_limit"])
def test_what_plain_refusals_do_as_well_is_not_put_down_to_a_gap(gap: str) -> None:
    """Shrinking alone can't tell: without the gap, the same steps fail no more."""
    machine = client_machine(lambda petstore: HasABudget(petstore.url, petstore.api_key))
    behaviour = Behaviour(**{gap: {"key_rotation": "mid_session", "rate_limit": "retry_after_seconds"}[gap]})  # type: ignore[arg-type]
    scenario = Scenario(behaviour, (ListPets(),) * 60)
    with machine.run, machine.run.waiting.unlimited():
        found = machine.replay(scenario)
        assert found is not None
        shrunk = simplest(scenario, found, machine.replay)
        assert gap in shrunk.sentence
        told = shrink(machine, scenario, found)
    assert "It happens only with" not in told.sentence
    assert "client.get_pet(1)" in told.test, told.test
    assert raised_by(told.test, lambda petstore: HasABudget(petstore.url, petstore.api_key)) is not None
    assert raised_by(told.test, make_correct("http.client")) is None


@pytest.mark.parametrize("phase", [0.0, 0.5, 0.9, 0.97])
@pytest.mark.parametrize("kind", ["patient", "impatient"])
def test_the_test_of_an_early_request_says_the_same_at_every_phase_of_the_clock(phase: float, kind: str) -> None:
    """A date has whole seconds: how far the next one is away depends on when the test runs."""

    class AsksAgain(HttpClientPets):
        waits = True

        def list_pets(self, **query: Json) -> Json:
            try:
                return super().list_pets(**query)
            except ApiError as error:
                if error.status != 429:
                    raise
                if self.waits:
                    time.sleep(max(parsedate_to_datetime(self.after).timestamp() - time.time(), 0) + 0.01)
                return super().list_pets(**query)

        def checked(self, answer: Answer, success: int) -> Answer:
            self.after = answer.headers.get("Retry-After") or "0"
            return super().checked(answer, success)

    class AsksAtOnce(AsksAgain):
        waits = False

    behaviour = Behaviour(rate_limit="retry_after_date")
    found = None
    while found is None:  # where it runs into the next second it has waited long enough
        found = told(AsksAtOnce, *[ListPets()] * 6, behaviour=behaviour)
    assert "with 'Retry-After: " in found.sentence
    time.sleep((phase - time.time()) % 1)
    client = AsksAgain if kind == "patient" else AsksAtOnce
    error = raised_by(found.test, lambda petstore: client(petstore.url, petstore.api_key))
    assert (error is None) is (kind == "patient"), found.test


@pytest.mark.parametrize("fault", [faults.truncate(0.5), faults.malformed_chunk()])
def test_a_refusal_that_was_cut_off_may_be_asked_for_again(fault: Fault) -> None:
    """As urllib3 does: nobody knows what it would have said."""
    assert sentence(CORRECT["urllib3"], Inject(fault, "getPet", times=12), GetUnknown()) is None


class InsistsOnMissing(HttpClientPets):
    """Asks three times for what is not there."""

    def get_pet(self, pet_id: int) -> Json:
        for _ in range(2):
            with contextlib.suppress(ApiError):
                return super().get_pet(pet_id)
        return super().get_pet(pet_id)


def test_a_request_that_is_sent_a_third_time_after_a_refusal_that_holds_is_told_of() -> None:
    found = told(InsistsOnMissing, GetUnknown())
    assert found is not None
    assert "sent GET /v1/pets/404 again and again, and was answered 404 each time (§7" in found.sentence
    assert raised_by(found.test, lambda petstore: InsistsOnMissing(petstore.url, petstore.api_key)) is not None
    assert raised_by(found.test, make_correct("urllib3")) is None


class TimesOut(HttpClientPets):
    """Its time limit runs out before it has sent anything: at the first call of the program alone, or always."""

    always = False
    calls = 0

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        TimesOut.calls += 1
        if self.always or TimesOut.calls == 1:
            raise TimeoutError("no free connection")
        return super().ask(method, path, body)


@pytest.mark.parametrize("always", [False, True])
def test_a_time_limit_that_ran_out_is_told_of_if_it_does_so_again(
    always: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TimesOut, "always", always)
    monkeypatch.setattr(TimesOut, "calls", 0)
    found = find_bug(client_machine(by_key(TimesOut)), machine_settings(settings(database=None), 3)).bug
    assert (found is not None) == always
    assert TimesOut.calls > 1


class FailsOnceForAll(HttpClientPets):
    """Fails in the first call of its class, and never again."""

    has_failed = False

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        if not FailsOnceForAll.has_failed:
            FailsOnceForAll.has_failed = True
            raise KeyError("the first call")
        return super().send(method, path, body)


def test_a_failure_that_does_not_come_again_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FailsOnceForAll, "has_failed", False)
    machine = client_machine(by_key(FailsOnceForAll))
    monkeypatch.setattr(machine.run, "try_client", lambda: None)  # it would meet the failure alone
    found = find_bug(machine, machine_settings(settings(database=None), 10)).bug
    assert found is not None
    assert "the client keeps something from one client to the next" in found.sentence
    assert found.sentence in str(found)
