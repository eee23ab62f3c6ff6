"""Whether a log still has what a read has given that is to go on where it ended."""

from logstore.topic_partition import TopicPartition
from replication.base.errors import LogTruncatedError
from replication.copies.audit.log_rows.options.read_end import NO_EPOCH, ReadEnd
from replication.copies.audit.log_rows.read_ends.log_heads import LogHeads


def ensure_kept(end: ReadEnd, partition: TopicPartition, place: str, heads: LogHeads) -> None:
    """Raise LogTruncatedError unless a log still has the record before the end; raises OSError.

    A topic that was created again has none of the records, whatever its offsets and epochs are.

    `place` is where the log is. A record that the cleaner removed counts as kept where the epochs around it allow
    for its own.
    """
    topic_id = heads.topic_id
    if end.offset and end.topic_id and topic_id and end.topic_id != topic_id:
        raise LogTruncatedError.recreated(partition, place, end.offset, heads.begin or 0)
    begin = heads.begin
    if begin is not None and end.offset < begin:
        raise LogTruncatedError.below(partition, place, end.offset, begin)
    if end.offset and not _is_kept(end, heads):
        cut, is_certain = _cut(end, heads)
        raise LogTruncatedError.cut(partition, place, (end.offset, end.leader_epoch), cut, is_certain=is_certain)


def _is_kept(end: ReadEnd, heads: LogHeads) -> bool:
    before = heads.before(end.offset)
    if before is not None and before.last_offset >= end.offset - 1:
        return before.leader_epoch == end.leader_epoch
    after = heads.after(end.offset)
    goes_on = after is not None or (heads.segments and heads.segments[-1].base_offset >= end.offset)
    least = before.leader_epoch if before else NO_EPOCH
    greatest = after.leader_epoch if after else end.leader_epoch
    return bool(goes_on) and least <= end.leader_epoch <= greatest


def _cut(end: ReadEnd, heads: LogHeads) -> tuple[int, bool]:
    """Return from which offset on the log is another one, and whether a batch of the epoch is left to show it."""
    for head in heads.downwards(end.offset):
        if head.leader_epoch <= end.leader_epoch:
            return min(head.last_offset + 1, end.offset - 1), head.leader_epoch == end.leader_epoch
    return 0, False
