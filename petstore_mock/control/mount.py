"""The door as the stub's listener mounts it: light until the first request comes, which brings werkzeug's routing."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.control.app import ControlApp
    from petstore_mock.core.tenants import Tenants

__all__ = ["BODY_LIMIT", "PATH", "PREFIX", "ControlMount", "DoorOptions", "door_of", "is_control_path"]

PREFIX: Final = "/__petstore"
BODY_LIMIT: Final = 64 * 1024 * 1024  # bytes: some hundred thousand animals
PATH: Final = re.compile(r"(?:/(?:w|%77)/(?P<name>[^/?]*))?/__petstore(?P<rest>/[^?]*)?", re.ASCII)


def is_control_path(target: str) -> bool:
    """Say whether a request's target leads to the door."""
    return "__petstore" in target and PATH.fullmatch(target.partition("?")[0]) is not None


class ControlMount:
    """Mounts the door; implements ``transport.mounted.MountedApp``.

    Args:
        make: makes the application, at the first request.
        whole_port: whether every path is the door's, since it has a port of its own.
    """

    body_limit = BODY_LIMIT

    def __init__(self, make: Callable[[], ControlApp], *, whole_port: bool = False) -> None:
        self._make = make
        self._whole_port = whole_port
        self._app: ControlApp | None = None
        self._lock = threading.Lock()

    def serves(self, target: str) -> bool:
        """Say whether a request's target leads to the door."""
        return self._whole_port or is_control_path(target)

    def admits(self, environ: dict[str, Any]) -> bool:
        """Say whether the head of a request lets it in, so that its body is worth reading."""
        return self._made().admits(environ)

    def __call__(self, environ: dict[str, Any], start_response: Any, /) -> Iterable[bytes]:  # noqa: ANN401  # PEP 3333
        """Answer one request."""
        return self._made()(environ, start_response)

    def _made(self) -> ControlApp:
        with self._lock:
            app = self._app
            if app is None:
                app = self._app = self._make()
        return app


@dataclass(frozen=True, slots=True, kw_only=True)
class DoorOptions:
    """How the door is opened.

    Attributes:
        token: what ``Petstore-Control-Token`` must be; None where the door is open without one.
        allowed_hosts: further values of Host, with or without a port, where the stub is bound to loopback.
        allowed_origins: further values of Origin.
    """

    token: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()


def _scheme_of(server: _Server) -> str:
    return "https" if server.speaks_tls else "http"


class _Server(Protocol):
    """What the door asks of the listener that mounts it, or of the service's."""

    @property
    def bound(self) -> str:
        """The address that it listens at."""

    @property
    def port(self) -> int:
        """The port."""

    @property
    def speaks_tls(self) -> bool:
        """Whether it speaks TLS."""


def door_of(
    tenants: Tenants,
    options: DoorOptions,
    *,
    mounted_by: Callable[[], _Server],
    service: Callable[[], _Server] | None,
    close_connections: Callable[[frozenset[int] | None], None],
) -> ControlMount:
    """Return the door to some worlds, to be mounted.

    Args:
        tenants: the worlds.
        options: who may come in.
        mounted_by: gives the listener that mounts it, once that listens.
        service: gives the service's own, where the door has a port of its own; else None.
        close_connections: closes the idle connections of the service.
    """

    def make() -> ControlApp:
        from petstore_mock import __version__  # noqa: PLC0415  # as the next one
        from petstore_mock.control.admission import Admission, is_loopback  # noqa: PLC0415
        from petstore_mock.control.app import ControlApp  # noqa: PLC0415  # werkzeug's routing and jsonschema

        return ControlApp(
            tenants,
            lambda: Admission(
                token=options.token,
                loopback=is_loopback(mounted_by().bound),
                port=mounted_by().port,
                allowed_hosts=options.allowed_hosts,
                allowed_origins=options.allowed_origins,
            ),
            version=__version__,
            service=None if service is None else lambda: (_scheme_of(service()), service().port),
            close_connections=close_connections,
        )

    return ControlMount(make, whole_port=service is not None)
