"""The files of the console, under a strict content security policy. They hold no world, so they need no token."""

from __future__ import annotations

import secrets
from functools import cache
from pathlib import Path
from typing import Final

_DIRECTORY: Final = Path(__file__).with_name("page")
_INDEX: Final = "index.html"
_TYPES: Final = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
_ADDRESSES: Final = frozenset({"/", "/latest"})

Page = tuple[int, bytes, dict[str, str]]  # status, body, header fields


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """Return the files by name, with their media types. A request can name no other file."""
    return {
        file.name: (file.read_bytes(), f"{_TYPES[file.suffix]}; charset=utf-8")
        for file in _DIRECTORY.iterdir()
        if file.suffix in _TYPES
    }


def console_page(path: str) -> Page | None:
    """Return the page or one of its files; ``path`` is what follows ``/__petstore``."""
    if not path:
        return 308, b"", {"Location": "__petstore/"}  # so that relative links lead to its files
    if path in _ADDRESSES:
        return _page()
    found = _files().get(path[1:]) if path != f"/{_INDEX}" else None
    return None if found is None else (200, found[0], {"Content-Type": found[1]})


def _page() -> Page:
    content, media_type = _files()[_INDEX]
    nonce = secrets.token_urlsafe(16)
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    fields = {"Content-Type": media_type, "Content-Security-Policy": policy}
    return 200, content.replace(b"{nonce}", nonce.encode()), fields
