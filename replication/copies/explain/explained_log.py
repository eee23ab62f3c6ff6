"""The offsets of one log, explained by all copies of its partition."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from epoch import EpochHistory
from epoch.history import MAX_OFFSET
from logstore.file_name import FileKind
from logstore.files.offset_checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
)
from logstore.offline.recovered_log import RecoveredLog, checkpointed_history
from logstore.topic_partition import ALWAYS_COMPACTED
from logstore.verify.compaction import may_lack_checkpoint
from replication.copies.explain.branch import Branch, branch_of_copy, branch_of_kept_file
from replication.copies.explain.classification import classify, data_runs, gaps, last_stable_offset
from replication.copies.explain.evidence import Evidence
from replication.copies.explain.explanation import Explanation, runs_of_offsets
from replication.copies.explain.kept_file import KeptFile
from replication.copies.explain.later_records import HeldBack, lost_to_no_later_record
from replication.copies.explain.offset_ranges import (
    Ranges,
    by_offset,
    clipped_ranges,
    is_of,
    ordered,
    ranges,
    ranges_of_runs,
    split,
)
from replication.copies.explain.offset_runs import CONTROL, clipped
from replication.copies.explain.table_rows import chosen
from replication.copies.explain.walked_log import NamedFile, Piece, WalkedLog, walk, walk_pieces
from replication.copies.explain.why import CODES, Why
from replication.copies.planning.known_end import known_end
from replication.copies.planning.plan import common_end
from replication.records.metadata.remote_storage import UNTOLD

UNREADABLE_BATCH: Final = (
    "its batch cannot be read, although the checksum is valid: a consumer fails here with an error until it seeks "
    "past it"
)
NO_COPY: Final = "no copy has it, but offsets behind it were written"


def cut_off_tail(log: RecoveredLog, copy: str, files: list[NamedFile], note: int) -> Ranges:
    """Return the sound batches that recovery drops with the damage before them, as missing. Raises OSError."""
    if log.damage is None:
        return ranges(0, -1, Why.MISSING)
    left = log.partition.segments[max(len(log.segments) - 1, 0) :]
    ends = [*(each.base_offset for each in left[1:]), MAX_OFFSET]

    def pieces() -> Iterator[Piece]:
        for segment, end in zip(left, ends, strict=True):
            with segment.open_log() as file:
                yield Piece(file, segment.base_offset, end)

    walked = walk_pieces(pieces(), copy, files, log.log_end_offset, MAX_OFFSET)
    rows = ranges_of_runs(clipped(walked.runs, log.log_end_offset, MAX_OFFSET), Why.MISSING)
    rows["note"] = note
    rows["held_file"], rows["held_position"] = rows["file"], rows["position"]
    rows["file"] = rows["position"] = -1
    return rows


@dataclass(slots=True)
class ExplainedLog:
    """One copy, with what the others say of it."""

    name: str
    log: RecoveredLog
    others: Mapping[str, RecoveredLog]
    kept: Sequence[tuple[str, KeptFile]] = ()
    """What mirrors kept of the partition, each with the name of its directory."""
    is_compacted: bool = False
    """Whether the topic is compacted, as somebody says who knows its configuration."""
    committed_only: bool = True
    has_remote: bool | None = None
    """Whether the topic has remote storage; None where nobody says it."""
    progress: Callable[[int], object] = lambda _: None
    """Called with the bytes of the copy that were read since the last call."""
    evidence: Evidence = field(default_factory=Evidence)
    _led: EpochHistory = field(default_factory=EpochHistory)
    """Who led, with leaders that wrote nothing."""
    _ends: dict[str, int] = field(default_factory=dict)
    """Up to where each other copy is common with the log."""

    def explain(self, start: int, end: int | None, *, least_end: int = 0) -> Explanation:
        """Return what became of the offsets from `start` up to `end`.

        Without an `end`, all that any copy has or speaks of, and those below `least_end`. Raises OSError, EpochError
        where a checkpoint cannot be parsed, and NoEpochLeftError.
        """
        log = self.log
        self._ends = {name: common_end(log, other) for name, other in self.others.items()}
        tail = self._cut_off_tail()
        branches = list(self._branches(start, tail))
        last_known, said = self._known_end([*(each.rows for each in branches), tail])
        end = max(last_known, least_end, start) if end is None else end
        first, last = max(start, log.log_start_offset), min(end, log.log_end_offset)
        walked = self._walked(first, last)
        cleaned_to, cleaned = self._cleaned_to(walked)
        held = classify(walked, first, max(first, last), cleaned_to=cleaned_to, committed_only=self.committed_only)
        held["note"][is_of(held, Why.COMPACTED)] = self.evidence.note(cleaned)
        held["note"][is_of(held, Why.UNREADABLE)] = self.evidence.note(UNREADABLE_BATCH)
        self._explain_damage(held, walked)
        held = self._without_false_gaps(held, walked)
        beyond = max(log.log_end_offset, start)
        table = by_offset(
            *self._before(start, min(log.log_start_offset, end)),
            held,
            self._beyond(beyond, min(last_known, end), said, tail),
            ranges(max(last_known, beyond), end - 1, Why.NEVER_WRITTEN),
        )
        for branch in branches:
            table = _overlaid(table, branch.rows, self._led, log.log_end_offset)
        table = self._with_holders(table)
        table["note"][(table["note"] == self.evidence.note(NO_COPY)) & (table["held_file"] >= 0)] = self.evidence.note(
            f"the log ends at {log.log_end_offset:,}, before it"
        )
        cut_off = [clipped_ranges(each.rows[is_of(each.rows, Why.TRUNCATED)], start, end) for each in branches]
        return Explanation(
            log.partition.topic_partition,
            self.name,
            tuple(self.others),
            self.committed_only,
            start,
            end,
            log.log_start_offset,
            log.log_end_offset,
            None if log.damage is None else str(log.damage),
            ordered(table),
            np.concatenate([table[:0], *cut_off]),
            self.evidence,
            led=self._led,
        )

    def _walked(self, first: int, last: int) -> WalkedLog:
        """Read the log, with checksums where the offsets are; all of them where a transaction seems to be open."""
        start, end = self.log.log_start_offset, self.log.log_end_offset
        walked = walk(self.log, self.name, self.evidence.files, first, last, progress=self.progress)
        is_in_doubt = self.committed_only and (first, last) != (start, end) and last_stable_offset(walked) < last
        return walk(self.log, self.name, self.evidence.files, start, end, np.array([first])) if is_in_doubt else walked

    def _branches(self, start: int, tail: Ranges) -> list[Branch]:
        """Read what kept files hold, and what other copies have beyond the fork."""
        self._led = led = _led(self.log)
        files = self.evidence.files
        cuts = np.append(tail["first"], self.log.log_end_offset)
        kept = [branch_of_kept_file(each, name, files) for name, each in self.kept]
        return kept + [
            branch_of_copy(name, other, self._ends[name], led, files, start, cuts)
            for name, other in self.others.items()
            if other.log_end_offset > self._ends[name]
        ]

    def _cut_off_tail(self) -> Ranges:
        note = self.evidence.note(
            f"sound itself, but recovery cuts the log off at {self.log.log_end_offset:,}, for the damage there"
        )
        return cut_off_tail(self.log, self.name, self.evidence.files, note)

    def _beyond(self, start: int, end: int, said: str, tail: Ranges) -> Ranges:
        """Return what is missing behind the log's end: what is damaged, what stands behind that, and the rest."""
        cut_at = start
        if len(tail):
            cut_at = int(tail["last"].max()) + 1
        elif self.log.damage and said == NO_COPY:
            cut_at = end
        damaged = self.evidence.note(f"recovery cuts the log off before it: {self.log.damage}")
        rows = by_offset(
            ranges(start, min(cut_at, end) - 1, Why.MISSING, note=damaged),
            ranges(max(cut_at, start), end - 1, Why.MISSING, note=self.evidence.note(said)),
        )
        rows, number = split(rows, tail["first"], tail["last"])
        is_sound = number >= 0
        for name in ("epoch", "note", "held_file", "held_position"):
            rows[name][is_sound] = tail[name][number[is_sound]]
        return rows

    def _known_end(self, found: Sequence[Ranges]) -> tuple[int, str]:
        """Return up to where offsets were written, by all that speaks of them, and what does."""
        end, said = self.log.log_end_offset, NO_COPY
        for rows in found:
            end = max(end, int(rows["last"].max()) + 1) if len(rows) else end
        for name, log in {self.name: self.log, **self.others}.items():
            committed = log.partition.checkpoints.high_watermark or 0
            if committed > end:
                end = committed
                said = f"{name}'s {HIGH_WATERMARK_CHECKPOINT} says that all below {committed:,} was committed"
            latest = checkpointed_history(log.partition).latest
            if latest is not None and latest.start_offset > end:
                end = latest.start_offset
                file = FileKind.LEADER_EPOCH_CHECKPOINT.value
                said = f"{name}'s {file} says that epoch {latest.epoch} began at offset {end:,}"
            known = known_end(log.partition, None)
            if known.offset > end:
                end, said = known.offset, f"{name}'s {known.told_by} says that its log reached {known.offset:,}"
        return end, said

    def _cleaned_to(self, walked: WalkedLog) -> tuple[int, str]:
        """Return up to where gaps are the cleaner's work, and what says so."""
        partition, traces = self.log.partition, walked.cleaned_to
        checkpointed = partition.checkpoints.cleaner_offset or 0
        active = self.log.segments[-1].base_offset if self.log.segments else 0
        if self.is_compacted or partition.topic_partition.topic in ALWAYS_COMPACTED:
            return max(active, traces, checkpointed), "the topic is compacted"
        if may_lack_checkpoint(partition):
            return max(
                active, traces, checkpointed
            ), f"the cleaner may have got further than {CLEANER_OFFSET_CHECKPOINT} says"
        if checkpointed >= traces:
            return checkpointed, f"{CLEANER_OFFSET_CHECKPOINT}: the cleaner was over all below {checkpointed:,}"
        return traces, f"batches with fewer records than offsets: the cleaner was over all below {traces:,}"

    def _before(self, start: int, end: int) -> tuple[Ranges, Ranges]:
        """Return what lies below the first offset that may be read here: what has expired, and what is elsewhere."""
        log = self.log
        begins = None if self.has_remote is False else log.begins_below(has_remote=self.has_remote)
        if begins is None:
            return ranges(start, end - 1, Why.EXPIRED, note=self.evidence.note(self._expiry())), ranges(
                0, -1, Why.REMOTE
            )
        known = log.partition.checkpoints.log_start_offset is not None
        told_by = LOG_START_OFFSET_CHECKPOINT if known else FileKind.LEADER_EPOCH_CHECKPOINT.value
        starts = f"{told_by}: the log starts at {begins:,}"
        here = f"{starts}; its first file at {log.log_start_offset:,}"
        return (
            ranges(start, min(begins, end) - 1, Why.EXPIRED, note=self.evidence.note(starts)),
            ranges(
                max(start, begins),
                end - 1,
                Why.REMOTE,
                note=self.evidence.note(here if self.has_remote else f"{UNTOLD}; {here}"),
            ),
        )

    def _expiry(self) -> str:
        start = self.log.log_start_offset
        if self.log.partition.checkpoints.log_start_offset == start:
            said = f"{LOG_START_OFFSET_CHECKPOINT}: the log starts at {start:,}"
        else:
            said = f"the log's first file starts at {start:,}"
        older = [name for name, other in self.others.items() if other.log_start_offset < start and other.segments]
        return f"{said}; {', '.join(older)} still has older offsets" if older else said

    def _explain_damage(self, held: Ranges, walked: WalkedLog) -> None:
        """Note of what is missing where the log is damaged, or that nothing stands there."""
        missing = np.flatnonzero(is_of(held, Why.MISSING))
        held["note"][missing] = self.evidence.note("no batch has it, and the cleaner was not here")
        damage = walked.damage
        at = np.searchsorted(damage["offset"], held["first"][missing])
        is_damaged = at < len(damage)
        is_damaged[is_damaged] = damage["offset"][at[is_damaged]] <= held["last"][missing][is_damaged] + 1
        rows, at = missing[is_damaged], at[is_damaged]
        held["note"][rows] = self.evidence.note("the bytes there are damaged")
        held["file"][rows], held["position"][rows] = damage["file"][at], damage["position"][at]

    def _without_false_gaps(self, held: Ranges, walked: WalkedLog) -> Ranges:
        """See where another copy has a record that the cleaner cannot have taken."""
        compacted = chosen(held, is_of(held, Why.COMPACTED))
        # What the cleaner took it for lies below where it came to; that is known by the checkpoint alone.
        limit = self.log.partition.checkpoints.cleaner_offset or self.log.log_end_offset
        copies = [each for name in self.others if (each := self._held_by(name, compacted, limit))]
        if not copies:
            return held
        # The cleaner leaves nothing of aborted transactions.
        visible = clipped(chosen(walked.runs, walked.runs["kind"] != CONTROL), self.log.log_start_offset, limit)
        lost = lost_to_no_later_record(self.log, visible, copies)
        if self.log.partition.checkpoints.cleaner_offset is None:
            # The cleaner may have got further than is known, to a later record that is missing.
            start, end = self.log.log_start_offset, self.log.log_end_offset
            _, missing = gaps(clipped(walked.runs, start, end), start, end, walked.cleaned_to)
            lost = lost[lost > max(missing["last"], default=-1)]
        if not len(lost):
            return held
        first, last = runs_of_offsets(lost)
        rows, within = split(held, first, last)
        is_lost = (within >= 0) & is_of(rows, Why.COMPACTED)
        rows["why"][is_lost] = CODES[Why.MISSING]
        rows["note"][is_lost] = self.evidence.note(
            "no later record of its key is there, so the cleaner did not take it"
        )
        return rows

    def _held_by(self, name: str, compacted: Ranges, limit: int) -> HeldBack | None:
        """Return what a copy has of what was compacted away, committed and common with the log."""
        other, end = self.others[name], self._ends[name]
        common = clipped_ranges(compacted, other.log_start_offset, end)
        if not len(common):
            return None
        first = int(common["first"][0])
        walked = walk(other, name, self.evidence.files, first, end)
        theirs = clipped(data_runs(walked, with_open=False), first, end)
        rows, within = split(common, theirs["first"], theirs["last"])
        rows = chosen(rows, within >= 0)
        visible = clipped(data_runs(walked, with_open=True), first, min(end, limit))
        return HeldBack(other, rows, visible) if len(rows) else None

    def _with_holders(self, table: Ranges) -> Ranges:
        """Note which other copy has what is missing within the part that is common."""
        for name, other in self.others.items():
            unheld = table[is_of(table, Why.MISSING) & (table["held_file"] < 0)]
            lacking = clipped_ranges(unheld, other.log_start_offset, self._ends[name])
            if not len(lacking):
                continue
            first, last = int(lacking["first"][0]), int(lacking["last"][-1]) + 1
            walked = walk(other, name, self.evidence.files, first, last, lacking["first"])
            theirs = ranges_of_runs(chosen(walked.runs, ~walked.runs["is_unreadable"]), Why.MISSING)
            theirs = clipped_ranges(theirs, first, min(last, self._ends[name]))
            theirs["held_file"], theirs["held_position"] = theirs["file"], theirs["position"]
            table = _overlaid(table, theirs, self._led, 0)
        return table


