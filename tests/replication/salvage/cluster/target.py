"""A topic of a real cluster, as a test makes it and as its readers find it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic


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
        """All committed records, in order."""
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
