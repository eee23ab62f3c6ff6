"""Messages on a stream of bytes: each after its size, a big-endian int32."""

from typing import Final, NoReturn

from replication.records.codec.gathered import Part
from replication.wire.errors import MalformedResponseError

SIZE_BYTES: Final = 4
DEFAULT_LIMIT: Final = 256 * 1024 * 1024
_FIRST_CAPACITY: Final = 1024
"""Of a buffer: most connections of a server are idle, or ask small questions."""

_FOREIGN: Final = (
    (b"HTTP", "this is a web server"),
    (b"\x15\x03", "the other side speaks TLS: use security protocol SSL or SASL_SSL"),
    (b"\x16\x03", "the other side speaks TLS: use security protocol SSL or SASL_SSL"),
    (b"SSH-", "this is an SSH server"),
)
_NOT_KAFKA: Final = "the other side is not a Kafka listener, or no Kafka client"


def framed(message: bytes) -> bytes:
    """Return a message after its size."""
    return len(message).to_bytes(SIZE_BYTES, "big") + message


def framed_parts(parts: list[Part]) -> list[Part]:
    """Return the parts of a message after their size."""
    return [sum(map(len, parts)).to_bytes(SIZE_BYTES, "big"), *parts]


class FrameReader:
    r"""Puts frames together from what arrives, in a buffer that it keeps.

    Fill the start of `wanted()`, then report how much with `received`:

    >>> reader = FrameReader()
    >>> for byte in b"\0\0\0\2hi":
    ...     reader.wanted()[0] = byte
    ...     frame = reader.received(1)
    >>> bytes(frame)
    b'hi'
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        """Refuse frames of more than `limit` bytes."""
        self.limit = limit
        """Of the frames that follow."""
        self._size = memoryview(bytearray(SIZE_BYTES))
        self._buffer = bytearray(_FIRST_CAPACITY)
        self.announced: int | None = None
        """How large the frame is that has begun to arrive, before any room is made for it; None between frames."""
        self._received = 0

    @property
    def is_between(self) -> bool:
        """Whether no frame has begun to arrive."""
        return self.announced is None and not self._received

    def holds_more_than(self, size: int) -> bool:
        """Whether the buffer is larger than that."""
        return len(self._buffer) > size

    def let_go(self) -> None:
        """Release the buffer between two frames; the last frame stays readable for its holders."""
        self._buffer = bytearray(_FIRST_CAPACITY)

    def wanted(self) -> memoryview:
        """Where the next bytes go: not empty, and never longer than what the frame still lacks."""
        size = self.announced
        if size is None:
            return self._size[self._received :]
        if len(self._buffer) < size:
            self._make_room(size)
        return memoryview(self._buffer)[self._received : size]

    def received(self, count: int) -> memoryview | None:
        """Return the frame that `count` more bytes complete, to be read until `wanted` is called again; or None.

        MalformedResponseError for a size that no frame has.
        """
        received, size = self._received + count, self.announced
        if size is None and received == SIZE_BYTES:
            received, size = 0, int.from_bytes(self._size, "big", signed=True)
            if not 0 <= size <= self.limit:
                self._refuse(size)
            self.announced = size
        if received != size:
            self._received = received
            return None
        self.announced, self._received = None, 0
        return memoryview(self._buffer)[:size].toreadonly()

    def _refuse(self, size: int) -> NoReturn:
        start = bytes(self._size)
        guess = next((who for foreign, who in _FOREIGN if start.startswith(foreign)), _NOT_KAFKA)
        raise MalformedResponseError(
            f"a message of {size:,} bytes is announced ({start!r}), but at most {self.limit:,} are allowed; {guess}"
        )

    def _make_room(self, size: int) -> None:
        """Grow the buffer with what has arrived, not with what is announced; frames handed out stay as they are."""
        if self._received < len(self._buffer):
            return
        larger = bytearray(min(size, 2 * len(self._buffer)))
        larger[: self._received] = memoryview(self._buffer)[: self._received]
        self._buffer = larger
