"""Metrics of what goes into a broker and out of it, of all topics and of each."""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import Metric

from replication.broker.partitions.broker_traffic import BrokerTraffic
from replication.node.metrics.kafka_families import counter

_TOPICS: Final = "kafka.server:BrokerTopicMetrics"
_BY_TOPIC: Final = {
    "messages_in": ("MessagesInPerSec", "Messages appended for producers and coordinators."),
    "bytes_in": ("BytesInPerSec", "Bytes of their record batches."),
    "bytes_out": ("BytesOutPerSec", "Bytes of record batches sent to consumers."),
    "failed_appends": ("FailedProduceRequestsPerSec", "Appends of producers that failed."),
}
_OF_ALL: Final = {
    "replication_bytes_in": ("ReplicationBytesInPerSec", "Bytes of record batches copied from leaders."),
    "replication_bytes_out": ("ReplicationBytesOutPerSec", "Bytes of record batches sent to followers."),
}


def traffic_metrics(traffic: BrokerTraffic) -> Iterator[Metric]:
    """Yield them; as Kafka's, a topic's have its name as a label, and those of all topics have none."""
    total, topics = traffic.totals()
    for field, (name, meaning) in (_BY_TOPIC | _OF_ALL).items():
        family = counter(f"{_TOPICS}:{name}", meaning, labels=("topic",))
        family.add_sample(f"{family.name}_total", {}, getattr(total, field))
        if field in _BY_TOPIC:
            for topic, each in topics.items():
                family.add_metric([topic], getattr(each, field))
        yield family
