"""What a valid body of createPet asks for, and the animal that is made of it (§4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from petstore_mock.contract.strict_json import encode_flat, encode_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["NewPet"]


class NewPet:
    """A valid body, rendered but for what the service adds. It isn't changed: requests with the same body share it.

    Args:
        sent: the body's members.
        known: the names of those that an animal has.

    Attributes:
        fields: those of its members that an animal has.
        status: its status, if it has one.
    """

    __slots__ = ("_members", "_omits_status", "fields", "status")

    def __init__(self, sent: Mapping[str, Any], known: Iterable[str]) -> None:
        self.fields: Mapping[str, Any] = {name: sent[name] for name in known if name in sent}
        self.status: str | None = self.fields.get("status")
        self._omits_status = "status" not in sent
        self._members = b"," + encode_flat(self.fields)[1:-1] if self.fields else b""

    def animal(self, pet_id: int, status_when_omitted: str | None) -> tuple[bytes, str | None]:
        """Return the canonical bytes of the animal that gets the id ``pet_id``, and its status.

        Args:
            pet_id: the id.
            status_when_omitted: the status that the service gives to one that was sent without.
        """
        if status_when_omitted is None or not self._omits_status:
            return b'{"id":%d%b}' % (pet_id, self._members), self.status
        status = encode_json(status_when_omitted)
        return b'{"id":%d%b,"status":%b}' % (pet_id, self._members, status), status_when_omitted
