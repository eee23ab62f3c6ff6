"""Random logs of a real cluster are audited twice, over the network and by the brokers' directories: the two agree."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from logstore.batch.any_batch import Batch
from logstore.offline.partition_directory import PartitionDirectory
from replication.cluster.network_audit.network_auditing import NetworkAudit
from replication.copies.audit.local.auditing import audit_locally
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.wire.client.cluster_client import ClusterClient
from tests.campaign import Campaign
from tests.data.make_replicas import Story
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.network_audit.changed_files import cut_out, fork_from
from tests.replication.copies.audit.logs import change_record

CAMPAIGN: Final = Campaign("audit: the network beside disks", full=200, share=20)
AT_ONCE: Final = 20
"""Rounds between two restarts of a broker: a topic each."""
SETTINGS: Final = {"log.retention.ms": -1, "log.retention.check.interval.ms": 1_000}
PATIENCE: Final = 300.0
"""Seconds in which what moves is read again: for a machine that is busy."""
HARMLESS: Final = frozenset({"identical", "retention", "compaction"})
"""Between two audits the cleaner and retention may be at work."""
OF_FILES: Final = frozenset({"damaged"})
"""What only files show: a hole in a log is damage there, beside being missing."""


@dataclass
class Round:
    """A topic of one partition, and what is done to the files of one of its followers."""

    rng: random.Random
    topic: str
    planted: str = "nothing"
    compressed: bool = field(init=False)
    transactional: bool = field(init=False)
    compacted: bool = field(init=False)

    def __post_init__(self) -> None:
        self.compressed = self.rng.random() < 0.3
        self.transactional = self.rng.random() < 0.3
        self.compacted = self.rng.random() < 0.3

    def new_topic(self) -> NewTopic:
        configs = {"segment.ms": str(self.rng.choice([500, 600_000]))}
        if self.compacted:
            configs |= {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
        assignment = [self.rng.sample([1, 2, 3], 3)]
        return NewTopic(self.topic, num_partitions=1, replica_assignment=assignment, config=configs)

    def write(self, bootstrap: str) -> None:
        settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True}
        settings["batch.num.messages"] = self.rng.randint(1, 20)
        settings["compression.type"] = self.rng.choice(["lz4", "zstd", "gzip"]) if self.compressed else "none"
        if self.transactional:
            settings["transactional.id"] = f"tx-{self.topic}"
        producer = Producer(settings)
        if self.transactional:
            producer.init_transactions(120)
            producer.begin_transaction()
        for number in range(self.rng.randint(20, 200)):
            producer.produce(self.topic, b"v%d" % number * self.rng.randint(1, 40), b"k%d" % (number % 9), partition=0)
        assert producer.flush(120) == 0
        if self.transactional:
            (producer.abort_transaction if self.rng.random() < 0.3 else producer.commit_transaction)(120)

    def delete(self, bootstrap: str) -> None:
        """Delete the first records."""
        if self.compacted or self.rng.random() < 0.7:
            return
        admin = AdminClient({"bootstrap.servers": bootstrap})
        place = ClientTopicPartition(self.topic, 0, self.rng.randint(1, 15))
        for future in admin.delete_records([place]).values():
            future.result(120)

    def plant(self, partition: PartitionDirectory) -> None:
        """Change a follower's files."""
        batches = [each for segment in partition.segments for each in _batches(segment.open_log())]
        inner = [each for each in batches[1:-1] if not each.is_control]
        if not inner or self.compacted or self.rng.random() < 0.1:
            return
        batch = self.rng.choice(inner)
        ways: dict[str, Callable[[], None]] = {
            "lacking": lambda: cut_out(partition, batch.base_offset, batch.base_offset)
        }
        if not self.compressed:
            ways["flipped"] = lambda: change_record(partition, batch.base_offset)
        if not (self.compressed or self.transactional):
            ways["forked"] = lambda: fork_from(partition, batch.base_offset, leader_epoch=90)
        self.planted = self.rng.choice(sorted(ways))
        ways[self.planted]()


def _batches(log: Any) -> Iterator[Batch]:
    with log:
        yield from log.batches()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Story]:
    with KafkaCluster(tmp_path_factory.mktemp("audited") / "kafka", release, brokers=3, settings=SETTINGS) as cluster:
        yield Story(cluster, 1)


