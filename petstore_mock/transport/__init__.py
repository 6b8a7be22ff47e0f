"""The adapters: the socket, with TLS or without, WSGI, ASGI, two client libraries. Of the core they know ``Handler``.

Bytes, an environ or a library's request comes in and an ``ApiRequest`` goes to the handler; its ``ApiResponse``
goes out as bytes, late, cut or not at all where a fault says so. ``listener`` puts the
expectations of pytest-httpserver in front.
"""
