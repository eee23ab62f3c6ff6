"""A mirror of a leader in this process, which speaks Kafka's protocol and does to its logs what clusters do."""

import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from logstore import Log, LogConfig, LogDirectory, MetaProperties, Record, TopicPartition
from logstore.files.broker.kept_claims import read_claims
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.offline.offline_log_directory import open_offline
from logstore.verify import verify
from replication.base.metrics_server import MetricsServer
from replication.cluster.mirror.errors import ForeignDirectoryError, NoSuchPartitionsError, UnknownTopicError
from replication.cluster.mirror.events import Disconnected, Failed, LeaderChanged, Truncated, Waiting
from replication.cluster.mirror.metrics import MirrorMetrics
from replication.cluster.mirror.mirror import Mirror
from replication.cluster.mirror.mirror_settings import MirrorSettings
from tests.replication.cli.command import epochlog
from tests.replication.cluster.mirror.log_comparison import WrittenLog
from tests.replication.cluster.mirror.mirror_process import MirrorProcess
from tests.replication.cluster.mirror.wire_leader import WireLeader

ORDERS = TopicPartition("orders", 0)
SMALL = LogConfig(segment_bytes=4_000, index_interval_bytes=300, retention_ms=-1)
SECONDS = 120


@dataclass
class Scene:
    """A leader with logs of its own, and where a mirror of it goes."""

    root: Path
    leader: WireLeader
    open: ExitStack
    logs: dict[TopicPartition, Log] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)

    def make(self, partition: TopicPartition = ORDERS, *batches: tuple[int, int], leader_epoch: int = 0) -> Log:
        """Lead a new log with batches of (leader epoch, records)."""
        life = len(list(self.root.glob("leader-*")))
        directory = self.root / f"leader-{life}"
        directory.mkdir()
        log = self.logs[partition] = self.open.enter_context(
            Log.open(directory / str(partition), SMALL, replicated=True)
        )
        for epoch, records in batches:
            write(log, epoch, records)
        self.leader.lead(partition, log, leader_epoch)
        return log

    def settings(self, **changes: Any) -> MirrorSettings:
        settings = MirrorSettings(bootstrap=self.leader.bootstrap, topics=("orders",), log_dir=self.root / "copy")
        return replace(settings, metadata_max_age_ms=100, **changes)

    def mirror(self, **changes: Any) -> Mirror:
        return Mirror.open(self.settings(**changes), self.events.append)

    def told(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def copy(self, partition: TopicPartition = ORDERS) -> WrittenLog:
        return WrittenLog.read(self.root / "copy" / str(partition))

    def is_copied(self, partition: TopicPartition = ORDERS) -> bool:
        path = self.root / "copy" / str(partition)
        if not (path / "leader-epoch-checkpoint").exists():
            return False
        log = self.logs[partition]
        try:
            ours = self.copy(partition)
        except FileNotFoundError:  # the copy starts afresh just now
            return False
        theirs = WrittenLog.read(log.directory)
        start = max(ours.start, theirs.start)
        is_same = ours.between(start, ours.end) == theirs.between(start, log.high_watermark)
        return is_same and ours.end == log.high_watermark

    def wait(self, mirror: Mirror, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not condition():
            mirror.look_after()
            assert time.monotonic() < deadline, (self.events, mirror.statuses())
            time.sleep(0.02)


def write(log: Log, epoch: int, records: int) -> None:
    made = [Record(0, 1_700_000_000_000, b"key", b"%d-%d" % (epoch, number)) for number in range(records)]
    log.append(made, leader_epoch=epoch)
    log.update_high_watermark(log.log_end_offset)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as opened:
        yield Scene(tmp_path, opened.enter_context(WireLeader()), opened)


def test_what_is_there_and_what_comes_is_copied_byte_for_byte(scene: Scene) -> None:
    log = scene.make(ORDERS, (0, 5), (0, 7), (2, 3), leader_epoch=2)
    with scene.mirror() as mirror:
        scene.wait(mirror, mirror.has_caught_up)
        assert scene.is_copied()
        with scene.leader.held:
            write(log, 2, 9)
        # What is in the files already may not be counted yet.
        scene.wait(mirror, lambda: scene.is_copied() and mirror.statuses()[0].tally.bytes == log.size)
        (status,) = mirror.statuses()
        assert (status.log_end_offset, status.leader_epoch, status.failed) == (24, 2, False)
    assert scene.copy().history.entries == log.epochs.entries
    assert MetaProperties.read(scene.root / "copy" / "meta.properties").cluster_id == "wire"
    known = PartitionMetadata.read(scene.root / "copy" / "orders-0" / PARTITION_METADATA_NAME)
    assert known.topic_id == scene.leader.topic_ids["orders"]
    assert [each for each in verify(open_offline(scene.root / "copy")) if each.severity.needs_attention] == []


def test_it_goes_on_where_it_stopped(scene: Scene) -> None:
    log = scene.make(ORDERS, (0, 5), (1, 7), leader_epoch=1)
    for _ in range(3):
        with scene.mirror() as mirror:
            scene.wait(mirror, mirror.has_caught_up)
        assert scene.is_copied()
        write(log, 1, 4)
    with scene.mirror() as mirror:
        scene.wait(mirror, mirror.has_caught_up)
        (status,) = mirror.statuses()
        assert 0 < status.tally.bytes < log.size
    assert scene.told(Truncated) == []


def test_an_unclean_election_truncates_the_copy_and_what_went_is_kept(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5), (0, 5), (1, 4), leader_epoch=1)
    with scene.mirror(keep_truncated=scene.root / "kept") as mirror:
        scene.wait(mirror, scene.is_copied)
        lost = scene.copy().between(5, 14)
        with scene.leader.held:
            # This one never had epoch 1, nor the second batch.
            scene.make(ORDERS, (0, 5), (2, 3), leader_epoch=2)
        scene.wait(mirror, scene.is_copied)
    (event,) = scene.told(Truncated)
    assert (event.cut.offset, event.cut.log_end_offset, event.removed.records) == (5, 14, 9)
    assert event.cut.is_below_high_watermark
    assert event.kept.read_bytes() == lost
    assert event.kept.name.startswith("00000000000000000005-epoch2-")
    assert [(each.leader_epoch, each.log_end_offset) for each in scene.told(LeaderChanged)] == [(2, 14)]


def test_what_was_committed_before_a_crash_counts_as_lost_too(scene: Scene) -> None:
    log = scene.make(ORDERS, (0, 5), (1, 4), leader_epoch=1)
    with scene.mirror() as mirror:
        scene.wait(mirror, mirror.has_caught_up)
    # As a crash leaves it, where the last checkpoint is of before.
    (scene.root / "copy" / HIGH_WATERMARK_CHECKPOINT).write_text("0\n1\norders 0 5\n")
    (scene.root / "copy" / CLEAN_SHUTDOWN_NAME).unlink()
    log.close()
    scene.make(ORDERS, (0, 5), (2, 3), leader_epoch=2)
    with scene.mirror() as mirror:
        scene.wait(mirror, scene.is_copied)
    (event,) = scene.told(Truncated)
    assert (event.removed.records, event.cut.is_below_high_watermark) == (4, True)


def test_what_a_copy_has_lost_is_missed_until_it_holds_what_its_leader_has(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5), (1, 4), leader_epoch=1)
    with scene.mirror() as mirror:
        scene.wait(mirror, mirror.has_caught_up)
    # As a loss of power leaves it, of what was never flushed. An election was unclean meanwhile.
    copy = scene.root / "copy"
    (copy / CLEAN_SHUTDOWN_NAME).unlink()
    (copy / HIGH_WATERMARK_CHECKPOINT).write_text("0\n1\norders 0 50\n")
    scene.make(ORDERS, (0, 5), (2, 3), leader_epoch=2)
    LogDirectory.open(copy, replicated=True).abandon()
    assert read_claims(copy)[ORDERS].end == 50
    with scene.mirror() as mirror:
        scene.wait(mirror, scene.is_copied)
        scene.wait(mirror, lambda: not read_claims(copy))
    assert [each.kind for each in verify(open_offline(copy)) if each.kind == "short-of-claims"] == []


