"""Finds batches in a segment that is in use, by offset."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from epoch.history import MAX_EPOCH, EpochHistory
from logstore import segment
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import NO_LEADER_EPOCH
from logstore.batch.batch_order import ADVICE, NO_OFFSET, UNKNOWN_NEXT, BatchOrder, NextBatch, Surroundings, next_batch
from logstore.batch.batches import read_batches
from logstore.batch.layout import LOG_OVERHEAD, MAGIC, SMALLEST_LENGTH, header_of
from logstore.errors import CorruptBatchError, CorruptIndexError, LogStoreError
from logstore.file_name import FileKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from epoch.cache import LeaderEpochFileCache
    from logstore.batch.any_batch import Batch
    from logstore.segment.read_view import ReadView
    from logstore.segment.segment_file import SegmentFile
    from logstore.segment.segment_indexes import SegmentIndexes

# All that a walk from batch to batch looks at.
_HEADER: Final = header_of("base_offset", "length", "magic", "last_offset_delta")
_HEADER_BYTES: Final = _HEADER.size
_unpack: Final = _HEADER.unpack_from
_build: Final = tuple.__new__  # half the cost of calling a NamedTuple's class

_WALKED_BATCHES: Final = 4
"""To find the end of more batches than these the index is asked first."""
MANY_READS: Final = 1_000
"""After so many of a segment the compiled search is worth its loading."""
_NO_BYTES: Final = memoryview(b"")


Part = tuple[memoryview, int, int]
"""Bytes of the file, where they begin in it, and from where on to look; -1 where the index was not asked for that yet.