def test_both_audits_come_to_the_same_verdicts(story: Story) -> None:
    planted: dict[str, int] = {}
    tried = 0
    while tried < CAMPAIGN.count:
        rounds = [
            Round(random.Random(f"{CAMPAIGN.seed}/{number}"), f"t{number}") for number in range(tried, tried + AT_ONCE)
        ]
        run(story, rounds, random.Random(f"{CAMPAIGN.seed}/of/{tried}"))
        topics = [each.topic for each in rounds]
        network, disks = over_network(story, topics), from_disks(story, topics)
        for each in rounds:
            why = f"{each}, seed {CAMPAIGN.seed}"
            assert seen(network[each.topic]) == seen(disks[each.topic]), why
            expected = {"flipped": "silent-divergence", "lacking": "missing", "forked": "forked"}.get(each.planted)
            assert seen(network[each.topic])["verdicts"] == ({expected} if expected else set()), why
            planted[each.planted] = planted.get(each.planted, 0) + 1
        tried += AT_ONCE
    CAMPAIGN.report(
        tried,
        beside=story.cluster.release.version,
        note=", ".join(f"{count} {what}" for what, count in sorted(planted.items())),
    )


def run(story: Story, rounds: list[Round], rng: random.Random) -> None:
    """Make the topics' stories: leaders change, a broker is killed, and files are changed while one is down."""
    cluster = story.cluster
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
    for future in admin.create_topics([each.new_topic() for each in rounds]).values():
        future.result(120)
    wait_for_all(story, rounds)
    for each in rounds:
        each.write(cluster.bootstrap())
    away = rng.choice([1, 2, 3])
    (cluster.kill if rng.random() < 0.3 else cluster.stop)(away)
    for each in rounds:
        each.write(cluster.bootstrap())
    cluster.start(away)
    wait_for_all(story, rounds)
    for each in rounds:
        each.delete(cluster.bootstrap())
    down = rng.choice([1, 2, 3])
    cluster.stop(down)
    for each in rounds:
        each.plant(PartitionDirectory.open(cluster.log_dir(down) / f"{each.topic}-0"))
    cluster.start(down)
    wait_for_all(story, rounds)


def wait_for_all(story: Story, rounds: list[Round]) -> None:
    admin = AdminClient({"bootstrap.servers": story.cluster.bootstrap()})
    deadline = time.monotonic() + 600
    topics = {each.topic for each in rounds}
    while topics:
        assert time.monotonic() < deadline, f"not all replicas came back in sync: {sorted(topics)}"
        time.sleep(0.5)
        known = admin.list_topics(timeout=60).topics
        topics = {each for each in topics if each not in known or not _is_in_sync(known[each])}


def _is_in_sync(topic: Any) -> bool:
    partition = topic.partitions.get(0)
    return partition is not None and partition.leader >= 0 and len(partition.isrs) == 3


def over_network(story: Story, topics: list[str]) -> dict[str, Any]:
    bootstrap = story.cluster.bootstrap()
    with ClusterClient(bootstrap) as client:
        audit = NetworkAudit(client, bootstrap, AuditOptions(topics=topics, live=True, patience=PATIENCE))
        return by_topic(audit.carry_out().document)


def from_disks(story: Story, topics: list[str]) -> dict[str, Any]:
    roots: list[str | Path] = [f"broker-{each}={story.cluster.log_dir(each)}" for each in (1, 2, 3)]
    return by_topic(audit_locally(roots, topics=topics, live=True, patience=PATIENCE, workers=1).document)


def by_topic(document: dict[str, Any]) -> dict[str, Any]:
    return {each["topic"]: each for each in document["partitions"]}


def seen(partition: dict[str, Any]) -> dict[str, Any]:
    """Return what both audits have to say alike."""
    differing = {
        frozenset((pair["leader"], pair["follower"])): pair["first_difference"]
        for pair in partition["pairs"]
        if {*pair["verdicts"]} - HARMLESS
    }
    ends = {each["replica"]: each["log_end_offset"] for each in partition["branches"]}
    return {"verdicts": {*partition["verdicts"]} - HARMLESS - OF_FILES, "differing": differing, "ends": ends}
