"""Appends batches to a log, as the leader or as a follower."""

from __future__ import annotations

from struct import error as StructError  # noqa: N812  a class
from typing import TYPE_CHECKING, Final, NoReturn

from epoch.base.resource_limits import ensure_room, name_memory
from epoch.history import MAX_EPOCH
from logstore.append.append_fast_path import (
    SEVERAL_BYTES,
    own_batch,
    plain_producer_batch,
    take_back_place,
    unpack_int32,
)
from logstore.append.append_info import NOTHING_APPENDED, AppendInfo
from logstore.append.append_validation import validate_for_follower, validate_for_leader
from logstore.append.encoding import encode
from logstore.arguments import leader_epoch_number, whole_number
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch_attributes import NO_PRODUCER_ID
from logstore.batch.buffer import BUFFERS
from logstore.batch.layout import HEADER_SIZE, LENGTH_AT, LOG_OVERHEAD
from logstore.errors import AppendError, InvalidRecordError, RecordBatchTooLargeError
from logstore.log.state.log_guard import ADDING, CHANGING, OPEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from logstore.append.append_validation import ValidatedAppend
    from logstore.append.encoding import EncodedBatch
    from logstore.batch.batch_template import BatchTemplate
    from logstore.batch.buffer import Buffer
    from logstore.batch.record import Record
    from logstore.log.leadership import Leadership
    from logstore.log.segment_roller import SegmentRoller
    from logstore.log.state.leader_epochs import LeaderEpochs
    from logstore.log.state.log_contents import LogContents
    from logstore.log.state.log_environment import LogEnvironment
    from logstore.log.state.log_guard import LogGuard
    from logstore.log.state.undo import Undo
    from logstore.producers.producer import AppendedBatch
    from logstore.producers.producer_append import ProducerAppend
    from logstore.segment.live_segment import LiveSegment

# An enum's member is looked up by a function of its class.
_CLIENT: Final = AppendOrigin.CLIENT
# Half the cost of calling a NamedTuple's class, once an append.
_build: Final = tuple.__new__


