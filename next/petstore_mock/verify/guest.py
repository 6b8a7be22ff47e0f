"""How the tool behaves at a service that is not its own: slow, polite, and knowing when to go."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

from petstore_mock.common.dates import iso, seconds_of
from petstore_mock.common.guards import is_object
from petstore_mock.common.real import monotonic, sleep, time
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import as_path
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.journal.exchange import Exchange
from petstore_mock.verify.probes import OWN, Probe, with_effect
from petstore_mock.verify.reader import Connection, FailedError
from petstore_mock.verify.seen import Seen, shown

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_WAIT: Final = 60.0  # seconds that Retry-After may ask for
_FIRST_RESPONSE: Final = 28.0  # seconds within which something readable must have come
_FEW: Final = 3  # requests before anything readable came, timeouts of an operation, requests with a 5xx
_CERTIFICATE: Final = " (SSL_CERT_FILE names a file of the authorities to trust)"
_IS_TLS: Final = "if that port speaks TLS, the address begins with https://"
_IS_PLAIN: Final = " (if that port speaks no TLS, the address begins with http://)"


class SkippedError(Exception):
    """A request is not sent: why nothing can be seen of it."""


class StoppedError(Exception):
    """No further request is sent, and nothing more can be checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the user allows; times in seconds."""

    allow_create: int = 0
    rate: float = 2.0
    max_requests: int = 200
    timeout: float = 10.0
    deadline: float = 120.0


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
        self._controls = [Probe("control", operation, operation.path, OWN) for operation in with_effect("lists")]
        self._controls += [Probe("control", operation, "/pets/1", OWN) for operation in with_effect("reads")]
        self._receipt: TextIO | None = None
        if receipt is not None:
            try:
                self._receipt = as_path(receipt, "receipt").open("a", encoding="utf-8")
            except OSError as error:
                refuse(f"expected a file to write receipts to; got receipt={receipt!r}: {error}")

    def close(self) -> None:
        self._connection.close()
        if self._receipt is not None:
            self._receipt.close()

    def ask(self, probe: Probe) -> Seen:
        """Send a request, again where that is polite, and return what came of it in the end."""
        if probe.has_key and self._key >= len(self._keys):
            raise SkippedError("the last key is refused by now, and no further one was given")
        seen = self._send(probe)
        if not any(one.status for one in self.seen):
            seen = self._insist(seen, probe)
        if seen.status == 429:
            seen = self._try_later(seen, probe)
        if seen.status == 401 and probe.has_key:
            seen = self._renew_key(seen, probe)
        if seen.has_failed and probe.operation.method == "GET":
            seen = self._send(probe)
        if seen.has_failed:
            self._confirm(seen)
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

    def _send(self, probe: Probe) -> Seen:
        self._require_leave(probe)
        self._await_turn()
        seen = self._seen(probe)
        self._progress(f"{seen.number}  {seen.line}")
        self.seen.append(seen)
        request, left = seen.exchange.request, self._left()
        timeout = min(self._limits.timeout, left, *([] if any(one.status for one in self.seen) else [self._patience()]))
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.fields]
        began = monotonic()
        try:
            response = self._connection.send(request.method, request.target, fields, request.body, timeout=timeout)
            seen.exchange.response = response
        except FailedError as error:
            seen.failure, seen.exchange.response, seen.exchange.outcome = error, error.response, error.kind
        finally:  # Ctrl-C may have lost the response
            seen.exchange.duration = monotonic() - began
            if probe.operation.effect == "creates":
                self._account(seen)
        if seen.failure is not None and seen.failure.kind == "silence":
            if timeout == left:
                raise SkippedError(self._late)
            self._timeouts[probe.operation.name] += 1
        self._look_for_trouble(seen, probe)
        return seen

    def _seen(self, probe: Probe) -> Seen:
        key = self._keys[min(self._key, len(self._keys) - 1)]
        fields = [("Host", self._connection.host), ("User-Agent", "petstore-mock-verify"), ("Accept", "application/json")]
        fields += [("Accept-Encoding", "identity")]
        fields += [("Authorization", probe.key.replace("{key}", key))] if probe.key else []
        if probe.operation.body:
            fields += [("Content-Type", probe.media_type), ("Content-Length", str(len(probe.body.encode())))]
        target, method = self._connection.base + probe.target, probe.operation.method
        request = ApiRequest(method, target, Fields.of(fields), probe.body.encode())
        exchange = Exchange(len(self.seen) + 1, None, request, time())
        exchange.keys, exchange.secure = lambda: self._keys, self._connection.is_tls
        return Seen(exchange, probe.target, probe, has_key=probe.has_key)

    # The user's limits

    def _require_leave(self, probe: Probe) -> None:
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

    @property
    def _late(self) -> str:
        return f"--deadline {self._limits.deadline:g} seconds have passed"

    def _left(self) -> float:
        return self._began + self._limits.deadline - monotonic()

    def _await_turn(self) -> None:
        wait = max(self._next - monotonic(), 0.0)
        if self._left() <= wait:
            raise SkippedError(self._late)
        sleep(wait)
        self._next = monotonic() + 1 / self._limits.rate

    # What stops a run

    def _look_for_trouble(self, seen: Seen, probe: Probe) -> None:
        if seen.status >= 500:
            self._server_errors.add(probe.name)  # sent again, it counts once
            if len(self._server_errors) >= _FEW:
                self.stop(f"{_FEW} requests met a 5xx, the last one {seen.line}: {seen.status}")
        if len(self.seen) >= _FEW and all(300 <= one.status < 400 for one in self.seen):
            where = seen.header("Location") or "nowhere"
            self.stop(f"every response is a redirect, the last one {seen.status} to {where}, and none is followed")
        if seen.number == 1 and seen.status == 400 and self._connection.speaks_tls():
            self._end(f"a TLS port responds 400: {_IS_TLS}", never_served=True)

    def _patience(self) -> float:
        left = self._began + _FIRST_RESPONSE - monotonic()
        return max(left / max(_FEW + 1 - len(self.seen), 1), 0.1)

    def _insist(self, seen: Seen, probe: Probe) -> Seen:
        """Ask again, and for something else, before the verdict is that nothing responds."""
        again = self._send(probe)
        if not again.status and not self._send(self._controls[-1]).status:
            self._end(f"nothing readable came: {seen.came}{self._hint(seen)}", never_served=True)
        return again

    def _hint(self, seen: Seen) -> str:
        kind, words = (seen.failure.kind, seen.failure.words) if seen.failure else ("", "")
        if "CERTIFICATE_VERIFY_FAILED" in words:
            return _CERTIFICATE
        if self._connection.is_tls:
            return _IS_PLAIN if "WRONG_VERSION_NUMBER" in words else ""
        return f" ({_IS_TLS})" if kind in {"frame", "cut"} else ""

    def _try_later(self, seen: Seen, probe: Probe) -> Seen:
        """Wait as long as a 429 asks, and ask again."""
        asked = seen.header("Retry-After") or "1"
        until = seconds_of(asked)
        now = seconds_of(seen.header("Date") or "") or time()
        wait = float(asked) if asked.isdecimal() else max(until - now, 0.0) if until is not None else 1.0
        if wait > min(_LONGEST_WAIT, self._left()):
            self._end(f"429 to {seen.line}, with 'Retry-After: {asked}'")
        self._progress(f"{seen.number}  {seen.line}  429, waiting {wait:g} s")
        sleep(wait)
        again = self._send(probe)
        if again.status == 429:
            self._end(f"429 again after {wait:g} s to {seen.line}")
        return again

    def _control(self) -> list[Seen]:
        """Ask for what else a service responds to."""
        key = OWN if self._key < len(self._keys) else ""
        found: list[Seen] = []
        for probe in self._controls:
            seen = self._send(replace(probe, key=key))
            found.append(self._try_later(seen, probe) if seen.status == 429 else seen)
        return found

    def _renew_key(self, seen: Seen, probe: Probe) -> Seen:
        """Go on with the next key, if this one is refused everywhere."""
        name = probe.operation.name
        while seen.status == 401 and name not in self._refusing:
            if any(one.status not in {0, 401} for one in self._control()):
                self._refusing.add(name)  # this operation alone refuses it, which breaks a clause
                return seen
            self._key += 1
            if self._key >= len(self._keys):
                if any(one.has_key and one.status not in {0, 401, 429} for one in self.seen):
                    raise SkippedError("the last key is refused by now, and no further one was given")
                why = "the key is refused from the first request on: check it, and that it is of this environment"
                self._end(why, never_served=True)
            seen = self._send(probe)
            seen = self._try_later(seen, probe) if seen.status == 429 else seen
        return seen

    def _confirm(self, seen: Seen) -> None:
        """Find out whether the service is there: else a failed request says nothing of the contract."""
        controls = self._control()
        seen.confirmed = any(one.status and (one.failure is not None or one.status < 500) for one in controls)
        if not seen.confirmed:
            self._end(f"the service is no longer there: {controls[-1].came}")

    # What is left behind

    def _account(self, seen: Seen) -> None:
        """Note what a create may have left behind."""
        if 300 <= seen.status < 500 and seen.failure is None:
            return
        name = str(seen.sent.get("name", "")) if is_object(seen.sent) else ""
        pet_id = seen.pets[0]["id"] if seen.pets else None
        self.left.append((pet_id, name))
        if self._receipt is not None:
            entry = {"at": iso(seen.exchange.timestamp), "id": pet_id, "name": name, "came": seen.came}
            self._receipt.write(shown(json.dumps(entry, ensure_ascii=False), self._keys) + "\n")
            self._receipt.flush()
            with contextlib.suppress(OSError):  # a pipe or a terminal
                os.fsync(self._receipt.fileno())
