"""A run of the probes. It keeps the user's limits, waits after 429, and ends early if the service fails."""

from __future__ import annotations

import json
import secrets
from collections import Counter
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
    from collections.abc import Callable, Iterator, Mapping

    Progress = Callable[[str], object]
    Limits = Mapping[str, float]
    Texts = Mapping[str, str]

_MOST_BODY: Final = 8 * MEBIBYTE
# Seconds. A longer Retry-After ends the run.
_LONGEST_WAIT: Final = 60.0
# Seconds. Four such timeouts end the run of a silent service within half a minute.
_FIRST_TIMEOUT: Final = 7.0
# The limit for timeouts of an operation, requests with a 5xx, redirects, and reads of a created animal.
_FEW: Final = 3
# The number of probes that read odd animals.
_ODD: Final = 3
# A random id below it is probably unused, and every JSON parser reads it exactly.
_FAR: Final = 2**52
# First letters that put names in another order than ids.
_ORDER: Final = "mcxhqakvtdzbnjwfrepyglous"
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
        for pet in pets:
            category: object = pet.get("categoryId")
            if not self._has_category and is_integer(category) and category > 0:
                self.category = category
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
        self.url = url.rstrip("/")
        self.began = iso(time())
        # Every exchange, in order.
        self.seen: list[Seen] = []
        # Their statuses. 0 stands for a response without a readable head.
        self._statuses: set[int] = set()
        # The exchanges that are checked against the clauses.
        self.checked: list[Seen] = []
        # The probes without a result, with the reason.
        self.skipped: list[tuple[Probe, str]] = []
        # The id (None if no response showed it) and the name of each animal that may have been created.
        self.left: list[tuple[int | None, str]] = []
        # Why the run ended early.
        self.stopped = ""
        # Masked in every report.
        self.secrets = (*keys, *headers.values())
        self._shown = ShownPets()
        self._name = f"Verify{secrets.token_hex(3)}"
        self._absent = secrets.randbelow(_FAR // 2) + _FAR // 2
        self._headers = headers
        self._keys = keys
        self._limits = limits
        self._progress = progress
        # The index of the key in use.
        self._key = 0
        # How often each operation timed out.
        self._silences: Counter[str] = Counter()
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
        return bool(self._statuses - {0})

    def send_all(self) -> None:
        """Send every probe that the user's limits and the service allow."""
        with self._receipt or nullcontext(), closing(self._connection):
            try:
                for probe in PROBES:
                    self._try(probe)
            except KeyboardInterrupt:
                self.stopped = "interrupted by Ctrl-C"

    def _try(self, probe: Probe) -> None:
        """Send a probe if it is needed. Read an animal that it created."""
        is_needless = probe.is_last_resort and History(self.checked).accepts_plain
        if self.stopped or is_needless:
            return
        seen = self._show(probe)
        if seen is not None and seen.effect == "creates" and seen.pets:
            self._read_back(seen.pets[0]["id"])

    def _read_back(self, pet_id: int) -> None:
        removed = {seen.operation.name for seen in self.seen if seen.is_removed}
        reading = next(probe for probe in READ_BACK if probe.operation.name not in removed)
        for _ in range(self._reads_of_created()):
            view = self._show(reading)
            if view is None or view.shows(pet_id):
                return

    def _reads_of_created(self) -> int:
        """Return how often to read a created animal. It may appear late (gap visibility)."""
        views = [seen for seen in self.checked if seen.probe.expected == "made"]
        was_seen = any(view.pets for view in views)
        return _FEW if was_seen or len(views) < 2 * _FEW else 1

    def _show(self, probe: Probe) -> Seen | None:
        """Send a probe and keep the exchange for the clauses. Return None for a skipped probe."""
        count_before = len(self.seen)
        try:
            seen = self._ask(self._filled(probe))
        except SkippedError as error:
            # Confirmed failures break clauses. The others are an outage or come from the user's limits.
            new = self.seen[count_before:]
            self.checked += [failed for failed in new if failed.confirmed]
            self.skipped.append((probe, str(error)))
            return None
        self.checked.append(seen)
        return seen

    def _filled(self, probe: Probe) -> Probe:
        """Return a probe with values for its placeholders."""
        pets = self._shown
        number = len(self.checked)
        name = f"{self._name}{_ORDER[number % len(_ORDER)]}{number}"
        values = {
            "absent": self._absent,
            "known": pets.known,
            "categoryId": pets.category,
            "label": name,
            "long label": name.ljust(LONG_NAME, "x"),
        }
        for place, pet in enumerate(pets.odd, 1):
            values[f"odd{place}"] = pet["id"]
        if pets.made:
            values["made"] = pets.made[-1]
        target = _replaced(probe.target, values)
        if "{made}" in target:
            raise SkippedError("no animal was created")
        if "{" in target:
            raise SkippedError("no list showed enough animals")
        return replace(probe, target=target, body=_replaced(probe.body, values))

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
            self._confirm(seen)
        return seen

    def _confirm(self, seen: Seen) -> None:
        """End the run if a failure is an outage. It breaks a clause only if the service responds to other requests."""
        controls = self._control()
        seen.confirmed = any(control.responds for control in controls)
        if seen.confirmed:
            return
        if self._is_readable:
            self._end(f"the service stopped responding: {controls[-1].came}")
        self._end(f"no readable response arrived: {seen.came} ({_hint(self._connection)})")

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
            header = f"with 'Retry-After: {cut(value, 100)}'" if value else "without Retry-After"
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
            if any(control.status not in {0, 401} for control in self._control()):
                # Only this operation refuses the key, which breaks a clause.
                self._refusing.add(probe.operation.name)
                return seen
            self._key += 1
            if self._key >= len(self._keys):
                self._end_without_key()
            seen = self._send_patiently(probe)
        return seen

    def _end_without_key(self) -> NoReturn:
        with_key = [seen for seen in self.seen if seen.probe.has_key]
        if any(seen.status not in {0, 401, 429} for seen in with_key):
            raise SkippedError(_KEY_LOST)
        self._end(_KEY_REFUSED)

    # One request

    def _send(self, probe: Probe) -> Seen:
        self._require_leave(probe)
        # Reports show a request without the key and without the values of the user's header fields.
        hidden = self._request(probe, "***", dict.fromkeys(self._headers, "***"))
        exchange = Exchange(len(self.seen) + 1, None, hidden, time())
        exchange.secure = self._connection.is_tls
        self._progress(f"{exchange.number}  {exchange.method} {probe.target}")
        key = self._keys[min(self._key, len(self._keys) - 1)]
        request = self._request(probe, key, self._headers)
        left = max(self._end_at - monotonic(), 0.001)
        timeout = min(left, self._patience())
        failure = None
        try:
            exchange.response = self._connection.send(request, timeout=timeout)
        except FailedError as error:
            failure = error
            exchange.response = error.response
        finally:
            # The service may execute a create although Ctrl-C loses its response.
            seen = self._keep(Seen(exchange, probe, failure, self._shown.made))
        if seen.is_silent and timeout == left:
            raise SkippedError(self._late)
        self._look_for_trouble(seen)
        return seen

    def _patience(self) -> float:
        """Return the seconds for a response. A service that is silent from the start ends the run sooner."""
        timeout = self._limits["timeout"]
        return timeout if self._is_readable else min(timeout, _FIRST_TIMEOUT)

    def _keep(self, seen: Seen) -> Seen:
        """Keep an exchange, with what it says about animals."""
        self.seen.append(seen)
        self._statuses.add(seen.status)
        self._shown.add(seen)
        self._silences[seen.operation.name] += seen.is_silent
        if seen.effect == "creates":
            self._account(seen)
        if seen.effect == "removes" and seen.is_success:
            self.left = [(pet_id, name) for pet_id, name in self.left if str(pet_id) != seen.pet_id]
        return seen

    def _require_leave(self, probe: Probe) -> None:
        """Wait until the rate allows the request. Raise SkippedError if a limit forbids it."""
        obstacle = next(self._obstacles(probe), None)
        if obstacle is not None:
            raise SkippedError(obstacle)
        sleep(max(self._next - monotonic(), 0.0))
        self._next = monotonic() + 1 / self._limits["rate"]

    def _obstacles(self, probe: Probe) -> Iterator[str]:
        """Yield each reason not to send a probe, the most general first."""
        operation = probe.operation
        most_requests = self._limits["max_requests"]
        most_animals = self._limits["allow_create"]
        if self.stopped:
            yield self.stopped
        if len(self.seen) >= most_requests:
            yield f"the limit --max-requests {most_requests} is reached"
        if operation.commits and not most_animals:
            yield "creating animals needs --allow-create"
        if operation.effect == "creates" and len(self.left) >= most_animals:
            yield f"the limit --allow-create {most_animals} is reached"
        if self._silences[operation.name] >= _FEW:
            yield f"{operation.name} timed out {_FEW} times"
        if probe.expected == "open" and self._crashes(is_open=True) >= _FEW:
            yield f"{_FEW} unusual requests got a 5xx"
        if self._end_at <= max(self._next, monotonic()):
            yield self._late

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
        name = str(seen.sent.get("name", ""))
        pet_id = seen.pets[0]["id"] if seen.pets else None
        self.left.append((pet_id, name))
        if self._receipt is not None:
            entry = {"at": iso(seen.exchange.timestamp), "id": pet_id, "name": name, "response": seen.came}
            self._receipt.write(hide(json.dumps(entry, ensure_ascii=False), self.secrets) + "\n")

    def _crashes(self, *, is_open: bool) -> int:
        """Return the number of probes that got a 5xx. A retry does not count again."""
        crashed = {seen.probe for seen in self.seen if seen.status >= 500}
        return len([probe for probe in crashed if (probe.expected == "open") is is_open])

    def _look_for_trouble(self, seen: Seen) -> None:
        """End the run if more requests would show nothing new."""
        if self._crashes(is_open=False) >= _FEW:
            self.stopped = f"{_FEW} requests got a 5xx, the last one was {seen.line}: {seen.status}"
        if len(self.seen) >= _FEW and self._statuses <= {*range(300, 400)}:
            where = seen.header("Location") or "no Location"
            self.stopped = f"every response is a redirect, such as {seen.status} to {where}; verify follows none"
        # A port that speaks TLS may respond so to plain HTTP.
        is_bare_400 = seen.status == 400 and "json" not in seen.header("Content-Type")
        if is_bare_400 and seen.number == 1 and not self._connection.is_tls:
            self._end(f"the first response is {seen.came} ({_hint(self._connection)})")


def _opened(receipt: object) -> TextIO:
    try:
        return as_path(receipt, "receipt").open("a", buffering=1, encoding="utf-8")
    except OSError as error:
        refuse(f"expected a writable file for receipts; got receipt={receipt!r}: {error}")


def _replaced(text: str, values: Mapping[str, object]) -> str:
    for word, value in values.items():
        text = text.replace(f"{{{word}}}", f"{value}")
    return text


def _retry_after(seen: Seen) -> float:
    """Return the seconds to wait after a 429. Without a readable Retry-After, it is one second."""
    value = seen.header("Retry-After")
    if value.isdecimal():
        return float(value)
    until = seconds_of(value) if value else None
    if until is None:
        return 1.0
    now = seconds_of(seen.header("Date")) or time()
    return max(until - now, 0.0)


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
