"""Reads a partition again if a broker changed it meanwhile: files that vanished or moved are not damage."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT
from logstore.errors import NotALogDirectoryError
from logstore.offline.directory_listing import FileState
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify.epoch_check import FIRST_SEGMENT_MISSING
from logstore.verify.finding import Finding

LOOKS: Final = 4
"""How often a partition is looked at in the end: a busy cleaner may change it each time."""
PAUSE_SECONDS: Final = 0.05
"""What a broker that is exchanging files is given to end it."""
MOST_HELD: Final = 1_000
"""Findings of one look that are kept back until its end; what has more is damaged, whatever changes."""

HALF_DONE: Final = "left-over-swap"
"""What a cleaner at work leaves for a moment; a busy system may stretch that beyond the length of a look."""
SWAP_PAUSES: Final = 40
"""How often a cleaner is given time to end a swap: two seconds, then it was interrupted for good."""

HALF_MOVED: Final = FIRST_SEGMENT_MISSING
"""What a log that has just deleted its first segments seems to be, until it has written where its epochs begin."""
JUST_NOW_SECONDS: Final = 2.0
"""How long after a change in the directory that may be still to come."""

HALF_WRITTEN: Final = "snapshot-unreadable"
"""What a broker has for a moment that has begun a snapshot: it is written in place."""

Look = Callable[[PartitionDirectory], Iterator[Finding]]
State = dict[str, FileState | int | None]
"""By name; of a file that a broker appends to which one it is, and None of one that is gone."""


def settled(partition: PartitionDirectory, look: Look, look_again: Look) -> Iterator[Finding]:
    """Yield what `look` finds, if no file was exchanged or removed meanwhile, else what `look_again` does.

    Where files are exchanged during every look, only the warnings and the damage that all of them have found are
    reported: these stay, and what a reader sees between two steps of a broker does not.
    """
    confirmed: set[object] | None = None
    for number in range(LOOKS):
        findings = (look_again if number else look)(partition)
        held = list(islice(findings, MOST_HELD))
        if len(held) == MOST_HELD:
            yield from held
            yield from findings
            return
        damage = {identity(finding) for finding in held if finding.severity.needs_attention}
        wait_for_what_is_half_done(partition, held)
        changed = changes(partition, listed_state(partition)) if damage else set()
        if not changed:
            confirmed = damage
            break
        steady = {identity(finding) for finding in held if finding.file not in changed}
        confirmed = damage & steady if confirmed is None else damage & steady & confirmed
        if number + 1 < LOOKS:
            time.sleep(PAUSE_SECONDS)
            try:
                partition = partition.listed_again()
            except (NotALogDirectoryError, FileNotFoundError):
                return
    for finding in held:
        if identity(finding) in (confirmed or ()) or (
            not finding.severity.needs_attention and _is_there(partition.path, finding)
        ):
            yield finding


def wait_for_what_is_half_done(partition: PartitionDirectory, findings: Sequence[Finding]) -> None:
    """Wait until a file that is being put in place is there, as long as a cleaner may take, or written."""
    if any(finding.kind == HALF_WRITTEN for finding in findings):
        time.sleep(PAUSE_SECONDS)
    if any(finding.kind == HALF_MOVED for finding in findings):
        _wait_for_epochs(partition)
    swaps = [partition.path / finding.file for finding in findings if finding.kind == HALF_DONE and finding.file]
    for _ in range(SWAP_PAUSES if swaps else 0):
        if not all(swap.exists() for swap in swaps):
            return
        time.sleep(PAUSE_SECONDS)


def _wait_for_epochs(partition: PartitionDirectory) -> None:
    """Wait until the history of epochs is written anew, as long as something was removed just now."""
    path, before = partition.path / LEADER_EPOCH_CHECKPOINT, listed_state(partition).get(LEADER_EPOCH_CHECKPOINT)
    for _ in range(SWAP_PAUSES):
        removed = _file_at(partition.path)
        if removed is None or time.time() - removed.changed_ns / 1e9 > JUST_NOW_SECONDS or _file_at(path) != before:
            return
        time.sleep(PAUSE_SECONDS)


def listed_state(partition: PartitionDirectory) -> State:
    """Return which files had the listed names then, to detect later whether they were replaced."""
    return _followed(partition, partition.listing.states)


def state_of(partition: PartitionDirectory) -> State:
    """Return which files have the listed names now."""
    return _followed(partition, {name: _file_at(path) for name, path in partition.listing.files.items()})


def _followed(partition: PartitionDirectory, states: Mapping[str, FileState | None]) -> State:
    """Leave out what may go at any time, and of files that grow how they are."""
    # A broker appends to the files of the last segment: they stay the same files.
    growing = {path.name for path in partition.segments[-1].files.values()} if partition.segments else set()
    return {
        name: state.inode if state and name in growing else state
        for name, state in states.items()
        if not name.endswith((".deleted", ".tmp"))
    }


def changes(partition: PartitionDirectory, before: State) -> set[str]:
    """Name the files that were added, removed or exchanged since `before`."""
    try:
        now = partition.listed_again()
    except (NotALogDirectoryError, OSError):
        return set(before)
    if now.checkpoints.cleaner_offset is not None and partition.checkpoints.cleaner_offset is None:
        return set(before)  # the cleaner has been over it for the first time
    added, after = set(listed_state(now)) - set(before), state_of(partition)
    return added | {name for name in before if after[name] != before[name] or after[name] is None}


def _file_at(path: Path) -> FileState | None:
    try:
        # The number of a file that was removed may be another's soon: the time of its renaming tells them apart.
        return FileState.of(path.stat())
    except OSError:
        return None


def identity(finding: Finding) -> object:
    """Return what two looks at the same damage have in common."""
    return finding.kind, finding.file, finding.position, finding.offset


def _is_there(directory: Path, finding: Finding) -> bool:
    return finding.file is None or os.path.lexists(directory / finding.file)
