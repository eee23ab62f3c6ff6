"""What recovery may do to a log that no other node has a copy of: drop nothing that was promised, unless asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logstore import offline, recovery
from logstore.errors import DamagedLogError
from logstore.file_name import FileKind, file_name
from logstore.files.index_slots import MAX_RELATIVE_OFFSET
from logstore.files.only_copy.offset_gaps import Hole
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME, start_in_doubt
from logstore.recovery import damage
from logstore.recovery.damage_policy import DamagePolicy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from logstore.recovery.damage.treatment import Treatment
    from logstore.recovery.recovered_gaps import RecoveredGaps
    from logstore.recovery.segment_walk import SegmentRecovery


class OnlyCopy:
    """Knows what was promised of a log, and what it lacks, and judges damage by that; changes nothing."""

    def __init__(
        self,
        directory: Path,
        policy: DamagePolicy,
        recovery_point: int | None,
        checkpointed: int,
        gaps: RecoveredGaps,
        *,
        was_closed: bool,
        checks_all: bool,
    ) -> None:
        """Judge the log in a directory, which was asked for that all batches are checked where that `checks_all`."""
        self.directory = directory
        self.policy = policy
        self.recovery_point = recovery_point
        """Everything below it was promised; None where nobody knows, so that all of it may have been."""
        self.checkpointed = checkpointed
        """Everything below it was on stable storage by the checkpoint files, where nobody knows more."""
        self.was_closed = was_closed
        """Whether the log was closed in order: then all of it was promised."""
        self.gaps = gaps
        """Which offsets the log may lack."""
        self.checks_all = checks_all
        """Whether all batches are checked: else the damage may not be found another time."""

    def judge(self, found: SegmentRecovery, later: Sequence[int]) -> Treatment:
        """Decide on the first damage of a segment, which others follow. Raises DamagedLogError, OSError."""
        path = self.directory / file_name(FileKind.LOG, found.base_offset)
        bound = later[0] if later else found.base_offset + MAX_RELATIVE_OFFSET + 1
        with offline.log_file.LogFile.open(path) as log:
            following = damage.following_batch.find_following(
                log, max(found.valid_bytes, found.in_doubt), found.next_offset, bound
            )
            # What an older file has of offsets that another segment has must not take that one's place.
            end = None
            if following is not None and self.policy is DamagePolicy.HOLE:
                end = damage.following_batch.find_reaching(log, following.position, bound)
        is_followed = following is not None or bool(later)
        if not self._is_promised(found.next_offset, is_followed=is_followed):
            return damage.treatment.Treatment(sets_aside=is_followed)
        end_offset = self._end_of_damage(found, following, later)
        if self.policy is DamagePolicy.RAISE:
            raise self._refused(found.reason, path, found.valid_bytes, Hole(found.next_offset, end_offset))
        if self.policy is DamagePolicy.CUT:
            return damage.treatment.Treatment(is_promised=True, sets_aside=True)
        hole = Hole(found.next_offset, end_offset) if following or later else None
        return self._around(found, following, hole, end)

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

    def _end_of_damage(
        self, found: SegmentRecovery, following: damage.following_batch.FollowingBatch | None, later: Sequence[int]
    ) -> int:
        if following is not None:
            return following.base_offset
        return later[0] if later else max(self.recovery_point or self.checkpointed, found.next_offset)

    def _around(
        self,
        found: SegmentRecovery,
        following: damage.following_batch.FollowingBatch | None,
        hole: Hole | None,
        end: int | None,
    ) -> Treatment:
        if following is None:
            return damage.treatment.Treatment(is_promised=True, sets_aside=True, keeps_later=True, hole=hole)
        behind = recovery.segment_split.Part(following.base_offset, following.position, end)
        before = (recovery.segment_split.Part(found.base_offset, 0, found.valid_bytes),) if found.valid_bytes else ()
        parts = (*before, behind)
        return damage.treatment.Treatment(
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
