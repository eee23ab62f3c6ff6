"""The log of a work queue, in the process that owns it."""

import errno
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Condition
from typing import Final, NamedTuple

from epoch.base.resource_limits import OUT_OF_SPACE, ignoring_full_disk
from epoch.filesystem import FileSystem
from logstore.append.append_info import NOTHING_APPENDED, AppendInfo
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.errors import LogClosedError, LogPoisonedError, LogStoreError, RecordTooLargeError
from logstore.log.log import Log
from logstore.log_config import MAX_INT64, LogConfig
from logstore.queue.item_values import ItemValues
from logstore.queue.queue_directory import LOG_NAME
from logstore.queue.queue_record import MOST_OVERHEAD, change_record, item_record, read_record
from logstore.queue.queue_state import Change, ChangeKind, QueueCounts, QueueState, Status, fresh

CONFIG: Final = LogConfig(
    segment_bytes=16 << 20, max_message_bytes=4 << 20, retention_ms=-1, producer_id_expiration_ms=600_000
)
"""Space is given back a segment at a time, and who has put nothing for ten minutes does not try again."""
_TAKEN_BYTES: Final = 1 << 20
"""Of values, in one call."""
_SPARE_SEGMENTS: Final = 2
_TIDIED_SHARE: Final = 16
"""Of a segment, that is written between two looks at what can be given back."""

Token = tuple[int, int]
"""An item's id, and the number of the attempt that it was given out for."""
Written = tuple[AppendInfo, int]
"""What was appended, and behind which offset all must lie that is needed, where it cannot be made durable otherwise."""
Producer = tuple[int, int]
"""Who puts: an id, and how many values were put under it before. A put that is done again is noticed by these."""


class Given(NamedTuple):
    """An item that was given out, or that is dead."""

    item: int
    attempt: int
    value: bytes


