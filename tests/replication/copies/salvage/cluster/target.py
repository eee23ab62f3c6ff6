"""A topic of a real cluster, as a test makes it and as its readers find it."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from replication.copies.salvage.cluster.connection import Connection
from replication.copies.salvage.cluster.target_cluster import TargetCluster

_SECONDS_TO_DECIDE = 30.0


@dataclass(frozen=True)
class Target:
    """A cluster by its address."""

    address: str

    @property
    def client(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.address}

    def create(self, topic: str, partitions: int = 1, **settings: object) -> str:
        config = {name.replace("_", "."): str(value) for name, value in settings.items()}
        admin = AdminClient(self.client)
        for future in admin.create_topics([NewTopic(topic, partitions, 1, config=config)]).values():
            future.result(60)
        return topic

    def write(self, topic: str, values: Iterable[bytes], partition: int = 0, timestamp: int = 1_000) -> None:
        producer = Producer(self.client)
        for value in values:
            producer.produce(topic, value, partition=partition, timestamp=timestamp)
        assert producer.flush(60) == 0

    def read(self, topic: str, partition: int = 0) -> list[Message]:
        """All committed records, in order, once Kafka has written the markers of what is being committed.

        A commit is answered before that, and until then the records are not there for readers of committed ones.
        """
        self._wait_until_decided(topic, partition)
        consumer = Consumer(
            self.client
            | {
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(topic, partition, 0)])
        found: list[Message] = []
        try:
            while True:
                message = consumer.poll(60)
                assert message is not None
                error = message.error()
                if error is None:
                    found.append(message)
                    continue
                assert error.code() == KafkaError._PARTITION_EOF, error
                return found
        finally:
            consumer.close()

    def values(self, topic: str, partition: int = 0) -> list[bytes | None]:
        return [message.value() for message in self.read(topic, partition)]

    def _wait_until_decided(self, topic: str, partition: int) -> None:
        cluster = TargetCluster(Connection(self.client))
        end = cluster.end_offset(topic, partition, committed=False)
        deadline = time.monotonic() + _SECONDS_TO_DECIDE
        while cluster.end_offset(topic, partition, committed=True) < end and time.monotonic() < deadline:
            time.sleep(0.02)
