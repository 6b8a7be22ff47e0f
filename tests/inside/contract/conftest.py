"""The contract suite runs over WSGI, ASGI, the socket and TLS: what a fake answers must not depend on the door."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from petstore_mock import PetStoreMock
from tests.inside.contract.harness import AsgiTransport, Service, SocketTransport, WsgiTransport

if TYPE_CHECKING:
    from collections.abc import Iterator


class Serve(Protocol):
    """Gives a service with these options of ``PetStoreMock``; its own answers are checked."""

    def __call__(self, **options: Any) -> Service: ...  # noqa: ANN401  # the options of PetStoreMock


def _over_wsgi(stack: ExitStack, options: dict[str, Any]) -> Service:
    petstore = PetStoreMock(**options)
    stack.callback(petstore.verify)
    return Service(petstore, WsgiTransport(petstore))


def _over_asgi(stack: ExitStack, options: dict[str, Any]) -> Service:
    petstore = PetStoreMock(**options)
    stack.callback(petstore.verify)
    return Service(petstore, AsgiTransport(petstore))


def _over_socket(stack: ExitStack, options: dict[str, Any]) -> Service:
    petstore = stack.enter_context(PetStoreMock(**options))
    service = Service(petstore, SocketTransport(petstore))
    stack.callback(service.close)
    return service


def _over_tls(stack: ExitStack, options: dict[str, Any]) -> Service:
    return _over_socket(stack, {**options, "tls": True})


_DOORS = {"wsgi": _over_wsgi, "asgi": _over_asgi, "socket": _over_socket, "tls": _over_tls}


def _serve(door: str) -> Iterator[Serve]:
    with ExitStack() as stack:

        def serve(**options: Any) -> Service:  # noqa: ANN401
            return _DOORS[door](stack, {"self_check": True, **options})

        yield serve


@pytest.fixture(params=_DOORS)
def serve(request: pytest.FixtureRequest) -> Iterator[Serve]:
    """Make services over any door; at the end each verifies that nothing went wrong inside."""
    yield from _serve(request.param)


@pytest.fixture
def serve_wire() -> Iterator[Serve]:
    """Make services over the socket, for what only a connection shows."""
    yield from _serve("socket")


@pytest.fixture
def service(serve: Serve) -> Service:
    """Give a service in its default behaviour, without animals."""
    return serve()
