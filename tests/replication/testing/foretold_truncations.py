"""What `plan` says that brokers will cut off when they start again, and what their logs say that they did."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from logstore import TopicPartition
from logstore.errors import LogStoreError
from replication.copies.planning.plan import plan
from replication.copies.planning.truncation_plan import TruncationPlan
from replication.testing import Cluster
from tests.replication.testing.stopped_replicas import loaded

_CUT: Final = re.compile(
    r"event=truncation topic=(?P<topic>\S+) partition=(?P<partition>\d+) leader_epoch=(?P<epoch>\d+) .*"
    r" to=(?P<offset>\d+)(?: records=(?P<records>\d+) bytes=(?P<bytes>\d+))? "
)


class Cut(NamedTuple):
    """What a broker did, as its log tells."""

    partition: TopicPartition
    leader_epoch: int
    offset: int
    records: int
    bytes: int
    """0 where they were not counted: all of the log went."""


@dataclass
class Foretold:
    """What one partition of a broker that starts is to be cut to, as long as its leader stays."""

    broker: int
    life: int
    """Which: where it begins in the broker's log."""
    leader_epoch: int
    plan: TruncationPlan
    cuts: list[Cut] = field(default_factory=list)
    """Of the partition, in the life that was foretold, as far as is known."""
    has_joined: bool = False
    """Whether it came in sync under that leader, so that it has cut all that it had to."""

    @property
    def partition(self) -> TopicPartition:
        return TopicPartition(self.plan.topic, self.plan.partition)

    @property
    def is_cut(self) -> bool:
        """Whether anything is to be cut off."""
        return self.plan.truncate_to < self.plan.log_end_offset

    @property
    def is_judged(self) -> bool:
        """Whether what was done can be compared with what was foretold."""
        return self.has_joined or bool(self.cuts)

    def check(self) -> None:
        """Raise AssertionError where something else was done."""
        offsets = [cut.offset for cut in self.cuts]
        done = min(offsets, default=self.plan.log_end_offset)
        right = done == self.plan.truncate_to if self.has_joined else done >= self.plan.truncate_to
        assert right, f"broker {self.broker} cut {self.partition} back to {offsets}, but {self.plan} was foretold"
        lost = sum(cut.records for cut in self.cuts), sum(cut.bytes for cut in self.cuts)
        foretold = self.plan.records_lost, self.plan.bytes_lost
        is_counted = self.has_joined and all(cut.records for cut in self.cuts)
        assert not is_counted or lost == foretold, f"{self.cuts} removed {lost}, but {self.plan} was foretold"


@dataclass
class ForetoldTruncations:
    """The plans of one history, and what came of them."""

    cluster: Cluster
    plans: list[Foretold] = field(default_factory=list)
    _lives: dict[int, int] = field(default_factory=dict)
    """Where in its log the present life of each broker begins."""

    def foretell(self, broker: int, partitions: tuple[TopicPartition, ...]) -> None:
        """Plan a broker that is down and about to start, for those partitions that another one leads."""
        self.look()
        path = _log_path(self.cluster, broker)
        self._lives[broker] = path.stat().st_size if path.exists() else 0
        for partition in partitions:
            leader, leader_epoch = self._leader(partition)
            if leader in {-1, broker}:
                continue
            try:
                leading, following = (loaded(self.cluster.root(each), partition) for each in (leader, broker))
            except (LogStoreError, FileNotFoundError):
                continue  # the leader's files change while they are read
            if self._leader(partition) == (leader, leader_epoch):
                self.plans.append(Foretold(broker, self._lives[broker], leader_epoch, plan(leading, following)))

    def look(self) -> None:
        """Take in what the brokers have done by now, and who is in sync."""
        cuts = {broker: list(self._cuts(broker)) for broker in self._lives}
        for foretold in (each for each in self.plans if each.life == self._lives[each.broker]):
            partition, leader_epoch = foretold.partition, foretold.leader_epoch
            registered = self.cluster.partition(*partition)
            foretold.has_joined |= registered.leader_epoch == leader_epoch and foretold.broker in registered.isr
            foretold.cuts = [cut for cut in cuts[foretold.broker] if cut[:2] == (partition, leader_epoch)]

    def _leader(self, partition: TopicPartition) -> tuple[int, int]:
        """Return who leads, and in which epoch; -1 where nobody does yet."""
        registered = self.cluster.partition(*partition)
        leads = self.cluster.leads(*partition)
        return registered.leader if leads else -1, registered.leader_epoch

    def _cuts(self, broker: int) -> list[Cut]:
        path = _log_path(self.cluster, broker)
        told = path.read_bytes()[self._lives[broker] :].decode() if path.exists() else ""
        return [
            Cut(
                TopicPartition(found["topic"], int(found["partition"])),
                int(found["epoch"]),
                int(found["offset"]),
                int(found["records"] or 0),
                int(found["bytes"] or 0),
            )
            for found in _CUT.finditer(told)
        ]


def _log_path(cluster: Cluster, broker: int) -> Path:
    return cluster.directory / f"broker-{broker}.log"
