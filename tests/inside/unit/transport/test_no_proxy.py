"""The host of the fake in ``NO_PROXY`` and ``no_proxy``, and out again."""

from __future__ import annotations

import os
import urllib.request

import httpx
import pytest
import requests

from petstore_mock.transport import no_proxy

HOST = "127.0.0.1"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without exceptions, whatever other fakes listen."""
    monkeypatch.setattr(no_proxy, "users", {})
    monkeypatch.setattr(no_proxy, "before", {})
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def now() -> tuple[str | None, str | None]:
    return os.environ.get("NO_PROXY"), os.environ.get("no_proxy")


def test_host_stands_in_both_variables_until_the_last_user_is_gone() -> None:
    no_proxy.exempt(HOST)
    no_proxy.exempt(HOST)
    assert now() == (HOST, HOST)
    no_proxy.unexempt(HOST)
    assert now() == (HOST, HOST)
    no_proxy.unexempt(HOST)
    assert now() == (None, None)


def test_two_hosts_come_and_go_apart() -> None:
    no_proxy.exempt(HOST)
    no_proxy.exempt("127.0.0.2")
    assert now() == (f"{HOST},127.0.0.2",) * 2
    no_proxy.unexempt(HOST)
    assert now() == ("127.0.0.2",) * 2
    no_proxy.unexempt("127.0.0.2")
    assert now() == (None, None)


def test_former_exceptions_stay_and_come_back_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "a.example, b.example")
    monkeypatch.setenv("no_proxy", f"c.example,{HOST}")
    no_proxy.exempt(HOST)
    assert now() == (f"a.example,b.example,{HOST}", f"c.example,{HOST}")
    no_proxy.unexempt(HOST)
    assert now() == ("a.example, b.example", f"c.example,{HOST}")


@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_exceptions_of_one_variable_are_not_hidden_by_the_other(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "internal.example")
    no_proxy.exempt(HOST)
    assert now() == (f"internal.example,{HOST}",) * 2
    assert urllib.request.proxy_bypass_environment("internal.example")  # type: ignore[attr-defined]
    no_proxy.unexempt(HOST)
    assert {name: "internal.example"} == {
        key: value for key, value in zip(("NO_PROXY", "no_proxy"), now(), strict=True) if value
    }


def test_star_goes_on_exempting_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    no_proxy.exempt(HOST)
    assert now() == ("*", "*")
    assert urllib.request.proxy_bypass_environment("anywhere.example")  # type: ignore[attr-defined]
    no_proxy.unexempt(HOST)
    assert now() == (None, "*")


def test_an_ipv6_address_is_exempt_for_every_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """urllib looks for ``[::1]``, requests and curl for ``::1``; and httpx takes no item in brackets."""
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "internal.example")
    no_proxy.exempt("::1")
    no_proxy.exempt(HOST)
    url = "http://[::1]:8080/v1"
    assert urllib.request.proxy_bypass_environment("[::1]:8080")  # type: ignore[attr-defined]
    assert requests.utils.should_bypass_proxies(url, None)
    with httpx.Client() as client:
        assert client._transport_for_url(httpx.URL(url)) is client._transport  # noqa: SLF001  # no proxy's
    no_proxy.unexempt("::1")
    assert now() == (f"internal.example,{HOST}",) * 2
    no_proxy.unexempt(HOST)
    assert now() == (None, "internal.example")


def test_one_too_many_unexempt_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "a.example")
    no_proxy.unexempt(HOST)
    assert now() == ("a.example", None)
    no_proxy.exempt(HOST)
    no_proxy.unexempt(HOST)
    no_proxy.unexempt(HOST)
    assert now() == ("a.example", None)