All positions are those in the file.
"""


class SegmentReader:
    """Any thread reads, up to the size that it has looked up before."""

    __slots__ = ("_base_offset", "_file", "_indexes", "_reads")

    def __init__(self, base_offset: int, file: SegmentFile, indexes: SegmentIndexes) -> None:
        """Read what is in the file by then."""
        self._base_offset = base_offset
        self._file = file
        self._indexes = indexes
        self._reads = 0

    @property
    def path(self) -> Path:
        """The file's path."""
        return self._file.path

    def locate(self, offset: int, size: int) -> tuple[int, int, int] | None:
        """Find the first batch within the first `size` bytes that ends at or beyond `offset`.

        Return its position, size and base offset (Kafka: translateOffset). Raises OSError, and ValueError where a
        truncation takes the bytes away meanwhile.
        """
        return self._locate(self._part(offset, size), offset, size)

    def end_before(self, position: int) -> int:
        """Return where the batches before the position end; the segment's base offset without any.

        Raises what `locate` raises.
        """
        end, start = self._base_offset, self._indexes.offset.floor_position(max(0, position - 1))
        data, begin = self._file.between(start, position)
        for batch in read_batches(data[: position - begin], start - begin, str(self._file.path)):
            end = batch.last_offset + 1
        return end

    def read(
        self,
        offset: int,
        max_bytes: int,
        size: int,
        end_offset: int = NO_OFFSET,
        epochs: LeaderEpochFileCache | None = None,
        *,
        min_one_batch: bool,
    ) -> ReadView | None:
        """Return whole batches from the one that holds `offset` on, within the first `size` bytes; None without any.

        All batches there end below `end_offset`, and none has a later epoch than `epochs` knows. Raises what `locate`
        raises.
        """
        cuts = self._file.cuts
        part = self._part(offset, size)
        found = self._find(part, offset, max_bytes, size)
        if found is None:
            return None
        start, first_size, end = found
        if first_size > max_bytes and not min_one_batch:
            return segment.read_view.ReadView(offset, _NO_BYTES, self._base_offset, start, max_bytes > 0)
        data, begin, _ = part
        # With bytes of its own, as `data` is: once the view is looked at, the mapping may have been let go of.
        around = (data[: size - begin], begin, part[2])
        # The epochs as they are now: what takes the place of these batches later is another leader's.
        history = None if epochs is None else epochs.history
        surroundings = _build(_ViewSurroundings, (self, around, start, end, size, end_offset, history, cuts))
        batches = data[start - begin : end - begin]
        return segment.read_view.ReadView(offset, batches, self._base_offset, start, False, surroundings)

    def sound_batch(self, offset: int, size: int, end_offset: int, epochs: LeaderEpochFileCache) -> RecordBatch | None:
        """Return what `read` finds first, if that is certain at a glance; None where `read` has to look closer.

        The batch is sound, and stands in its place. Raises what `locate` raises.
        """
        data = self._file.mapped_part()
        position = self._indexes.offset.find_sound_batch(data, offset, size, end_offset)
        if position < 0:
            return None
        batch = RecordBatch(data[:size], position)
        epoch, epoch_for = batch.leader_epoch, epochs.epoch_for_offset
        if epoch != NO_LEADER_EPOCH and not epoch == epoch_for(batch.base_offset) == epoch_for(batch.last_offset):
            return None
        return batch

    def ensure_gap(self, offset: int, end: int, next_offset: int) -> None:
        """See that no batch before the position `end` holds `offset`: damaged headers lead over batches, too.

        All of them end below `next_offset`. Raises CorruptBatchError, and what `read_batches` raises.
        """
        self.ensure_order(self._part(offset, end), offset, end, next_offset)

    def ensure_before_cuts(self, ensure: Callable[[], None], cuts: int) -> None:
        """Call `ensure` unless bytes were taken away since there were `cuts`: indexes and file are of others then."""
        try:
            if self._file.cuts == cuts:
                ensure()
        except OSError:
            return  # the file was deleted meanwhile
        except (ValueError, LogStoreError):
            if self._file.cuts == cuts:
                raise

    def ensure_order(self, part: Part, offset: int, end: int, next_offset: int) -> None:
        """See that the batches before the position `end` are sound, rise, and all end below `next_offset`.

        Looked at are those from the index's entry for `offset` on. Raises what `ensure_gap` raises.
        """
        data, begin, start = part
        position = start if start >= 0 else self._indexes.offset.lookup(offset)
        if position:
            self._ensure_led_right(data[: end - begin], position - begin, offset)
        indexed = self._indexes.offset.indexed_offset(offset)
        # Which epochs these have makes no difference to where an offset is, and some may lie below the log's start: a
        # replica that had nothing above it has forgotten theirs, and began with an earlier one.
        order = BatchOrder(has_epochs=False)
        order.last_offset = -1 if position else self._base_offset - 1
        is_led_right = indexed is None
        try:
            for batch in read_batches(data[: end - begin], position - begin, str(self._file.path)):
                batch.ensure_valid()
                order.take(batch, _Bound(next_offset))
                _ensure_below(batch, next_offset)
                is_led_right = is_led_right or batch.base_offset <= (indexed or 0) <= batch.last_offset
        except LogStoreError as error:
            raise _moved(error, begin) from error
        if not is_led_right:
            raise CorruptBatchError(
                f"no batch from here up to position {end:,} has offset {indexed:,}, to which the index leads",
                file=self._file.path,
                position=position,
                offset=indexed,
                advice=ADVICE,
            )

    def _ensure_led_right(self, data: memoryview, at: int, offset: int) -> None:
        """Raise CorruptIndexError where an index entry for `offset` leads past it, as one with a flipped bit does."""
        if len(data) - at >= _HEADER_BYTES:
            base_offset, _, magic, delta = _unpack(data, at)
            if magic != MAGIC or base_offset + delta <= offset:
                return
        raise CorruptIndexError(
            "the index leads past the batch that it has to lead to",
            file=self._file.path.with_suffix(f".{FileKind.OFFSET_INDEX}"),
            offset=offset,
            advice="close the log and remove the file: the next open creates it again",
        )

    def ensure_first(self, base_offset: int, position: int) -> None:
        """Raise CorruptBatchError where a batch begins below the segment that it is in."""
        if base_offset < self._base_offset:
            raise CorruptBatchError(
                f"the batch begins below {self._base_offset:,}, where its segment does",
                file=self._file.path,
                position=position,
                offset=base_offset,
                advice=ADVICE,
            )

    def _part(self, offset: int, size: int) -> Part:
        """Return the bytes in which `offset` is to be looked for, up to `size` or beyond. Raises OSError."""
        data = self._file.mapped(size)
        if data is not None:
            return data, 0, -1
        start = min(size, self._indexes.offset.lookup(offset))
        data, begin = self._file.between(start, size)
        return data, begin, start

    def _locate(self, part: Part, offset: int, size: int) -> tuple[int, int, int] | None:
        data, begin, start = part
        position = start if start >= 0 else self._indexes.offset.lookup(offset)
        while size - position >= _HEADER_BYTES:
            base_offset, length, magic, delta = _unpack(data, position - begin)
            if magic != MAGIC or length < SMALLEST_LENGTH:
                break
            if base_offset + delta >= offset:
                return position, length + LOG_OVERHEAD, base_offset
            position += length + LOG_OVERHEAD
        return self._locate_legacy(part, offset, position, size) if position < size else None

    def _locate_legacy(self, part: Part, offset: int, position: int, size: int) -> tuple[int, int, int] | None:
        data, begin, _ = part
        try:
            for batch in read_batches(data[: size - begin], position - begin, str(self._file.path)):
                if batch.last_offset >= offset:
                    return begin + batch.position, batch.size, batch.base_offset
        except LogStoreError as error:
            raise _moved(error, begin) from error
        return None

    def _find(self, part: Part, offset: int, max_bytes: int, size: int) -> tuple[int, int, int] | None:
        """Find the first batch to be read, its position and size, and where the last one ends."""
        if self._reads < MANY_READS:
            self._reads += 1
        elif max_bytes < size and not part[1]:
            # Half the time.
            found = self._indexes.offset.find_batches(part[0], offset, max_bytes, size)
            if found is not None and found[0] >= 0:
                return found
        place = self._locate(part, offset, size)
        if place is None:
            return None
        start, first_size, _ = place
        if first_size >= max_bytes:
            end = start + first_size
        elif max_bytes >= size - start:
            end = size
        else:
            end = self._last_end(part, start, first_size, start + max_bytes)
        return start, first_size, end

    def _last_end(self, part: Part, start: int, first_size: int, limit: int) -> int:
        """Return where the last batch ends that ends at or before `limit`; the first one does."""
        data, begin, _ = part
        position = start + first_size
        if limit - position > _WALKED_BATCHES * first_size:
            position = max(position, self._indexes.offset.floor_position(limit))
        while limit - position >= _HEADER_BYTES:
            end: int = position + _unpack(data, position - begin)[1] + LOG_OVERHEAD
            if not position < end <= limit:
                break
            position = end
        return position


