"""Copies of one partition in several log.dirs of one broker: the one that is ahead counts as the broker's."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from epoch import UNDEFINED_EPOCH
from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Reporter
from replication.copies.audit.comparison.examined_copy import ExaminedCopy
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.planning.doubled_partition import PARTITION_DOUBLED, DoubledCopy, ahead, doubled_in_words


@dataclass(frozen=True, slots=True)
class BrokersCopies:
    """The copies that one broker has of one partition, more than one: None stands for one that was not read."""

    broker: str
    copies: Mapping[str, ExaminedCopy | None]
    """By their directories, for people."""

    @property
    def chosen(self) -> ExaminedCopy | None:
        """The copy that is ahead, under the broker's name; None where one was not read."""
        first = ahead(self._told)
        copy = self.copies[first.place] if first else None
        return replace(copy, summary=replace(copy.summary, replica=self.broker)) if copy else None

    def finding(self, partition: TopicPartition) -> ReplicaFinding:
        """Report them."""
        message = doubled_in_words(partition, self.broker, self._told)
        return ReplicaFinding(self.broker, Reporter(partition).error(PARTITION_DOUBLED, message, file=None))

    @property
    def _told(self) -> Sequence[DoubledCopy]:
        return [*map(_told, self.copies, self.copies.values())]


def doubled(copies: Sequence[tuple[str, str, ExaminedCopy | None]]) -> Iterator[BrokersCopies]:
    """Find the brokers that have several, each copy given with its broker and its directory."""
    brokers: dict[str, dict[str, ExaminedCopy | None]] = {}
    for broker, place, copy in copies:
        brokers.setdefault(broker, {})[place] = copy
    return (BrokersCopies(broker, held) for broker, held in brokers.items() if len(held) > 1)


def _told(place: str, copy: ExaminedCopy | None) -> DoubledCopy:
    if copy is None or copy.summary.unread:
        return DoubledCopy(place, None, 0)
    summary = copy.summary
    epoch = summary.lineage[-1].epoch if summary.lineage else UNDEFINED_EPOCH
    return DoubledCopy(place, epoch, summary.log_end_offset)