class Appender:
    """Validates batches, writes them and publishes the new end.

    One batch that needs nothing but its offset and epoch takes a short way. All is done behind the guard, without a
    function of its own for that: it would cost a noticeable part of an append.
    """

    def __init__(
        self,
        environment: LogEnvironment,
        contents: LogContents,
        guard: LogGuard,
        undo: Undo,
        epochs: LeaderEpochs,
        roller: SegmentRoller,
    ) -> None:
        """Append to a log."""
        self._environment = environment
        self._directory = environment.directory
        self._clock = environment.clock
        self._observer = environment.writes
        self._contents = contents
        self._guard = guard
        self._undo = undo
        self._epochs = epochs
        self._roller = roller

    def append(
        self,
        records: Sequence[Record | bytes] | Buffer,
        leader_epoch: int | None,
        template: BatchTemplate | None,
        origin: AppendOrigin,
        transaction_version: int | None,
        leadership: Leadership | None = None,
    ) -> AppendInfo:
        """Append one batch as the leader, or as that `leadership`; see `Log.append`."""
        contents, guard = self._contents, self._guard
        own: EncodedBatch | None = None
        if isinstance(records, BUFFERS):
            data: Buffer = records
        else:
            try:
                made = encode(records, template)
            except MemoryError as error:
                name_memory(error, self._directory)
                raise
            data = made[0]
            if template is None:
                own = made
        if guard.is_nested():
            guard.refuse_nested()
        with guard.lock:
            if guard.state is not OPEN:
                guard.ensure_open()
            if self._environment.flushes_by_count:
                # It cannot be taken back once it is flushed: what that opens must be there before.
                ensure_room(self._directory)
            next_offset, now = contents.end[0], self._clock()
            try:
                if leader_epoch is None:
                    leader_epoch = contents.current_epoch
                    if leader_epoch < 0 or contents.needs_epoch:
                        leader_epoch = self._epochs.own_epoch()
                elif leadership is not None:
                    self._epochs.ensure_leads(leadership)
                if leader_epoch == contents.current_epoch and origin is _CLIENT and self._environment.accepts_unchanged:
                    done = self._append_plain(data, own, next_offset, leader_epoch, now)
                    if done is not None:
                        return done
                if leader_epoch != contents.current_epoch:
                    leader_epoch = leader_epoch_number(leader_epoch)
                    self._epochs.refuse_lower(leader_epoch)
                append = validate_for_leader(
                    data,
                    next_offset=next_offset,
                    leader_epoch=leader_epoch,
                    now_ms=now,
                    config=self._environment.config,
                    origin=origin,
                )
                if not append.batches:
                    _refuse_fragment(data)
                return self._append(append, origin, transaction_version)
            except AppendError as error:
                raise self._placed(error, next_offset) from None
            except MemoryError as error:
                name_memory(error, self._directory)
                raise
            except StructError:
                # Equal to the latest epoch, and no int.
                leader_epoch_number(leader_epoch)
                raise

    def _append_plain(
        self, data: Buffer, own: EncodedBatch | None, next_offset: int, leader_epoch: int, now_ms: int
    ) -> AppendInfo | None:
        """Append a batch that needs nothing but its place; None, nothing written, as `_write_plain`.

        Raises DecompressionError.
        """
        config = self._environment.config
        if own is None:
            plain = plain_producer_batch(data, next_offset, leader_epoch, now_ms, config)
            return None if plain is None else self._write_plain(*plain, next_offset)
        info = own_batch(own, next_offset, leader_epoch, now_ms, config)
        if info is None:
            return None
        done = self._write_plain(data, info, next_offset)
        if done is None:
            take_back_place(own)
        return done

    def append_batches(self, data: Buffer, leader_epoch: int) -> AppendInfo:
        """Append batches as a follower; see `Log.append_batches`."""
        contents, guard = self._contents, self._guard
        if guard.is_nested():
            guard.refuse_nested()
        with guard.lock:
            if guard.state is not OPEN:
                guard.ensure_open()
            if self._environment.flushes_by_count:
                ensure_room(self._directory)
            next_offset = contents.end[0]
            try:
                if contents.current_epoch <= leader_epoch and contents.is_following:
                    size = len(data)
                    # Whoever unpacks sees to it, too, that the bytes are contiguous.
                    is_one = size >= HEADER_SIZE and unpack_int32(data, LENGTH_AT)[0] == size - LOG_OVERHEAD
                    if is_one or size >= SEVERAL_BYTES:
                        done = self._write_plain(data, None, next_offset, is_one=is_one)
                        if done is not None:
                            return done
                append = validate_for_follower(data, next_offset=next_offset, leader_epoch=leader_epoch)
                return self._append(append, AppendOrigin.REPLICATION, None)
            except AppendError as error:
                raise self._placed(error, next_offset) from None
            except MemoryError as error:
                name_memory(error, self._directory)
                raise
            except TypeError:
                if isinstance(data, BUFFERS):
                    whole_number(leader_epoch, "leader_epoch")
                    raise
                raise TypeError(
                    f"batches of type {type(data).__name__} cannot be appended: pass their bytes, one after the other, "
                    "as they were fetched; for records use `append`"
                ) from None

    def _write_plain(
        self, data: Buffer, plain: AppendInfo | None, next_offset: int, *, is_one: bool = False
    ) -> AppendInfo | None:
        """Write the one batch that was found to be `plain`; without that one batch, or several, if they all are.

        None, nothing written, where they must be looked at closer, or a new segment begin.
        """
        contents, guard = self._contents, self._guard
        segment, clock, jitter_ms = contents.segments.active, self._clock, self._roller.jitter_ms
        try:
            guard.state = ADDING
            if plain is not None:
                info = segment.append_batch(data, plain, clock, jitter_ms)
            elif is_one:
                info = segment.append_one(data, next_offset, contents.current_epoch, clock, jitter_ms)
            else:
                info = segment.append_plain(data, next_offset, contents.current_epoch, clock, jitter_ms)
            if info is None:
                guard.state = OPEN
                return None
            # What `_publish` does, without a function of its own.
            end_offset = info[1] + 1
            contents.end = end_offset, segment.base_offset, segment.file.size
            contents.producers.end_offset = end_offset
            guard.state = OPEN
            if contents.end_waiters:
                contents.end_waiters.wake()
        except BaseException as error:
            guard.is_broken_off = True
            guard.settle(error)
            raise
        if self._observer is not None:
            self._observer.appended(self._directory, info)
        return info

    def _append(self, append: ValidatedAppend, origin: AppendOrigin, transaction_version: int | None) -> AppendInfo:
        contents, guard = self._contents, self._guard
        data, batches, max_timestamp = append
        if not batches:
            return NOTHING_APPENDED
        size, last_offset = len(data), batches[-1].last_offset
        if size > self._environment.config.segment_bytes:
            self._refuse_size(append)
        producers: ProducerAppend | None = None
        for batch in batches:
            if batch.producer_id != NO_PRODUCER_ID:
                producers = contents.producers.prepare(batches, origin, transaction_version=transaction_version)
                break
        if producers is not None and producers.duplicate is not None:
            return self._tell_duplicate(producers.duplicate)
        try:
            self._undo.begin()
            guard.state = ADDING
            if origin is AppendOrigin.REPLICATION and not contents.is_following:
                self._epochs.follow()
            for batch in batches:
                if batch.leader_epoch != contents.current_epoch:
                    self._epochs.assign(batch.leader_epoch, batch.base_offset, magic=batch.magic)
            segment = contents.segments.active
            if segment.should_roll(size, max_timestamp, last_offset, self._clock, self._roller.jitter_ms):
                segment = self._roller.roll(append.first_offset if batches[0].magic == 2 else last_offset - MAX_EPOCH)
            segment.append(data, [(batch.size, batch.last_offset, batch.max_timestamp) for batch in batches])
            info: AppendInfo = _build(AppendInfo, (append.first_offset, last_offset, max_timestamp, size, False))
            self._publish(segment, info, producers)
            self._undo.end()
        except BaseException as error:
            guard.is_broken_off = True
            guard.settle(error)
            raise
        if self._observer is not None:
            self._observer.appended(self._directory, info)
        return info

    def _publish(self, segment: LiveSegment, info: AppendInfo, producers: ProducerAppend | None) -> None:
        """Publish what was written to readers: the append is done."""
        contents, guard = self._contents, self._guard
        end_offset = info[1] + 1
        if producers is not None:
            # From here on it cannot be taken back.
            guard.state = CHANGING
        contents.end = end_offset, segment.base_offset, segment.file.size
        try:
            if producers is not None:
                for aborted in contents.producers.update(producers):
                    segment.transaction_index.append(aborted)
            contents.producers.end_offset = end_offset
        except OSError as error:
            # Even of a full disk: the batches are in the log already, and readers may have seen them.
            guard.poison(error)
            raise
        guard.state = OPEN
        if contents.end_waiters:
            contents.end_waiters.wake()

    def _refuse_size(self, append: ValidatedAppend) -> NoReturn:
        limit = self._environment.config.segment_bytes
        raise RecordBatchTooLargeError(
            f"an append of {len(append.data):,} bytes exceeds segment_bytes, {limit:,}",
            offset=append.first_offset,
            advice="append fewer batches at once, or set segment_bytes higher",
        )

    def _placed(self, error: AppendError, next_offset: int) -> AppendError:
        offset = next_offset if error.offset is None else error.offset
        return error.with_position(file=self._directory, position=error.position, offset=offset)

    def _tell_duplicate(self, known: AppendedBatch) -> AppendInfo:
        info = AppendInfo(
            known.last_offset - known.offset_delta, known.last_offset, known.timestamp, 0, is_duplicate=True
        )
        if self._observer is not None:
            self._observer.appended(self._directory, info)
        return info


def _refuse_fragment(data: Buffer) -> NoReturn:
    raise InvalidRecordError(
        f"{len(data):,} bytes do not hold a whole batch",
        advice="pass records, such as [Record.of(b'value')], or the bytes of one batch, as `encode_batch` returns them",
    )
