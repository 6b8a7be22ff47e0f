"""Four stubs behind the nginx of the documents: four hundred worlds, none of which meets another."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from tests.docs.blocks import blocks
from tests.live.stub import PATIENCE, Stub, stub

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NGINX: Final = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
STUBS: Final = 4
WORLDS: Final = 400
SUITES: Final = 8


def recipe(name: str) -> str:
    """Return the configuration that the documents show."""
    (block,) = [one for one in blocks("nginx", "haproxy", "yaml") if one.text.startswith(f"# {name}\n")]
    assert block.document.stem == "scale-out"
    return block.text


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@dataclass
class Farm:
    """Stubs behind a proxy at ``port``."""

    port: int
    stubs: list[Stub]

    def ask(
        self, connection: http.client.HTTPConnection, method: str, path: str, body: object = None, key: str = ""
    ) -> Any:  # noqa: ANN401
        """Send a request; return status and JSON."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
        is_json = "json" in answer.headers.get("Content-Type", "")
        return answer.status, json.loads(content) if is_json and content else None

    def connect(self, port: int | None = None) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE)


@contextmanager
def farm(folder: Path) -> Iterator[Farm]:
    """Run the stubs and nginx for the length of a block."""
    port = free_port()
    with ExitStack() as stack:
        options = ("--quiet", "--allowed-host", f"127.0.0.1:{port}")
        stubs = [stack.enter_context(stub(*options, stderr=subprocess.DEVNULL)) for _ in range(STUBS)]
        text = recipe("nginx.conf").replace("127.0.0.1:8080", f"127.0.0.1:{port}")
        for number, one in enumerate(stubs, 1):
            text = text.replace(f"127.0.0.1:808{number} ", f"127.0.0.1:{one.address[1]} ")
        temporary = " ".join(
            f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (folder / "nginx.conf").write_text(text.replace("http {", f"http {{ {temporary}", 1), encoding="utf-8")
        log = folder / "error.log"
        process = subprocess.Popen(
            [
                *(str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(log)),
                *("-g", f"daemon off; pid {folder}/nginx.pid;"),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            _until_it_listens(process, port)
            yield Farm(port, stubs)
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)


def _until_it_listens(process: subprocess.Popen[str], port: int) -> None:
    while True:
        assert process.poll() is None, process.communicate()[1]
        try:
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
        except ConnectionRefusedError:
            continue
        return


def one_test(farm: Farm, connection: http.client.HTTPConnection, number: int) -> None:
    """Do what a test does, in a world of its own, and see what is its own and nothing else."""
    root, name = f"/w/test-{number}", f"of {number}"
    seed = [{"name": name} for _ in range(1 + number % 3)]
    status, made = farm.ask(connection, "PUT", f"{root}/__petstore/world", {"seed": seed, "strict": True})
    assert (status, made["url"]) == (201, f"http://127.0.0.1:{farm.port}{root}/v1")
    key, pets = made["api_key"], f"{root}/v1/pets"
    fault = {"fault": 503, "on": "listPets", "times": 1}
    assert farm.ask(connection, "POST", f"{root}/__petstore/faults", fault)[0] == 201
    assert farm.ask(connection, "POST", pets, {"name": name, "categoryId": 1}, key)[0] == 201
    assert farm.ask(connection, "GET", pets, key=key)[0] == 503
    look_again(farm, connection, number, key)
    asserted = {"operation": "createPet", "times": 1, "where": {"name": name}}
    assert farm.ask(connection, "POST", f"{root}/__petstore/requests/assert", asserted)[1]["passed"] is True
    journal = farm.ask(connection, "GET", f"{root}/__petstore/requests")[1]
    assert [one["status"] for one in journal["requests"]] == [201, 503, 200]
    assert farm.ask(connection, "GET", f"{root}/__petstore/world/verification")[1]["passed"] is True


def look_again(farm: Farm, connection: http.client.HTTPConnection, number: int, key: str) -> None:
    status, pets = farm.ask(connection, "GET", f"/w/test-{number}/v1/pets", key=key)
    assert (status, [pet["name"] for pet in pets]) == (200, [f"of {number}"] * (2 + number % 3))


@pytest.mark.slow
@pytest.mark.skipif(NGINX is None, reason="nginx is not installed (Debian: apt install nginx-light)")
def test_worlds_behind_nginx_keep_apart_and_a_stub_takes_its_own_along(tmp_path: Path) -> None:
    with farm(tmp_path) as running:

        def suite(which: int) -> None:
            connection = running.connect()
            for number in range(which, WORLDS, SUITES):
                one_test(running, connection, number)
            connection.close()

        with ThreadPoolExecutor(SUITES) as suites:
            list(suites.map(suite, range(SUITES)))
        whose: dict[str, int] = {}
        keys: dict[str, str] = {}
        for index, one in enumerate(running.stubs):
            connection = running.connect(one.address[1])
            for world in running.ask(connection, "GET", "/__petstore/worlds")[1]["worlds"][1:]:
                assert world["name"] not in whose, "a world is on one stub"
                whose[world["name"]], keys[world["name"]] = index, world["api_key"]
            connection.close()
        assert len(whose) == WORLDS
        assert {list(whose.values()).count(index) > WORLDS / STUBS / 3 for index in range(STUBS)} == {True}
        running.stubs[0].process.send_signal(signal.SIGKILL)
        running.stubs[0].process.wait(PATIENCE)
        connection = running.connect()
        for number in range(WORLDS):
            name = f"test-{number}"
            if whose[name] == 0:
                assert running.ask(connection, "GET", f"/w/{name}/v1/pets", key=keys[name])[0] == 502
            else:
                look_again(running, connection, number, keys[name])
        connection.close()


def test_recipes_name_the_same_stubs() -> None:
    """So that the page can be read from one to the next."""
    named = [re.findall(r"127\.0\.0\.1:808[1-9]", recipe(name)) for name in ("nginx.conf", "haproxy.cfg")]
    assert named[0] == named[1] == [f"127.0.0.1:808{number}" for number in range(1, STUBS + 1)]


def test_manifests_select_what_they_run() -> None:
    """Each Service's selector is some pod's labels, and each probe asks what is open."""
    items = yaml.safe_load(recipe("petstore.yaml"))["items"]
    pods = [item["spec"]["template"] for item in items if "template" in item["spec"]]
    labels = [pod["metadata"]["labels"] for pod in pods]
    for item in items:
        selector = item["spec"]["selector"].get("matchLabels", item["spec"]["selector"])
        assert selector in labels
    (container,) = pods[0]["spec"]["containers"]
    assert {container[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")} == {
        "/__petstore/health"
    }
    assert container["env"][0]["name"] == "PETSTORE_MOCK_CONTROL_TOKEN"


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed (Debian: apt install haproxy)")
def test_haproxy_takes_its_recipe(tmp_path: Path) -> None:
    (tmp_path / "haproxy.cfg").write_text(recipe("haproxy.cfg"), encoding="utf-8")
    done = subprocess.run(
        ["haproxy", "-c", "-f", str(tmp_path / "haproxy.cfg")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