def test_a_truncation_whose_records_cannot_be_kept_does_not_happen(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5), (1, 4), leader_epoch=1)
    other = TopicPartition("orders", 1)
    scene.make(other, (1, 3), leader_epoch=1)
    with scene.mirror(keep_truncated=scene.root / "kept") as mirror:
        (scene.root / "kept").write_text("a file where a directory should be")
        scene.wait(mirror, lambda: scene.is_copied() and scene.is_copied(other))
        before = scene.copy()
        with scene.leader.held:
            scene.make(ORDERS, (0, 5), (2, 3), leader_epoch=2)
        scene.wait(mirror, lambda: ORDERS in mirror.failed)
        assert scene.copy() == before
        with scene.leader.held:
            write(scene.logs[other], 1, 4)
        scene.wait(mirror, lambda: scene.is_copied(other))
        assert list(mirror.failed) == [ORDERS]
        assert "kept" in mirror.failed[ORDERS]
        assert not mirror.has_nothing_left()
    assert [event.partition for event in scene.told(Failed)] == [ORDERS]


def test_a_copy_that_the_leaders_retention_has_overtaken_starts_afresh(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5))
    with scene.mirror() as mirror:
        scene.wait(mirror, scene.is_copied)
    log = scene.make(ORDERS, *((0, 5) for _ in range(200)))
    log.delete_records(900)
    log.delete_old_segments()
    first = log.segments[0].base_offset
    assert first > 5
    with scene.mirror(keep_truncated=scene.root / "kept") as mirror:
        scene.wait(mirror, lambda: scene.is_copied() and mirror.statuses()[0].log_start_offset == 900)
    (event,) = scene.told(Truncated)
    assert (event.cut.starts_afresh, event.removed.records) == (True, 5)


