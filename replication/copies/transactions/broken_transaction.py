"""A transaction of which an unclean election has cut off a part."""

from enum import StrEnum
from typing import Any, NamedTuple

from logstore.topic_partition import TopicPartition
from replication.copies.salvage.transactions import Outcome


class Break(StrEnum):
    """What was done to a transaction."""

    END_CUT_OFF = "end-cut-off"
    """The kept copy has its beginning and no marker: consumers of committed records wait there."""
    DECIDED_DIFFERENTLY = "decided-differently"
    """One copy committed it, and the other aborted it."""
    PART_CUT_OFF = "part-cut-off"
    """The kept copy has its beginning, and has committed it, or may, without its last records."""
    BEGINNING_CUT_OFF = "beginning-cut-off"
    """The kept copy has its last records, and not the first."""
    RECORDS_CUT_OFF = "records-cut-off"
    """The kept copy has committed it without a record."""


class BrokenTransaction(NamedTuple):
    """One producer's transaction in one partition, as the kept copy and another one have it."""

    partition: TopicPartition
    kind: Break
    replica: str
    """The other copy."""
    fork: int
    """Where the two diverge."""
    producer_id: int
    producer_epoch: int
    first_offset: int
    last_offset: int
    """Of its records, in the other copy."""
    outcome: Outcome
    end_offset: int | None
    """Of the other copy's marker; None where there is none."""
    kept_outcome: Outcome
    kept_offset: int
    """Of the kept copy's marker; of its first record there where there is none."""

    @property
    def is_open(self) -> bool:
        """Whether it is open in the kept copy, so that somebody has to end it."""
        return self.kept_outcome is Outcome.OPEN

    def as_json(self) -> dict[str, Any]:
        """Return it as `--json` prints it."""
        return {**self.partition._asdict(), **self._asdict(), "partition": self.partition.partition}
