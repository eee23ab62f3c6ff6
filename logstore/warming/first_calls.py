"""The first call of each kernel, which compiles it, or loads what was compiled before."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np

from epoch.bulk import EpochTable
from epoch.compiling.awaited_kernel import AwaitedKernel
from epoch.history import EpochHistory
from logstore.append.append_fast_path import APPEND_ONE, FOLLOW, INSPECT_SENT
from logstore.append.append_validation import FIRST_CORRUPT
from logstore.append.encoding import ENCODER
from logstore.append.record_inspection import INSPECT_RECORDS
from logstore.batch.decoding.plain_records import OBJECTS
from logstore.batch.layout import HEADER, HEADER_SIZE, MAGIC, SMALLEST_LENGTH
from logstore.indexes.live_index import FLOORS
from logstore.indexes.live_offset_index import FIND_BATCHES, FIND_SOUND_BATCH
from logstore.kernels import (
    batch_digest,
    column_scan,
    crc,
    decode,
    digest,
    gather,
    read_headers,
    record_checks,
    record_parts,
    render,
    scan,
    search,
    standalone,
)
from logstore.log.reading.sound_bytes import SOUND_RUNS
from logstore.log.timestamp_search import FIND_RECORD, FIRST_RECORD_FROM
from logstore.recovery.segment_walk import RECOVER
from logstore.segment.single_record import FIND_RECORD_AT
from logstore.segment.view_records import VIEW_SCAN
from logstore.verify.batch_totals import BatchTotals

EMPTY_BATCH = HEADER.pack(0, SMALLEST_LENGTH, 0, MAGIC, *[0] * 9)
OFFSET_ENTRY = bytes.fromhex("0000000500000064")
TIME_ENTRY = bytes.fromhex("000000000000000700000005")
AWAITED: Final[dict[str, AwaitedKernel]] = {
    "recover": RECOVER,
    "encode": ENCODER,
    "inspect_records": INSPECT_RECORDS,
    "first_record_from": FIRST_RECORD_FROM,
    "find_record": FIND_RECORD,
    "follow": FOLLOW,
    "append_one": APPEND_ONE,
    "floor_value of an offset index": FLOORS["i"],
    "floor_value of a time index": FLOORS["q"],
    "find_batches": FIND_BATCHES,
    "find_sound_batch": FIND_SOUND_BATCH,
    "find_record_at": FIND_RECORD_AT,
    "inspect_sent": INSPECT_SENT,
    "first_corrupt": FIRST_CORRUPT,
    "write_objects": OBJECTS,
    "scan of a view": VIEW_SCAN,
    "sound_run": SOUND_RUNS,
}
"""What a log's calls do without until it is there."""


def first_calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """Call each kernel once, with arguments of the types that it always gets."""
    log = np.frombuffer(EMPTY_BATCH, np.uint8)
    offsets, times = np.frombuffer(OFFSET_ENTRY, np.uint8), np.frombuffer(TIME_ENTRY, np.uint8)
    targets, found, at = np.array([7]), np.empty(1, np.int64), np.empty(1, np.int64)
    yield f"crc32c ({crc.NAME})", lambda: crc.crc32c(log, 0, len(log))
    yield "scan", lambda: column_scan.scan(log, check_crc=True)
    header, headers = np.empty(HEADER_SIZE, np.uint8), column_scan.MEMORY.take()
    yield "read_headers", lambda: read_headers.read_headers(-1, header, 0, 0, 0, 0, *headers.values())
    yield "find_next_batch", lambda: scan.find_next_batch(log, 0, len(log), 0)
    yield "search_batch", lambda: standalone.search_batch(log, 0, len(log), len(log), 0, 0)
    batches = column_scan.scan(log, check_crc=False)
    yield "decode", lambda: decode.decode(log, batches)
    yield "check_records", lambda: record_checks.check_records(log, batches)
    records = decode.decode(log, batches)
    yield "digest", lambda: batch_digest.digest(batches, 16)
    yield "digest_keys", lambda: digest.digest_keys(records)
    yield "digest_contents", lambda: digest.digest_contents(records)
    yield "gather", lambda: gather.gather(log, records.key_start, records.key_length)
    yield "decode_parts", lambda: list(record_parts.decode_parts(log, batches, 0, len(log), len(log)))
    yield "gather_headers", lambda: gather.gather_headers(log, records.headers_start, records.header_count)
    for form, json in (("render text", False), ("render JSON", True)):
        renderer = render.LineRenderer(b"", json=json)
        yield form, partial(renderer.render, records, render.sequences(records, batches))
    for name, awaited in AWAITED.items():
        yield name, awaited.get
    yield "count_entries", lambda: search.count_entries(offsets, search.OFFSET_SLOT)
    yield "lookup_offset", lambda: search.lookup_offset(offsets, 1, 0, 7)
    yield "lookup_offsets", lambda: search.lookup_offsets(offsets, 1, 0, targets, found, at)
    yield "lookup_timestamp", lambda: search.lookup_timestamp(times, 1, 0, 7)
    yield "lookup_timestamps", lambda: search.lookup_timestamps(times, 1, 0, targets, found, at)
    yield "first_unordered_offset", lambda: search.first_unordered_offset(offsets, 1)
    yield "first_unordered_timestamp", lambda: search.first_unordered_timestamp(times, 1)
    yield "totals", lambda: BatchTotals.by_kernel(batches)
    offset_index = offsets, 0, batches.position, batches.last_offset
    yield "offset_index_agrees", lambda: standalone.offset_index_agrees(*offset_index)
    time_index = times, 0, batches.base_offset, batches.last_offset, batches.max_timestamp
    yield "time_index_agrees", lambda: standalone.time_index_agrees(*time_index)
    yield "EpochTable", lambda: EpochTable([EpochHistory([(0, 0)])]).end_offsets_for([0, 0], [0, 1], [9, 9])