def _overlaid(table: Ranges, rows: Ranges, led: EpochHistory, end: int) -> Ranges:
    """Replace what is missing by what another source has.

    Below the `end` of the log, it must have been cut off within a batch: right behind it begins the epoch that did so.
    Elsewhere the log itself has lost other records at the same offsets; so it has where these are known to be held.
    """
    cut, number = split(table, rows["first"], rows["last"])
    is_known = (number >= 0) & is_of(cut, Why.MISSING)
    is_known &= (cut["held_file"] < 0) | (is_of(rows, Why.MISSING)[number] if len(rows) else False)
    begun = {each.start_offset: each.epoch for each in led.entries}
    for row in np.flatnonzero(is_known & (cut["first"] < end)):
        is_known[row] = begun.get(int(cut["last"][row]) + 1) == rows["decided_by"][number[row]]
    theirs = rows[number[is_known]]
    mine = cut[is_known]
    for name in ("epoch", "held_file", "held_position"):
        mine[name] = theirs[name]
    is_cut = theirs["why"] == CODES[Why.TRUNCATED]
    for name in ("why", "decided_by", "file", "position"):
        mine[name][is_cut] = theirs[name][is_cut]
    mine["note"][is_cut] = -1
    cut[is_known] = mine
    return cut


def _led(log: RecoveredLog) -> EpochHistory:
    """Return who led, with leaders that wrote nothing: a leader notes its epoch before it writes."""
    noted, lineage = checkpointed_history(log.partition), log.lineage()
    latest = noted.latest
    if latest is None or (lineage.latest_epoch is not None and lineage.latest_epoch >= latest.epoch):
        return lineage
    return noted
