"""What clients need in order to trust a service that speaks TLS: the certificate of its authority."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from petstore_mock.http.handler import TlsFlaw

# curl reads the third, OpenSSL, Python's ssl, Go and Ruby the first, Node the last.
_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


class Tls:
    """What clients need in order to trust a mock.

    Attributes:
        ca_path: the PEM file of the authority's certificate, the same for all mocks of the process, and gone with it.
    """

    def __init__(self, *hosts: str) -> None:
        from petstore_mock.transport.certificates import authority, certified  # noqa: PLC0415  # an extra, and heavy

        self.ca_path = authority()[1]
        self._hosts, self._certified = hosts, certified
        self.context(None)  # made before the first client waits for it

    def client_context(self) -> ssl.SSLContext:
        """Return a context for a client in this process: Python's defaults, and this authority alone trusted."""
        return ssl.create_default_context(cafile=self.ca_path)

    def environ(self) -> dict[str, str]:
        """Return variables with which other programs trust the service: ``{**os.environ, **tls.environ()}``.

        It is for other processes: many libraries read their environment when they are imported, or never.
        """
        return dict.fromkeys(_VARIABLES, self.ca_path)

    @property
    def spki_hash(self) -> str:
        """The hash of the mock's public key, for Chromium's ``--ignore-certificate-errors-spki-list=``.

        A browser takes no authority from its environment. Chromium then accepts this certificate, and refuses those of
        ``faults.tls``, which have other keys.
        """
        return self._certified(None, *self._hosts)[1]

    def context(self, flaw: TlsFlaw | None) -> ssl.SSLContext:
        """Return the listener's own context: internal."""
        return self._certified(flaw, *self._hosts)[0]
