"""The two adapters, WSGI and the socket: they know HTTP and nothing of the core but its ``Handler``.

Bytes or an environ come in and an ``ApiRequest`` goes to the handler; its ``ApiResponse`` goes out as bytes, late,
cut or not at all where a fault says so. ``listener`` puts the expectations of pytest-httpserver in front.
"""
