"""Hints to wait that nobody can mean: of a day or a thousand million seconds, by another clock, or that are none."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock import Behaviour, faults
from petstore_mock.errors import PetStoreMockError
from petstore_mock.stateful import client_machine
from petstore_mock.stateful import watchdog as watchdog_module
from petstore_mock.stateful.example import Example
from petstore_mock.stateful.scenario import UNRESTRICTED, Scenario
from petstore_mock.stateful.steps import Inject, ListPets
from tests.clients.correct import Answer, HttpClientPets, make_correct
from tests.clients.shapes import by_key
from tests.clients.trackers_shown import SleepsAsLongAsTold, WaitsByItsOwnClock
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import play, raised_by
from tests.platforms import POSIX_SIGNALS

if TYPE_CHECKING:
    from petstore_mock.stateful import ClientBugError

pytestmark = leavings.EXPECTED

A_DAY = faults.rate_limited(86_400)
HINTS = [
    A_DAY,
    faults.respond(503, headers={"Retry-After": "1000000000"}),
    faults.rate_limited(10**12),
    faults.rate_limited("2999-12-31"),
]
NO_HINTS = ["-1", "soon", "1.5", "", "Wed, 99 Foo 2026 00:00:00 GMT"]


class WaitsForASecond(HttpClientPets):
    """Waits for as long as it is told, up to a limit of its own, and else gives up."""

    most = 1.05

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        if method != "GET" or answer.status not in {429, 503}:
            return answer
        wait = self.seconds(answer.headers.get("Retry-After") or "")
        if not 0 <= wait <= self.most:
            return answer
        time.sleep(wait)
        return super().ask(method, path, body)

    def seconds(self, hint: str) -> float:
        try:
            return float(hint) if hint.isdecimal() else parsedate_to_datetime(hint).timestamp() - time.time()
        except ValueError:
            return -1.0


class ReadsANumber(WaitsForASecond):
    """Takes whatever stands there for a number."""

    def seconds(self, hint: str) -> float:
        return float(hint)


class SleepsLessThanNothing(WaitsForASecond):
    """Knows a longest wait, and no shortest."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = HttpClientPets.ask(self, method, path, body)
        if method == "GET" and answer.status == 429:
            time.sleep(min(int(answer.headers.get("Retry-After") or 0), 1))
        return answer


def after_a_hint(client: type[HttpClientPets], fault: faults.Fault, longest_wait: float) -> ClientBugError | None:
    machine = client_machine(by_key(client), longest_wait=longest_wait)
    with machine.run, machine.run.waiting.unlimited():
        return machine.replay(Scenario(Behaviour(), (Inject(fault),)))


@POSIX_SIGNALS
@pytest.mark.parametrize("fault", [HINTS[0], HINTS[1]])
def test_who_sleeps_for_as_long_as_told_is_ended_and_told(fault: faults.Fault) -> None:
    found = after_a_hint(SleepsAsLongAsTold, fault, 0.3)
    assert found is not None
    assert "list_pets() neither returned nor went on for 0.3 s after it was answered" in found.sentence
    assert "with 'Retry-After: " in found.sentence
    assert "longest_wait=0.3 s: a client that is told to wait for longer tells its caller so" in found.sentence
    assert isinstance(raised_by(found.test, by_key(SleepsAsLongAsTold)), AssertionError), found.test
    assert raised_by(found.test, by_key(WaitsForASecond)) is None, found.test


def test_a_wait_that_no_clock_can_hold_is_told() -> None:
    found = after_a_hint(SleepsAsLongAsTold, HINTS[2], 0.3)
    assert found is not None
    assert "raised OverflowError" in found.sentence


@pytest.mark.parametrize("fault", HINTS, ids=str)
@pytest.mark.parametrize("client", [HttpClientPets, WaitsForASecond])
def test_who_gives_up_is_right(client: type[HttpClientPets], fault: faults.Fault) -> None:
    assert after_a_hint(client, fault, 0.3) is None


def test_who_is_told_to_wait_for_less_may_do_so() -> None:
    assert after_a_hint(WaitsForASecond, faults.rate_limited(1), 1.5) is None


@pytest.mark.parametrize("hint", NO_HINTS)
@pytest.mark.parametrize("client", ["http.client", "urllib3", WaitsForASecond])
def test_who_finds_no_hint_may_say_the_status_or_that_it_can_not_read_it(client: Any, hint: str) -> None:  # noqa: ANN401
    fault = faults.respond(429, headers={"Retry-After": hint} if hint else {})
    make_client = make_correct(client) if isinstance(client, str) else by_key(client)
    assert play(make_client, Inject(fault)) is None


