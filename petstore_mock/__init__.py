"""An in-process fake of the pet store service, for testing its clients.

Everything public is named in ``__all__`` and loaded on first use (PEP 562): importing this package, which
pytest does in every run once it is installed, loads nothing heavy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from petstore_mock import faults as faults
    from petstore_mock import stateful as stateful
    from petstore_mock import strategies as strategies
    from petstore_mock import verify as verify
    from petstore_mock.contract.behaviour import Behaviour as Behaviour
    from petstore_mock.core.clock import Clock as Clock
    from petstore_mock.core.fault_plan import FaultHandle as FaultHandle
    from petstore_mock.core.world import Snapshot as Snapshot
    from petstore_mock.errors import ContractViolationError as ContractViolationError
    from petstore_mock.errors import ContractWarning as ContractWarning
    from petstore_mock.errors import DeprecatedOperationWarning as DeprecatedOperationWarning
    from petstore_mock.errors import PetStoreMockError as PetStoreMockError
    from petstore_mock.errors import VerificationError as VerificationError
    from petstore_mock.journal.entry import Entry as Entry
    from petstore_mock.journal.journal import Journal as Journal
    from petstore_mock.messages.handshake import Handshake as Handshake
    from petstore_mock.messages.request import ApiRequest as ApiRequest
    from petstore_mock.mock.petstore import PetStoreMock as PetStoreMock
    from petstore_mock.remote.petstore import RemotePetStore as RemotePetStore
    from petstore_mock.remote.petstore import connect as connect

__version__ = "0.1.0"

_HOMES = {
    "Snapshot": "core.world",
    "Journal": "journal.journal",
    "FaultHandle": "core.fault_plan",
    "Handshake": "messages.handshake",
    "Entry": "journal.entry",
    "Clock": "core.clock",
    "ApiRequest": "messages.request",
    "Behaviour": "contract.behaviour",
    "ContractViolationError": "errors",
    "ContractWarning": "errors",
    "DeprecatedOperationWarning": "errors",
    "PetStoreMock": "mock.petstore",
    "PetStoreMockError": "errors",
    "RemotePetStore": "remote.petstore",
    "VerificationError": "errors",
    "connect": "remote.petstore",
}
_MODULES = ("faults", "stateful", "strategies", "verify")

__all__ = [
    "ApiRequest",
    "Behaviour",
    "Clock",
    "ContractViolationError",
    "ContractWarning",
    "DeprecatedOperationWarning",
    "Entry",
    "FaultHandle",
    "Handshake",
    "Journal",
    "PetStoreMock",
    "PetStoreMockError",
    "RemotePetStore",
    "Snapshot",
    "VerificationError",
    "connect",
    "faults",
    "stateful",
    "strategies",
    "verify",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # PEP 562: any public name
    if name in _HOMES:
        value = getattr(importlib.import_module(f"petstore_mock.{_HOMES[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"petstore_mock.{name}")
    else:
        message = f"module 'petstore_mock' has no attribute {name!r}"
        raise AttributeError(message)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
