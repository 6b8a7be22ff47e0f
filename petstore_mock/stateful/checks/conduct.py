"""How a client behaves beyond single requests: connections, timeouts, keys that go astray."""

from __future__ import annotations

import contextlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from petstore_mock.stateful.checks.output import key_is_absent
from petstore_mock.stateful.checks.representation import form_in_repr
from petstore_mock.stateful.checks.requests import MOST_REQUESTS, TOO_MANY, left_out_the_key
from petstore_mock.stateful.model.call import QUIETLY, Problem
from petstore_mock.stateful.model.key_forms import PLAIN, form_in, forms
from petstore_mock.stateful.model.retry_after import hint_of, seconds_told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from petstore_mock.core.world_registry import Leak
    from petstore_mock.journal.entry import Entry
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.model.actor import Actor
    from petstore_mock.stateful.model.call import Call, Outcome

__all__ = [
    "MOST_CONNECTIONS",
    "connections_problem",
    "earlier_key_problem",
    "key_in_error_problem",
    "leak_problem",
    "runaway_problem",
    "standstill_problem",
    "stray_problem",
    "timeout_problem",
]

# A client that makes one call at a time needs one connection, and may hold some more in its pool.
MOST_CONNECTIONS: Final = 5
_DEEPEST: Final = 10  # exceptions of a chain
_STANDSTILL_SHOWN: Final = 5  # seconds that a pasted test waits for a call; more than Retry-After asks for


def stray_problem(
    call: Call, entries: Sequence[Entry], others: Iterable[Actor], *, shared: bool = False, threads: bool = False
) -> Problem | None:
    """Return a request that reached another client's world, beside ``entries`` that reached its own.

    Where clients have threads that ask by themselves (``shared``), nobody knows that it was of this call; and where the
    call has asked its own world, a thread (``threads``) or a task that goes on since an earlier call may have sent it.
    """
    for other in others:
        found = other.petstore.journal[other.seen :]
        other.seen += len(found)
        is_its_own = shared or (bool(entries) and (threads or other.client.tasks_go_on))
        for stray in () if is_its_own else found:
            if left_out_the_key(stray, entries):  # what has no key belongs to the world that was opened last
                continue
            check = (
                f"before = len({other.world}.journal)",
                *QUIETLY,
                f"assert len({other.world}.journal) == before",
            )
            how = "without this client's key" if stray.condition is not None else "with the key of another client"
            words = "the API key is sent as a bearer token, on every operation"
            return Problem(f"{call} sent {stray.method} {stray.target} {how}", "5", words, check)
    return None


def earlier_key_problem(call: Call, outcome: Outcome, leftovers: Sequence[Leak]) -> Problem | None:
    """Return a request that bore the key of a client before this one, and got it refused.

    Args:
        call: what was asked of the client, which sent nothing with its own key.
        outcome: what came of it.
        leftovers: the requests that bore such a key; without the refusal they may be of a thread that is left over.
    """
    bearing = [leak for leak in leftovers if leak.bore_key]
    if outcome.kind != HTTPStatus.UNAUTHORIZED or not bearing:
        return None
    check = (
        *QUIETLY,
        "with {petstore}.fresh() as later:",
        "    with contextlib.suppress(Exception):",
        f"        make_client(later).{call.code()}",
        f"    assert any(entry.status != {HTTPStatus.UNAUTHORIZED} for entry in later.journal), 'not its own key'",
    )
    words = "the API key is sent as a bearer token: each client's own, whatever its class or module holds"
    return Problem(f"{call} sent {bearing[-1].request} with the key of an earlier client", "5", words, check)


def leak_problem(call: Call, actor: Actor, elsewhere: PetStoreMock | None) -> Problem | None:
    """Return a request that carried the key to where a redirection pointed."""
    if elsewhere is None:
        return None
    secrets = [form.encode() for form in forms(actor.petstore.api_key)]
    for entry in elsewhere.journal:
        sent = [*(value for _, value in entry.request.fields), entry.request.body]
        if any(secret in part for secret in secrets for part in sent):
            words = (
                "the key is this service's: a client that follows a redirection to another origin (host:port) "
                "leaves it out (RFC 9110 §15.4)"
            )
            check = (
                *QUIETLY,
                "assert not any('authorization' in entry.headers for entry in elsewhere.journal)",
            )
            return Problem(
                f"{call} followed a redirection and sent the API key to another origin (host:port)", "5", words, check
            )
    return None


def key_in_error_problem(call: Call, outcome: Outcome, key: str) -> Problem | None:
    """Return an exception that holds the key: what it says ends in logs and reports."""
    link, path = outcome.error, "error"
    for _ in range(_DEEPEST):
        if link is None:
            return None
        form = _held(link, key)
        how, told = "text", "told = ''.join(traceback.format_exception(error))"
        if form is None:
            form = form_in_repr(link, key)
            how, told = "representation", f"told = repr({path})"
        if form is not None:
            name = type(link).__name__
            where = "" if link is outcome.error else f", and the {name} behind it"
            check = (
                "try:",
                "    {call}",
                "except Exception as error:",
                f"    {told}",
                f"    {key_is_absent('told', form)}",
            )
            words = "the API key is sent as a bearer token; what an exception says ends in logs and reports"
            as_it_is = "" if form == PLAIN else f" {form}"
            sentence = f"{call} raised {type(outcome.error).__name__}{where} with the API key{as_it_is} in its {how}"
            return Problem(sentence, "5", words, check)
        path += ".__context__" if link.__cause__ is None else ".__cause__"
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return None


