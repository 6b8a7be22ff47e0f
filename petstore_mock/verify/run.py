"""A run of the probes. It keeps the user's limits, waits after 429, and ends early if the service fails."""

from __future__ import annotations

import json
import secrets
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO
from urllib.request import getproxies, proxy_bypass

from petstore_mock.common.dates import iso, seconds_of
from petstore_mock.common.masking import cut, hide
from petstore_mock.common.real import monotonic, sleep, time
from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import as_path, is_integer
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.journal.exchange import Exchange
from petstore_mock.transport.client import MEBIBYTE, Connection, FailedError
from petstore_mock.verify.probes import CONTROLS, LONG_NAME, PROBES, READ_BACK, Probe
from petstore_mock.verify.seen import History, Seen, oddness

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Progress = Callable[[str], object]
    Limits = Mapping[str, float]
    Texts = Mapping[str, str]

_MOST_BODY: Final = 8 * MEBIBYTE
_LONGEST_WAIT: Final = 60.0  # seconds; a longer Retry-After ends the run
# Seconds. Four such timeouts end the run of a silent service within half a minute.
_FIRST_TIMEOUT: Final = 7.0
# The limit for timeouts of an operation, requests with a 5xx, redirects, and reads of a created animal.
_FEW: Final = 3
# The number of probes that read odd animals.
_ODD: Final = 3
_FAR: Final = 2**52  # a random id below it is probably unused, and every JSON parser reads it exactly
_ORDER: Final = "mcxhqakvtdzbnjwfrepyglous"  # first letters that put names in another order than ids
_PLAIN_FIELDS: Final = {
    "User-Agent": "petstore-mock-verify",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
}
OWN_FIELDS: Final = frozenset(
    {"host", "authorization", "content-type", "content-length", *(name.lower() for name in _PLAIN_FIELDS)}
)
_KEY_LOST: Final = "the service no longer accepts the last key"
_KEY_REFUSED: Final = "the service refused the key from the start: check the key, and that it is for this service"


class SkippedError(Exception):
    """A probe has no result. The message is the reason."""


class ShownPets:
    """What the responses showed so far, as values for the next probes."""

    def __init__(self) -> None:
        # If no response showed an animal, 1 is a guess.
        self.known = 1
        self.category = 1
        # The animals of lists whose values services most often change by mistake.
        self.odd: list[dict[str, Any]] = []
        # The ids of the animals that the run created.
        self.made: list[int] = []
        self._was_listed = False
        self._has_category = False

    def add(self, seen: Seen) -> None:
        if not seen.pets:
            return
        if seen.effect == "creates":
            self.made.append(seen.pets[0]["id"])
        elif seen.effect == "lists":
            self.known = seen.pets[-1]["id"]
            self._was_listed = True
            self._add_listed(seen.pets)
        elif not self._was_listed:
            self.known = seen.pets[-1]["id"]

    def _add_listed(self, pets: list[dict[str, Any]]) -> None:
        categories = (pet.get("categoryId") for pet in pets)
        valid = next((category for category in categories if is_integer(category) and category > 0), None)
        if valid is not None and not self._has_category:
            self.category = valid
            self._has_category = True
        by_id: dict[int, dict[str, Any]] = {}
        for pet in sorted([*self.odd, *pets], key=oddness, reverse=True):
            by_id.setdefault(pet["id"], pet)
        self.odd = [*by_id.values()][:_ODD]


