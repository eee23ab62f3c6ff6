"""The cluster that takes the records, as it describes itself."""

import time
from collections.abc import Sequence
from typing import Any, Final

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from replication.copies.salvage.cluster.connection import Connection
from replication.copies.salvage.cluster.target_topic import TargetTopic

_AGAIN_SECONDS: Final = 0.1
_LEADERLESS: Final = frozenset({KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE})


class TargetCluster:
    """What is asked before anything is written. All methods raise ClusterError."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._admin = AdminClient(connection.settings())

    def cluster_id(self) -> str:
        """Return the cluster's id."""
        with self._connection.asking("no answer"):
            asked = self._admin.describe_cluster(request_timeout=self._connection.timeout)
            described = self._connection.answer(self._admin, asked)
        return str(described.cluster_id)

    def topics(self, names: Sequence[str]) -> dict[str, TargetTopic]:
        """Describe topics; those that the cluster lacks, or does not show to this client, are left out."""
        wait = self._connection.timeout
        described = self._admin.describe_topics(
            TopicCollection(list(names)), include_authorized_operations=True, request_timeout=wait
        )
        found: dict[str, Any] = {}
        for name, future in described.items():
            with self._connection.asking(f"the topic {name} cannot be looked at"):
                try:
                    found[name] = future.result()
                except KafkaException as exception:
                    if not _is_lacking(exception):
                        raise
        settings = self._settings(list(found))
        return {
            name: TargetTopic(
                name,
                len(topic.partitions),
                settings[name],
                frozenset(each.name for each in topic.authorized_operations or ()),
            )
            for name, topic in found.items()
        }

    def _settings(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        if not names:
            return {}
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        settings: dict[str, dict[str, str]] = {}
        asked = self._admin.describe_configs(resources, request_timeout=self._connection.timeout)
        for resource, future in asked.items():
            with self._connection.asking(f"the settings of the topic {resource.name} cannot be read"):
                settings[resource.name] = {name: entry.value for name, entry in future.result().items()}
        return settings

    def end_offset(self, topic: str, partition: int, *, committed: bool) -> int:
        """Return where a partition ends: what is written, or the part before the first open transaction."""
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        return self._offset(topic, partition, OffsetSpec.latest(), level)

    def first_offset(self, topic: str, partition: int, since: int | None) -> int | None:
        """Return the first offset from a time on, in milliseconds, or of all; None if there is nothing so new."""
        spec = OffsetSpec.earliest() if since is None else OffsetSpec.for_timestamp(since)
        offset = self._offset(topic, partition, spec, IsolationLevel.READ_UNCOMMITTED)
        return None if offset < 0 else offset

    def _offset(self, topic: str, partition: int, spec: OffsetSpec, level: IsolationLevel) -> int:
        place = TopicPartition(topic, partition)
        deadline = time.monotonic() + self._connection.timeout
        with self._connection.asking(f"the offsets of {topic}-{partition} cannot be read"):
            while True:
                try:
                    return self._asked_offset(place, spec, level)
                except KafkaException as exception:
                    if not _has_no_leader(exception) or time.monotonic() > deadline:
                        raise
                time.sleep(_AGAIN_SECONDS)

    def _asked_offset(self, place: TopicPartition, spec: OffsetSpec, level: IsolationLevel) -> int:
        asked = self._admin.list_offsets({place: spec}, isolation_level=level, request_timeout=self._connection.timeout)
        return int(asked[place].result().offset)


def _is_lacking(exception: KafkaException) -> bool:
    error: KafkaError = exception.args[0]
    return error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def _has_no_leader(exception: KafkaException) -> bool:
    """Whether somebody leads the partition in a moment, as after its topic was made: librdkafka does not ask again."""
    error: KafkaError = exception.args[0]
    return error.code() in _LEADERLESS
