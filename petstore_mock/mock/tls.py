"""How clients are told to trust a mock that speaks TLS."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Final

from petstore_mock.transport.certificates import authority

if TYPE_CHECKING:
    from petstore_mock.messages.handshake import Flaw

__all__ = ["Tls"]

# Which programs read which: curl the third, OpenSSL, Python's ssl, Go and Ruby the first, Node the last.
_VARIABLES: Final = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


class Tls:
    """The certificates of a mock, and what its clients need in order to trust them.

    Args:
        host: the address that the mock listens on; its certificate is for loopback and for this.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._authority = authority()
        self.context(None)  # made before the first client comes, which is not to wait for it

    def __repr__(self) -> str:
        return f"<Tls {self.ca_path}>"

    @property
    def ca_path(self) -> str:
        """The file of the authority's certificate, in PEM; the same for all mocks of the process, gone with it."""
        return str(self._authority.ca_path)

    def client_context(self) -> ssl.SSLContext:
        """Return a context for a client in this process: Python's own defaults, and this authority alone trusted."""
        return ssl.create_default_context(cafile=self.ca_path)

    def environ(self) -> dict[str, str]:
        """Return what makes the programs that a test starts trust the mock: ``env={**os.environ, **tls.environ()}``.

        It is for other processes: many libraries read their environment when they are imported, or never.
        """
        return dict.fromkeys(_VARIABLES, self.ca_path)

    def context(self, flaw: Flaw | None) -> ssl.SSLContext:
        """Return the listener's own context: internal."""
        return self._authority.context(flaw, self._host)
