"""Imports early what later requests need, in a thread that may import."""

from __future__ import annotations

import sys

from petstore_mock.common.real import Thread
from petstore_mock.core.mutants import mutants
from petstore_mock.interface.schemas import preload_validator, validator_class


def preload(*, with_mutants: bool) -> None:
    """Import jsonschema, so that the first refusal is fast.

    A thread of its own imports it, and the listener is ready meanwhile. Under pytest the thread of the caller imports
    it, with all else that the threads of the fake would import later. CPython 3.11 raises SystemError if two threads
    make syntax trees at the same time (python/cpython#106905): imports make them, and so does pytest in its own thread.
    """
    if "pytest" in sys.modules:
        preload_validator()
        # The control door makes worlds with mutants in a thread of its own.
        if with_mutants:
            mutants()
    elif not validator_class.cache_info().currsize:
        # No daemon: Python may abort or hang at its exit if it stops a thread in the middle of an import.
        Thread(target=preload_validator, name="petstore-mock-judge").start()


# jsonschema reads files of its own when it is imported. A test that replaces the file system would hide them.
if "pytest" in sys.modules:
    preload_validator()
