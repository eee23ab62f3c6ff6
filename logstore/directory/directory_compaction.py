"""Compacts what is due in a log directory, in a thread of its caller's (Kafka: LogCleaner.cleanFilthiestLog)."""

from typing import TYPE_CHECKING, Final

from epoch.base.resource_limits import is_passing
from logstore.directory.checkpoint_writer import CheckpointWriter
from logstore.directory.state.directory_guard import DirectoryGuard
from logstore.directory.state.disk_watch import DiskWatch
from logstore.directory.state.partitions import Partitions
from logstore.errors import CompactionAbortedError, LogClosedError, LogPoisonedError, LogStoreError
from logstore.topic_partition import TopicPartition

if TYPE_CHECKING:
    from logstore.compaction.compaction_report import CompactionReport


class DirectoryCompaction:
    """One log after another, without the directory's lock: a log that cannot be compacted holds up no other."""

    def __init__(
        self, partitions: Partitions, guard: DirectoryGuard, disk: DiskWatch, checkpoints: CheckpointWriter
    ) -> None:
        """Compact the logs that are in `partitions` by then."""
        self._partitions: Final = partitions
        self._guard: Final = guard
        self._disk: Final = disk
        self._checkpoints: Final = checkpoints

    def compact(self) -> "dict[TopicPartition, CompactionReport]":
        """Compact what is due, then write how far; see `LogDirectory.compact`."""
        self._guard.ensure_not_nested()
        done: dict[TopicPartition, CompactionReport] = {}
        try:
            self._compact_each(done)
        finally:
            if done and self._guard.is_online:
                with self._guard.lock:
                    self._checkpoints.write_recovery_points()
        return done

    def _compact_each(self, done: "dict[TopicPartition, CompactionReport]") -> None:
        failures: list[Exception] = []
        for partition, log in list(self._partitions.logs.items()):
            try:
                report = log.compact_if_due()
                if report is not None:
                    done[partition] = report
            except (LogClosedError, LogPoisonedError, CompactionAbortedError):
                pass  # gone, or left for the next time
            except OSError as error:
                if _is_of_disk(error):
                    self._fail(error)
                    raise
                failures.append(error)
            except Exception as error:  # noqa: BLE001  whatever is wrong with one log
                failures.append(error)
        if failures:
            for other in failures[1:]:
                failures[0].add_note(str(other))
            raise failures[0]

    def _fail(self, error: OSError) -> None:
        """Mark the root offline, as for any other write that fails."""
        with self._guard.lock:
            if self._guard.is_online:
                self._disk.fail(error)


def _is_of_disk(error: OSError) -> bool:
    """Whether the disk has failed; a TimeoutError that a signal handler raises has no number."""
    return error.errno is not None and not isinstance(error, LogStoreError) and not is_passing(error)
