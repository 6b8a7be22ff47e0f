"""The machine's picture of a client and of the service: calls, clients, errors, and the worlds that are possible.

What a client was asked and what became of it comes in; what the service may hold by now goes out.
"""
