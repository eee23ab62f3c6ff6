"""A follower whose process dies right after truncations: its root's checkpoint files claim nothing that was cut."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from epoch import TruncationProtocol
from epoch.filesystem import FileSystem
from logstore import LogDirectory, Record, TopicPartition
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS
from logstore.log.log import Log
from replication.cluster.fetcher.decisions.fetch_rules import FetchRules
from replication.cluster.fetcher.fetcher import Fetcher
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from tests.replication.cluster.fetcher.drive import CONFIG, catch_up, open_log
from tests.replication.cluster.fetcher.leader import Leader

PARTITIONS = [TopicPartition("orders", number) for number in range(6)]
COMMON, ONLY_HERE, NEW = 20, 15, 3
REPLICA = FetchIdentity(5, 77)
WAYS = {
    "a mirror asks for epochs": FetcherSettings(),
    "a replica is told as it fetches": FetcherSettings(identity=REPLICA),
    "a follower knows no epochs": FetcherSettings(
        rules=FetchRules(TruncationProtocol.HIGH_WATERMARK, truncate_on_fetch=False)
    ),
}


class CountingDisk(FileSystem):
    """Counts the checkpoint files that are put in place."""

    written = 0

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self.written += target.name in OFFSET_CHECKPOINTS


def write(log: Log, records: int, epoch: int) -> None:
    for number in range(records):
        log.append([Record(0, 1_700_000_000_000, None, b"%d" % number)], leader_epoch=epoch)


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[Leader]:
    """It has what was common, and a few records of a later epoch."""
    with ExitStack() as stack:
        leader = Leader()
        for partition in PARTITIONS:
            log = stack.enter_context(open_log(tmp_path / "leader", partition))
            write(log, COMMON, 0)
            write(log, NEW, 2)
            log.update_high_watermark(log.log_end_offset)
            leader.lead(partition, log, 2)
        yield leader


@pytest.mark.parametrize("settings", WAYS.values(), ids=WAYS)
def test_all_that_are_cut_by_one_answer_cost_one_write_and_none_lacks_anything_after_a_crash(
    tmp_path: Path, leader: Leader, settings: FetcherSettings
) -> None:
    disk = CountingDisk()
    directory = LogDirectory.open(tmp_path / "follower", CONFIG, replicated=True, filesystem=disk)
    directory.create_many(dict.fromkeys(PARTITIONS))
    for partition in PARTITIONS:
        log = directory.log(partition)
        write(log, COMMON, 0)
        log.update_high_watermark(log.log_end_offset)
        write(log, ONLY_HERE, 1)
        log.flush()
    directory.checkpoint()
    directory.checkpoint_high_watermarks()
    disk.written = 0
    fetcher = Fetcher(settings)
    for partition in PARTITIONS:
        fetcher.follow(partition, directory.log(partition), 2)
    for partition in PARTITIONS:
        catch_up(fetcher, leader, partition, to=COMMON + NEW)
    assert disk.written == 1, "the recovery points, once; no high watermark was cut"
    directory.abandon()
    with LogDirectory.open(tmp_path / "follower", CONFIG, replicated=True) as directory:
        assert not directory.shortfalls
        assert {directory.log(each).log_end_offset for each in PARTITIONS} == {COMMON + NEW}
