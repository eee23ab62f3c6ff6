"""What a real broker answers to bytes that ours is given too."""

import socket
from typing import Any

from replication.wire.encoding.framing import framed
from replication.wire.encoding.headers import RequestHeader, read_response_header, write_request_header
from replication.wire.messages.api import Api
from replication.wire.messages.apis import api_with

SECONDS = 120


class RealAnswers:
    """One connection, for requests that are written already."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), SECONDS)

    def ask(self, api: Api, sent: bytes, version: int) -> Any:
        """Return the answer, as it was read from bytes."""
        header = RequestHeader(api.key, version, 7, "beside")
        self._socket.sendall(framed(write_request_header(header, flexible=api.is_flexible(version)) + sent))
        frame = self._receive(int.from_bytes(self._receive(4), "big"))
        _, start = read_response_header(frame, flexible=api.is_answer_flexible(version))
        return api.response.read(memoryview(frame)[start:], version)

    def close(self) -> None:
        self._socket.close()

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            piece = self._socket.recv(size - len(received))
            assert piece, "the broker has closed the connection"
            received += piece
        return bytes(received)


def known_api(key: int) -> Api:
    """Return an API that there is."""
    api = api_with(key)
    assert api is not None
    return api
