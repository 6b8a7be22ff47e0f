"""What the worlds of one mock share: the registry of keys, the WSGI app and the listener."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from petstore_mock.common.door_path import DOOR_PATH
from petstore_mock.common.masking import cut
from petstore_mock.contract.interface import BASE_PATH
from petstore_mock.core.world_registry import Worlds
from petstore_mock.errors import PetStoreMockError
from petstore_mock.transport import no_proxy
from petstore_mock.transport.wsgi import WsgiApp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_httpserver import RequestHandler

    from petstore_mock.control.mount import ControlMount
    from petstore_mock.core.cors import Cors
    from petstore_mock.core.tenant import Tenant
    from petstore_mock.mock.tls import Tls
    from petstore_mock.transport.listener import Listener

__all__ = ["Host"]

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_SHOWN_UNMET: Final = 5  # expectations of a kind that are told one by one
_SHOWN_MATCHER: Final = 500  # characters: a matcher shows the whole body that it wants


class Host:
    """The way in to the worlds of one mock.

    Args:
        address: the address to listen on.
        port: the port; 0 takes a free one.
        cors: which pages of other origins may use the service.
        tls: whether to listen with TLS.

    Attributes:
        tls: its certificates; None without TLS.

    Raises:
        PetStoreMockError: trustme, which makes certificates, is not installed.
    """

    def __init__(self, address: str, port: int, cors: Cors | None, *, tls: bool) -> None:
        self.worlds = Worlds(cors, tls=tls)
        self.tls: Tls | None = None
        if tls:
            from petstore_mock.mock.tls import Tls  # noqa: PLC0415  # an extra, and heavy

            self.tls = Tls(address)
        self.app = WsgiApp(self.worlds)
        self._address = address
        self._port = port
        self._control: ControlMount | None = None
        self._listener: Listener | None = None
        self._process: int | None = None  # that listens; the child of a fork has all of this but the listener

    @property
    def listener(self) -> Listener:
        """The listener, made on first use: its imports are the heaviest of the package."""
        if self._listener is None:
            from petstore_mock.transport.listener import Listener  # noqa: PLC0415

            tls = None
            if self.tls is not None:
                from petstore_mock.transport.tls_connection import ServerTls  # noqa: PLC0415

                tls = ServerTls(self.tls.context, self.worlds.handshake_began)
            self._listener = Listener(
                self.worlds,
                self._address,
                self._port,
                mounted=self._control,
                tls=tls,
                reserved=self.worlds.takes_no_expectation,
            )
            self.worlds.renew_connections = self._listener.wire.renew_connections
        return self._listener

    def open_control(self, tenant: Tenant) -> None:
        """Open the control door to the world of ``tenant``, and to those that are made by address.

        Raises:
            PetStoreMockError: the address can be reached from other machines, where a token would be needed.
        """
        from petstore_mock.control.admission import Admission  # noqa: PLC0415  # most mocks have none
        from petstore_mock.control.mount import door_of  # noqa: PLC0415  # as above
        from petstore_mock.core.tenants import Tenants  # noqa: PLC0415

        if self._address not in _LOOPBACK:
            raise PetStoreMockError(
                f"expected host to be one of {', '.join(_LOOPBACK)} with control=True; got host={self._address!r}: "
                "'petstore-mock serve --control' opens the door further out, with a token"
            )
        self._control = door_of(
            Tenants(tenant),
            Admission(),
            mounted_by=lambda: self.listener.wire,
            service=None,
        )

    @property
    def control_url(self) -> str:
        """The address of the control door.

        Raises:
            PetStoreMockError: the door is closed, or nobody listens.
        """
        if self._control is None:
            raise PetStoreMockError("expected a mock with a control door: PetStoreMock(control=True)")
        return f"{self.url.removesuffix(BASE_PATH)}{DOOR_PATH}/"

    @property
    def is_listening(self) -> bool:
        """Whether clients can connect."""
        return self._listener is not None and self._listener.is_running()

    @property
    def url(self) -> str:
        """The base address, ending in ``/v1`` (§1).

        Raises:
            PetStoreMockError: nobody listens.
        """
        if not self.is_listening and self._process not in {None, os.getpid()}:
            raise PetStoreMockError(
                "expected the process that made the mock listen; this one was forked from it, and its animals, faults "
                "and journal are copies that no client meets: read url and api_key before, and hand them over as text"
            )
        if not self.is_listening:
            raise PetStoreMockError(
                "expected a mock that listens: use 'with PetStoreMock() as petstore:' or start(); .app needs neither"
            )
        return str(self.listener.url_for(BASE_PATH))

    def start(self) -> None:
        """Listen; harmless when it listens already.

        Raises:
            PetStoreMockError: the address is taken.
        """
        if not self.is_listening:
            self.listener.start()
            self._process = os.getpid()
            no_proxy.exempt(self._address)

    def stop(self) -> None:
        """Stop listening; harmless when it does not listen."""
        if self.is_listening:
            self.listener.stop()
            self._process = None
            no_proxy.unexempt(self._address)

    def clear(self) -> None:
        """Forget the expectations."""
        if self._listener is not None:
            self._listener.clear()

    def expectations(self) -> list[str]:
        """Return the expectations that are in force, as text; the first ones, if they are many."""
        listener = self._listener
        if listener is None:
            return []
        every = [*listener.ordered_handlers, *listener.oneshot_handlers, *listener.handlers]
        return [cut(repr(one.matcher), _SHOWN_MATCHER) for one in every[:_SHOWN_UNMET]]

    def problems(self) -> list[str]:
        """Return what went wrong with the expectations, and forget it.

        That is: failed handlers and assertions, and ordered or one-shot expectations that were not met.
        """
        listener = self._listener
        if listener is None:
            return []
        problems = []
        while True:
            try:
                listener.check()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  # pytest.fail() in a handler raises no Exception
                problems.append(f"httpserver: {type(error).__name__}: {error}")
            else:
                break
        problems += _unmet("an ordered expectation", listener.ordered_handlers)
        problems += _unmet("an expectation for one request", listener.oneshot_handlers)
        return problems


def _unmet(what: str, expectations: Sequence[RequestHandler]) -> list[str]:
    """Return a line for each expectation that was not met, and for those beyond the first ones together."""
    lines = [
        f"httpserver: {what} was not met: {cut(repr(one.matcher), _SHOWN_MATCHER)}"
        for one in expectations[:_SHOWN_UNMET]
    ]
    more = len(expectations) - _SHOWN_UNMET
    return [*lines, f"httpserver: and {more} more like it were not met"] if more > 0 else lines
