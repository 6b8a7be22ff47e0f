"""Sends the requests of a run over one connection, and shows them without what is secret."""

from __future__ import annotations

import re
import ssl
from itertools import filterfalse
from typing import TYPE_CHECKING, Final
from urllib.request import getproxies, proxy_bypass

from petstore_mock.common.refusing import refuse
from petstore_mock.common.values import as_path
from petstore_mock.http.request import ApiRequest, Fields
from petstore_mock.transport.client import MEBIBYTE, Connection
from petstore_mock.verify.filling import authorization, nearly_right

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from petstore_mock.http.response import Response
    from petstore_mock.transport.client import FailedError
    from petstore_mock.verify.probes import Probe

_MOST_BODY: Final = 8 * MEBIBYTE
_PLAIN_FIELDS: Final = {
    "User-Agent": "petstore-mock-verify",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
}
OWN_FIELDS: Final = frozenset(
    {
        "host",
        "authorization",
        "content-type",
        "content-length",
        "transfer-encoding",
        "connection",
        *map(str.lower, _PLAIN_FIELDS),
    }
)
_CERTIFICATE_OPTIONS: Final = "pass --cert, and --cert-key if the key is in another file"
_HIDDEN: Final = "***"
_SECRET_NAME: Final = re.compile(r"key|token|secret|auth|cookie|passw|session|credential|signature|jwt", re.IGNORECASE)
_SHORTEST_SECRET: Final = 8  # characters; a shorter value is part of many words
_LONGEST_WORD: Final = 16  # letters


class Sender:
    """Sends requests. ``secrets`` are the texts that every report masks."""

    def __init__(
        self,
        url: str,
        key: str,
        headers: Mapping[str, str],
        secret_headers: Collection[str],
        context: ssl.SSLContext | None,
    ) -> None:
        self._connection = Connection(url, most_body=_MOST_BODY, context=context)
        self.close = self._connection.close
        self.is_tls = self._connection.is_tls
        # Whether each request has a connection of its own.
        self.opens_anew = False
        self._has_certificate = context is not None
        self._key = key
        self._headers = headers
        self._shown = dict(headers)
        named = {*map(str.lower, secret_headers)}
        secrets = [*nearly_right(key).values()]
        for name, value in headers.items():
            if name.lower() in named or _SECRET_NAME.search(name):
                self._shown[name] = _HIDDEN
                # Credentials may stand behind a scheme.
                secrets += filterfalse(_is_common, (value, value.rpartition(" ")[2]))
        self.secrets = tuple(secrets)

    def shown(self, probe: Probe) -> ApiRequest:
        """Return a request as reports show it: without the key and secret header fields."""
        return self._request(probe, _HIDDEN, self._shown)

    def send(self, probe: Probe, timeout: float) -> Response:
        """Send a request and return its response.

        Raises:
            FailedError: no whole response arrived.
        """
        if self.opens_anew:
            self.close()
        return self._connection.send(self._request(probe, self._key, self._headers), timeout=timeout)

    def _request(self, probe: Probe, key: str, headers: Mapping[str, str]) -> ApiRequest:
        body = probe.body.encode()
        fields = [("Host", self._connection.host), *{**_PLAIN_FIELDS, **dict(probe.fields)}.items(), *headers.items()]
        if probe.key:
            fields.append(("Authorization", authorization(probe.key, key)))
        if probe.operation.body:
            fields += [("Content-Type", probe.media_type), ("Content-Length", str(len(body)))]
        if probe.has_lower_names:
            fields = [(name.lower(), value) for name, value in fields]
        return ApiRequest(probe.operation.method, self._connection.base + probe.target, Fields.of(fields), body)

    def advice(self, failure: FailedError | None = None) -> str:
        """Return advice for a failure without a readable response, in brackets; empty if there is none."""
        of_address = self.advice_on_400 if failure is None else self._advice_on(failure)
        advice = "; ".join(filter(None, (of_address, self._advice_on_proxy())))
        return f" ({advice})" if advice else ""

    @property
    def advice_on_400(self) -> str:
        """Advice for a first response of 400 without JSON; empty if TLS can't be the cause."""
        if not self.is_tls:
            return "if this port speaks TLS, use https://"
        if self._has_certificate:
            return ""
        return f"if the service asks for a client certificate, {_CERTIFICATE_OPTIONS}"

    def _advice_on(self, failure: FailedError) -> str:
        if failure.may_ask_certificate:
            if self._has_certificate:
                return "the service refuses the TLS handshake, perhaps because of the client certificate of --cert"
            return f"the service refuses the TLS handshake; if it asks for a client certificate, {_CERTIFICATE_OPTIONS}"
        if failure.lacks_peer:
            return ""
        if not self.is_tls:
            return self.advice_on_400
        return "if this port speaks no TLS, use http://; to trust another certificate authority, set SSL_CERT_FILE"

    def _advice_on_proxy(self) -> str:
        """Return a hint if a proxy is set. Its address may hold a password."""
        scheme = "https" if self.is_tls else "http"
        if scheme not in getproxies():
            return ""
        if proxy_bypass(self._connection.peer[0]):
            return ""
        return f"{scheme.upper()}_PROXY is set, but verify uses no proxy: run it with direct access to the service"


def _is_common(text: str) -> bool:
    """Whether a text may be part of the words of a report, which must stay readable."""
    longest = _LONGEST_WORD if text.isalpha() else _SHORTEST_SECRET
    return len(text) < longest or text in _PLAIN_FIELDS.values()


def client_certificate(cert: object, cert_key: object) -> ssl.SSLContext | None:
    """Return TLS settings with a client certificate; None without one."""
    if cert is None:
        if cert_key is None:
            return None
        return refuse("expected cert, the file of the certificate, beside cert_key")
    context = ssl.create_default_context()
    key_file = None if cert_key is None else as_path(cert_key, "cert_key")
    try:
        # Without a password, OpenSSL would ask for one at the terminal.
        context.load_cert_chain(as_path(cert, "cert"), key_file, password="")
    except OSError as error:
        is_of_content = isinstance(error, ssl.SSLError)
        words = "no certificate with its private key" if is_of_content else error.strerror
        refuse(f"expected files with a client certificate and its private key, in PEM; got cert={str(cert)!r}: {words}")
    return context
