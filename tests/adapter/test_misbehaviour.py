"""Adapters that break the protocol: exit code 2, and a sentence that says what to mend. No process is left over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.adapter.conftest import LOSES_STATUS, Adapter, Check
from tests.platforms import POSIX_SIGNALS
from tests.programs import PETSTORE_MOCK

# The code of an adapter, and a part of the message that its author sees.
BROKEN = {
    "garbage before hello": (
        "line('Listening on port 80\\n')",
        "line 1 of the adapter is no reply: 'Listening on port",
    ),
    "output of a library": (
        "def call(request):\n    line('DEBUG sent\\n')\n    return []",
        "'DEBUG sent'; expected one JSON object in UTF-8 on each line of standard output; print everything else to",
    ),
    "a list": ("def hello(request):\n    line('[]\\n')", "expected a JSON object"),
    "another version": ("def hello(request):\n    write({'hello': 2})", 'begin it with {"hello": 1'),
    "no operations": ("OPERATIONS = []", "expected operations as a list of names; list those of listPets, createPet"),
    "an operation without a name": ("OPERATIONS = [['getPet']]", "got ['getPet']"),
    "an unknown operation": ("OPERATIONS = ['listPet']", "got 'listPet' (did you mean 'listPets'?)"),
    "silence at hello": ("def hello(request):\n    pass", "expected a reply to hello within 3 s; got none"),
    "silence at open": ("def open_client(request):\n    time.sleep(60)", "expected a reply to open within 1.5 s; got"),
    "a reply after its time": ("def open_client(request):\n    time.sleep(4)", "a reply to open within 1.5 s"),
    "half a line, then silence": (
        "def hello(request):\n    line('{\"hello\": 1')",
        "got half a line, '{\"hello\": 1': end it with a line feed, and flush standard output",
    ),
    "half a line, then its end": (
        "def hello(request):\n    line('{\"hel')\n    sys.exit(0)",
        "the adapter ended with exit code 0 after half a line, '{\"hel'",
    ),
    "an exit before hello": (
        "print('no such module: shop', file=sys.stderr)\nsys.exit(3)",
        "the adapter ended with exit code 3. The end of its standard error:\nno such module: shop",
    ),
    # The machine may have sent the next request, or not.
    "an exit after hello": (
        "def hello(request, former=hello):\n    former(request)\n    sys.exit(0)",
        "ended with exit code 0",
    ),
    "a flood of lines": (
        "def hello(request):\n    while True: write({'id': 1, 'ok': None})",
        "expected the first line to be a reply to hello",
    ),
    "a line without an end": (
        "def hello(request):\n    while True: line('x' * 1000000)",
        "expected lines of at most 64 MiB; got a longer one",
    ),
    "a value that JSON lacks": (
        "def answer(request):\n    line('{\"id\": %d, \"ok\": NaN}\\n' % request['id'])",
        "expected JSON, which has no NaN: reply with an error instead, or write null",
    ),
    "a long line on standard error": (
        "sys.stderr.write('y' * 1000)\nsys.exit(3)",
        "The end of its standard error:\n" + "y" * 300 + "...\n",
    ),
    "a wrong id": (
        "def answer(request):\n    write({'id': 999, 'ok': None})",
        "expected the id of a request that waits; got 999: copy the id of the request",
    ),
    "an id of another type": ("def answer(request):\n    write({'id': '1', 'ok': None})", "got '1': copy the id"),
    "two replies": (
        "def answer(request, former=answer):\n    former(request)\n    write({'id': request['id'], 'ok': []})",
        "expected one reply for each request; got a second one with the id 1",
    ),
    "neither ok nor error": (
        "def answer(request):\n    write({'id': request['id']})",
        "expected a reply with ok or error; write null for a result that is nothing",
    ),
    "an unknown kind": (
        "def call(request):\n    raise Failed(kind='staus')",
        "expected a kind of error, one of status, transport, timeout, protocol, argument, cancelled, other; got",
    ),
    "a kind status without one": ("def call(request):\n    raise Failed(kind='status')", "to have the status as a"),
    "an error of open": (
        "def open_client(request):\n    raise Failed(kind='other', type='TypeError', message='url is undefined')",
        "expected open to make a client; got TypeError: url is undefined",
    ),
    "a process that stays": (
        "OPERATIONS = ['getPet']\ndef end():\n    time.sleep(60)",
        "without any client, it stayed alive for more than 5 s after the end of standard input: read lines until",
    ),
    "another exit code": (
        "OPERATIONS = ['getPet']\ndef end():\n    sys.exit(7)",
        "without any client, it ended with exit code 7 instead of 0",
    ),
}
QUICKLY = ("--patience", "0.6", "--examples", "1", "--vary", "", "--faults", "none")


SLOW = {"a process that stays", "silence in a call"}


@pytest.mark.seconds
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in BROKEN]
)
def test_a_broken_adapter_exits_with_2_and_a_sentence(check: Check, adapter: Adapter, name: str) -> None:
    code, sentence = BROKEN[name]
    exit_code, out, error = check(adapter(code), *QUICKLY)
    assert sentence in error
    assert (exit_code, out) == (2, "")


def is_running(file: Path) -> bool:
    """Whether the process whose number a file has still runs. It may take a moment to end."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{file.read_text(encoding='ascii')}/stat").read_text(encoding="ascii")
        except FileNotFoundError:
            return False
        if state.rpartition(")")[2].split()[0] == "Z":  # nobody has looked at its exit code yet
            return False
        time.sleep(0.01)
    return True


