"""What a client logs: the key is not to be in it, and nobody else is to hear of it while the machine runs."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from petstore_mock.stateful import ClientBugError, client_machine
from petstore_mock.stateful.checks.output import OutputCapture
from petstore_mock.stateful.search import find_bug, machine_settings
from petstore_mock.stateful.steps import ListPets, Step
from tests.clients.correct import Answer, HttpClientPets
from tests.clients.shapes import by_key
from tests.inside.stateful import leavings
from tests.inside.stateful.playing import raised_by, told

pytestmark = leavings.EXPECTED

LIST: Step = ListPets()
log = logging.getLogger("pets")


def tried(client: type[HttpClientPets]) -> ClientBugError | None:
    return find_bug(client_machine(by_key(client)), machine_settings(max_examples=1)).bug


class LogsItsHeaders(HttpClientPets):
    def headers(self) -> dict[str, str]:
        headers = super().headers()
        log.debug("sending %s", headers)
        return headers


@pytest.mark.parametrize("odd_keys", [False, True])
def test_key_in_a_record_is_told_masked_and_with_a_test_that_fails(odd_keys: bool) -> None:
    error = told(LogsItsHeaders, LIST, odd_keys=odd_keys)
    assert error is not None
    assert error.sentence.startswith(
        "list_pets() logged the API key: \"DEBUG:pets:sending {'Authorization': 'Bearer ***"
    )
    assert "(§5: the API key is sent as a bearer token; " in error.sentence
    assert isinstance(raised_by(error.test, by_key(LogsItsHeaders)), AssertionError), error.test
    assert raised_by(error.test, by_key(HttpClientPets)) is None, error.test


class LogsTheRefusal(HttpClientPets):
    """Logs an exception that bears the key."""

    def checked(self, answer: Answer, success: int) -> Answer:
        log.error("got %s", answer.status, exc_info=RuntimeError(self.key))
        return super().checked(answer, success)


def test_key_in_the_text_of_a_logged_exception_is_told() -> None:
    error = told(LogsTheRefusal, LIST)
    assert error is not None
    assert error.sentence.startswith("list_pets() logged the API key: 'ERROR:pets:got 200 ***")
    assert isinstance(raised_by(error.test, by_key(LogsTheRefusal)), AssertionError), error.test


class LogsWhenMade(HttpClientPets):
    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        log.warning("asks %s as %s", url, key)


class LogsWhenClosed(HttpClientPets):
    def close(self) -> None:
        super().close()
        log.info("%s is done", self.key)


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (LogsWhenMade, "make_client logged the API key: 'WARNING:pets:asks "),
        (LogsWhenClosed, "close() logged the API key"),
    ],
)
def test_key_that_is_logged_without_a_call_is_told_too(client: type[HttpClientPets], words: str) -> None:
    error = tried(client)
    assert error is not None
    assert error.sentence.startswith(words)
    assert isinstance(raised_by(error.test, by_key(client)), AssertionError), error.test
    assert raised_by(error.test, by_key(HttpClientPets)) is None, error.test


class LogsWhatItUsed(HttpClientPets):
    """Says with which key it closes its connection, if it has one."""

    def close(self) -> None:
        if self.connection is not None:
            log.info("%s is done", self.key)
        super().close()


def test_key_that_is_logged_at_the_close_of_a_used_client_is_not_told_of_the_next() -> None:
    error = tried(LogsWhatItUsed)
    assert error is not None
    assert error.sentence.startswith("close() logged the API key")
    assert isinstance(raised_by(error.test, by_key(LogsWhatItUsed)), AssertionError), error.test
    assert raised_by(error.test, by_key(HttpClientPets)) is None, error.test


class Chatters(HttpClientPets):
    """Logs what anybody may read, in vain once: the message does not go with its arguments."""

    def headers(self) -> dict[str, str]:
        log.critical("to %s:%s", self.host, self.port)
        log.error("%d", "no number")
        return super().headers()


def test_what_a_client_logs_reaches_nobody_and_is_its_own_affair(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    assert tried(Chatters) is None
    assert caplog.records == []
    assert capfd.readouterr().err == ""


def test_logging_is_as_it_was_after_a_run(caplog: pytest.LogCaptureFixture) -> None:
    def state() -> tuple[Any, ...]:
        return logging.getLogRecordFactory(), logging.root.level, logging.root.manager.disable

    before = state()
    logging.disable(logging.CRITICAL)
    try:
        assert tried(LogsWhenMade) is not None
        assert state() == (*before[:2], logging.CRITICAL)
    finally:
        logging.disable(before[2])
    log.warning("heard again")
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_what_was_heard_of_one_client_is_not_held_against_the_next() -> None:
    with OutputCapture() as capture:
        capture.keys.add("a-key-of-nobody")
        log.info("a-key-of-nobody")
        capture.start_over()
        log.info("a-key-of-nobody")
        assert capture.take() is None


def test_runs_that_end_in_another_order_leave_logging_as_it_was() -> None:
    before = logging.getLogRecordFactory(), logging.root.level
    first, second = OutputCapture(), OutputCapture()
    first.__enter__()
    with second:
        first.__exit__()
        second.keys = {"a-key-of-nobody"}
        log.info("a-key-of-nobody")
        assert second.take() == ("logged", "as it is", "INFO:pets:***body")
        assert first.take() is None
    assert (logging.getLogRecordFactory(), logging.root.level) == before
