"""What an unclean election would lose, for `elect --dry-run`: what an audit of the replicas says of its leader."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from logstore import TopicPartition
from replication.base.counted import counted
from replication.base.json_object import Json
from replication.base.metadata_partition import METADATA_PARTITION
from replication.cluster.operations.election_forecast import ElectionForecast
from replication.copies.audit.coordinators.consumer_offsets import CONSUMER_OFFSETS
from replication.copies.audit.judgement.cost import Cost
from replication.copies.audit.judgement.wording import acknowledged_in_words
from replication.copies.audit.local_judging import judge_replicas
from replication.copies.planning.failures import OnError
from replication.copies.planning.replica import Replica


@dataclass(frozen=True, slots=True)
class ElectionLosses:
    """What is lost under the new leader of a partition, as far as the copies at hand show."""

    foreseen: ElectionForecast
    judged: Json | None
    """The partition, as `epochlog audit --json` prints it; None if fewer than two copies can be compared."""
    not_compared: tuple[int, ...]
    """The replicas that have no copy here."""

    @property
    def leader(self) -> Json | None:
        """What is known of the new leader; None if its copy was not compared with all others."""
        return self._known(self.foreseen.would_lead)

    @property
    def recommended(self) -> int | None:
        """Under whom least is lost, acknowledged records first; the new leader itself if no other loses less.

        None if not known.
        """
        leader = self.leader
        if self.judged is None or leader is None or self.judged["least_loss"] is None:
            return None
        least = self._known(int(self.judged["least_loss"]))
        if least is None or _rank(leader) == _rank(least):
            return self.foreseen.would_lead
        return int(least["replica"])

    def as_json(self) -> Json:
        """Return what can be written as JSON."""
        return {
            "lost": {pair["follower"]: _cut(pair) for pair in self._cuts()} if self.leader else None,
            "candidates": self._candidates(),
            "recommended": self.recommended,
            "damaged": [
                {"broker": int(each["replica"]), "end_offset": each["log_end_offset"], "message": each["damage"]}
                for each in self._candidates()
                if each["damage"]
            ],
            "not_compared": self.not_compared,
        }

    def __str__(self) -> str:
        absent = ", ".join(map(str, self.not_compared))
        leader, better = self.leader, self._known(self.recommended)
        if leader is None:
            return f"not known: no --log-dir has a copy of broker {absent}" if absent else "not known"
        told = [f"not compared: broker {absent}, and what it has is not counted"] if absent else []
        told += self._lost(leader)
        if better is not None and better is not leader:
            damage = " (damaged)" if better["damage"] else ""
            told.append(f"prefer broker {better['replica']}{damage} as leader: {_in_all(better)}")
        return "; ".join(told)

    def _lost(self, leader: Json) -> Iterator[str]:
        if not leader["lost"]["records"]:
            yield (
                "of what was compared nothing is lost" if self.not_compared else "nothing that another copy has is lost"
            )
            return
        for pair in self._cuts():
            yield (
                f"broker {pair['follower']}: {pair['records_lost']} records, {pair['bytes_lost']} bytes from "
                f"{pair['truncate_to']} on"
            )
        yield f"in all {_in_all(leader)}"

    def _cuts(self) -> Iterator[Json]:
        for pair in self.judged["pairs"] if self.judged else ():
            if pair["leader"] == str(self.foreseen.would_lead) and pair["records_lost"]:
                yield pair

    def _candidates(self) -> Sequence[Json]:
        return self.judged["candidates"] if self.judged else ()

    def _known(self, broker: int | None) -> Json | None:
        candidates = (each for each in self._candidates() if each["lost"] is not None)
        return next((each for each in candidates if each["replica"] == str(broker)), None)


def losses_of(
    forecasts: Collection[ElectionForecast], replicas: Sequence[Replica], on_error: OnError
) -> dict[TopicPartition, ElectionLosses]:
    """Read the copies of partitions that are to be elected uncleanly, and say what that loses.

    Copies of brokers that are not replicas are ignored: they can neither lead nor truncate. `on_error` is called for
    those that cannot be compared.
    """
    foreseen = {each.partition: each for each in forecasts}
    replicas = [_of_assigned(replica, foreseen) for replica in replicas]
    judged = (
        each.verdict.as_json() for each in judge_replicas(replicas, missing={}, wanted=foreseen, on_error=on_error)
    )
    verdicts = {TopicPartition(each["topic"], each["partition"]): each for each in judged}
    held = {replica.name: replica.held for replica in replicas}
    return {
        partition: ElectionLosses(
            each,
            verdicts.get(partition),
            tuple(broker for broker in each.replicas if partition not in held.get(str(broker), ())),
        )
        for partition, each in foreseen.items()
    }


def _of_assigned(replica: Replica, foreseen: Mapping[TopicPartition, ElectionForecast]) -> Replica:
    """Leave out what a broker holds of partitions that are not assigned to it; what concerns all partitions stays."""

    def is_assigned(partition: TopicPartition) -> bool:
        is_elected = partition in foreseen and int(replica.name) in foreseen[partition].replicas
        return is_elected or partition == METADATA_PARTITION or partition.topic == CONSUMER_OFFSETS

    return replace(
        replica,
        partitions={name: each for name, each in replica.partitions.items() if is_assigned(name)},
        left_out={name: each for name, each in replica.left_out.items() if is_assigned(name)},
    )


def _rank(candidate: Json) -> tuple[Cost, bool]:
    return Cost.of(candidate), candidate["damage"] is not None


def _cut(pair: Json) -> Json:
    return {name: pair[name] for name in ("truncate_to", "records_lost", "bytes_lost")}


def _in_all(candidate: Json) -> str:
    lost, acknowledged, maybe = (candidate[part]["records"] for part in ("lost", "acknowledged", "maybe_acknowledged"))
    if not lost:
        return "nothing lost"
    return f"{counted(lost, 'record')} lost, {acknowledged_in_words(lost, acknowledged, maybe)}"