def test_the_copys_start_follows_the_leaders(scene: Scene) -> None:
    log = scene.make(ORDERS, *((0, 5) for _ in range(20)))
    with scene.mirror() as mirror:
        scene.wait(mirror, scene.is_copied)
        with scene.leader.held:
            log.delete_records(42)
            write(log, 0, 1)
        scene.wait(mirror, lambda: mirror.statuses()[0].log_start_offset == 42)


def test_partitions_that_are_added_are_followed_too_unless_some_were_chosen(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5))
    added = TopicPartition("orders", 1)
    with scene.mirror() as all_of_them, scene.mirror(partitions=frozenset({0}), log_dir=scene.root / "some") as some:
        scene.wait(all_of_them, scene.is_copied)
        scene.make(added, (0, 3))
        scene.wait(all_of_them, lambda: scene.is_copied(added))
        some.look_after()
        assert [each.partition for each in some.statuses()] == [ORDERS]


def test_a_pattern_stands_for_the_topics_that_match_it(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5))
    scene.make(TopicPartition("payments", 0), (0, 5))
    with scene.mirror(topics=("ord*", "orders")) as mirror:
        assert [each.partition for each in mirror.statuses()] == [ORDERS]
    with pytest.raises(UnknownTopicError, match=r"there is no topic 'nothing\*'"):
        scene.mirror(topics=("nothing*",))


def test_a_topic_that_was_created_again_is_not_mixed_with_the_one_before(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5))
    with scene.mirror() as mirror:
        scene.wait(mirror, scene.is_copied)
        before = scene.copy()
        scene.leader.recreate("orders")
        scene.wait(mirror, mirror.has_nothing_left)
        assert "created again" in mirror.failed[ORDERS]
        time.sleep(0.2)
        mirror.look_after()
        assert len(scene.told(Failed)) == 1
    with scene.mirror() as mirror:
        scene.wait(mirror, mirror.has_caught_up)
        assert "created again" in mirror.failed[ORDERS]
    assert scene.copy() == before


def test_it_tells_once_that_a_topic_is_gone(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5))
    with scene.mirror(patience_ms=0) as mirror:
        scene.wait(mirror, scene.is_copied)
        scene.leader.forget_all()
        scene.wait(mirror, lambda: bool(scene.told(Waiting)))
        for _ in range(3):
            mirror.look_after()
    told = "orders-0: waiting: the cluster answers UNKNOWN_TOPIC_OR_PARTITION for the topic"
    assert [str(event) for event in scene.told(Waiting)] == [told]


def test_it_tells_once_that_no_broker_answers(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5))
    with scene.mirror(patience_ms=0) as mirror:
        scene.wait(mirror, scene.is_copied)
        scene.leader.stop()
        of_all = f"no broker answers: {scene.leader.bootstrap}: cannot connect: Connection refused"
        scene.wait(mirror, lambda: any(of_all in str(event) for event in scene.told(Disconnected)))
        for _ in range(3):
            mirror.look_after()
    assert sum("no broker answers" in str(event) for event in scene.told(Disconnected)) == 1


