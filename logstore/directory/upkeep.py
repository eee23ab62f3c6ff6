"""Periodic work on all logs of a directory."""

from collections.abc import Callable
from contextlib import suppress

from epoch.base.resource_limits import is_passing
from logstore.directory.state.partitions import Partitions
from logstore.errors import LogClosedError, LogPoisonedError
from logstore.log.log import Log
from logstore.topic_partition import TopicPartition


class Upkeep:
    """Flushes logs and enforces their retention; a log without disk space does not hold up the others."""

    def __init__(self, partitions: Partitions, clock: Callable[[], int]) -> None:
        """Look after the logs that are in `partitions` by then."""
        self._partitions = partitions
        self._clock = clock
        self._flushed_ms: dict[TopicPartition, int] = {}

    def flush_due_logs(self) -> None:
        """Flush the logs whose `flush_ms` has passed since their last flush here. Raises OSError."""
        now = self._clock()

        def flush(partition: TopicPartition, log: Log) -> None:
            if now - self._flushed_ms.setdefault(partition, now) >= log.config.flush_ms:
                with suppress(LogClosedError, LogPoisonedError):
                    log.flush()
                self._flushed_ms[partition] = now

        self._in_each(flush)

    def enforce_retention(self) -> None:
        """Delete segments by age and size in all logs, and remove the state of idle producers. Raises OSError."""

        def enforce(_: TopicPartition, log: Log) -> None:
            with suppress(LogClosedError, LogPoisonedError):
                log.delete_old_segments()
                log.expire_producers()

        self._in_each(enforce)

    def forget(self, partition: TopicPartition) -> None:
        """Note that a partition is gone."""
        self._flushed_ms.pop(partition, None)

    def _in_each(self, task: Callable[[TopicPartition, Log], None]) -> None:
        """Do this in each log: one without disk space, or at a limit, does not hold up the others."""
        passing: OSError | None = None
        for partition, log in list(self._partitions.logs.items()):
            try:
                task(partition, log)
            except OSError as error:
                if not is_passing(error):
                    raise
                passing = passing or error
        if passing is not None:
            raise passing
