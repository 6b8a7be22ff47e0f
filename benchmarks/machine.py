"""Describes the computer of the run, without its host name."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

__all__ = ["describe", "versions"]

_GIB = 1 << 30


def describe() -> list[str]:
    """Return the processor, its cores, the memory, the kernel and the load."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        f"{_processor()}, {cores} cores, {memory:.0f} GiB",
        f"{platform.system()} {platform.release()}",
        f"load {os.getloadavg()[0]:.1f} at the start",
    ]


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions() -> list[str]:
    """Return the versions on which our own figures depend."""
    names = ("petstore-mock", "httptools", "jsonschema", "pytest-httpserver", "werkzeug", "pytest", "hypothesis")
    return [f"Python {sys.version.split()[0]} ({_build()})", *(f"{name} {version(name)}" for name in names)]


def _build() -> str:
    """Say how Python was built: profile-guided optimisation makes CPython a fifth quicker."""
    if "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS")):
        return "configured with --enable-optimizations"
    if sys.base_prefix == "/usr":  # Debian optimises without the option
        return "the distribution's own build"
    return "configured without --enable-optimizations"
