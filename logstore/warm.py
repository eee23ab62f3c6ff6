"""Compile every kernel now rather than in the middle of work. The machine code stays on disk for later processes."""

import time
from array import array
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from epoch.bulk import EpochTable
from epoch.history import EpochHistory
from logstore.append.encoding import encode_values
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.decoding.object_decoder import ObjectDecoder
from logstore.batch.layout import HEADER, HEADER_SIZE, MAGIC, SMALLEST_LENGTH
from logstore.kernels import (
    column_scan,
    crc,
    decode,
    digest,
    follow,
    gather,
    inspect,
    locate,
    read_headers,
    record_checks,
    record_parts,
    recover,
    render,
    scan,
    search,
    standalone,
    timestamp,
)
from logstore.verify.batch_totals import BatchTotals

EMPTY_BATCH = HEADER.pack(0, SMALLEST_LENGTH, 0, MAGIC, *[0] * 9)
OFFSET_ENTRY = bytes.fromhex("0000000500000064")
TIME_ENTRY = bytes.fromhex("000000000000000700000005")


def warm() -> list[tuple[str, float]]:
    """Compile the kernels, or load those compiled before: each one's name and seconds, in order."""
    return [(name, seconds(call)) for name, call in first_calls()]


def seconds(call: Callable[[], object]) -> float:
    """Measure one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


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
    state, columns = recover.new_state(0), recover.RecoveryColumns()
    yield "recover", lambda: recover.recover(log, len(log), base_offset=0, interval=0, state=state, columns=columns)
    batches = column_scan.scan(log, check_crc=False)
    yield "decode", lambda: decode.decode(log, batches)
    yield "check_records", lambda: record_checks.check_records(log, batches)
    records = decode.decode(log, batches)
    yield "write_objects", lambda: list(ObjectDecoder().runs(memoryview(EMPTY_BATCH), []))
    yield "digest", lambda: digest.digest(batches, 16)
    yield "join digests", lambda: digest.joined(digest.digest(batches, 16))
    yield "digest_keys", lambda: digest.digest_keys(records)
    yield "digest_contents", lambda: digest.digest_contents(records)
    yield "gather", lambda: gather.gather(log, records.key_start, records.key_length)
    yield "decode_parts", lambda: list(record_parts.decode_parts(log, batches, 0, len(log), len(log)))
    yield "gather_headers", lambda: gather.gather_headers(log, records.headers_start, records.header_count)
    for form, json in (("render text", False), ("render JSON", True)):
        renderer = render.LineRenderer(b"", json=json)
        yield form, partial(renderer.render, records, render.sequences(records, batches))
    yield "encode", lambda: encode_values([b""], 0)
    yield "encode a section", lambda: encode_values([b""], 0, template=BatchTemplate(codec=Codec.GZIP))
    yield "inspect_records", lambda: inspect.inspect_records(log, 0, 0, 0, 0, 0, 0)
    yield "first_record_from", lambda: timestamp.first_record_from(log, 0, 0, 0, 0, 0, 0, 0)
    fetched = memoryview(EMPTY_BATCH)
    yield "find_record", lambda: timestamp.find_record(fetched, 0, 0, 0)
    yield "follow", lambda: follow.follow(fetched, 0, 0, 0, 0, 0, 0, 0, 0, array("q", bytes(32)))
    yield "follow_one", lambda: follow.follow_one(fetched, 0, 0)
    index = array("i"), array("I")
    yield "floor_value of an offset index", lambda: locate.floor_value(*index, 0, 0)
    yield "floor_value of a time index", lambda: locate.floor_value(array("q"), array("q"), 0, 0)
    yield "find_batches", lambda: locate.find_batches(fetched, *index, 0, 0, 0, 0)
    yield "inspect_sent", lambda: inspect.inspect_sent(fetched, 0, 0, 0)
    yield "first_corrupt", lambda: inspect.first_corrupt(log, 0, len(log))
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
