"""Finds the latest record of a key."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import takewhile
from operator import itemgetter
from pathlib import Path
from typing import Final, NoReturn, Protocol

import numpy as np

from epoch.filesystem import FileSystem
from epoch.history import EpochHistory
from logstore.batch.columns import RecordColumns
from logstore.batch.layout import HEADER_SIZE
from logstore.batch.record import Record
from logstore.checksum import crc32c
from logstore.errors import HoleError, LogStoreError, LogTruncatedError, OffsetOutOfRangeError, inherited_log
from logstore.file_name import FileKind, parse_file_name
from logstore.files.only_copy.offset_gaps import Hole
from logstore.log.cursors.committed_position import NO_EPOCH, CommittedPosition
from logstore.log.keys.key_run import KeyRun, path_of
from logstore.log.state.call_guard import CallGuard
from logstore.segment.read_view import ReadView

SPILL: Final = 1 << 16
"""So many records are remembered one by one; a run is made of more."""
STEP: Final = 1 << 18
"""Offsets that are read at once."""
_ATTEMPTS: Final = 100
_NO_BATCH: Final = -1
Pairs = list[tuple[int, int]]
"""Checksums of keys and the offsets of their records."""


class IndexedLog(Protocol):
    """What the index needs of a log."""

    directory: Path

    @property
    def log_start_offset(self) -> int:
        """The first offset that may be read."""

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""

    @property
    def holes(self) -> tuple[Hole, ...]:
        """Offsets whose records cannot be read."""

    def records(self, start: int | None, end: int | None, *, skip_holes: bool) -> Iterator[Record]:
        """Iterate over records."""

    def columns(self, start: int, end: int | None) -> Iterator[RecordColumns]:
        """Yield records as columns."""

    def read(self, offset: int, max_bytes: int) -> ReadView:
        """Return the batch that holds `offset`, or the next one."""


class KeyIndex(CallGuard):
    """Knows the offsets of all keys as far as it has read the log, and reads on when it is asked.

    What it has read is kept in runs, in memory and in files, the longest and oldest first: one is joined with the next
    once that is as long, so that there are few. Nobody tells the index that the log has changed. Runs end like cursors,
    at an offset and in the epoch of the record before: a run whose end the log does not have any more is made again. So
    is one in a file behind another last batch, as a log has where its files were put back as they were earlier.
    """

    def __init__(
        self,
        log: IndexedLog,
        filesystem: FileSystem,
        moment: Callable[[], object],
        history: Callable[[], tuple[EpochHistory, int]],
    ) -> None:
        """Read nothing yet.

        `moment` returns another object once the log was truncated; `history` the log's epochs and where they end.
        """
        super().__init__(log.directory, "log's index of keys")
        self._log = log
        self._filesystem = filesystem
        self._moment = moment
        self._history = history
        self._runs: list[KeyRun] = []
        self._recent: dict[int, list[int]] = {}
        """Offsets by the key's checksum, of what follows the runs."""
        self._recent_count = 0
        self._end = CommittedPosition(NO_EPOCH, NO_EPOCH, 0)
        """Up to here the log was read."""
        self._read_at: object = None
        """The moment until which that is so."""

    def refuse(self) -> NoReturn:
        """Raise that the log is another process's."""
        raise inherited_log(self._directory)

    def latest(self, key: bytes, get: Callable[[int], Record | None], *, skip_holes: bool) -> Record | None:
        """Return the last record with a key that `get` returns; None where there is none.

        Raises HoleError if one with that key may have been in a hole behind it, and what reading raises.
        """
        self.ensure_not_nested()
        for attempt in range(_ATTEMPTS):
            try:
                found = next(self._found(key, _past_holes(get) if skip_holes else get), None)
                break
            except OffsetOutOfRangeError:  # the log's start or end has moved in between
                if attempt == _ATTEMPTS - 1:
                    raise
        if not skip_holes:
            self._ensure_read_from(-1 if found is None else found.offset)
        return found

    def _found(self, key: bytes, get: Callable[[int], Record | None]) -> Iterator[Record]:
        start = self._log.log_start_offset
        for offset in self._offsets_of(crc32c(key)):
            if offset < start:
                return
            record = get(offset)
            # None where it was compacted away, or may not be seen; another key may have the same checksum.
            if record is not None and record.key == key:
                yield record

    def _ensure_read_from(self, offset: int) -> None:
        for hole in self._log.holes:
            if hole.end_offset > offset:
                raise hole.error(self._directory, ", or pass skip_holes=True to pass over it")

    def _offsets_of(self, checksum: int) -> Iterator[int]:
        with self.lock:
            self._read_on()
            recent, runs = self._recent.get(checksum, ())[::-1], self._runs
        yield from recent
        for run in reversed(runs):
            yield from run.offsets_of(checksum)

    # --- reading on

    def _read_on(self) -> None:
        while self._read_at is not (moment := self._moment()) or self._end.offset < self._log.log_end_offset:
            end = self._log.log_end_offset
            history, end_of_epochs = self._history()  # behind the end: the epochs of all below it are there
            if self._read_at is not moment:
                self._forget(history, end_of_epochs)
            start = self._log.log_start_offset
            try:
                self._read_step(end, moment, history)
            except (LogTruncatedError, OffsetOutOfRangeError):
                if self._moment() is moment and self._log.log_start_offset == start:  # the log did not change
                    raise

    def _read_step(self, end: int, moment: object, history: EpochHistory) -> None:
        start = max(self._end.offset, self._log.log_start_offset)
        end = max(start, min(end, start + STEP))
        in_bulk = end - start > SPILL and not self._log.holes
        found = self._in_columns(start, end) if in_bulk else self._in_records(start, end)
        if moment is not self._moment():
            return
        position = CommittedPosition.at(end, history)
        if self._recent_count + len(found) < SPILL:
            for checksum, offset in found:
                self._recent.setdefault(checksum, []).append(offset)
            self._recent_count += len(found)
        else:
            self._add_run(found, position)
        self._end, self._read_at = position, moment

    def _in_records(self, start: int, end: int) -> Pairs:
        records = self._log.records(start, end, skip_holes=True)
        return [(crc32c(record.key), record.offset) for record in records if record.key is not None]

    def _in_columns(self, start: int, end: int) -> Pairs:
        found: Pairs = []
        for columns in self._log.columns(start, end):
            data = columns.data.data
            rows = zip(columns.key_start.tolist(), columns.key_length.tolist(), columns.offset.tolist(), strict=True)
            found += [(crc32c(data[at : at + length]), offset) for at, length, offset in rows if length >= 0]
        return found

    # --- runs

    def _add_run(self, found: Pairs, end: CommittedPosition) -> None:
        """Make a run of `found` and what was remembered one by one; join it with those before that are not longer."""
        remembered = [(checksum, offset) for checksum, offsets in self._recent.items() for offset in offsets]
        checksums, offsets = np.array(sorted(remembered + found, key=itemgetter(1)), np.int64).T
        start = self._log.log_start_offset
        runs = [run for run in self._runs if run.end.offset > start]
        first = runs[-1].end.offset if runs else start
        joined = [KeyRun.of(first, end, self._batch_before(end.offset), checksums.astype(np.uint32), offsets)]
        while runs and len(runs[-1]) <= sum(map(len, joined)):
            joined.insert(0, runs.pop())
        self._runs = [*runs, self._kept(KeyRun.joined(joined, start))]
        self._recent, self._recent_count = {}, 0
        self._remove_others()

    def _kept(self, run: KeyRun) -> KeyRun:
        """Return the run as it is in its file; as it is in memory, where it cannot be written."""
        try:
            run.write(self._directory, self._filesystem)
            return KeyRun.read(path_of(self._directory, run.end.offset)) or run
        except OSError:
            return run

    def _forget(self, history: EpochHistory, end_of_epochs: int) -> None:
        """Forget what is not in the log any more, or, where nothing was read yet, look for runs in files."""
        start = self._log.log_start_offset

        def is_there(end: CommittedPosition) -> bool:
            return end.divergence(history, start, end_of_epochs) is None

        is_first = self._read_at is None
        known = following(self._kept_runs(), start) if is_first else self._runs
        self._runs = list(takewhile(lambda run: is_there(run.end), known))
        if is_first or not is_there(self._end):
            self._recent, self._recent_count = {}, 0
            self._end = self._runs[-1].end if self._runs else CommittedPosition(NO_EPOCH, NO_EPOCH, start)
        self._remove_others()

    def _kept_runs(self) -> Iterator[KeyRun]:
        """Yield what files say that were made from this log, as far as the batch before a run's end shows it."""
        for path in self._files():
            run = KeyRun.read(path)
            if run is not None and self._batch_before(run.end.offset) in {run.last_batch, _NO_BATCH}:
                yield run

    def _batch_before(self, end: int) -> int:
        """Return a checksum of the header of the batch that has the record before an offset.

        -1 without one, as compaction and holes leave it, and where the log does not reach so far.
        """
        with suppress(LogStoreError):
            view = self._log.read(end - 1, 0)
            batch = next(view.batches(), None)
            if batch is not None and batch.base_offset <= end - 1 <= batch.last_offset:
                return crc32c(view.data[:HEADER_SIZE])
        return _NO_BATCH

    def _remove_others(self) -> None:
        """Remove the files of runs that are not in use; what cannot be removed is no harm."""
        names = {path_of(self._directory, run.end.offset).name for run in self._runs}
        for path in self._files():
            if path.name not in names:
                with suppress(OSError):
                    self._filesystem.unlink(path)

    def _files(self) -> list[Path]:
        return [path for path in self._directory.iterdir() if parse_file_name(path.name).kind is FileKind.KEY_INDEX]


def _past_holes(get: Callable[[int], Record | None]) -> Callable[[int], Record | None]:
    def get_or_none(offset: int) -> Record | None:
        try:
            return get(offset)
        except HoleError:
            return None

    return get_or_none


def following(found: Iterable[KeyRun], log_start_offset: int) -> list[KeyRun]:
    """Choose runs that begin at the log's start or before, and follow each other as far as possible.

    What was joined, and not removed before a crash, lies within another run.
    """
    runs: dict[int, KeyRun] = {}
    for run in found:
        if run.first not in runs or runs[run.first].end.offset < run.end.offset:
            runs[run.first] = run
    begins = [run for run in runs.values() if run.first <= log_start_offset < run.end.offset]
    chosen: list[KeyRun] = []
    following = max(begins, key=lambda run: run.end.offset, default=None)
    while following is not None:
        chosen.append(following)
        following = runs.get(following.end.offset)
    return chosen