FORKED = """
OPERATIONS = ["getPet"]
other = subprocess.Popen(["sleep", "60"], start_new_session={apart}, stdin=subprocess.DEVNULL)
open({file!r}, "w").write(str(other.pid))
"""


@pytest.mark.seconds
@POSIX_SIGNALS
@pytest.mark.parametrize("apart", [False, True])
def test_a_process_that_the_adapter_started_is_ended_and_reported(
    check: Check, adapter: Adapter, tmp_path: Path, apart: bool
) -> None:
    if apart and not Path("/proc/self/fd").exists():
        pytest.skip("the system does not list the files of a process")
    file = tmp_path / "other"
    exit_code, _, error = check(adapter(FORKED.format(apart=apart, file=str(file))), *QUICKLY)
    assert "got one that the adapter started: end it when standard input ends" in error
    assert exit_code == 2
    assert not is_running(file)


@pytest.mark.seconds
@POSIX_SIGNALS
@pytest.mark.parametrize(
    ("number", "is_replay"),
    [
        (signal.SIGINT, False),
        (signal.SIGTERM, False),
        (signal.SIGHUP, False),
        pytest.param(signal.SIGINT, True, marks=pytest.mark.slow, id="replay"),
    ],
)
def test_a_signal_leaves_no_process_over(
    check: Check, adapter: Adapter, tmp_path: Path, number: signal.Signals, is_replay: bool
) -> None:
    options: tuple[str, ...] = QUICKLY[2:]
    if is_replay:
        assert check(adapter(LOSES_STATUS), *options)[0] == 1
        options = ("--replay", str(tmp_path / "petstore-check.json"))
    file = tmp_path / "adapter"
    code = f"""
        def call(request):
            with open({str(file) + ".new"!r}, "w") as new:
                new.write(str(os.getpid()))
            os.rename({str(file) + ".new"!r}, {str(file)!r})
            time.sleep(60)

        signal.signal(signal.SIGINT, signal.SIG_IGN)
    """
    command = [*PETSTORE_MOCK, "check", *options, "--patience", "60", "--", *adapter(code)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(process.pid, number)
        _, error = process.communicate(timeout=30)
        assert (process.returncode, error) == (130, b"petstore-mock: interrupted\n")
    assert not is_running(file)


def test_a_program_that_does_not_exist_is_refused(check: Check) -> None:
    exit_code, _, error = check(["no-such-program"])
    assert "expected a program that can be started; got 'no-such-program'" in error
    assert exit_code == 2


@pytest.mark.seconds
@pytest.mark.parametrize("option", ["--json", "--scenario"])
def test_a_file_that_cannot_be_written_is_refused(check: Check, adapter: Adapter, tmp_path: Path, option: str) -> None:
    path = tmp_path / "absent" / "file.json"
    exit_code, _, error = check(adapter(BUGS["an exit in a call"][0]), *QUICKLY, "--first", option, str(path))
    sentence = f"expected a file that can be written; got path={str(path)!r}: No such file or directory"
    assert error == f"petstore-mock: {sentence}\n"
    assert exit_code == 2


@pytest.mark.seconds
def test_an_error_with_half_a_character_is_told(check: Check, adapter: Adapter, tmp_path: Path) -> None:
    code = "def send(*_):\n    raise Failed(kind='other', type='TypeError', message='\\ud800')"
    report = tmp_path / "report.json"
    exit_code, _, error = check(adapter(code), *QUICKLY, "--first", "--json", str(report))
    assert (exit_code, error) == (1, "")
    assert "\ud800" in json.loads(report.read_bytes())["bugs"][0]["sentence"]


def test_much_output_on_standard_error_does_not_slow_the_replies(check: Check, adapter: Adapter) -> None:
    code = """
        def hello(request, former=hello):
            for _ in range(20_000):
                sys.stderr.write("y" * 1000 + "\\n")
            former(request)
            sys.exit(0)
    """
    _, _, error = check(adapter(code), *QUICKLY)
    assert "expected a reply to hello" not in error


@pytest.mark.seconds
def test_silence_at_the_first_close_ends(check: Check, adapter: Adapter) -> None:
    exit_code, _, error = check(adapter("def close(request):\n    time.sleep(600)"), *QUICKLY)
    assert "expected a reply to open within 1.5 s; got none" in error
    assert exit_code == 2


# A call was running, so these are bugs of the client.
BUGS = {
    "an exit in a call": (
        "def call(request):\n    os._exit(3)",
        "ended the process of the client, which ended with exit",
    ),
    "a crash in a call": ("def call(request):\n    os.kill(os.getpid(), 9)", "which ended with signal 9"),
    "silence in a call": ("def call(request):\n    time.sleep(60)", "neither ended nor sent a request for"),
    "an error of kind other": (
        "def send(*_):\n    raise Failed(kind='other', type='TypeError', message='no status')",
        "sent no request and raised TypeError (no status)",
    ),
    "the key on standard error": (
        "def open_client(request, former=open_client):\n    sys.stderr.write(request['api_key'])\n    former(request)",
        "shows the API key in standard error",
    ),
}


@pytest.mark.seconds
@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in BUGS])
def test_a_client_that_breaks_its_process_has_a_bug(check: Check, adapter: Adapter, name: str) -> None:
    code, sentence = BUGS[name]
    exit_code, out, error = check(adapter(code), *QUICKLY, "--first")
    assert (exit_code, error) == (1, "")
    assert sentence in out


