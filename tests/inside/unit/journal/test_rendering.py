"""The report that people read when a test fails, and the line that the stub logs."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from petstore_mock import faults
from petstore_mock.journal.rendering import render_curl, render_journal, render_line, render_violation
from petstore_mock.messages.request import ApiRequest
from tests.inside.core import Core, whole

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def core() -> Core:
    return Core()


def lines(core: Core) -> list[str]:
    for entry in core.journal:
        entry.duration = 0.0012
    return render_journal(core.journal).splitlines()


# One line a request


def test_line_tells_method_path_status_time_and_operation(core: Core) -> None:
    core.list("?limit=1")
    core.journal.last.duration = 0.0012
    assert render_line(core.journal.last) == "GET /v1/pets?limit=1 200 1.2 ms listPets"
    assert render_line(core.journal.last, numbered=True) == "  1 GET /v1/pets?limit=1 200 1.2 ms listPets"


def test_line_tells_why_a_request_was_refused(core: Core) -> None:
    core.list("?limit=0")
    line = render_line(core.journal.last)
    assert line.endswith(" ms listPets: invalid_query, query.limit must be at least 1, got 0 (integer)")
    assert render_line(core.journal.last, reason=False).endswith(" ms listPets")


def test_line_tells_the_fault_and_what_became_of_the_answer(core: Core) -> None:
    core.world.plan.add(faults.reset())
    held = core.defer()
    entry = core.journal.last
    assert " unanswered " in render_line(entry)
    held.completion.complete("reset", sent=False)
    assert " reset " in render_line(entry)
    assert render_line(entry).endswith(": fault reset()")


def test_line_of_a_cut_answer_has_status_and_outcome(core: Core) -> None:
    core.world.plan.add(faults.truncate())
    core.defer().completion.complete("truncated", sent=True)
    assert " 200 (truncated) " in render_line(core.journal.last)


def test_line_is_one_line_and_bounded(core: Core) -> None:
    core.send("GET", "/\x1b[2J\r\n" + "x" * 10_000)
    core.create({"y" * 10_000: 1})
    for entry in core.journal:
        line = render_line(entry)
        assert line.isprintable()
        assert len(line) < 2_000


# The table


def test_table_has_aligned_columns(core: Core) -> None:
    core.list()
    core.create()
    core.send("GET", "/nowhere")
    core.world.plan.add(503, on="getPet")
    core.get()
    assert lines(core)[:4] == [
        "1  GET /v1/pets    200  1.2 ms  listPets",
        "2  POST /v1/pets   201  1.2 ms  createPet",
        "3  GET /nowhere    404  1.2 ms  -          unknown_path (§4)",
        "4  GET /v1/pets/1  503  1.2 ms  getPet     fault server_error(503)",
    ]


def test_report_of_no_request_says_so() -> None:
    assert render_journal([]) == "no requests"


def test_report_lists_the_latest_and_tells_violations_of_all(core: Core) -> None:
    core.list("?limit=0")
    for _ in range(60):
        core.list()
    text = lines(core)
    assert text[0] == "... 11 earlier requests"
    assert text[1].startswith("12  GET /v1/pets  200")
    assert text[50].startswith("61  ")
    assert text[52] == "request 1 broke the contract: GET /v1/pets?limit=0"


def test_report_bounds_the_violations_it_tells(core: Core) -> None:
    for number in range(30):
        core.list(f"?field{number // 2}=0")
    text = lines(core)
    assert sum("broke the contract:" in line for line in text) == 10
    assert text[-1] == "... and 10 more requests that broke the contract"


def test_report_tells_once_what_a_client_does_again_and_again(core: Core) -> None:
    for number in range(12):
        core.list(f"?limit=-{number + 1}")
    core.create({"name": "Rex"})
    core.create({"name": "Tom"})
    core.create({"categoryId": 1})
    core.get("a")
    core.get("b")
    text = lines(core)
    assert breaches(text) == [
        "request 1 broke the contract: GET /v1/pets?limit=-1",
        "  again in requests 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 1 more",
        "request 13 broke the contract: POST /v1/pets",
        "  again in request 14",
        "request 15 broke the contract: POST /v1/pets",
        "request 16 broke the contract: GET /v1/pets/a",
        "  again in request 17",
    ]
    assert text[text.index("  again in request 14") - 1].startswith("  curl "), "it ends what is told of the first"


def test_report_counts_no_more_than_there_are(core: Core) -> None:
    for _ in range(11):
        core.list("?limit=0")
    assert breaches(lines(core))[1:] == ["  again in requests 2, 3, 4, 5, 6, 7, 8, 9, 10, 11"]


def test_report_tells_apart_what_only_looks_alike(core: Core) -> None:
    core.list("?limit=0")
    core.send("HEAD", "/v1/pets?limit=0")
    core.list(key=None)
    core.get(key=None)
    core.send("GET", "/nowhere")
    core.send("GET", "/elsewhere")
    assert breaches(lines(core)) == [
        f"request {number} broke the contract: {request}"
        for number, request in enumerate(
            [
                "GET /v1/pets?limit=0",
                "HEAD /v1/pets?limit=0",
                "GET /v1/pets",
                "GET /v1/pets/1",
                "GET /nowhere",
                "GET /elsewhere",
            ],
            1,
        )
    ]


def breaches(text: list[str]) -> list[str]:
    return [line for line in text if "broke the contract:" in line or line.startswith("  again")]


def test_expected_violation_is_marked_and_not_told(core: Core) -> None:
    core.list("?limit=0")
    core.journal.last.expected = True
    (line,) = lines(core)
    assert line.endswith("invalid_query (§4.1); expected by the test")
    assert render_line(core.journal.last).endswith("; expected by the test")


def test_answer_of_httpserver_is_marked(core: Core) -> None:
    core.send("GET", "/v1/store/orders")
    core.journal.last.by_expectation = True
    assert " httpserver" in lines(core)[0]
    assert " (httpserver)" in render_line(core.journal.last)


# Violations


def test_violation_quotes_the_contract_and_what_was_sent(core: Core) -> None:
    core.create({"name": "Rex", "categoryId": "1", "colour": "red"})
    assert render_violation(core.journal.last).splitlines() == [
        "request 1 broke the contract: POST /v1/pets",
        "  §2  NewPet: categoryId, integer, int64, required: identifier of the category the animal belongs to",
        '      body.categoryId must be an integer, got "1" (string)',
        "  §4.2  Request body (required, application/json): NewPet",
        '      body.colour is not a field here; the fields are name, categoryId, status, got "red" (string)',
        '  sent: application/json, 51 bytes: {"name": "Rex", "categoryId": "1", "colour": "red"}',
        (
            """  curl -i -X POST -H "Authorization: Bearer $PETSTORE_KEY" -H 'Content-Type: application/json' """
            """--data-binary '{"name": "Rex", "categoryId": "1", "colour": "red"}' http://fake.test/v1/pets"""
        ),
    ]


