"""A TLS handshake: what a fault may do to it, and what came of it. No I/O."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Literal, get_args

from petstore_mock.errors import PetStoreMockError

if TYPE_CHECKING:
    from petstore_mock.messages.deferred import DeferredResponses

__all__ = ["CERTIFICATE_FLAWS", "Flaw", "Handshake"]

# The cases of badssl.com; then those that need no certificate.
CertificateFlaw = Literal["expired", "wrong_host", "untrusted_root"]
Flaw = Literal[CertificateFlaw, "handshake_reset", "handshake_hang"]
CERTIFICATE_FLAWS: Final[tuple[CertificateFlaw, ...]] = get_args(CertificateFlaw)
_RUNNING: Final = "running"


class Handshake:
    """One connection's TLS handshake, as the service saw it.

    Attributes:
        connection: the number of the connection, the same as that of the requests that came over it.
        flaw: what a fault did to it, by the fault's name; None for nothing.
        server_name: the host that the client named (SNI, RFC 6066 §3), what is not ASCII in it escaped; None for none,
            as for an address, which has no such name.
        version: the version of TLS that was agreed upon, such as ``TLSv1.3``; None as long as there is none.
        cipher: the cipher suite, likewise.
        alert: the alert that the client sent (RFC 8446 §6), such as ``unknown_ca`` or ``bad_certificate``; None for
            none. Some clients check a certificate after the handshake, and close without a word.
        outcome: ``complete``, ``alert``, ``reset``, ``hang``, ``timed out``, ``closed`` or ``reset by the client``
            (half-way), ``failed: ...``; ``running`` until then.
        pending: where it is entered while a fault holds it up; internal.
    """

    __slots__ = ("_settled", "alert", "cipher", "connection", "flaw", "outcome", "pending", "server_name", "version")

    connection: int
    flaw: Flaw | None
    server_name: str | None
    version: str | None
    cipher: str | None
    alert: str | None
    outcome: str
    pending: DeferredResponses | None

    def __init__(self, connection: int, flaw: Flaw | None = None, pending: DeferredResponses | None = None) -> None:
        self.connection = connection
        self.flaw = flaw
        self.server_name = None
        self.version = None
        self.cipher = None
        self.alert = None
        self.outcome = _RUNNING
        self._settled = threading.Event()
        self.pending = pending

    def settle(self, outcome: str) -> None:
        """Take note of what came of it; the first word counts."""
        if self.outcome == _RUNNING:
            self.outcome = outcome
            self._settled.set()

    def has_settled(self, timeout: float) -> bool:
        """Say whether it has come to something, waiting ``timeout`` seconds for that."""
        return self._settled.wait(timeout)

    def wait(self, timeout: float = 1.0) -> Handshake:
        """Return the handshake once it has come to something: a client may raise before its alert is here.

        Raises:
            PetStoreMockError: it is still running after ``timeout`` seconds.
        """
        if not self.has_settled(timeout):
            raise PetStoreMockError(f"expected a handshake that ends within timeout={timeout:g} s; got {self}")
        return self

    @property
    def complete(self) -> bool:
        """Whether both sides got to the end of it."""
        return self.outcome == "complete"

    def __str__(self) -> str:
        fault = f"fault {self.flaw}(): " if self.flaw is not None else ""
        alert = f", the client sent the alert {self.alert}" if self.alert is not None else ""
        agreed = f" ({self.version})" if self.version is not None else ""
        return f"{fault}TLS handshake of connection {self.connection}: {self.outcome}{agreed}{alert}"

    def __repr__(self) -> str:
        return f"<{self}>"