def _held(error: BaseException, key: str) -> str | None:
    """Return the form in which the key stands in what an exception says.

    A request that hangs on it (aiohttp's) says nothing.
    """
    texts = [str(note) for note in getattr(error, "__notes__", ())]
    with contextlib.suppress(Exception):  # its text may be a client's own
        texts.append(str(error))
    return next((form for form in (form_in(text, key) for text in texts) if form is not None), None)


def runaway_problem(call: Call, entries: Sequence[Entry]) -> Problem:
    """Return what is wrong with a call that had to be ended by force."""
    check = (
        "before = len({journal})",
        "",
        "def ask() -> None:",
        "    with contextlib.suppress(Exception):",
        "        {call}",
        "",
        "endless = threading.Thread(target=ask, daemon=True)",
        "endless.start()",
        "endless.join(1)",
        f"assert len({{journal}}) - before <= {MOST_REQUESTS}",
    )
    last = entries[-1]
    came = f"answered {last.status}" if last.status is not None else "not answered"
    return Problem(f"{call} asked again without an end while it was {came}", "8", TOO_MANY, check)


def standstill_problem(
    call: Call, seconds: float, entries: Sequence[Entry], *, again: bool, limit: float | None = None
) -> Problem:
    """Return what is wrong with a call that had to be ended after it had done nothing for ``seconds``.

    Args:
        call: what was asked of the client.
        seconds: how long it did nothing.
        entries: its requests.
        again: whether the first to stand still was given longer.
        limit: seconds that it may wait at most when it is told to wait for longer, if somebody says so.
    """
    told = seconds_told(entries[-1]) if entries else None
    shown = _STANDSTILL_SHOWN if limit is None else limit + (told.within(limit) if told else 0)
    check = (
        "def ask() -> None:",
        "    with contextlib.suppress(Exception):",
        "        {call}",
        "",
        "waiting = threading.Thread(target=ask, daemon=True)",
        "waiting.start()",
        f"waiting.join({shown:g})",
        "assert not waiting.is_alive(), 'waits for ever'",
    )
    sentence = f"{call} neither returned nor sent a request for {seconds:g} s"
    if entries:
        last = entries[-1]
        came = f"was answered {last.status}" if last.status is not None else "had lost its answer"
        sentence = f"{call} neither returned nor went on for {seconds:g} s after it {came}"
    section = "1"
    words = (
        "whatever went wrong before, a call comes to an end: what an earlier call took, a lock or a connection of the "
        "pool, is to be given back when it fails"
    )
    if entries:
        words += ", and a pause before it asks again is one of seconds"
        hint = f"'Retry-After: {hint_of(entries[-1])}'"
        if told is not None and told.by_service < seconds < told.by_client:
            sentence += f" with {hint} and 'Date: {entries[-1].response_headers['date']}'"
            words = (
                "it waits by its own clock; by the service's, which Date shows, it was told to wait for "
                f"{told.by_service:.1f} s"
            )
            section = "RFC 9110 §10.2.3, §6.6.1"
        elif told is not None and limit is not None:
            sentence += f" with {hint}"
            words = f"longest_wait={limit:g} s: a client that is told to wait for longer tells its caller so instead"
            section = "RFC 9110 §10.2.3"
    if again:
        words += "; the first that stood still was given longer, so that later ones are ended sooner"
    return Problem(sentence, section, words, check)


def timeout_problem(call: Call, patience: float, waited: float) -> Problem:
    """Return what is wrong with a call that the watchdog had to end after it had ``waited``."""
    check = (
        f"released = threading.Timer({patience:g}, {{petstore}}.reset)",
        "started = time.monotonic()",  # before the timer's, which may take its time to start
        "released.start()",
        *QUIETLY,
        "waited = time.monotonic() - started",
        "released.cancel()",
        f"assert waited < {patience:g}, 'no timeout'",
    )
    words = f"a service that hangs must not hang its clients; no timeout ended the call within patience={patience:g} s"
    if waited < patience:
        words += ", so that later hangs were ended sooner"
    return Problem(f"{call} waited for an answer that never came", "1", words, check)


def connections_problem(call: Call, count: int) -> Problem:
    """Return what is wrong with a client that holds ``count`` connections open."""
    check = (
        *QUIETLY,
        f"assert {{petstore}}.httpserver.open_connections <= {MOST_CONNECTIONS}",
    )
    words = f"a client that makes one call at a time needs one connection, and is granted {MOST_CONNECTIONS}"
    return Problem(f"{call} left {count} connections open", "RFC 9112 §9.4", words, check)
