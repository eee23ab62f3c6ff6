"""What recovery may do to a log that no other node has a copy of: drop nothing that was promised, unless asked to."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from logstore.errors import DamagedLogError
from logstore.file_name import FileKind, file_name
from logstore.files.index_slots import MAX_RELATIVE_OFFSET
from logstore.files.only_copy.offset_gaps import Hole
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME, start_in_doubt
from logstore.offline.log_file import LogFile
from logstore.recovery.damage.following_batch import FollowingBatch, find_following
from logstore.recovery.damage_policy import DamagePolicy
from logstore.recovery.recovered_gaps import RecoveredGaps
from logstore.recovery.segment_split import Part
from logstore.recovery.segment_walk import SegmentRecovery


@dataclass(frozen=True, slots=True)
class Treatment:
    """What becomes of a segment that is damaged somewhere."""

    end: int | None = None
    """The damaged bytes up to this position are taken out; None for all to the end of the file."""
    is_promised: bool = False
    """Whether they were acknowledged as being on stable storage."""
    sets_aside: bool = False
    """Whether they go into a file, with the segments behind where those go too."""
    keeps_later: bool = False
    """Whether the segments behind stay."""
    hole: Hole | None = None
    """What readers get errors for."""
    parts: tuple[Part, ...] = ()
    """What stays of the segment on both sides; empty where nothing stays behind the damage."""


@dataclass(frozen=True, slots=True)
class OnlyCopy:
    """Knows what was promised of a log, and what it lacks, and judges damage by that; changes nothing."""

    directory: Path
    policy: DamagePolicy
    recovery_point: int | None
    """Everything below it was promised; None where nobody knows, so that all of it may have been."""
    checkpointed: int
    """Everything below it was on stable storage by the checkpoint files, where nobody knows more."""
    was_closed: bool
    """Whether the log was closed in order: then all of it was promised."""
    gaps: RecoveredGaps
    """Which offsets the log may lack."""
    checks_all: bool = False
    """Whether it was asked for that all batches are checked: else the damage may not be found another time."""

    def judge(self, found: SegmentRecovery, later: Sequence[int]) -> Treatment:
        """Decide on the first damage of a segment, which others follow. Raises DamagedLogError, OSError."""
        path = self.directory / file_name(FileKind.LOG, found.base_offset)
        bound = later[0] if later else found.base_offset + MAX_RELATIVE_OFFSET + 1
        with LogFile.open(path) as log:
            following = find_following(log, max(found.valid_bytes, found.in_doubt), found.next_offset, bound)
        is_followed = following is not None or bool(later)
        if not self._is_promised(found.next_offset, is_followed=is_followed):
            return Treatment(sets_aside=is_followed)
        end_offset = self._end_of_damage(found, following, later)
        if self.policy is DamagePolicy.RAISE:
            raise self._refused(found.reason, path, found.valid_bytes, Hole(found.next_offset, end_offset))
        if self.policy is DamagePolicy.CUT:
            return Treatment(is_promised=True, sets_aside=True)
        hole = Hole(found.next_offset, end_offset) if following or later else None
        return self._around(found, following, hole)

    def judge_missing(self, start: int, end: int, what: str, file: int) -> None:
        """Look at offsets that were promised and that no file holds. Raises DamagedLogError."""
        if self.policy is DamagePolicy.RAISE:
            path = self.directory / file_name(FileKind.LOG, file)
            raise self._refused(what, path, None, Hole(start, end))

    def judge_start(self, start: int, checkpointed: int) -> None:
        """Look at a log of which only a checkpoint file says that it starts so late. Raises DamagedLogError."""
        if self.policy is DamagePolicy.RAISE:
            raise start_in_doubt(self.directory, start, checkpointed)

    def judge_end(self, end: int, log_start_offset: int, file: int) -> None:
        """Look at a log that ends before its start. Raises DamagedLogError where that can only be damage."""
        promised = log_start_offset + 1 if self.recovery_point is None else self.recovery_point
        if promised > log_start_offset:
            what = f"the log ends at offset {end:,}, before its start {log_start_offset:,}"
            self.judge_missing(log_start_offset, promised, what, file)

    def _is_promised(self, offset: int, *, is_followed: bool) -> bool:
        if self.was_closed:
            return True
        if self.recovery_point is None:
            return is_followed or offset < self.checkpointed
        return offset < self.recovery_point

    def _end_of_damage(self, found: SegmentRecovery, following: FollowingBatch | None, later: Sequence[int]) -> int:
        if following is not None:
            return following.base_offset
        return later[0] if later else max(self.recovery_point or self.checkpointed, found.next_offset)

    def _around(self, found: SegmentRecovery, following: FollowingBatch | None, hole: Hole | None) -> Treatment:
        if following is None:
            return Treatment(is_promised=True, sets_aside=True, keeps_later=True, hole=hole)
        behind = Part(following.base_offset, following.position)
        before = (Part(found.base_offset, 0, found.valid_bytes),) if found.valid_bytes else ()
        parts = (*before, behind)
        return Treatment(
            following.position, is_promised=True, sets_aside=True, keeps_later=True, hole=hole, parts=parts
        )

    def _refused(self, what: str, file: Path, position: int | None, lost: Hole) -> DamagedLogError:
        known = f"up to where is not known: {PROMISED_OFFSETS_NAME} is missing or damaged"
        if self.checkpointed:
            known = f"{PROMISED_OFFSETS_NAME} is missing or damaged; by the checkpoint it is {self.checkpointed:,}"
        if self.recovery_point is not None:
            known = f"the recovery point is {self.recovery_point:,}"
        if self.was_closed:
            known = f"the log was closed in order, and {known}"
        concerned = f", and {lost} may be damaged or lost" if lost.start_offset < lost.end_offset else ""
        asked = "check_all=True and " if self.checks_all else ""
        error = DamagedLogError(
            f"{what}{concerned}, of what was promised to be on stable storage ({known})",
            file=file,
            position=position,
            offset=lost.start_offset,
            advice=f"nothing was changed: put a copy of the directory in its place; or open it with {asked}"
            'damage="hole", which keeps all that can be read, or with damage="cut", which ends the log there: both set '
            "aside in files what they take out",
        )
        error.end_offset = lost.end_offset
        return error
