"""How the tool behaves at a service that is not its own: slow, polite, and knowing when to go."""

from __future__ import annotations

import contextlib
import json
import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TextIO

from petstore_mock.common.dates import http_timestamp
from petstore_mock.common.paths import as_path
from petstore_mock.common.real_time import RealTime
from petstore_mock.errors import PetStoreMockError
from petstore_mock.verify.client import FailedError, ServiceConnection
from petstore_mock.verify.exchange import Exchange, redacted
from petstore_mock.verify.probes import credentials_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import Self

    from petstore_mock.verify.exchange import Fields

__all__ = ["Guest", "Request", "SkippedError", "StoppedError", "sleep"]

_AGENT: Final = "petstore-mock-verify"
_LONGEST_WAIT: Final = 60.0  # seconds that Retry-After may ask for
_UNTOLD_WAIT: Final = 1.0  # seconds before another try after a 429 without Retry-After
_MOST_5XX: Final = 3
_FIRST_ANSWER: Final = 28.0  # seconds within which something readable must have come
_FIRST_TRIES: Final = 3
_TLS_HINTS: Final = {  # by what OpenSSL says
    "CERTIFICATE_VERIFY_FAILED": " (SSL_CERT_FILE names a file of the authorities to trust)",
    "WRONG_VERSION_NUMBER": " (if that port speaks no TLS, the address begins with http://)",
}

sleep = time.sleep  # a test need not wait as a guest does


class SkippedError(Exception):
    """A request is not sent: why nothing can be seen of it."""


class StoppedError(Exception):
    """No further request is sent, and nothing more can be checked."""


class Request(NamedTuple):
    """What is to be sent.

    Attributes:
        probe: the name of the probe that it is of.
        method: the method.
        target: the target from the base address on.
        key: ``own``, ``none`` or ``unknown``; anything else stands in Authorization as it is.
        fields: further header fields.
        body: the body.
    """

    probe: str
    method: str
    target: str
    key: str = "own"
    fields: Fields = ()
    body: bytes | None = None


