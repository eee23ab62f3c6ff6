"""Where our answers differ from a real broker's on the same files, each by name and with the reason.

- cut-off batch: a broker ends the records of a partition where the limit is, in the middle of a batch, which clients
  throw away. Ours end with the last whole batch. So what is left of the whole limit for the partitions after it
  differs too.
- which controller: a broker names any that is alive, at random. Ours names the one with the lowest id.
- session ids are random.
- order: log directories are told in the order of their partitions, which is that of a hash table in a broker.
- usable space changes while both are asked.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from logstore import TopicPartition
from logstore.batch.batches import read_batches
from logstore.errors import LogStoreError
from replication.protocol.messages.describe_cluster import DescribedCluster
from replication.protocol.messages.fetch import FetchedPartition, FetchResponse
from replication.protocol.messages.metadata import ClusterMetadata


def without_known_differences(theirs: Any, ours: Any) -> tuple[Any, Any]:
    """Return both answers without what is known to differ."""
    if isinstance(theirs, FetchResponse):
        return _fetched(theirs, ours)
    if isinstance(theirs, ClusterMetadata | DescribedCluster):
        return _with_any_controller(theirs), _with_any_controller(ours)
    if type(theirs).__name__ == "DescribeLogDirsResponse":
        return _without_usable_space(theirs), _without_usable_space(ours)
    return theirs, ours


def _fetched(theirs: FetchResponse, ours: FetchResponse) -> tuple[Any, Any]:
    is_cut = False
    told: tuple[dict[TopicPartition, FetchedPartition], ...] = ({}, {})
    for partition, their in theirs.partitions.items():
        our = ours.partitions.get(partition)
        if our is None:
            continue  # told by the keys below
        whole = whole_batches(their.records)
        told[0][partition] = their._replace(records=b"" if is_cut else whole)
        told[1][partition] = our._replace(records=b"" if is_cut else our.records)
        is_cut = is_cut or len(whole) < len(their.records)
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
