"""What a leader must know about the records of a producer's batch, found in one pass."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from epoch.compiling.awaited_kernel import AwaitedKernel
from logstore.append.time_limit import TimeLimit
from logstore.batch.compression.decompression_limit import MOST_HEADERS
from logstore.batch.decoding.record_decoder import read_fields, wrapping
from logstore.batch.record_encoder import frame_record
from logstore.errors import CorruptRecordError
from logstore.log_config import MAX_INT64

NO_RECORD: Final = -1
FEW_RECORDS: Final = 8
"""Up to so many the plain Python walk is worth it, which does not load numba."""
_TURN: Final = 64
"""Records after which the clock is looked at."""
# Half the cost of calling a NamedTuple's class, once an append.
_build: Final = tuple.__new__


class RecordInspection(NamedTuple):
    """Records are numbered from 0 in their batch; -1 is none."""

    broken: int
    """The first that cannot be read, or has more than `MOST_HEADERS`; their count where bytes follow the last."""
    keyless: int
    """The first without a key."""
    untimely: int
    """The first whose timestamp is out of bounds."""
    max_timestamp: int
    """The largest, -1 at least."""
    first_delta: int
    """The first record's timestamp minus the batch's base timestamp."""
    is_consecutive: int
    """1 if the offset deltas count up from 0, as those of all known producers do."""


def inspect_records(
    section: memoryview, count: int, base_timestamp: int, *, earliest: int, latest: int
) -> RecordInspection:
    """Walk over `count` uncompressed records that fill the read-only `section`; timestamps' bounds are inclusive.

    Raises RecordTooLargeError where plain Python takes too long for that.
    """
    earliest, latest = max(earliest, -MAX_INT64 - 1), min(latest, MAX_INT64)
    inspect = count > FEW_RECORDS and INSPECT_RECORDS.ready()
    if not inspect:
        return inspect_plainly(section, count, base_timestamp, earliest, latest)
    kernel, frombuffer = inspect
    found = kernel(frombuffer(section, "u1"), 0, len(section), count, base_timestamp, earliest, latest)
    inspection: RecordInspection = _build(RecordInspection, found)
    return inspection


def _load() -> tuple[Any, Any]:
    """Load the kernel, and what makes an array of a view: an import statement costs as much as either."""
    import numpy as np  # noqa: PLC0415  numba loads on the first bulk operation

    from logstore.kernels.inspect import inspect_records as kernel  # noqa: PLC0415  numba again

    kernel(np.frombuffer(b"", np.uint8), 0, 0, 0, 0, 0, 0)
    return kernel, np.frombuffer


INSPECT_RECORDS: Final = AwaitedKernel(_load)


def inspect_plainly(
    section: memoryview, count: int, base_timestamp: int, earliest: int, latest: int
) -> RecordInspection:
    """Do the same in plain Python."""
    data = bytes(section)
    position, largest, first_delta, consecutive = 0, -1, 0, 1
    keyless = untimely = NO_RECORD
    for number in _in_time(count):
        try:
            record = read_fields(data, position, with_headers=False, most_headers=MOST_HEADERS)
        except (CorruptRecordError, IndexError):
            return RecordInspection(number, keyless, untimely, largest, first_delta, consecutive)
        timestamp = wrapping(base_timestamp + record.timestamp_delta)
        first_delta = first_delta if number else record.timestamp_delta
        consecutive &= record.offset_delta == number
        if record.key is None and keyless == NO_RECORD:
            keyless = number
        if timestamp != -1 and not earliest <= timestamp <= latest and untimely == NO_RECORD:
            untimely = number
        largest = max(largest, timestamp)
        position = record.end
    broken = NO_RECORD if position == len(data) else count
    return RecordInspection(broken, keyless, untimely, largest, first_delta, consecutive)


def renumber_records(section: memoryview, count: int, *, same_time: bool) -> bytes:
    """Encode valid records again with offset deltas from 0 on, and timestamp deltas from the first, or all at once.

    Keys, values and headers stay as they are, byte for byte. Raises what `inspect_records` raises.
    """
    data = bytes(section)
    parts = []
    position = first_delta = 0
    for number in _in_time(count):
        record = read_fields(data, position, with_headers=False)
        first_delta = first_delta if number else record.timestamp_delta
        delta = 0 if same_time else record.timestamp_delta - first_delta
        parts.append(frame_record(number, delta, data[record.start : record.end]))
        position = record.end
    return b"".join(parts)


def _in_time(count: int) -> Iterator[int]:
    """Count the records. Raises RecordTooLargeError where the time is up."""
    limit = TimeLimit()
    for number in range(count):
        if not number % _TURN:
            limit.ensure_left(f"to look at {number:,} of the {count:,} records of a batch")
        yield number
