"""TLS on one connection: what comes off the wire is decrypted for HTTP, what HTTP sends is encrypted.

It runs OpenSSL on memory (``ssl.MemoryBIO``) rather than let asyncio do it: so it learns of every handshake, of those
that fail most of all, can spoil one on purpose, and works alike on asyncio's loop and uvloop's.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import TYPE_CHECKING, Any, Final, cast

from petstore_mock.errors import PetStoreMockError
from petstore_mock.transport.client_hello import MOST, server_name_of
from petstore_mock.transport.tcp_connection import READ_SIZE, disown, reset

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from petstore_mock.messages.handshake import Flaw, Handshake
    from petstore_mock.transport.http_connection import HttpConnection

__all__ = ["ServerTls", "TlsLayer", "own_context", "server_context"]

_HANDSHAKE: Final = 22  # the type of a record that holds a ClientHello (RFC 8446 §5.1)
_RETRY: Final = 0.01  # seconds
_RECORD: Final = 16 * 1024  # bytes: no record decrypts to more (RFC 8446 §5.1)
_ALERTS: Final = ("SSLV3_ALERT_", "TLSV1_ALERT_", "TLSV13_ALERT_")  # how OpenSSL says that the client sent one


class ServerTls:
    """How a server speaks TLS.

    Args:
        context: gives the context for what a fault does to the certificate; None for a sound one.
        began: told of each handshake by the number of its connection, in the loop's thread; decides about its fault.
    """

    def __init__(self, context: Callable[[Flaw | None], ssl.SSLContext], began: Callable[[int], Handshake]) -> None:
        self.began = began
        self.layers: set[TlsLayer] = set()  # those that HTTP is spoken over
        self._context = context

    @property
    def context(self) -> ssl.SSLContext:
        """The context with a sound certificate."""
        return self._context(None)

    def wrap(self, flaw: Flaw | None, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO) -> ssl.SSLObject:
        """Return a server's side of a connection whose bytes come and go through memory."""
        return self._context(flaw).wrap_bio(incoming, outgoing, server_side=True)

    def retire_all(self) -> None:
        """Let every connection end that has been made so far, after the answer that it is busy with."""
        for layer in list(self.layers):
            layer.retire()


