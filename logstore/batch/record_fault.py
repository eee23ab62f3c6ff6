"""What can be wrong with the records of a batch whose checksum is valid."""

from enum import IntEnum
from typing import NamedTuple


class RecordFaultReason(IntEnum):
    """Why the records of a batch cannot be what its header says."""

    LENGTH = 1
    """A record's length is too small for any record, or larger than what is left."""
    FIELDS = 2
    """A record's fields do not fill its length exactly."""
    COUNT = 3
    """There are fewer records than the header counts, or bytes after the last of them."""
    OFFSET_RANGE = 4
    """A record's offset is below the batch's base offset or above its last offset."""
    OFFSET_ORDER = 5
    """A record's offset is not above that of the record before it."""
    TIMESTAMP = 6
    """The largest of the records' timestamps is not the header's; the position is that of the first record."""


class RecordFault(NamedTuple):
    """The first bad record of a batch: `batch` is the batch's row, `position` where the record begins.

    Positions are bytes from the start of the data that the records were read from: the file, or the decompressed
    records of one batch.
    """

    batch: int
    position: int
    reason: RecordFaultReason