class Guest:
    """Sends requests one at a time, at most ``rate`` a second and ``max_requests`` in all.

    Attributes:
        exchanges: what was asked, in order.
        spent: how many animals may have been left behind.
        stopped: why no further request is sent, or None.
        never_served: whether the reason holds for all that was seen: the service could not be checked at all.
    """

    def __init__(
        self,
        connection: ServiceConnection,
        keys: Sequence[str],
        *,
        allow_create: int,
        rate: float,
        max_requests: int,
        timeout: float,
        receipt: str | PathLike[str] | None,
        progress: Callable[[str], None],
    ) -> None:
        self.exchanges: list[Exchange] = []
        self.spent = 0
        self.stopped: str | None = None
        self.never_served = False
        self._connection = connection
        self._keys = tuple(keys)
        self._key = 0
        self._worked: set[int] = set()
        self._allow_create = allow_create
        self._pause = 1 / rate
        self._max_requests = max_requests
        self._timeout = timeout
        self._progress = progress
        self._next = 0.0
        self._begun = RealTime.monotonic()
        self._server_errors = 0
        self._receipt: TextIO | None = None
        if receipt is not None:
            try:
                self._receipt = as_path(receipt, "receipt").open("a", encoding="utf-8")  # closed with the guest
            except OSError as error:
                raise PetStoreMockError(
                    f"expected a file to write receipts to; got receipt={receipt!r}: {error}"
                ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        if self._receipt is not None:
            self._receipt.close()

    # Asking

    @property
    def lost_key(self) -> str | None:
        """Why no request with a valid key can be sent, or None."""
        if self._key < len(self._keys):
            return None
        return "no further key was given (--api-key may be given twice), and the last one is refused"

    def ask(self, wanted: Request) -> Exchange:
        """Send the request of a probe, and return what came of it in the end.

        Raises:
            SkippedError: it can't be sent, by the user's limits.
            StoppedError: no further request is sent at all.
        """
        if wanted.key == "own" and self.lost_key:
            raise SkippedError(self.lost_key)
        exchange = self._send(wanted)
        if not self._any_readable:
            exchange = self._insist(exchange, wanted)
        if exchange.status == 429:
            exchange = self._try_later(exchange, wanted)
        if exchange.status == 401 and wanted.key == "own":
            exchange = self._renew_key(exchange, wanted)
        if self._failed(exchange) and wanted.method == "GET":
            exchange.notes.append("tried once more")
            exchange = self._send(wanted)
        if self._failed(exchange):
            self._confirm(exchange)
        if exchange.key is not None and exchange.key >= 0 and exchange.status in {200, 201, 400, 404}:
            self._worked.add(exchange.key)
        return exchange

    def _send(self, wanted: Request) -> Exchange:
        """Send one request, in its turn, whatever comes of it."""
        self._require_leave(wanted)
        self._await_turn()
        used = {"own": self._key, "none": None, "unknown": -1}.get(wanted.key)
        number = len(self.exchanges) + 1
        exchange = Exchange(number, wanted.probe, wanted.method, wanted.target, used, wanted.fields, wanted.body)
        exchange.credentials = credentials_of(wanted.key)
        if self._key:
            exchange.variable += f"_{self._key + 1}"
        self._progress(f"{number}  {exchange.line}")
        self.exchanges.append(exchange)
        if wanted.method == "POST":
            self.spent += 1  # until it is known that nothing was created
        timeout = self._timeout if self._any_readable else min(self._timeout, self._patience())
        key = self._keys[min(self._key, len(self._keys) - 1)]
        target = wanted.target.replace("{key}", key)
        fields = self._fields(wanted, exchange.credentials.replace("{key}", key))
        try:
            exchange.answer = self._connection.ask(wanted.method, target, fields, wanted.body, timeout=timeout)
        except FailedError as error:
            exchange.failure = error.failure
        finally:  # a Ctrl-C may have lost the answer
            if wanted.method == "POST":
                self._account(exchange)
        self._look_for_trouble(exchange)
        return exchange

    def _require_leave(self, wanted: Request) -> None:
        """Raise unless the user's limits allow a further request."""
        if len(self.exchanges) >= self._max_requests:
            raise SkippedError(f"--max-requests {self._max_requests} were sent")
        if self.stopped is not None:
            raise StoppedError(self.stopped)
        if wanted.method == "POST" and self.spent >= self._allow_create:
            why = "it would take writing: --allow-create N allows N animals to be left behind"
            raise SkippedError(f"the {self.spent} animals that --allow-create allows are there" if self.spent else why)

    def _await_turn(self) -> None:
        now = RealTime.monotonic()
        if now < self._next:
            sleep(self._next - now)
        self._next = max(now, self._next) + self._pause

    @staticmethod
    def _fields(wanted: Request, authorization: str) -> list[tuple[str, str]]:
        fields = [
            ("User-Agent", _AGENT),
            ("Accept", "application/json"),
            *wanted.fields,
            ("Accept-Encoding", "identity"),
        ]
        return [*fields, ("Authorization", authorization)] if authorization else fields

    def _look_for_trouble(self, exchange: Exchange) -> None:
        """Stop at the third 5xx, and where there is nothing but redirects."""
        if self._is_server_error(exchange):
            self._server_errors += 1
            if self._server_errors >= _MOST_5XX:
                self.stop(f"{_MOST_5XX} answers were 5xx, the last one {exchange.status} to {exchange.line}")
        if len(self.exchanges) >= _FIRST_TRIES and all(300 <= (one.status or 0) < 400 for one in self.exchanges):
            where = exchange.header("Location") or "nowhere"
            self.stop(f"every answer is a redirect, the last one {exchange.status} to {where}, and none is followed")
        if exchange.number == 1 and exchange.status == 400 and self._connection.speaks_tls(timeout=self._timeout):
            # Many servers say so in plain, and would to everything.
            self._end("that is a TLS port, which answers 400: the address begins with https://", never_served=True)

    def stop(self, why: str) -> None:
        """Send no further request."""
        self.stopped = why
        readable = [exchange.status for exchange in self.exchanges if exchange.status is not None]
        self.never_served = all(status >= 500 or status == 429 or 300 <= status < 400 for status in readable)

    def _end(self, why: str, *, never_served: bool = False) -> NoReturn:
        """Send no further request, and give the present one up."""
        self.stop(why)
        self.never_served |= never_served
        raise StoppedError(why)

    @staticmethod
    def _is_server_error(exchange: Exchange) -> bool:
        return exchange.status is not None and exchange.status >= 500

    def _failed(self, exchange: Exchange) -> bool:
        return exchange.failure is not None or self._is_server_error(exchange)

    # Before anything readable came

    @property
    def _any_readable(self) -> bool:
        return any(exchange.answer is not None for exchange in self.exchanges)

    def _patience(self) -> float:
        left = self._begun + _FIRST_ANSWER - RealTime.monotonic()
        return max(left / max(_FIRST_TRIES + 1 - len(self.exchanges), 1), 0.1)

    def _insist(self, exchange: Exchange, wanted: Request) -> Exchange:
        """Ask again, and for something else, before it is said that nobody answers."""
        again = self._send(wanted)
        other = wanted._replace(probe="get-anything", target="/pets/1")
        if again.answer is None and self._send(other).answer is None:
            self._end(f"nothing readable came: {exchange.came}{self._hint(exchange)}")
        return again

    def _hint(self, exchange: Exchange) -> str:
        failure = exchange.failure
        if failure is None:
            return ""
        if self._connection.is_tls:
            return next((hint for mark, hint in _TLS_HINTS.items() if mark in failure.words), "")
        return (
            " (if that is a TLS port, the address begins with https://)" if failure.kind in {"not_http", "cut"} else ""
        )

    # What an answer asks for

    def _try_later(self, exchange: Exchange, wanted: Request) -> Exchange:
        """Wait as long as a 429 asks, and ask again."""
        asked = exchange.header("Retry-After")
        wait = _wait_of(asked, http_timestamp(exchange.header("Date") or ""))
        if wait > _LONGEST_WAIT:
            self._end(f"429 to {exchange.line}, with 'Retry-After: {asked}'")
        self._progress(f"{exchange.number}  {exchange.line}  429, waiting {wait:g} s")
        sleep(wait)
        again = self._send(wanted)
        if again.status == 429:
            self._end(f"429 again after {wait:g} s to {exchange.line}")
        return again

    def _send_patiently(self, wanted: Request) -> Exchange:
        exchange = self._send(wanted)
        return self._try_later(exchange, wanted) if exchange.status == 429 else exchange

    def _renew_key(self, exchange: Exchange, wanted: Request) -> Exchange:
        """Find out whether a refused key is refused for good; go on with the next one if so."""
        while exchange.status == 401:
            # A key that has worked is asked for once; one that has not may be refused by one operation alone.
            for target in ("/pets?limit=1", "/pets/1")[: 1 if self._key in self._worked else 2]:
                asked = self._send_patiently(Request("key-again", "GET", target))
                if asked.status not in {None, 401}:
                    return exchange  # this request alone is refused, which its clause is to check
            self._key += 1
            if self.lost_key:
                if self._worked:
                    raise SkippedError(self.lost_key)
                why = "the key is refused from the first request on: check it, and that it is of this environment"
                self._end(why, never_served=True)
            exchange = self._send_patiently(wanted)
        return exchange

    def _confirm(self, exchange: Exchange) -> None:
        """Find out whether the service is there: else that a request failed says nothing of the contract."""
        for target in ("/pets?limit=1", "/pets/1"):
            key = "none" if self.lost_key else "own"
            control = self._send_patiently(Request("still-there", "GET", target, key))
            if control.status is not None and control.status < 500:
                exchange.confirmed = True
                return
        self._end(f"the service is no longer there: {control.came}")

    # What is left behind

    def _account(self, exchange: Exchange) -> None:
        """Note what a POST may have left behind."""
        if exchange.status is not None and 300 <= exchange.status < 500:
            self.spent -= 1
            return
        name = exchange.sent.get("name") if isinstance(exchange.sent, dict) else None
        ids = [pet["id"] for pet in exchange.pets]
        self._write({"id": ids[0] if ids else None, "name": name, "came": exchange.came})

    def _write(self, entry: dict[str, Any]) -> None:
        if self._receipt is None:
            return
        at = datetime.now(UTC).isoformat(timespec="seconds")
        text = json.dumps({"at": at, **entry}, ensure_ascii=False)
        self._receipt.write(redacted(text, self._keys) + "\n")
        self._receipt.flush()
        with contextlib.suppress(OSError):  # a pipe or a terminal
            os.fsync(self._receipt.fileno())


def _wait_of(value: str | None, now: float | None) -> float:
    """Return how many seconds ``Retry-After`` asks for (RFC 9110 §10.2.3)."""
    if value is not None and value.strip().isdecimal():
        return float(value)
    until = http_timestamp(value or "")
    return _UNTOLD_WAIT if until is None else max(until - (time.time() if now is None else now), 0.0)
