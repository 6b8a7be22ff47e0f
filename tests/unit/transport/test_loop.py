"""The fake's loop has every attribute of asyncio's loop, although it does not call its initializer."""

from __future__ import annotations

import asyncio

from petstore_mock.transport.loop import AsyncioLoop


def test_the_loop_has_the_attributes_of_asyncios_loop() -> None:
    own, model = AsyncioLoop(), asyncio.SelectorEventLoop()
    try:
        assert {*vars(model)} <= {*vars(own)}
    finally:
        own.close()
        model.close()
