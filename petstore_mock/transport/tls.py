"""A server's TLS: contexts, and the handshake with its faults."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.refusing import refuse
from petstore_mock.transport.delivery import call_in_loop, reset_on_close

if TYPE_CHECKING:
    from os import PathLike

    from petstore_mock.http.handler import TlsPlan

_HANDSHAKE: Final = b"\x16"  # the type of a record that holds a ClientHello (RFC 8446 §5.1)
_NO_TLS: Final = "this port speaks TLS, and the client sent plain HTTP; use https://"
_PATIENCE: Final = 10.0  # seconds for a client to shake hands
_SHUTDOWN: Final = 2.0  # seconds for a client's close_notify
# Alerts that reject a certificate begin so (RFC 8446 §6.2).
_DISTRUST: Final = ("bad certificate", "certificate", "unknown ca")
_wait_for = asyncio.wait_for  # bound here, because tests replace the public name

# Returns the server context for a flaw of the certificate.
ServerTls = Callable[[str | None], ssl.SSLContext]


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
        context.load_cert_chain(certificate, key, password=lambda: "")  # else OpenSSL asks at the terminal
    except (OSError, ssl.SSLError) as error:
        refuse(
            "expected PEM files with a certificate and its unencrypted private key; "
            f"got certificate={str(certificate)!r}, key={None if key is None else str(key)!r}: {error}"
        )
    return context


def words_of(error: Exception) -> str:
    """Return a sentence that says why a handshake failed."""
    if not isinstance(error, ssl.SSLError):
        ending = "was too slow" if isinstance(error, TimeoutError) else "closed the connection"
        return f"handshake failed: the client {ending}"
    alert = (error.reason or "").partition("_ALERT_")[2].lower().replace("_", " ")
    if alert.startswith(_DISTRUST):
        return f"handshake failed: the client does not trust the certificate ({alert})"
    return f"handshake failed: {alert or error.reason or error}"


async def handshake(
    sock: socket.socket, tls: ServerTls, opened: Callable[[], TlsPlan | None], connect: Callable[..., Any]
) -> None:
    """Do the TLS handshake, or the fault that ``opened`` returns, and connect the socket. Raises OSError."""
    loop = asyncio.get_running_loop()
    try:
        first = await _wait_for(_peek(loop, sock), _PATIENCE)
        plan = opened() if first == _HANDSHAKE else None
        if first != _HANDSHAKE:  # plain HTTP gets a response, so that the client can read the reason
            await loop.connect_accepted_socket(partial(connect, _NO_TLS), sock)
        elif plan is not None and plan.flaw in {"handshake_hang", "handshake_reset"}:
            reset_on_close(sock)
            if plan.flaw == "handshake_hang":
                await _hang(loop, sock, plan)
            sock.close()
        else:
            options = {"ssl_handshake_timeout": _PATIENCE, "ssl_shutdown_timeout": _SHUTDOWN}
            context = tls(None if plan is None else plan.flaw)
            await loop.connect_accepted_socket(connect, sock, ssl=context, **options)
    except BaseException:
        sock.close()
        raise


async def _peek(loop: asyncio.AbstractEventLoop, sock: socket.socket) -> bytes:
    """Return the first byte of a client without removing it; empty if the client closed."""
    readable = asyncio.Event()
    loop.add_reader(sock, readable.set)
    try:
        await readable.wait()
        return sock.recv(1, socket.MSG_PEEK)
    finally:
        loop.remove_reader(sock)


async def _hang(loop: asyncio.AbstractEventLoop, sock: socket.socket, plan: TlsPlan) -> None:
    """Send nothing until the client closes, or a reset of the world cancels this task."""
    cancel = getattr(asyncio.current_task(), "cancel")  # noqa: B009  # it is never None here
    release = partial(call_in_loop, loop, cancel)  # any thread may call it, at any time
    plan.pending.add(release)
    try:
        while await loop.sock_recv(sock, 65536):
            pass
    finally:
        plan.pending.discard(release)
