"""What a task holds is bounded by the largest batch, whatever it reads and however hostile that is."""

import os
import struct
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from logstore.batch.compression.codec import Codec, compress
from replication.copies.audit.spark.source.data_source import KafkaLogSource
from tests.logstore.batches import batch, record, varint
from tests.replication.copies.audit.spark.source.peaks import Peak, Read, peaks_of

MIB = 1 << 20
FIXED = 64 * MIB
OF_A_BATCH = 4
OF_A_HEADER = 10
"""docs/spark.md states these."""
LARGE = 24 * MIB
TINY = record(value=None)
RECORDS = {"rows": "records"}


class Case(NamedTuple):
    """A log, and the bytes of its largest batch once it is decompressed."""

    batches: Sequence[bytes]
    largest: int
    rows: int
    options: dict[str, str] = RECORDS
    headers: int = 0
    """Of the record that has most."""

    @property
    def bound(self) -> int:
        return FIXED + OF_A_BATCH * self.largest + OF_A_HEADER * self.headers + sum(map(len, self.batches))


def of_section(section: bytes, count: int, codec: Codec, *, counted: int | None = None) -> bytes:
    return batch(
        section=section if codec is Codec.NONE else compress(codec, section),
        record_count=count if counted is None else counted,
        attributes=int(codec),
        last_offset_delta=count - 1,
    )


def many(one: bytes, codec: Codec) -> Case:
    """One batch of as many records as it can have."""
    section, count = numbered(one)
    return Case([of_section(section, count, codec)], len(section), count)


@cache
def numbered(one: bytes) -> tuple[bytes, int]:
    """Records like this one, whose offsets rise, and how many they are."""
    fields = next(one[size + 3 :] for size in range(1, 6) if one[:size] == varint(len(one) - size))
    section, count = bytearray(), 0
    while len(section) < LARGE:
        body = b"\0\0" + varint(count) + fields
        section += varint(len(body)) + body
        count += 1
    return bytes(section), count


def large_records(codec: Codec) -> Case:
    content = record(value=bytes(LARGE))
    return Case([moved(of_section(content, 1, codec), number) for number in range(3)], LARGE, 3)


def large_segment(options: dict[str, str], rows: int) -> Case:
    """Batches of a usual size, many times as many bytes as may be held."""
    one = batch(records=[record(offset_delta=number, value=os.urandom(1_000)) for number in range(200)])
    count = 2 * FIXED // len(one)
    return Case([moved(one, 200 * number) for number in range(count)], len(one), rows or 200 * count, options)


def legacy() -> Case:
    """A message of magic 1 that wraps many small ones."""

    def message(offset: int, attributes: int, value: bytes) -> bytes:
        checked = struct.pack(">bbqi", 1, attributes, 1_000, -1) + struct.pack(">i", len(value)) + value
        return struct.pack(">qiI", offset, len(checked) + 4, zlib.crc32(checked)) + checked

    count = 300_000
    inner = b"".join(message(number, 0, b"") for number in range(count))
    return Case([message(count - 1, int(Codec.GZIP), compress(Codec.GZIP, inner))], len(inner), count)


def one_record_of_headers() -> Case:
    count = LARGE // 2
    body = bytes([0]) + varint(0) + varint(0) + varint(-1) + varint(-1) + varint(count) + bytes(2 * count)
    return Case([of_section(varint(len(body)) + body, 1, Codec.ZSTD)], LARGE, 1, headers=count)


def moved(encoded: bytes, base_offset: int) -> bytes:
    return struct.pack(">q", base_offset) + encoded[8:]


COUNTED = {**RECORDS, "columns": "partition"}
CASES: dict[str, Callable[[], Case]] = {
    "a large segment": lambda: large_segment(RECORDS, 0),
    "a large segment of which records are counted": lambda: large_segment(COUNTED, 0),
    "a large segment as one row": lambda: large_segment({"rows": "segments"}, 1),
    **{f"millions of tiny records, {codec.name}": lambda codec=codec: many(TINY, codec) for codec in Codec},
    **{f"large records, {codec.name}": lambda codec=codec: large_records(codec) for codec in Codec},
    "records of many headers": lambda: many(record(headers=[(b"", None)] * 1_000), Codec.ZSTD),
    "headers of many bytes": lambda: many(record(headers=[(b"name", bytes(1_000))] * 10), Codec.LZ4),
    "headers that are no texts": lambda: many(record(headers=[(b"\xff", None)] * 100), Codec.ZSTD),
    "one record that is all headers": one_record_of_headers,
    "a wrapped message set of magic 1": legacy,
    "a count of records that is a lie": lambda: Case(
        [of_section(TINY, 1, Codec.ZSTD, counted=2**31 - 1)], 1, 1, COUNTED
    ),
}


@pytest.fixture(scope="module")
def peaks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Peak, Case]]:
    root = tmp_path_factory.mktemp("memory")
    warm = [of_section(record(headers=[(b"h", b"v")]), 1, codec) for codec in Codec]
    made = [made_case() for made_case in CASES.values()]
    places = [written(root / str(number), case.batches) for number, case in enumerate(made)]
    reads = [Read(place, case.options) for place, case in zip(places, made, strict=True)]
    measured = peaks_of([Read(written(root / "warm", warm), {}), *reads])
    return dict(zip(CASES, zip(measured, made, strict=True), strict=True))


def written(root: Path, batches: Sequence[bytes]) -> str:
    directory = root / "t-0"
    directory.mkdir(parents=True)
    (directory / f"{0:020d}.log").write_bytes(b"".join(batches))
    return str(directory)


@pytest.mark.parametrize("case", CASES)
def test_a_task_holds_no_more_than_is_stated(case: str, peaks: dict[str, tuple[Peak, Case]]) -> None:
    peak, expected = peaks[case]

    assert peak.rows == expected.rows
    assert peak.bytes <= expected.bound, f"{peak.bytes / MIB:,.0f} MiB, of {expected.bound / MIB:,.0f}"


@pytest.mark.parametrize(
    "each",
    [{"value": bytes(MIB)}, {"key": bytes(MIB)}, {"headers": [(bytes(MIB // 2), bytes(MIB // 2))]}],
    ids=["values", "keys", "headers"],
)
def test_what_is_handed_on_at_once_is_bounded_too(each: dict[str, Any], tmp_path: Path) -> None:
    place = written(tmp_path, [batch(records=[record(offset_delta=number, **each) for number in range(40)])])
    source = KafkaLogSource({"path": place, **RECORDS})
    reader = source.reader(source.schema())

    handed = [rows for task in reader.partitions() for rows in reader.read(task)]

    assert sum(rows.num_rows for rows in handed) == 40
    assert max(rows.nbytes for rows in handed) <= 17 * MIB
