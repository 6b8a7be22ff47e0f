"""Faults of the TLS handshake, after the cases of https://badssl.com: connections meet them, not requests.

They need ``PetStoreMock(tls=True)``. The fake closes kept connections when one is planned and sends no session tickets,
so that every client meets it. A client that checks the certificate sends no request over such a connection.
"""

# mypy: disable-error-code="empty-body"
# pyright: reportReturnType=false
# The decorators make the faults: a function says which arguments its kind has.

from __future__ import annotations

from petstore_mock.faults.fault import Fault, loses

__all__ = ["expired", "handshake_hang", "handshake_reset", "untrusted_root", "wrong_host"]


@loses("the service's certificate had expired (RFC 5280 §4.1.2.5)")
def expired() -> Fault:
    """Show a certificate that was valid until 2016."""


@loses("the service's certificate was for another host (RFC 9110 §4.3.4)")
def wrong_host() -> Fault:
    """Show a sound certificate of another host."""


@loses("the service's certificate led to an unknown root (RFC 5280 §6.1)")
def untrusted_root() -> Fault:
    """Show a certificate for this host by an unknown authority, and that authority's own."""


@loses("the service reset the connection in the TLS handshake")
def handshake_reset() -> Fault:
    """Reset the connection (ECONNRESET) when the client says hello."""


@loses("the service never responded in the TLS handshake", waits=True)
def handshake_hang() -> Fault:
    """Never respond to the client's hello. Ends when the client closes the connection, or with the test."""
