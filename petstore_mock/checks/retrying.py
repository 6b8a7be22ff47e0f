"""A policy of retries: what a client promises, and the check that holds the client to it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from petstore_mock.checks.check import Check, Mistake, Observation, check
from petstore_mock.checks.requests import REDIRECTS, came, seconds_told
from petstore_mock.common.refusing import require
from petstore_mock.common.values import is_integer, is_number

if TYPE_CHECKING:
    from collections.abc import Collection

    from petstore_mock.checks.check import Exchanges
    from petstore_mock.journal.exchange import Exchange

_FAILURES: Final = frozenset({"transport", "timeout", "protocol"})
# Seconds by which clocks and schedulers differ, and by which a busy computer is late.
_EARLY: Final = 0.05
_LATE: Final = 0.5


@dataclass(frozen=True)
class Policy:
    """What a client promises about the calls that it may send again. Creates have a rule of their own.

    Attributes:
        attempts: the requests of a call, while each of them fails.
        base: the first pause in seconds. Each further pause is twice as long.
        cap: the longest pause in seconds.
        jitter: the share by which a pause may be shorter or longer, from 0 to 1.
        on: the failures after which the client sends again: statuses, ``"transport"``, ``"timeout"``, ``"protocol"``.

    Raises:
        PetStoreMockError: a value is out of its range.
    """

    __module__ = "petstore_mock.checks"  # the public module

    attempts: int
    base: float = 0.0
    cap: float = 60.0
    jitter: float = 0.0
    on: Collection[int | str] = (429, 502, 503, 504, "transport", "timeout")

    def __post_init__(self) -> None:
        is_count = is_integer(self.attempts) and self.attempts >= 1
        require(is_count, "attempts= as a whole number of at least 1", attempts=self.attempts)
        for name, most in {"base": 3600, "cap": 3600, "jitter": 1}.items():
            value = getattr(self, name)
            is_in_range = is_number(value) and 0 <= value <= most
            require(is_in_range, f"{name}= as a number from 0 to {most}", **{name: value})
        object.__setattr__(self, "on", tuple(self.on))
        for failure in self.on:
            is_failure = failure in _FAILURES or is_integer(failure)
            require(is_failure, f"on= with statuses or {', '.join(sorted(_FAILURES))}", on=failure)

    @property
    def check(self) -> Check:
        """The check that a client keeps this policy."""

        def retries_as_promised(seen: Observation) -> Mistake | None:
            asked = _judged(seen)
            if not asked:
                return None
            sent = _too_many(self, asked) or _misplaced(self, asked)
            has_failed = seen.ending.error is not None
            return _too_few(self, asked) if has_failed and sent is None else sent

        return check(
            section="",
            words="a client sends again as its policy says",
            needs=("outcome",),
            rules={
                "more attempts than promised": "sent {count} requests; its policy says {attempts}",
                "fewer attempts than promised": "gave up after {count} requests; its policy says {attempts}",
                "retry that is not promised": "sent {request} again although {response}; its policy says {failures}",
                "pause that is not promised": "paused for {pause:.2f} s; its policy says {low:.2f} to {high:.2f} s",
            },
        )(retries_as_promised)

    def pause(self, number: int) -> tuple[float, float]:
        """Return the shortest and the longest pause after a failed request, which has a number from 1 on."""
        usual = min(self.cap, self.base * 2.0 ** (number - 1))
        return usual * (1 - self.jitter), usual * (1 + self.jitter)


def _judged(seen: Observation) -> Exchanges:
    """Return the requests of a call, if they are all of its operation and the policy speaks about them."""
    if seen.done is None or seen.shared:
        return []
    call, _ = seen.done
    is_plain = all(one.operation == call.operation and one.status not in REDIRECTS for one in seen.exchanges)
    return seen.exchanges if is_plain and call.row.may_be_repeated else []


def _failure(exchange: Exchange) -> int | str | None:
    """Return how a request failed; None for a success, and for a response that libraries read in several ways."""
    fault = exchange.fault
    if fault is None or fault.row.responds:
        has_failed = (exchange.status or 0) >= 400
        return exchange.status if has_failed else None
    if fault.row.waits:
        return "timeout"
    return "transport" if fault.row.loses_response else None


def _too_many(policy: Policy, asked: Exchanges) -> Mistake | None:
    if len(asked) <= policy.attempts:
        return None
    return Mistake("more attempts than promised", count=len(asked), attempts=policy.attempts)


def _misplaced(policy: Policy, asked: Exchanges) -> Mistake | None:
    """Return the mistake of a retry after another failure, or too early or late."""
    for number, (former, latter) in enumerate(pairwise(asked), 1):
        failure = _failure(former)
        if failure is None:
            continue
        if failure not in policy.on:
            failures = ", ".join(map(str, policy.on))
            line = latter.request_line
            response = came(former)
            return Mistake("retry that is not promised", request=line, response=response, failures=failures)
        mistake = _paused(policy, number, former, latter)
        if mistake is not None:
            return mistake
    return None


def _paused(policy: Policy, number: int, former: Exchange, latter: Exchange) -> Mistake | None:
    fault = former.fault
    if fault is not None and fault.takes_time:
        return None
    pause = latter.request.started - former.request.started
    low, high = policy.pause(number)
    told = seconds_told(former)
    if told is not None:
        # The hint of the service may replace the client's own pause.
        low = 0.0
        high = max(high, *told) + 1
    if low - _EARLY <= pause <= high + _LATE:
        return None
    return Mistake("pause that is not promised", pause=pause, low=low, high=high)


def _too_few(policy: Policy, asked: Exchanges) -> Mistake | None:
    last = asked[-1]
    # A client may report the hint to its caller.
    is_hinted = "retry-after" in last.response_headers
    is_promised = _failure(last) in policy.on and not is_hinted
    if is_promised and len(asked) < policy.attempts:
        return Mistake("fewer attempts than promised", count=len(asked), attempts=policy.attempts)
    return None