def test_violation_without_a_schema_quotes_the_contract_too(core: Core) -> None:
    core.list(key=None)
    assert render_violation(core.journal.last).splitlines() == [
        "request 1 broke the contract: GET /v1/pets",
        "  §5  The API key is sent in the form Authorization: Bearer <API_KEY>, on every operation",
        "      The API key is missing: send 'Authorization: Bearer <API_KEY>'",
        "  sent: no body",
        "  curl -i http://fake.test/v1/pets",
    ]


def test_body_over_the_limit_is_told_as_such_and_not_repeated(core: Core) -> None:
    fields = [(b"Authorization", f"Bearer {core.key}".encode()), (b"Content-Type", b"application/json")]
    request = ApiRequest("POST", "/v1/pets", fields)
    request.oversized = True
    assert whole(core.worlds.handle(request)).status == 413
    told = render_violation(core.journal.last)
    assert "  sent: a body that is not kept, since it is over the limit" in told
    assert "curl" not in told


def test_violations_of_one_request_are_bounded(core: Core) -> None:
    core.create({f"field{number}": 1 for number in range(50)})
    text = render_violation(core.journal.last)
    assert len(text.splitlines()) < 20
    assert "      and 42 more" in text


def test_violations_that_were_only_counted_are_counted_in_the_report(core: Core) -> None:
    core.create({f"field{number}": 1 for number in range(3000)})
    assert "      and 2992 more" in render_violation(core.journal.last)


