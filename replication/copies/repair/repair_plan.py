"""What is damaged or missing in a copy of a partition, and what of it other copies heal: decided, and then written."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from epoch import EpochHistory
from epoch.filesystem import REAL, FileSystem
from logstore.errors import LogStoreError
from logstore.file_name import FileKind, file_name
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import begins_below
from logstore.verify import Finding
from replication.copies.repair.cleaned import is_never_cleaned, may_be_cleaned
from replication.copies.repair.errors import OtherPartitionError
from replication.copies.repair.filling import Filling, fill
from replication.copies.repair.gap import Gap, find_gaps
from replication.copies.repair.layout import Layout
from replication.copies.repair.proof import Candidates, Neighbours, prove
from replication.copies.repair.range_report import HealedRange, LeftRange
from replication.copies.repair.repair_report import RepairReport
from replication.copies.repair.scanned_copy import ScannedCopy
from replication.records.metadata.remote_storage import UNTOLD, has_remote_storage

MAY_BE_CLEANED: Final = (
    "if the topic is compacted, the cleaner may have taken what is missing: each of its keys comes again later; name "
    "a copy of the broker's whole root, whose checkpoint files show that"
)


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """What a repair of one partition does, before it is done."""

    partition: PartitionDirectory
    healed: tuple[HealedRange, ...]
    """In order of offsets."""
    left: tuple[LeftRange, ...]
    layout: Layout
    metadata: PartitionMetadata | None = None
    """The topic's id, by the others, where the copy has none."""

    @property
    def bytes(self) -> int:
        """Of the logs that are to be written."""
        changed = self.layout.changed()
        kept = sum(each.size for each in self.layout.copy.segments if each.base_offset not in changed)
        return kept + sum(piece.end - piece.start for pieces in changed.values() for piece in pieces)

    @property
    def log_end_offset(self) -> int:
        """Where the repaired log ends, as far as its batches are sound."""
        rows = self.layout.copy.rows
        kept = [int(rows.last_offset[-1]) + 1] if len(rows) else []
        return max([*kept, *(each.end_offset for each in self.healed)], default=self.partition.log_start_offset)

    def report(self, made_anew: tuple[str, ...] = (), findings: tuple[Finding, ...] = ()) -> RepairReport:
        """Sum up; as long as nothing is written, nothing was made anew, and nothing was found in the copy."""
        committed = self.partition.checkpoints.high_watermark or 0
        is_left = any(
            not (each.is_readable or each.may_be_remote) and each.first_offset < committed for each in self.left
        )
        topic, partition = self.partition.topic_partition
        return RepairReport(topic, partition, self.healed, self.left, made_anew, findings, is_left)

    def write(
        self, target: Path, *, filesystem: FileSystem = REAL, progress: Callable[[int], object] = lambda _: None
    ) -> RepairReport:
        """Write the repaired copy to a new directory named `topic-partition`, and see what is still wrong with it.

        `progress` is called with the number of bytes of logs that were written since the last call. Everything is on
        the disk when this returns. Raises OSError.
        """
        from replication.copies.repair.repaired_copy import write_copy  # noqa: PLC0415  start-up time

        return self.report(*write_copy(self.partition, self.layout, target, filesystem, progress, self.metadata))


def plan_repair(
    damaged: PartitionDirectory, others: Sequence[PartitionDirectory], *, has_remote: bool | None = None
) -> RepairPlan:
    """Find out what is damaged or missing in a copy, and what of it the copies of other replicas heal.

    `has_remote` says whether remote storage has what lies below the first segment; by default the metadata that lies
    beside the copies does. Where nobody says it, that is left, and named.

    All are read whole, and nothing is written. Raises OtherPartitionError for what is no copy of the same partition,
    and OSError.
    """
    for other in others:
        _ensure_same(damaged, other)
    sources = [ScannedCopy.read(other) for other in others]
    copy = _without_wrong_epochs(ScannedCopy.read(damaged, within_names=True), sources)
    neighbours = [Neighbours.of(copy, source) for source in sources]
    healed: list[HealedRange] = []
    left: list[LeftRange] = []
    filled: list[tuple[Gap, Filling]] = []
    # Each broker compacts its copy when it comes to it: what one shows holds for the topic.
    is_compacted = any(each.is_compacted for each in (copy, *sources))
    checkpoint = copy.checkpoint or EpochHistory()
    if has_remote is None and begins_below(damaged, checkpoint, has_remote=True) is not None:
        has_remote = has_remote_storage(
            damaged.topic_partition.topic, [each.path.parent for each in (damaged, *others)]
        )
    begins = begins_below(damaged, checkpoint, has_remote=has_remote)
    for gap in find_gaps(copy, is_compacted=is_compacted, has_remote=has_remote is True):
        answers = [prove(gap, each) for each in neighbours]
        candidates = [each for each in answers if isinstance(each, Candidates)]
        refusals = [each for each in answers if isinstance(each, str)]
        filling = fill(gap, copy, candidates, refusals, is_compacted=is_compacted)
        if not is_compacted and _may_bring_back(copy, gap, filling):
            filling = Filling(kept=gap.regions, why=MAY_BE_CLEANED)
        filled.append((gap, filling))
        healed += _healed(copy, gap, filling)
        left += _left(copy, gap, filling, may_be_remote=gap.row == 0 and begins is not None and has_remote is None)
    if not is_compacted:
        left += [each for one in neighbours for each in _different(one)]
    return RepairPlan(damaged, tuple(healed), tuple(left), Layout.of(copy, filled), _lacking_metadata(damaged, others))


