"""Whether a node's copy of the metadata agrees with its leader's log: values in, values out.

Kafka: KafkaRaftClient.tryCompleteFetchRequest, KafkaRaftLog.validateOffsetAndEpoch (KIP-595, KIP-630).
"""

from epoch import EndOffset, UnknownEpochError, diverging_epoch
from replication.fetcher.decisions.followed_log_state import FollowedLogState
from replication.protocol.messages.fetch import SnapshotId


def departure(
    log: FollowedLogState, snapshot_id: SnapshotId | None, fetch_offset: int, last_fetched_epoch: int
) -> SnapshotId | EndOffset | None:
    """Return what a copy has to go on from instead, a snapshot or an earlier end; None where it may go on.

    The copy ends at `fetch_offset`, after a record of `last_fetched_epoch`; an empty one is in epoch 0. The leader's
    log has a snapshot, its latest, unless it begins with the first record of all; its history begins with the epoch of
    the record before its start, where that is known.
    """
    if snapshot_id is not None and _needs_snapshot(log, fetch_offset, last_fetched_epoch):
        return snapshot_id
    if log.log_start_offset == fetch_offset == 0:
        return None
    try:
        return diverging_epoch(log.history, log.log_end_offset, fetch_offset, last_fetched_epoch)
    except UnknownEpochError:
        return EndOffset(max(log.latest_epoch, 0), log.log_end_offset)


def _needs_snapshot(log: FollowedLogState, fetch_offset: int, last_fetched_epoch: int) -> bool:
    """Whether a copy is empty, which a snapshot fills faster, or departs before the leader's log begins."""
    start, earliest = log.log_start_offset, log.history.earliest
    return (
        fetch_offset == 0
        or fetch_offset < start
        or earliest is None
        or last_fetched_epoch < earliest.epoch
        or (fetch_offset == start and last_fetched_epoch != log.history.epoch_for_offset(start - 1))
    )
