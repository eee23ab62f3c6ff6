"""In which epoch a log that is the only copy may be led once it is open."""

from collections.abc import Iterable

from epoch.entry import EpochEntry
from epoch.history import MAX_EPOCH, EpochHistory


def next_epoch(found: Iterable[EpochEntry], kept: EpochHistory, *, may_lack: bool) -> int | None:
    """Return the lowest epoch to lead in from now on; None where the latest one goes on.

    `found` are the entries that the checkpoint had, `kept` the history of what is left of the log. Where that
    `may_lack` what readers have seen, no epoch that any of them may have seen goes on: its entry was on stable storage
    before its first batch was written. Otherwise an epoch that was begun, and has no batch yet, goes on.
    """
    epochs = [entry.epoch for entry in found]
    latest = -1 if kept.latest_epoch is None else kept.latest_epoch
    last = max(latest, *epochs) if epochs else latest
    if last < 0:
        return None
    if may_lack:
        return min(last + 1, MAX_EPOCH)
    return last if last > latest else None
