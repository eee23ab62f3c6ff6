"""A follower's log: what its decisions need to know of it, and how they are carried out."""

from typing import Final

from epoch import UNDEFINED_EPOCH
from logstore import (
    AppendInfo,
    CorruptBatchError,
    CorruptRecordError,
    DecompressionError,
    Log,
    TopicPartition,
    UnexpectedAppendOffsetError,
)
from logstore.append_info import NOTHING_APPENDED
from logstore.batches import read_batches
from replication.fetcher.actions import Append, StartAfresh, TruncateTo
from replication.fetcher.errors import DamagedRecordsError, RefusedRecordsError
from replication.fetcher.fetch_observer import Cut, FetchObserver
from replication.fetcher.fetched_batches import EpochsOutOfOrderError, OffsetsOverlapError, split_batches, whole_batches
from replication.fetcher.log_state import LogState

_DAMAGE: Final = (CorruptBatchError, CorruptRecordError, DecompressionError)
_ANY_EPOCH: Final = 2**31 - 1
"""Of a leader whose epoch is not known, as before Metadata v7."""


class FollowedLog:
    """Carries out on a `Log` what a follower has decided (Kafka: the follower's half of Partition)."""

    __slots__ = ("_observer", "log", "partition")

    def __init__(self, partition: TopicPartition, log: Log, observer: FetchObserver) -> None:
        """Nobody else may append to `log` or truncate it meanwhile."""
        self.partition = partition
        self.log = log
        self._observer = observer

    def state(self) -> LogState:
        """Return where the log stands now."""
        log = self.log
        return LogState(log.log_start_offset, log.log_end_offset, log.high_watermark, log.epochs.history)

    def cut(self, action: TruncateTo | StartAfresh, leader_epoch: int) -> None:
        """Truncate, and tell the observer before and after where records go.

        Raises OSError and LogStoreError, and what the observer raises, with nothing cut then.
        """
        if isinstance(action, TruncateTo) and action.offset >= self.log.log_end_offset:
            self.log.truncate_to(action.offset)
            return
        cut = self._cut(action, leader_epoch)
        if cut.offset_count > 0:
            self._observer.truncating(self.log, cut)
        if isinstance(action, StartAfresh):
            self.log.truncate_fully_and_start_at(action.offset)
        else:
            self.log.truncate_to(action.offset)
        if cut.offset_count > 0:
            self._observer.truncated(self.log, cut)

    def append(self, action: Append, leader_epoch: int) -> AppendInfo:
        """Append what the leader of `leader_epoch` sent, then take its high watermark and its log's start.

        Batches from the first of a later epoch on are left out: the next answer tells of the newer leader.

        Raises DamagedRecordsError where the same may come whole the next time; RefusedRecordsError, LogStoreError and
        OSError where that is no use. What is damaged, or comes after it, is not appended.
        """
        log = self.log
        if action.log_start_offset > log.log_end_offset:
            fault = f"the leader's log starts at offset {action.log_start_offset:,}, beyond what was asked for"
            raise DamagedRecordsError(self.partition, fault)
        info = self._append_records(action.records, leader_epoch) if action.records else NOTHING_APPENDED
        if min(action.high_watermark, log.log_end_offset) != log.high_watermark:
            log.update_high_watermark(action.high_watermark)
        if action.log_start_offset > log.log_start_offset:
            log.delete_records(min(action.log_start_offset, log.high_watermark))
        return info

    def _append_records(self, records: bytes | memoryview, leader_epoch: int) -> AppendInfo:
        latest = self.log.epochs.history.latest_epoch
        try:
            whole = whole_batches(records, UNDEFINED_EPOCH if latest is None else latest)
            info = self._append_whole(whole, leader_epoch)
        except (EpochsOutOfOrderError, OffsetsOverlapError) as error:
            raise RefusedRecordsError(self.partition, str(error)) from None
        except _DAMAGE as error:
            raise DamagedRecordsError(self.partition, str(error)) from error
        if info.size == 0:
            self._refuse_unusable(records, whole, leader_epoch)
        return info

    def _append_whole(self, whole: memoryview, leader_epoch: int) -> AppendInfo:
        """Append an answer at once, or in parts where a segment does not take so much at once.

        What comes before a damaged part stays: the next answer begins with that.
        """
        most = self.log.config.segment_bytes
        if len(whole) <= most:
            return self._append_batches(whole, leader_epoch)
        infos: list[AppendInfo] = []
        for part in split_batches(whole, most):
            try:
                infos.append(self._append_batches(part, leader_epoch))
            except _DAMAGE:
                if not infos:
                    raise
                break
        return AppendInfo(
            infos[0].first_offset,
            max(info.last_offset for info in infos),
            max(info.max_timestamp for info in infos),
            sum(info.size for info in infos),
        )

    def _append_batches(self, whole: memoryview, leader_epoch: int) -> AppendInfo:
        epoch = _ANY_EPOCH if leader_epoch == UNDEFINED_EPOCH else leader_epoch
        try:
            return self.log.append_batches(whole, leader_epoch=epoch)
        except UnexpectedAppendOffsetError as error:
            first_offset = error.offset
            if first_offset is None or not self._starts_within(whole, first_offset):
                raise
            # The leader's log starts within this batch: records were deleted up to there.
            reason = f"the leader's log starts within the batch at offset {first_offset:,}"
            self.cut(StartAfresh(first_offset, reason), leader_epoch)
            return self.log.append_batches(whole, leader_epoch=epoch)

    def _starts_within(self, whole: memoryview, first_offset: int) -> bool:
        """Whether an empty log starts within what was sent, as Kafka allows."""
        end = self.log.log_end_offset
        return end == self.log.log_start_offset and first_offset < end <= _last_offset(whole)

    def _refuse_unusable(self, records: bytes | memoryview, whole: memoryview, leader_epoch: int) -> None:
        if whole:
            fault = f"it begins with a batch of a later epoch than the leader's, {leader_epoch}"
        else:
            length = int.from_bytes(records[8:12], "big", signed=True)
            fault = f"it begins with a batch of {length:,} bytes, of which only {len(records):,} came"
        raise DamagedRecordsError(self.partition, fault)

    def _cut(self, action: TruncateTo | StartAfresh, leader_epoch: int) -> Cut:
        log = self.log
        return Cut(
            self.partition,
            action.offset,
            log.log_start_offset,
            log.log_end_offset,
            log.high_watermark,
            leader_epoch,
            action.reason,
            starts_afresh=isinstance(action, StartAfresh),
        )


def _last_offset(whole: memoryview) -> int:
    offset = -1
    for batch in read_batches(whole):
        offset = batch.last_offset
    return offset
