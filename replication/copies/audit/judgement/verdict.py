"""Which copies of a partition agree, what the differences would cost, and which copy should lead."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from epoch import EpochEntry
from replication.copies.audit.comparison.comparison import Comparison
from replication.copies.audit.copy_summary import OpenTransaction
from replication.copies.audit.judgement.recommendation import Recommendation
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.planning.truncation_plan import Relation


class Verdict(StrEnum):
    """How copies of a partition compare, the worst first."""

    UNKNOWN = "unknown"
    """A copy could not be read, or changed while it was read: its contents are not known."""
    SILENT_DIVERGENCE = "silent-divergence"
    """Different bytes at the same offset and epoch, with valid checksums: truncation promises this never happens."""
    DAMAGED = "damaged"
    """Files of a copy have errors."""
    FORKED = "forked"
    """Two leaders wrote the same offsets."""
    MISSING = "missing"
    """A copy, or offsets within one, are missing."""
    LAGGING = "lagging"
    """One only lacks records at its end."""
    COMPACTION = "compaction"
    """One was compacted further, or in other segments; the last value of each key is the same."""
    RETENTION = "retention"
    """One starts at an older offset."""
    IDENTICAL = "identical"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _RANKS[self]


_RANKS: Final = {verdict: rank for rank, verdict in enumerate(Verdict)}

REASSURING: Final = frozenset({Verdict.LAGGING, Verdict.COMPACTION, Verdict.RETENTION, Verdict.IDENTICAL})
"""Verdicts under which no copy contradicts another."""


def worst_first(verdicts: set[Verdict]) -> tuple[Verdict, ...]:
    """Sort verdicts; nothing at all is `identical`, and with anything else that is left out.

    Where something was not read, nothing is left that would reassure.
    """
    told = verdicts - (REASSURING if Verdict.UNKNOWN in verdicts else {Verdict.IDENTICAL}) or {Verdict.IDENTICAL}
    return tuple(sorted(told, key=lambda verdict: verdict.rank))


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What a follower truncates once the leader is elected, and how the two copies differ."""

    leader: str
    follower: str
    relation: Relation | None
    """None where the end of one of them was not read."""
    truncate_to: int | None
    """None, with the losses, if the high watermark decides and no file has it, or where that is not known either."""
    records_lost: int | None
    bytes_lost: int | None
    """Records and bytes are of whole batches, control batches included."""
    verdicts: tuple[Verdict, ...]
    first_difference: int | None
    """The first offset that differs."""

    @property
    def verdict(self) -> Verdict:
        """The worst."""
        return self.verdicts[0]

    def as_json(self) -> dict[str, Any]:
        """Return the pair as `epochlog audit --json` prints it."""
        return {
            "leader": self.leader,
            "follower": self.follower,
            "relation": None if self.relation is None else self.relation.value,
            "truncate_to": self.truncate_to,
            "records_lost": self.records_lost,
            "bytes_lost": self.bytes_lost,
            "verdict": self.verdict.value,
            "verdicts": [verdict.value for verdict in self.verdicts],
            "first_difference": self.first_difference,
        }


@dataclass(frozen=True, slots=True)
class Branch:
    """One copy's log, as a picture of the partition needs it."""

    replica: str
    directory: str
    """Where the copy is: a path, or a URI."""
    log_start_offset: int
    log_end_offset: int
    high_watermark: int | None
    records: int
    bytes: int
    lineage: tuple[EpochEntry, ...]
    high_watermark_unread: bool = False
    """Whether the file that may have the high watermark could not be read."""
    open_transactions: tuple[OpenTransaction, ...] = ()
    """Those that have no marker in the log."""

    def as_json(self) -> dict[str, Any]:
        """Return the branch as `epochlog audit --json` prints it."""
        return {
            "replica": self.replica,
            "directory": self.directory,
            "log_start_offset": self.log_start_offset,
            "log_end_offset": self.log_end_offset,
            "high_watermark": self.high_watermark,
            "high_watermark_unread": self.high_watermark_unread,
            "records": self.records,
            "bytes": self.bytes,
            "lineage": [entry._asdict() for entry in self.lineage],
            "open_transactions": [each._asdict() for each in self.open_transactions],
        }


@dataclass(frozen=True, slots=True)
class ForkedPair:
    """Where two copies diverge: the first offset that two leaders wrote, and the epoch of each."""

    left: str
    right: str
    offset: int
    left_epoch: int
    right_epoch: int
    left_timestamp: int | None
    """When the left copy's leader wrote there, in milliseconds since 1970 UTC; None where the batch has no time."""
    right_timestamp: int | None

    def as_json(self) -> dict[str, Any]:
        """Return the fork as `epochlog audit --json` prints it."""
        return {
            "left": self.left,
            "right": self.right,
            "offset": self.offset,
            "left_epoch": self.left_epoch,
            "right_epoch": self.right_epoch,
            "left_timestamp": self.left_timestamp,
            "right_timestamp": self.right_timestamp,
        }


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """All copies of one partition."""

    topic: str
    partition: int
    verdicts: tuple[Verdict, ...]
    pairs: tuple[PairVerdict, ...]
    """Each copy as leader of each other one."""
    recommendation: Recommendation | None
    """Who should lead, among the copies that were read; None if none was, and of the controllers' metadata."""
    branches: tuple[Branch, ...]
    """By replica."""
    forks: tuple[ForkedPair, ...]
    missing: tuple[str, ...]
    """Replicas that should have a copy and have none."""
    unread: tuple[str, ...]
    """Replicas whose copies could not be read, or changed while they were read."""
    findings: tuple[ReplicaFinding, ...]
    """What only the comparison of copies shows."""
    comparisons: tuple[Comparison, ...]
    topic_id: str | None = None
    """By the cluster's metadata; None where that does not have it."""

    @property
    def verdict(self) -> Verdict:
        """The worst."""
        return self.verdicts[0]

    @property
    def recommended(self) -> str | None:
        """The replica under which least is lost; None where a copy is unknown, or how they compare."""
        if self.recommendation is None or Verdict.UNKNOWN in self.verdicts:
            return None
        return self.recommendation.least_loss

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as `epochlog audit --json` prints it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "verdict": self.verdict.value,
            "verdicts": [verdict.value for verdict in self.verdicts],
            "recommended": self.recommended,
            "kafkas_choice": self.recommendation.kafkas_choice if self.recommendation else None,
            "latest_and_longest": self.recommendation.latest_and_longest if self.recommendation else None,
            "least_loss": self.recommendation.least_loss if self.recommendation else None,
            "choices_differ": self.recommendation is not None and self.recommendation.differs,
            "election": self.recommendation.election.as_json() if self.recommendation else None,
            "candidates": [each.as_json() for each in (self.recommendation.candidates if self.recommendation else ())],
            "without_copy": [
                each.as_json() for each in (self.recommendation.without_copy if self.recommendation else ())
            ],
            "pairs": [pair.as_json() for pair in self.pairs],
            "branches": [branch.as_json() for branch in self.branches],
            "forks": [fork.as_json() for fork in self.forks],
            "missing": list(self.missing),
            "unread": list(self.unread),
            "topic_id": self.topic_id,
        }