def _without_wrong_epochs(copy: ScannedCopy, sources: Sequence[ScannedCopy]) -> ScannedCopy:
    """Drop batches as damaged that have another leader epoch than the copy's checkpoint and another copy have."""
    kept = np.ones(len(copy.rows), np.bool_)
    for source in sources:
        kept[Neighbours.of(copy, source).wrong_epochs()] = False
    return replace(copy, rows=copy.rows.where(kept))


def _ensure_same(damaged: PartitionDirectory, other: PartitionDirectory) -> None:
    if other.topic_partition != damaged.topic_partition:
        raise OtherPartitionError(other.path, f"holds {other.topic_partition}, and not {damaged.topic_partition}")
    if other.path.resolve() == damaged.path.resolve():
        raise OtherPartitionError(other.path, "is the damaged copy itself")
    ours, theirs = _topic_id(damaged), _topic_id(other)
    if ours is not None and theirs is not None and ours != theirs:
        raise OtherPartitionError(other.path, f"its topic id is {theirs.topic_id}, and not {ours.topic_id}")


def _lacking_metadata(damaged: PartitionDirectory, others: Sequence[PartitionDirectory]) -> PartitionMetadata | None:
    """Return what a copy without its topic's id should have, where all others that have one agree."""
    told = {each for each in map(_topic_id, others) if each is not None}
    is_lacking = PARTITION_METADATA_NAME not in damaged.listing.files
    return told.pop() if is_lacking and len(told) == 1 else None


def _topic_id(partition: PartitionDirectory) -> PartitionMetadata | None:
    try:
        return PartitionMetadata.of(partition.path)
    except (LogStoreError, OSError):
        return None  # verify says so


def _may_bring_back(copy: ScannedCopy, gap: Gap, filling: Filling) -> bool:
    """Whether batches might be restored that the cleaner removed, as far as is known without the root."""
    is_exact = sum(run.bytes for run in filling.runs) == gap.bytes
    if gap.end is None or not filling.runs or is_exact or is_never_cleaned(copy):
        return False
    return may_be_cleaned(filling.runs)


def _place(copy: ScannedCopy, gap: Gap) -> tuple[str, int]:
    """Return the file where a gap begins, and where in it."""
    if gap.regions:
        return copy.segments[gap.regions[0].segment].log_path.name, gap.regions[0].start
    rows = copy.rows
    if gap.row == 0 or (gap.row < len(rows) and rows.segment[gap.row] != rows.segment[gap.row - 1]):
        return file_name(FileKind.LOG, gap.start), 0
    row = gap.row - 1
    name = copy.segments[int(rows.segment[row])].log_path.name
    return name, int(rows.position[row] + rows.size[row])


def _healed(copy: ScannedCopy, gap: Gap, filling: Filling) -> list[HealedRange]:
    left_bytes = sum(region.end - region.start for region in filling.kept)
    if not filling.runs and gap.bytes == left_bytes:
        return []
    file, position = _place(copy, gap)
    runs = filling.runs
    return [
        HealedRange(
            file,
            position,
            gap.bytes - left_bytes,
            runs[0].start_offset if runs else gap.start,
            runs[-1].end_offset if runs else gap.start,
            sum(run.end - run.first for run in runs),
            sum(run.bytes for run in runs),
            tuple(dict.fromkeys(run.other.name for run in runs)),
        )
    ]


def _left(copy: ScannedCopy, gap: Gap, filling: Filling, *, may_be_remote: bool) -> list[LeftRange]:
    if not filling.why:
        return []
    file, position = _place(copy, gap)
    if filling.kept:
        kept = filling.kept[0]
        file, position = copy.segments[kept.segment].log_path.name, kept.start
    start = filling.head[-1].end_offset if filling.head else gap.start
    end = filling.tail[0].start_offset if filling.tail else gap.end
    may_be_remote = may_be_remote and not gap.regions
    return [
        LeftRange(file, position, start, end, UNTOLD if may_be_remote else filling.why, may_be_remote=may_be_remote)
    ]


def _different(neighbours: Neighbours) -> Iterator[LeftRange]:
    """Report that another copy has different batches, which are sound too: nothing shows which of them are right."""
    copy, row = neighbours.copy, neighbours.difference()
    if row is None:
        return
    rows = copy.rows
    why = f"{neighbours.other.name} has another batch there, and both are sound: compare all copies with epochlog audit"
    file = copy.segments[int(rows.segment[row])].log_path.name
    start, end = int(rows.base_offset[row]), int(rows.last_offset[row]) + 1
    yield LeftRange(file, int(rows.position[row]), start, end, why, is_readable=True)
