"""Which replica should lead, and what each choice costs the others."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from epoch import UNDEFINED_EPOCH, TruncationProtocol
from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from replication.copies.planning.damage import Damage
from replication.copies.planning.failures import PARTITION_ERRORS, OnError, stop
from replication.copies.planning.plan import plan
from replication.copies.planning.replica import Replica, holding, in_common
from replication.copies.planning.rereading import judge_copies


@dataclass(frozen=True, slots=True)
class Loss:
    """What one follower truncates. Records and bytes are of whole batches, control batches included."""

    truncate_to: int
    records_lost: int
    bytes_lost: int


@dataclass(frozen=True, slots=True)
class Standing:
    """One candidate: how far its log goes, and what the other replicas lose if it leads."""

    replica: str
    last_epoch: int
    end_offset: int
    lost: dict[str, Loss]
    """By the name of the replica that loses."""
    damage: Damage | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the standing as `epochlog advise --json` prints it."""
        return {
            "replica": self.replica,
            "last_epoch": self.last_epoch,
            "end_offset": self.end_offset,
            "lost": {other: asdict(loss) for other, loss in self.lost.items()},
            "damage": self.damage and self.damage.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Advice:
    """Who should lead one partition."""

    topic: str
    partition: int
    recommended: str
    replicas: tuple[Standing, ...]

    def lost_under(self, leader: str) -> int:
        """Return how many records are lost if a replica leads, each once, however many of the others have it.

        Of each other log counts what it has beyond its last record in common with the leader's, or with one counted
        before. Raises KeyError for a replica that was not compared.
        """
        standings = {each.replica: each for each in self.replicas}
        counted = [standings.pop(leader)]
        lost = 0
        for name, standing in standings.items():
            lost += min(each.lost[name].records_lost for each in counted)
            counted.append(standing)
        return lost

    def as_json(self) -> dict[str, Any]:
        """Return the advice as `epochlog advise --json` prints it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "recommended": self.recommended,
            "replicas": [standing.as_json() for standing in self.replicas],
        }


def advise(partition: TopicPartition, logs: Mapping[str, RecoveredLog]) -> Advice:
    """Compare the replicas of one partition by leader epochs: records are not read, and damage is not searched for.

    `replication.audit.judge_replicas` reads them, and also returns the choice under which least is lost.

    The recommended leader is the one whose log is most up to date: the highest last epoch, then the highest end
    offset, as Raft orders logs. Kafka asks no log before it elects a leader, and may elect another. Between equals the
    one under whom the others lose fewest records, then one that is not damaged, then the first by name. A log whose
    epochs were lost from its checkpoint (KAFKA-15046) counts by those in its batches.
    """
    standings = tuple(_standing(name, log, logs) for name, log in sorted(logs.items()))
    best = min(standings, key=_rank)
    return Advice(partition.topic, partition.partition, best.replica, standings)


def advise_replicas(
    replicas: Sequence[Replica], lacking: Collection[TopicPartition] = (), *, on_error: OnError = stop
) -> list[Advice]:
    """Compare all partitions that two replicas hold, and those `lacking`, of which another should have a copy.

    `on_error` decides whether one that fails is left out. If one of several copies cannot be loaded, the others are
    compared.
    """
    advice = []
    held = {partition for replica in replicas for partition in replica.partitions}
    for partition in sorted({*in_common(replicas), *held.intersection(lacking)}):
        copies, least = holding(replicas, partition), 1 if partition in lacking else 2
        try:
            judged = judge_copies(partition, copies, partial(advise, partition), on_error, least=least)
        except PARTITION_ERRORS as error:
            on_error(partition, error)
            continue
        if judged:
            advice.append(judged)
    return advice


def _standing(name: str, log: RecoveredLog, logs: Mapping[str, RecoveredLog]) -> Standing:
    lost = {}
    for other, follower in sorted(logs.items()):
        if other != name:
            truncation = plan(log, follower, TruncationProtocol.KIP_320)
            lost[other] = Loss(truncation.truncate_to, truncation.records_lost, truncation.bytes_lost)
    last_epoch = log.lineage().latest_epoch
    return Standing(
        name, UNDEFINED_EPOCH if last_epoch is None else last_epoch, log.log_end_offset, lost, Damage.of(log)
    )


def _rank(standing: Standing) -> tuple[int, int, int, bool, str]:
    lost = sum(loss.records_lost for loss in standing.lost.values())
    return -standing.last_epoch, -standing.end_offset, lost, standing.damage is not None, standing.replica
