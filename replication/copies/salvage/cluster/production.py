"""Salvaged records written to a cluster: each once, whatever happens in between."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Final

from logstore.topic_partition import TopicPartition
from replication.base.counted import counted
from replication.copies.planning.failures import OnError, stop
from replication.copies.salvage.cluster.connection import DEFAULT_TIMEOUT, Connection
from replication.copies.salvage.cluster.cuts import Cuts, TransactionSize
from replication.copies.salvage.cluster.errors import ClusterError, TargetRefusedError
from replication.copies.salvage.cluster.known_places import KnownPlaces
from replication.copies.salvage.cluster.needs import Needs
from replication.copies.salvage.cluster.partition_writing import Message, PartitionWriting, ProducedPartition, Writer
from replication.copies.salvage.cluster.salvage_producer import SalvageProducer
from replication.copies.salvage.cluster.target_cluster import TargetCluster
from replication.copies.salvage.cluster.target_topic import TargetTopic
from replication.copies.salvage.cluster.written_records import WrittenRecords
from replication.copies.salvage.columns.block_sink import BlockSink
from replication.copies.salvage.columns.salvaged_block import SalvagedBlock
from replication.copies.salvage.partition_report import PartitionReport
from replication.copies.salvage.salvage_choice import KAFKAS_OWN
from replication.copies.salvage.salvage_plan import SalvagePlan
from replication.copies.salvage.salvaged_record import SalvagedRecord

OnPartition = Callable[[TopicPartition], object]
_BATCH_BYTES: Final = 1_000_000
"""Of several records; the client's default."""


@dataclass(frozen=True, slots=True)
class Production:
    """What a run has done."""

    cluster_id: str
    """The target's."""
    copies_cluster_id: str | None
    """That of the copies, as far as they say it."""
    reports: list[PartitionReport]
    partitions: list[ProducedPartition] = field(default_factory=list)
    """Those that have salvaged records."""

    @property
    def is_elsewhere(self) -> bool:
        """Whether the records go to another cluster than that of the copies."""
        return self.copies_cluster_id not in {None, self.cluster_id}

    @property
    def written(self) -> int:
        """Records of all partitions."""
        return sum(each.written for each in self.partitions)

    @property
    def already_there(self) -> int:
        """Records of all partitions."""
        return sum(each.already_there for each in self.partitions)


def produce(
    plan: SalvagePlan,
    client: Mapping[str, object],
    *,
    to_topic: str | None = None,
    dry_run: bool = False,
    size: TransactionSize | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    on_error: OnError = stop,
    progress: OnPartition = lambda _: None,
) -> Production:
    """Write what a plan salvages to the partitions of the same numbers, of the same topics or of `to_topic`.

    `client` has settings as confluent-kafka takes them: `bootstrap.servers`, and how to be let in. Keys, values,
    headers and timestamps are kept, with one more header that says where a record is from; by that a later run knows
    what is there. The records go in transactions of `size`: a run that was killed is continued by the next one.

    The copies are read twice: once to see what the target has to take. Raises TargetRefusedError before anything is
    written, ClusterError where the cluster fails or the copies change meanwhile (the next run goes on from there), and
    what `plan.reports` does; `timeout` are the seconds for an answer. `progress` is called with each partition once
    it was read for the first time, and again once it was written.
    """
    source = plan.cluster_id
    needs: dict[TopicPartition, Needs] = {}
    told = _ToldErrors(on_error)
    connection = Connection(client, timeout)
    cluster = TargetCluster(connection)
    cluster_id = cluster.cluster_id()  # before hours of reading
    production = Production(cluster_id, source, _gathered(plan, source, needs, told.tell, progress))
    if not needs:
        return production
    targets = _targets(needs, to_topic)
    topics = cluster.topics(sorted(set(targets.values())))
    ensure_takes(topics, targets, needs.values(), round(time.time() * 1_000))
    with ExitStack() as stack:
        writer: Writer = _DryRun()
        if not dry_run:
            writer = producer = stack.enter_context(closing(_producer(connection, needs, topics)))
            producer.fence()
        written = stack.enter_context(closing(WrittenRecords(connection, cluster)))
        try:
            _write(
                plan, production, needs, targets, written, writer, size or TransactionSize(), told.ensure_told, progress
            )
        except ClusterError as error:
            if done := production.written:
                were = f"{counted(done, 'record')} {'was' if done == 1 else 'were'}"
                error.add_note(f"{were} written before that; run the same again for the rest")
            raise
    return production


