"""Damage of a replicated log, of which nothing that was flushed is cut until it is known who has it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from logstore.errors import DamagedLogError
from logstore.files.index_slots import MAX_RELATIVE_OFFSET
from logstore.offline.log_file import LogFile
from logstore.recovery.damage.following_batch import find_following
from logstore.recovery.segment_walk import SegmentRecovery

HELD_ADVICE: Final = (
    "nothing was changed: it is cut, and what is cut is set aside, once the partition's leader says that it has that"
)


def held_damage(segment: Path, found: SegmentRecovery, recovery_point: int) -> DamagedLogError:
    """Return the error for a segment of which a part was on stable storage and is not sound any more."""
    said = "all was on stable storage, as the log was closed in order"
    if recovery_point > found.next_offset:
        lost = f"offsets {found.next_offset:,} to {recovery_point - 1:,}"
        said = f"{lost} were on stable storage, by the recovery point"
    error = DamagedLogError(
        f"{found.reason}, and {said}",
        file=segment,
        position=found.valid_bytes,
        offset=found.next_offset,
        advice=HELD_ADVICE,
    )
    error.end_offset = recovery_point
    return error


def is_followed(segment: Path, found: SegmentRecovery, later: Sequence[int]) -> bool:
    """Whether sound batches lie behind a segment's damage, in it or in those that begin `later`. Raises OSError."""
    if later:
        return True
    with LogFile.open(segment) as log:
        bound = found.base_offset + MAX_RELATIVE_OFFSET + 1
        return find_following(log, found.valid_bytes, found.next_offset, bound) is not None
