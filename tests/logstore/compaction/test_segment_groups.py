"""Neighbouring segments are merged as far as they surely fit into one."""

from pathlib import Path

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.compaction.segment_groups import group_segments
from logstore.log.log import Log
from logstore.log_config import LogConfig

FARTHEST = 2**31 - 1


def groups(directory: Path, offsets: list[int], end: int, segment_bytes: int = 1 << 20) -> list[int]:
    """How many segments go into each group, of segments with one batch of 100 bytes at each of these offsets."""
    with Log.open(directory / "t-0", LogConfig(index_interval_bytes=0)) as log:
        for offset in offsets:
            log.roll()
            template = BatchTemplate(base_offset=offset, leader_epoch=0)
            log.append_batches(encode_batch([Record.of(bytes(32), timestamp=0)], template))
            assert log.segments[-1].size == 100
        return [len(group) for group in group_segments(log.segments, end, LogConfig(segment_bytes=segment_bytes))]


def test_their_bytes_fit(tmp_path: Path) -> None:
    assert groups(tmp_path, [*range(7)], 7, segment_bytes=300) == [3, 3, 1]


def test_one_that_is_too_large_stands_alone(tmp_path: Path) -> None:
    assert groups(tmp_path, [*range(3)], 3, segment_bytes=50) == [1, 1, 1]


def test_their_offsets_fit(tmp_path: Path) -> None:
    assert groups(tmp_path, [0, 5, FARTHEST], FARTHEST + 1) == [3]


def test_offsets_that_are_too_far_apart_are_parted(tmp_path: Path) -> None:
    assert groups(tmp_path, [0, 5, FARTHEST + 1], FARTHEST + 2) == [2, 1]
