"""A raw HTTP client over a socket, and a handler that says what reached it: what the wire's tests talk with."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from petstore_mock.contract.error_conditions import CONDITIONS
from petstore_mock.messages.deferred import DeferredResponse, DeferredResponses
from petstore_mock.messages.response import PLAIN, ApiResponse, Delivery, Head, WireFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from petstore_mock.messages.request import ApiRequest
    from petstore_mock.transport.listener import Listener
    from petstore_mock.transport.server import WireServer

PATIENCE: Final = 5.0  # seconds until a test that waits for bytes fails
DESCRIPTORS: Final = Path("/proc/self/fd")
DATE: Final = b"Thu, 05 Dec 2030 00:00:00 GMT"


def eventually(holds: Callable[[], object], what: str) -> None:
    """Wait until ``holds()``; fail, saying what never came, when it doesn't."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.002)


def open_descriptors() -> int:
    """Count this process's descriptors; 0 where the system does not show them."""
    return sum(1 for _ in DESCRIPTORS.iterdir()) if DESCRIPTORS.exists() else 0


class Answer:
    """One answer, parsed strictly: what is not HTTP/1.1 fails."""

    def __init__(self, head: bytes, body: bytes, *, chunks: int = 0) -> None:
        lines = head.decode("latin-1").split("\r\n")
        version, status, self.reason = lines[0].split(" ", 2)
        assert version == "HTTP/1.1"
        assert len(status) == 3
        self.status = int(status)
        self.names = []
        self.fields: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(": ")
            assert colon, f"no field: {line!r}"
            assert name.strip() == name
            assert name.lower() not in self.fields, f"{name} came twice"
            self.names.append(name)
            self.fields[name.lower()] = value
        self.body = body
        self.chunks = chunks

    def __repr__(self) -> str:
        return f"<Answer {self.status} {self.fields} {self.body[:80]!r}>"


class RawClient:
    """One connection; everything is bytes."""

    def __init__(self, server: WireServer | Listener, *, receive_buffer: int | None = None) -> None:
        family = socket.AF_INET6 if ":" in server.host else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        try:
            self.socket.connect((server.host, server.port))
        except OSError:
            self.socket.close()
            raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> Self:
        self.socket.sendall(data)
        return self

    def get(self, target: str = "/", *fields: str) -> Answer:
        lines = "".join(f"{field}\r\n" for field in fields)
        return self.send(f"GET {target} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode()).answer()

    def _more(self) -> bytes:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(f"the connection ended after {self.buffer!r}")
        return data

    def _until(self, mark: bytes) -> bytes:
        while mark not in self.buffer:
            self.buffer += self._more()
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self.buffer) < size:
            self.buffer += self._more()
        found, self.buffer = self.buffer[:size], self.buffer[size:]
        return found

    def answer(self, method: str = "GET") -> Answer:
        """Read one answer to ``method``; raises EOFError when the connection ends within it."""
        answer = Answer(self._until(b"\r\n\r\n"), b"")
        if method == "HEAD" or answer.status < 200 or answer.status in {204, 304}:
            return answer
        if answer.fields.get("transfer-encoding") == "chunked":
            assert "content-length" not in answer.fields
            while size := int(self._until(b"\r\n"), 16):
                answer.body += self._exactly(size)
                answer.chunks += 1
                assert self._exactly(2) == b"\r\n"
            assert self._exactly(2) == b"\r\n"
        else:
            answer.body = self._exactly(int(answer.fields["content-length"]))
        return answer

    def answer_head(self) -> Answer:
        """Read the head of an answer and leave its body."""
        return Answer(self._until(b"\r\n\r\n"), b"")

    def rest(self) -> bytes:
        """Read to the end of the connection; a reset raises ConnectionResetError."""
        while data := self.socket.recv(65536):
            self.buffer += data
        return self.buffer

    def is_closed(self) -> bool:
        """Wait for the end, which must come cleanly and without another byte."""
        return self.rest() == b""

    def reset(self) -> None:
        """Close with a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()


class Record:
    """What the wire reports of a deferred response."""

    def __init__(self, started: float) -> None:
        self.started = started
        self.duration = -1.0
        self.outcome = "not completed"
        self.sent: bool | None = None

    def complete(self, outcome: str, *, sent: bool) -> None:
        self.outcome, self.sent = outcome, sent
        self.duration = time.perf_counter() - self.started


class Echo:
    """A handler that answers 200 with the request's body, or what ``answers`` says for its target.

    It keeps what reached it: ``requests``, and ``refusals`` as (condition, detail, request).
    """

    def __init__(self) -> None:
        self.requests: list[ApiRequest] = []
        self.refusals: list[tuple[str, str, ApiRequest | None]] = []
        self.answers: dict[str, Callable[[ApiRequest], ApiResponse | DeferredResponse]] = {}
        self.limit: int | None = 1024 * 1024
        self.limits_asked = 0
        self.admitted = True
        self.admissions: list[int | None] = []
        self.pending = DeferredResponses()
        self.records: list[Record] = []

    @property
    def last(self) -> ApiRequest:
        return self.requests[-1]

    def handle(self, request: ApiRequest) -> ApiResponse | DeferredResponse:
        self.requests.append(request)
        if request.oversized:
            return answer(413, b"too large")
        make = self.answers.get(request.target)
        return answer(200, request.body) if make is None else make(request)

    def admits(self, request: ApiRequest, length: int | None) -> bool:  # noqa: ARG002
        self.admissions.append(length)
        return self.admitted

    def body_limit(self, request: ApiRequest) -> int | None:  # noqa: ARG002
        self.limits_asked += 1
        return self.limit

    def epoch(self) -> object:
        return None

    def expectation_matched(self, request: ApiRequest) -> Callable[[Head, bytes], ApiResponse]:  # noqa: ARG002
        return lambda head, body: ApiResponse(head, body, DATE)

    def refuse(
        self,
        condition: str,
        detail: str,
        request: ApiRequest | None,
        epoch: object = None,  # noqa: ARG002
    ) -> ApiResponse:
        self.refusals.append((condition, detail, request))
        return answer(CONDITIONS[condition].status, f"{condition}: {detail}".encode())

    def deliver(
        self,
        target: str,
        kind: str,
        value: float = 0.0,
        body: bytes = b"0123456789",
        *,
        seconds: float = 0.0,
        wire_format: WireFormat = PLAIN,
    ) -> None:
        """Answer ``target`` by a delivery."""

        def make(request: ApiRequest) -> DeferredResponse:
            response = answer(200, body)
            response.wire_format = wire_format
            delivery = Delivery(kind, value)  # type: ignore[arg-type]  # tests pass any text
            return self._defer(request, seconds, lambda: response, delivery)

        self.answers[target] = make

    def delay(
        self, target: str, seconds: float, then: Callable[[], ApiResponse | DeferredResponse] | None = None
    ) -> None:
        """Answer ``target`` after ``seconds``; what ``then`` returns when given."""

        def make(request: ApiRequest) -> DeferredResponse:
            return self._defer(request, seconds, then or (lambda: answer(200, request.target.encode())))

        self.answers[target] = make

    def _defer(
        self,
        request: ApiRequest,
        seconds: float,
        resume: Callable[[], ApiResponse | DeferredResponse],
        delivery: Delivery | None = None,
    ) -> DeferredResponse:
        self.records.append(Record(request.started))
        return DeferredResponse(resume, self.records[-1], self.pending, delay=seconds, delivery=delivery)


def answer(status: int, body: bytes = b"", *fields: tuple[str, str]) -> ApiResponse:
    return ApiResponse(Head(status, fields), body, DATE)
