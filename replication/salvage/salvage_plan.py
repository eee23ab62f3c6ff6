"""What losing copies hold and the kept one lacks, partition by partition."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from logstore.verify.compaction import ALWAYS_COMPACTED
from replication.errors import NothingChosenError, SameBrokerError
from replication.metadata_partition import METADATA_PARTITION
from replication.planning.failures import PARTITION_ERRORS, OnError, stop
from replication.planning.replica import Replica, holding, in_common, open_replicas
from replication.planning.rereading import judge_copies
from replication.salvage.columns.block_sink import DISCARD, give
from replication.salvage.columns.record_block import SALVAGED, RecordBlock
from replication.salvage.columns.salvaged_block import SalvagedBlock
from replication.salvage.errors import UnknownBrokerError
from replication.salvage.examined_partition import ExaminedPartition
from replication.salvage.partition_report import PartitionReport
from replication.salvage.salvage_options import SalvageOptions
from replication.salvage.salvaged_record import SalvagedRecord

KAFKAS_OWN: Final = ALWAYS_COMPACTED | {METADATA_PARTITION.topic}
"""Topics whose records mean something only to the broker that wrote them."""

Sink = Callable[[SalvagedRecord], object]
"""Takes each salvaged record, in order; a BlockSink thousands at once."""


@dataclass(frozen=True, slots=True)
class SalvagePlan:
    """Which partitions are looked at. Nothing was read of their records yet."""

    replicas: Sequence[Replica]
    kept: str
    partitions: Sequence[TopicPartition]
    options: SalvageOptions
    lacking: Sequence[TopicPartition] = ()
    """Partitions that other copies hold and the kept one does not, and that are not looked at: no topic was named."""

    def reports(self, sink: Sink = DISCARD, *, on_error: OnError = stop) -> Iterator[PartitionReport]:
        """Give every salvaged record to `sink`, and yield a partition's report once all of its records were given.

        Memory holds the keys that the losing copies wrote after the fork, with the first bytes of each one's last
        value, not the records. `on_error` decides whether a partition that cannot be read is left out: none of its
        records is given. Raises what `sink` raises, and LogStoreError and OSError where files change while they are
        read.
        """
        return (_carried_out(each, sink) for each in self._examinations(on_error))

    def records(self, *, on_error: OnError = stop) -> Iterator[SalvagedRecord]:
        """Yield every salvaged record, partition by partition; `on_error` and errors as of `reports`."""
        for examined in self._examinations(on_error):
            for block in examined.blocks():
                yield from _salvaged(examined, block).objects()

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
        copies = holding(self.replicas, partition)
        is_held = self.kept in copies

        def examine(logs: Mapping[str, RecoveredLog]) -> ExaminedPartition | None:
            if is_held and self.kept not in logs:
                return None  # `on_error` knows why
            return ExaminedPartition.examine(partition, logs, self.kept, self.options)

        return judge_copies(partition, copies, examine, on_error, least=2 if is_held else 1)

    def holders(self, partition: TopicPartition) -> list[str]:
        """Return whose copies hold a partition."""
        return list(holding(self.replicas, partition))


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
    directory or its node.id. Partitions are looked at that the kept copy and another one hold. Those that the kept one
    does not hold are looked at only where `topics` names theirs: it may never have been a replica. So are Kafka's own.

    Raises UnknownBrokerError if `kept` is none of them, SameBrokerError if a broker is named twice, NothingChosenError
    if no copy has one of `topics` or of `options.compacted`, or no other copy has any of `topics`, and what
    `replication.planning.open_replicas` raises.
    """
    replicas = open_replicas(copies, on_error=on_error)
    _ensure_one_copy_each(replicas)
    chosen = _kept(replicas, kept)
    options = options or SalvageOptions()
    _ensure_known(replicas, topics)
    _ensure_known(replicas, options.compacted)
    common = [each for each in in_common(replicas) if each in chosen.partitions]
    lacking = sorted({each for other in replicas for each in other.partitions} - chosen.held) if chosen.is_root else []
    if topics:
        partitions = sorted(each for each in (*common, *lacking) if each.topic in topics)
        if not partitions:
            raise NothingChosenError(topics, {each.topic for each in (*common, *lacking)})
        return SalvagePlan(replicas, chosen.name, partitions, options)
    common, lacking = ([each for each in held if each.topic not in KAFKAS_OWN] for held in (common, lacking))
    return SalvagePlan(replicas, chosen.name, common, options, lacking)


def _carried_out(examined: ExaminedPartition, sink: Sink) -> PartitionReport:
    report = PartitionReport.of(examined)
    for block in examined.blocks():
        report.add(block)
        if salvaged := _salvaged(examined, block):
            give(sink, salvaged)
    report.conflicts = list(examined.conflicts.values())
    report.transactions = list(examined.in_doubt.values())
    return report


def _salvaged(examined: ExaminedPartition, block: RecordBlock) -> SalvagedBlock:
    records = block.records.take(np.flatnonzero(block.reasons == SALVAGED))
    return SalvagedBlock(examined.topic_partition, block.branch.name, records, block.batches)


def _kept(replicas: Sequence[Replica], kept: str) -> Replica:
    for replica in replicas:
        if kept == replica.name:
            return replica
    for replica in replicas:
        if replica.node_id is not None and kept == str(replica.node_id):
            return replica
    raise UnknownBrokerError(kept, {replica.name: replica.node_id for replica in replicas})


def _ensure_known(replicas: Sequence[Replica], topics: Collection[str]) -> None:
    known = {partition.topic for replica in replicas for partition in replica.held}
    if unknown := sorted(set(topics) - known):
        raise NothingChosenError(unknown, known)


def _ensure_one_copy_each(replicas: Sequence[Replica]) -> None:
    seen: dict[int, str] = {}
    for replica in replicas:
        if replica.node_id is not None and (other := seen.setdefault(replica.node_id, replica.name)) != replica.name:
            raise SameBrokerError(other, replica.name, f"broker {replica.node_id} by node.id in meta.properties")
