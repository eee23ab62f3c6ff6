"""Which copies of partitions, and which parts of them, each task examines: planned by bytes, not by files."""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self

from logstore.topic_partition import TopicPartition
from replication.copies.audit.copy_summary import SegmentExtent

COPY_COST: Final = 2 << 20
"""What examining a copy costs beside its bytes, in bytes that could be read meanwhile."""
SMALLEST_TARGET: Final = 256 << 20
LARGEST_TARGET: Final = 1 << 30
FEW_TASKS: Final = 24
"""Into how many tasks the work is divided where that makes none too small or too large."""
MOST_TASKS: Final = 20_000
"""What Spark's driver can well keep account of."""
REMOTE_TARGET: Final = 8 << 30
"""A remote copy is fetched whole as long as it is no larger: its parts are fetched again to finish it."""


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A part of a segment: the batches that begin from byte `start` on and before `end`."""

    base_offset: int
    """The segment's."""
    start: int
    end: int


class ListedState(NamedTuple):
    """How the files of a remote directory stood when it was listed."""

    digest: str
    """Of their names, sizes and times."""
    modified_ns: int
    """When one was modified last, in nanoseconds since 1970 UTC."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One partition in one root of one replica, as it was listed."""

    replica: str
    root: str
    """The URI of the log.dirs root."""
    directory: str
    topic_partition: TopicPartition
    segments: tuple[SegmentExtent, ...]
    is_local: bool = True
    broker: str = ""
    """The snapshot that it is in, where that is not called like the replica: it has another copy as well."""
    others: Mapping[str, int] | None = field(default=None, compare=False)
    """The sizes of all its other files by name, of a remote copy that need not be listed again to be read."""
    listed: ListedState | None = field(default=None, compare=False)
    """How such a copy stood then."""

    @property
    def bytes(self) -> int:
        """Of its `.log` files."""
        return sum(segment.size for segment in self.segments)

    @property
    def files(self) -> dict[str, int] | None:
        """The sizes of all its files by name, as they were listed; None where they were not."""
        if self.others is None:
            return None
        return {segment.file: segment.size for segment in self.segments} | {**self.others}

    def to_json(self) -> list[Any]:
        """Return the copy for another process."""
        place = [self.replica, self.root, self.directory]
        return [*place, *self.topic_partition, self.segments, self.is_local, self.broker, self.others, self.listed]

    @classmethod
    def from_json(cls, fields: Sequence[Any]) -> Self:
        """Decode a copy from another process."""
        replica, root, directory, topic, partition, segments, is_local, broker, others, listed = fields
        extents = tuple(SegmentExtent(*segment) for segment in segments)
        state = ListedState(*listed) if listed else None
        return cls(replica, root, directory, TopicPartition(topic, partition), extents, is_local, broker, others, state)


@dataclass(frozen=True, slots=True)
class Job:
    """A root's own files (no copy), a whole copy (no ranges), or a part of a copy."""

    replica: str
    root: str
    copy: Copy | None = None
    ranges: tuple[ByteRange, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes of log to read."""
        if self.ranges:
            return sum(part.end - part.start for part in self.ranges)
        return self.copy.bytes if self.copy else 0

    @property
    def cost(self) -> int:
        """Bytes to read, and what comes on top."""
        return self.bytes + COPY_COST

    def to_json(self) -> list[Any]:
        """Return the job for another process."""
        copy = self.copy.to_json() if self.copy else None
        return [self.replica, self.root, copy, [[part.base_offset, part.start, part.end] for part in self.ranges]]

    @classmethod
    def from_json(cls, fields: Sequence[Any]) -> Self:
        """Decode a job from another process."""
        replica, root, copy, ranges = fields
        parts = tuple(ByteRange(*part) for part in ranges)
        return cls(replica, root, Copy.from_json(copy) if copy else None, parts)


Task = tuple[Job, ...]


def target_bytes(total: int) -> int:
    """Choose how many bytes a task reads, of as many in all."""
    return max(total // MOST_TASKS, min(LARGEST_TARGET, max(SMALLEST_TARGET, total // FEW_TASKS)))


def plan_work(jobs: Iterable[Job], target: int) -> list[Task]:
    """Divide the work into tasks of about `target` bytes, those with most to do first.

    Small copies share a task. A copy of more than two targets is split, within its segments too; remote ones only
    between segments, and only the largest.
    """
    tasks: list[Task] = []
    waiting: list[Job] = []
    cost = 0
    for job in sorted((part for job in jobs for part in _parts(job, target)), key=lambda job: -job.cost):
        if waiting and cost + job.cost > target:
            tasks.append(tuple(waiting))
            waiting, cost = [], 0
        waiting.append(job)
        cost += job.cost
    return [*tasks, tuple(waiting)] if waiting else tasks


def live_work(jobs: Iterable[Job]) -> list[Task]:
    """Make a task of each root, and of all copies of each partition, those with most to do first."""
    tasks: dict[object, list[Job]] = {}
    for job in jobs:
        tasks.setdefault(job.copy.topic_partition if job.copy else job, []).append(job)
    return [tuple(task) for task in sorted(tasks.values(), key=lambda task: -sum(job.bytes for job in task))]


def _parts(job: Job, target: int) -> Iterator[Job]:
    if job.copy is None or job.copy.bytes <= 2 * _target_of(job.copy, target):
        yield job
        return
    ranges: list[ByteRange] = []
    size, wanted = 0, _target_of(job.copy, target)
    for part in _ranges(job.copy.segments, wanted if job.copy.is_local else None):
        if ranges and size + part.end - part.start > wanted:
            yield Job(job.replica, job.root, job.copy, tuple(ranges))
            ranges, size = [], 0
        ranges.append(part)
        size += part.end - part.start
    yield Job(job.replica, job.root, job.copy, tuple(ranges))


def _target_of(copy: Copy, target: int) -> int:
    return target if copy.is_local else max(target, REMOTE_TARGET)


def _ranges(segments: Sequence[SegmentExtent], longest: int | None) -> Iterator[ByteRange]:
    """Cut segments into equal parts of at most `longest` bytes, or not at all."""
    for segment in segments:
        count = -(-segment.size // longest) if longest else 1
        cuts = [segment.size * number // count for number in range(count + 1)] if count else []
        for start, end in pairwise(cuts):
            yield ByteRange(segment.base_offset, start, end)


def packed(task: Task) -> bytes:
    """Return a task for another process."""
    return zlib.compress(json.dumps([job.to_json() for job in task], separators=(",", ":")).encode())


def unpacked(data: bytes) -> Task:
    """Decode a task from another process."""
    return tuple(map(Job.from_json, json.loads(zlib.decompress(data))))
