"""Make the log with remote storage that ships: local segments went, and the brokers were killed.

python -m tests.data.make_tiered VERSION OUT

writes OUT/tiered-VERSION.tar.xz: `killed`, two brokers' roots as SIGKILL left them, `recovered`, the same after the
brokers were started on them and stopped in order, and `truth.json`: what Kafka's consumer then read, most of it from
the remote storage. Needs Java and Maven; takes about a minute and a half.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.data.make_layouts import wait
from tests.data.make_old_brokers import pack
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import KafkaRelease, release_of

TOPIC = "tiered"
BASE_TIMESTAMP = 1_700_000_000_000
TURNS = 4
RECORDS = 60
WAIT_SECONDS = 120
NONE_LEFT = {"local.retention.ms": "1", "segment.ms": "1000", "remote.storage.enable": "true", "retention.ms": "-1"}
ENABLED = {"remote.log.storage.system.enable": "true"}
STORAGE = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
"""Kafka's own for its tests: a directory."""


class TieredCluster(KafkaCluster):
    """Its brokers share a directory as remote storage."""

    def _java(self) -> list[str]:
        *options, classes = super()._java()
        return [*options, f"{classes}:{self.directory}/lib/*"]


def settings(remote: Path) -> dict[str, object]:
    return {
        **ENABLED,
        "remote.log.storage.manager.class.name": STORAGE,
        "rsm.config.dir": remote,
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rlmm.config.remote.log.metadata.topic.num.partitions": 1,
        "rlmm.config.remote.log.metadata.topic.replication.factor": 2,
        "remote.log.manager.task.interval.ms": 500,
        "log.retention.check.interval.ms": 500,
        "log.initial.task.delay.ms": 500,
    }


def main(release: KafkaRelease, out: Path) -> None:
    """Write under several leaders, wait until old segments are remote alone, and kill all."""
    with tempfile.TemporaryDirectory(prefix="epochlog-tiered-") as place:
        work = Path(place)
        artifact = f"-Dartifact=org.apache.kafka:kafka-storage:{release.version}:jar:test"
        maven = ["mvn", "-q", "-B", "dependency:copy", artifact, f"-DoutputDirectory={work / 'cluster/lib'}"]
        subprocess.run(maven, check=True)
        told = settings(work / "remote")
        with TieredCluster(work / "cluster", release, 2, told, controller_settings=ENABLED) as cluster:
            fill(cluster)
            for node in cluster.ids:
                cluster.kill(node)
            keep(cluster, work / "made/killed")
            for node in cluster.ids:
                cluster.start(node)
            wait(lambda: in_sync(cluster) == 2, "the brokers are not in sync again")
            truth = {"version": release.version, "records": read(cluster)}
            for node in cluster.ids:
                cluster.stop(node)
            keep(cluster, work / "made/recovered")
        (work / "made/truth.json").write_text(json.dumps(truth, indent=1, sort_keys=True))
        pack(work / "made", out / f"tiered-{release.version}.tar.xz")


def fill(cluster: KafkaCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
    for future in admin.create_topics([NewTopic(TOPIC, 1, 2, config=NONE_LEFT)], operation_timeout=60).values():
        future.result(60)
    for turn in range(TURNS):
        wait(lambda: in_sync(cluster) == 2, "the brokers are not in sync")
        for part in range(2):
            write(cluster, 2 * turn + part)
            time.sleep(1.5)  # longer than `segment.ms`
        if turn < TURNS - 1:
            leader = 1 + turn % 2
            cluster.stop(leader)
            cluster.start(leader)
    first = 2 * TURNS * RECORDS
    wait(lambda: all(first_local(cluster, node) >= first for node in cluster.ids), "local segments are still there")
    write(cluster, 2 * TURNS)


def write(cluster: KafkaCluster, turn: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "acks": "all"})
    for number in range(turn * RECORDS, (turn + 1) * RECORDS):
        producer.produce(TOPIC, f"value {number}", f"key {number % 7}", 0, timestamp=BASE_TIMESTAMP + number)
    if producer.flush(WAIT_SECONDS):
        raise TimeoutError("not acknowledged")


def read(cluster: KafkaCluster) -> list[list[Any]]:
    """What a consumer reads from the beginning on: offsets and values."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "unused", "enable.auto.commit": False})
    place = TopicPartition(TOPIC, 0, 0)
    _, end = consumer.get_watermark_offsets(place, WAIT_SECONDS)
    consumer.assign([place])
    rows: list[list[Any]] = []
    while not rows or rows[-1][0] < end - 1:
        message = consumer.poll(WAIT_SECONDS)
        if message is None or message.error():
            raise OSError(f"{place}: {message and message.error()}")
        rows.append([message.offset(), message.value().decode()])
    consumer.close()
    return rows


def in_sync(cluster: KafkaCluster) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
    found = admin.list_topics(TOPIC, WAIT_SECONDS).topics[TOPIC].partitions.get(0)  # None before a broker knows
    return len(found.isrs) if found else 0


def first_local(cluster: KafkaCluster, node: int) -> int:
    return min(int(path.stem) for path in (cluster.log_dir(node) / f"{TOPIC}-0").glob("*.log"))


def keep(cluster: KafkaCluster, target: Path) -> None:
    """Copy the roots, without what Kafka keeps of its remote storage."""
    for node in cluster.ids:
        ignored = shutil.ignore_patterns("__remote_log_metadata-*", "remote-log-index-cache")
        shutil.copytree(cluster.log_dir(node), target / f"broker-{node}", ignore=ignored)


if __name__ == "__main__":
    main(release_of(sys.argv[1]), Path(sys.argv[2]))
