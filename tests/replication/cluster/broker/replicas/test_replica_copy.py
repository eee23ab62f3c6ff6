"""A copy of a log becomes what the log is, whatever happens to the log meanwhile."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from epoch import EpochHistory
from logstore import Log, LogConfig, Record
from replication.cluster.broker.replicas.replica_copy import agreed_end, copy_step, finish_copy

CONFIG = LogConfig(segment_bytes=400, retention_ms=-1)


class Source:
    """A log as replicas have it: what is truncated was not committed, and comes anew in a later epoch only."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.epoch = 0
        self.ends = [0]
        self.written = 0

    def append(self, count: int) -> None:
        for _ in range(count):
            self.written += 1
            info = self.log.append([Record.of(b"%d" % self.written)] * (1 + self.written % 3), leader_epoch=self.epoch)
            self.ends.append(info.last_offset + 1)

    def commit(self, back: int) -> None:
        self.log.update_high_watermark(max(self.log.high_watermark, self.end(back)))

    def truncate(self, back: int) -> None:
        self.log.truncate_to(max(self.end(back), self.log.high_watermark))
        self.ends = [end for end in self.ends if end <= self.log.log_end_offset]
        self.epoch += 1

    def lead(self, skipped: int) -> None:
        self.epoch += skipped
        self.log.assign_epoch(self.epoch, self.log.log_end_offset)

    def delete(self, back: int) -> None:
        before = min(self.end(back) - back % 2, self.log.high_watermark)
        if before > self.log.log_start_offset:
            self.log.delete_records(before)
            self.log.delete_old_segments()

    def end(self, back: int) -> int:
        return self.ends[-1 - min(back, len(self.ends) - 1)]


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "commit", "truncate", "lead", "delete", "copy"]), st.integers(0, 12)),
    min_size=8,
    max_size=40,
)


@settings(max_examples=60)
@given(STEPS)
@example([("append", 5), ("copy", 0), ("truncate", 3), ("append", 6)])
@example([("append", 2), ("commit", 0), ("delete", 1)])
@example([("append", 9), ("commit", 2), ("delete", 4), ("copy", 0), ("commit", 0), ("delete", 1), ("append", 1)])
@example([("append", 1), ("commit", 0), ("copy", 0), ("delete", 0), ("truncate", 0)])
def test_it_holds_the_same_in_the_end(steps: list[tuple[str, int]]) -> None:
    with (
        TemporaryDirectory() as place,
        Log.open(Path(place, "source-0"), CONFIG, replicated=True) as log,
        Log.open(Path(place, "copy-0"), CONFIG, replicated=True) as copy,
    ):
        source = Source(log)
        for step, number in steps:
            if step == "copy":
                copy_step(log, copy)
            else:
                getattr(source, step)(number)
        finish_copy(log, copy)
        assert (copy.log_end_offset, copy.high_watermark) == (log.log_end_offset, log.high_watermark)
        assert copy.log_start_offset == log.log_start_offset
        assert list(copy.records()) == list(log.records())
        known = log.epochs.history.truncate_from_start(log.log_start_offset)
        assert copy.epochs.history.truncate_from_start(copy.log_start_offset) == known
        assert copy.append([b"next"], leader_epoch=source.epoch).first_offset == log.log_end_offset


def test_it_agrees_up_to_where_the_latest_common_epoch_ends_first() -> None:
    history = EpochHistory([(0, 0), (2, 10), (5, 20)])
    assert agreed_end(history, 30, history, 25) == 25
    assert agreed_end(history, 30, EpochHistory([(0, 0), (2, 10)]), 24) == 20
    assert agreed_end(history, 30, EpochHistory([(0, 0), (3, 10)]), 24) == 10
    assert agreed_end(history, 30, EpochHistory([(7, 0)]), 24) == 0
    assert agreed_end(EpochHistory(), 7, EpochHistory(), 24) == 7
