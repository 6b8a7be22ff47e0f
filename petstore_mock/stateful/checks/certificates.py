"""What a client makes of a service that can't prove who it is: it must send nothing, and not wait for ever."""

from __future__ import annotations

import ssl
import threading
from typing import TYPE_CHECKING, Final

from petstore_mock.errors import PetStoreMockError
from petstore_mock.faults import tls
from petstore_mock.stateful.model.call import Problem
from petstore_mock.stateful.watchdog import attempt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from petstore_mock.faults.kinds import HandshakeFault
    from petstore_mock.mock.petstore import PetStoreMock
    from petstore_mock.stateful.model.adapter import AdaptedClient
    from petstore_mock.stateful.model.call import Outcome
    from petstore_mock.stateful.watchdog import Watchdog

__all__ = [
    "FLAWS",
    "accepted_problem",
    "require_trust",
    "sends_over",
    "waiting_problem",
    "waits_in_handshake",
]

# What is wrong with each certificate, as it stands in a sentence. First those that are taken by whoever checks little.
FLAWS: Final[dict[str, str]] = {
    "wrong_host": "was for another host",
    "expired": "had expired",
    "untrusted_root": "led to a root that nobody trusts",
}


def require_trust(outcome: Outcome) -> None:
    """Raise unless a client trusts the mock's own, sound certificate.

    Raises:
        PetStoreMockError: it does not, so that nothing else can be asked of it.
    """
    error: BaseException | None = outcome.error
    behind = list(_chain(error))
    if any(isinstance(one, ssl.SSLError) for one in behind) or "CERTIFICATE_VERIFY_FAILED" in str(error):
        raise PetStoreMockError(
            "expected make_client to make a client that trusts the mock, by petstore.tls.client_context() or "
            f"petstore.tls.ca_path; its first call raised {type(error).__name__}: {error}"
        )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and those behind it, wherever a library has put them."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__, getattr(one, "reason", None), *one.args]


def sends_over(
    fault: HandshakeFault, petstore: PetStoreMock, client: AdaptedClient, watchdog: Watchdog
) -> Outcome | None:
    """Let a client list animals over connections with a flaw; return what came of it if it sent anything."""
    with petstore.inject(fault) as handle:
        handle.required = False
        outcome = attempt(watchdog, petstore, "listPets", client.list_pets)
    return outcome if petstore.journal else None


def accepted_problem(flaws: Sequence[str]) -> Problem:
    """Return what is wrong with a client that sent its request over connections with these flaws."""
    first, *others = flaws
    also = f"; so it did where it {' or '.join(FLAWS[flaw] for flaw in others)}" if others else ""
    sentence = f"list_pets() sent its request, with the key, to a service whose certificate {FLAWS[first]}{also}"
    words = (
        "a client verifies dates, chain and host name of a certificate before it sends anything: "
        "else its key goes to whoever answers"
    )
    check = (
        f"{{petstore}}.inject({getattr(tls, first)().code()})",
        "with contextlib.suppress(Exception):",
        "    {client}.list_pets()",
        f"assert not {{petstore}}.journal, 'a request was sent to a service whose certificate {FLAWS[first]}'",
    )
    return Problem(sentence, "RFC 9110 §4.3.4", words, check)


def waits_in_handshake(petstore: PetStoreMock, client: AdaptedClient, watchdog: Watchdog) -> Outcome | None:
    """Let a client meet a handshake that hangs; return what came of it if it had to be ended."""
    ended = threading.Event()

    def end() -> None:
        ended.set()
        petstore.tenant.world.let_go()  # as reset() lets held answers go

    timer = threading.Timer(watchdog.patience, end)
    timer.daemon = True
    timer.start()
    try:
        with petstore.inject(tls.handshake_hang(), times=1) as handle:
            handle.required = False
            outcome = attempt(watchdog, petstore, "listPets", client.list_pets)
    finally:
        timer.cancel()
    return outcome if ended.is_set() else None


def waiting_problem(patience: float) -> Problem:
    """Return what is wrong with a client that waited for ``patience`` seconds, until the handshake was ended."""
    check = (
        "{petstore}.inject(faults.tls.handshake_hang(), times=1)",
        f"end = threading.Timer({patience!r}, {{petstore}}.stop)",
        "began = time.monotonic()",  # before the timer's, which may take its time to start
        "end.start()",
        "with contextlib.suppress(Exception):",
        "    {client}.list_pets()",
        "seconds = time.monotonic() - began",
        "end.cancel()",
        f"assert seconds < {patience!r}, 'the client has no timeout in the TLS handshake'",
    )
    words = "a client has a timeout for the TLS handshake as well as for the answer"
    return Problem(
        f"list_pets() waited for {patience:g} s in a TLS handshake that the service never answered",
        "RFC 9112 §9.5",
        words,
        check,
    )
