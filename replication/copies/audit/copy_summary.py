"""What is known of one copy of a partition once it was examined: small, whatever the size of its log."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from epoch import EpochEntry
from epoch.history import MAX_OFFSET
from logstore.file_name import FileKind, file_name
from logstore.topic_partition import TopicPartition


class SegmentExtent(NamedTuple):
    """One segment's `.log` file: the base offset in its name, and its bytes when it was listed."""

    base_offset: int
    size: int

    @property
    def file(self) -> str:
        """The file's name."""
        return file_name(FileKind.LOG, self.base_offset)


class OffsetRange(NamedTuple):
    """The offsets from `first` to `last`, both included."""

    first: int
    last: int


def merged(ranges: Sequence[OffsetRange]) -> list[OffsetRange]:
    """Sort ranges and join those that overlap, so that no record is in two."""
    merged: list[OffsetRange] = []
    for each in sorted(ranges):
        if merged and each.first <= merged[-1].last + 1:
            merged[-1] = OffsetRange(merged[-1].first, max(merged[-1].last, each.last))
        else:
            merged.append(each)
    return merged


class ProducerEnd(NamedTuple):
    """The last data batch of a producer with idempotence in the log."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int


class OpenTransaction(NamedTuple):
    """A transaction that has records in the log, but no marker behind them."""

    producer_id: int
    producer_epoch: int
    first_offset: int


class LastMarker(NamedTuple):
    """Where the last marker of a producer stands: the end of its last transaction that has one."""

    producer_id: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySummary:
    """Offsets are Kafka's: ends are exclusive. None if no file has it."""

    replica: str
    topic: str
    partition: int
    topic_id: str | None
    """As `partition.metadata` writes it."""
    clean_shutdown: bool
    log_start_offset: int
    begins_at: int
    """Where the log began according to its files: below its start where its first segments are missing."""
    recorded_start: int | None
    """Where the log begins by its own small files, where that is below its first segment: remote storage may have what
    is between (KIP-405), or nobody."""
    is_dropped: bool
    """Its start lies beyond its end: its broker drops all of it, and begins an empty log there."""
    is_stray: bool
    """Its topic's id is missing or another one: its broker sets all of it aside, and begins an empty log."""
    log_end_offset: int
    """Where the log ends once its broker has loaded it, and cut it off at damage where that is what recovery does."""
    readable_end_offset: int
    """Where the last batch ends that can be read, damage before it or not."""
    high_watermark: int | None
    """Within the log."""
    checkpointed_high_watermark: int | None
    """As the checkpoint file has it: beyond the log's end where damage cuts off what was acknowledged."""
    high_watermark_unread: bool
    """Whether the checkpoint file is there and could not be read: it may have it."""
    recovery_point: int | None
    cleaner_offset: int | None
    """The checkpointed one (Kafka: first dirty offset)."""
    cleaned_to: int
    """Offsets below it may lack records that the cleaner removed; 0 where it never was at work."""
    history: tuple[EpochEntry, ...]
    """The leader epochs as its broker would load them."""
    lineage: tuple[EpochEntry, ...]
    """Who led when: the history, or where that is lost what the batches show, up to the log's end."""
    checkpointed_epochs: tuple[EpochEntry, ...]
    """The leader epochs as its file has them, those too that began at the log's end; empty where it cannot be read."""
    misfit_epochs: tuple[OffsetRange, ...]
    """Batches whose leader epoch contradicts their neighbours', so that the field must have been altered."""
    corrupt: tuple[OffsetRange, ...]
    """Batches whose checksum does not match: nobody can read their records here."""
    gaps: tuple[OffsetRange, ...]
    """Offsets from the log's start on that no batch holds, and that the cleaner cannot have removed.

    The last is without end: what follows the last batch. A thousand or more are joined, so that batches may be between.
    """
    segments: tuple[SegmentExtent, ...]
    kept_segments: int
    """How many of the segments are left when the broker has loaded the log."""
    valid_bytes: int
    """Bytes of the last of those that are left."""
    damage: str | None
    """What stands where the log ends although files go on."""
    log_errors: int
    """Findings of severity error about `.log` files."""
    errors: int
    """All findings of severity error, other than of what could not be read."""
    unread: int
    """Files that could not be read, and changes while they were: what the copy holds is not known."""
    unread_files: tuple[str, ...]
    """Names of the files that could not be read."""
    batches: int
    records: int
    log_bytes: int
    """Of the `.log` files."""
    open_transactions: tuple[OpenTransaction, ...]
    last_markers: tuple[LastMarker, ...]
    """By producer id, as are the producers."""
    producers: tuple[ProducerEnd, ...]

    @property
    def expected_start(self) -> int:
        """From which offset on the copy should have records, for no retention explains why they are missing."""
        return self.begins_at

    @property
    def unread_offsets(self) -> list[OffsetRange]:
        """The offsets of the segments that could not be read: nothing is known of them."""
        nexts = [*(segment.base_offset for segment in self.segments[1:]), MAX_OFFSET]
        extents = zip(self.segments, nexts, strict=False)
        return [
            OffsetRange(segment.base_offset, max(segment.base_offset, following - 1))
            for segment, following in extents
            if segment.file in self.unread_files
        ]

    @property
    def end_is_known(self) -> bool:
        """Whether the last segment was read, if there is one."""
        return not self.segments or self.segments[-1].file not in self.unread_files

    @property
    def cleaned(self) -> list[OffsetRange]:
        """The offsets of which the cleaner may have removed any, if there are some."""
        found = OffsetRange(self.log_start_offset, min(self.cleaned_to, self.log_end_offset) - 1)
        return [found] if found.first <= found.last else []

    @property
    def topic_partition(self) -> TopicPartition:
        """Of which partition this is a copy."""
        return TopicPartition(self.topic, self.partition)

    def to_bytes(self) -> bytes:
        """Return the summary for another process."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Decode a summary from another process."""
        fields = json.loads(data)
        for name, entry in _TUPLES.items():
            fields[name] = tuple(entry(*values) for values in fields[name])
        fields["unread_files"] = tuple(fields["unread_files"])
        return cls(**fields)


_TUPLES = {
    "history": EpochEntry,
    "lineage": EpochEntry,
    "checkpointed_epochs": EpochEntry,
    "misfit_epochs": OffsetRange,
    "corrupt": OffsetRange,
    "gaps": OffsetRange,
    "segments": SegmentExtent,
    "open_transactions": OpenTransaction,
    "last_markers": LastMarker,
    "producers": ProducerEnd,
}
