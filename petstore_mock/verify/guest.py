"""How the tool behaves at a service that is not its own: slow, polite, and knowing when to go."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

from petstore_mock.common.dates import iso, seconds_of
from petstore_mock.common.real import monotonic, sleep, time
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import as_path
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.journal.exchange import Exchange
from petstore_mock.verify.probes import CONTROLS, OWN, Probe
from petstore_mock.verify.reader import Connection, FailedError
from petstore_mock.verify.seen import Seen, shown

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_WAIT: Final = 60.0  # seconds that Retry-After may ask for
_FIRST_RESPONSE: Final = 28.0  # seconds within which something readable must have come
_FEW: Final = 3  # requests before anything readable came, timeouts of an operation, requests with a 5xx
_HINTS: Final = {
    "CERTIFICATE_VERIFY_FAILED": " (SSL_CERT_FILE names a file of the authorities to trust)",
    "WRONG_VERSION_NUMBER": " (if that port speaks no TLS, the address begins with http://)",
}
_IS_TLS: Final = " (if that port speaks TLS, the address begins with https://)"
_KEY_LOST: Final = "the last key is refused by now, and no further one was given"


class SkippedError(Exception):
    """A request is not sent: why nothing can be seen of it."""


class StoppedError(Exception):
    """No further request is sent, and nothing more can be checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the user allows; times in seconds."""

    allow_create: int
    rate: float
    max_requests: int
    timeout: float
    deadline: float


class Guest:
    """Sends requests one at a time, within the user's limits.

    Attributes:
        seen: every exchange, in order.
        left: the animals that were or may have been left behind, as (id or None, name).
        stopped: why it ended early; empty if it did not.
        never_served: whether the service could not be checked at all.
    """

    def __init__(
        self, url: str, keys: tuple[str, ...], limits: Limits, receipt: object, progress: Callable[[str], object]
    ) -> None:
        self.seen: list[Seen] = []
        self.left: list[tuple[int | None, str]] = []
        self.stopped = ""
        self.never_served = False
        self._connection = Connection(url)
        self._keys = keys
        self._key = 0  # the one in use
        self._refusing: set[str] = set()  # operations that refuse a key which others accept
        self._limits = limits
        self._progress = progress
        self._next = self._began = monotonic()
        self._timeouts: Counter[str] = Counter()  # by operation
        self._server_errors: set[str] = set()  # the probes that met one
        self._receipt: TextIO | None = None
        try:
            self._receipt = None if receipt is None else as_path(receipt, "receipt").open("a", encoding="utf-8")
        except OSError as error:
            refuse(f"expected a file to write receipts to; got receipt={receipt!r}: {error}")

    def close(self) -> None:
        self._connection.close()
        if self._receipt is not None:
            self._receipt.close()

    def ask(self, probe: Probe) -> Seen:
        """Send a request, again where that is polite, and return what came of it in the end."""
        if probe.has_key and self._key >= len(self._keys):
            raise SkippedError(_KEY_LOST)
        seen = self._send_patiently(probe)
        if not self._is_readable:
            again = self._send(probe)
            if not again.status and not self._control()[-1].status:
                self._end(f"nothing readable came: {seen.came}{self._hint(seen)}", never_served=True)
            seen = again
        if seen.status == 401 and probe.has_key:
            seen = self._renew_key(seen, probe)
        if seen.has_failed and probe.operation.method == "GET":
            seen = self._send(probe)
        if seen.has_failed:
            controls = self._control()
            # Else the service is not there, which says nothing of the contract.
            seen.confirmed = any(one.status and (one.failure or one.status < 500) for one in controls)
            if not seen.confirmed:
                self._end(f"the service is no longer there: {controls[-1].came}")
        return seen

    def stop(self, why: str) -> None:
        """Send no further request."""
        self.stopped = why
        statuses = [one.status for one in self.seen if one.status]
        self.never_served |= all(status >= 500 or status == 429 or 300 <= status < 400 for status in statuses)

    def _end(self, why: str, *, never_served: bool = False) -> NoReturn:
        self.stop(why)
        self.never_served |= never_served
        raise StoppedError(why)

    @property
    def _is_readable(self) -> bool:
        return any(one.status for one in self.seen)

    def _send(self, probe: Probe) -> Seen:
        self._require_leave(probe)
        seen = self._new(probe)
        self._progress(f"{seen.number}  {seen.line}")
        self.seen.append(seen)
        exchange, left = seen.exchange, self._left()
        timeout = min(self._limits.timeout, left)
        if not self._is_readable:  # all tries together may take so long
            patience = self._began + _FIRST_RESPONSE - monotonic()
            timeout = min(timeout, max(patience / max(_FEW + 1 - len(self.seen), 1), 0.1))
        try:
            exchange.response = self._connection.send(
                exchange.method, exchange.target, exchange.fields, exchange.body, timeout=timeout
            )
        except FailedError as error:
            seen.failure, exchange.response, exchange.outcome = error, error.response, error.kind
        finally:  # Ctrl-C may have lost the response
            if probe.operation.effect == "creates":
                self._account(seen)
        self._look_for_trouble(seen, probe, is_late=timeout == left)
        return seen

    def _new(self, probe: Probe) -> Seen:
        key, body = self._keys[min(self._key, len(self._keys) - 1)], probe.body.encode()
        fields = [
            *(("Host", self._connection.host), ("User-Agent", "petstore-mock-verify")),
            *(("Accept", "application/json"), ("Accept-Encoding", "identity")),
        ]
        if probe.key:
            fields.append(("Authorization", probe.key.replace("{key}", key)))
        if probe.operation.body:
            fields += [("Content-Type", probe.media_type), ("Content-Length", str(len(body)))]
        request = ApiRequest(probe.operation.method, self._connection.base + probe.target, Fields.of(fields), body)
        exchange = Exchange(len(self.seen) + 1, None, request, time())
        exchange.keys, exchange.secure = lambda: self._keys, self._connection.is_tls
        return Seen(exchange, probe.target, probe)

    def _require_leave(self, probe: Probe) -> None:
        """Wait for the request's turn; raise where the user's limits forbid the request."""
        if self.stopped:
            raise StoppedError(self.stopped)
        limits, operation = self._limits, probe.operation
        if len(self.seen) >= limits.max_requests:
            raise SkippedError(f"--max-requests {limits.max_requests} were sent")
        if operation.commits and not limits.allow_create:
            raise SkippedError("it would take writing: --allow-create N allows N animals to be left behind")
        if operation.effect == "creates" and len(self.left) >= limits.allow_create:
            raise SkippedError(f"--allow-create {limits.allow_create} animals are there")
        if self._timeouts[operation.name] >= _FEW:
            raise SkippedError(f"{operation.name} did not respond in time {_FEW} times, and was not tried again")
        wait = max(self._next - monotonic(), 0.0)
        if self._left() <= wait:
            raise SkippedError(self._late)
        sleep(wait)
        self._next = monotonic() + 1 / limits.rate

    @property
    def _late(self) -> str:
        return f"--deadline {self._limits.deadline:g} seconds have passed"

    def _left(self) -> float:
        left: float = self._began + self._limits.deadline - monotonic()
        return left

    def _look_for_trouble(self, seen: Seen, probe: Probe, *, is_late: bool) -> None:
        if seen.failure is not None and seen.failure.kind == "silence":
            if is_late:
                raise SkippedError(self._late)
            self._timeouts[probe.operation.name] += 1
        if seen.status >= 500:
            self._server_errors.add(probe.name)  # sent again, it counts once
            if len(self._server_errors) >= _FEW:
                self.stop(f"{_FEW} requests met a 5xx, the last one {seen.line}: {seen.status}")
        if len(self.seen) >= _FEW and all(300 <= one.status < 400 for one in self.seen):
            where = seen.header("Location") or "nowhere"
            self.stop(f"every response is a redirect, the last one {seen.status} to {where}, and none is followed")
        is_json = "json" in seen.header("Content-Type")
        if seen.number == 1 and seen.status == 400 and not is_json and not self._connection.is_tls:
            self._end(f"the first response is {seen.came}{_IS_TLS}", never_served=True)

    def _hint(self, seen: Seen) -> str:
        kind, words = (seen.failure.kind, seen.failure.words) if seen.failure else ("", "")
        if self._connection.is_tls:
            return next((hint for mark, hint in _HINTS.items() if mark in words), "")
        return _IS_TLS if kind in {"frame", "cut"} else ""

    def _send_patiently(self, probe: Probe) -> Seen:
        """Send a request; after a 429, wait as long as it asks, and send it again."""
        seen = self._send(probe)
        if seen.status != 429:
            return seen
        asked = seen.header("Retry-After") or "1"
        until, now = seconds_of(asked), seconds_of(seen.header("Date")) or time()
        wait = float(asked) if asked.isdecimal() else 1.0 if until is None else max(until - now, 0.0)
        if wait > min(_LONGEST_WAIT, self._left()):
            self._end(f"429 to {seen.line}, with 'Retry-After: {asked}'")
        self._progress(f"{seen.number}  {seen.line}  429, waiting {wait:g} s")
        sleep(wait)
        again = self._send(probe)
        if again.status == 429:
            self._end(f"429 again after {wait:g} s to {seen.line}")
        return again

    def _control(self) -> list[Seen]:
        """Ask for what else the service may respond to."""
        key = OWN if self._key < len(self._keys) else ""
        return [self._send_patiently(replace(probe, key=key)) for probe in CONTROLS]

    def _renew_key(self, seen: Seen, probe: Probe) -> Seen:
        """Go on with the next key, if this one is refused everywhere."""
        while seen.status == 401 and probe.operation.name not in self._refusing:
            if any(one.status not in {0, 401} for one in self._control()):
                self._refusing.add(probe.operation.name)  # it alone refuses the key, which breaks a clause
                return seen
            self._key += 1
            if self._key >= len(self._keys):
                if any(one.has_key and one.status not in {0, 401, 429} for one in self.seen):
                    raise SkippedError(_KEY_LOST)
                why = "the key is refused from the first request on: check it, and that it is of this environment"
                self._end(why, never_served=True)
            seen = self._send_patiently(probe)
        return seen

    def _account(self, seen: Seen) -> None:
        """Note what a create may have left behind."""
        if seen.is_refusal or 300 <= seen.status < 400:
            return
        name, pet_id = str(seen.sent.get("name", "")), seen.pets[0]["id"] if seen.pets else None
        self.left.append((pet_id, name))
        if self._receipt is not None:
            entry = {"at": iso(seen.exchange.timestamp), "id": pet_id, "name": name, "came": seen.came}
            self._receipt.write(shown(json.dumps(entry, ensure_ascii=False), self._keys) + "\n")
            self._receipt.flush()
            with contextlib.suppress(OSError):  # a pipe or a terminal
                os.fsync(self._receipt.fileno())
