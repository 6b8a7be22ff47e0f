"""The door as the stub's listener mounts it: light until the first request comes, which brings werkzeug's routing."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from petstore_mock.common.door_path import DOOR_PATH
from petstore_mock.control.admission import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.control.admission import Admission
    from petstore_mock.control.app import ControlApp
    from petstore_mock.core.tenants import Tenants
    from petstore_mock.transport.server import WireServer

__all__ = ["BODY_LIMIT", "PATH", "ControlMount", "door_of", "is_control_path"]

BODY_LIMIT: Final = 64 * 1024 * 1024  # bytes: some hundred thousand animals
PATH: Final = re.compile(rf"(?:/(?:w|%77)/(?P<name>[^/?]*))?{DOOR_PATH}(?P<rest>/[^?]*)?", re.ASCII)


def is_control_path(target: str) -> bool:
    """Say whether a request's target leads to the door."""
    return DOOR_PATH in target and PATH.fullmatch(target.partition("?")[0]) is not None


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


def door_of(
    tenants: Tenants,
    admission: Admission,
    *,
    mounted_by: Callable[[], WireServer],
    service: Callable[[], WireServer] | None,
) -> ControlMount:
    """Return the door to some worlds, to be mounted.

    Args:
        tenants: the worlds.
        admission: who may come in, but for what the listener knows once it listens.
        mounted_by: gives the server that mounts it.
        service: gives the service's own, where the door has a port of its own; else None.
    """

    def make() -> ControlApp:
        from petstore_mock import __version__  # noqa: PLC0415  # as the next one
        from petstore_mock.control.app import ControlApp  # noqa: PLC0415  # werkzeug's routing and jsonschema

        return ControlApp(
            tenants,
            lambda: replace(admission, loopback=is_loopback(mounted_by().bound), port=mounted_by().port),
            version=__version__,
            service=service,
            close_connections=lambda numbers: (service or mounted_by)().close_connections(numbers),
        )

    tenants.default.worlds.has_door = True
    return ControlMount(make, whole_port=service is not None)
