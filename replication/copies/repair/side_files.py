"""Indexes, producer snapshots and leader epochs of a repaired copy: those that are wrong or missing are made anew."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from epoch.checkpoint import LeaderEpochCheckpoint
from epoch.filesystem import FileSystem
from logstore.batch.any_batch import Batch
from logstore.batch.batch_attributes import NO_PRODUCER_ID
from logstore.batch.batches import read_batch
from logstore.file_name import INDEX_KINDS, FileKind, file_name, parse_file_name
from logstore.log_config import LogConfig
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from logstore.producers.producer_state import ProducerState
from logstore.recovery.segment_recovery import recover_segment
from logstore.verify import Finding, compare_epochs

_SIDE_KINDS: Final = frozenset({*INDEX_KINDS, FileKind.PRODUCER_SNAPSHOT, FileKind.LEADER_EPOCH_CHECKPOINT})


@dataclass(slots=True)
class SideFiles:
    """Makes the files beside the log that `findings` are about, unless what is wrong is in the log itself.

    So it does with the indexes of segments, by their base offsets, for which they are `outdated`.
    """

    partition: PartitionDirectory
    findings: Sequence[Finding]
    outdated: AbstractSet[int]
    filesystem: FileSystem
    made: list[str] = field(default_factory=list)

    def make(self) -> tuple[str, ...]:
        """Write them; return their names. Raises OSError."""
        wrong = [each for each in self.findings if each.severity.needs_attention and each.file]
        damaged = {each.file for each in wrong if parse_file_name(each.file or "").kind is FileKind.LOG}
        names = sorted({each.file or "" for each in wrong})
        for name in (name for name in names if parse_file_name(name).kind in _SIDE_KINDS):
            path = self.partition.path / name
            if parse_file_name(name).kind is FileKind.PRODUCER_SNAPSHOT and path.exists():
                self.filesystem.unlink(path)  # what is made anew does not begin with it
        by_base = {base: {FileKind.OFFSET_INDEX, FileKind.TIME_INDEX} for base in self.outdated}
        for name in names:
            parsed = parse_file_name(name)
            if parsed.kind in INDEX_KINDS and parsed.base_offset is not None:
                by_base.setdefault(parsed.base_offset, set()).add(parsed.kind)
        for segment in self.partition.segments:
            kinds = by_base.get(segment.base_offset)
            if kinds and segment.log_path.name not in damaged:
                self._make_indexes(segment, kinds)
        if not damaged:
            self._make_snapshots(names)
        if FileKind.LEADER_EPOCH_CHECKPOINT.value in names:
            self._make_epochs()
        return tuple(self.made)

    def _make_indexes(self, segment: Segment, kinds: set[FileKind]) -> None:
        """Build a segment's indexes from its batches, and keep those that nothing is wrong with."""
        good = [kind for kind in INDEX_KINDS if kind not in kinds and self._path(kind, segment).exists()]
        kept = {kind: self._path(kind, segment).read_bytes() for kind in good}
        producers = self._producers_at(segment.base_offset)
        recover_segment(
            self.partition.path,
            segment.base_offset,
            LogConfig(),
            on_producer_batch=producers.replay,
            filesystem=self.filesystem,
        )
        for kind, data in kept.items():
            self.filesystem.write_atomically(self._path(kind, segment), data)
        self.made += sorted(file_name(kind, segment.base_offset) for kind in kinds)

    def _producers_at(self, offset: int) -> ProducerState:
        """Bring the producers' state up to `offset`: from the latest snapshot before it, and the batches after that."""
        earlier = [
            (name.base_offset, path)
            for name, path in self.partition.listed_again().named(FileKind.PRODUCER_SNAPSHOT)
            if name.base_offset is not None and name.base_offset <= offset
        ]
        with TemporaryDirectory() as scratch:  # reading the state removes snapshots that are beyond it
            for _, path in sorted(earlier)[-1:]:
                shutil.copy(path, scratch)
            producers = ProducerState(Path(scratch))
            producers.reload(0, offset, now_ms=0)  # nothing expires here
        for batch in self._batches(producers.end_offset, offset):
            producers.replay(batch)
        return producers

    def _batches(self, start: int, end: int) -> Iterator[Batch]:
        """Read the batches of producers from `start` to `end`, which is left out."""
        for segment in self.partition.segments:
            if segment.base_offset >= end:
                return
            with segment.open_log() as log:
                for columns in log.scan(check_crc=False):
                    wanted = (columns.producer_id != NO_PRODUCER_ID) & (columns.base_offset >= start)
                    for position in columns.position[wanted & (columns.last_offset < end)].tolist():
                        yield read_batch(log.data, position, str(log.path))

    def _path(self, kind: FileKind, segment: Segment) -> Path:
        return self.partition.path / file_name(kind, segment.base_offset)

    def _make_snapshots(self, names: Iterable[str]) -> None:
        for name in names:
            parsed = parse_file_name(name)
            if parsed.kind is FileKind.PRODUCER_SNAPSHOT and parsed.base_offset is not None:
                snapshot = self._producers_at(parsed.base_offset).snapshot()
                self.filesystem.write_atomically(self.partition.path / name, snapshot.encode())
                self.made.append(name)

    def _make_epochs(self) -> None:
        rebuilt = compare_epochs(self.partition.listed_again()).rebuilt
        LeaderEpochCheckpoint(self.partition.path, self.filesystem).write(rebuilt.entries)
        self.made.append(FileKind.LEADER_EPOCH_CHECKPOINT.value)
