"""The URL that a request was sent to, as far as its target and its ``Host`` tell; keys are masked in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from petstore_mock.journal.entry import Entry

__all__ = ["DEFAULT_BASE_URL", "base_url_of", "is_base_url", "url_of"]

DEFAULT_BASE_URL: Final = "http://127.0.0.1:8080"  # the stub's; for a request that names no host, or one that can't be
_URL_SAFE: Final = "/:?#[]@!$&'()*+,;=%-._~"  # what a URL may hold, encoded already (RFC 3986 §2)


def is_base_url(url: object) -> bool:
    """Say whether ``url`` is text with a scheme of HTTP and a host."""
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
    except ValueError:  # of brackets without an address
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


def base_url_of(entry: Entry) -> str:
    """Return scheme and host that ``entry`` was sent to, by its ``Host``; those of the stub when it names none."""
    url = f"http{'s' if entry.secure else ''}://{quote(entry.headers.get('host', ''), safe=':[].-')}"
    return url if is_base_url(url) else DEFAULT_BASE_URL


def url_of(entry: Entry, base_url: str | None = None) -> str:
    """Return the URL of ``entry``, keys masked; always one that a URL parser takes."""
    target = quote(entry.request.base_path + entry.target, safe=_URL_SAFE)
    if target.startswith(("http://", "https://")):  # absolute-form (RFC 9112 §3.2.2)
        return target
    parts = urlsplit(base_url or base_url_of(entry))
    return f"{parts.scheme}://{parts.netloc}{target if target.startswith('/') else f'/{target}'}"
