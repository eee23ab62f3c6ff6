"""An only copy with a batch under a wrong offset, which no checksum covers: no record is read at another's offset."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from logstore.batch.record import Record
from logstore.errors import DamagedLogError, HoleError
from logstore.files.only_copy.offset_gaps import Hole
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile

DENSE = LogConfig(segment_bytes=500, index_interval_bytes=100, retention_ms=-1)
COMPACTED = LogConfig(
    segment_bytes=500, index_interval_bytes=100, retention_ms=-1, cleanup_policy=frozenset({"compact"})
)
SIZES = (1, 3, 2, 1, 2, 3, 1, 2, 2, 3, 1, 2)
OLD = (1, 2, 4, 6, 8, 12, 15, 19)
"""Offsets whose keys have later values: 6 and 12 are batches of their own."""


def made(directory: Path, config: LogConfig) -> dict[int, bytes | None]:
    """Make a log of several segments; return its records."""
    with Log.open(directory, config) as log:
        for size in SIZES:
            end = log.log_end_offset
            keys = (b"old" if offset in OLD else b"%d" % offset for offset in range(end, end + size))
            log.append([Record.of(b"record %d" % (end + each), key=key) for each, key in enumerate(keys)])
        log.append([Record.of(b"latest", key=b"old")])
        log.flush()
        if config.is_compacted:
            log.compact()
        assert len(log.segments) > 2
        return {record.offset: record.value for record in log.records()}


def moved(directory: Path, copies: Path) -> Iterator[tuple[Path, range]]:
    """Give copies of a log with one flipped bit in the offset of a batch, and which offsets that batch had."""
    for path in sorted(directory.glob("*.log")):
        with LogFile.open(path) as segment:
            batches = [(each.position, range(each.base_offset, each.last_offset + 1)) for each in segment.batches()]
        for position, offsets in batches:
            for bit in (0, 1, 2, 3, 40):
                copy = copies / f"{path.stem}-{position}-{bit}" / directory.name
                shutil.copytree(directory, copy)
                data = bytearray(path.read_bytes())
                data[position : position + 8] = (offsets.start ^ 1 << bit).to_bytes(8)
                (copy / path.name).write_bytes(data)
                yield copy, offsets


def read(log: Log) -> dict[int, bytes | None]:
    """Read all that can be read, as one who is told of each hole, and see that no offset goes back."""
    found: dict[int, bytes | None] = {}
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        hole_at = offset
        try:
            for record in log.records(offset):
                assert record.offset >= offset
                offset = record.offset + 1
                found[record.offset] = record.value
            break
        except HoleError as hole:
            offset = hole.next_offset
        assert offset > hole_at
    return found


def test_in_a_log_without_gaps_it_alone_is_set_aside(tmp_path: Path) -> None:
    records = made(tmp_path / "t-0", DENSE)
    for copy, offsets in moved(tmp_path / "t-0", tmp_path / "copies"):
        with Log.open(copy, DENSE, damage="hole", check_all=True) as log:
            [hole] = log.holes
            assert (hole.start_offset, hole.end_offset) == (offsets.start, offsets.stop)
            assert read(log) == {offset: value for offset, value in records.items() if offset not in offsets}


def test_in_a_compacted_log_it_is_with_its_neighbour_where_either_may_be_right(tmp_path: Path) -> None:
    """One that moves within its gap contradicts nobody, and is not noticed."""
    records, unnoticed, count = made(tmp_path / "t-0", COMPACTED), 0, 0
    for copy, _ in moved(tmp_path / "t-0", tmp_path / "copies"):
        count += 1
        try:
            Log.open(copy, COMPACTED, check_all=True).close()
        except DamagedLogError:
            with Log.open(copy, COMPACTED, damage="hole", check_all=True) as log:
                told = [range(hole.start_offset, hole.end_offset) for hole in log.holes]
                left = {each: value for each, value in records.items() if not any(each in hole for hole in told)}
                assert read(log) == left, copy
        else:
            unnoticed += 1
    assert unnoticed < count // 5


def test_in_a_compacted_log_it_is_alone_where_it_reaches_beyond_two_others(tmp_path: Path) -> None:
    made(tmp_path / "t-0", COMPACTED)
    path = tmp_path / "t-0" / "00000000000000000000.log"
    with LogFile.open(path) as segment:
        _, wrong, *behind = ((each.position, each.base_offset) for each in segment.batches())
    assert (wrong[1], [offset for _, offset in behind]) == (1, [4, 7])
    data = bytearray(path.read_bytes())
    data[wrong[0] + 7] = 5
    path.write_bytes(data)
    with Log.open(path.parent, COMPACTED, damage="hole", check_all=True) as log:
        assert log.holes == (Hole(1, 4),)
