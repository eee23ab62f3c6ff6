"""One of ours loses power, and what it had not flushed: it is nobody's leader by its old epoch, and eligible no more.

One that stopped in order stays eligible (KIP-966).
"""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import KafkaError, Message, Producer

from logstore import TopicPartition
from replication.copies.planning.plan import plan
from replication.wire.error_code import ErrorCode
from tests.oracle.release import KafkaRelease
from tests.oracle.tools import KafkaTools
from tests.replication.cluster.node.joining.administrator import Administrator
from tests.replication.cluster.node.joining.cuts import cuts
from tests.replication.cluster.node.joining.mixed_cluster import OURS, MixedCluster
from tests.replication.cluster.node.joining.old_epoch import OldEpoch
from tests.replication.copies.salvage.cluster.target import Target
from tests.replication.testing.stopped_replicas import loaded
from tests.replication.waiting import SECONDS, wait_until

SESSION_MS, LAG_MS = 6_000, 60_000
THEIRS: Final = 1
REPLICAS: Final = (OURS, THEIRS)
RECORDS: Final = 30
DESCRIBED: Final = re.compile(r"Leader: (?P<leader>\S+).*Isr: ?(?P<isr>[\d,]*).*\sElr: ?(?P<elr>[\d,]*)")


def ids(listed: str) -> set[int]:
    """Return what `1,2` lists."""
    return {int(each) for each in listed.split(",") if each}


class Scene:
    """A cluster of two brokers of Kafka's and one of ours, and what was acknowledged in it."""

    def __init__(self, cluster: MixedCluster, tools: KafkaTools) -> None:
        self.cluster = cluster
        self.told = Administrator(cluster)
        self._tools = tools

    def lead(self, name: str, **settings: object) -> TopicPartition:
        """Make a partition of two replicas that are to be in sync, and let ours lead it."""
        partition = TopicPartition(name, 0)
        configs = {"min_insync_replicas": 2, **settings}
        wait_until(lambda: self.told.create(name, [REPLICAS], **configs), f"{name} is made")
        self.told.lead(partition, REPLICAS)
        return partition

    def write(self, partition: TopicPartition, tag: str, *, acks: str = "all") -> list[bytes]:
        """Write some records one after the other, and return them once they are acknowledged."""
        failures: list[object] = []

        def note(error: KafkaError | None, _: Message) -> None:
            failures.extend([error] * bool(error))

        producer = Producer({"bootstrap.servers": self.cluster.bootstrap(), "acks": acks, "linger.ms": 0})
        values = [b"%s %d" % (tag.encode(), number) for number in range(RECORDS)]
        for value in values:
            producer.produce(partition.topic, value, partition=0, on_delivery=note)
            assert producer.flush(SECONDS) == 0
        assert failures == []
        return values

    def read(self, partition: TopicPartition) -> list[bytes | None]:
        return Target(self.cluster.bootstrap()).values(*partition)

    def ensure_described(self, partition: TopicPartition, leader: str, *, isr: set[int], elr: set[int]) -> None:
        """Check what Kafka's tool prints."""
        named = ("--topic", partition.topic)
        printed = self._tools.run("kafka-topics", "--bootstrap-server", self.cluster.bootstrap(2), "--describe", *named)
        found = DESCRIBED.search(printed.out)
        assert found, printed
        assert (found["leader"], ids(found["isr"]), ids(found["elr"])) == (leader, isr, elr), printed.out

    def ensure_whole(self, partition: TopicPartition, values: Sequence[bytes]) -> None:
        """Wait until both are in sync, and check that they have just that."""
        self.told.wait_for(partition, isr=set(REPLICAS), elr=set())
        self.cluster.ensure_equal(partition, REPLICAS)
        assert self.read(partition) == values

    def epochs_led(self, partition: TopicPartition, said_before: int) -> list[int]:
        """Return in which epochs ours has told since that it leads."""
        lines = self.cluster.said(OURS)[said_before:].splitlines()
        events = [json.loads(line) for line in lines if line.startswith('{"time"')]
        own = [each for each in events if (each.get("topic"), each.get("partition")) == partition]
        return [each["leader_epoch"] for each in own if each["event"] == "role-change" and each["to"] == "leader"]


def answers(asking: OldEpoch) -> set[ErrorCode]:
    """Return what a broker answers that runs."""
    asking.start()
    wait_until(lambda: bool(asking.answers), "it answers")
    asking.stop()
    return asking.answers


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("lost-pages")
    described = MixedCluster.of(directory, release, kafkas=2, session_ms=SESSION_MS, lag_ms=LAG_MS)
    described.is_forgetful = True
    with described as cluster, KafkaTools(release) as tools:
        yield Scene(cluster, tools)


