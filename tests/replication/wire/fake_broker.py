"""A server on loopback that a test scripts: what it does with each connection, one after the other."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Any, NamedTuple, Self

from kio.index import load_entity_schema
from kio.serial import entity_reader
from kio.static.constants import EntityType

from replication.wire.addresses import Address
from replication.wire.encoding.kio_messages import request_classes, response_classes, write
from replication.wire.error_code import ErrorCode

SECONDS = 20
FLEXIBLE_METADATA = 13
SPOKEN = {1: range(4, 19), 2: range(1, 12), 3: range(14), 17: range(2), 18: range(5), 23: range(2, 5), 36: range(3)}

Script = Callable[[socket.socket], None]


class Asked(NamedTuple):
    """A request as a broker sees it."""

    api_key: int
    version: int
    correlation_id: int
    payload: Any


class FakeBroker:
    """Listens while it is entered; lets `script` speak on each connection, and closes that when the script returns."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.address = Address(*self._listener.getsockname())
        self.connections = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Accept no connection any more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                stream, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._speak, args=(stream,), daemon=True).start()

    def _speak(self, stream: socket.socket) -> None:
        stream.settimeout(SECONDS)
        with stream, suppress(OSError, EOFError):
            self._script(stream)


class Silence:
    """A script: greet, read one request, and keep quiet until `end` is called."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.kept_waiting = False
        """Whether nobody called `end` for SECONDS."""
        self._ended = threading.Event()

    def __call__(self, stream: socket.socket) -> None:
        greet(stream)
        self.wait(stream)

    def wait(self, stream: socket.socket) -> None:
        """Go on as after the greeting."""
        receive(stream)
        self.asked.set()
        self.kept_waiting = not self._ended.wait(SECONDS)

    def end(self) -> None:
        self._ended.set()


def receive(stream: socket.socket) -> Asked:
    """Read one request."""
    frame = _exactly(stream, int.from_bytes(_exactly(stream, 4), "big"))
    key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
    module = request_classes(key, version)
    kind = next(found for found in vars(module).values() if getattr(found, "__type__", None) is EntityType.request)
    header_version = 2 if kind.__flexible__ else 1
    header, size = entity_reader(load_entity_schema("request_header", header_version, EntityType.header))(frame, 0)
    payload, _ = entity_reader(kind)(frame, size)
    return Asked(key, version, header.correlation_id, payload)


def framed(correlation_id: int, answer: Any) -> bytes:
    """Return an answer as a broker sends it."""
    flexible = answer.__flexible__ and answer.__api_key__ != 18
    message = correlation_id.to_bytes(4, "big") + (b"\0" if flexible else b"") + write(answer)
    return len(message).to_bytes(4, "big") + message


def versions(asked: Asked, spoken: dict[int, range] = SPOKEN) -> bytes:
    """Answer a request for the versions."""
    classes = response_classes(18, asked.version)
    apis = tuple(
        classes.ApiVersion(api_key=key, min_version=known.start, max_version=known.stop - 1)
        for key, known in spoken.items()
    )
    answer = classes.ApiVersionsResponse(error_code=ErrorCode.NONE, api_keys=apis, throttle_time=timedelta())
    return framed(asked.correlation_id, answer)


def metadata(asked: Asked, brokers: dict[int, Address] | None = None, cluster_id: str = "fake") -> bytes:
    """Answer a request for metadata: these brokers, no topics."""
    classes = response_classes(3, asked.version)
    told = tuple(
        classes.MetadataResponseBroker(node_id=broker_id, host=address.host, port=address.port)
        for broker_id, address in (brokers or {}).items()
    )
    error = {"error_code": ErrorCode.NONE} if asked.version >= FLEXIBLE_METADATA else {}
    answer = classes.MetadataResponse(
        throttle_time=timedelta(), brokers=told, cluster_id=cluster_id, controller_id=1, topics=(), **error
    )
    return framed(asked.correlation_id, answer)


def greet(stream: socket.socket) -> None:
    """Answer what every connection asks first."""
    stream.sendall(versions(receive(stream)))


def _exactly(stream: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = stream.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
