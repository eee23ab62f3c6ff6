"""Whether a node's copy of the metadata agrees with its leader's log: values in, values out.

Kafka: KafkaRaftClient.tryCompleteFetchRequest, KafkaRaftLog.validateOffsetAndEpoch (KIP-595, KIP-630).
"""

from collections.abc import Sequence

from epoch import EndOffset, UnknownEpochError, diverging_epoch
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.wire.messages.fetch import SnapshotId


def departure(
    log: FollowedLogState, snapshot_ids: Sequence[SnapshotId], fetch_offset: int, last_fetched_epoch: int
) -> SnapshotId | EndOffset | None:
    """Return what a copy has to go on from instead, a snapshot or an earlier end; None where it may go on.

    The copy ends at `fetch_offset`, after a record of `last_fetched_epoch`; an empty one is in epoch 0. The leader's
    log goes on from the earliest of its snapshots, unless it begins with the first record of all; the copy gets the
    latest.
    """
    if snapshot_ids and _needs_snapshot(log, snapshot_ids[0], fetch_offset, last_fetched_epoch):
        return snapshot_ids[-1]
    if log.log_start_offset == fetch_offset == 0:
        return None
    try:
        return diverging_epoch(log.history, log.log_end_offset, fetch_offset, last_fetched_epoch)
    except UnknownEpochError:
        return EndOffset(max(log.latest_epoch, 0), log.log_end_offset)


def _needs_snapshot(log: FollowedLogState, earliest: SnapshotId, fetch_offset: int, last_fetched_epoch: int) -> bool:
    """Whether a copy is empty, which a snapshot fills faster, or departs before the leader's log begins."""
    return (
        fetch_offset == 0
        or fetch_offset < log.log_start_offset
        or last_fetched_epoch < earliest.epoch
        or (fetch_offset == log.log_start_offset and last_fetched_epoch != earliest.epoch)
    )
