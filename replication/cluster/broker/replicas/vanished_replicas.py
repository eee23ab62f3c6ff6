"""The replicas of a broker whose logs have vanished with the files that spoke of them."""

import logging
from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

from logstore import LogStoreError, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.files.partition_metadata import format_uuid
from replication.cluster.broker.partitions.lost_replica import has_vanished
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration

_log: Final = logging.getLogger(__name__)


def note_vanished(
    image: ClusterImage, broker_id: int, directories: LogDirectories, directory_ids: Mapping[UUID, LogDirectory]
) -> None:
    """Note as shortfalls what roots that lack their own files had, by an image that has been read to its end.

    These have such files from then on, before a log is made there: a later start takes them for roots that have lost
    nothing. While a root is offline nothing is noted, as a log may lie there, and none is made.
    """
    bare = {id_: root for id_, root in directory_ids.items() if not root.has_all_checkpoint_files}
    if directories.offline or not bare:
        return
    known = {each for root in directories.roots for each in (*root.partitions, *root.unreadable)}
    known |= {partition for partition, short in directories.shortfalls.items() if not short.evidence}
    missing: dict[LogDirectory, dict[TopicPartition, str]] = {root: {} for root in bare.values()}
    for partition, state in _replicas(image, broker_id):
        root = bare.get(state.directory_of(broker_id))
        if root is not None and partition not in known and has_vanished(broker_id, state):
            missing[root][partition] = _evidence(broker_id, state)
    for root, evidence in missing.items():
        try:
            root.miss(evidence)
        except (LogStoreError, OSError) as error:
            _log.error("%s: what it lacks cannot be kept there: %s", root.root, error)


def _replicas(image: ClusterImage, broker_id: int) -> Iterator[tuple[TopicPartition, PartitionRegistration]]:
    for topic, number, state in image.topics.partitions():
        if broker_id in state.replicas:
            yield TopicPartition(topic.name, number), state


def _evidence(broker_id: int, state: PartitionRegistration) -> str:
    """Return what the metadata says for it."""
    standing = "in the ISR" if broker_id in state.isr else "eligible as leader"
    if broker_id not in (*state.isr, *state.elr):
        standing = "the last known leader"
    directory = format_uuid(state.directory_of(broker_id))
    return f"by the cluster's metadata it is in this root ({directory}), and {standing} in epoch {state.leader_epoch}"
