"""The copies by which offsets are explained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from replication.explain.copies.kept_file import KeptFile, kept_files
from replication.explain.copies.leading_copy import latest_and_longest, led_last
from replication.explain.copies.unread_files import unread_files
from replication.explain.errors import NoSuchPartitionError, UnknownLeaderError
from replication.explain.explained_log import ExplainedLog
from replication.explain.explanation import Explanation
from replication.metadata.remote_storage import has_remote_storage
from replication.planning.failures import OnError, stop
from replication.planning.replica import Replica, holding, open_copies
from replication.planning.rereading import judge_copies


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

        A copy of a partition that cannot be opened is told of once the partition is explained.
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
    ) -> Explanation:
        """Explain a partition's offsets, as `replication.explain.explain` does."""
        for error in self.errors.get(partition, ()):
            on_error(partition, error)
        copies = holding(self.replicas, partition)
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
            if tiered is None and logs[name].begins_below is not None:
                tiered = has_remote_storage(partition.topic, self._roots())
            kept = self.kept.get(partition, ())
            known = ExplainedLog(name, logs[name], others, kept, is_compacted, committed_only, tiered)
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
