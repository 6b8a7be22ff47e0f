"""The certificate that clients must trust if a mock listens with TLS."""

from __future__ import annotations

import ssl

# This import needs an extra.
from petstore_mock.transport.certificates import authority, certified

# The programs that read them, in this order: OpenSSL, Python's ssl, Go and Ruby; Python's requests; curl; Node.
_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


class Tls:
    """The certificate that clients must trust, in the forms that they read.

    Attributes:
        ca_path: the path of the PEM file with the certificate of the mock's authority, as a string. All mocks of a
            process share this file, and the process deletes it at its end.
    """

    def __init__(self, *hosts: str) -> None:
        self.ca_path = authority()[1]
        self._hosts = hosts
        # Makes the certificate now, so that no client waits for it.
        self.context("")

    def client_context(self) -> ssl.SSLContext:
        """Return a context with Python's defaults that trusts only this authority, for clients in this process."""
        return ssl.create_default_context(cafile=self.ca_path)

    def environ(self) -> dict[str, str]:
        """Return environment variables that make other programs trust the mock.

        Start them with ``{**os.environ, **tls.environ()}``. In this process, use :meth:`client_context`: many libraries
        read the environment only when they are imported, or never.
        """
        return dict.fromkeys(_VARIABLES, self.ca_path)

    @property
    def spki_hash(self) -> str:
        """The hash of the mock's public key, for Chromium's ``--ignore-certificate-errors-spki-list=``.

        Browsers read no authority from their environment. With this option, Chromium accepts the certificate of the
        mock. It still refuses the certificates of ``faults.tls``, which have other keys.
        """
        return certified("", *self._hosts)[1]

    def context(self, fault: str) -> ssl.SSLContext:
        """Return the context of the listener. Internal."""
        return certified(fault, *self._hosts)[0]
