"""Where our answers differ from a real broker's on the same files, each by name and with the reason.

- cut-off batch: a broker ends the records of a partition where the limit is, in the middle of a batch, which clients
  throw away. Ours end with the last whole batch. So what is left of the whole limit for the partitions after it
  differs too, and with them the transactions to skip.
- which controller: a broker names any that is alive, at random. Ours names the one with the lowest id.
- session ids are random.
- order: log directories are told in the order of their partitions, which is that of a hash table in a broker.
- settings from files: what a broker reads from its own file, and of brokers all defaults, a directory does not tell.
  Settings of topics that are younger than Kafka 4.3 are not told either.
- usable space changes while both are asked.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from logstore import TopicPartition
from logstore.batch.batches import read_batches
from logstore.errors import LogStoreError
from replication.records.metadata.settings.topic_settings import TOPIC_SETTINGS
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_cluster import DescribedCluster
from replication.wire.messages.describe_configs import BROKER, DescribedConfigs
from replication.wire.messages.fetch import FetchedPartition, FetchResponse
from replication.wire.messages.metadata import ClusterMetadata

_FILE, _DEFAULT = 4, 5
"""Sources of settings: a broker's own file, and nobody."""


def without_known_differences(theirs: Any, ours: Any) -> tuple[Any, Any]:
    """Return both answers without what is known to differ."""
    if isinstance(theirs, FetchResponse):
        return _fetched(theirs, ours)
    if isinstance(theirs, ClusterMetadata | DescribedCluster):
        return _with_any_controller(theirs), _with_any_controller(ours)
    if isinstance(theirs, DescribedConfigs):
        return _settings(theirs, ours)
    if type(theirs).__name__ == "DescribeLogDirsResponse":
        return _without_usable_space(theirs), _without_usable_space(ours)
    return theirs, ours


def _settings(theirs: DescribedConfigs, ours: DescribedConfigs) -> tuple[Any, Any]:
    """Return what files do not set, of topics also what is there by default, without what invalid topics are told."""
    told: tuple[dict[Any, Any], ...] = ({}, {})
    for resource, their in theirs.resources.items():
        from_files = {name for name, each in their.settings.items() if any(s.source == _FILE for s in each.synonyms)}
        from_files |= {name for name, each in their.settings.items() if each.source == _FILE}
        defaults = {name for name, each in their.settings.items() if each.source == _DEFAULT}
        ignored = from_files | (defaults if resource.type == BROKER else defaults - TOPIC_SETTINGS.keys())
        for side, answer in enumerate((theirs, ours)):
            known = answer.resources.get(resource)
            told[side][resource] = known and (
                known.error,
                known.error_message if known.error is not ErrorCode.INVALID_TOPIC_EXCEPTION else None,
                {name: each for name, each in known.settings.items() if name not in ignored},
            )
    return told


def _fetched(theirs: FetchResponse, ours: FetchResponse) -> tuple[Any, Any]:
    is_cut = False
    told: tuple[dict[TopicPartition, FetchedPartition], ...] = ({}, {})
    for partition, answered in theirs.partitions.items():
        if partition not in ours.partitions:
            continue  # told by the keys below
        their, our = answered, ours.partitions[partition]
        if is_cut:
            their, our = (each._replace(records=b"", aborted_transactions=None) for each in (their, our))
        told[0][partition] = their._replace(records=whole_batches(their.records))
        told[1][partition] = our
        is_cut = is_cut or len(told[0][partition].records) < len(their.records)
    return tuple(
        replace(
            answer,
            partitions=told[side] | dict.fromkeys(answer.partitions.keys() - told[side].keys()),
            session_id=min(1, answer.session_id),
        )
        for side, answer in enumerate((theirs, ours))
    )  # type: ignore[return-value]


def whole_batches(records: bytes | memoryview) -> bytes:
    """Return what there is before a batch that is cut off."""
    end = 0
    with suppress(LogStoreError):
        for batch in read_batches(memoryview(records)):
            end = batch.position + batch.size
    return bytes(records[:end])


def _with_any_controller(answer: Any) -> Any:
    return replace(answer, controller_id=min(0, answer.controller_id))


def _without_usable_space(answer: Any) -> Any:
    return [
        (each.log_dir, each.error_code, _in_order(each.topics), getattr(each, "total_bytes", None))
        for each in answer.results
    ]


def _in_order(topics: Any) -> list[tuple[str, int, int, int]]:
    return sorted(
        (topic.name, each.partition_index, each.partition_size, each.offset_lag)
        for topic in topics
        for each in topic.partitions
    )
