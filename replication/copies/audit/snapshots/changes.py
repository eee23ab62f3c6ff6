"""What has become of a copy since it was listed: a snapshot that changes under the audit is no snapshot."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from logstore.file_name import FileKind
from logstore.verify.finding import Reporter
from replication.base.counted import counted
from replication.base.errors import UnreadableLocationError
from replication.copies.audit.copy_summary import SegmentExtent
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.snapshot import segment_extents
from replication.copies.audit.snapshots.storage import Files, Storage
from replication.copies.audit.snapshots.work import Copy

CHANGED: Final = "snapshot-changed"
LOG_SUFFIX: Final = f".{FileKind.LOG}"


def changes(copy: Copy) -> Iterator[ReplicaFinding]:
    """Compare a copy's `.log` files with what was listed at first; one finding at most."""
    listed = {segment.file: segment.size for segment in copy.segments}
    now = _sizes_now(copy, lambda sizes: sizes == listed)
    if now is not None:
        yield from _finding(copy, listed, now, "was listed")


def changed_since(copy: Copy, segments: Iterable[SegmentExtent]) -> Iterator[ReplicaFinding]:
    """Compare those of a copy's `.log` files that were read before with what they are now; one finding at most."""
    read = {segment.file: segment.size for segment in segments}
    now = _sizes_now(copy, lambda sizes: read.items() <= sizes.items())
    if now is not None:
        yield from _finding(copy, read, {name: size for name, size in now.items() if name in read}, "was read first")


def listed_again(copy: Copy) -> Copy:
    """Return the copy as it is by now. Raises UnreadableLocationError."""
    files = _place_of(copy).files(LOG_SUFFIX)
    return replace(copy, segments=tuple(segment_extents(files)), others=None, listed=None)


def _sizes_now(copy: Copy, is_as_before: Callable[[Files], bool]) -> Files | None:
    """Return the sizes of the `.log` files; a store is asked once where nothing has changed, by `is_as_before`."""
    try:
        return _sizes(_place_of(copy).files(LOG_SUFFIX, lambda files: is_as_before(_sizes(files))))
    except UnreadableLocationError:  # examining it has failed, or will
        return None


def _sizes(files: Files) -> Files:
    return {segment.file: segment.size for segment in segment_extents(files)}


def _place_of(copy: Copy) -> Storage:
    return Storage(copy.root).child(copy.directory)


def _finding(copy: Copy, before: Files, now: Files, when: str) -> Iterator[ReplicaFinding]:
    changed = sorted(name for name in {*now, *before} if now.get(name) != before.get(name))
    if not changed:
        return
    first, others = changed[0], len(changed) - 1
    yield ReplicaFinding(
        copy.replica,
        Reporter(copy.topic_partition).warning(
            CHANGED,
            f"{_was(before.get(first))} when the snapshot {when}, {_was(now.get(first))} afterwards"
            f"{f', and {others} more .log files have changed too' if others else ''}: the contents of this "
            "copy are unknown; audit a snapshot that no process changes",
            file=first,
        ),
    )


def _was(size: int | None) -> str:
    return "not there" if size is None else counted(size, "byte")