def ensure_takes(
    topics: Mapping[str, TargetTopic], targets: Mapping[str, str], needs: Iterable[Needs], now: int
) -> None:
    """Raise TargetRefusedError unless the topics take all records as they are; `targets` by source topic."""
    problems: dict[str, None] = {}
    for each in needs:
        name = targets[each.partition.topic]
        if name in KAFKAS_OWN:
            problems[f"{name}: its records mean something only to the broker that wrote them"] = None
        elif name not in topics:
            problems[f"{name}: the cluster has no such topic, or does not show it: create it, or allow DESCRIBE"] = None
        else:
            problems |= dict.fromkeys(f"{name}: {problem}" for problem in topics[name].problems(each, now))
    if problems:
        raise TargetRefusedError(list(problems))


def _gathered(
    plan: SalvagePlan,
    source: str | None,
    needs: dict[TopicPartition, Needs],
    on_error: OnError,
    progress: OnPartition,
) -> list[PartitionReport]:
    """Report as a dry run does, and note what the records need."""
    reports = []
    for report in plan.reports(_Gathering(needs, source), on_error=on_error):
        reports.append(report)
        progress(TopicPartition(report.topic, report.partition))
        if each := needs.get(TopicPartition(report.topic, report.partition)):
            each.is_compacted = report.is_compacted
    return reports


def _targets(needs: Mapping[TopicPartition, Needs], to_topic: str | None) -> dict[str, str]:
    topics = sorted({each.topic for each in needs})
    if to_topic is not None and len(topics) > 1:
        raise TargetRefusedError([f"{to_topic} can take one topic's records, and these are of {', '.join(topics)}"])
    return {topic: to_topic or topic for topic in topics}


def _producer(
    connection: Connection, needs: Mapping[TopicPartition, Needs], topics: Mapping[str, TargetTopic]
) -> SalvageProducer:
    least = min(topic.largest_batch for topic in topics.values())
    return SalvageProducer(connection, max(each.largest for each in needs.values()), min(_BATCH_BYTES, least))


@dataclass(slots=True)
class _ToldErrors:
    """What could not be read the first time: the second time it is the same, or else the copies have changed."""

    on_error: OnError
    _told: set[tuple[TopicPartition, str]] = field(default_factory=set)

    def tell(self, partition: TopicPartition, error: Exception) -> None:
        """Report an error, and remember it. Raises what `on_error` does."""
        self.on_error(partition, error)
        self._told.add((partition, repr(error)))

    def ensure_told(self, partition: TopicPartition, error: Exception) -> None:
        """Raise ClusterError at an error that is new."""
        if (partition, repr(error)) not in self._told:
            raise ClusterError(
                f"{partition}: the copies could be read before, and now they cannot be: {error}; run the same again"
            ) from error


@dataclass(slots=True)
class _Gathering(BlockSink):
    """Notes what records need, and keeps none."""

    needs: dict[TopicPartition, Needs]
    cluster_id: str | None

    def take(self, block: SalvagedBlock) -> None:
        """Add some thousand records."""
        self.needs.setdefault(block.topic_partition, Needs(block.topic_partition)).take(block, self.cluster_id)

    def __call__(self, record: SalvagedRecord) -> None:
        """Refuse a single record: those of a plan come as columns."""
        raise TypeError(f"{record}: pass a block")


class _DryRun:
    """Writes nothing."""

    def write(self, messages: Iterable[Message], target: TopicPartition) -> None:
        """Accept records."""

    def commit(self) -> None:
        """Do nothing."""


def _write(
    plan: SalvagePlan,
    production: Production,
    needs: Mapping[TopicPartition, Needs],
    targets: Mapping[str, str],
    written: WrittenRecords,
    writer: Writer,
    size: TransactionSize,
    on_error: OnError,
    progress: OnPartition,
) -> None:
    """Write partition by partition what is not there."""
    for salvage in plan.salvages():
        partition = salvage.topic_partition
        if (needed := needs.get(partition)) is None:
            progress(partition)
            continue
        produced = ProducedPartition(*partition, targets[partition.topic])
        production.partitions.append(produced)
        known = KnownPlaces(partition, production.copies_cluster_id)
        known.add(written.provenances(produced.to_topic, partition.partition, needed.since))
        writing = PartitionWriting(produced, known, writer, Cuts(size, needed.last_of), needed)
        for block in salvage.blocks(on_error):
            writing.take(block)
        writing.end()
        progress(partition)
