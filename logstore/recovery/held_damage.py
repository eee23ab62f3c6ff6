"""Damage of a replicated log below its recovery point, of which nothing is cut until it is known who has it."""

from pathlib import Path

from logstore.errors import DamagedLogError
from logstore.recovery.segment_walk import SegmentRecovery

_ADVICE = (
    "nothing was changed: it is cut, and what is cut is set aside, once the partition's leader says that it has that"
)


def held_damage(segment: Path, found: SegmentRecovery, recovery_point: int) -> DamagedLogError:
    """Return the error for a segment of which a part was on stable storage and is not sound any more."""
    error = DamagedLogError(
        f"{found.reason}, and offsets {found.next_offset:,} to {recovery_point - 1:,} were on stable storage, by the "
        "recovery point",
        file=segment,
        position=found.valid_bytes,
        offset=found.next_offset,
        advice=_ADVICE,
    )
    error.end_offset = recovery_point
    return error
