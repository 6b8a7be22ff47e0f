"""The sentence for a failed handshake."""

from __future__ import annotations

import pytest

from petstore_mock.transport.tls import words_of


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError(), "was too slow"),
        (
            ConnectionAbortedError("SSL handshake is taking longer than 10.0 seconds: aborting the connection"),
            "was too slow",
        ),
        (ConnectionResetError(104, "Connection reset by peer"), "closed the connection"),
    ],
)
def test_sentence_says_how_the_client_ended_the_handshake(error: Exception, words: str) -> None:
    assert words_of(error) == f"handshake failed: the client {words}"