def test_it_comes_back_at_once_and_neither_leads_by_its_old_epoch_nor_keeps_what_was_not_acknowledged(
    scene: Scene, tmp_path: Path
) -> None:
    cluster, told = scene.cluster, scene.told
    forgotten, flushed = scene.lead("forgotten"), scene.lead("flushed", flush_messages=1)
    both = {each: scene.write(each, "both") for each in (forgotten, flushed)}
    epoch = told.partitions()[forgotten].leader_epoch
    assert answers(OldEpoch(cluster.bootstrap(OURS), forgotten, epoch)) == {ErrorCode.NONE}
    cluster.pause(THEIRS)
    for partition in both:
        # What a fetch that waits is answered with is read by a follower once it goes on.
        scene.write(partition, "ours alone", acks="1")
    cluster.lose(OURS)
    cluster.resume(THEIRS)
    shutil.copytree(cluster.log_dir(OURS), tmp_path / "lost")
    left = {each: loaded(tmp_path / "lost", each) for each in both}
    assert left[forgotten].log_end_offset < RECORDS < left[flushed].log_end_offset
    said_before = len(cluster.said(OURS))
    asking = OldEpoch(cluster.bootstrap(OURS), forgotten, epoch)
    asking.start()
    cluster.start(OURS, wait=False)
    for partition in both:
        told.wait_for(partition, leader=THEIRS)
    foretold = {each: plan(loaded(cluster.log_dir(THEIRS), each), left[each]) for each in both}
    for partition in both:
        told.wait_for(partition, isr=set(REPLICAS), elr=set())
    wait_until(lambda: bool(asking.answers), "it answers as what it is by now")
    asking.stop()
    assert ErrorCode.NONE not in asking.answers
    done = cuts(cluster.said(OURS)[said_before:])
    assert min(done[flushed]) == foretold[flushed].truncate_to < left[flushed].log_end_offset
    assert min(done.get(forgotten, []), default=left[forgotten].log_end_offset) == foretold[forgotten].truncate_to
    for partition, values in both.items():
        assert all(each > epoch for each in scene.epochs_led(partition, said_before))
        after = scene.write(partition, "after")
        found = scene.read(partition)
        assert found[: len(values)] == values
        assert found[-len(after) :] == after
        cluster.ensure_equal(partition, REPLICAS)


def test_it_is_eligible_no_more_once_it_is_registered_again(scene: Scene) -> None:
    cluster, told = scene.cluster, scene.told
    partition = scene.lead("eligible-no-more")
    values = scene.write(partition, "both")
    cluster.lose(OURS)
    told.wait_for(partition, leader=THEIRS, isr={THEIRS}, elr={OURS})
    scene.ensure_described(partition, str(THEIRS), isr={THEIRS}, elr={OURS})
    cluster.kill(THEIRS)
    told.wait_for(partition, leader=-1, isr=set(), elr={OURS, THEIRS})
    cluster.start(OURS, wait=False)
    told.wait_for(partition, leader=-1, isr=set(), elr={THEIRS})
    scene.ensure_described(partition, "none", isr=set(), elr={THEIRS})
    cluster.start(THEIRS, wait=False)
    told.wait_for(partition, leader=THEIRS)
    scene.ensure_whole(partition, values)
    scene.ensure_described(partition, str(THEIRS), isr={THEIRS, OURS}, elr=set())


def test_one_that_stopped_in_order_stays_eligible_and_is_elected(scene: Scene) -> None:
    cluster, told = scene.cluster, scene.told
    partition = scene.lead("still-eligible")
    values = scene.write(partition, "both")
    cluster.stop(OURS)
    told.wait_for(partition, leader=THEIRS, isr={THEIRS}, elr={OURS})
    scene.ensure_described(partition, str(THEIRS), isr={THEIRS}, elr={OURS})
    cluster.kill(THEIRS)
    told.wait_for(partition, leader=-1, isr=set(), elr={OURS, THEIRS})
    cluster.start(OURS, wait=False)
    told.wait_for(partition, leader=OURS, isr={OURS}, elr={THEIRS})
    scene.ensure_described(partition, str(OURS), isr={OURS}, elr={THEIRS})
    cluster.start(THEIRS, wait=False)
    scene.ensure_whole(partition, values)
