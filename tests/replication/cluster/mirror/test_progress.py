"""How far a mirror is as a whole."""

from dataclasses import replace

from logstore import TopicPartition
from replication.cluster.mirror.progress import Progress
from replication.cluster.mirror.status import PartitionStatus, Tally

ONE = PartitionStatus(TopicPartition("orders", 0), "fetching", "", 7, 0, 420, 400, 25, Tally(bytes=3_000_000))


def test_partitions_add_up() -> None:
    statuses = (ONE, replace(ONE, lag=0), replace(ONE, lag=None), replace(ONE, lag=None, failed=True))
    progress = Progress.of(statuses, 1_000)
    assert (progress.partitions, progress.failed, progress.lagging, progress.unknown, progress.lag) == (4, 1, 2, 1, 25)
    assert str(progress) == (
        "4 partitions, 12.0 MB copied, 0.0 MB/s, 1 behind by 25 offsets, 1 with unknown lag, 1 failed"
    )


def test_a_lag_that_is_not_known_is_not_called_none() -> None:
    progress = Progress.of([replace(ONE, lag=None), replace(ONE, lag=0)], 1_000)
    assert str(progress) == "2 partitions, 6.0 MB copied, 0.0 MB/s, 1 with unknown lag"


def test_the_rate_is_that_since_the_last_look() -> None:
    before = Progress.of([ONE], 1_000)
    later = Progress.of([replace(ONE, lag=0, tally=Tally(bytes=5_000_000, truncations=2))], 1_500, before)
    assert later.bytes_per_second == 4_000_000
    assert str(later) == "1 partition, 5.0 MB copied, 4.0 MB/s, caught up, 2 truncations"
    assert Progress.of([ONE], 1_000, before).bytes_per_second == 0
