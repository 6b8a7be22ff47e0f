"""How clients are told to trust a service that speaks TLS: by the certificate of its authority."""

from __future__ import annotations

import ssl
from typing import Final

__all__ = ["Trust"]

# Which programs read which: curl the third, OpenSSL, Python's ssl, Go and Ruby the first, Node the last.
_VARIABLES: Final = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


class Trust:
    """What clients need in order to trust a service.

    Args:
        ca_path: the file of the authority's certificate, in PEM.
    """

    def __init__(self, ca_path: str) -> None:
        self._ca_path = ca_path

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ca_path}>"

    @property
    def ca_path(self) -> str:
        """The file of the authority's certificate, in PEM."""
        return self._ca_path

    def client_context(self) -> ssl.SSLContext:
        """Return a context for a client in this process: Python's own defaults, and this authority alone trusted."""
        return ssl.create_default_context(cafile=self.ca_path)

    def environ(self) -> dict[str, str]:
        """Return what makes the programs that a test starts trust the service: ``{**os.environ, **tls.environ()}``.

        It is for other processes: many libraries read their environment when they are imported, or never.
        """
        return dict.fromkeys(_VARIABLES, self.ca_path)
