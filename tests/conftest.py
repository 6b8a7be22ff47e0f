"""Settings of the whole suite."""

from __future__ import annotations

import os

from hypothesis import settings

pytest_plugins = ["pytester"]

# No deadline: an example shares two cores with another worker, and a slow one is no bug.
settings.register_profile("dev", max_examples=50, deadline=None)
# Derandomised: a find belongs to the change that made it. No database: a clean clone has none.
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
