"""At whatever step a crash falls, the file that is left and the log together give the right history."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from epoch import EpochHistory, LeaderEpochCheckpoint, LeaderEpochFileCache
from epoch.checkpoint import parse_checkpoint_lines
from tests.epoch.disk import CrashingDisk

DIRECTORY = Path("t-0")


class CrashingPartition:
    """A log that is never lost, and beside it a cache whose disk may crash at any step.

    The log is changed before the cache when it shrinks and after it when it grows, as Kafka does.
    """

    def __init__(self) -> None:
        self.disk = CrashingDisk()
        self.checkpoint = LeaderEpochCheckpoint(DIRECTORY, self.disk)
        self.cache = LeaderEpochFileCache(checkpoint=self.checkpoint)
        self.batches: list[tuple[int, int]] = []
        self.start = 0
        self.end = 0
        self.recoveries = 0
        self.disk.watchers.append(self.check_every_crash)

    def append(self, epochs_later: int, count: int) -> None:
        epoch = (self.batches[-1][0] if self.batches else 0) + epochs_later
        for _ in range(count):
            self.cache.assign(epoch, self.end)
            self.batches.append((epoch, self.end))
            self.end += 5
            self.check_every_crash()

    def truncate(self, back: int) -> None:
        self.end = max(self.start, self.end - back)
        self.batches = [batch for batch in self.batches if batch[1] < self.end]
        self.check_every_crash()
        self.cache.truncate_to(self.end)
        self.check_every_crash()

    def delete_records(self, forward: int) -> None:
        self.start = min(self.end, self.start + forward)
        self.cache.truncate_from_start(self.start)
        self.check_every_crash()

    def flush(self) -> None:
        self.cache.flush()
        self.check_every_crash()

    def check_every_crash(self) -> None:
        truth = self.readable(EpochHistory.from_batches(self.batches))
        for data in self.disk.after_crash(self.checkpoint.path):
            rows = parse_checkpoint_lines(data or b"", path=self.checkpoint.path, fields=2)
            found = EpochHistory(tuple(map(int, row.fields)) for row in rows)
            for scanned in (self.batches, []):
                recovered = found.reconcile(scanned, log_start_offset=self.start, log_end_offset=self.end)
                assert self.readable(recovered) == truth
                self.recoveries += 1

    def readable(self, history: EpochHistory) -> EpochHistory:
        """Who led the records that can be read; a log whose records are all deleted may or may not have an entry."""
        return history.truncate_from_start(self.start).truncate_to(self.end)


STEPS = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 3)),
    st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 3)),
    st.tuples(st.just("truncate"), st.integers(1, 30)),
    st.tuples(st.just("delete_records"), st.integers(1, 20)),
    st.tuples(st.just("flush")),
)


@settings(max_examples=150)
@given(st.lists(STEPS, min_size=1, max_size=12))
def test_recovery_completes_whatever_a_crash_leaves(steps: list[tuple[str, *tuple[int, ...]]]) -> None:
    partition = CrashingPartition()
    for action, *arguments in steps:
        getattr(partition, action)(*arguments)
    assert partition.recoveries > 0


def test_a_tail_of_the_log_that_the_crash_took_is_forgotten() -> None:
    history = EpochHistory([(1, 0), (2, 10), (3, 20)])
    found = history.reconcile([(1, 0), (2, 10)], log_start_offset=0, log_end_offset=15)
    assert found.entries == [(1, 0), (2, 10)]
