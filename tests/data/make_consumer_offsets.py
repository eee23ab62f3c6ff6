"""Make the `__consumer_offsets` partition that ships: what groups committed, in and out of transactions.

python -m tests.data.make_consumer_offsets VERSION OUT

writes OUT/__consumer_offsets-0. Needs Java and Maven; takes about half a minute.
The topics are called like the forked ones of make_replicas.py, so that the partition can be put beside those.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease, release_of

COMMITTED = {"billing": ("diverge", 410), "report": ("diverge", 250), "mail": ("hwloss", 302), "left": ("diverge", 400)}
"""What each group commits last; "left" is deleted afterwards."""
IN_TRANSACTIONS = {"ledger": ("diverge", 333), "undone": ("diverge", 390)}
"""Groups whose offsets a producer commits; those of "undone" are aborted."""


def commit(cluster: KafkaCluster, group: str, topic: str, offset: int) -> None:
    """Let a group commit twice."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": group, "enable.auto.commit": False})
    for each in (offset // 2, offset):
        place = TopicPartition(topic, 0, each, metadata="made for tests", leader_epoch=0)
        consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()


def commit_in_transaction(cluster: KafkaCluster, group: str, topic: str, offset: int) -> None:
    """Let a producer commit a group's offset within its transactions, twice."""
    settings = {"bootstrap.servers": cluster.bootstrap(), "group.id": group}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    consumer.poll(5)
    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "transactional.id": f"tx-{group}"})
    producer.init_transactions(30)
    metadata = consumer.consumer_group_metadata()
    for each in (offset // 2, offset):
        producer.begin_transaction()
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, each)], metadata, 30)
        (producer.abort_transaction if group == "undone" else producer.commit_transaction)(30)
    consumer.close()


def main(release: KafkaRelease, out: Path) -> None:
    """Commit, delete a group, stop the broker and keep the partition."""
    with tempfile.TemporaryDirectory(prefix="epochlog-offsets-") as work, KafkaCluster(Path(work), release) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
        for future in admin.create_topics(
            [NewTopic(name, num_partitions=1) for name in ("diverge", "hwloss")]
        ).values():
            future.result(30)
        time.sleep(2)
        for group, (topic, offset) in COMMITTED.items():
            commit(cluster, group, topic, offset)
        for group, (topic, offset) in IN_TRANSACTIONS.items():
            commit_in_transaction(cluster, group, topic, offset)
        for future in admin.delete_consumer_groups(["left"]).values():
            future.result(30)
        time.sleep(2)
        cluster.stop(1)
        shutil.copytree(cluster.log_dir(1) / "__consumer_offsets-0", out / "__consumer_offsets-0")


if __name__ == "__main__":
    main(release_of(sys.argv[1]), Path(sys.argv[2]))
