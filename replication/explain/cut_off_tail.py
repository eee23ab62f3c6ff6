"""What of a log stands behind the damage where recovery cuts it off."""

from collections.abc import Iterator

from epoch.history import MAX_OFFSET
from logstore.offline.recovered_log import RecoveredLog
from replication.explain.offset_ranges import Ranges, ranges, ranges_of_runs
from replication.explain.offset_runs import clipped
from replication.explain.walked_log import NamedFile, Piece, walk_pieces
from replication.explain.why import Why


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
