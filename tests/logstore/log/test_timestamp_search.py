"""The first record that is not before a time, whatever the batches are like: against a look at all records."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.errors import CorruptRecordError
from logstore.log import timestamp_search
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.disk import Unsynced
from tests.logstore.batches import batch, record

TEMPLATES = st.builds(
    BatchTemplate,
    codec=st.sampled_from([Codec.NONE, Codec.NONE, Codec.NONE, Codec.GZIP]),
    append_timestamp=st.none() | st.none() | st.integers(0, 60),
    leader_epoch=st.just(0),
)
BATCHES = st.lists(st.tuples(st.lists(st.integers(0, 60), min_size=1, max_size=4), TEMPLATES), max_size=8)
IN_PLAIN_PYTHON, COMPILED = 1 << 40, 0


def log_of(directory: Path, batches: list[tuple[list[int], BatchTemplate]]) -> Log:
    """A log with an index entry for nearly every batch."""
    config = LogConfig(index_interval_bytes=150, segment_bytes=600)
    log = Log.open(directory / "t-0", config, filesystem=Unsynced())
    for timestamps, template in batches:
        records = [Record.of(b"", timestamp=timestamp) for timestamp in timestamps]
        at = BatchTemplate(log.log_end_offset, 0, template.codec, append_timestamp=template.append_timestamp)
        log.append_batches(encode_batch(records, at))
    return log


@pytest.mark.parametrize("bulk_bytes", [IN_PLAIN_PYTHON, COMPILED])
@settings(max_examples=60, deadline=None)
@given(batches=BATCHES, timestamp=st.integers(0, 61), start=st.integers(0, 12))
def test_the_first_record_not_before_a_time_is_found(
    tmp_path_factory: pytest.TempPathFactory,
    bulk_bytes: int,
    batches: list[tuple[list[int], BatchTemplate]],
    timestamp: int,
    start: int,
) -> None:
    with (
        pytest.MonkeyPatch.context() as patch,
        log_of(tmp_path_factory.mktemp("log"), batches) as log,
    ):
        patch.setattr(timestamp_search, "BULK_BYTES", bulk_bytes)
        log.update_high_watermark(log.log_end_offset)
        log.delete_records(min(start, log.log_end_offset))
        records = [
            (record.timestamp, record.offset, 0)
            for segment in log.segments
            for each in segment.batches()
            for record in each.records()
            if record.offset >= log.log_start_offset and record.timestamp >= timestamp
        ]
        assert log.offset_for_timestamp(timestamp) == (records[0] if records else None)


@pytest.mark.parametrize("bulk_bytes", [IN_PLAIN_PYTHON, COMPILED])
def test_records_that_cannot_be_read_are_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bulk_bytes: int
) -> None:
    monkeypatch.setattr(timestamp_search, "BULK_BYTES", bulk_bytes)
    with log_of(tmp_path, []) as log:
        log.append_batches(batch(records=[record(length=90)], max_timestamp=40))
        assert log.offset_for_timestamp(41) is None
        with pytest.raises(CorruptRecordError, match=r"00000000000000000000\.log.*position 0"):
            log.offset_for_timestamp(40)


def later_and_later(first: int, end: int) -> bytes:
    """Batches of one record each, whose timestamps are their offsets."""
    return b"".join(
        encode_batch([Record.of(b"value", timestamp=offset)], BatchTemplate(offset, 0)) for offset in range(first, end)
    )


class TestFullTimeIndex:
    """The last entry tells after a start what the latest time is: without it, lookups and retention go wrong."""

    def test_what_one_append_of_many_batches_adds_is_found_after_a_start(self, tmp_path: Path) -> None:
        config = LogConfig(segment_index_bytes=60, index_interval_bytes=0)
        with Log.open(tmp_path / "t-0", config) as log:
            log.append_batches(later_and_later(0, 10))
        with Log.open(tmp_path / "t-0", config) as log:
            assert log.offset_for_timestamp(9) == (9, 9, 0)
            assert log.segments[0].time_index.entries == [(1, 1), (2, 2), (3, 3), (4, 4), (9, 9)]

    def test_what_a_truncation_leaves_is_found_after_a_start_where_the_limit_was_lowered(self, tmp_path: Path) -> None:
        with Log.open(tmp_path / "t-0", LogConfig(segment_index_bytes=600, index_interval_bytes=100)) as log:
            log.append_batches(later_and_later(0, 14))
        lowered = LogConfig(segment_index_bytes=24, index_interval_bytes=100)
        with Log.open(tmp_path / "t-0", lowered) as log:
            log.truncate_to(10)
            [segment] = log.segments
            assert segment.time_index.last < segment.largest == (9, 9)
        with Log.open(tmp_path / "t-0", lowered) as log:
            assert log.offset_for_timestamp(9) == (9, 9, 0)
