"""The probes: the requests of a run. Each stands in the row of the clause or the gap that it shows.

A target, a header field or a body may hold these placeholders, and responses give their values:

- ``{known}``: the id of a listed animal, or 1
- ``{odd1}`` to ``{odd3}``: the ids of listed animals with unusual values
- ``{absent}``: a random id that probably no animal has
- ``{beyond}``: the known id and 2^32, which a service that keeps 32 bits takes for the known id
- ``{hex}`` and ``{rest}``: the code of the first character of ``{known}``, and the other characters
- ``{made}``: the id of the last animal that this run created
- ``{label}`` and ``{long label}``: a text that is unique to the request; the long one has 256 characters
- ``{used label}``: the label of an animal that this run created
- ``{deep}``: the start of arrays in arrays, deeper than parsers go
- ``{run}`` and ``{day}``: digits that begin with the date of the run, and this date in ISO 8601
- ``{categoryId}``, the name of a field that refers to another record: its value in a listed animal, or a sample
- ``{other:categoryId}``: another such value, if listed animals have several
- ``{any:born}``: the value in the middle of those of a field in listed animals, or a sample
- ``{later:listPets:born}``: a value with which this filter selects listed animals, but not the first one
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import IntEnum, auto
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from petstore_mock.common.guards import is_array
from petstore_mock.interface.bodies import plain
from petstore_mock.interface.kinds import as_text
from petstore_mock.interface.schemas import members_of, parameters, required_names
from petstore_mock.interface.table import ANIMAL, FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from petstore_mock.common.values import Json
    from petstore_mock.interface.table import Operation, Parameter

LONG_TEXT: Final = 256
OWN: Final = "Bearer {key}"
UNKNOWN_KEY: Final = "no-such-key"
USED_LABEL: Final = "{used label}"
# A charset has no effect on who reads JSON (RFC 8259 §11).
WITH_CHARSET: Final = "application/json; charset=utf-8"
# The fields that each animal has.
REQUIRED: Final = frozenset(required_names(ANIMAL))


@dataclass(frozen=True, slots=True)
class Expected:
    """The response that the interface demands.

    Attributes:
        is_valid: whether the request has to succeed.
        status: the status of a refusal; 0 for a success, and for a request whose response the interface leaves open.
        others: statuses that neither confirm nor break the clause, because they have another reason.
    """

    is_valid: bool = False
    status: int = 0
    others: frozenset[int] = frozenset()


# Statuses because of what a key may do, or a full quota; and statuses of a path that is not there.
KEYS_AND_LIMITS: Final = frozenset({401, 403, 409, 429})
ELSEWHERE: Final = frozenset({404, 405})

SUCCESS: Final = Expected(is_valid=True)
REFUSED: Final = Expected(status=400, others=KEYS_AND_LIMITS | ELSEWHERE)
KEPT_OUT: Final = Expected(status=401)
ABSENT: Final = Expected(status=404, others=KEYS_AND_LIMITS - {403} | {405})
ABSENT_OR_THERE: Final = Expected(status=404, others=KEYS_AND_LIMITS - {403} | {200, 405})
# The interface leaves the response open.
OPEN: Final = Expected()


class Phase(IntEnum):
    """The part of a run that sends a probe. The most important probes come first, and each change after the reads."""

    LISTS = auto()  # valid ones are sent twice: other clients may change animals meanwhile
    READS = auto()
    KEYS = auto()
    ODD_READS = auto()
    LIST_EDGES = auto()  # lists with two parameters or with odd limits
    WRONG_CREATES = auto()  # refused creates come first, so a list shows whether the service kept them
    PLAIN_CREATES = auto()
    SIMPLEST_CREATE = auto()  # sent only if the service refused every plain animal
    ODD_CREATES = auto()
    DELICATE_CREATES = auto()
    LISTS_AGAIN = auto()
    LAST_READS = auto()
    LAST_LISTS = auto()
    WRONG_CHANGES = auto()  # a right change would hide that the service kept a refused one
    AFTER_WRONG_CHANGES = auto()
    CHANGES = auto()
    ODD_CHANGES = auto()  # after the plain ones: a 404 for an odd change must not make the animal look absent
    REMOVES = auto()
    LAST_KEYS = auto()  # Jetty may take a key for a former one on the same connection that differs only in case


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A request that shows a clause or a gap."""

    operation: Operation
    target: str  # relative to the base address
    phase: Phase
    expected: Expected = SUCCESS
    shows: str = ""  # the id of the clause whose row has the probe
    gap: str = ""  # the name of the gap that the response shows
    key: str = OWN  # the value of Authorization
    fields: tuple[tuple[str, str], ...] = ()  # parameters in the header, or another Accept
    body: str = ""
    media_type: str = "application/json"
    has_lower_names: bool = False  # whether the names of its header fields are in lower case, which has no meaning
    unfilled: Probe | None = None  # the probe with its placeholders, if these are filled

    @property
    def line(self) -> str:
        """The request in a line, without its key and its body."""
        fields = [f"{name}: {value}" for name, value in self.fields]
        if self.has_lower_names:
            fields.append("(names of header fields in lower case: RFC 9110 §5.1)")
        return "  ".join([f"{self.operation.method} {self.target}", *fields])

    @property
    def template(self) -> Probe:
        """The probe with its placeholders."""
        return self.unfilled or self

    @property
    def has_key(self) -> bool:
        # The scheme has no case.
        return self.key.lower() == OWN.lower()

    @property
    def is_valid(self) -> bool:
        return self.expected.is_valid

    @property
    def is_open(self) -> bool:
        return self.expected is OPEN

    @property
    def is_delicate(self) -> bool:
        """Whether a service may refuse the value, or keep it exactly."""
        return self.phase is Phase.DELICATE_CREATES

    @property
    def is_last_resort(self) -> bool:
        return self.phase is Phase.SIMPLEST_CREATE

    def is_like(self, other: Probe) -> bool:
        """Whether the two belong to the same part of a run and expect the same response."""
        return (self.operation, self.phase, self.expected) == (other.operation, other.phase, other.expected)

    def with_parameter(self, parameter: Parameter, value: object) -> Probe:
        """Return the probe with one more parameter. ``value`` may be a placeholder."""
        text = str(value)
        if parameter.where == "header":
            return replace(self, fields=(*self.fields, (parameter.name, text)))
        sign = "&" if "?" in self.target else "?"
        return replace(self, target=f"{self.target}{sign}{parameter.name}={_quoted(text)}")


