"""What recovery does to a broker's logs after an unclean stop, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, TypeAlias

from logstore import DirectoryRecovery, RecoveryReport, TopicPartition
from replication.base.counted import counted
from replication.cluster.broker.events.partition_events import Value, fields_of

_ENDS_EARLY: Final = "no damage was found, but the log ends below its high watermark"
_UNCLEAN: Final = "the directory was not closed in order"
_ADVICE: Final = (
    "no replica is truncated to what is left while this broker lacks what it promised: it follows the leader, or "
    "event=replica-short says what to do; if no other replica has what was acknowledged, only a copy of the directory "
    "from before has it: see epochlog verify and epochlog dump --records"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryTruncated:
    """Recovery has cut a log at what was torn or damaged, or the log ends below what was known to be committed."""

    event: ClassVar[str] = "recovery-truncation"
    partition: TopicPartition
    directory: Path
    """Of the partition."""
    report: RecoveryReport

    @property
    def before(self) -> int | None:
        """Where the log ended, by the headers of what was dropped; None where those do not show it."""
        ends = [tail.end_offset for tail in self.report.dropped if tail.end_offset is not None]
        return max(ends, default=None)

    @property
    def records(self) -> int | None:
        """At least so many were dropped, in whole batches; None where those cannot be counted."""
        known = [tail.records for tail in self.report.dropped if tail.records is not None]
        return sum(known) if known or not self.report.dropped else None

    @property
    def is_below_high_watermark(self) -> bool:
        """Whether committed records are lost for certain: else the checkpoint is too old to show it."""
        return self.report.committed_offsets_lost > 0

    @property
    def why(self) -> str:
        """What recovery has found first."""
        dropped = self.report.dropped
        if not dropped:
            return _ENDS_EARLY
        others = f"; with it {counted(len(dropped) - 1, 'segment')} behind" if len(dropped) > 1 else ""
        return f"{dropped[0].reason}{others}"

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        report = self.report
        first = report.dropped[0] if report.dropped else None
        return {
            **fields_of(self.event, self.partition),
            "directory": str(self.directory),
            "file": None if first is None else first.file,
            "position": None if first is None else first.position,
            "from": self.before,
            "to": report.log_end_offset,
            "records": self.records,
            "bytes": report.dropped_bytes,
            "high_watermark": report.high_watermark_before,
            "below_high_watermark": self.is_below_high_watermark or None,
            "set_aside": first.set_aside or None if first is not None else None,
            "why": self.why,
            "next": _ADVICE,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryRecovered:
    """All logs of a directory that was not closed in order have been recovered."""

    event: ClassVar[str] = "recovery"
    directory: Path
    recovery: DirectoryRecovery

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        recovery = self.recovery
        return {
            "event": self.event,
            "directory": str(self.directory),
            "logs": recovery.logs,
            "truncated_logs": recovery.truncated_logs,
            "segments": recovery.segments,
            "bytes": recovery.bytes,
            "lasted_ms": round(recovery.seconds * 1_000),
            "why": _UNCLEAN,
        }


RecoveryEvent: TypeAlias = RecoveryTruncated | DirectoryRecovered
