"""The door as the stub's listener mounts it: light until the first request comes, which brings werkzeug's routing."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.control.app import ControlApp

__all__ = ["BODY_LIMIT", "PATH", "PREFIX", "ControlMount", "is_control_path"]

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

    def __call__(self, environ: dict[str, Any], start_response: Any, /) -> Iterable[bytes]:  # noqa: ANN401  # PEP 3333
        """Answer one request."""
        with self._lock:
            app = self._app
            if app is None:
                app = self._app = self._make()
        return app(environ, start_response)
