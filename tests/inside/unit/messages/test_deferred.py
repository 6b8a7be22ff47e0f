"""Deferred responses are released once, all at once."""

from __future__ import annotations

from petstore_mock.messages.deferred import DeferredResponses


def test_responses_are_released_once() -> None:
    pending, released = DeferredResponses(), list[str]()

    def first() -> None:
        released.append("first")

    def second() -> None:
        released.append("second")

    pending.add(first)
    pending.add(second)
    pending.discard(second)
    pending.discard(second)
    pending.release()
    pending.release()
    assert released == ["first"]
