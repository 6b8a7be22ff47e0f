"""A run of the probes. It keeps the user's limits, waits after 429, and ends early if the service fails."""

from __future__ import annotations

import json
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

from petstore_mock.common.dates import iso, seconds_of
from petstore_mock.common.masking import cut, hide
from petstore_mock.common.real import monotonic, sleep, time
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import as_path, shown_url
from petstore_mock.interface.table import BASE_PATH, LABEL
from petstore_mock.journal.exchange import Exchange
from petstore_mock.transport.client import FailedError
from petstore_mock.verify.clauses import CONTROLS, PROBES, read_backs
from petstore_mock.verify.filling import Filling, SkippedError
from petstore_mock.verify.probes import ELSEWHERE
from petstore_mock.verify.seen import TRIES, Seen, accepts_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from petstore_mock.interface.table import Operation
    from petstore_mock.verify.probes import Probe
    from petstore_mock.verify.sending import Sender

    Progress = Callable[[str], object]
    Limits = Mapping[str, float]

# Seconds. A longer Retry-After ends the run.
_LONGEST_WAIT: Final = 60.0
# Seconds. Four such timeouts end the run of a silent service within half a minute.
_FIRST_TIMEOUT: Final = 7.0
# The limit for timeouts of an operation, similar requests with a 5xx, redirects, and reads of a created animal.
_FEW: Final = 3
# The limit for all requests with a 5xx.
_MANY: Final = 12
ALL_REFUSED: Final = "the service refused every plain animal"
_KEY_LOST: Final = "the service no longer accepts the key"
_KEY_REFUSED: Final = "the service refused the key from the start: check the key, and that it is for this service"


