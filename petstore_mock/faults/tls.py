"""Faults of the TLS handshake, after the cases of https://badssl.com: they meet connections, not requests.

They need ``PetStoreMock(tls=True)``. Kept connections are closed when one is planned, and there are no session tickets,
so that no client dodges it; one that has met no connection fails the test, with ``times=`` and without. A client that
checks what it ought to sends no request over a connection with one of these certificates.
"""

from __future__ import annotations

from petstore_mock.faults.kinds import HandshakeFault

__all__ = [
    "expired",
    "handshake_hang",
    "handshake_reset",
    "untrusted_root",
    "wrong_host",
]


def expired() -> HandshakeFault:
    """Show a certificate that was valid until 2016."""
    return HandshakeFault("expired")


def wrong_host() -> HandshakeFault:
    """Show a sound certificate of another host."""
    return HandshakeFault("wrong_host")


def untrusted_root() -> HandshakeFault:
    """Show a certificate for this host by an authority that nobody trusts, and that authority's own."""
    return HandshakeFault("untrusted_root")


def handshake_reset() -> HandshakeFault:
    """Reset the connection (ECONNRESET) when the client says hello."""
    return HandshakeFault("handshake_reset")


def handshake_hang() -> HandshakeFault:
    """Never answer the client's hello. Ends when the client closes, or with the test."""
    return HandshakeFault("handshake_hang")
