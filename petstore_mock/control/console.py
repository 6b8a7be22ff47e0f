"""The page for people who would rather look than read: its files, as they are, under a strict content security policy.

It holds nothing of any world, and so needs no token: what it shows it asks the door for.
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from pathlib import Path
from typing import Final

from werkzeug import Response

from petstore_mock.common.door_path import DOOR_PATH

__all__ = ["console_page"]

_DIRECTORY: Final = Path(__file__).with_name("page")
_INDEX: Final = "index.html"
_TYPES: Final = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
_ADDRESSES: Final = frozenset({"/", "/latest"})


@lru_cache(maxsize=1)
def _files() -> dict[str, tuple[bytes, str]]:
    """Return the files by name, with their media types; no request can name any other."""
    return {
        path.name: (path.read_bytes(), f"{_TYPES[path.suffix]}; charset=utf-8")
        for path in _DIRECTORY.iterdir()
        if path.suffix in _TYPES
    }


def console_page(path: str) -> Response | None:
    """Return the page or one of its files.

    Args:
        path: what follows ``/__petstore``.
    """
    if not path:
        return Response(status=308, headers={"Location": f"{DOOR_PATH[1:]}/"})  # so that its links find their way
    if path in _ADDRESSES:
        return _page()
    found = _files().get(path[1:]) if path != f"/{_INDEX}" else None
    if found is None:
        return None
    content, media_type = found
    return Response(content, content_type=media_type)


def _page() -> Response:
    content, media_type = _files()[_INDEX]
    nonce = secrets.token_urlsafe(16)
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Response(
        content.replace(b"{nonce}", nonce.encode()),
        content_type=media_type,
        headers={"Content-Security-Policy": policy},
    )
