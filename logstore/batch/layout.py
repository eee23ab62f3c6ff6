"""Where each field stands in a batch of magic 2, in bytes from its start; all are big-endian.

The length counts from the leader epoch on. The checksum covers everything from the attributes on, so that a leader can
write its offset and epoch into a batch that it was sent. Kernels take these numbers as constants.
"""

from struct import Struct, calcsize
from typing import Final

from logstore.checksum import crc32c

MAGIC: Final = 2

_FORMATS: Final = {
    "base_offset": "q",
    "length": "i",
    "leader_epoch": "i",
    "magic": "b",
    "crc": "I",
    "attributes": "h",
    "last_offset_delta": "i",
    "base_timestamp": "q",
    "max_timestamp": "q",
    "producer_id": "q",
    "producer_epoch": "h",
    "base_sequence": "i",
    "record_count": "i",
}


def header_of(*fields: str) -> Struct:
    """Return what reads some fields of a header, in the order in which they stand there.

    >>> header_of("base_offset", "length").unpack_from(batch)
    """
    last = max(map([*_FORMATS].index, fields))
    formats = [*_FORMATS.items()][: last + 1]
    return Struct(">" + "".join(code if name in fields else f"{calcsize('>' + code)}x" for name, code in formats))


def _start_of(field: str) -> int:
    formats = [*_FORMATS.values()]
    return calcsize(">" + "".join(formats[: [*_FORMATS].index(field)]))


HEADER: Final = header_of(*_FORMATS)
HEADER_SIZE: Final = HEADER.size
"""61 bytes; the records follow."""
LENGTH_AT: Final = _start_of("length")
LEADER_EPOCH_AT: Final = _start_of("leader_epoch")
LOG_OVERHEAD: Final = LEADER_EPOCH_AT
"""Bytes of the offset and the length before every batch, of any magic; the length counts what follows them."""
SMALLEST_LENGTH: Final = HEADER_SIZE - LOG_OVERHEAD
"""The length that a batch without records gives."""
SMALLEST_MESSAGE: Final = 26
"""Bytes of a message of magic 0 with neither key nor value."""
MAGIC_AT: Final = _start_of("magic")
"""In messages of magic 0 and 1 too."""
CRC_AT: Final = _start_of("crc")
ATTRIBUTES_AT: Final = _start_of("attributes")
CRC_START: Final = ATTRIBUTES_AT
"""Where the bytes under the checksum begin."""
LAST_OFFSET_DELTA_AT: Final = _start_of("last_offset_delta")
BASE_TIMESTAMP_AT: Final = _start_of("base_timestamp")
MAX_TIMESTAMP_AT: Final = _start_of("max_timestamp")
PRODUCER_ID_AT: Final = _start_of("producer_id")
PRODUCER_EPOCH_AT: Final = _start_of("producer_epoch")
BASE_SEQUENCE_AT: Final = _start_of("base_sequence")
RECORD_COUNT_AT: Final = _start_of("record_count")


def seal(data: bytearray) -> None:
    """Write the checksum of the batch that fills `data`."""
    data[CRC_AT:CRC_START] = crc32c(memoryview(data)[CRC_START:]).to_bytes(4)
