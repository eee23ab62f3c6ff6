"""Real clients of a broker of ours."""

from collections.abc import Iterable
from typing import NamedTuple

import confluent_kafka as ck

from logstore.log.readable_log import ReadableLog
from tests.replication.cluster.serving.clients import Seen

SECONDS = 60


class Read(NamedTuple):
    """A record as a client has it."""

    offset: int
    key: bytes | None
    value: bytes | None


def produce(bootstrap: str, topic: str, values: Iterable[bytes], **settings: object) -> list[str]:
    """Send values to partition 0, and return the errors that came back."""
    errors: list[str] = []
    producer = ck.Producer({"bootstrap.servers": bootstrap, "acks": "all", **settings})

    def note(error: object, _: object) -> None:
        if error is not None:
            errors.append(str(error))

    for value in values:
        producer.produce(topic, value, b"key of " + value, partition=0, on_delivery=note)
    if producer.flush(SECONDS):
        errors.append("not all was acknowledged in time")
    return errors


def read(bootstrap: str, topic: str, **settings: object) -> list[Read]:
    """Read partition 0 up to its end."""
    consumer = ck.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            **settings,
        }
    )
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    found: list[Read] = []
    try:
        while (message := consumer.poll(SECONDS)) is not None:
            error = message.error()
            if error is None:
                found.append(Read(message.offset() or 0, message.key(), message.value()))
            elif error.code() == ck.KafkaError._PARTITION_EOF:
                return found
            else:
                raise ck.KafkaException(error)
        raise TimeoutError(f"{len(found)} records of {topic} came, and no end")
    finally:
        consumer.close()


def seen(log: ReadableLog) -> list[Seen]:
    """Return the records of a log as a client has to see them."""
    return [Seen(each.offset, each.timestamp, each.key, each.value, tuple(each.headers)) for each in log.records()]
