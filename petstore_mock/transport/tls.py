"""A server's TLS: contexts, and the words for a failed handshake."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from petstore_mock.common.refusing import refuse

if TYPE_CHECKING:
    from os import PathLike

# Returns the server context for a kind of certificate fault. An empty kind means a valid certificate.
ServerTls = Callable[[str], ssl.SSLContext]

# How alerts that reject a certificate start (RFC 8446 §6.2).
_DISTRUST: Final = ("bad certificate", "certificate", "unknown ca")


def server_context() -> ssl.SSLContext:
    """Return a server context without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # No tickets: a resumed session shows no certificate, and would skip a fault.
    # TLS 1.2 also resumes by session ID, but only in the same context. Each certificate has its own context.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    return context


def own_context(certificate: str | PathLike[str], key: str | PathLike[str] | None) -> ssl.SSLContext:
    """Return a server context with the user's certificate; if ``key`` is None, its PEM file has the key too."""
    context = server_context()
    try:
        # Otherwise OpenSSL asks for it at the terminal.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except OSError as error:
        key_file = "none" if key is None else repr(str(key))
        refuse(
            "expected PEM files with a certificate and its unencrypted private key; "
            f"got certificate={str(certificate)!r}, key={key_file}: {error}"
        )
    return context


def words_of(error: Exception) -> str:
    """Return a sentence that says why a handshake failed."""
    if not isinstance(error, ssl.SSLError):
        # asyncio and uvloop abort the connection if the handshake takes too long.
        is_slow = isinstance(error, TimeoutError) or "taking longer" in str(error)
        ending = "was too slow" if is_slow else "closed the connection"
        return f"handshake failed: the client {ending}"
    alert = (error.reason or "").partition("_ALERT_")[2].lower().replace("_", " ")
    if alert.startswith(_DISTRUST):
        return f"handshake failed: the client does not trust the certificate ({alert})"
    return f"handshake failed: {alert or error.reason or error}"
