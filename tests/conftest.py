"""Settings of the whole suite."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester"]

# No deadline: several workers share the cores, so a slow example is no bug.
settings.register_profile("dev", max_examples=50, deadline=None)
# Derandomised, so that only the tested change can cause a new failure. No database, because a clean clone has none.
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, database=None, print_blob=True)
# For `make fuzz`, which runs new examples for minutes. No database: a finding becomes an @example instead.
settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "5000")),
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


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


@pytest.fixture
def leavings() -> Generator[None]:
    """Collect what a test leaves behind, such as sockets, while its own warning filters apply."""
    yield
    gc.collect()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure no coverage of an ``untraced`` test or of its processes."""
    if item.get_closest_marker("untraced") is None:
        return (yield)
    of_processes = os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
    tracers = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracers[0])
        threading.settrace(tracers[1])
        if of_processes is not None:
            os.environ["COVERAGE_PROCESS_CONFIG"] = of_processes
