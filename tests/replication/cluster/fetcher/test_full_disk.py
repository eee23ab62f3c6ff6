"""A replica whose disk is full waits for space; a mirror, which somebody watches, fails."""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from logstore import Log, LogPoisonedError, Record, TopicPartition
from replication.cluster.fetcher.decisions.fetch_rules import REPLICA_RULES
from replication.cluster.fetcher.decisions.fetch_state import FetchState, Phase
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher import Fetcher
from replication.cluster.fetcher.fetcher_settings import FetcherSettings, FetchIdentity
from tests.disk import FailingDisk, Failure, Unsynced
from tests.replication.cluster.fetcher.drive import PARTITION, assert_follows, batches, catch_up, exchange, open_log
from tests.replication.cluster.fetcher.leader import Leader

OTHER = TopicPartition("orders", 1)
REPLICA, MIRROR = FetcherSettings(identity=FetchIdentity(5, 77)), FetcherSettings()
BACK_OFF = REPLICA_RULES.back_off_ms
MINUTE = 60_000


class FullDisk(Unsynced):
    """Has room for so many more writes."""

    room = 1 << 30
    number = errno.ENOSPC
    refusals = 0

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        if self.room == 0:
            self.refusals += 1
            raise OSError(self.number, os.strerror(self.number))
        self.room -= 1
        super().write(descriptor, data)


class Told(FetchObserver):
    """What has failed."""

    def __init__(self) -> None:
        self.failures: list[TopicPartition] = []

    def failed(self, partition: TopicPartition, _: FetchState) -> None:
        self.failures.append(partition)


class Scene:
    """A leader of two partitions, of which it has five batches each, and the logs on either side."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self.root, self.stack = root, stack
        self.leader = Leader()
        self.logs: dict[TopicPartition, Log] = {}
        (root / "leader").mkdir()
        for partition in (PARTITION, OTHER):
            log = stack.enter_context(
                Log.open(root / "leader" / str(partition), filesystem=Unsynced(), replicated=True)
            )
            write(log, 0, *(b"%d" % each for each in range(5)))
            self.leader.lead(partition, log, 0)
            self.logs[partition] = log

    def follow(self, fetcher: Fetcher, disk: FullDisk, partition: TopicPartition = PARTITION) -> Log:
        log = self.stack.enter_context(open_log(self.root / "follower", partition, disk))
        fetcher.follow(partition, log, 0)
        return log


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        yield Scene(tmp_path, stack)


def write(log: Log, epoch: int, *values: bytes) -> None:
    for value in values:
        log.append([Record(0, 1_700_000_000_000, None, value)], leader_epoch=epoch)
    log.update_high_watermark(log.log_end_offset)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_replica_waits_while_its_disk_is_full_and_goes_on_once_there_is_room_and_others_meanwhile(
    scene: Scene, number: int
) -> None:
    told, disk = Told(), FullDisk()
    fetcher = Fetcher(REPLICA, observer=told)
    log, other = scene.follow(fetcher, disk), scene.follow(fetcher, FullDisk(), OTHER)
    disk.room, disk.number = 0, number
    for now in range(0, MINUTE, BACK_OFF // 2):
        exchange(fetcher, scene.leader, now)
    assert disk.refusals == MINUTE // BACK_OFF, "tried once a second"
    assert (log.log_end_offset, other.log_end_offset) == (0, 5)
    state = fetcher.state(PARTITION)
    assert state is not None
    assert "make space" in state.reason
    disk.room = 100
    exchange(fetcher, scene.leader, MINUTE)
    assert_follows(log, scene.logs[PARTITION], 5)
    assert told.failures == []


def test_what_an_answer_has_brought_before_the_disk_was_full_stays(scene: Scene) -> None:
    """An answer is stored in parts where a segment does not take so much."""
    write(scene.logs[PARTITION], 0, *(bytes(900) for _ in range(6)))
    disk = FullDisk()
    fetcher = Fetcher(REPLICA)
    log = scene.follow(fetcher, disk)
    disk.room = 6
    exchange(fetcher, scene.leader)
    assert (0 < log.log_end_offset < 11, disk.refusals) == (True, 1)
    disk.room = 100
    catch_up(fetcher, scene.leader, to=11, wait_ms=BACK_OFF)
    assert_follows(log, scene.logs[PARTITION], 11)


def test_a_mirror_fails_on_a_full_disk_and_its_other_partitions_go_on(scene: Scene) -> None:
    told, disk = Told(), FullDisk()
    fetcher = Fetcher(MIRROR, observer=told)
    scene.follow(fetcher, disk)
    other = scene.follow(fetcher, FullDisk(), OTHER)
    disk.room = 0
    catch_up(fetcher, scene.leader, OTHER, to=5)
    assert other.log_end_offset == 5
    assert told.failures == [PARTITION]
    disk.room = 100


def test_a_replica_that_has_to_truncate_goes_on_after_any_step_that_found_no_space_unless_that_tore_its_log(
    tmp_path: Path, scene: Scene
) -> None:
    source = scene.logs[PARTITION]
    source.truncate_to(3)
    write(source, 2, *(b"%d of 2" % each for each in range(4)))
    scene.leader.lead(PARTITION, source, 2)
    outcomes: set[bool] = set()
    for step in range(1, 200):
        with ExitStack() as stack:
            root = tmp_path / str(step)
            with open_log(root) as before:
                for _, batch in batches(source, 0, 3):
                    before.append_batches(batch)
                write(before, 1, *(bytes(900) for _ in range(6)))
            disk = FailingDisk(1 << 30, Failure.FULL)
            log = open_log(root, disk=disk)
            stack.callback(log.abandon)
            fetcher = Fetcher(REPLICA)
            fetcher.follow(PARTITION, log, 2)
            disk.steps_left = step
            now = 0
            while now < 10 * BACK_OFF and log.log_end_offset != source.log_end_offset and log.failure is None:
                exchange(fetcher, scene.leader, now)
                now += BACK_OFF
            state = fetcher.state(PARTITION)
            assert state is not None
            is_torn = isinstance(log.failure, LogPoisonedError)
            assert (state.phase is Phase.FAILED) == is_torn, f"step {step}, {disk.failed}: {state}"
            if not disk.failed:
                break
            outcomes.add(is_torn)
            if not is_torn:
                assert_follows(log, source, 7)
    assert outcomes == {True, False}
