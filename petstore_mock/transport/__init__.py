"""Adapters that carry requests to the core: sockets, WSGI, ASGI and ``httpserver``."""
