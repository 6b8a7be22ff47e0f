"""A key that a client sends in any form and place is shown nowhere: not encoded either, and not after decoding."""

from __future__ import annotations

import copy
import json
import pickle
import re
from base64 import b64encode, urlsafe_b64encode
from html import unescape
from pathlib import Path
from urllib.parse import quote, unquote

import pytest

from petstore_mock import PetStoreMock, PetStoreMockError, connect
from petstore_mock import verify as verifier
from tests.client import JSON, Client
from tests.live.stub import stub

KEY = "adv+key/0123456789-secretive"
# Parts of the key in texts without any escape: plain, in hexadecimal, in base64 from each byte of a group, in UTF-16.
PARTS = [
    "0123456789-secr",
    b"0123456789-secr".hex(),
    *(b64encode(b"0123456789-secr"[start : 12 + start]).decode() for start in range(3)),
    "\0".join("0123456789"),
]


def percent(text: str) -> str:
    return "".join(f"%{ord(character):02x}" for character in text)


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


FORMS: dict[str, str] = {
    "plain": KEY,
    "slash kept": quote(KEY),
    "percent": quote(KEY, safe=""),
    "percent twice": quote(quote(KEY, safe=""), safe=""),
    "all percent": percent(KEY),
    "all percent twice": quote(percent(KEY)),
    "escaped slash": KEY.replace("/", "\\/"),
    "unicode escapes": "".join(f"\\u{ord(character):04x}" for character in KEY),
    "JSON in JSON": json.dumps(KEY.replace("/", "\\/"))[1:-1],
    "JSON, percent": quote(KEY.replace("/", "\\/"), safe=""),
    "base64": encoded(KEY),
    "base64 of credentials": encoded(f"Bearer {KEY}"),
    "base64 of a user": encoded(f"us:{KEY}"),
    "base64 of a longer user": encoded(f"user:{KEY}"),
    "base64 for URLs": urlsafe_b64encode(KEY.encode()).decode(),
    "base64, percent": quote(encoded(f"u:{KEY}"), safe=""),
    "base64, escaped": encoded(f"Bearer {KEY}").replace("/", "\\/"),
    "hexadecimal": KEY.encode().hex(),
    "HTML": "".join(f"&#{ord(character)};" for character in KEY),
    "HTML, hexadecimal": "".join(f"&#x{ord(character):02x};" for character in KEY),
}


def decodings(text: str) -> list[str]:
    """Return a text, and the text after each of the decodings that a reader might do."""
    found = [text]
    for _ in range(4):
        text = unescape(unquote(text)).replace("\\/", "/").replace("\\\\", "\\")
        text = re.sub(r"\\u00([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), text)
        found.append(text)
    return found


def shows_key(text: str) -> bool:
    return any(part in decoded for decoded in decodings(text) for part in PARTS)


def send(client: Client, form: str) -> None:
    """Send a form of the key in each place of a request."""
    fields = [("X-Gateway", form), ("Origin", f"http://{form}")]
    client.bare("GET", f"/v1/pets/{form}?status={form}&x={form}#{form}", [("Authorization", f"Bearer {KEY}"), *fields])
    client.bare("GET", f"/v1/pets?limit={form}", fields)
    bodies = [f'{{"name": "{form}", "categoryId": "{form}", "{form}": ["{form}"]}}', f"a={form}&b={form}", form]
    bodies.append("\0".join(KEY))
    for body in bodies:
        client.bare("POST", "/v1/pets", [("Authorization", f"Bearer {KEY}"), JSON, *fields], body.encode())
    binary = b"\xff" + form.encode()
    client.bare("POST", "/v1/pets", [("Authorization", f"Bearer {KEY}"), *fields], binary)
    client.bare("POST", "/v1/pets", [("Authorization", f"Basic {encoded(f'user:{KEY}')}"), JSON], bodies[0].encode())


def test_the_borders_would_show_each_form() -> None:
    assert {name for name, form in FORMS.items() if not shows_key(f"x {form} y")} == set()


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_key_in_any_form_is_masked_at_every_border(form: str, tmp_path: Path) -> None:
    with PetStoreMock(api_key=KEY, control=True) as petstore, Client(petstore) as client:
        send(client, form)
        journal = petstore.journal
        journal.to_har(tmp_path / "journal.har")
        shown = {"har": (tmp_path / "journal.har").read_text()}
        for path in ("requests", "requests.har", "requests.html", "requests.txt", "world"):
            shown[path] = client.bare("GET", f"/__petstore/{path}").body.decode()
        # Every request to the world shows its own key, for the test.
        shown["world"] = shown["world"].replace(KEY, "")
        with pytest.raises(AssertionError) as caught:
            journal.assert_called("getPet", times=9, path="x", headers={"X-Gateway": form}, query={"status": form})
        shown["assertion"] = str(caught.value)
        for number, exchange in enumerate(journal):
            pickled = pickle.dumps(exchange)
            copies = [copy.copy(exchange), copy.deepcopy(exchange), pickle.loads(pickled)]
            shown[f"{number}: curl"] = client.bare("GET", f"/__petstore/requests/{number + 1}/curl").body.decode()
            shown[f"{number}: pickle"] = pickled.decode("latin-1")
            shown[f"{number}: words"] = f"{exchange!r} {exchange.reason} {exchange.decision} {exchange.request_line}"
            for kind, made in zip(("copy", "deep copy", "pickled"), copies, strict=True):
                texts = [made.target, made.path, made.url, *made.query.values(), *made.headers.values()]
                bodies = [made.body.decode("latin-1"), made.response_body.decode("latin-1")]
                shown[f"{number}: {kind}"] = "\n".join([*texts, *bodies, *map(str, made.violations), made.detail])
        assert {place: text for place, text in shown.items() if shows_key(text)} == {}


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_key_in_any_form_is_masked_in_the_log(log_format: str) -> None:
    with stub("--api-key", KEY, "--log-format", log_format, lines=1) as running:
        with connect(running.url, world="default") as petstore, Client(petstore) as client:
            for form in FORMS.values():
                send(client, form)
        _, out, err = running.end()
        log = out + err
    assert log.count("\n") >= len(FORMS)
    assert [line for line in log.splitlines() if shows_key(line)] == []


@pytest.mark.parametrize(
    "url",
    ["http://bob:hunter2@127.0.0.1:1", "http://bob:hunter2@127.0.0.1:99999", "ftp://bob:hunter2@host/", "bob:hunter2@"],
)
def test_the_password_of_an_address_is_shown_nowhere(url: str) -> None:
    for use in (connect, lambda url: verifier.verify(url, api_key=KEY)):
        with pytest.raises(PetStoreMockError) as caught:
            use(url)
        assert "hunter2" not in str(caught.value)
