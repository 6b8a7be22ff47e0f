"""The certificates of a mock that speaks TLS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from petstore_mock.transport.certificates import authority
from petstore_mock.transport.trust import Trust

if TYPE_CHECKING:
    import ssl

    from petstore_mock.messages.handshake import Flaw

__all__ = ["Tls"]


class Tls(Trust):
    """The certificates of a mock, and what its clients need in order to trust them.

    ``ca_path`` is the same for all mocks of the process, and gone with it.

    Args:
        host: the address that the mock listens on; its certificate is for loopback and for this.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._authority = authority()
        super().__init__(str(self._authority.ca_path))
        self.context(None)  # made before the first client comes, which is not to wait for it

    @property
    def spki_hash(self) -> str:
        """The hash of the mock's own public key, for Chromium's ``--ignore-certificate-errors-spki-list=``.

        A browser takes no authority from its environment. Told of this key, Chromium lets this certificate pass, and
        refuses those of ``faults.tls``, which have other keys.
        """
        return self._authority.spki_hash(self._host)

    def context(self, flaw: Flaw | None) -> ssl.SSLContext:
        """Return the listener's own context: internal."""
        return self._authority.context(flaw, self._host)
