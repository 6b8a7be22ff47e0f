"""``connect()``, and the object that it gives: ``PetStoreMock``, as far as it concerns a world, of a stub elsewhere."""

from __future__ import annotations

import os
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from petstore_mock.common.wording import counted
from petstore_mock.errors import PetStoreMockError
from petstore_mock.facade.petstore import PetStore
from petstore_mock.journal.failure_note import leave
from petstore_mock.remote.door import Door
from petstore_mock.remote.handles import RemoteFaultHandle, RemoteSnapshot
from petstore_mock.remote.world import RemoteWorld, made_up_name
from petstore_mock.transport.trust import Trust

__all__ = ["RemotePetStore", "connect"]

_DEFAULT_WORLD: Final = "default"
_SAME_PROCESS: Final = {
    "app": "give the client petstore.url, and steer a PetStoreMock() of the test's own for WSGI",
    "asgi": "give the client petstore.url, and steer a PetStoreMock() of the test's own for ASGI",
    "httpserver": "plan faults.respond(...) with where=, or use a PetStoreMock() of the test's own",
    "requests_session": "give the client petstore.url",
    "host": "it is the stub's own",
}


def connect(
    url: str, world: str | None = None, token: str | None = None, ca_path: str | PathLike[str] | None = None
) -> RemotePetStore:
    """Steer a stub that runs elsewhere, as ``PetStoreMock`` steers one in process.

    ``with connect(url) as petstore:`` makes a world of its own under a made-up name; leaving the block raises for what
    a test must answer for, and ends it.

    Args:
        url: the stub's root, its ``/v1`` or ``/w/NAME/v1``, or the address of its control door. One that names a world
            steers that one, as ``world`` does.
        world: a name: steer that world, make it if there is none, and leave it as it is at the end; ``"default"`` is
            the one at the root.
        token: the stub's ``--control-token``, where it asks for one.
        ca_path: where the stub speaks TLS, the file of its authority, which ``serve --tls-ca-out`` writes: this side
            trusts it, and ``petstore.tls`` hands it on. Without it the environment's ``SSL_CERT_FILE`` counts.

    Raises:
        PetStoreMockError: the address or the name can't be right, nobody answers there, the token is wrong, or the
            certificate of the stub is not trusted.
    """
    asked: object = world  # a test may pass anything
    if asked is not None and (not isinstance(asked, str) or not asked):
        raise PetStoreMockError(f"expected the name of a world; got world={world!r} ({type(world).__name__})")
    door = Door(url, token, ca_path)
    if door.name is not None and world not in {None, door.name}:
        raise PetStoreMockError(f"expected one world; got the address of {door.name!r}, and world={world!r}")
    name = world or door.name
    steered = RemoteWorld(door, None if name in {None, _DEFAULT_WORLD} else name, is_own=name is None)
    try:
        if name is None:
            steered.make({}, made_up_name())
        else:
            steered.adopt()
    except BaseException:
        door.close()
        raise
    return RemotePetStore(steered)


class RemotePetStore(PetStore[RemoteFaultHandle, RemoteSnapshot]):
    """A world of a stub in another process; :func:`connect` makes one.

    It has the face of ``PetStoreMock`` as far as it concerns a world. What needs the same process raises
    ``PetStoreMockError`` and says what to do instead.
    """

    def __init__(self, tenant: RemoteWorld) -> None:
        self.tenant: RemoteWorld = tenant

    def __repr__(self) -> str:
        return f"<RemotePetStore {self.url}, {counted(int(self.tenant.ask('GET', 'world')['pets']), 'animal')}>"

    if not TYPE_CHECKING:  # a type checker is to refuse what is not here

        def __getattr__(self, name: str) -> NoReturn:
            if name in _SAME_PROCESS:
                instead = _SAME_PROCESS[name]
                raise PetStoreMockError(
                    f"expected the process of the stub for petstore.{name}, and this one is another: {instead}"
                )
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)

    # The block

    def start(self) -> Self:
        """Return the object itself: the stub listens already."""
        return self

    def stop(self) -> None:
        """End the world if it was made for this object, and close the connections to the door."""
        try:
            if self.tenant.is_own:
                self.tenant.end()
        finally:
            self.tenant.door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        __tracebackhide__ = True
        try:
            if self.tenant.is_own:
                leave(self, error, self.url)
        finally:
            self.stop()

    @property
    def url(self) -> str:
        """The base address, ending in ``/v1`` (§1)."""
        return self.tenant.url

    @property
    def control_url(self) -> str:
        """The address of the world's control door, ending in ``/__petstore/``."""
        return self.tenant.door.url_of(self.tenant.name)

    @property
    def tls(self) -> Trust:
        """What clients need in order to trust the stub: the authority that ``connect`` was told of.

        Raises:
            PetStoreMockError: the stub speaks no TLS, or nobody named its authority.
        """
        if not self.url.startswith("https:"):
            raise PetStoreMockError(f"expected a stub that speaks TLS, serve --tls, for petstore.tls; got {self.url}")
        named = os.environ.get("SSL_CERT_FILE")
        trust = self.tenant.door.trust or (Trust(named) if named else None)
        if trust is None:
            raise PetStoreMockError(
                "expected the file of the authority of the stub, which serve --tls-ca-out writes, for petstore.tls: "
                "name it as connect(..., ca_path=FILE), petstore_remote_ca for the fixture, or in SSL_CERT_FILE"
            )
        return trust

    def close_connections(self) -> None:
        """Close the service's idle kept connections: those that this world used last; at the root, all."""
        self.tenant.ask("POST", "connections/close")

    def openapi(self) -> dict[str, Any]:
        """Return the interface as an OpenAPI 3.1 document, by the schemas that ship; this address comes first."""
        from petstore_mock.contract.openapi import openapi_document  # noqa: PLC0415  # only for those who ask
        from petstore_mock.contract.schemas import default_schemas  # noqa: PLC0415

        return openapi_document(default_schemas(), server=self.url)