class Run:
    """Sends the probes, one at a time and within the user's limits."""

    def __init__(self, url: str, sender: Sender, limits: Limits, *, receipt: object, progress: Progress) -> None:
        self.url = url.rstrip("/")
        self.began = iso(time())
        # Every exchange, in order.
        self.seen: list[Seen] = []
        # Their statuses. 0 stands for a response without a readable head.
        self._statuses: set[int] = set()
        # The exchanges that are checked against the clauses.
        self.checked: list[Seen] = []
        # The probes without a result, with the reason; without those that need an animal that no response showed.
        self.skipped: list[tuple[Probe, str]] = []
        # The id (None if no response showed it) and the name of each animal that may have been created.
        self.left: list[tuple[int | None, str]] = []
        # Why the run ended early.
        self.stopped = ""
        # Masked in every report.
        self.secrets = sender.secrets
        self._sender = sender
        self._filling = Filling()
        self._limits = limits
        self._progress = progress
        # How often a request was sent again on a new connection.
        self._comparisons = 0
        # Whether every operation refuses the key.
        self._is_key_lost = False
        # Operations that refuse a key, although other operations accept it.
        self._refusing: set[str] = set()
        # The earliest time of the next request.
        self._next = monotonic()
        self._end_at = self._next + limits["deadline"]
        self._receipt = None if receipt is None else _opened(receipt)

    @property
    def never_served(self) -> bool:
        """Whether the run ended early and without a single 2xx or 404."""
        served = {404, *range(200, 300)}
        return bool(self.stopped) and served.isdisjoint(self._statuses)

    @property
    def _is_readable(self) -> bool:
        """Whether any response had a readable head."""
        return any(self._statuses)

    def send_all(self) -> None:
        """Send every probe that the user's limits and the service allow."""
        with self._receipt or nullcontext(), closing(self._sender):
            try:
                for probe in PROBES:
                    if not self.stopped:
                        self._try(probe)
            except KeyboardInterrupt:
                self.stopped = "interrupted by Ctrl-C"

    def _try(self, probe: Probe) -> None:
        """Send a probe if it is needed. Read an animal that it created."""
        if probe.is_last_resort and accepts_plain(self.checked):
            return
        if probe.is_delicate and not accepts_plain(self.checked):
            self.skipped.append((probe, ALL_REFUSED))
            return
        seen = self._show(probe)
        if seen is None:
            return
        if not probe.operation.may_be_repeated:
            seen = self._tried_again(probe, seen)
        # What a wrong change left is no concern of the clauses about right ones.
        is_right = probe.expected.status == 0 or probe.operation.does.adds
        if is_right and seen.target_id is not None:
            self._read_back(seen, seen.target_id)

    def _tried_again(self, probe: Probe, seen: Seen) -> Seen:
        """Send others like a failed create, and return the last exchange. The create itself is not retried."""
        for _ in range(TRIES - 1):
            if seen.confirmed and not seen.is_silent:
                seen = self._show(probe) or seen
        return seen

    def _read_back(self, change: Seen, pet_id: int) -> None:
        """Send a reading of each clause about what a change left, until it shows the change (gap visibility)."""
        removed = {seen.operation for seen in self.seen if seen.is_removed}
        for readings in read_backs(change.operation):
            # The first one whose operation still works.
            working = [probe for probe in readings if probe.operation not in removed]
            probe = [*working, readings[-1]][0]
            target = probe.target.replace("{made}", str(pet_id))
            for _ in range(self._reads_of(probe.shows)):
                view = self._show(replace(probe, target=target, unfilled=probe))
                if view is None or view.shows_change(change, pet_id):
                    break

    def _reads_of(self, clause: str) -> int:
        """Return how often to read an animal. It may appear late (gap visibility)."""
        views = [seen for seen in self.checked if seen.probe.shows == clause]
        was_seen = any(view.own_pets for view in views)
        if was_seen or len(views) < 2 * _FEW:
            return _FEW
        return 1

    def _show(self, probe: Probe) -> Seen | None:
        """Send a probe and keep the exchange for the clauses. Return None for a skipped probe."""
        count_before = len(self.seen)
        try:
            seen = self._ask(self._filling.fill(probe, len(self.checked)))
        except SkippedError as error:
            # Confirmed failures break clauses. The others are an outage or come from the user's limits.
            self.checked += [failed for failed in self.seen[count_before:] if failed.confirmed]
            if str(error):
                self.skipped.append((probe, str(error)))
            return None
        self.checked.append(seen)
        return seen

    # Retries

    def _ask(self, probe: Probe) -> Seen:
        """Send a request with its retries, and return the last exchange."""
        if probe.has_key and self._is_key_lost:
            raise SkippedError(_KEY_LOST)
        seen = self._compared(self._send_patiently(probe))
        if seen.status == 401 and probe.has_key:
            self._require_key(probe)
        if probe.operation.may_be_repeated:
            seen = self._retried(seen)
        if seen.has_failed:
            self._confirm(seen)
        return seen

    def _compared(self, seen: Seen) -> Seen:
        """Send a request again on a new connection if its connection may be the reason for the response."""
        if not seen.may_be_of_connection or self._comparisons == _FEW:
            return seen
        self._comparisons += 1
        self._sender.close()
        try:
            again = self._send_patiently(seen.probe)
        except SkippedError:
            return seen
        is_like_before = again.has_failed or again.status == seen.status
        is_let_in = seen.is_success and again.status != 401
        if is_like_before or is_let_in:
            return seen
        # One finding is enough.
        seen.status_anew = again.status
        self._sender.opens_anew = True
        self.checked.append(seen)
        return again

    def _retried(self, seen: Seen) -> Seen:
        """Send a failed request again, and return the last exchange."""
        # Timeouts take long, and a service without any readable response is not there.
        retries = TRIES - 1
        if seen.is_silent or not self._is_readable:
            retries = 1
        for _ in range(retries):
            if seen.has_failed:
                seen = self._send(seen.probe)
                seen.is_repeat = True
        return seen

    def _confirm(self, seen: Seen) -> None:
        """End the run if a failure is an outage. It breaks a clause only if the service responds to other requests."""
        controls = self._control()
        seen.confirmed = any(control.responds for control in controls)
        if seen.confirmed:
            return
        if self._is_readable:
            self._end(f"the service stopped responding: {controls[-1].came}")
        self._end(f"no readable response arrived: {seen.came}{self._sender.advice(seen.failure)}")

    def _end(self, why: str) -> NoReturn:
        self.stopped = why
        raise SkippedError(why)

    def _send_patiently(self, probe: Probe) -> Seen:
        """Send a request. After a 429, wait as long as Retry-After says and send the request again."""
        seen = self._send(probe)
        if seen.status != 429:
            return seen
        wait = _retry_after(seen)
        if wait > min(_LONGEST_WAIT, self._end_at - monotonic()):
            value = seen.header("Retry-After")
            header = "without Retry-After"
            if value:
                header = f"with 'Retry-After: {cut(value, 100)}'"
            self._end(f"{seen.line} got 429 {header}; a wait of {wait:g} s is too long for the run")
        sleep(wait)
        again = self._send(probe)
        if again.status == 429:
            self._end(f"{seen.line} got 429 again after a wait of {wait:g} s")
        return again

    def _control(self) -> list[Seen]:
        """Send the requests that show whether the service still responds and accepts the key."""
        return [self._send_patiently(self._filling.fill(probe, 0)) for probe in CONTROLS]

    def _require_key(self, probe: Probe) -> None:
        """Look whether every operation refuses the key, or only this one, which breaks a clause."""
        name = probe.operation.name
        if name in self._refusing:
            return
        if any(control.status not in {0, 401} for control in self._control()):
            self._refusing.add(name)
            return
        self._is_key_lost = True
        for seen in self.seen:
            if seen.probe.has_key and seen.status not in {0, 401, 429}:
                raise SkippedError(_KEY_LOST)
        self._end(_KEY_REFUSED)

    # One request

    def _send(self, probe: Probe) -> Seen:
        self._require_leave(probe)
        exchange = Exchange(len(self.seen) + 1, None, self._sender.shown(probe), time())
        exchange.secure = self._sender.is_tls
        self._progress(f"{exchange.number}  {exchange.method} {probe.target}")
        left = max(self._end_at - monotonic(), 0.001)
        timeout = min(left, self._limits["timeout"])
        # A service that is silent from the start ends the run sooner.
        if not self._is_readable:
            timeout = min(timeout, _FIRST_TIMEOUT)
        failure = None
        try:
            exchange.response = self._sender.send(probe, timeout)
        except FailedError as error:
            failure = error
            exchange.response = error.response
        finally:
            # The service may execute a create although Ctrl-C loses its response.
            seen = self._keep(Seen(exchange, probe, failure, self._filling.made))
        if seen.is_silent and timeout == left:
            raise SkippedError(self._late)
        self._look_for_trouble(seen)
        return seen

    def _keep(self, seen: Seen) -> Seen:
        """Keep an exchange, with what it says about animals."""
        self.seen.append(seen)
        self._statuses.add(seen.status)
        self._filling.add(seen)
        does = seen.operation.does
        if does.adds:
            self._account(seen)
        elif does.commits and seen.is_success:
            self._forget_former(seen)
        return seen

    def _forget_former(self, seen: Seen) -> None:
        """Note that an animal of this run is gone, or has another name."""
        for place, (pet_id, former) in enumerate(self.left):
            if pet_id == seen.is_about:
                if seen.operation.does.ends:
                    del self.left[place]
                else:
                    self.left[place] = (pet_id, seen.label or former)
                return

    def _require_leave(self, probe: Probe) -> None:
        """Wait until the rate allows the request. Raise SkippedError if a limit forbids it."""
        obstacle = next(self._obstacles(probe), None)
        if obstacle is not None:
            raise SkippedError(obstacle)
        sleep(max(self._next - monotonic(), 0.0))
        self._next = monotonic() + 1 / self._limits["rate"]

    def _obstacles(self, probe: Probe) -> Iterator[str]:
        """Yield each reason not to send a probe, the most general first."""
        if self.stopped:
            yield self.stopped
        yield from self._limits_reached(probe.operation)
        last = [seen.is_silent for seen in self.seen if seen.operation is probe.operation][-_FEW:]
        if last == [True] * _FEW:
            yield f"{probe.operation.name} timed out {_FEW} times in a row"
        alike = filter(probe.is_like, self._crashed() - {probe.template})
        if len([*alike]) >= _FEW:
            yield f"{_FEW} requests like it got a 5xx"
        if self._end_at <= max(self._next, monotonic()):
            yield self._late

    def _crashed(self) -> set[Probe]:
        """Return the probes that got a 5xx each time."""
        crashed = {seen.template for seen in self.seen if seen.status >= 500}
        others = {seen.template for seen in self.seen if seen.status < 500}
        return crashed - others

    def _limits_reached(self, operation: Operation) -> Iterator[str]:
        most_requests = self._limits["max_requests"]
        most_animals = self._limits["allow_create"]
        if len(self.seen) >= most_requests:
            yield f"the limit --max-requests {most_requests} is reached"
        if operation.commits and not most_animals:
            yield "creating animals needs --allow-create"
        if operation.does.adds and len(self.left) >= most_animals:
            yield f"the limit --allow-create {most_animals} is reached"

    @property
    def _late(self) -> str:
        return f"the limit --deadline {self._limits['deadline']:g} s is reached"

    def _account(self, seen: Seen) -> None:
        """Note the animal that a create may have added, and write its receipt."""
        if 300 <= seen.status < 500:
            return
        name = str(seen.sent.get(LABEL, ""))
        self.left.append((seen.target_id, name))
        if self._receipt is not None:
            entry = {"at": iso(seen.exchange.timestamp), "id": seen.target_id, "name": name, "response": seen.came}
            self._receipt.write(f"{hide(json.dumps(entry), self.secrets)}\n")

    def _look_for_trouble(self, seen: Seen) -> None:
        """End the run if more requests would show nothing new."""
        if len(self._crashed()) > _MANY:
            self.stopped = f"more than {_MANY} requests got a 5xx, the last one was {seen.line}: {seen.status}"
        if len(self.seen) >= _FEW and self._statuses <= {*range(300, 400)}:
            where = seen.header("Location") or "no Location"
            self.stopped = f"every response is a redirect, such as {seen.status} to {where}; verify follows none"
        if seen.number == 1:
            self._look_for_wrong_address(seen)

    def _look_for_wrong_address(self, seen: Seen) -> None:
        """Refuse a base address without the version if nothing is there, and end the run at another protocol."""
        is_page = seen.is_success and not seen.is_json
        is_elsewhere = is_page or seen.status in ELSEWHERE
        if is_elsewhere and not self.url.endswith(BASE_PATH):
            url = shown_url(self.url)
            came = f"{url} has no list of animals: {seen.line} got {seen.status}"
            refuse(f"expected a base address that ends in {BASE_PATH}; {came}; did you mean {url}{BASE_PATH}?")
        # A port that speaks TLS may respond so to plain HTTP, or to a client without a certificate.
        is_bare_400 = seen.status == 400 and "json" not in seen.header("Content-Type")
        if is_bare_400 and self._sender.advice_on_400:
            self._end(f"the first response is {seen.came}{self._sender.advice()}")


def _opened(receipt: object) -> TextIO:
    try:
        return as_path(receipt, "receipt").open("a", buffering=1, encoding="utf-8")
    except OSError as error:
        refuse(f"expected a writable file for receipts; got receipt={receipt!r}: {error}")


def _retry_after(seen: Seen) -> float:
    """Return the seconds to wait after a 429. Without a readable Retry-After, it is one second."""
    value = seen.header("Retry-After")
    if value.isdecimal():
        return float(value)
    until = seconds_of(value)
    if until is None:
        return 1.0
    now = seconds_of(seen.header("Date")) or time()
    return max(until - now, 0.0)
