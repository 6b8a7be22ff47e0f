"""Makes the command line of Schemathesis call the WSGI app in its process. ``SCHEMATHESIS_HOOKS`` names this file."""

from __future__ import annotations

import os
from typing import Any

import schemathesis  # type: ignore[import-not-found]  # it has an environment of its own
from schemathesis.transport.wsgi import WSGITransport  # type: ignore[import-not-found]

from petstore_mock import Behaviour, PetStoreMock

PETSTORE = PetStoreMock(api_key=os.environ["PETSTORE_KEY"], seed=5, behaviour=Behaviour(integral_float="accept"))
send = WSGITransport.send


@schemathesis.hook  # type: ignore[untyped-decorator]
def after_load_schema(_context: Any, schema: Any) -> None:
    schema.app = PETSTORE.app


def _send_without_socket(self: Any, case: Any, *, session: Any = None, **options: Any) -> Any:
    # WSGI does not take these options. Schemathesis 4.32.5 removes them, except in its check `ignored_auth`.
    for name in ("max_redirects", "verify", "cert", "proxies"):
        options.pop(name, None)
    return send(self, case, session=session, **options)


WSGITransport.send = _send_without_socket
