"""Every record can be decoded, and is where its batch's header says."""

from collections.abc import Collection, Iterator
from typing import Final

import numpy as np

from logstore.batch.batch_attributes import CODEC_BITS
from logstore.batch.batches import read_batch
from logstore.batch.compression.codec import decompress
from logstore.batch.layout import HEADER_SIZE
from logstore.batch.record_fault import RecordFault, RecordFaultReason
from logstore.errors import DecompressionLimitError, LogStoreError
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck

_AT_ONCE: Final = 256 << 10
"""Bytes of decompressed records that are decoded in one go, of one batch at least."""

_MEANINGS = {
    RecordFaultReason.LENGTH: "a record's length is impossible",
    RecordFaultReason.FIELDS: "a record's fields do not fill its length",
    RecordFaultReason.COUNT: "the records are not as many as the header counts",
    RecordFaultReason.OFFSET_RANGE: "a record's offset lies outside its batch",
    RecordFaultReason.OFFSET_ORDER: "a record's offset does not rise",
}


class RecordCheck(SilentCheck):
    """Decodes the records of all batches whose checksum is valid."""

    def __init__(self, report: Reporter, decoded: Collection[str] = ()) -> None:
        """Pass over the `.log` files that are named in `decoded`: their records were decoded before."""
        self._report = report
        self._decoded = decoded

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Decode them: plain batches in one kernel, compressed and old ones one at a time."""
        from logstore.kernels.record_checks import check_records  # noqa: PLC0415  numba loads on the first bulk operation

        if chunk.segment.log_path.name in self._decoded:
            return
        columns = chunk.columns
        sound = columns.crc_valid & (columns.magic == 2)
        compressed = (columns.attributes & CODEC_BITS) != 0
        for fault in check_records(chunk.log.array, columns, np.flatnonzero(sound & ~compressed)):
            yield self._fault(chunk, fault)
        yield from self._compressed(chunk, np.flatnonzero(sound & compressed).tolist())
        for row in np.flatnonzero(columns.crc_valid & (columns.magic < 2)):
            yield from self._legacy(chunk, int(row))

    def _compressed(self, chunk: Chunk, rows: list[int]) -> Iterator[Finding]:
        """Decompress one by one, and decode some at once: a call takes as long as to look at 16 KiB."""
        sections: dict[int, bytes] = {}
        size = 0
        for row in rows:
            try:
                section = self._decompressed(chunk, row)
            except DecompressionLimitError:
                yield from self._sections(chunk, sections)
                sections, size = {}, 0
                yield from self._in_pieces(chunk, row)
                continue
            except LogStoreError as error:
                yield from self._sections(chunk, sections)
                sections, size = {}, 0
                yield self._unreadable(chunk, row, error)
                continue
            sections[row] = section
            size += len(section)
            if size >= _AT_ONCE:
                yield from self._sections(chunk, sections)
                sections, size = {}, 0
        yield from self._sections(chunk, sections)

    def _in_pieces(self, chunk: Chunk, row: int) -> Iterator[Finding]:
        """Check a batch that is too much to be decompressed at once, as the others."""
        from logstore.offline.columns.decoded_records import decoded_pieces  # noqa: PLC0415  as above

        columns = chunk.columns
        base, last = int(columns.base_offset[row]), int(columns.last_offset[row])
        previous, largest = base - 1, -1
        try:
            for records in decoded_pieces(chunk.log.data, columns, row):
                offsets = records.offset
                if offsets.min() < base or offsets.max() > last:
                    yield self._finding(chunk, row, _MEANINGS[RecordFaultReason.OFFSET_RANGE])
                    return
                if (np.diff(offsets, prepend=previous) <= 0).any():
                    yield self._finding(chunk, row, _MEANINGS[RecordFaultReason.OFFSET_ORDER])
                    return
                previous, largest = int(offsets[-1]), max(largest, int(records.timestamp.max()))
        except LogStoreError as error:
            yield self._unreadable(chunk, row, error)
            return
        if largest != int(columns.max_timestamp[row]):
            yield self._wrong_timestamp(chunk, row)

    def _decompressed(self, chunk: Chunk, row: int) -> bytes:
        position, size = int(chunk.columns.position[row]), int(chunk.columns.size[row])
        codec = int(chunk.columns.attributes[row]) & CODEC_BITS
        return decompress(codec, chunk.log.data[position + HEADER_SIZE : position + size])

    def _sections(self, chunk: Chunk, sections: dict[int, bytes]) -> Iterator[Finding]:
        """Check the records of batches by their rows."""
        from logstore.kernels.record_checks import check_sections  # noqa: PLC0415  as above

        rows, sizes = np.array(list(sections), np.int64), np.array([len(each) for each in sections.values()], np.int64)
        ends = np.cumsum(sizes)
        data = np.frombuffer(b"".join(sections.values()), np.uint8)
        for fault in check_sections(data, chunk.columns, rows, ends - sizes, ends):
            yield self._fault(chunk, fault, decompressed=True)

    def _legacy(self, chunk: Chunk, row: int) -> Iterator[Finding]:
        position = int(chunk.columns.position[row])
        try:
            for _ in read_batch(chunk.log.data, position).records():
                pass
        except LogStoreError as error:
            yield self._unreadable(chunk, row, error)

    def _fault(self, chunk: Chunk, fault: RecordFault, *, decompressed: bool = False) -> Finding:
        if fault.reason is RecordFaultReason.TIMESTAMP:
            return self._wrong_timestamp(chunk, fault.batch)
        what = _MEANINGS[fault.reason]
        if decompressed:
            return self._finding(chunk, fault.batch, f"{what}, {fault.position} bytes into the decompressed records")
        return self._finding(chunk, fault.batch, what, fault.position)

    def _wrong_timestamp(self, chunk: Chunk, row: int) -> Finding:
        columns = chunk.columns
        base, last = int(columns.base_offset[row]), int(columns.last_offset[row])
        return self._report.error(
            "batch-header-wrong",
            f"the header of the batch with offsets {base}..{last} states the largest timestamp "
            f"{columns.max_timestamp[row]}, which is not that of its records, although its checksum is valid: it was "
            "written so, and retention and searches by time go wrong here; compare with another replica",
            file=chunk.segment.log_path.name,
            position=int(columns.position[row]),
            offset=base,
        )

    def _unreadable(self, chunk: Chunk, row: int, error: LogStoreError) -> Finding:
        if isinstance(error, DecompressionLimitError):
            return self._finding(chunk, row, str(error), kind="decompression-bomb")
        return self._finding(chunk, row, str(error))

    def _finding(
        self, chunk: Chunk, row: int, what: str, position: int | None = None, kind: str = "record-unreadable"
    ) -> Finding:
        columns = chunk.columns
        base, last = int(columns.base_offset[row]), int(columns.last_offset[row])
        return self._report.error(
            kind,
            f"{what}: consumers cannot read the batch with offsets {base}..{last}, although its checksum is valid",
            file=chunk.segment.log_path.name,
            position=int(columns.position[row]) if position is None else position,
            offset=base,
        )
