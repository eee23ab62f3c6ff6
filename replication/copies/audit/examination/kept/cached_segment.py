"""The headers of a segment's batches as they were read once, and how those of a copy are kept in one file."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import cramjam
import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns, StopReason
from logstore.checksum import crc32c
from replication.copies.audit.snapshots.remote.stored_file import StoredFile

VERSION: Final = 1
ROWS_AT_ONCE: Final = 65_536
_LEVEL: Final = 1
"""Of zstd: higher ones take long, and gain little."""
_CRC_BYTES: Final = 4
_COLUMNS: Final = {
    "skipped": np.int64,
    "offsets": np.int64,
    "later": np.int64,
    "duration": np.int64,
    "size": np.int64,
    "leader_epoch": np.int32,
    "magic": np.int8,
    "attributes": np.int16,
    "producer_id": np.int64,
    "producer_epoch": np.int16,
    "base_sequence": np.int32,
    "record_count": np.int32,
    "crc": np.uint32,
}
"""One after the other in a file, each of all segments. Differences compress well, unlike offsets and times."""
_AS_READ: Final = tuple(_COLUMNS)[4:]


class HeaderFileError(ValueError):
    """A file of kept headers is not as it was written."""


@dataclass(frozen=True, slots=True)
class CachedSegment:
    """One segment of which every batch was valid, from the first byte of the file to the last."""

    file: str
    stored: StoredFile
    """The file as it was then."""
    read_at: int
    """When its bytes were read, in microseconds since 1970 UTC: not later than that."""
    has_records: bool
    """Whether its records were decoded too."""
    columns: BatchColumns
    controls: tuple[tuple[int, bytes], ...]
    """Control batches: their positions, and their bytes, as checks of transactions read the markers in them."""
    tag: str = ""
    """What the store said of the object then: see `StoredObject`."""

    def chunks(self) -> Iterator[BatchColumns]:
        """Give the batches as `LogFile.scan` does."""
        count = len(self.columns)
        for first in range(0, count, ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, count)
            end = self.stored.size if last == count else int(self.columns.position[last])
            yield self.columns.slice(first, last, end, StopReason.END if last == count else StopReason.MORE)

    def between(self, start: int, end: int) -> BatchColumns:
        """Return the batches that begin from byte `start` on and before `end`."""
        first, last = np.searchsorted(self.columns.position, (start, end)).tolist()
        return self.columns.slice(first, last, end, StopReason.MORE)


def encode_segments(segments: Sequence[CachedSegment]) -> bytes:
    """Return the content of a file: a checksum, a line that describes the segments, and their headers, compressed."""
    described = [
        {
            "file": each.file,
            "stored": each.stored,
            "read_at": each.read_at,
            "tag": each.tag,
            "has_records": each.has_records,
            "batches": len(each.columns),
            "controls": [[position, len(data)] for position, data in each.controls],
        }
        for each in segments
    ]
    line = json.dumps({"version": VERSION, "segments": described}, separators=(",", ":")).encode() + b"\n"
    headers = BatchColumns.joined([each.columns for each in segments])
    columns = b"".join(np.ascontiguousarray(column).tobytes() for column in _differences(headers))
    controls = b"".join(data for each in segments for _, data in each.controls)
    content = line + bytes(cramjam.zstd.compress(columns + controls, level=_LEVEL))
    return crc32c(content).to_bytes(_CRC_BYTES) + content


def decode_segments(data: bytes) -> list[CachedSegment]:
    """Decode segments from a file's content. Raises HeaderFileError."""
    content = data[_CRC_BYTES:]
    if len(data) <= _CRC_BYTES or crc32c(content) != int.from_bytes(data[:_CRC_BYTES]):
        raise HeaderFileError("its checksum does not match")
    line, _, compressed = content.partition(b"\n")
    try:
        described = json.loads(line)
        if described["version"] != VERSION:
            raise HeaderFileError(f"its version is {described['version']}, not {VERSION}")
        return list(_segments(described["segments"], bytes(cramjam.zstd.decompress(compressed))))
    except (cramjam.DecompressionError, KeyError, TypeError, ValueError) as error:
        raise HeaderFileError(f"it holds no headers: {error!r}") from error


def _differences(columns: BatchColumns) -> Iterator[NDArray[Any]]:
    """Give the columns of a file; sums wrap around as differences do, so that any numbers come back."""
    derived = {
        "skipped": columns.base_offset - np.concatenate([[0], columns.last_offset[:-1]]),
        "offsets": columns.last_offset - columns.base_offset,
        "later": np.diff(columns.base_timestamp, prepend=0),
        "duration": columns.max_timestamp - columns.base_timestamp,
    }
    for name in _COLUMNS:
        yield derived[name] if name in derived else getattr(columns, name)


def _segments(described: Sequence[dict[str, Any]], data: bytes) -> Iterator[CachedSegment]:
    total, values, place = sum(each["batches"] for each in described), {}, 0
    for name, kind in _COLUMNS.items():
        # In memory of their own: kernels would be compiled once more for what is read-only, or not aligned.
        values[name] = np.frombuffer(data, kind, total, place).copy()
        place += values[name].nbytes
    last_offset = np.cumsum(values["skipped"] + values["offsets"])
    base_timestamp = np.cumsum(values["later"])
    columns = {
        "base_offset": last_offset - values["offsets"],
        "last_offset": last_offset,
        "base_timestamp": base_timestamp,
        "max_timestamp": base_timestamp + values["duration"],
        "crc_valid": np.ones(total, np.bool_),
        **{name: values[name] for name in _AS_READ},
    }
    first = 0
    for each in described:
        last = first + each["batches"]
        of_segment = {name: column[first:last] for name, column in columns.items()}
        ends = np.cumsum(of_segment["size"])
        controls = []
        for position, size in each["controls"]:
            controls.append((position, data[place : place + size]))
            place += size
        yield CachedSegment(
            each["file"],
            StoredFile(*each["stored"]),
            each["read_at"],
            each["has_records"],
            BatchColumns(
                position=ends - of_segment["size"], **of_segment, next_position=int(ends[-1]), stop=StopReason.END
            ),
            tuple(controls),
            each.get("tag", ""),
        )
        first = last
