"""A segment that is in use: zero tails, how many files are open at once, what goes when it is deleted."""

from dataclasses import replace
from pathlib import Path

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.segment.live_segment import LiveSegment
from logstore.segment.open_files import OpenFiles
from tests.open_files import open_files

CONFIG = LogConfig(segment_bytes=1_000, index_interval_bytes=0, segment_index_bytes=200)


def fill(log: Log, batches: int) -> None:
    for _ in range(batches):
        template = BatchTemplate(base_offset=log.log_end_offset, leader_epoch=0)
        log.append_batches(bytes(encode_batch([Record(0, log.log_end_offset, b"k", b"v" * 100)], template)))


def test_zeros_after_the_entries_count_for_nothing_and_are_cut_on_close(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        fill(log, 4)
        paths = [log.segments[0].offset_index.path, log.segments[0].time_index.path]
    written = [path.read_bytes() for path in paths]
    for path, content in zip(paths, written, strict=True):
        path.write_bytes(content + bytes(96))
    segment = LiveSegment.load(tmp_path / "t-0", 0, CONFIG)
    assert [len(segment.offset_index), len(segment.time_index)] == [3, 3]
    last_entry = segment.offset_index.entries[-1]
    assert [batch.last_offset + 1 for batch in segment.batches(last_entry.position)] == [4]
    segment.close()
    assert [path.read_bytes() for path in paths] == written


def test_no_more_files_are_open_than_the_limit_allows(tmp_path: Path) -> None:
    limited = OpenFiles(3)
    log = Log.open(tmp_path / "t-0", CONFIG, open_files=limited)
    fill(log, 60)
    before = len(open_files(tmp_path))
    for _ in range(3):
        for segment in log.segments:
            assert log.read(segment.base_offset, 10_000).data
    assert len(log.segments) > 6
    assert len(limited) == 3
    assert len(open_files(tmp_path)) <= before + 2 * 3
    fill(log, 1)
    log.close()
    assert len(limited) == 0


def test_every_index_entry_answers_as_a_walk_over_the_batches_does(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0", LogConfig(index_interval_bytes=300))
    fill(log, 50)
    segment = log.segments[0]
    batches = list(segment.batches())
    for batch in batches:
        assert segment.reader.locate(batch.base_offset, segment.size) == (batch.position, batch.size, batch.base_offset)
        for size in range(1, 900, 50):
            view = segment.reader.read(batch.base_offset, size, segment.size, min_one_batch=False)
            assert view is not None
            ends = [each.position + each.size for each in batches if each.position >= batch.position]
            whole = [end - batch.position for end in ends if end - batch.position <= size]
            assert len(view.data) == (whole[-1] if whole else 0)
    log.close()


def test_a_deleted_segment_takes_its_producer_snapshot_with_it(tmp_path: Path) -> None:
    now = 0
    config = replace(CONFIG, file_delete_delay_ms=10)
    with Log.open(tmp_path / "t-0", config, clock=lambda: now) as log:
        fill(log, 30)
        kept, *dropped = [segment.base_offset for segment in log.segments]
        snapshots = {f"{base:020}.snapshot" for base in dropped}
        assert snapshots <= names(log)
        log.truncate_to(kept + 1)
        assert not snapshots & names(log)
        assert {f"{name}.deleted" for name in snapshots} <= names(log)
        now = 10
        log.delete_old_segments()
        assert not [name for name in names(log) if name.endswith(".deleted")]


def names(log: Log) -> set[str]:
    return {path.name for path in log.directory.iterdir()}
