"""The pipeline, on one world, and the worlds that share a listener. It does no I/O.

An ``ApiRequest`` comes in; an ``ApiResponse`` goes out, and the world, its animals and its journal have changed.
What takes time is a ``DeferredResponse`` instead, for the adapter to wait.
"""
