"""What a copy, or a mirror's kept file, has beyond the point where it and the explained log part."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epoch import EpochHistory
from epoch.history import MAX_OFFSET
from logstore.offline.log_file import LogFile
from logstore.offline.recovered_log import RecoveredLog
from replication.copies.explain.kept_file import KeptFile
from replication.copies.explain.offset_ranges import Ranges, ranges_of_runs, split
from replication.copies.explain.offset_runs import clipped
from replication.copies.explain.walked_log import NamedFile, Piece, walk, walk_pieces
from replication.copies.explain.why import CODES, Why

NOT_CUT = -1


@dataclass(frozen=True, slots=True)
class Branch:
    """Offsets that one source holds, and the explained log not, or with other records."""

    source: str
    rows: Ranges
    """Truncated, with the epochs that wrote it and cut it off; missing where the explained log had it too."""


def branch_of_copy(
    name: str,
    log: RecoveredLog,
    fork: int,
    led: EpochHistory,
    files: list[NamedFile],
    start: int,
    cuts: NDArray[np.int64],
) -> Branch:
    """Read what a copy has from the offset `fork` on, at `start` or beyond.

    `led` is who led the explained log; places are distinguished at `cuts`, such as its end.

    Raises OSError.
    """
    begin = max(fork, start)
    walked = walk(log, name, files, begin, log.log_end_offset, cuts)
    rows = ranges_of_runs(clipped(walked.runs, begin, log.log_end_offset), Why.TRUNCATED)
    rows, epochs = _by_epoch(rows, log.lineage())
    rows["epoch"] = epochs
    rows, ours = _by_epoch(rows, led)
    rows["decided_by"] = cutting_epochs(rows["epoch"], led)
    is_lost = (rows["decided_by"] == NOT_CUT) | (rows["epoch"] == ours)
    rows["why"][is_lost] = CODES[Why.MISSING]
    rows["held_file"], rows["held_position"] = rows["file"], rows["position"]
    return Branch(name, rows)


def branch_of_kept_file(kept: KeptFile, copy: str, files: list[NamedFile]) -> Branch:
    """Read what a mirror kept. Raises OSError."""
    with LogFile.open(kept.path) as log:
        walked = walk_pieces([Piece(log, 0, MAX_OFFSET)], copy, files, 0, MAX_OFFSET)
    rows = ranges_of_runs(walked.runs, Why.TRUNCATED)
    rows["decided_by"] = kept.leader_epoch
    rows["held_file"], rows["held_position"] = rows["file"], rows["position"]
    return Branch(copy, rows)


def cutting_epochs(epochs: NDArray[np.int32], led: EpochHistory) -> NDArray[np.int64]:
    """Return of each epoch the first later one of the leaders that the explained log followed; else NOT_CUT."""
    known = np.array([each.epoch for each in led.entries], np.int64)
    at = np.searchsorted(known, epochs, "right")
    return np.append(known, NOT_CUT)[at]


def _by_epoch(rows: Ranges, history: EpochHistory) -> tuple[Ranges, NDArray[np.int64]]:
    """Cut rows where a leader epoch begins, and return the epoch of each; -1 where it is not known."""
    entries = history.entries
    starts = np.array([each.start_offset for each in entries], np.int64)
    cut, number = split(rows, starts, np.append(starts[1:] - 1, MAX_OFFSET - 1)[: len(starts)])
    return cut, np.append(np.array([each.epoch for each in entries], np.int64), NOT_CUT)[number]
