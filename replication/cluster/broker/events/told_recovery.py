"""Reports what recovery does to a broker's logs, as they are opened."""

from pathlib import Path
from typing import Final

from logstore import LogObserver, RecoveryReport
from logstore.directory.log_directories import LogDirectories
from logstore.log.observers.log_observers import LogObservers
from logstore.topic_partition import DirectoryMark, parse_directory_name
from replication.cluster.broker.events.event_counts import EventCounts
from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.recovery_events import DirectoryRecovered, RecoveryTruncated


def with_recovery(observer: LogObserver | None, counts: EventCounts) -> LogObserver:
    """Return what observes all logs of a broker, and reports and counts what recovery drops of them."""
    told = ToldRecovery(counts)
    return told if observer is None else LogObservers(told, observer)


def tell_recovery(directories: LogDirectories) -> None:
    """Report which directories, opened just now, had logs to recover."""
    for root in directories.roots:
        if root.recovery is not None and root.recovery.logs:
            log_event(DirectoryRecovered(directory=root.root, recovery=root.recovery))


class ToldRecovery(LogObserver):
    """Each log that is truncated is reported at once, before another crash can hide it."""

    def __init__(self, counts: EventCounts) -> None:
        """Count there what is reported."""
        self._counts: Final = counts

    def recovered(self, directory: Path, report: RecoveryReport, /) -> None:
        """Report a log that has lost something; not a copy that is being moved, whose original is there."""
        name = parse_directory_name(directory.name)
        if name.mark is DirectoryMark.NONE and (report.dropped or report.committed_offsets_lost):
            event = RecoveryTruncated(partition=name.topic_partition, directory=directory, report=report)
            self._counts.note(event)
            log_event(event)