def _ensure_below(batch: Batch, next_offset: int) -> None:
    """Raise CorruptBatchError where a batch does not end below the one that follows: its order alone may seem right."""
    if batch.last_offset >= next_offset:
        raise CorruptBatchError(
            f"the batch ends at {batch.last_offset:,}, and what follows it begins at {next_offset:,}",
            file=batch.file,
            position=batch.position,
            offset=batch.base_offset,
            advice=ADVICE,
        )


class _Bound(Surroundings):
    """Of batches that all end below an offset."""

    __slots__ = ("_offset",)

    def __init__(self, offset: int) -> None:
        self._offset = offset

    def end(self) -> NextBatch:
        return NextBatch(self._offset)


class _Place(NamedTuple):
    """Where the bytes of a view lie in their segment. With those around: the file may be deleted meanwhile."""

    reader: SegmentReader
    part: Part
    start: int
    stop: int
    size: int
    end_offset: int
    epochs: EpochHistory | None
    cuts: int


class _ViewSurroundings(_Place, Surroundings):
    """What lies around a view. A tuple, as one is made at each read: it takes a third of the time."""

    __slots__ = ()

    @property
    def file(self) -> str:
        return str(self.reader.path)

    def ensure_begin(self, offset: int, base_offset: int) -> None:
        self.reader.ensure_first(base_offset, self.start)
        first = offset if base_offset > offset else base_offset - 1
        if first < 0:
            return
        reader = self.reader
        if self.part[2] < self.start:
            ensure = partial(reader.ensure_order, self.part, first, self.start, base_offset)
        elif self.start:  # what was read begins at an index entry, and that was made of the same bytes
            ensure = partial(reader.ensure_gap, first, self.start, base_offset)
        else:
            return
        reader.ensure_before_cuts(ensure, self.cuts)

    def next_batch(self) -> NextBatch:
        data, begin, _ = self.part
        return UNKNOWN_NEXT if self.stop >= self.size else next_batch(data[: self.size - begin], self.stop - begin)

    def end(self) -> NextBatch:
        latest = None if self.epochs is None else self.epochs.latest_epoch
        return _build(NextBatch, (self.end_offset, MAX_EPOCH if latest is None else latest))

    def is_last(self, base_offset: int, last_offset: int, epoch: int) -> bool:
        epochs = self.epochs
        return (
            self.stop >= self.size
            and last_offset < self.end_offset
            and epochs is not None
            and epochs.epoch_for_offset(base_offset) == epoch
        )

    def epoch_at(self, offset: int) -> int | None:
        return None if self.epochs is None else self.epochs.epoch_for_offset(offset)

    def onward(self) -> tuple[memoryview, Surroundings] | None:
        data, begin, _ = self.part
        return data[self.start - begin : self.size - begin], self._replace(stop=self.size)


def _moved(error: LogStoreError, begin: int) -> LogStoreError:
    """Return an error of a part of a file with its position in the file."""
    position = None if error.position is None else begin + error.position
    return error.with_position(file=error.file, position=position, offset=error.offset)
