"""Adapters that carry requests to the core: sockets, WSGI and ``httpserver``."""