def test_a_leader_that_hangs_up_is_connected_to_again(scene: Scene) -> None:
    log = scene.make(ORDERS, (0, 5))
    with scene.mirror() as mirror:
        scene.wait(mirror, scene.is_copied)
        for _ in range(3):
            scene.leader.hang_up()
            with scene.leader.held:
                write(log, 0, 5)
            scene.wait(mirror, scene.is_copied)


def test_what_is_not_there_is_refused_and_nothing_is_made(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5))
    with pytest.raises(UnknownTopicError, match="there is no topic 'nothing'"):
        scene.mirror(topics=("nothing",))
    with pytest.raises(NoSuchPartitionsError, match="topic 'orders' has 1 partition, from 0 on, and not 1, 7"):
        scene.mirror(partitions=frozenset({0, 1, 7}))
    assert not (scene.root / "copy").exists()


def test_the_copy_of_another_cluster_is_refused(scene: Scene) -> None:
    scene.make(ORDERS, (0, 5))
    MetaProperties(1, "another", 2**31 - 1, None).write(scene.root / "meta.properties")
    with pytest.raises(ForeignDirectoryError, match="to cluster another, but the brokers to wire"):
        scene.mirror(log_dir=scene.root)


def test_metrics_are_those_of_the_partitions(scene: Scene) -> None:
    log = scene.make(ORDERS, (0, 5))
    with scene.mirror() as mirror:
        scene.wait(mirror, lambda: scene.is_copied() and mirror.statuses()[0].tally.bytes == log.size)
        server = MetricsServer(MirrorMetrics(mirror.statuses))
        told = urllib.request.urlopen(f"http://{server.address}/metrics", timeout=SECONDS).read().decode()
        server.close()
    assert f'epochlog_mirror_bytes_total{{partition="0",topic="orders"}} {float(log.size)}' in told


def test_the_command_copies_once_and_tells_what_failed(scene: Scene) -> None:
    log = scene.make(ORDERS, (0, 5), (1, 7), leader_epoch=1)
    words = ("mirror", "--bootstrap", scene.leader.bootstrap, "--topics", "orders", "--output", scene.root / "copy")
    done = epochlog(*words, "--once")
    assert (done.status, done.err) == (0, "")
    assert scene.is_copied()
    assert done.out.splitlines()[-1].endswith("caught up")
    write(log, 1, 1)
    scene.leader.recreate("orders")
    failed = epochlog(*words, "--once", "--metrics-listener", "0")
    assert failed.status == 1
    assert "orders-0: failed: the topic orders was deleted and created again" in failed.err
    assert "metrics at http://127.0.0.1:" in failed.err
    unknown = epochlog(*words[:4], "nothing", *words[5:])
    assert unknown.status == 2
    assert (
        unknown.err
        == f"epochlog: there is no topic 'nothing' at {scene.leader.bootstrap}, or this user may not describe it\n"
    )


def test_a_backup_that_is_interrupted_has_not_been_made(scene: Scene) -> None:
    scene.make(ORDERS, *((0, 50) for _ in range(100)))
    process = MirrorProcess(scene.leader.bootstrap, ("orders",), scene.root / "copy", ("--once", "--throttle", "100"))
    with process:
        deadline = time.monotonic() + SECONDS
        while not (scene.root / "copy/orders-0").exists():
            assert time.monotonic() < deadline, process.said()
            time.sleep(0.02)
        with scene.leader.held:
            # Nothing is answered meanwhile, so that it cannot have caught up.
            assert process.stop() == 2, process.said()
    assert "interrupted before everything was copied" in process.said()


def test_a_process_that_is_killed_again_and_again_has_the_copy_in_the_end(scene: Scene) -> None:
    log = scene.make(ORDERS)
    process = MirrorProcess(scene.leader.bootstrap, ("orders",), scene.root / "copy")
    for _ in range(2):
        with process:
            target = log.log_end_offset + 500
            deadline = time.monotonic() + SECONDS
            while not (scene.root / "copy/orders-0").exists() or scene.copy().end < target:
                with scene.leader.held:
                    write(log, 0, 50)
                assert process.is_running(), process.said()
                assert time.monotonic() < deadline, process.said()
                time.sleep(0.02)
            process.kill()
    assert process.run_once() == 0, process.said()
    assert scene.is_copied()
    assert process.events("truncated") == []
