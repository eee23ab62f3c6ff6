"""Make the brokers with two disks each that ship: as Strimzi's pods mount them, and with partitions on both of one.

python -m tests.data.make_layouts VERSION OUT

writes OUT/layouts-VERSION.tar.xz: `strimzi`, two brokers' volumes after a clean stop, and `doubled`, the same once
broker 1 was without its first disk for a while, made that disk's partitions again on the second, and got the first one
back; with `truth.json`: what Kafka's consumer read, and how the broker said that it does not start. Needs Java and
Maven; takes about a minute.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.data.make_old_brokers import pack
from tests.oracle.cluster import CONTROLLER, KafkaCluster
from tests.oracle.release import KafkaRelease, release_of

BASE_TIMESTAMP = 1_700_000_000_000
DISKS = (0, 1)
PARTITIONS = {"orders": 4, "prices": 2}
COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "1000"}
RECORDS = 40
WAIT_SECONDS = 120


class Pods(KafkaCluster):
    """Two brokers whose disks are `pod-N/data-0/kafka-logN` and `pod-N/data-1/kafka-logN`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.disks = {node: [self.disk(node, number) for number in DISKS] for node in self.ids}

    def disk(self, node: int, number: int) -> Path:
        return self.directory / f"pod-{node}/data-{number}/kafka-log{node}"

    def log_dir(self, node: int) -> Path:
        return super().log_dir(node) if node == CONTROLLER else self.disks[node][0]

    def copy_disks(self, target: Path) -> None:
        for node in self.ids:
            shutil.copytree(self.directory / f"pod-{node}", target / f"pod-{node}")

    def _configuration(self, node: int) -> Path:
        path = super()._configuration(node)
        if node != CONTROLLER:
            with open(path, "a") as file:
                file.write(f"log.dirs={','.join(map(str, self.disks[node]))}\n")
                file.write(f"metadata.log.dir={self.disk(node, DISKS[-1])}\n")
        return path


def main(release: KafkaRelease, out: Path) -> None:
    """Write, take a disk away, write on, and give it back."""
    with tempfile.TemporaryDirectory(prefix="epochlog-layouts-") as work, Pods(Path(work), release, 2) as cluster:
        made = Path(work) / "made"
        create(cluster)
        write(cluster, 0)
        records = {"strimzi": read(cluster)}
        for node in cluster.ids:
            cluster.stop(node)
        cluster.copy_disks(made / "strimzi")
        lost, kept = cluster.disks[1]
        aside = lost.rename(Path(work) / "aside")
        cluster.disks[1] = [kept]
        gone = sorted(path.name for path in aside.glob("*-[0-9]"))
        for node in cluster.ids:
            cluster.start(node)
        wait(lambda: all((kept / name).exists() for name in gone), f"{gone} were not made again")
        write(cluster, 1)
        wait(lambda: all(in_sync(cluster, name) == 2 for name in gone), "the new copies are not in sync")
        records["doubled"] = read(cluster)
        for node in cluster.ids:
            cluster.stop(node)
        aside.rename(lost)
        cluster.disks[1] = [lost, kept]
        cluster.copy_disks(made / "doubled")
        truth = {"version": release.version, "twice": gone, "records": records, "refusal": refusal(cluster)}
        (made / "truth.json").write_text(json.dumps(truth, indent=1, sort_keys=True))
        pack(made, out / f"layouts-{release.version}.tar.xz")


def create(cluster: Pods) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
    topics = [
        NewTopic(name, count, 2, config=COMPACTED if name == "prices" else {}) for name, count in PARTITIONS.items()
    ]
    for future in admin.create_topics(topics, operation_timeout=60).values():
        future.result(60)


def write(cluster: Pods, turn: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "acks": "all", "compression.type": "lz4"})
    for number in range(RECORDS):
        for topic, count in PARTITIONS.items():
            for partition in range(count):
                producer.produce(
                    topic,
                    f"{topic} {partition} {turn} {number}",
                    f"key {number % 7}",
                    partition,
                    timestamp=BASE_TIMESTAMP + 1_000 * (turn * RECORDS + number),
                )
        if number % 10 == 9 and producer.flush(WAIT_SECONDS):
            raise TimeoutError("not acknowledged")


def read(cluster: Pods) -> dict[str, list[list[Any]]]:
    """What a consumer reads: offsets and values by partition."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "unused", "enable.auto.commit": False})
    found: dict[str, list[list[Any]]] = {}
    for topic, count in PARTITIONS.items():
        for number in range(count):
            place = TopicPartition(topic, number, 0)
            _, end = consumer.get_watermark_offsets(place, WAIT_SECONDS)
            consumer.assign([place])
            rows = found[f"{topic}-{number}"] = []
            while not rows or rows[-1][0] < end - 1:
                message = consumer.poll(WAIT_SECONDS)
                if message is None or message.error():
                    raise OSError(f"{place}: {message and message.error()}")
                rows.append([message.offset(), message.value().decode()])
    consumer.close()
    return found


def in_sync(cluster: Pods, name: str) -> int:
    topic, _, number = name.rpartition("-")
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap(2)})
    return len(admin.list_topics(topic, WAIT_SECONDS).topics[topic].partitions[int(number)].isrs)


def refusal(cluster: Pods) -> str:
    """Return what broker 1 says as it ends at its start."""
    done = subprocess.run(cluster._command(1), capture_output=True, text=True, timeout=WAIT_SECONDS, check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if "uplicate log director" in line]
    if not done.returncode or not said:
        raise OSError(f"it ended with {done.returncode}: {done.stdout[-3_000:]}")
    return f"Duplicate{said[0].partition('Duplicate')[2]}".replace(f"{cluster.directory}/", "")


def wait(is_so: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(0.5)


if __name__ == "__main__":
    main(release_of(sys.argv[1]), Path(sys.argv[2]))
