"""The copies by which offsets are explained."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from logstore.errors import LogStoreError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.meta_properties import MetaProperties
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog, checkpointed_history
from logstore.topic_partition import TopicPartition
from replication.copies.explain.errors import NoSuchPartitionError, UnknownLeaderError
from replication.copies.explain.explained_log import ExplainedLog
from replication.copies.explain.explanation import Explanation
from replication.copies.explain.kept_file import KeptFile, kept_files
from replication.copies.planning.failures import OnError, stop
from replication.copies.planning.replica import Replica, holding, open_copies
from replication.copies.planning.rereading import judge_copies
from replication.records.metadata.remote_storage import has_remote_storage

_Standing = tuple[int, int, bool, int, str]


def unread_files(copy: PartitionDirectory) -> Iterator[LogStoreError | OSError]:
    """Return why files of the copy's root, or its own where it stands alone, could not be read."""
    for error in _errors(copy):
        error.add_note("what it says is left out")
        yield error


def _errors(copy: PartitionDirectory) -> Iterator[LogStoreError | OSError]:
    place = copy.path if copy.own_checkpoints else copy.path.parent
    if copy.checkpoints.unread:
        errors = RootCheckpoints.read(place).errors
        yield from (errors.get(name) or _no_file(place / name) for name in sorted(copy.checkpoints.unread))
    try:
        _read_properties(copy.path.parent / META_PROPERTIES_NAME)
    except (LogStoreError, OSError) as error:
        yield error


def _read_properties(path: Path) -> None:
    """Read whose root it is, if that is there. Raises LogStoreError and OSError."""
    if path.is_file():
        MetaProperties.read(path)
    elif path.is_symlink() or path.exists():
        raise _no_file(path)


def _no_file(path: Path) -> LogStoreError:
    return LogStoreError("this is not a regular file: it was not read", file=path)


def led_last(logs: Mapping[str, RecoveredLog]) -> str:
    """Return the copy that led last: of the latest epoch, also one under which it wrote nothing, then as below.

    A leader notes its epoch before it writes, and what the others have beyond its log then is cut off. Kafka drops an
    epoch that begins at the log's end when it loads the log: it is known by the checkpoint alone.
    """

    def standing(name: str) -> _Standing:
        noted = checkpointed_history(logs[name].partition).latest_epoch
        return _standing(name, logs[name], -1 if noted is None else noted)

    return min(logs, key=standing)


def latest_and_longest(logs: Mapping[str, RecoveredLog]) -> str:
    """Return the copy that `audit` and `advise` name so: of the latest epoch that its records have.

    Of several the longest, then one without damage, then the one that starts earliest, then the first by name.
    """
    return min(logs, key=lambda name: _standing(name, logs[name], -1))


def _standing(name: str, log: RecoveredLog, noted: int) -> _Standing:
    known = log.lineage().latest_epoch
    epoch = max(noted, -1 if known is None else known)
    return -epoch, -log.log_end_offset, log.damage is not None, log.log_start_offset, name


@dataclass(frozen=True, slots=True)
class Sources:
    """Copies of brokers and mirrors, and what mirrors kept of what they truncated."""

    replicas: Sequence[Replica]
    kept: Mapping[TopicPartition, Sequence[tuple[str, KeptFile]]]
    errors: Mapping[TopicPartition, Sequence[Exception]] = field(default_factory=dict)
    """Why copies of a partition could not be opened."""
    mirrors: Sequence[str] = ()
    """The directories of what mirrors kept."""

    @classmethod
    def open(cls, paths: Sequence[Path]) -> "Sources":
        """Open directories of one cluster, of any kind. Raises what `open_copies` raises, and OSError.

        A copy of a partition that cannot be opened is reported once the partition is explained.
        """
        errors: dict[TopicPartition, list[Exception]] = {}
        kept: dict[TopicPartition, list[tuple[str, KeptFile]]] = {}
        copies, mirrors = [], []
        for path in paths:
            found = kept_files(path)
            for each in found:
                kept.setdefault(each.partition, []).append((path.name, each))
            if found:
                mirrors.append(path.name)
            else:
                copies.append(path)

        def keep(partition: TopicPartition, error: Exception) -> None:
            errors.setdefault(partition, []).append(error)

        return cls(open_copies(copies, on_error=keep) if copies else [], kept, errors, mirrors)

    @property
    def partitions(self) -> list[TopicPartition]:
        """All that any copy holds, whether it can be opened or not, in order."""
        return sorted({each for replica in self.replicas for each in replica.held})

    def copies_of(self, partition: TopicPartition) -> dict[str, PartitionDirectory]:
        """Return the copies of a partition that could be opened, by their names."""
        return holding(self.replicas, partition)

    def size_of(self, partition: TopicPartition) -> int:
        """Return the bytes of the longest copy of a partition, 0 without one."""
        copies = self.copies_of(partition).values()
        return max((sum(segment.size for segment in copy.segments) for copy in copies), default=0)

    def without(self, partition: TopicPartition) -> list[str]:
        """Name the sources that hold nothing of a partition: they say nothing of it."""
        kept_by = {name for name, _ in self.kept.get(partition, ())}
        lacking = [each.name for each in self.replicas if partition not in each.held]
        return lacking + [name for name in self.mirrors if name not in kept_by]

    def explain(
        self,
        partition: TopicPartition,
        *,
        start: int = 0,
        end: int | None = None,
        least_end: int = 0,
        leader: str | None = None,
        is_compacted: bool = False,
        committed_only: bool = True,
        has_remote: bool | None = None,
        on_error: OnError = stop,
        progress: Callable[[int], object] = lambda _: None,
    ) -> Explanation:
        """Explain a partition's offsets, as `replication.explain.explain` does.

        `progress` is called with the bytes of the explained copy that were read since the last call.
        """
        for error in self.errors.get(partition, ()):
            on_error(partition, error)
        copies = self.copies_of(partition)
        if not copies:
            raise NoSuchPartitionError(partition, [each.name for each in self.replicas], self.partitions)
        for error in (each for copy in copies.values() for each in unread_files(copy)):
            on_error(partition, error)
        chosen = None if leader is None else self._named(leader, partition)

        def explained(logs: Mapping[str, RecoveredLog]) -> Explanation:
            name = led_last(logs) if chosen is None else chosen
            if name not in logs:
                raise UnknownLeaderError(name, partition, logs)
            others = {other: log for other, log in logs.items() if other != name}
            tiered = has_remote
            if tiered is None and logs[name].begins_below(has_remote=True) is not None:
                tiered = has_remote_storage(partition.topic, self._roots())
            kept = self.kept.get(partition, ())
            known = ExplainedLog(name, logs[name], others, kept, is_compacted, committed_only, tiered, progress)
            return replace(known.explain(start, end, least_end=least_end), latest_and_longest=latest_and_longest(logs))

        explanation = judge_copies(partition, copies, explained, on_error, least=1)
        if explanation is None:
            raise NoSuchPartitionError(partition, list(copies), self.partitions)
        return explanation

    def _roots(self) -> set[Path]:
        return {each.path.parent for replica in self.replicas for each in replica.partitions.values()}

    def _named(self, leader: str, partition: TopicPartition) -> str:
        holders = [each for each in self.replicas if partition in each.partitions]
        for replica in holders:
            if leader == replica.name:
                return replica.name
        for replica in holders:
            if replica.node_id is not None and leader == str(replica.node_id):
                return replica.name
        raise UnknownLeaderError(leader, partition, [each.name for each in holders])
