"""A mirror of a real cluster stays its leaders' byte-identical copy, whatever happens to brokers and to itself."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata, parse_uuid
from logstore.offline.offline_log_directory import open_offline
from logstore.verify import verify
from replication.copies.audit.snapshots.snapshot import list_snapshots
from tests.conftest import require_java_for_spark
from tests.data.make_replicas import Story
from tests.data.make_replicas import wait_until as wait_for_cluster
from tests.logstore.directories import GAPS
from tests.oracle.broker import Broker
from tests.oracle.cluster import KafkaCluster
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease
from tests.replication.cli.command import epochlog
from tests.replication.cluster.mirror.log_comparison import WrittenLog, differences
from tests.replication.cluster.mirror.mirror_process import MirrorProcess, wait_until
from tests.replication.told_partition import told_partition

ORDERS = ("orders", 3)
FORKED = ("diverge", "hwloss")
PATIENT = {"initial.broker.registration.timeout.ms": 600_000}
"""On a machine that has much else to do."""
BASE, ONLY_ON_1, ONLY_ON_2 = 300, 120, (77, 5)


class Scene:
    """A cluster of three, and a mirror of three of its topics."""

    def __init__(self, cluster: KafkaCluster, mirror: MirrorProcess) -> None:
        self.cluster = cluster
        self.mirror = mirror
        self.story = Story(cluster, 1)

    def leader(self, topic: str, partition: int) -> int:
        """Who leads; -1 where nobody does."""
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap()})
        return int(told_partition(admin, topic, partition).leader)

    def assert_copied(self, topic: str, partitions: int = 1) -> None:
        """Wait until the mirror has all of the leader's log, and compare every byte."""
        for partition in range(partitions):
            copy = self.mirror.log_dir / f"{topic}-{partition}"
            leader = self.cluster.log_dir(self.leader(topic, partition)) / copy.name

            def is_there(copy: Path = copy, leader: Path = leader) -> bool:
                if not copy.exists():
                    return False
                return WrittenLog.read(copy).end == WrittenLog.read(leader).end and not differences(copy, leader)

            def told(copy: Path = copy, leader: Path = leader) -> str:
                ends = f"{copy.name} ends at {WrittenLog.read(copy).end}, its leader at {WrittenLog.read(leader).end}"
                return f"{ends}; {differences(copy, leader)}; the mirror said: {self.mirror.said()}"

            wait_until(is_there, told)
            assert self.mirror.is_running()


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("cluster")
    with KafkaCluster(directory / "kafka", release, brokers=3, settings=PATIENT) as cluster:
        mirror = MirrorProcess(
            cluster.bootstrap(),
            (ORDERS[0], *FORKED),
            directory / "copy",
            ("--keep-truncated", directory / "kept"),
        )
        scene = Scene(cluster, mirror)
        time.sleep(4)
        scene.story.create("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], segment_bytes=1 << 20)
        for topic in FORKED:
            scene.story.create(topic, [[1, 2]], unclean_leader_election_enable="true", min_insync_replicas=1)
        with mirror:
            yield scene


def test_it_follows_while_brokers_are_stopped_and_killed(scene: Scene) -> None:
    story, cluster = scene.story, scene.cluster
    for partition in range(3):
        story.produce("orders", 3_000, partition, size=300, tag=f"o{partition}a", codec="lz4" if partition else "none")
    scene.assert_copied(*ORDERS)
    for number, (broker, end) in enumerate(((1, cluster.stop), (2, cluster.kill), (3, cluster.stop))):
        end(broker)
        wait_for_cluster(lambda: all(scene.leader("orders", each) >= 0 for each in range(3)), "all have leaders")
        if number == 1:
            scene.mirror.kill()
        for partition in range(3):
            story.produce("orders", 400, partition, codec="zstd", tag=f"o{partition}r{number}")
        if number == 1:
            scene.mirror.start()
        scene.assert_copied(*ORDERS)
        cluster.start(broker)
        for partition in range(3):
            story.wait_for_isr("orders", 3, partition)


def test_it_truncates_what_an_unclean_election_loses_and_keeps_it(scene: Scene) -> None:
    story, cluster, mirror = scene.story, scene.cluster, scene.mirror
    for topic in FORKED:
        story.wait_for_isr(topic, 2)
        story.produce(topic, BASE, tag=f"{topic}-base", size=150)
        scene.assert_copied(topic)
    cluster.kill(2)
    wait_for_cluster(lambda: all(scene.leader(topic, 0) == 1 for topic in FORKED), "broker 1 leads")
    time.sleep(5)
    for topic in FORKED:
        story.produce(topic, ONLY_ON_1, tag=f"{topic}-only1", size=150, acks="1")
        scene.assert_copied(topic)
    lost = {topic: WrittenLog.read(mirror.log_dir / f"{topic}-0") for topic in FORKED}
    cluster.kill(1)
    cluster.start(2)
    wait_for_cluster(lambda: all(scene.leader(topic, 0) == 2 for topic in FORKED), "broker 2 leads, uncleanly")
    for topic, records in zip(FORKED, ONLY_ON_2, strict=True):
        story.produce(topic, records, tag=f"{topic}-only2", size=150, acks="1")
        scene.assert_copied(topic)
    for topic, records in zip(FORKED, ONLY_ON_2, strict=True):
        (told,) = [event for event in mirror.events("truncated") if event["topic"] == topic]
        assert (told["log_end_offset_before"], told["log_end_offset"]) == (BASE + ONLY_ON_1, BASE)
        assert (told["records_removed"], told["below_high_watermark"]) == (ONLY_ON_1, True)
        (kept,) = (mirror.log_dir.parent / "kept" / f"{topic}-0").iterdir()
        assert told["kept"] == str(kept)
        assert kept.read_bytes() == lost[topic].between(BASE, BASE + ONLY_ON_1)
        assert epochlog("dump", kept).status == 0
        assert WrittenLog.read(mirror.log_dir / f"{topic}-0").end == BASE + records


def test_it_is_the_same_again_after_the_cluster_has_healed_and_the_mirror_was_killed(scene: Scene) -> None:
    scene.mirror.kill()
    scene.cluster.start(1)
    for topic in FORKED:
        scene.story.wait_for_isr(topic, 2)
        scene.story.produce(topic, 50, tag=f"{topic}-healed", size=150)
    scene.mirror.start()
    for topic in FORKED:
        scene.assert_copied(topic)
    scene.assert_copied(*ORDERS)


def test_it_follows_a_partition_that_moves_to_another_broker(scene: Scene) -> None:
    scene.cluster.reassign(FORKED[0], 0, [3])
    wait_for_cluster(lambda: scene.leader(FORKED[0], 0) == 3, "broker 3 leads what was not on it before")
    wait_for_cluster(lambda: not scene.cluster.log_dir(1).joinpath(f"{FORKED[0]}-0").exists(), "broker 1 has let go")
    scene.story.produce(FORKED[0], 50, tag="moved", size=150)
    scene.assert_copied(FORKED[0])


def test_the_copy_of_a_mirror_that_was_stopped_is_in_order(scene: Scene) -> None:
    assert scene.mirror.stop() == 0, scene.mirror.said()
    found = verify(open_offline(scene.mirror.log_dir), records=True)
    assert [each for each in found if each.severity.needs_attention and each.kind not in GAPS] == []
    for topic in FORKED:
        leader = scene.cluster.log_dir(scene.leader(topic, 0)) / f"{topic}-0"
        planned = epochlog("plan", "--leader", leader, "--follower", scene.mirror.log_dir / leader.name, "--json")
        assert planned.status == 0, planned.out + planned.err


def test_an_audit_takes_it_for_a_replica_like_any_other(scene: Scene) -> None:
    require_java_for_spark()
    brokers = [scene.cluster.log_dir(node) for node in scene.cluster.ids]

    def are_settled() -> bool:
        return all(each.listed <= each.held for each in list_snapshots(brokers))

    wait_for_cluster(are_settled, "no broker's checkpoint files mention a partition that has moved away")
    found = epochlog("audit", scene.mirror.log_dir, *brokers, "--topics", "orders,diverge,hwloss", "--json").document
    for partition in found["partitions"]:
        assert partition["verdict"] in {"identical", "retention", "lagging"}, partition


def test_once_ends_when_it_has_caught_up(scene: Scene) -> None:
    for partition in range(3):
        scene.story.produce("orders", 200, partition, tag=f"o{partition}once")
    assert scene.mirror.run_once() == 0, scene.mirror.said()
    for partition in range(3):
        copy = scene.mirror.log_dir / f"orders-{partition}"
        leader = scene.cluster.log_dir(scene.leader("orders", partition)) / copy.name
        assert WrittenLog.read(copy).end == WrittenLog.read(leader).end
        assert differences(copy, leader) == []


def test_a_broker_opens_the_copy_and_serves_it(scene: Scene, release: KafkaRelease, tmp_path: Path) -> None:
    copy = scene.mirror.log_dir / "diverge-0"
    end = WrittenLog.read(copy).end
    broker = Broker(tmp_path, release)
    with JavaProgram(release, "BrokerClient", broker.address) as client:
        with broker:
            (topic_id,) = client.ask("create diverge")
        shutil.rmtree(broker.root / "diverge-0")
        shutil.copytree(copy, broker.root / "diverge-0")
        PartitionMetadata(parse_uuid(topic_id)).write(broker.root / "diverge-0" / PARTITION_METADATA_NAME)
        with broker:
            (served,) = client.ask(f"consume diverge {end} 60")
    assert len(served.split()) == end
