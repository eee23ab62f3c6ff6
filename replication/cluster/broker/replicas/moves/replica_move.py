"""The move of one replica to another directory of its broker."""

from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from logstore import Log, LogStoreError, TopicPartition
from logstore.directory.log_directory import LogDirectory
from replication.cluster.broker.partitions.future_replica import FutureReplica
from replication.cluster.broker.replicas.replica_copy import copy_step, finish_copy


@dataclass(slots=True, eq=False)
class ReplicaMove:
    """A copy that is being made; one thread at a time works on it."""

    partition: TopicPartition
    topic_id: UUID
    target: LogDirectory
    is_caught_up: bool = False
    """Whether the copy ended where the log did, when it was looked at last."""
    copied: int = 0
    """Bytes by which the last step has let the copy grow."""
    failure: str = ""
    """Why the last step has failed, if it has."""

    def step(self, source: Log) -> bool:
        """Copy a part; return whether another one is due at once.

        A copy that cannot be written any more is recovered first. Raises LogStoreError and OSError.
        """
        copy = self._copy()
        if copy.failure is not None:
            self.target.futures.close(self.partition)
            copy = self._copy()
        if copy.config != source.config:
            copy.config = source.config
        end, size = copy.log_end_offset, copy.size
        self.copied = 0  # also where this step fails
        self.is_caught_up = copy_step(source, copy)
        self.copied = max(0, copy.size - size)
        return not self.is_caught_up and copy.log_end_offset != end

    def finish(self, source: Log) -> Log:
        """Return the log that takes the place of `source`, to which nobody appends. Raises LogStoreError, OSError."""
        finish_copy(source, self._copy())
        log = self.target.futures.promote(self.partition)
        log.config = source.config
        return log

    def give_up(self) -> None:
        """Remove the copy, as far as its disk lets it be removed."""
        with suppress(LogStoreError, OSError):
            self.target.futures.delete(self.partition)

    def described(self, source_end: int) -> FutureReplica | None:
        """Return what is reported of the copy; None where there is none yet."""
        copy = self.target.futures.logs.get(self.partition)
        if copy is None:
            return None
        lag = max(0, source_end - copy.log_end_offset)
        return FutureReplica(self.partition, str(self.target.root), copy.size, lag)

    def _copy(self) -> Log:
        return self.target.futures.open(self.partition, self.topic_id)
