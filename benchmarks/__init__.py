"""Measures petstore_mock beside what a team could use instead, all in one run: ``python -m benchmarks``.

Each measurement is a module with one function ``measure``; :mod:`benchmarks.goals` has what is to be reached,
:mod:`benchmarks.servers` who runs, :mod:`benchmarks.report` writes ``RESULTS.md``. Trust ratios within a run, not
absolute figures from two of them.
"""