def server_context() -> ssl.SSLContext:
    """Return a server's context, still without a certificate, and without session tickets.

    A session that is resumed shows no certificate, and so would dodge a fault. Under TLS 1.2 one may be resumed by its
    number, but only in the context that it began in: another certificate is another context.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION  # OpenSSL 1.1 lets clients ask for the latter
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    return context


def own_context(certificate: str | PathLike[str], key: str | PathLike[str] | None) -> ssl.SSLContext:
    """Return a server's context with a certificate of the user's own.

    Args:
        certificate: a PEM file with the certificate, and with those that lead from it to its root.
        key: a PEM file with its private key; None if that is in the same file.

    Raises:
        PetStoreMockError: the files hold no certificate and its key.
    """
    context = server_context()
    try:
        context.load_cert_chain(certificate, key, password=_ask_nobody)
    except (OSError, ssl.SSLError) as error:
        raise PetStoreMockError(
            "expected PEM files with a certificate and its private key, which is not encrypted; "
            f"got certificate={str(certificate)!r}, key={None if key is None else str(key)!r}: {error}"
        ) from None
    return context


def _ask_nobody() -> str:
    """Give no password: OpenSSL would ask for one at the terminal, and wait."""
    return ""


class TlsLayer(asyncio.Protocol, asyncio.Transport):
    """A connection's TLS: a protocol to the TCP connection below, a transport to the HTTP connection above.

    Args:
        tls: how the server speaks TLS.
        loop: the loop that runs it.
        number: which connection it is.
        connections: where it enters itself until the HTTP connection does.
        make: makes the HTTP connection, once there is something for it to speak over.
        patience: seconds within which the handshake must be done.
    """

    def __init__(
        self,
        tls: ServerTls,
        loop: asyncio.AbstractEventLoop,
        *,
        number: int,
        connections: set[Any],
        make: Callable[[], HttpConnection],
        patience: float,
    ) -> None:
        super().__init__()
        self._tls = tls
        self._loop = loop
        self.number = number
        self._connections = connections
        self._make = make
        self._patience = patience
        self._handshake: Handshake | None = None  # from its first byte on
        self._hello = b""  # what the client sent first, until the host that it names is known
        self._above: HttpConnection | None = None  # once it is done
        self._timer: asyncio.TimerHandle | None = None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object: ssl.SSLObject
        self._tcp: asyncio.Transport
        self._ended = False  # we have sent our last byte, or the client has
        self._eof = False  # the connection above knows that the client sends no more

    # What the TCP connection calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; the client speaks first."""
        with contextlib.suppress(AttributeError):  # as in tcp_connection
            transport.max_size = READ_SIZE  # type: ignore[attr-defined]
        self._tcp = cast("asyncio.Transport", transport)
        self._connections.add(self)
        self._timer = self._loop.call_later(self._patience, self._time_out)

    def data_received(self, data: bytes) -> None:
        """Decrypt what came, and hand it up; or go on with the handshake."""
        above = self._above
        if above is None:
            self._shake(data)
        elif self._ended:
            above.data_received(data)  # it drops what comes, and counts it
        else:
            self._incoming.write(data)
            self._read(above)

    def eof_received(self) -> bool | None:
        """Learn that the client sends no more, whether it has said so under TLS or not."""
        above = self._above
        if above is None:
            self._fail("closed")
            return None
        if self._eof:
            return True  # it is the connection above that closes
        self._eof = True
        return above.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._ended = True
        above = self._above
        if above is None:
            self._record("reset by the client" if isinstance(exc, ConnectionResetError) else "closed")
            self._leave()
        else:
            self._tls.layers.discard(self)
            above.connection_lost(exc)

    def pause_writing(self) -> None:
        """Hand on that the client does not take what was sent."""
        if self._above is not None:
            self._above.pause_writing()

    def resume_writing(self) -> None:
        """Hand on that it does."""
        if self._above is not None:
            self._above.resume_writing()

    # The handshake

    def _shake(self, data: bytes) -> None:
        """Take a step of the handshake."""
        if self._handshake is None:
            if data[0] != _HANDSHAKE:
                self._refuse_plain(data)
                return
            self._handshake = self._tls.began(self.number)
            self._note_name(self._handshake, data)
            if self._is_spoilt(self._handshake):
                return
            self._object = self._tls.wrap(self._handshake.flaw, self._incoming, self._outgoing)
        elif self._handshake.server_name is None:
            self._note_name(self._handshake, data)
        if self._ended:
            return
        handshake = self._handshake
        self._incoming.write(data)
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
        except (ssl.SSLError, OSError) as error:
            self._flush()  # the alert that says why
            self._fail(self._alert_of(error) or f"failed: {getattr(error, 'reason', None) or error}")
            self._tcp.close()
        else:
            self._flush()
            cipher = self._object.cipher()
            handshake.version, handshake.cipher = self._object.version(), cipher[0] if cipher else None
            self._record("complete")
            self._leave()
            self._hello = b""
            self._above = above = self._make()
            self._tls.layers.add(self)
            above.connection_made(self)
            self._read(above)

    def _note_name(self, handshake: Handshake, data: bytes) -> None:
        """Take note of the host that the client names, which may come in several parts."""
        if len(self._hello) <= MOST:
            self._hello += data
            handshake.server_name = server_name_of(self._hello)

    def _is_spoilt(self, handshake: Handshake) -> bool:
        """Let a fault that needs no certificate have the handshake; say whether one does."""
        if handshake.flaw == "handshake_reset":
            self._fail("reset")
            self._reset()
        elif handshake.flaw == "handshake_hang":
            self._fail("hang")
            self._leave()
            self._connections.add(self)  # it is still to be ended
            if handshake.pending is not None:
                handshake.pending.add(self._release)
        return self._ended

    def _alert_of(self, error: Exception) -> str | None:
        """Take note of the alert that the client sent, if that is what went wrong; return the outcome then."""
        reason = getattr(error, "reason", None) or ""
        for prefix in _ALERTS:
            if reason.startswith(prefix) and self._handshake is not None:
                self._handshake.alert = reason.removeprefix(prefix).lower()
                return "alert"
        return None

    def _refuse_plain(self, data: bytes) -> None:
        """Answer a client that speaks plain HTTP in plain HTTP, so that it can read what is wrong."""
        self._leave()
        above = self._make()
        self._tcp.set_protocol(above)
        above.connection_made(self._tcp)
        above.refuse_plain_http(data)

    def _record(self, outcome: str) -> None:
        if self._handshake is not None:
            self._handshake.settle(outcome)

    def _fail(self, outcome: str) -> None:
        self._record(outcome)
        self._ended = True

    def _leave(self) -> None:
        """Be no connection of the server's any more: there is another in its place, or none."""
        self._connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._handshake is not None and self._handshake.pending is not None:
            self._handshake.pending.discard(self._release)

    def _time_out(self) -> None:
        self._fail("timed out")
        self._tcp.abort()

    def _release(self) -> None:
        """End a handshake that a fault holds up; any thread may call this, at any time."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and every connection with it
            self._loop.call_soon_threadsafe(self._reset)

    def _reset(self) -> None:
        if not self._tcp.is_closing():
            reset(self._tcp)

    # Decrypting and encrypting

    def _read(self, above: HttpConnection) -> None:
        parts = []
        ended = False
        try:
            while part := self._object.read(_RECORD):
                parts.append(part)
            ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:  # it has said that it sends no more (RFC 8446 §6.1)
            ended = True
        except ssl.SSLError as error:
            self._alert_of(error)  # some clients check the certificate only now
            self._flush()
            self.abort()
            return
        self._flush()
        if parts:
            above.data_received(parts[0] if len(parts) == 1 else b"".join(parts))
        if ended and not self._eof:
            self._eof = True
            if not self._ended and not above.eof_received():
                self.close()

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._tcp.write(self._outgoing.read())

    def _end(self) -> None:
        """Say that we send no more, under TLS; once."""
        if not self._ended:
            self._ended = True
            with contextlib.suppress(ssl.SSLError):  # the client need not answer (RFC 8446 §6.1)
                self._object.unwrap()
            self._flush()

    def retire(self) -> None:
        """Close as soon as nothing is being asked or answered."""
        if self._above is not None and not self.is_closing():
            self._above.close_if_idle()
            if not self.is_closing():
                self._loop.call_later(_RETRY, self.retire)

    # What the HTTP connection calls

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and send ``data``."""
        if self._ended or not data:
            return
        done = self._object.write(data)
        if done < len(data):  # a record at a time
            rest = memoryview(data)[done:]
            while rest:
                rest = rest[self._object.write(rest) :]
        self._tcp.write(self._outgoing.read())

    def write_eof(self) -> None:
        """Say that nothing more comes, under TLS and on TCP."""
        self._end()
        self._tcp.write_eof()

    def close(self) -> None:
        """Send what is still to be sent, and close."""
        self._end()
        self._tcp.close()

    def abort(self) -> None:
        """Close at once, without a word."""
        self._ended = True
        self._tcp.abort()

    def is_closing(self) -> bool:
        """Whether it is closed or being closed."""
        return self._tcp.is_closing()

    def pause_reading(self) -> None:
        """Take nothing more from the client."""
        self._tcp.pause_reading()

    def resume_reading(self) -> None:
        """Go on taking."""
        self._tcp.resume_reading()

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the client has not taken yet."""
        return self._tcp.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  # asyncio's signature
        """Return what the TCP connection says, and TLS itself."""
        return self._object if name == "ssl_object" else self._tcp.get_extra_info(name, default)

    # What the server calls before there is an HTTP connection

    def shut(self) -> None:
        """End the connection at once: the server stops."""
        self._tcp.abort()

    def sweep(self, _now: float, _stood_still: float) -> None:
        """Do nothing: the handshake has a timer of its own."""

    def close_if_idle(self) -> None:
        """Do nothing: who shakes hands is not idle."""

    def disown(self) -> None:
        """Close the descriptor and no more: in the child of a fork, the connection is the parent's."""
        disown(self._tcp)