def _quoted(text: str) -> str:
    """Return a text as a part of a target. The filling of a placeholder quotes its value."""
    return text if text.startswith("{") else quote(text, safe="")


def request(
    operation: Operation,
    pet_id: str = "{known}",
    body: str | None = None,
    in_path: Mapping[str, str] | None = None,
    without: Parameter | None = None,
    **attributes: Any,
) -> Probe:
    """Return a probe of an operation with its plain body.

    ``pet_id`` identifies the animal if the path does. ``in_path`` replaces texts of parameters in the path. Parameters
    that set a field have a sample, except ``without``.
    """
    texts = {one.name: _quoted(sample_text(one)) for one in operation.parameters_in("path")}
    if operation.identifier is not None:
        texts[operation.identifier.name] = pet_id
    texts |= in_path or {}
    if body is None:
        body = "" if operation.body is None else as_text(plain(operation.body))
    probe = Probe(operation=operation, target=operation.path.format_map(texts), body=body, **attributes)
    for parameter in operation.setting:
        if parameter.where != "path" and parameter is not without:
            probe = probe.with_parameter(parameter, sample_text(parameter))
    return probe


def sample_text(parameter: Parameter) -> str:
    """Return a valid text of a parameter; a placeholder if it identifies a record that has to exist."""
    field = FIELDS.get(parameter.filters_by or parameter.sets)
    if field is None:
        return "1"
    # A change to the same value does not show.
    if field.refers:
        return f"{{other:{field.name}}}" if parameter.sets else f"{{{field.name}}}"
    return text_of(field.samples[-1 if parameter.sets else 0])


def text_of(value: Json) -> str:
    """Return a value as the text of a parameter. An array has the text of its first element."""
    if is_array(value):
        if value:
            return text_of(value[0])
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value)


def limits_of(operation: Operation) -> tuple[int, int, int]:
    """Return the least, the largest and the default limit of a list that has a limit."""
    rules = parameters(operation)[str(operation.limit and operation.limit.name)]
    return rules["minimum"], rules["maximum"], rules["default"]


def largest(operation: Operation, **attributes: Any) -> Probe:
    """Return a request for the longest page of a list."""
    probe = request(operation, **attributes)
    if operation.limit is None:
        return probe
    return probe.with_parameter(operation.limit, limits_of(operation)[1])


def sends(operation: Operation, texts: Mapping[str, str], **attributes: Any) -> Probe:
    """Return a request whose plain body has more or other members, as JSON texts."""
    body = as_text({**plain(str(operation.body)), **texts})
    return request(operation, "{made}", body=body, **attributes)


def odd(operation: Operation, name: str, texts: Iterable[str]) -> Iterator[Probe]:
    """Yield requests with odd values of a member, as JSON texts, which a service may refuse.

    They have a value of each enum, so that no service can fill it in, or refuse its absence.
    """
    enums = {name: json.dumps(rules["enum"][0]) for name, rules in members_of(operation).items() if "enum" in rules}
    phase = Phase.ODD_CREATES if operation.does.adds else Phase.ODD_CHANGES
    for text in texts:
        yield sends(operation, {**enums, name: text}, phase=phase, expected=OPEN)
