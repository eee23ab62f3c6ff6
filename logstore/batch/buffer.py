"""What callers may pass as bytes: batches, keys and values."""

from typing import Final

Buffer = bytes | bytearray | memoryview

# Made once: a union of types costs as much as encoding a header, at each append.
BUFFERS: Final = (bytes, bytearray, memoryview)
