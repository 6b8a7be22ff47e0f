"""Refusals, dates, and the original functions, which tests may replace."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from freezegun import freeze_time

from petstore_mock import PetStoreMockError
from petstore_mock.common import real
from petstore_mock.common.dates import day, http_date, iso, moment_of, seconds_of
from petstore_mock.common.refusing import one_of, require
from petstore_mock.common.suggesting import did_you_mean
from petstore_mock.common.values import as_path

OPERATIONS = ("listPets", "createPet", "getPet")
MOMENT = 1922659200.0  # 5 December 2030, midnight UTC


@pytest.mark.parametrize(
    ("refuse", "words"),
    [
        (lambda: require(0, "a text", text="x" * 999), r"got text='x{199}\.\.\.$"),
        (lambda: require(0, "an id", pet_id=10**5000), "got pet_id=an integer of thousands of digits"),
        (
            lambda: one_of("list_pets", OPERATIONS, "operation"),
            r"expected an operation, .*\(did you mean 'listPets'\?\)",
        ),
        (lambda: as_path("a\0b", "seed"), "expected seed to be a path"),
        (lambda: moment_of("soon"), "expected a date such as '2030-12-06'.*when='soon'"),
        (lambda: moment_of("1969-12-31"), "a moment from 1970"),
    ],
)
def test_refusals_have_the_expectation_and_the_value(refuse: Callable[[], object], words: str) -> None:
    with pytest.raises(PetStoreMockError, match=words):
        refuse()


def test_nearest_name_is_suggested_whether_in_upper_or_lower_case() -> None:
    words = [did_you_mean(name, OPERATIONS) for name in ("listpets", "get-pet", "zebra", 3)]
    assert words == [" (did you mean 'listPets'?)", " (did you mean 'getPet'?)", "", ""]


def test_dates_are_written_in_english() -> None:
    assert http_date(MOMENT + 0.9) == "Thu, 05 Dec 2030 00:00:00 GMT"
    assert (day(MOMENT), iso(MOMENT + 0.25)) == ("5 December 2030", "2030-12-05T00:00:00.250Z")
    assert seconds_of(http_date(MOMENT)) == MOMENT
    assert seconds_of("soon") is None


def test_real_functions_work_while_the_time_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "Thread", None)
    with freeze_time("2001-01-01"):
        assert real.time() > time.time() + 10**8
        assert real.monotonic() < real.monotonic() + 1
        started = real.perf_counter()
        real.sleep(0.001)
        assert real.perf_counter() > started
    thread = real.Thread(target=bool)
    thread.start()
    thread.join()
