"""The control door on a port: in the stub, behind the mock, with its streams, its limits and its neighbours."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError
from petstore_mock.cli import run
from tests.live.stub import PATIENCE, stub

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def petstore() -> Iterator[PetStoreMock]:
    with PetStoreMock(control=True, self_check=True) as mock:
        yield mock


def ask(
    url: str, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], Any]:
    """Send one request on a connection of its own; ``path`` is from the root on."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)
    try:
        content = None if body is None else json.dumps(body)
        fields = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, content, {**fields, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read().decode()
        is_json = "json" in answer.headers.get("Content-Type", "") and content
        return answer.status, dict(answer.headers.items()), json.loads(content) if is_json else content
    finally:
        connection.close()


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_mock_has_a_door_if_asked(petstore: PetStoreMock) -> None:
    assert petstore.control_url == petstore.url.replace("/v1", "/__petstore/")
    status, _, made = ask(petstore.url, "PUT", "/w/one/__petstore/world", {"seed": 2})
    assert status == 201
    assert made["url"] == petstore.url.replace("/v1", "/w/one/v1")
    status, _, pets = ask(petstore.url, "GET", "/w/one/v1/pets", headers=bearer(made["api_key"]))
    assert (status, len(pets)) == (200, 2)
    assert len(petstore.journal) == 0


def test_mock_without_a_door_has_no_such_path() -> None:
    with PetStoreMock() as petstore:
        assert ask(petstore.url, "GET", "/__petstore/health")[0] == 404
        with pytest.raises(PetStoreMockError, match="control=True"):
            _ = petstore.control_url


def test_mock_opens_no_door_further_out() -> None:
    with pytest.raises(PetStoreMockError, match="serve --control"):
        PetStoreMock(host="0.0.0.0", control=True)


def test_door_and_service_share_a_kept_connection(petstore: PetStoreMock) -> None:
    connection = http.client.HTTPConnection(urlsplit(petstore.url).netloc, timeout=PATIENCE)
    for path, status in (("/__petstore/world", 200), ("/v1/pets", 401), ("/__petstore/pets", 200), ("/v1/pets", 401)):
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
    connection.close()
    assert {entry.connection for entry in petstore.journal} == {1}
    assert [entry.path for entry in petstore.journal] == ["/v1/pets", "/v1/pets"]


def test_wait_does_not_hold_up_the_service(petstore: PetStoreMock) -> None:
    waited: list[Any] = []
    waiter = threading.Thread(
        target=lambda: waited.append(ask(petstore.url, "POST", "/__petstore/requests/wait", {"timeout": 20}))
    )
    waiter.start()
    assert ask(petstore.url, "GET", "/v1/pets", headers=bearer(petstore.api_key))[0] == 200
    waiter.join(PATIENCE)
    assert waited[0][2]["met"] is True


def events(lines: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
    """Yield the events of a stream, by kind."""
    kind = ""
    for line in lines:
        if line.startswith(b"event: "):
            kind = line[7:].strip().decode()
        elif line.startswith(b"data: "):
            yield kind, json.loads(line[6:])


def test_stream_tells_of_worlds_and_requests_until_its_world_ends(petstore: PetStoreMock) -> None:
    ask(petstore.url, "PUT", "/w/one/__petstore/world")
    connections = [http.client.HTTPConnection(urlsplit(petstore.url).netloc, timeout=PATIENCE) for _ in range(2)]
    answers = []
    for connection, path in zip(connections, ("/__petstore/events", "/w/one/__petstore/events"), strict=True):
        connection.request("GET", path)
        answers.append(connection.getresponse())
        assert answers[-1].headers["Content-Type"].startswith("text/event-stream")
        assert answers[-1].fp.readline() if answers[-1].chunked is False else answers[-1].readline()
    ask(petstore.url, "GET", "/w/one/v1/pets")
    ask(petstore.url, "GET", "/v1/pets")
    ask(petstore.url, "POST", "/w/one/__petstore/world/reset")
    ask(petstore.url, "DELETE", "/w/one/__petstore/world")
    own = list(events(iter(answers[1].readline, b"")))
    assert [kind for kind, _ in own] == ["request", "world", "world"]
    assert own[0][1]["path"] == "/v1/pets"
    assert [data["event"] for _, data in own[1:]] == ["reset", "ended"]
    every = events(iter(answers[0].readline, b""))
    told = [next(every) for _ in range(4)]
    assert sorted((kind, data["world"]) for kind, data in told) == [
        ("request", "default"),
        ("request", "one"),
        ("world", "one"),
        ("world", "one"),
    ]
    for answer, connection in zip(answers, connections, strict=True):
        answer.close()
        connection.close()


def test_stream_whose_client_goes_is_ended(petstore: PetStoreMock) -> None:
    tenants_before = threading.active_count()
    connection = http.client.HTTPConnection(urlsplit(petstore.url).netloc, timeout=PATIENCE)
    connection.request("GET", "/__petstore/events")
    answer = connection.getresponse()
    answer.readline()
    answer.close()
    connection.close()
    for _ in range(50):  # each request wakes the stream, which finds that its client has gone
        ask(petstore.url, "GET", "/v1/pets")
        if threading.active_count() <= tenants_before:
            break
    assert threading.active_count() <= tenants_before + 1


def test_stop_ends_streams_and_waits() -> None:
    with PetStoreMock(control=True) as petstore:
        connection = http.client.HTTPConnection(urlsplit(petstore.url).netloc, timeout=PATIENCE)
        connection.request("GET", "/__petstore/events")
        answer = connection.getresponse()
        answer.readline()
    with contextlib.suppress(http.client.HTTPException, OSError):  # cut off, as the service is
        while answer.readline():
            pass
    answer.close()
    connection.close()
    assert not petstore.httpserver.is_running()


def raw(petstore: PetStoreMock, sent: bytes) -> bytes:
    host, port = urlsplit(petstore.url).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as sock:
        sock.sendall(sent)
        received = b""
        while part := sock.recv(65536):
            received += part
        return received


def test_announced_length_is_refused_before_the_body_comes(petstore: PetStoreMock) -> None:
    host = urlsplit(petstore.url).netloc
    head = f"POST /__petstore/pets HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    answer = raw(petstore, f"{head}Content-Length: 99999999999\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"application/problem+json" in answer
    assert len(petstore.journal) == 0


@pytest.mark.untraced
def test_large_body_of_who_stays_out_is_not_kept() -> None:
    """A page of another site, or somebody without the token, must not fill the memory."""
    with stub("--control-token", "secret-token") as served:
        for fields, status in (
            ("", 401),
            ("Petstore-Control-Token: secret-token\r\nOrigin: http://a.example\r\n", 403),
        ):
            for length, framing in ((b"", "Transfer-Encoding: chunked"), (b"x", "Content-Length: 1000000")):
                host = urlsplit(served.url).netloc
                head = f"POST /__petstore/pets HTTP/1.1\r\nHost: {host}\r\n{fields}{framing}\r\n\r\n"
                sent = head.encode() + (b"%x\r\n" % 100_000 + b"x" * 100_000 if not length else b"x")
                with socket.create_connection(served.address, timeout=PATIENCE) as sock:
                    sock.sendall(sent)
                    sock.settimeout(PATIENCE)
                    assert sock.recv(65536).startswith(f"HTTP/1.1 {status} ".encode()), "before the body is whole"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /__petstore/world HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"BREW /__petstore/world HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        (b"GET /__petstore/world HTTP/1.1\r\nHost: a\r\nX: %b\r\n\r\n" % (b"a" * 100_000), 431),
        (b"POST /__petstore/pets HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ],
)
def test_request_that_is_none_gets_a_problem_and_is_in_no_journal(
    petstore: PetStoreMock, sent: bytes, status: int
) -> None:
    answer = raw(petstore, sent)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"application/problem+json" in answer
    assert len(petstore.journal) == 0


def test_http_1_0_gets_a_stream_that_ends_with_the_connection(petstore: PetStoreMock) -> None:
    host = urlsplit(petstore.url).netloc
    answer = raw(petstore, f"GET /__petstore/health HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
    assert b'"status":"ok"' in answer


def test_idle_connections_of_one_world_are_closed(petstore: PetStoreMock) -> None:
    key = ask(petstore.url, "PUT", "/w/one/__petstore/world")[2]["api_key"]
    sockets = [http.client.HTTPConnection(urlsplit(petstore.url).netloc, timeout=PATIENCE) for _ in range(2)]
    for connection, path, one in zip(sockets, ("/v1/pets", "/w/one/v1/pets"), (petstore.api_key, key), strict=True):
        connection.request("GET", path, headers=bearer(one))
        connection.getresponse().read()
    assert ask(petstore.url, "POST", "/w/one/__petstore/connections/close")[0] == 204
    assert sockets[1].sock is not None
    assert sockets[1].sock.recv(1) == b"", "closed"
    sockets[0].request("GET", "/v1/pets", headers=bearer(petstore.api_key))
    assert sockets[0].getresponse().status == 200, "another world's stays"
    for connection in sockets:
        connection.close()


# The stub


def test_stub_tells_where_its_door_is() -> None:
    with stub("--log-format", "json", lines=1) as served:
        first = json.loads(served.first[0])
        assert first["control_url"] == first["url"].replace("/v1", "/__petstore/")
        assert "control_token" not in first
        status, _, world = ask(first["url"], "GET", "/__petstore/world")
        assert (status, world["api_key"]) == (200, first["api_keys"][0])


def test_stub_with_a_token_lets_nobody_else_in() -> None:
    with stub("--control-token", "secret-token") as served:
        assert "secret-token" not in "".join(served.first)
        assert ask(served.url, "GET", "/__petstore/world")[0] == 401
        token = {"Petstore-Control-Token": "secret-token"}
        assert ask(served.url, "GET", "/__petstore/world", headers=token)[0] == 200
        assert ask(served.url, "GET", "/__petstore/health")[0] == 200


def test_stub_makes_up_a_token_if_asked() -> None:
    with stub("--control", "--log-format", "json", lines=1) as served:
        first = json.loads(served.first[0])
        assert ask(first["url"], "GET", "/__petstore/world")[0] == 401
        token = {"Petstore-Control-Token": first["control_token"]}
        assert ask(first["url"], "GET", "/__petstore/world", headers=token)[0] == 200


@pytest.mark.untraced
@pytest.mark.parametrize("options", [("--no-control",), ("--host", "0.0.0.0")])
def test_stub_has_no_door_if_told_so_or_if_it_listens_further_out(options: tuple[str, ...]) -> None:
    with stub("--log-format", "json", *options, lines=1) as served:
        first = json.loads(served.first[0])
        assert "control_url" not in first
        assert ask(first["url"], "GET", "/__petstore/health")[0] == 404


def test_door_has_a_port_of_its_own_if_asked() -> None:
    with stub("--control-port", "0", "--log-format", "json", lines=1) as served:
        first = json.loads(served.first[0])
        assert urlsplit(first["control_url"]).port != urlsplit(first["url"]).port
        assert ask(first["url"], "GET", "/__petstore/health")[0] == 404
        status, _, world = ask(first["control_url"], "GET", "/__petstore/world")
        assert (status, world["url"]) == (200, first["url"])
        assert ask(first["control_url"], "GET", "/v1/pets")[0] == 404


def test_stub_reads_the_door_s_options_from_the_environment() -> None:
    with stub(environment={"PETSTORE_MOCK_CONTROL_TOKEN": "of-the-environment"}) as served:
        assert ask(served.url, "GET", "/__petstore/world")[0] == 401
        token = {"Petstore-Control-Token": "of-the-environment"}
        assert ask(served.url, "GET", "/__petstore/world", headers=token)[0] == 200


def test_stub_bounds_its_worlds_and_ends_those_that_nobody_asks() -> None:
    with stub("--max-worlds", "1", "--world-ttl", "0.3", "--log-format", "json", lines=1) as served:
        url = json.loads(served.first[0])["url"]
        assert ask(url, "PUT", "/w/one/__petstore/world")[0] == 201
        assert ask(url, "PUT", "/w/two/__petstore/world")[0] == 507
        line = json.loads(served.stdout.readline())
        assert (line["event"], line["world"]) == ("ended", "one")
        assert ask(url, "GET", "/w/one/v1/pets")[0] == 404
        assert json.loads(served.stdout.readline())["event"] == "leak"
        assert ask(url, "PUT", "/w/two/__petstore/world")[0] == 201


@pytest.mark.untraced
def test_stub_keeps_so_many_requests_of_a_world() -> None:
    with stub("--keep-requests", "2") as served:
        for _ in range(3):
            ask(served.url, "GET", "/v1/pets")
        told = ask(served.url, "GET", "/__petstore/requests")[2]
        assert (told["total"], told["evicted"], len(told["requests"])) == (3, 1, 2)


# petstore-mock ready


def test_ready_asks_until_the_stub_answers(capsys: pytest.CaptureFixture[str]) -> None:
    with stub() as served:
        assert run(["ready", "--url", served.url.removesuffix("/v1")], sys.stdout, sys.stderr) == 0
    assert "ready" in capsys.readouterr().out


def test_ready_gives_up_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert run(["ready", "--url", url, "--timeout", "0.2"], sys.stdout, sys.stderr) == 1
    assert "not ready within 0.2 s" in capsys.readouterr().out


def test_ready_overlooks_what_kubernetes_says_of_a_service_of_our_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with PetStoreMock(control=True) as served:
        port = served.url.rpartition(":")[2].removesuffix("/v1")
        monkeypatch.setenv("PETSTORE_MOCK_PORT", port)
        monkeypatch.setenv("PETSTORE_MOCK_CONTROL_PORT", "tcp://10.0.0.1:8081")
        assert run(["ready", "--timeout", "5"], sys.stdout, sys.stderr) == 0
    assert f"ready: http://127.0.0.1:{port}" in capsys.readouterr().out


def test_ready_knows_what_is_no_stub(capsys: pytest.CaptureFixture[str]) -> None:
    with PetStoreMock() as petstore:
        url = petstore.url.removesuffix("/v1")
        assert run(["ready", "--url", url, "--timeout", "0.1"], sys.stdout, sys.stderr) == 1
    assert "404" in capsys.readouterr().out


@pytest.mark.untraced
def test_door_of_a_stub_that_speaks_tls_says_so(tmp_path: Path) -> None:
    import ssl  # noqa: PLC0415  # for this one
    import urllib.request  # noqa: PLC0415

    ca = tmp_path / "ca.pem"
    with stub("--tls", "--tls-ca-out", str(ca), "--log-format", "json", lines=1) as served:
        first = json.loads(served.first[0])
        assert first["control_url"].startswith("https://")
        context = ssl.create_default_context(cafile=str(ca))
        with urllib.request.urlopen(f"{first['control_url']}world", timeout=PATIENCE, context=context) as answer:
            assert json.load(answer)["url"] == first["url"]


def test_door_on_a_port_of_its_own_tells_the_service_s_scheme() -> None:
    with stub("--tls", "--control-port", "0", "--log-format", "json", lines=1) as served:
        first = json.loads(served.first[0])
        assert first["control_url"].startswith("http://")
        assert ask(first["control_url"], "GET", "/__petstore/world")[2]["url"] == first["url"]
        assert first["url"].startswith("https://")
