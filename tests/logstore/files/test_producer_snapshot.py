"""ProducerSnapshot: what the log knew of its producers."""

import struct
from pathlib import Path

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.errors import CorruptSnapshotError
from logstore.files.producer_snapshot import ProducerSnapshot, ProducerStateEntry
from logstore.offline.log_file import LogFile
from tests.data.replicas import replicas

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
ENTRY = st.tuples(INT64, st.integers(-(2**15), 2**15 - 1), INT32, INT64, INT32, INT64, INT32, INT64)


def encode(entries: list[tuple[int, ...]], *, version: int = 1, count: int | None = None) -> bytes:
    body = struct.pack(">i", len(entries) if count is None else count)
    body += b"".join(struct.pack(">qhiqiqiq", *entry) for entry in entries)
    return struct.pack(">hI", version, crc32c.crc32c(body)) + body


@given(st.lists(ENTRY, max_size=10))
def test_entries_are_read_as_written(entries: list[tuple[int, ...]]) -> None:
    assert ProducerSnapshot.parse(encode(entries)).entries == tuple(ProducerStateEntry(*entry) for entry in entries)


@given(st.lists(ENTRY, max_size=3), st.data())
def test_any_flipped_bit_is_noticed(entries: list[tuple[int, ...]], data: st.DataObject) -> None:
    damaged = bytearray(encode(entries))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptSnapshotError):
        ProducerSnapshot.parse(bytes(damaged))


@pytest.mark.parametrize(
    "bad", [b"", encode([])[:9], encode([], version=2), encode([], count=1), encode([], count=-1), encode([]) + b"x"]
)
def test_what_is_no_snapshot_is_an_error_with_its_file(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "0.snapshot"
    path.write_bytes(bad)
    with pytest.raises(CorruptSnapshotError) as caught:
        ProducerSnapshot.read(path)
    assert caught.value.file == str(path)


@pytest.mark.parametrize("label", ["diverged", "reconciled", "diverged-4.4.0", "reconciled-4.4.0"])
def test_the_replicas_snapshots_agree_with_the_batches_before_them(label: str) -> None:
    compared = 0
    for path in replicas(label).glob("*/txns-0/*.snapshot"):
        batches = [each for log in sorted(path.parent.glob("*.log")) for each in LogFile.open(log).batches()]
        for entry in ProducerSnapshot.read(path).entries:
            own = [
                each
                for each in batches
                if each.producer_id == entry.producer_id and each.last_offset < int(path.stem) and not each.is_control
            ]
            if entry.last_offset < 0 or not own:
                continue
            last = own[-1]
            assert entry.last_offset == last.last_offset
            assert entry.last_sequence == last.last_sequence
            assert entry.offset_delta == last.last_offset - last.base_offset
            assert entry.current_transaction_first_offset == -1
            compared += 1
    assert compared >= 6
