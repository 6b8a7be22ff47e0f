"""The machine for clients in any language: a program, the *adapter*, makes the calls of a client in its own process.

``petstore-mock check -- COMMAND`` starts the adapter, sends it requests on standard input, and reads its replies from
standard output, one JSON object on each line. ``python -m petstore_mock.adapter module:make_client`` is the adapter for
clients in Python.
"""

from __future__ import annotations