def test_long_and_binary_bodies_are_shortened_and_escaped(core: Core) -> None:
    core.create(b"\x1b[2J\x00\xff" + b"x" * 100_000)
    text = render_violation(core.journal.last)
    assert len(text) < 4_000
    assert all(line.isprintable() for line in text.splitlines())
    assert "sent: application/json, 100006 bytes: \\x1b[2J\\x00\\xff" in text


@pytest.mark.parametrize("fixed", [None, "a-fixed-key-of-the-team"])
def test_key_stands_nowhere_in_the_report(fixed: str | None) -> None:
    core = Core(key=fixed)
    key = core.key
    core.list(f"?limit=0&key={key}")
    core.create({"name": 1, "x": key})
    core.create(f"@{key}".encode())
    core.list(headers={"Authorization": f"Basic {key}"})
    core.list(headers={"Authorization": f"{key} x"})
    core.send("GET", f"/v1/nowhere/{key}", headers={"X-Other": key})
    assert len(core.journal.violations) == 6
    assert key not in render_journal(core.journal)


# curl: a stand-in of that name writes down how the shell called it


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if os.name != "posix":
        pytest.skip("the command is one for a POSIX shell")
    directory = tmp_path_factory.mktemp("bin")
    program = directory / "curl"
    program.write_text("""#!/bin/sh\nprintf '%s\\0' "$#" "$@"\ncase "$*" in *@-*) cat ;; esac\n""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return directory


def run(stand_in: Path, command: str) -> tuple[list[bytes], bytes]:
    """Run ``command`` in a shell; return the arguments that curl gets, and its standard input."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": f"{stand_in}:/usr/bin:/bin", "PETSTORE_KEY": "the key"},
        capture_output=True,
        check=True,
        timeout=30,
    )
    count, _, rest = done.stdout.partition(b"\0")
    *arguments, fed = rest.split(b"\0", int(count))
    return arguments, fed


def arguments_of(stand_in: Path, core: Core) -> list[str]:
    """Return the arguments that curl gets from the latest request's command."""
    return [argument.decode() for argument in run(stand_in, render_curl(core.journal.last))[0]]


def sent_body(stand_in: Path, command: str) -> bytes:
    """Return the body that curl would send."""
    arguments, fed = run(stand_in, command)
    argument = arguments[arguments.index(b"--data-binary") + 1]
    return fed if argument == b"@-" else argument


def test_method_without_end_is_shortened(core: Core) -> None:
    core.send("M" * 5000, "/v1/pets")
    assert len(render_line(core.journal.last)) < 400
    assert render_violation(core.journal.last).startswith(f"request 1 broke the contract: {'M' * 40}... /v1/pets\n")


def test_host_that_can_be_none_is_not_called(core: Core) -> None:
    core.list("?limit=0", headers={"Host": "[::1"})
    assert render_curl(core.journal.last).endswith(" 'http://127.0.0.1:8080/v1/pets?limit=0'")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.binary(min_size=1, max_size=60)
    | st.text(min_size=1, max_size=60).map(lambda text: text.encode("utf-8", "replace"))
)
def test_curl_sends_the_same_bytes(stand_in: Path, body: bytes) -> None:
    core = Core()
    core.create(body)
    assert sent_body(stand_in, render_curl(core.journal.last)) == body


