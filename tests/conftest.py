"""Settings of the whole suite."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import sys
import threading
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

import petstore_mock

pytest_plugins = ["pytester"]

# No deadline: an example shares two cores with another worker, and a slow one is no bug.
settings.register_profile("dev", max_examples=50, deadline=None)
# Derandomised: a find belongs to the change that made it. No database: a clean clone has none.
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, database=None, print_blob=True)
# By hand, for minutes (make fuzz): new examples each time, and a find is not kept but becomes an @example.
settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "5000")),
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


class _Tracing:
    """Switches the tracer of coverage on for tests and fixtures only, because it takes half of the time.

    It is off for collection, hooks and reports of pytest, and in the process that distributes tests to xdist's workers.
    """

    def __init__(self) -> None:
        self._tracers = sys.gettrace(), threading.gettrace()

    def on(self) -> None:
        sys.settrace(self._tracers[0])
        threading.settrace(self._tracers[1])

    def off(self) -> None:
        sys.settrace(None)
        threading.settrace(None)


_TRACING = pytest.StashKey[_Tracing]()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if sys.gettrace() is not None:
        for module in pkgutil.walk_packages(petstore_mock.__path__, "petstore_mock."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)  # measures the lines that run on import
    config.stash[_TRACING] = _Tracing()
    config.stash[_TRACING].off()


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_TRACING].on()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the thousands of tests out of every garbage collection, because some tests collect garbage often."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure no coverage of an ``untraced`` test or of its processes."""
    if item.get_closest_marker("untraced") is None:
        return (yield)
    of_processes = os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
    try:
        return (yield)
    finally:
        if of_processes is not None:
            os.environ["COVERAGE_PROCESS_CONFIG"] = of_processes


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _traced(item))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _traced(item))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _traced(item))


def _traced(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("untraced") is not None:
        return (yield)
    tracing = item.config.stash[_TRACING]
    tracing.on()
    try:
        return (yield)
    finally:
        tracing.off()