class Run:
    """Sends the probes, one at a time and within the user's limits."""

    def __init__(
        self, url: str, keys: tuple[str, ...], headers: Texts, limits: Limits, *, receipt: object, progress: Progress
    ) -> None:
        self._connection = Connection(url, most_body=_MOST_BODY)
        self.url, self.began = url.rstrip("/"), iso(time())
        self.seen: list[Seen] = []  # every exchange, in order
        self._shown = ShownPets()
        self.checked: list[Seen] = []  # the exchanges that are checked against the clauses
        self.skipped: list[tuple[Probe, str]] = []  # the probes without a result, with the reason
        # The id (None if no response showed it) and the name of each animal that may have been created.
        self.left: list[tuple[int | None, str]] = []
        self.stopped = ""  # why the run ended early
        self.secrets = (*keys, *headers.values())  # masked in every report
        self._name = f"Verify{secrets.token_hex(3)}"
        self._absent = secrets.randbelow(_FAR // 2) + _FAR // 2
        self._headers = headers
        self._keys, self._limits, self._progress = keys, limits, progress
        self._key = 0  # the index of the key in use
        # Operations that refuse a key, although other operations accept it.
        self._refusing: set[str] = set()
        self._next = monotonic()  # the earliest time of the next request
        self._end_at = self._next + limits["deadline"]
        self._receipt: TextIO | None = None
        try:
            if receipt is not None:
                self._receipt = as_path(receipt, "receipt").open("a", buffering=1, encoding="utf-8")
        except OSError as error:
            refuse(f"expected a writable file for receipts; got receipt={receipt!r}: {error}")

    @property
    def never_served(self) -> bool:
        """Whether the run ended early and without a single 2xx or 404."""
        return bool(self.stopped) and not any(200 <= one.status < 300 or one.status == 404 for one in self.seen)

    def send_all(self) -> None:
        """Send every probe that the user's limits and the service allow."""
        with self._receipt or nullcontext(), closing(self._connection):
            try:
                for probe in PROBES:
                    is_needed = not probe.is_last_resort or not History(self.checked).accepts_plain
                    if is_needed and not self.stopped:
                        seen = self._show(probe)
                        if seen is not None and seen.effect == "creates" and seen.pets:
                            self._read_back(seen.pets[0]["id"])
            except KeyboardInterrupt:
                self.stopped = "interrupted by Ctrl-C"

    def _read_back(self, pet_id: int) -> None:
        removed = {view.operation.name for view in self.seen if view.is_removed}
        reading = next(probe for probe in READ_BACK if probe.operation.name not in removed)
        views = [view for view in self.checked if view.probe.expected == "made"]
        is_hopeless = len(views) >= 2 * _FEW and not any(view.pets for view in views)
        for _ in range(1 if is_hopeless else _FEW):  # the animal may appear late (gap visibility)
            view = self._show(reading)
            if view is None or any(pet["id"] == pet_id for pet in view.pets):
                return

    def _show(self, probe: Probe) -> Seen | None:
        """Send a probe and keep the exchange for the clauses. Return None for a skipped probe."""
        before = len(self.seen)
        try:
            seen = self._ask(self._filled(probe))
        except SkippedError as error:
            # Confirmed failures break clauses. The others are an outage or come from the user's limits.
            self.checked += [one for one in self.seen[before:] if one.confirmed]
            self.skipped.append((probe, str(error)))
            return None
        self.checked.append(seen)
        return seen

    def _filled(self, probe: Probe) -> Probe:
        """Return a probe with values for its placeholders."""
        shown_pets, number = self._shown, len(self.checked)
        name = f"{self._name}{_ORDER[number % len(_ORDER)]}{number}"
        values = {
            "absent": self._absent,
            "known": shown_pets.known,
            "categoryId": shown_pets.category,
            "label": name,
            "long label": name.ljust(LONG_NAME, "x"),
            **{f"odd{place}": pet["id"] for place, pet in enumerate(shown_pets.odd, 1)},
        }
        if shown_pets.made:
            values["made"] = shown_pets.made[-1]
        target, body = probe.target, probe.body
        for word, value in values.items():
            target, body = target.replace(f"{{{word}}}", f"{value}"), body.replace(f"{{{word}}}", f"{value}")
        if "{" in target:
            raise SkippedError("no animal was created" if "{made}" in target else "no list showed enough animals")
        return replace(probe, target=target, body=body)

    # Retries

    def _ask(self, probe: Probe) -> Seen:
        """Send a request with its retries, and return the last exchange."""
        if probe.has_key and self._key >= len(self._keys):
            raise SkippedError(_KEY_LOST)
        seen = self._send_patiently(probe)
        if seen.status == 401 and probe.has_key:
            seen = self._renew_key(seen, probe)
        if seen.has_failed and probe.operation.method == "GET":
            seen = self._send(probe)
        if seen.has_failed:
            controls = self._control()
            # The failure breaks a clause only if the service responds to other requests. Otherwise it is an outage.
            seen.confirmed = any(one.status and (one.failure or one.status < 500) for one in controls)
            if not seen.confirmed:
                is_gone = any(one.status for one in self.seen)
                never = f"no readable response arrived: {seen.came} ({_hint(self._connection)})"
                self._end(f"the service stopped responding: {controls[-1].came}" if is_gone else never)
        return seen

    def _end(self, why: str) -> NoReturn:
        self.stopped = why
        raise SkippedError(why)

    def _send_patiently(self, probe: Probe) -> Seen:
        """Send a request. After a 429, wait as long as Retry-After says and send the request again."""
        seen = self._send(probe)
        if seen.status != 429:
            return seen
        given = seen.header("Retry-After")
        asked = given or "1"
        until, now = seconds_of(asked), seconds_of(seen.header("Date")) or time()
        wait = float(asked) if asked.isdecimal() else 1.0 if until is None else max(until - now, 0.0)
        if wait > min(_LONGEST_WAIT, self._end_at - monotonic()):
            header = f"with 'Retry-After: {cut(given, 100)}'" if given else "without Retry-After"
            self._end(f"{seen.line} got 429 {header}; a wait of {wait:g} s is too long for the run")
        sleep(wait)
        again = self._send(probe)
        if again.status == 429:
            self._end(f"{seen.line} got 429 again after a wait of {wait:g} s")
        return again

    def _control(self) -> list[Seen]:
        """Send the requests that show whether the service still responds and accepts the key."""
        return [self._send_patiently(probe) for probe in CONTROLS]

    def _renew_key(self, seen: Seen, probe: Probe) -> Seen:
        """Continue with the next key if every operation refuses this one."""
        while seen.status == 401 and probe.operation.name not in self._refusing:
            if any(one.status not in {0, 401} for one in self._control()):
                # Only this operation refuses the key, which breaks a clause.
                self._refusing.add(probe.operation.name)
                return seen
            self._key += 1
            if self._key >= len(self._keys):
                if any(one.probe.has_key and one.status not in {0, 401, 429} for one in self.seen):
                    raise SkippedError(_KEY_LOST)
                self._end(_KEY_REFUSED)
            seen = self._send_patiently(probe)
        return seen

    # One request

    def _send(self, probe: Probe) -> Seen:
        self._require_leave(probe)
        failure, left = None, max(self._end_at - monotonic(), 0.001)
        # Reports show a request without the key and without the values of the user's header fields.
        hidden = self._request(probe, "***", dict.fromkeys(self._headers, "***"))
        exchange = Exchange(len(self.seen) + 1, None, hidden, time())
        exchange.secure = self._connection.is_tls
        self._progress(f"{exchange.number}  {exchange.method} {probe.target}")
        is_readable = any(one.status for one in self.seen)
        timeout = min(self._limits["timeout"], left, left if is_readable else _FIRST_TIMEOUT)
        try:
            request = self._request(probe, self._keys[min(self._key, len(self._keys) - 1)], self._headers)
            exchange.response = self._connection.send(request, timeout=timeout)
        except FailedError as error:
            failure, exchange.response = error, error.response
        finally:  # the service may execute a create although Ctrl-C loses its response
            seen = Seen(exchange, probe, failure, self._shown.made)
            self.seen.append(seen)
            self._shown.add(seen)
            if seen.effect == "creates":
                self._account(seen)
            if seen.effect == "removes" and seen.is_success:
                self.left = [one for one in self.left if str(one[0]) != seen.pet_id]
        if seen.is_silent and timeout == left:
            raise SkippedError(self._late)
        self._look_for_trouble(seen)
        return seen

    def _require_leave(self, probe: Probe) -> None:
        """Wait until the rate allows the request. Raise SkippedError if a limit forbids it."""
        limits, operation = self._limits, probe.operation
        silences = [one for one in self.seen if one.is_silent and one.operation is operation]
        is_full = operation.effect == "creates" and len(self.left) >= limits["allow_create"]
        is_open = probe.expected == "open"
        reasons = {
            self.stopped: self.stopped,
            f"the limit --max-requests {limits['max_requests']} is reached": len(self.seen) >= limits["max_requests"],
            "creating animals needs --allow-create": operation.commits and not limits["allow_create"],
            f"the limit --allow-create {limits['allow_create']} is reached": is_full,
            f"{operation.name} timed out {_FEW} times": len(silences) >= _FEW,
            f"{_FEW} unusual requests got a 5xx": is_open and self._crashes(is_open=True) >= _FEW,
            self._late: self._end_at <= max(self._next, monotonic()),
        }
        for why, is_so in reasons.items():
            if is_so:
                raise SkippedError(why)
        sleep(max(self._next - monotonic(), 0.0))
        self._next = monotonic() + 1 / limits["rate"]

    @property
    def _late(self) -> str:
        return f"the limit --deadline {self._limits['deadline']:g} s is reached"

    def _request(self, probe: Probe, key: str, headers: Texts) -> ApiRequest:
        body = probe.body.encode()
        fields = [("Host", self._connection.host), *_PLAIN_FIELDS.items(), *headers.items()]
        if probe.key:
            fields.append(("Authorization", probe.key.replace("{key}", key)))
        if probe.operation.body:
            fields += [("Content-Type", probe.media_type), ("Content-Length", str(len(body)))]
        return ApiRequest(probe.operation.method, self._connection.base + probe.target, Fields.of(fields), body)

    def _account(self, seen: Seen) -> None:
        """Note the animal that a create may have added, and write its receipt."""
        if seen.is_refusal or 300 <= seen.status < 400:
            return
        name, pet_id = str(seen.sent.get("name", "")), seen.pets[0]["id"] if seen.pets else None
        self.left.append((pet_id, name))
        if self._receipt is not None:
            entry = {"at": iso(seen.exchange.timestamp), "id": pet_id, "name": name, "response": seen.came}
            self._receipt.write(hide(json.dumps(entry, ensure_ascii=False), self.secrets) + "\n")

    def _crashes(self, *, is_open: bool) -> int:
        crashed = {one.probe for one in self.seen if one.status >= 500}  # a retry counts once
        return sum((probe.expected == "open") is is_open for probe in crashed)

    def _look_for_trouble(self, seen: Seen) -> None:
        """End the run if more requests would show nothing new."""
        if self._crashes(is_open=False) >= _FEW:
            self.stopped = f"{_FEW} requests got a 5xx, the last one was {seen.line}: {seen.status}"
        if len(self.seen) >= _FEW and all(300 <= one.status < 400 for one in self.seen):
            where = seen.header("Location") or "no Location"
            self.stopped = f"every response is a redirect, such as {seen.status} to {where}; verify follows none"
        is_json = "json" in seen.header("Content-Type")
        if seen.number == 1 and seen.status == 400 and not is_json and not self._connection.is_tls:
            self._end(f"the first response is {seen.came} ({_hint(self._connection)})")


def _hint(connection: Connection) -> str:
    """Return a hint for a service without a readable response. The address of a proxy may hold a password."""
    words = "if this port speaks TLS, use https://"
    if connection.is_tls:
        words = "if this port speaks no TLS, use http://; to trust another certificate authority, set SSL_CERT_FILE"
    scheme = "https" if connection.is_tls else "http"
    if scheme not in getproxies() or proxy_bypass(connection.peer[0]):
        return words
    proxy = f"{scheme.upper()}_PROXY is set, but verify uses no proxy: run it with direct access to the service"
    return f"{words}; {proxy}"
