"""The control door: a service of its own under ``/__petstore/``, by which tests of any language steer the stub.

Requests with JSON come in, and go to the same ``Tenant`` that the fixture holds; JSON, an event stream or a problem
(RFC 9457) goes out. It is a WSGI application, so any server can carry it; the stub's runs it in threads of its own, and
what it steers neither journals nor delays it.
"""
