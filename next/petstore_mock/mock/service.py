"""The service behind one mock: its worlds, and in time its listener, its control door and ``httpserver``."""

from __future__ import annotations

from typing import Any

from petstore_mock.common.refusing import refuse
from petstore_mock.core.host import Host
from petstore_mock.core.registry import Worlds
from petstore_mock.core.world import World
from petstore_mock.transport.wsgi import WsgiApp


class Service:
    """The worlds of one mock and the ways to them."""

    def __init__(self, listener: dict[str, Any], world: dict[str, Any]) -> None:
        self.options = listener
        self.host = Host(listener["cors"], tls=listener["tls"])
        self.worlds = Worlds(self.host)
        self.worlds.push(World(self.host, world))
        self.app = WsgiApp(self.worlds)

    @property
    def is_listening(self) -> bool:
        return False

    @property
    def url(self) -> str:
        """The base address, ending in ``/v1``."""
        refuse("expected a mock that listens: use 'with PetStoreMock() as petstore:' or start(); .app needs neither")