@pytest.mark.slow
def test_a_process_that_ends_in_a_call_is_one_bug(check: Check, adapter: Adapter) -> None:
    code = """
        def call(request, former=call):
            if request["operation"] == "createPet":
                os._exit(3)
            return former(request)
    """
    _, out, error = check(adapter(code), *QUICKLY)
    assert error == ""
    assert "\nThe client has a bug.\n" in out
    assert "(rule 'process ended')" in out


# A timer of the client outlives its close. The process ends between two calls, or in a call of another client.
LATE_CRASH = """
    import threading
    def crash():
        sys.stderr.write("Error: socket hang up\\n")
        sys.stderr.flush()
        os._exit(1)
    def call(request, former=call):
        try:
            return former(request)
        except Failed:
            threading.Timer(0.2, crash).start()
            raise
"""


@pytest.mark.seconds
def test_a_process_that_ends_after_the_close_of_its_client_is_a_bug_of_the_client(
    check: Check, adapter: Adapter, tmp_path: Path
) -> None:
    exit_code, out, error = check(adapter(LATE_CRASH), *QUICKLY, "--first")

    assert (exit_code, error) == (1, "")
    assert "(rule 'process ended'): the closed client ended the process of the client, which ended with exit" in out
    assert "Bug 1 of 1" in out
    assert 'The calls:\n\n  1  getPet {"petId": 1}\n\n' in out
    assert "The end of its standard error:\nError: socket hang up\n" in out
    assert check(adapter(LATE_CRASH), "--replay", str(tmp_path / "petstore-check.json"))[0] == 1


@pytest.mark.seconds
def test_an_end_that_no_scenario_shows_again_is_no_bug_of_the_client(
    check: Check, adapter: Adapter, tmp_path: Path
) -> None:
    code = f"""
        def answer(request, former=answer):
            former(request)
            if request["do"] == "close" and not os.path.exists({str(tmp_path / "closed")!r}):
                open({str(tmp_path / "closed")!r}, "w").close()
                os._exit(1)
    """
    exit_code, out, error = check(adapter(code), *QUICKLY)
    assert exit_code == 2
    assert "the adapter ended with exit code 1" in error
    assert "No bug was found" not in out