class QueueLog:
    """Appends what is decided, and tells whoever asks once it is on stable storage. Any thread may call."""

    def __init__(self, directory: Path, config: LogConfig, filesystem: FileSystem, clock: Callable[[], int]) -> None:
        """Open the log in `directory`, and read it. Raises what `Log.open` raises: DirectoryLockedError, OSError."""
        self._clock = clock
        self._changed = Condition()
        self._is_closed = False
        self._untidied = 0
        """Bytes that were appended since it was looked last at what can be given back."""
        config = replace(config, message_timestamp_after_max_ms=MAX_INT64)  # whatever is done to the system's clock
        self._log = Log.open(directory / LOG_NAME, config, filesystem=filesystem)
        try:
            self._log.flush()  # what a process has written that was killed is given out from now on
            self._read()
        except BaseException:
            self._log.abandon()
            raise

    @property
    def failure(self) -> OSError | None:
        """Why the log can be written no more; None while it can."""
        return self._log.failure

    # --- what is asked for

    def put(
        self, values: Sequence[bytes], priority: int = 0, delay_ms: int = 0, producer: Producer | None = None
    ) -> range:
        """Add items, durably and all at once; return their ids. Raises RecordTooLargeError, OSError with none added."""
        most = self._log.config.max_message_bytes - MOST_OVERHEAD
        for value in values:
            if len(value) > most:
                raise RecordTooLargeError(
                    f"an item has {len(value):,} bytes, and at most {most:,} fit",
                    file=self._log.directory,
                    advice="put where its content is, or open the queue with a larger max_message_bytes",
                )
        with self._changed:
            self._ensure_current()
            now_ms = self._clock()
            entries = [fresh(len(value), priority) for value in values]
            if delay_ms:
                entries = [each._replace(status=Status.DELAYED, due_ms=now_ms + delay_ms) for each in entries]
            pairs = zip(values, entries, strict=True)
            is_plain = not (priority or delay_ms)
            info = self._append(values if is_plain else [item_record(*pair, -1, now_ms) for pair in pairs], producer)
            ids = range(info.first_offset, info.last_offset + 1)
            if not info.is_duplicate:
                for item, entry, value in zip(ids, entries, values, strict=True):
                    self._state.store(item, entry)
                    self._values.keep(item, value)
                self._end = ids.stop
        try:
            self._settle(info, 0)
        except (LogClosedError, LogPoisonedError) as error:
            if producer is not None:
                raise
            raise self._unknown(ids, error) from error
        return ids

    def take(
        self,
        most: int,
        lease_ms: int,
        limit: int,
        wait: float | None = 0,
        ensure_wanted: Callable[[], None] = lambda: None,
    ) -> list[Given]:
        """Lease items that are on stable storage; wait for one so many seconds, or as long as it takes.

        `ensure_wanted` raises after a wait where nobody does any more. Raises LogClosedError, OSError.
        """
        deadline = None if wait is None else time.monotonic() + wait
        with self._changed:
            while True:
                self._ensure_current()
                given = self._lease(most, lease_ms, limit)
                left = None if deadline is None else deadline - time.monotonic()
                if given or (left is not None and left <= 0):
                    return given
                due_ms = self._state.next_due_ms
                until_due = None if due_ms is None else max((due_ms - self._clock()) / 1e3, 0)
                self._changed.wait(min((each for each in (left, until_due) if each is not None), default=None))
                ensure_wanted()

    def finish(self, tokens: Sequence[Token]) -> list[bool]:
        """Finish items, durably; return of each whether it is finished now: not one that was given out once more."""
        return self._settled(ChangeKind.FINISH, tokens)

    def release(self, tokens: Sequence[Token], delay_ms: int = 0) -> list[bool]:
        """Give items back, to be given out again after the delay, or to be dead after their last attempt."""
        return self._settled(ChangeKind.RELEASE, tokens, delay_ms)

    def extend(self, tokens: Sequence[Token], lease_ms: int) -> list[bool]:
        """Extend leases to so many milliseconds from now on; return of each whether it still was one, or is over."""
        return self._settled(ChangeKind.EXTEND, tokens, lease_ms)

    def dead(self, most: int) -> list[Given]:
        """Return the first dead items."""
        with self._changed:
            self._ensure_current()
            self._state.advance(self._clock())
            return [self._given(item) for item in self._state.dead()[:most]]

    def revive(self, items: Sequence[int]) -> int:
        """Revive dead items, as often as new ones are given out, durably; return how many these were."""
        return self._change_dead(ChangeKind.REVIVE, items)

    def discard(self, items: Sequence[int]) -> int:
        """Finish dead items, durably; return how many these were."""
        return self._change_dead(ChangeKind.FINISH, items)

    def counts(self) -> QueueCounts:
        """Count the items by what becomes of them next."""
        with self._changed:
            self._ensure_current()
            self._state.advance(self._clock())
            return self._state.counts()

    def end_waits(self) -> None:
        """Refuse further calls, and end those that wait for items; what waits for the disk goes on."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def close(self) -> None:
        """Close the log; the next one needs no recovery."""
        self.end_waits()
        self._log.close()

    def abandon(self) -> None:
        """Give up a log whose disk has failed, or whose process is to look like one that was killed."""
        self.end_waits()
        self._log.abandon()

    # --- decisions, with the lock held

    def _lease(self, most: int, lease_ms: int, limit: int) -> list[Given]:
        now_ms, end = self._clock(), self._end
        self._state.advance(now_ms)
        self._end = -1  # whoever is interrupted in between leaves it to the log what was given out
        ids = self._state.next_ready(most, _TAKEN_BYTES, self._log.high_watermark)
        if ids:
            change = Change(ChangeKind.LEASE, ids, now_ms + lease_ms, limit)
            self._state.change(change)
            end = self._note(change, end)
        self._end = end
        return [self._given(item) for item in ids]

    def _note(self, change: Change, end: int) -> int:
        """Append a change that need not be durable; where the disk is full, only this process knows of it."""
        try:
            return self._append([change_record(change, self._clock())]).last_offset + 1
        except OSError as error:
            if error.errno not in OUT_OF_SPACE:
                raise
            return end

    def _settled(self, kind: ChangeKind, tokens: Sequence[Token], ms: int = 0) -> list[bool]:
        with self._changed:
            self._ensure_current()
            self._state.advance(self._clock())
            held = [self._state.holds(*token) for token in tokens]
            ids = [item for (item, _), is_held in zip(tokens, held, strict=True) if is_held]
            if kind is ChangeKind.FINISH:
                written = self._finish(ids)
            elif ids:
                change = Change(kind, ids, self._clock() + ms)
                self._end = self._note(change, self._end)
                self._state.change(change)
            self._changed.notify_all()
        if kind is ChangeKind.FINISH:
            self._settle(*written)  # also where others have finished them: that may not be on stable storage yet
        return [is_held is not False for is_held in held]

    def _change_dead(self, kind: ChangeKind, items: Sequence[int]) -> int:
        with self._changed:
            self._ensure_current()
            self._state.advance(self._clock())
            dead = self._state.dead(items)
            written = self._finish(dead) if kind is ChangeKind.FINISH else self._write(Change(kind, dead))
        self._settle(*written)
        return len(dead)

    def _finish(self, ids: Sequence[int]) -> Written:
        if not ids:
            return NOTHING_APPENDED, 0
        behind = max(map(self._state.place, ids)) + 1
        change = Change(ChangeKind.FINISH, ids)
        try:
            return self._write(change)[0], behind
        except OSError as error:
            if error.errno not in OUT_OF_SPACE or not self._trimmed(behind, frozenset(ids)):
                raise
        self._state.change(change)
        return NOTHING_APPENDED, behind

    def _write(self, change: Change) -> Written:
        info = self._append([change_record(change, self._clock())])
        self._end = info.last_offset + 1
        self._state.change(change)
        return info, 0

    def _unknown(self, ids: range, error: LogStoreError) -> OSError:
        """Make the error for items that are in the log, and of which nobody would notice if they were put once more."""
        what = f"whether {len(ids):,} items are put is unknown, as another call has ended the use of the log"
        return OSError(errno.EIO, f"{what}: {error.what}", str(self._log.directory))

    def _trimmed(self, behind: int, without: Collection[int] = ()) -> bool:
        """Finish items without a record, by the log's start: where all that is needed lies behind them."""
        first = self._state.first_place(without)
        needed = self._log.log_end_offset if first is None else first
        if needed < behind:
            return False
        self._log.trim(before=needed)
        return True

    def _given(self, item: int) -> Given:
        return Given(item, self._state.entry(item).attempts, self._values.take(self._state.place(item)))

    # --- the log

    def _append(self, records: Iterable[Record] | Sequence[bytes], producer: Producer | None = None) -> AppendInfo:
        template = None
        if producer is not None:
            template = BatchTemplate(producer_id=producer[0], producer_epoch=0, base_sequence=producer[1])
        return self._log.append(list(records), template=template)

    def _settle(self, info: AppendInfo, behind: int) -> None:
        """Return once all that was appended is on stable storage, or the log's start at or behind `behind`.

        Who waits for items is woken, and space given back.
        """
        try:
            if self._log.high_watermark < self._log.log_end_offset:
                self._log.flush()
        except OSError as error:
            if error.errno not in OUT_OF_SPACE or not behind or not self._trimmed(behind):
                raise
        with self._changed:
            self._changed.notify_all()
            self._untidied += info.size
            is_due = self._untidied >= self._log.config.segment_bytes // _TIDIED_SHARE
        if is_due:
            with ignoring_full_disk():  # what was asked for is done
                self._tidy()

    def _tidy(self) -> None:
        """Give back the space of segments that are not needed any more."""
        with self._changed:
            if self._is_closed:
                return
            self._ensure_current()
            if self._log.size > 2 * self._state.size + _SPARE_SEGMENTS * self._log.config.segment_bytes:
                self._move(4 * self._untidied)
            self._untidied = 0
            end = self._log.log_end_offset
            first = self._state.first_place()
            segments = self._log.segments
        if len(segments) > 1 and segments[1].base_offset <= (end if first is None else first):
            self._log.trim(before=end if first is None else first)
            self._log.expire_producers()

    def _move(self, most_bytes: int) -> None:
        """Write the first items anew at the end of the log, so that the space before the others can be given back."""
        moved = list(self._state.first(min(most_bytes, self._log.config.max_message_bytes // 2)))
        if not moved:
            return
        now_ms = self._clock()
        values = [self._values.take(self._state.place(item)) for item, _ in moved]
        records = [item_record(value, entry, item, now_ms) for value, (item, entry) in zip(values, moved, strict=True)]
        with ignoring_full_disk():
            info = self._append(records)
            self._end = info.last_offset + 1
            self._log.flush()  # whoever trims the log next must not take what is nowhere else
            for place, (item, entry) in enumerate(moved, info.first_offset):
                self._state.store(item, entry._replace(place=place))

    def _ensure_current(self) -> None:
        """See that the state is that of the log: a call that was interrupted may have left it behind."""
        if self._is_closed:
            raise LogClosedError("the queue is closed", file=self._log.directory, advice="open it again")
        if self._end != self._log.log_end_offset:
            self._read()

    def _read(self) -> None:
        state, now_ms = QueueState(), self._clock()
        for record in self._log.records():
            # Where the clock was set back meanwhile, a lease does not last longer for that.
            back_ms = max(0, record.timestamp - now_ms)
            found = read_record(record, self._log.directory, back_ms)
            if isinstance(found, Change):
                state.change(found)
            else:
                state.store(*found)
        self._state = state
        self._values = ItemValues(self._log)
        self._end = self._log.log_end_offset