@pytest.mark.parametrize(
    ("client", "hint", "error"),
    [
        (ReadsANumber, "soon", "ValueError (could not convert"),
        (SleepsLessThanNothing, "-1", "ValueError (sleep length"),
    ],
)
def test_who_fails_over_what_is_no_hint_is_told(client: type[HttpClientPets], hint: str, error: str) -> None:
    found = play(by_key(client), Inject(faults.respond(429, headers={"Retry-After": hint})))
    assert found is not None
    assert f"list_pets() raised {error}" in found.sentence
    assert "when the service answered 429" in found.sentence


class WaitsByTheDate(WaitsForASecond):
    """Waits from the time that the answer says it is until the time that it says to come again."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = HttpClientPets.ask(self, method, path, body)
        after, date = (answer.headers.get(name) or "" for name in ("Retry-After", "Date"))
        if answer.status != 429 or method != "GET" or after.isdecimal():
            return answer
        time.sleep((parsedate_to_datetime(after) - parsedate_to_datetime(date)).total_seconds())
        return HttpClientPets.ask(self, method, path, body)


def by_another_clock(
    client: Any,  # noqa: ANN401  # a class, or the name of a library
    hours_ahead: int,
    longest_wait: float | None = 1.2,
    *,
    knows_a_standstill: bool = False,
) -> ClientBugError | None:
    make_client = make_correct(client) if isinstance(client, str) else by_key(client)
    machine = client_machine(make_client, longest_wait=longest_wait, patience=0.5)
    limited = Scenario(Behaviour(rate_limit="retry_after_date"), (ListPets(),) * 5, hours_ahead=hours_ahead)
    with machine.run, machine.run.waiting.unlimited():
        machine.run.watchdog.comes_to_a_standstill = knows_a_standstill
        return machine.replay(limited)


@POSIX_SIGNALS
def test_who_waits_by_its_own_clock_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    found = by_another_clock(WaitsByItsOwnClock, 1)
    assert found is not None
    told = " ".join(found.sentence.split())
    assert re.search(
        r"for [\d.]+ s after it was answered 429 with 'Retry-After: [^']+ GMT' and 'Date: [^']+ GMT'", told
    )
    assert "it waits by its own clock; by the service's, which Date shows, it was told to wait for" in told
    assert "It happens only where the service's clock shows another time than the client's" in told
    assert "petstore.clock.advance(hours=1)" in found.test
    assert isinstance(raised_by(found.test, by_key(WaitsByItsOwnClock)), AssertionError), found.test
    assert raised_by(found.test, by_key(WaitsByTheDate)) is None, found.test
    monkeypatch.setattr(watchdog_module, "STANDSTILL", 1.2)
    found = by_another_clock(WaitsByItsOwnClock, 1, longest_wait=None)
    assert found is not None
    assert "it waits by its own clock" in found.sentence


@pytest.mark.parametrize(
    ("client", "hours_ahead"),
    [
        (WaitsByTheDate, 1),
        (WaitsByTheDate, -1),
        (WaitsForASecond, 1),  # to whom it seems to be an hour, and who gives up
        (WaitsForASecond, -1),  # to whom it seems to be over
        ("urllib3", -1),
    ],
)
def test_who_waits_by_either_clock_or_gives_up_is_right(client: Any, hours_ahead: int) -> None:  # noqa: ANN401
    assert by_another_clock(client, hours_ahead) is None


def test_who_knows_that_a_call_stands_still_waits_no_less_for_one_that_is_told_to() -> None:
    assert by_another_clock(WaitsByTheDate, 1, knows_a_standstill=True) is None


def test_the_service_and_its_client_go_by_other_clocks_where_it_is_said_how_long_a_call_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = set()
    monkeypatch.setattr(Example, "take", lambda example, _: seen.add(example.scenario.hours_ahead))
    for longest_wait, expected in ((None, {0}), (2, {-1, 0, 1})):
        seen.clear()
        machine = client_machine(make_correct("http.client"), vary=["rate_limit"], longest_wait=longest_wait)
        with machine.run:
            for number in range(30):
                machine.play(number, UNRESTRICTED)
        assert seen == expected


def test_no_client_is_told_to_wait_for_long_unless_somebody_says_how_long_it_may() -> None:
    told = [
        client_machine(make_correct("http.client"), **given).run.draws_long_hints  # type: ignore[arg-type]  # keywords
        for given in ({}, {"longest_wait": 5})
    ]
    assert told == [False, True]
    with pytest.raises(PetStoreMockError, match="expected longest_wait to be seconds, more than 0; got longest_wait=0"):
        client_machine(make_correct("http.client"), longest_wait=0)
