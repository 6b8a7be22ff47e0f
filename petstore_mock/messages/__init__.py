"""What crosses the border of the core: a request and an answer, and how HTTP writes credentials.

The adapters of ``transport`` make an ``ApiRequest`` of what came, and send what an ``ApiResponse`` says. Nothing here
knows a socket, an environ or a world.
"""
