"""Settings of the whole suite."""

from __future__ import annotations

import gc
import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

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


def pytest_collection_finish() -> None:
    """Keep the thousands of tests out of each collection of garbage that a test, or the machine, asks for."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    if item.get_closest_marker("untraced") is None:
        return (yield)
    with _untraced():
        return (yield)


@contextmanager
def _untraced() -> Iterator[None]:
    """Measure no coverage meanwhile, nor in the threads and processes that begin: tracing takes half of the time."""
    before = sys.gettrace(), threading.gettrace(), os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
    sys.settrace(None)
    threading.settrace(None)
    try:
        yield
    finally:
        tracer, of_threads, of_processes = before
        sys.settrace(tracer)
        threading.settrace(of_threads)
        if of_processes is not None:
            os.environ["COVERAGE_PROCESS_CONFIG"] = of_processes
