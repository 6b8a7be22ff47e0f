"""Clients for environments with proxies, netrc files, IPv6 addresses and locales: correct and buggy ones."""

from __future__ import annotations

import calendar
import os
import time
import urllib.error
import urllib.request
from functools import partial
from typing import Self
from urllib.parse import urlsplit

import aiohttp
import httpx

from tests.clients.bugs import altered, clients_of
from tests.clients.correct import TIMEOUT, Answer, HttpClientPets, HttpxPets, Json, RequestsPets, Urllib3Pets
from tests.clients.shapes import AiohttpBlock

# Correct


class TrustingHttpx(HttpxPets):
    """A client on httpx, which reads the environment by default."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.client = httpx.Client(base_url=url, headers=self.headers, timeout=TIMEOUT, verify=False)  # no TLS


class UrllibPets(HttpClientPets):
    """A client on urllib, which reads the environment."""

    def send(self, method: str, path: str, body: bytes | None) -> Answer:
        host = f"[{self.host}]" if ":" in self.host else self.host
        headers = {**self.headers(), **({} if body is None else {"Content-Type": "application/json"})}
        url = f"http://{host}:{self.port}{self.base}{path}"
        request = urllib.request.Request(url, data=body, headers=headers, method=method)
        opener = urllib.request.build_opener(NoRedirection)
        try:
            with opener.open(request, timeout=TIMEOUT) as response:
                return Answer(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.headers, error.read())  # type: ignore[arg-type]


class NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


class WithoutEnvironment(RequestsPets):
    """A client on requests without ``trust_env``."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.session.trust_env = False


CORRECT = (HttpClientPets, Urllib3Pets, TrustingHttpx, UrllibPets, WithoutEnvironment)


# Buggy


class HostWithoutBrackets(Urllib3Pets):
    """Builds the address from host and port without brackets (python-hyper/hyper#308)."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        super().__init__(f"http://{parts.hostname}:{parts.port}{parts.path}", key)


class PortAfterFirstColon(HttpClientPets):
    """Reads the port after the first colon (redis/redis-py#1110)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self.host, port = urlsplit(url).netloc.split(":")
        self.port = int(port)


# Sends an IPv6 address in Host without brackets.
HostOfItsOwn = altered(headers=lambda self: {**self.plain.headers(), "Host": f"{self.host}:{self.port}"})


class ProxyForAll(RequestsPets):
    """Uses the proxy of the environment, and ignores NO_PROXY (docker/docker-py#1490)."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        proxy = os.environ.get("HTTP_PROXY")
        proxies = {"http": proxy} if proxy else None
        self.session.request = partial(self.session.request, proxies=proxies)  # type: ignore[method-assign]


class ExceptionsWithPort(HttpClientPets):
    """Compares the entries of NO_PROXY with host and port (boto/boto3#1644)."""

    def new_connection(self) -> Json:
        proxy = urlsplit(os.environ.get("http_proxy", ""))
        excepted = os.environ.get("no_proxy", "").split(",")
        if proxy.hostname is None or f"{self.host}:{self.port}" in excepted:
            return super().new_connection()
        host, self.host = self.host, str(proxy.hostname)
        port, self.port = self.port, proxy.port
        try:
            return super().new_connection()
        finally:
            self.host, self.port = host, port


class NetrcWins(RequestsPets):
    """Sends its key in the session's headers, which a netrc entry overrides (psf/requests#3929)."""


class NetrcWinsOnAiohttp(AiohttpBlock):
    """Uses ``trust_env``, so aiohttp fails if netrc has an entry for the host."""

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT)
        self.session = aiohttp.ClientSession(headers=self.headers, timeout=timeout, trust_env=True)
        return self


class DatesInTheLocale(HttpClientPets):
    """Parses dates by the locale (owncloud/pyocclient#260)."""

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = super().ask(method, path, body)
        hint = answer.headers.get("Retry-After") or "0"
        if method != "GET" or answer.status != 429 or not hint.endswith("GMT"):
            return answer
        until = calendar.timegm(time.strptime(hint, "%a, %d %b %Y %H:%M:%S GMT"))
        if until > time.time():
            return answer
        return super().ask(method, path, body)


# Formats the Date of its requests by the locale (lericson/simples3#7).
DateInTheLocale = altered(
    headers=lambda self: {**self.plain.headers(), "Date": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(0))}
)
# Formats ids with the locale's thousands separators.
NumbersForPeople = altered(
    get_pet=lambda self, pet_id: self.read(self.checked(self.ask("GET", f"/pets/{pet_id:n}"), 200))
)


BUGGY = clients_of(globals(), *CORRECT)
