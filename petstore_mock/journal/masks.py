"""Masks the keys in the parts of an exchange: request, response, violations and faults."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from petstore_mock.common.guards import is_array, is_object
from petstore_mock.common.masking import mask_bytes, mask_field, mask_target, mask_text
from petstore_mock.faults.fault import Fault
from petstore_mock.http.request import Fields
from petstore_mock.http.response import Head
from petstore_mock.interface.violations import Described

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from petstore_mock.http.request import ApiRequest
    from petstore_mock.http.response import Response
    from petstore_mock.interface.violations import Violation

T = TypeVar("T")
FieldPairs = list[tuple[str, str]]


def masked_fields(fields: Iterable[tuple[str, str]], keys: Sequence[str]) -> FieldPairs:
    """Return header fields with masked names and values."""
    return [(mask_text(name, keys), mask_field(name, value, keys)) for name, value in fields]


def masked_request(request: ApiRequest, keys: Sequence[str], *, with_body: bool) -> ApiRequest:
    """Return a copy of a request with masked keys; without its body if no reader needs it."""
    return replace(
        request,
        method=mask_text(request.method, keys),
        target=mask_target(request.target, keys),
        fields=Fields.of(masked_fields(request.fields.as_text(), keys)),
        body=mask_bytes(request.body, keys) if with_body else b"",
    )


def masked_response(response: Response, keys: Sequence[str], *, with_body: bool) -> Response:
    """Return a copy of a response with masked keys; without its body if no reader needs it."""
    return replace(
        response,
        head=Head(response.status, masked_fields(response.head.fields, keys)),
        body=mask_bytes(response.body, keys) if with_body else b"",
        wire=b"",
    )


def masked_violation(violation: Violation, keys: Sequence[str]) -> Violation:
    """Return a violation with masked texts. A description replaces the received value."""
    masked = replace(violation, path=mask_text(violation.path, keys), expected=mask_text(violation.expected, keys))
    if not violation.has_value:
        return masked
    return replace(masked, value=Described(mask_text(violation.received, keys)))


def masked_value(value: T, keys: Sequence[str]) -> T:
    """Return a value of JSON, bytes or a fault with masked keys in all its texts."""
    masked: object = value
    if isinstance(value, str):
        masked = mask_text(value, keys)
    elif isinstance(value, bytes):
        masked = mask_bytes(value, keys)
    elif isinstance(value, Fault):
        masked = Fault(value.kind, masked_value(value.arguments, keys))
    elif is_object(value):
        masked = {masked_value(name, keys): masked_value(member, keys) for name, member in value.items()}
    elif is_array(value):
        masked = type(value)(masked_value(item, keys) for item in value)
    return cast("T", masked)
