"""Settings of the whole suite."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

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
