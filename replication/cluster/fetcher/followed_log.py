"""A follower's log: what its decisions need to know of it, and how they are carried out."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from epoch import UNDEFINED_EPOCH
from epoch.history import MAX_EPOCH
from logstore import (
    AppendInfo,
    CorruptBatchError,
    CorruptRecordError,
    DecompressionError,
    InvalidRecordError,
    Log,
    OffsetsOutOfOrderError,
    TopicPartition,
    TornBatchError,
    UnexpectedAppendOffsetError,
)
from logstore.append.append_info import NOTHING_APPENDED
from logstore.batch.batches import read_batch
from logstore.batch.layout import LENGTH_AT, LOG_OVERHEAD
from logstore.errors import LogStoreError
from logstore.log.state.root_claims import AnnouncedCut, announce
from replication.cluster.fetcher.decisions.actions import Action, Append, StartAfresh, Truncate
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.cluster.fetcher.errors import EarlyRecordsError, RefusedRecordsError
from replication.cluster.fetcher.fetch_observer import Cut, FetchObserver
from replication.cluster.fetcher.fetched_batches import (
    EpochsOutOfOrderError,
    GapAboveHighWatermarkError,
    LastBatch,
    OffsetsOverlapError,
    WholeBatches,
    before_offset,
    split_batches,
    whole_batches,
)

_DAMAGE: Final = (
    CorruptBatchError,
    CorruptRecordError,
    DecompressionError,
    EpochsOutOfOrderError,
    GapAboveHighWatermarkError,
    InvalidRecordError,
    OffsetsOutOfOrderError,
    OffsetsOverlapError,
    TornBatchError,
    UnexpectedAppendOffsetError,
)
"""What one flipped bit can make of a sound answer: the next one may be whole."""
_ANY_EPOCH: Final = MAX_EPOCH
"""Of a leader whose epoch is not known, as before Metadata v7."""


class FollowedLog:
    """Carries out on a `Log` what a follower has decided (Kafka: the follower's half of Partition)."""

    __slots__ = ("_observer", "_overlap", "_shown", "log", "partition")

    def __init__(self, partition: TopicPartition, log: Log, observer: FetchObserver) -> None:
        """Nobody else may append to `log` or truncate it meanwhile."""
        self.partition = partition
        self.log = log
        self._observer = observer
        self._shown: tuple[LastBatch, int] | None = None
        """What an answer ended with that is appended once another shows the same, and that answer's leader epoch."""
        self._overlap: int | None = None
        """Where an answer began, below the log's end."""

    def state(self) -> FollowedLogState:
        """Return where the log stands now."""
        log = self.log
        return FollowedLogState(log.log_start_offset, log.log_end_offset, log.high_watermark, log.epochs.history)

    def cut(self, action: Truncate | StartAfresh, leader_epoch: int) -> None:
        """Truncate, and call the observer before and after where records go.

        Where the offset lies within a batch, all of that goes: the log ends below the offset then, and not with a hole,
        as Kafka's does. Raises OSError and LogStoreError, and what the observer raises, with nothing cut then.
        """
        if self._cuts_nothing(action):
            self.log.truncate_to(action.offset)
            return
        action = self._whole(action)
        cut = self._cut(action, leader_epoch)
        if cut.offset_count > 0:
            self._observer.truncating(self.log, cut)
        if self._begins_anew(action):
            # Where the log starts within a batch, Kafka goes on in that batch's segment, which then begins with a hole.
            self.log.truncate_fully_and_start_at(action.offset)
        else:
            self.log.truncate_to(action.offset)
        if cut.offset_count > 0:
            self._observer.truncated(self.log, cut)

    def announced(self, action: Truncate | StartAfresh) -> AnnouncedCut | None:
        """Return what a root can do for the cuts of several logs at once; None where there is nothing.

        Raises OSError and LogStoreError.
        """
        if self._cuts_nothing(action):
            return None
        action = self._whole(action)
        return self.log.announced_cut(action.offset, begins_anew=self._begins_anew(action))

    def _cuts_nothing(self, action: Truncate | StartAfresh) -> bool:
        return isinstance(action, Truncate) and action.offset >= self.log.log_end_offset

    def _whole(self, action: Truncate | StartAfresh) -> Truncate | StartAfresh:
        """Return what cuts no batch in two."""
        if isinstance(action, StartAfresh):
            return action
        return replace(action, offset=self._start_of_batch(action.offset))

    def _begins_anew(self, action: Truncate | StartAfresh) -> bool:
        return isinstance(action, StartAfresh) or action.offset <= self.log.log_start_offset

    def _start_of_batch(self, offset: int) -> int:
        """Return where the batch begins that holds an offset; the offset itself where none does."""
        if not self.log.log_start_offset < offset < self.log.log_end_offset:
            return offset
        first = next(iter(self.log.read(offset, 1).batches()), None)
        return offset if first is None else max(min(offset, first.base_offset), self.log.log_start_offset)

    def append(self, action: Append, leader_epoch: int, *, only_committed: bool = False) -> AppendInfo:
        """Append what the leader of `leader_epoch` sent, then take its high watermark and its log's start.

        Left out are batches from the first of a later epoch on, since the next answer names the newer leader; with
        `only_committed` those at or above the high watermark told; and a last batch after a gap or in a new epoch,
        until another answer shows the same.

        Raises RefusedRecordsError where the same may come whole the next time: what is damaged, or comes after it, is
        not appended. LogStoreError and OSError where that is no use.
        """
        log = self.log
        if action.log_start_offset > log.log_end_offset:
            fault = f"the leader's log starts at offset {action.log_start_offset:,}, beyond the requested offset"
            raise RefusedRecordsError(self.partition, fault)
        info = NOTHING_APPENDED
        if action.records:
            info = self._append_records(action, leader_epoch, only_committed=only_committed)
        if min(action.high_watermark, log.log_end_offset) != log.high_watermark:
            log.update_high_watermark(action.high_watermark)
        if action.log_start_offset > log.log_start_offset:
            log.delete_records(min(action.log_start_offset, log.high_watermark))
        return info

    def _append_records(self, action: Append, leader_epoch: int, *, only_committed: bool) -> AppendInfo:
        records, high_watermark, log = action.records, action.high_watermark, self.log
        latest = log.epochs.history.latest_epoch
        latest_epoch = UNDEFINED_EPOCH if latest is None else latest
        try:
            whole = whole_batches(records, latest_epoch, log.log_end_offset, high_watermark)
            if not whole.data:
                self._refuse_torn(records)
            if only_committed and whole.last.base_offset >= high_watermark:
                usable = self._committed(whole, high_watermark)
            else:
                usable = self._without_doubtful(whole, leader_epoch)
            if not usable:
                return NOTHING_APPENDED
            info = self._append_whole(usable, leader_epoch)
        except _DAMAGE as error:
            raise RefusedRecordsError(self.partition, _fault(error)) from error
        if info.size == 0:
            fault = f"it begins with a batch of a later epoch than the leader's epoch {leader_epoch}"
            raise RefusedRecordsError(self.partition, fault)
        return info

    def _committed(self, whole: WholeBatches, high_watermark: int) -> memoryview:
        """Return what begins below the high watermark. Raises EarlyRecordsError where nothing does."""
        committed = before_offset(whole.data, high_watermark)
        if not committed:
            fault = f"it begins at or above its own high watermark {high_watermark:,}"
            raise EarlyRecordsError(self.partition, fault)
        return committed

    def _without_doubtful(self, whole: WholeBatches, leader_epoch: int) -> memoryview:
        """Return all but a last batch that does not just go on, unless two answers show it in the same place.

        Compaction leaves gaps, and elections begin epochs; but so would a flipped bit, as no checksum covers offset and
        epoch. Where another batch follows, that would not fit. The last batch is fetched once more. Another leader may
        well have another one there.
        """
        if whole.last.continues:
            return whole.data
        known, self._shown = self._shown, (whole.last, leader_epoch)
        shown, shown_in = known or (None, leader_epoch)
        if shown == whole.last:
            return whole.data
        is_same_place = shown is not None and shown.expected_offset == whole.last.expected_offset
        if is_same_place and shown_in == leader_epoch:
            raise RefusedRecordsError(self.partition, f"its last batch is {whole.last}, but was {shown} before")
        return whole.data[: whole.last_position]

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
            if first_offset is None or not self._ends_within(whole, first_offset):
                raise
            if self.log.log_start_offset < self.log.log_end_offset:
                self._go_back(first_offset, leader_epoch)
                raise
            # The leader's log starts within this batch: records were deleted up to there.
            reason = f"the leader's log starts within the batch at offset {first_offset:,}"
            self.cut(StartAfresh(first_offset, reason), leader_epoch)
            return self.log.append_batches(whole, leader_epoch=epoch)

    def _ends_within(self, whole: memoryview, first_offset: int) -> bool:
        """Whether the log ends within the first batch that was sent."""
        last_offset: int = read_batch(whole).last_offset
        return first_offset < self.log.log_end_offset <= last_offset

    def _go_back(self, first_offset: int, leader_epoch: int) -> None:
        """Cut a log that ends within a batch of the leader's, once two answers show the batch there.

        It holds other records than the leader, or was cut within a batch once. Kafka fails such a partition.
        """
        overlap, self._overlap = self._overlap, first_offset
        if overlap == first_offset:
            reason = f"in the leader's log a batch at offset {first_offset:,} continues beyond this log's end"
            starts_afresh = first_offset <= self.log.log_start_offset
            self.cut((StartAfresh if starts_afresh else Truncate)(first_offset, reason), leader_epoch)

    def _refuse_torn(self, records: bytes | memoryview) -> None:
        length = int.from_bytes(records[LENGTH_AT:LOG_OVERHEAD], "big", signed=True)
        fault = f"it begins with a batch of {length:,} bytes, of which only {len(records):,} came"
        raise RefusedRecordsError(self.partition, fault)

    def _cut(self, action: Truncate | StartAfresh, leader_epoch: int) -> Cut:
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


def announce_cuts(decided: Iterable[tuple[FollowedLog, Action | None]]) -> None:
    """Lower what roots claim of all logs that are to be cut, once for each root; one alone does so by itself."""
    cuts = [(log, action) for log, action in decided if isinstance(action, Truncate | StartAfresh)]
    if len(cuts) > 1:
        with suppress(OSError, LogStoreError):  # each cut meets it again
            announce(cut for log, action in cuts if (cut := log.announced(action)) is not None)


def _fault(error: Exception) -> str:
    """Return what is wrong with bytes that are in no file, without advice: nothing can be done about them."""
    if not isinstance(error, LogStoreError):
        return str(error)
    return error.what if error.position is None else f"{error.what} at position {error.position:,}"
