"""Faults of the TLS handshake, after the cases of https://badssl.com: they meet connections, not requests.

They need ``PetStoreMock(tls=True)``. Kept connections are closed when one is planned, and there are no session tickets,
so that no client dodges it; one that has met no connection fails the test, with ``times=`` and without. A client that
checks what it ought to sends no request over a connection with one of these certificates.
"""

from __future__ import annotations

from petstore_mock.faults.kinds import (
    Expired,
    HandshakeHang,
    HandshakeReset,
    IncompleteChain,
    NotYetValid,
    SelfSigned,
    UntrustedRoot,
    WrongHost,
)

__all__ = [
    "expired",
    "handshake_hang",
    "handshake_reset",
    "incomplete_chain",
    "not_yet_valid",
    "self_signed",
    "untrusted_root",
    "wrong_host",
]


def expired() -> Expired:
    """Show a certificate that was valid until 2016."""
    return Expired()


def not_yet_valid() -> NotYetValid:
    """Show a certificate that is valid from 2090 on."""
    return NotYetValid()


def wrong_host() -> WrongHost:
    """Show a sound certificate of another host."""
    return WrongHost()


def self_signed() -> SelfSigned:
    """Show a certificate for this host that it has signed itself."""
    return SelfSigned()


def untrusted_root() -> UntrustedRoot:
    """Show a certificate for this host by an authority that nobody trusts, and that authority's own."""
    return UntrustedRoot()


def incomplete_chain() -> IncompleteChain:
    """Show a certificate by an intermediate authority, and leave that one's out."""
    return IncompleteChain()


def handshake_reset() -> HandshakeReset:
    """Reset the connection (ECONNRESET) when the client says hello."""
    return HandshakeReset()


def handshake_hang() -> HandshakeHang:
    """Never answer the client's hello. Ends when the client closes, or with the test."""
    return HandshakeHang()
