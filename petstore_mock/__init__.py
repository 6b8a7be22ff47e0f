"""An in-process fake of the pet store service, for testing its clients.

Python loads each public name on first use (PEP 562), because pytest imports this package in every run.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from petstore_mock import checks as checks
    from petstore_mock import faults as faults
    from petstore_mock import stateful as stateful
    from petstore_mock import strategies as strategies
    from petstore_mock import verify as verify
    from petstore_mock.core.clock import Clock as Clock
    from petstore_mock.core.fault_plan import FaultHandle as FaultHandle
    from petstore_mock.core.world import Snapshot as Snapshot
    from petstore_mock.errors import ContractViolationError as ContractViolationError
    from petstore_mock.errors import ContractWarning as ContractWarning
    from petstore_mock.errors import DeprecatedOperationWarning as DeprecatedOperationWarning
    from petstore_mock.errors import PetStoreMockError as PetStoreMockError
    from petstore_mock.errors import VerificationError as VerificationError
    from petstore_mock.http.request import ApiRequest as ApiRequest
    from petstore_mock.interface.behaviour import Behaviour as Behaviour
    from petstore_mock.journal.exchange import Exchange as Exchange
    from petstore_mock.journal.journal import Journal as Journal
    from petstore_mock.mock.petstore import PetStoreMock as PetStoreMock
    from petstore_mock.remote.petstore import RemotePetStore as RemotePetStore
    from petstore_mock.remote.petstore import connect as connect

__version__ = "0.1.0"

# The module that defines each public name.
_HOMES = {
    "ApiRequest": "http.request",
    "Behaviour": "interface.behaviour",
    "Clock": "core.clock",
    "ContractViolationError": "errors",
    "ContractWarning": "errors",
    "DeprecatedOperationWarning": "errors",
    "Exchange": "journal.exchange",
    "FaultHandle": "core.fault_plan",
    "Journal": "journal.journal",
    "PetStoreMock": "mock.petstore",
    "PetStoreMockError": "errors",
    "RemotePetStore": "remote.petstore",
    "Snapshot": "core.world",
    "VerificationError": "errors",
    "connect": "remote.petstore",
}

_MODULES = ("checks", "faults", "stateful", "strategies", "verify")

__all__ = [*_HOMES, *_MODULES]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # PEP 562: any public name
    if name not in __all__:
        from petstore_mock.common.suggesting import of_module  # pytest imports this package in every run

        of_module(__name__, __all__)(name)
    module = importlib.import_module(f"petstore_mock.{_HOMES.get(name, name)}")
    value = getattr(module, name) if name in _HOMES else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
