"""Compresses answers for clients that say they take it (gap ``content_coding``; RFC 9110 §8.4, §12.5.3). No I/O."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

from petstore_mock.messages.response import NOT_MODIFIED

if TYPE_CHECKING:
    from petstore_mock.messages.request import RequestFields
    from petstore_mock.messages.response import ApiResponse

__all__ = ["coded", "coding_fields", "is_coded"]

_GZIP: Final = 31  # zlib's number for its largest window in a gzip wrapper (RFC 1952)
_VARY: Final = ("Vary", "Accept-Encoding")  # RFC 9110 §12.5.5: in every answer that might have come otherwise
_IN_GZIP: Final = (("Content-Encoding", "gzip"), _VARY)


def coding_fields(fields: RequestFields, response: ApiResponse) -> tuple[tuple[str, str], ...]:
    """Return the header fields that tell how the body of an answer is coded.

    Args:
        fields: those of the request, which say what the client takes.
        response: the answer.
    """
    if not response.wire_format.gzip or response.head.get("Content-Encoding") is not None:
        return ()
    if not response.body:
        # A 304 has the Vary of the answer that it stands for (RFC 9110 §15.4.5).
        return (_VARY,) if response.status == NOT_MODIFIED else ()
    takes_gzip = _takes_gzip(b",".join(fields.by_name.get(b"accept-encoding", ())).lower())
    return _IN_GZIP if takes_gzip else (_VARY,)


def is_coded(fields: RequestFields, response: ApiResponse) -> bool:
    """Say whether an answer goes out compressed."""
    return coding_fields(fields, response) is _IN_GZIP


def coded(fields: RequestFields, response: ApiResponse) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """Return the same fields, and the body as it goes out; the answer keeps the one that is readable."""
    told = coding_fields(fields, response)
    return told, zlib.compress(response.body, wbits=_GZIP) if told is _IN_GZIP else response.body


def _takes_gzip(accepted: bytes) -> bool:
    """Say whether gzip is asked for, and identity not more so (RFC 9110 §12.5.3).

    Without the field, a server might send any coding, but none does; nor does this one.
    """
    weights: dict[bytes, float] = {}
    for item in accepted.split(b","):
        coding, _, parameter = item.partition(b";")
        weights[coding.strip()] = _weight(parameter)
    named = [weights[name] for name in (b"gzip", b"x-gzip") if name in weights]  # §8.4.1.3: the same
    wanted = max(named, default=weights.get(b"*", 0.0))
    return wanted > 0 and wanted >= weights.get(b"identity", 0.0)


def _weight(parameter: bytes) -> float:
    """Return the quality value (RFC 9110 §12.4.2); what is no such value is no wish."""
    name, _, value = parameter.partition(b"=")
    if not name.strip():
        return 1.0
    try:
        return float(value) if name.strip() == b"q" else 0.0
    except ValueError:
        return 0.0
