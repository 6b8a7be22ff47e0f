"""Faults of the TLS handshake, modelled on https://badssl.com. Connections meet them, not requests.

They need ``PetStoreMock(tls=True)``. When you plan such a fault, the fake closes idle connections at once and busy ones
after their response. It also sends no session tickets, so every client meets the fault. A client that checks the
certificate sends no request over such a connection.
"""

# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false
# The decorators make the faults. The functions only declare the arguments of their kinds.

from __future__ import annotations

from petstore_mock.faults.fault import Fault, breaks_handshake

__all__ = ["expired", "handshake_hang", "handshake_reset", "untrusted_root", "wrong_host"]


@breaks_handshake("the service's certificate had expired (RFC 5280 §4.1.2.5)", breaks_certificate=True)
def expired() -> Fault:
    """Show a certificate that was valid until 2016."""


@breaks_handshake("the service's certificate was for another host (RFC 9110 §4.3.4)", breaks_certificate=True)
def wrong_host() -> Fault:
    """Show a valid certificate of another host."""


@breaks_handshake("the service's certificate led to an unknown root (RFC 5280 §6.1)", breaks_certificate=True)
def untrusted_root() -> Fault:
    """Show a certificate for this host from an unknown authority, with the certificate of that authority."""


@breaks_handshake("the service reset the connection in the TLS handshake")
def handshake_reset() -> Fault:
    """Reset the connection (ECONNRESET) after the ClientHello."""


@breaks_handshake("the service never responded in the TLS handshake", waits=True)
def handshake_hang() -> Fault:
    """Never respond to the ClientHello. The fault ends when the client leaves, at a reset, or when the test ends."""
