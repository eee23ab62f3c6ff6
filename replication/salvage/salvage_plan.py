"""What losing copies hold and the kept one lacks, partition by partition."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from replication.errors import NothingChosenError, SameBrokerError
from replication.planning.failures import PARTITION_ERRORS, OnError, stop
from replication.planning.replica import Replica, holding, in_common, open_replicas
from replication.planning.rereading import judge_copies
from replication.salvage.errors import UnknownBrokerError
from replication.salvage.examined_partition import ExaminedPartition
from replication.salvage.partition_report import PartitionReport
from replication.salvage.salvage_options import SalvageOptions
from replication.salvage.salvaged_record import SalvagedRecord

KAFKAS_OWN: Final = frozenset(
    {"__cluster_metadata", "__consumer_offsets", "__share_group_state", "__transaction_state"}
)
"""Topics whose records mean something only to the broker that wrote them."""

Sink = Callable[[SalvagedRecord], object]
"""Takes each salvaged record, in order."""


def discard(_record: SalvagedRecord) -> None:
    """Take a record and do nothing with it: a dry run."""


@dataclass(frozen=True, slots=True)
class SalvagePlan:
    """Which partitions are looked at. Nothing was read of their records yet."""

    replicas: Sequence[Replica]
    kept: str
    partitions: Sequence[TopicPartition]
    options: SalvageOptions

    def reports(self, sink: Sink = discard, *, on_error: OnError = stop) -> Iterator[PartitionReport]:
        """Give every salvaged record to `sink`, and yield a partition's report once all of its records were given.

        Memory holds the keys that the losing copies wrote after the fork, not the records. `on_error` decides whether a
        partition that cannot be read is left out: none of its records is given. Raises what `sink` raises, and
        LogStoreError and OSError where files change while they are read.
        """
        return (_carried_out(each, sink) for each in self._examinations(on_error))

    def records(self, *, on_error: OnError = stop) -> Iterator[SalvagedRecord]:
        """Yield every salvaged record, partition by partition; `on_error` and errors as of `reports`."""
        for examined in self._examinations(on_error):
            yield from (record for record, reason in examined.decisions() if reason is None)

    def _examinations(self, on_error: OnError) -> Iterator[ExaminedPartition]:
        for partition in self.partitions:
            try:
                examined = self._examined(partition, on_error)
            except PARTITION_ERRORS as error:
                on_error(partition, error)
                continue
            if examined is not None:
                yield examined

    def _examined(self, partition: TopicPartition, on_error: OnError) -> ExaminedPartition | None:
        def examine(logs: Mapping[str, RecoveredLog]) -> ExaminedPartition | None:
            if self.kept not in logs:
                return None  # `on_error` knows why
            return ExaminedPartition.examine(partition, logs, self.kept, self.options)

        return judge_copies(partition, holding(self.replicas, partition), examine, on_error)


def plan_salvage(
    copies: Sequence[Path],
    kept: str,
    options: SalvageOptions | None = None,
    *,
    topics: Sequence[str] = (),
    on_error: OnError = stop,
) -> SalvagePlan:
    """Open copies of brokers' log directories, of which one was kept.

    `copies` are log.dirs roots, or directories that hold a broker's several roots; `kept` is the name of the kept one's
    directory or its node.id. Only partitions that the kept copy and another one hold are looked at, and none of Kafka's
    own topics unless `topics` names it.

    Raises UnknownBrokerError if `kept` is none of them, SameBrokerError if a broker is named twice, NothingChosenError
    if no partition is of `topics`, and what `replication.planning.open_replicas` raises.
    """
    replicas = open_replicas(copies, on_error=on_error)
    _ensure_one_copy_each(replicas)
    chosen = _kept(replicas, kept)
    common = [each for each in in_common(replicas) if each in chosen.partitions]
    if topics:
        partitions = [each for each in common if each.topic in topics]
        if not partitions:
            raise NothingChosenError(topics, {each.topic for each in common})
    else:
        partitions = [each for each in common if each.topic not in KAFKAS_OWN]
    return SalvagePlan(replicas, chosen.name, partitions, options or SalvageOptions())


def _carried_out(examined: ExaminedPartition, sink: Sink) -> PartitionReport:
    report = PartitionReport.of(examined)
    for decision in examined.decisions():
        report.add(decision)
        if decision.reason is None:
            sink(decision.record)
    report.conflicts = list(examined.conflicts.values())
    report.transactions = list(examined.in_doubt.values())
    return report


def _kept(replicas: Sequence[Replica], kept: str) -> Replica:
    for replica in replicas:
        if kept == replica.name:
            return replica
    for replica in replicas:
        if replica.node_id is not None and kept == str(replica.node_id):
            return replica
    raise UnknownBrokerError(kept, {replica.name: replica.node_id for replica in replicas})


def _ensure_one_copy_each(replicas: Sequence[Replica]) -> None:
    seen: dict[int, str] = {}
    for replica in replicas:
        if replica.node_id is not None and (other := seen.setdefault(replica.node_id, replica.name)) != replica.name:
            raise SameBrokerError(other, replica.name, f"broker {replica.node_id} by node.id in meta.properties")