@pytest.mark.parametrize(
    "body",
    [b"@/etc/passwd", b"$(id)", b"`id`", b"a'b\"c\\d", b"%s%n", b"\x00", b"a\nb", b"--", b"-\x00", b"\\x41 \\101"],
)
def test_curl_sends_bodies_that_a_shell_or_curl_would_read_otherwise(stand_in: Path, body: bytes) -> None:
    core = Core()
    core.create(body)
    assert sent_body(stand_in, render_curl(core.journal.last)) == body


def test_long_body_is_left_to_a_file(core: Core) -> None:
    core.create(b"x" * 3_000)
    assert "--data-binary @body-of-3000-bytes " in render_curl(core.journal.last)


@pytest.mark.parametrize("key", ["of this world", "wrong", "another-wrong-key-of-some-length"])
def test_curl_takes_the_key_from_the_environment(stand_in: Path, core: Core, key: str) -> None:
    core.list("?limit=0", key=core.key if key == "of this world" else key)
    assert "***" not in render_curl(core.journal.last)
    arguments = arguments_of(stand_in, core)
    assert arguments == ["-i", "-H", "Authorization: Bearer the key", "http://fake.test/v1/pets?limit=0"]


def test_curl_repeats_bad_credentials_without_showing_them(stand_in: Path, core: Core) -> None:
    core.list(headers={"Authorization": "Basic dXNlcjpodW50ZXI="})
    arguments = arguments_of(stand_in, core)
    assert "Authorization: Basic ***" in arguments


@pytest.mark.parametrize("scheme", ["$(touch stolen)", "`id`", '"; id; "', "Bearer$(id)"])
def test_curl_obeys_nothing_that_a_client_sent_as_a_scheme(stand_in: Path, core: Core, scheme: str) -> None:
    """An unknown path asks for no key: anything may stand in Authorization."""
    core.send("GET", "/nowhere", headers={"Authorization": f"{scheme} x"})
    arguments = arguments_of(stand_in, core)
    assert "Authorization: ***" in arguments


@pytest.mark.parametrize(
    ("method", "target", "headers", "expected"),
    [
        ("HEAD", "/v1/pets?a=b&c=d", {}, ["-i", "--head", "http://fake.test/v1/pets?a=b&c=d"]),
        ("DELETE", "/v1/pets", {}, ["-i", "-X", "DELETE", "http://fake.test/v1/pets"]),
        ("GET'; id", "/", {}, ["-i", "-X", "GET'; id", "http://fake.test/"]),
        ("OPTIONS", "*", {}, ["-i", "-X", "OPTIONS", "--request-target", "*", "http://fake.test"]),
        ("GET", "/a/../b", {}, ["-i", "--path-as-is", "http://fake.test/a/../b"]),
        ("GET", "/a[1-9]", {}, ["-i", "--globoff", "http://fake.test/a[1-9]"]),
        ("GET", "/'$(id)", {}, ["-i", "http://fake.test/'$(id)"]),
        ("GET", "/", {"X-Empty": "", "Accept": "*/*"}, ["-i", "-H", "X-Empty;", "http://fake.test/"]),
        ("GET", "/", {"X-$(id)": "`id` 'a'"}, ["-i", "-H", "X-$(id): `id` 'a'", "http://fake.test/"]),
    ],
)
def test_curl_says_what_was_asked_for(
    stand_in: Path, core: Core, method: str, target: str, headers: dict[str, str], expected: list[str]
) -> None:
    core.send(method, target, key=None, headers=headers)
    arguments = arguments_of(stand_in, core)
    assert arguments == expected


def test_curl_names_no_type_that_the_client_did_not_name(stand_in: Path, core: Core) -> None:
    core.send("POST", "/v1/pets", b"{}", key=None)
    arguments = arguments_of(stand_in, core)
    assert arguments[:5] == ["-i", "-X", "POST", "-H", "Content-Type:"]


def test_what_never_was_a_request_has_no_curl(core: Core) -> None:
    core.worlds.refuse("malformed_request", "it was noise", None)
    entry = core.journal.last
    assert render_curl(entry) == ""
    assert "curl" not in render_violation(entry)
    assert shlex.split(render_line(entry))[0] == "-"
