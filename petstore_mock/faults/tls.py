"""Faults of the TLS handshake, after the cases of https://badssl.com: connections meet them, not requests.

They need ``PetStoreMock(tls=True)``. The fake closes kept connections when one is planned and sends no session tickets,
so that every client meets it. A client that checks the certificate sends no request over such a connection.
"""

from __future__ import annotations

from petstore_mock.faults.fault import Fault, make

__all__ = ["expired", "handshake_hang", "handshake_reset", "untrusted_root", "wrong_host"]


def expired() -> Fault:
    """Show a certificate that was valid until 2016."""
    return make("tls.expired")


def wrong_host() -> Fault:
    """Show a sound certificate of another host."""
    return make("tls.wrong_host")


def untrusted_root() -> Fault:
    """Show a certificate for this host by an unknown authority, and that authority's own."""
    return make("tls.untrusted_root")


def handshake_reset() -> Fault:
    """Reset the connection (ECONNRESET) when the client says hello."""
    return make("tls.handshake_reset")


def handshake_hang() -> Fault:
    """Never respond to the client's hello. Ends when the client closes the connection, or with the test."""
    return make("tls.handshake_hang")
