"""The fake's own time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest

from petstore_mock.common.dates import as_moment, http_date
from petstore_mock.core import clock as clock_module
from petstore_mock.core.clock import Clock
from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from collections.abc import Callable


class RealTime:
    """Stands in for the real clock."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.25

    def time(self) -> float:
        return self.now


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> RealTime:
    """Put the real time into the test's hand."""
    real = RealTime()
    monkeypatch.setattr(clock_module, "time", real)
    return real


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (784111777, "Sun, 06 Nov 1994 08:49:37 GMT"),  # the example of RFC 9110 §5.6.7
        (1922659200, "Thu, 05 Dec 2030 00:00:00 GMT"),
        (784111777.9, "Sun, 06 Nov 1994 08:49:37 GMT"),
    ],
)
def test_http_date_is_an_imf_fixdate(timestamp: float, text: str) -> None:
    assert http_date(timestamp) == text


def test_http_date_agrees_with_the_standard_library_in_every_month_and_weekday() -> None:
    timestamps = [step * 100_003 for step in range(0, 2_500_000, 997)]  # to the year 9892, at all times of the day
    assert [http_date(each) for each in timestamps] == [formatdate(each, usegmt=True) for each in timestamps]


MIDNIGHT = datetime(2030, 12, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("when", "moment"),
    [
        ("2030-12-06", MIDNIGHT),
        ("2030-12-06T00:00:00", MIDNIGHT),
        ("2030-12-06T01:00:00+01:00", MIDNIGHT),
        ("2030-12-06T00:00:00Z", MIDNIGHT),
        (date(2030, 12, 6), MIDNIGHT),
        (datetime(2030, 12, 6), MIDNIGHT),  # noqa: DTZ001  # no zone is the case
        (datetime(2030, 12, 6, 2, tzinfo=timezone(timedelta(hours=2))), MIDNIGHT),
        ("1970-01-01", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
    ids=repr,
)
def test_moment_without_a_zone_is_utc_and_a_date_its_midnight(when: str | date, moment: datetime) -> None:
    assert as_moment(when) == moment
    assert as_moment(when).tzinfo is not None


@pytest.mark.parametrize(
    "when",
    ["tomorrow", "", "2030-13-01", "06.12.2030", 5, None, 1.5, "1969-12-31", "9999-12-31T23:59:59-12:00", "9999-06-01"],
)
def test_what_is_no_moment_is_refused_by_its_value(when: Any) -> None:  # noqa: ANN401
    with pytest.raises(PetStoreMockError) as caught:
        as_moment(when)
    assert repr(when) in str(caught.value)


def test_clock_runs_with_the_real_one(real: RealTime) -> None:
    clock = Clock()
    assert clock.now() == real.now
    real.now += 5
    assert clock.now() == real.now
    assert clock.moment == datetime.fromtimestamp(real.now, UTC)


def test_travelled_clock_runs_on(real: RealTime) -> None:
    clock = Clock()
    clock.travel_to("2030-12-06")
    assert clock.moment == MIDNIGHT
    real.now += 90
    assert clock.moment == MIDNIGHT + timedelta(seconds=90)


def test_clock_starts_where_it_was_told(real: RealTime) -> None:
    clock = Clock("2030-12-06")
    real.now += 1
    assert clock.moment == MIDNIGHT + timedelta(seconds=1)
    clock.advance(days=10)
    clock.freeze()
    clock.reset()
    assert clock.moment == MIDNIGHT, "a reset begins anew"
    clock.start_at(None)
    clock.reset()
    assert clock.now() == real.now


def test_frozen_clock_stands_still_until_unfrozen(real: RealTime) -> None:
    clock = Clock()
    clock.freeze()
    assert clock.frozen
    real.now += 100
    assert clock.now() == real.now - 100
    clock.travel_to("2030-12-06")
    real.now += 100
    assert clock.moment == MIDNIGHT
    clock.advance(minutes=1)
    assert clock.moment == MIDNIGHT + timedelta(minutes=1)
    clock.unfreeze()
    clock.unfreeze()
    real.now += 1
    assert clock.moment == MIDNIGHT + timedelta(minutes=1, seconds=1)


def test_advance_adds_up_its_units(real: RealTime) -> None:
    clock = Clock()
    clock.advance(days=1, hours=2, minutes=3, seconds=4.5)
    assert clock.now() - real.now == 86400 + 7200 + 180 + 4.5
    clock.advance(days=-1, hours=-2, minutes=-3, seconds=-4.5)
    assert clock.now() == real.now


@pytest.mark.parametrize(
    "amount",
    [{"days": 10**9}, {"days": 10**12}, {"days": -30_000}, {"days": 365 * 9000}, {"seconds": float("nan")},
     {"hours": float("inf")}, {"minutes": "1"}],
    ids=str,
)  # fmt: skip
def test_advance_out_of_the_years_of_http_is_refused_at_the_call(real: RealTime, amount: dict[str, Any]) -> None:
    clock = Clock()
    with pytest.raises(PetStoreMockError):
        clock.advance(**amount)
    assert clock.now() == real.now
    clock.freeze()
    with pytest.raises(PetStoreMockError):
        clock.advance(**amount)
    assert clock.now() == real.now


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        ({"seconds": 1e20}, "expected a step that ends from 1970 to the year 9998; got seconds=1e+20"),
        (
            {"days": -30_000, "hours": 1},
            "expected a step that ends from 1970 to the year 9998; got days=-30000, hours=1",
        ),
        ({"minutes": "1"}, "expected numbers of days, hours, minutes and seconds; got minutes='1'"),
        ({"hours": float("nan")}, "expected numbers of days, hours, minutes and seconds; got hours=nan"),
    ],
)
def test_advance_says_which_amount_is_wrong_and_what_it_may_be(amount: dict[str, Any], message: str) -> None:
    with pytest.raises(PetStoreMockError) as caught:
        Clock().advance(**amount)
    assert str(caught.value) == message


def test_last_year_of_http_dates_can_be_reached() -> None:
    clock = Clock("9998-12-31T23:59:59")
    clock.begin_request()
    assert clock.date_field.endswith(b" 9998 23:59:59 GMT")


def test_snapshot_keeps_displacement_and_freeze(real: RealTime) -> None:
    clock = Clock()
    running = clock.snapshot()
    clock.travel_to("2030-12-06")
    clock.freeze()
    frozen = clock.snapshot()
    clock.restore(running)
    assert not clock.frozen
    assert clock.now() == real.now
    clock.restore(frozen)
    assert clock.moment == MIDNIGHT


def test_date_of_the_clock_follows_each_second(real: RealTime) -> None:
    clock = Clock()
    dates = []
    for step in (0, 0.5, 0.5, 60, -60):
        real.now += step
        clock.begin_request()
        dates.append(clock.date_field)
    assert dates == [
        http_date(real_now).encode() for real_now in (1700000000, 1700000000, 1700000001, 1700000061, 1700000001)
    ]
    assert dates[0] is dates[1], "one object a second: answers that are kept are told by it"


@pytest.mark.parametrize(
    ("act", "text"),
    [(lambda _clock: None, "<Clock running, now 2023-11-14T22:13:20.250000+00:00>"),
     (Clock.freeze, "<Clock frozen at 2023-11-14T22:13:20.250000+00:00>")],
    ids=["running", "frozen"],
)  # fmt: skip
@pytest.mark.usefixtures("real")
def test_repr_says_what_time_it_is(act: Callable[[Clock], None], text: str) -> None:
    clock = Clock()
    act(clock)
    assert repr(clock) == text
