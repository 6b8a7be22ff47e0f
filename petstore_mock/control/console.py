"""Serves the files of the console under a strict content security policy.

The files contain no data of a world, so requests for them need no token.
"""

from __future__ import annotations

import secrets
from functools import cache
from pathlib import Path, PurePath
from typing import Final

from petstore_mock.common import real

_DIRECTORY: Final = Path(__file__).with_name("page")
_TYPES: Final = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PAGE: Final = "index.html"


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """Return content and media type of each file that a request can read."""
    files: dict[str, tuple[bytes, str]] = {}
    for name in real.list_folder(str(_DIRECTORY)):
        media_type = _TYPES.get(PurePath(name).suffix)
        if media_type is not None:
            with real.open_file(f"{_DIRECTORY}/{name}", encoding="utf-8", newline="") as file:
                files[name] = file.read().encode(), f"{media_type}; charset=utf-8"
    return files


def console_page(path: str) -> tuple[int, bytes, dict[str, str]] | None:
    """Return status, body and header fields for a path below ``/__petstore``, or None."""
    if not path:
        # The relative links of the page need the slash.
        return 308, b"", {"Location": "__petstore/"}
    if path == f"/{_PAGE}":
        return None
    name = _PAGE if path in {"/", "/latest"} else path[1:]
    content, media_type = _files().get(name, (b"", ""))
    if not media_type:
        return None
    fields = {"Content-Type": media_type}
    if name == _PAGE:
        nonce = secrets.token_urlsafe(16)
        content = content.replace(b"{nonce}", nonce.encode())
        fields["Content-Security-Policy"] = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; "
            "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
    return 200, content, fields
