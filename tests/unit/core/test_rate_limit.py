"""Which requests are refused for their number."""

from __future__ import annotations

from petstore_mock import Behaviour
from petstore_mock.contract.behaviour import policies
from petstore_mock.core.rate_limit import RateLimiter

EVERY_FIFTH = policies(Behaviour(rate_limit="retry_after_seconds")).rate_limit


def test_every_fifth_request_is_refused_whatever_the_behaviour_was_before() -> None:
    limiter = RateLimiter()
    assert [limiter.admit(None, 0.0) for _ in range(4)] == [None] * 4
    assert [limiter.admit(EVERY_FIFTH, 0.0) for _ in range(6)] == ["1", None, None, None, None, "1"]


def test_a_refusal_that_is_near_is_known_before() -> None:
    limiter = RateLimiter()
    limiter.count = 2
    assert not limiter.refuses_within(2, EVERY_FIFTH, 0.0)
    assert limiter.refuses_within(3, EVERY_FIFTH, 0.0)
    assert not limiter.refuses_within(3, None, 0.0)
    assert limiter.count == 2
