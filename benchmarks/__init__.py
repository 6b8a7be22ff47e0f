"""Measures petstore_mock and its alternatives in one run: ``python -m benchmarks``.

Each measurement is a function of a :class:`~benchmarks.goals.Plan` that returns a :class:`~benchmarks.goals.Result`.
:mod:`benchmarks.goals` has the goals, :mod:`benchmarks.servers` the contestants, and :mod:`benchmarks.report` writes
``RESULTS.md``. Compare ratios within a run, but not absolute figures of two runs.
"""
