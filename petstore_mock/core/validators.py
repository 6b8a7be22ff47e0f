"""Validators of what is read, and what is answered to who holds it (gap ``validators``; RFC 9110 §8.8, §13). No I/O."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from petstore_mock.messages.content_coding import is_coded
from petstore_mock.messages.response import NOT_MODIFIED, Head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.messages.response import ApiResponse

__all__ = ["validate_answer"]

_ENTITY_TAG: Final = re.compile(r'(?:W/)?("[!#-~\x80-\xff]*")')  # RFC 9110 §8.8.3; group 1 is the opaque tag
_TAG: Final = "\n"  # stands for one: no field's value has it


def validate_answer(
    make: Callable[[bytes], str], request: ApiRequest, answer: ApiResponse, *, conditional: bool
) -> None:
    """Give an answer to GET or HEAD its validator; if the client holds it already, make it say just that.

    Args:
        make: makes the validator of a body, as the behaviour has it.
        request: asked for it.
        answer: the whole answer, with status 200.
        conditional: whether the request's condition counts; not where a fault is to spoil the content, which a 304
            does not have.
    """
    tag = make(answer.body)
    if is_coded(request.fields, answer) and not tag.startswith("W/"):
        tag = f"W/{tag}"  # compressed on the way out, the bytes are others than those it stands for (§8.8.3.3)
    answer.head = answer.head.with_fields(("ETag", tag))
    if conditional and _is_held(request.values("if-none-match"), tag):
        # §15.4.5: the fields that its cache may need, and no content
        answer.head = Head(NOT_MODIFIED, answer.head.with_fields(("Content-Type", "")).fields)
        answer.body = b""


def _is_held(given: Iterable[str], tag: str) -> bool:
    """Say whether ``If-None-Match`` names a tag, by weak comparison (RFC 9110 §13.1.2, §8.8.3.2).

    Args:
        given: the values of its fields; one that is neither ``*`` nor a list of tags is no condition.
        tag: that of the answer.
    """
    text = ",".join(given)
    if text.strip(" \t") == "*":
        return True
    elements = _ENTITY_TAG.sub(_TAG, text).split(",")
    if any(element.strip(" \t") not in {"", _TAG} for element in elements):
        return False
    return tag.removeprefix("W/") in _ENTITY_TAG.findall(text)
