"""Make replicas like those that ship: kill the brokers of a real cluster so that logs fork, then let Kafka heal them.

python -m tests.data.make_replicas VERSION OUT [SHARE [SEED]]

writes OUT/diverged-VERSION and OUT/reconciled-VERSION, with a share such as 0.1 of the records. Needs Java and Maven;
takes about five minutes.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease, release_of

BASE_TIMESTAMP = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LETTERS = 16
"""How many differ in a record: enough to tell copies apart, and soon compressed."""
WAIT_SECONDS = 300
FORKED = ("diverge", "hwloss")


class Story:
    """What happens to the cluster, one paragraph a method."""

    def __init__(self, cluster: KafkaCluster, seed: int, *, share: float = 1) -> None:
        self.cluster = cluster
        self.share = share
        self.random = random.Random(seed)

    def create_topics(self) -> None:
        """Spread leaders over the brokers; the topics that will fork live on two of them.

        Segments roll by time too: few records never fill the least size that Kafka takes.
        """
        by_time = {"segment_bytes": 1 << 20, "segment_ms": 10_000}
        self.create("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]], retention_ms=-1, **by_time)
        self.create("codecs", [[1, 2, 3]], **by_time)
        self.create("txns", [[2, 3, 1]], segment_bytes=1 << 20)
        compaction = {"cleanup_policy": "compact", "min_cleanable_dirty_ratio": 0.01, "segment_ms": 1_000}
        self.create("compacted", [[3, 1, 2]], segment_bytes=1 << 20, **compaction)
        for topic in FORKED:
            self.create(topic, [[1, 2]], unclean_leader_election_enable="true", min_insync_replicas=1)

    def write(self) -> None:
        """Write every codec, headers, tombstones, transactions, and keys that compaction will remove."""
        for partition in range(3):
            self.produce("orders", 9_000, partition, size=300, tag=f"o{partition}a", timestamp=BASE_TIMESTAMP)
        for number, codec in enumerate(CODECS):
            headers = [("trace", b"abc"), ("null", None)]
            timestamp = BASE_TIMESTAMP + number * 1_000
            self.produce("codecs", 400, codec=codec, size=200, tag=codec, headers=headers, timestamp=timestamp)
            self.produce("codecs", 50, codec=codec, size=50, tag=f"{codec}-nokey", keys=False, tombstone_each=7)
        for number in range(6):
            codec, transaction = ("lz4" if number % 2 else "none"), f"tx-{number % 2}"
            producer = self.produce("txns", 200, codec=codec, tag=f"t{number}", transaction=transaction)
            (producer.abort_transaction if number % 3 == 1 else producer.commit_transaction)(30)
        for round_ in range(4):
            self.produce("compacted", 500, size=900, tag="k", tombstone_each=9 if round_ == 3 else 0)
            time.sleep(1.2)

    def restart_one_by_one(self) -> None:
        """Give the partitions several leader epochs."""
        for number, broker in enumerate((1, 2, 3, 1)):
            self.wait_for_isr("orders", 3)
            self.cluster.stop(broker)
            time.sleep(2)
            for partition in range(3):
                codec, timestamp = ("zstd" if number % 2 else "none"), BASE_TIMESTAMP + 10_000 * (number + 1)
                tag = f"o{partition}r{number}"
                self.produce("orders", 500 + 100 * number, partition, codec=codec, tag=tag, timestamp=timestamp)
            self.produce("codecs", 30, codec="lz4", tag=f"c{number}")
            self.produce("txns", 20, tag=f"plain{number}")
            self.cluster.start(broker)
            for topic, partitions in (("orders", 3), ("codecs", 1), ("txns", 1)):
                for partition in range(partitions):
                    self.wait_for_isr(topic, 3, partition)

    def fork(self) -> None:
        """Kill 2, write on 1, kill 1, let 2 lead uncleanly and write, kill the rest."""
        for topic in FORKED:
            self.wait_for_isr(topic, 2)
            self.produce(topic, 300, tag=f"{topic}-base", size=150)
        time.sleep(3)
        self.cluster.kill(2)
        time.sleep(5)
        for topic in FORKED:
            self.produce(topic, 120, tag=f"{topic}-only1", size=150, acks="1")
        time.sleep(2)
        self.cluster.kill(1)
        time.sleep(5)
        self.cluster.start(2)
        time.sleep(6)
        for topic, records in zip(FORKED, (77, 5), strict=True):
            self.produce(topic, records, tag=f"{topic}-only2", size=150, acks="1")
        time.sleep(3)
        self.cluster.kill(2)
        self.cluster.kill(3)

    def heal(self) -> None:
        """Start all brokers, wait until every replica is back in sync, stop them in order."""
        for broker in (2, 3, 1):
            self.cluster.start(broker)
        time.sleep(8)
        for topic in FORKED:
            self.wait_for_isr(topic, 2)
        for partition in range(3):
            self.wait_for_isr("orders", 3, partition)
        time.sleep(4)
        for broker in (3, 2, 1):
            self.cluster.stop(broker)

    def create(self, topic: str, replicas: list[list[int]], **settings: object) -> None:
        """Create a topic on the given brokers."""
        config = {name.replace("_", "."): str(value) for name, value in settings.items()}
        new = NewTopic(topic, num_partitions=len(replicas), replica_assignment=replicas, config=config)
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap()})
        for future in admin.create_topics([new]).values():
            future.result(30)
        time.sleep(1)

    def wait_for_isr(self, topic: str, size: int, partition: int = 0) -> None:
        """Wait until a partition has a leader and this many replicas in sync."""
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap()})

        def in_sync() -> bool:
            topics = admin.list_topics(timeout=10).topics
            known = topics[topic].partitions.get(partition) if topic in topics else None
            return known is not None and known.leader >= 0 and len(known.isrs) == size

        wait_until(in_sync, f"{topic}-{partition} has {size} replicas in sync")

    def produce(
        self,
        topic: str,
        records: int,
        partition: int = 0,
        *,
        codec: str = "none",
        acks: str = "all",
        size: int = 100,
        tag: str,
        keys: bool = True,
        headers: list[tuple[str, bytes | None]] | None = None,
        timestamp: int | None = None,
        transaction: str | None = None,
        tombstone_each: int = 0,
    ) -> Producer:
        """Write the share of the records, each with letters of its own; the caller ends a transaction."""
        settings = {
            "bootstrap.servers": self.cluster.bootstrap(),
            "compression.type": codec,
            "acks": acks,
            "linger.ms": 20,
            "batch.size": 16_384,
            "message.timeout.ms": 30_000,
        }
        producer = Producer(settings | ({"transactional.id": transaction} if transaction else {}))
        if transaction:
            producer.init_transactions(30)
            producer.begin_transaction()
        for number in range(max(1, round(records * self.share))):
            few = bytes(97 + self.random.randrange(26) for _ in range(LETTERS))
            letters = few * ((size - len(tag) - 8) // LETTERS)
            is_tombstone = bool(tombstone_each) and number % tombstone_each == 0
            optional = {"timestamp": timestamp + number} if timestamp else {}
            producer.produce(
                topic,
                None if is_tombstone else f"{tag}:{number}:".encode() + letters,
                f"{tag}-{number:06d}".encode() if keys else None,
                partition=partition,
                headers=headers,
                **optional,
            )
            producer.poll(0)
        producer.flush(40)
        return producer


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Ask twice a second until the condition holds."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"it never came true that {what}")
        time.sleep(0.5)


def main(release: KafkaRelease, out: Path, share: float, seed: int) -> None:
    """Tell the story once and keep the brokers' logs at its two turning points."""
    with (
        tempfile.TemporaryDirectory(prefix="epochlog-cluster-") as work,
        KafkaCluster(Path(work), release, brokers=3) as cluster,
    ):
        story = Story(cluster, seed, share=share)
        time.sleep(4)
        story.create_topics()
        story.write()
        story.restart_one_by_one()
        time.sleep(4)
        story.fork()
        cluster.copy_logs(out / f"diverged-{release.version}")
        story.heal()
        cluster.copy_logs(out / f"reconciled-{release.version}")


if __name__ == "__main__":
    version, out, *rest = sys.argv[1:]
    main(release_of(version), Path(out), float(rest[0]) if rest else 1, int(rest[1]) if len(rest) > 1 else 1)
