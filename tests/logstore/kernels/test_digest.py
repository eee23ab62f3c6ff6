"""Digests: the same as in plain Python, whatever the order, and others for whatever differs."""

import struct
from dataclasses import fields, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.errors import CorruptRecordError
from logstore.kernels.batch_digest import FIELDS, FIRST_SUM, RANGE, SECOND_SUM, digest, joined
from logstore.kernels.column_scan import scan
from logstore.kernels.decode import decode
from logstore.kernels.digest import FIRST_SEED, SECOND_SEED, digest_contents, digest_keys
from tests.logstore.batches import batch, log, record
from tests.logstore.kernels.guarded import guarded
from tests.logstore.kernels.sizes import EXAMPLES as ALL_EXAMPLES
from tests.logstore.kernels.strategies import SOUND_BATCHES

EXAMPLES = ALL_EXAMPLES // 4
WORD = 2**64
BITS = 16


def mixed(value: int) -> int:
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % WORD
    value = (value ^ value >> 27) * 0x94D049BB133111EB % WORD
    return value ^ value >> 31


def digest_in_python(columns: BatchColumns) -> list[list[int]]:
    """Runs as `digest` gives them."""
    runs: list[list[int]] = []
    for row, number in enumerate(offset >> BITS for offset in columns.base_offset.tolist()):
        delta = int(columns.last_offset[row] - columns.base_offset[row])
        first, second = int(FIRST_SEED), int(SECOND_SEED)
        for value in (
            int(columns.base_offset[row]),
            (delta << 32) % WORD ^ int(columns.leader_epoch[row]) % WORD,
            (int(columns.size[row]) << 8) % WORD ^ int(columns.magic[row]) % WORD,
            (int(columns.record_count[row]) << 32) % WORD ^ int(columns.crc[row]),
        ):
            first, second = mixed(first ^ value), mixed((second + value) % WORD)
        base, last = int(columns.base_offset[row]), int(columns.last_offset[row])
        added = [number, first, second, 1, int(columns.record_count[row]), int(columns.size[row]), base, last]
        if runs and runs[-1][RANGE] == number:
            added = joined_in_python(runs.pop(), added)
        runs.append(added)
    return [[number, signed(first), signed(second), *rest] for number, first, second, *rest in runs]


def joined_in_python(row: list[int], other: list[int]) -> list[int]:
    sums = [(one + another) % WORD for one, another in zip(row[FIRST_SUM:6], other[FIRST_SUM:6], strict=True)]
    return [row[RANGE], *sums, min(row[6], other[6]), max(row[7], other[7])]


def signed(value: int) -> int:
    return (value + WORD // 2) % WORD - WORD // 2


def bytes_in_python(content: bytes | None, seed: int) -> int:
    length = -1 if content is None else len(content)
    content = content or b""
    digested = mixed(seed ^ length % WORD)
    whole = len(content) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", content[:whole]):
        digested = mixed(digested ^ word)
    return mixed(digested ^ int.from_bytes(content[whole:]))


def part(records: RecordColumns, start: int, length: int) -> bytes | None:
    return None if length < 0 else bytes(records.data[start : start + length])


@settings(max_examples=EXAMPLES)
@given(st.lists(SOUND_BATCHES, min_size=1, max_size=6))
def test_batches_are_digested_as_in_plain_python(batches: list[bytes]) -> None:
    columns = scan(guarded(b"".join(batches)), check_crc=False)
    assert digest(columns, BITS).tolist() == digest_in_python(columns)


@settings(max_examples=EXAMPLES)
@given(st.lists(st.lists(SOUND_BATCHES, min_size=1, max_size=4), max_size=4))
def test_parts_are_joined_by_range(parts: list[list[bytes]]) -> None:
    every = [scan(guarded(b"".join(part)), check_crc=False) for part in parts]
    rows = [row for columns in every for row in digest_in_python(columns)]
    expected: dict[int, list[int]] = {}
    for row in rows:
        known = expected.get(row[RANGE])
        expected[row[RANGE]] = joined_in_python(known, row) if known else row
    ranges = np.array(rows, np.int64).reshape(-1, len(FIELDS))
    found = [[number, signed(first), signed(second), *rest] for number, first, second, *rest in joined(ranges).tolist()]
    assert found == [
        [number, signed(first), signed(second), *rest]
        for number, first, second, *rest in (expected[number] for number in sorted(expected))
    ]


@settings(max_examples=EXAMPLES)
@given(st.lists(SOUND_BATCHES, min_size=1, max_size=4))
def test_records_are_digested_as_in_plain_python(batches: list[bytes]) -> None:
    data = guarded(b"".join(batches))
    try:
        records = decode(data, scan(data, check_crc=False))
    except CorruptRecordError:
        return
    firsts, seconds = digest_keys(records)
    contents = digest_contents(records)
    for row in range(len(records)):
        key = part(records, int(records.key_start[row]), int(records.key_length[row]))
        value = part(records, int(records.value_start[row]), int(records.value_length[row]))
        assert firsts[row] == bytes_in_python(key, int(FIRST_SEED))
        assert seconds[row] == bytes_in_python(key, int(SECOND_SEED))
        seed = mixed(int(FIRST_SEED) ^ int(records.timestamp[row]) % WORD)
        assert contents[row] == bytes_in_python(value, bytes_in_python(key, seed))


def test_every_field_that_counts_changes_the_digest() -> None:
    columns = scan(np.frombuffer(log(3), np.uint8), check_crc=True)
    [known] = digest(columns, BITS)
    counting = {"base_offset", "last_offset", "leader_epoch", "size", "magic", "crc", "record_count"}
    for field in fields(BatchColumns)[:-2]:
        changed = getattr(columns, field.name).copy()
        changed[1] ^= 1
        [other] = digest(replace(columns, **{field.name: changed}), BITS)
        for each in FIRST_SUM, SECOND_SUM:
            assert (known[each] == other[each]) == (field.name not in counting)


def test_every_part_of_a_record_changes_its_digest() -> None:
    parts = [
        {},
        {"timestamp_delta": 1},
        {"key": b""},
        {"key": b"k"},
        {"value": None},
        {"value": b"12345678"},
        {"value": b"123456789"},
        {"headers": [(b"h", None)]},
        {"headers": [(b"h", b"")]},
        {"key": b"kv", "value": b""},
        {"key": b"k", "value": b"v"},
    ]
    encoded = [record(offset_delta=number, **each) for number, each in enumerate(parts)]  # type: ignore[arg-type]
    data = np.frombuffer(batch(records=encoded), np.uint8)
    contents = digest_contents(decode(data, scan(data, check_crc=True)))
    assert len(set(contents.tolist())) == len(parts)
