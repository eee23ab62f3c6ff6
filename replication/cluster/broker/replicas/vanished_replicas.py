"""The replicas of a broker whose logs have vanished with the files that spoke of them."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final
from uuid import UUID

from logstore import LogStoreError, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.files.partition_metadata import format_uuid
from replication.cluster.broker.partitions.lost_replica import has_vanished, is_as_made
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.partition import PartitionRegistration

_log: Final = logging.getLogger(__name__)


def note_vanished(
    image: ClusterImage, broker_id: int, directories: LogDirectories, directory_ids: Mapping[UUID, LogDirectory]
) -> None:
    """Note as shortfalls what roots that lack their own files had, by an image that has been read to its end.

    These have such files from then on, before a log is made there: a later start takes them for roots that have lost
    nothing. So it is noted while another root is offline, too, where the log may lie after all, as a move is told
    before it is made: it is missing no more once that root is back and holds it. What is out of sync is noted then as
    well: no log is made meanwhile that could catch up, and it might be elected uncleanly.
    """
    bare = {id_: root for id_, root in directory_ids.items() if not root.has_all_checkpoint_files}
    if not bare:
        return
    known = {each for root in directories.roots for each in (*root.partitions, *root.unreadable)}
    known |= {partition for partition, short in directories.shortfalls.items() if not short.evidence}
    missing: dict[LogDirectory, dict[TopicPartition, str]] = {root: {} for root in bare.values()}
    for partition, state in _replicas(image, broker_id):
        root = bare.get(state.directory_of(broker_id))
        if root is None or partition in known or is_as_made(state):
            continue
        if directories.offline or has_vanished(broker_id, state):
            missing[root][partition] = _evidence(broker_id, state, directories.offline)
    for root, evidence in missing.items():
        try:
            root.miss(evidence)
        except (LogStoreError, OSError) as error:
            _log.error("%s: what it lacks cannot be kept there: %s", root.root, error)


def _replicas(image: ClusterImage, broker_id: int) -> Iterator[tuple[TopicPartition, PartitionRegistration]]:
    for topic, number, state in image.topics.partitions():
        if broker_id in state.replicas:
            yield TopicPartition(topic.name, number), state


def _evidence(broker_id: int, state: PartitionRegistration, offline: Iterable[Path]) -> str:
    """Return what the metadata says for it."""
    standing = "out of sync"
    if broker_id in state.isr:
        standing = "in the ISR"
    elif broker_id in state.elr:
        standing = "eligible as leader"
    elif broker_id in (state.leader, *state.last_known_elr):
        standing = "the last known leader"
    directory = format_uuid(state.directory_of(broker_id))
    said = f"by the cluster's metadata it is in this root ({directory}), and {standing} in epoch {state.leader_epoch}"
    others = ", ".join(map(str, offline))
    return f"{said}; it may lie in {others} instead, which is offline" if others else said
