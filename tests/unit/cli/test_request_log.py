"""The request log of ``serve``."""

from __future__ import annotations

import threading
from pathlib import Path

from petstore_mock.cli.request_log import RequestLog


def test_log_writes_every_line_and_its_thread_ends(tmp_path: Path) -> None:
    with (tmp_path / "log.txt").open("w", encoding="utf-8") as stream:
        log = RequestLog(stream, as_json=False)
        log.start("greeting")
        log.say("ended", "the world ended", "a")
        assert log.finish() == ""
    assert not [thread for thread in threading.enumerate() if thread.name == "petstore-mock-log"]
    first, second = (tmp_path / "log.txt").read_text(encoding="utf-8").splitlines()
    assert (first, second[8:]) == ("greeting", " [a] the world ended")
