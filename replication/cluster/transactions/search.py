"""The requests that find hanging transactions, and what follows from the answers; without a socket (KIP-664)."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from logstore import TopicPartition
from replication.base.errors import ReplicationError
from replication.cluster.transactions.judged_transaction import JudgedTransaction, Verdict, judge
from replication.cluster.transactions.open_transaction import OpenTransaction
from replication.records.coordinator_records.transaction_state import TRANSACTION_STATE
from replication.wire.error_code import ErrorCode
from replication.wire.errors import error_for, raise_for
from replication.wire.messages.describe_producers import (
    DescribedPartition,
    DescribedProducers,
    DescribeProducersRequest,
)
from replication.wire.messages.describe_transactions import (
    DescribedTransaction,
    DescribedTransactions,
    DescribeTransactionsRequest,
)
from replication.wire.messages.list_transactions import ListedTransactions, ListTransactionsRequest
from replication.wire.messages.metadata import ClusterMetadata, MetadataRequest
from replication.wire.messages.request import Request

AnswerT = TypeVar("AnswerT")

PARTITIONS_AT_ONCE: Final = 1_000
"""Of how many one request asks: a leader answers with all producers that it remembers."""
_NOT_TOLD: Final = DescribedPartition(ErrorCode.UNKNOWN_SERVER_ERROR, "the answer does not mention it")
_DELETED: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


class Question(NamedTuple):
    """A request, and the broker that it is for; None: any."""

    broker: int | None
    request: Request[Any]


Questions: TypeAlias = Generator[Question, Any, AnswerT]
"""Yields questions and is sent their answers; a ReplicationError is thrown into it where there is none."""


class Gap(NamedTuple):
    """What is not known, and why."""

    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


@dataclass(frozen=True, slots=True)
class Found:
    """The open transactions that were judged, by partition and offset, and what could not be found out."""

    transactions: tuple[JudgedTransaction, ...]
    gaps: tuple[Gap, ...]

    @property
    def hanging(self) -> tuple[JudgedTransaction, ...]:
        """Those that nobody will end."""
        return tuple(each for each in self.transactions if each.verdict is Verdict.HANGING)

    def still_hanging(self, later: "Found") -> tuple[JudgedTransaction, ...]:
        """Those that hung here, and hang in what was found later: a producer may go on in between."""
        seen = {each.transaction.identity for each in self.hanging}
        return tuple(each for each in later.hanging if each.transaction.identity in seen)


Leaders: TypeAlias = Mapping[TopicPartition, int]


@dataclass(slots=True)
class _Search:
    gaps: list[Gap] = field(default_factory=list)
    not_told: list[str] = field(default_factory=list)
    """Which coordinators did not answer."""


def search(topics: Callable[[str], bool], older_than: int | None = None) -> Questions[Found]:
    """Ask the leaders for open transactions, the coordinators for what they know of them, and the leaders once more.

    A transaction that its coordinator ends has its markers before the coordinator says that it has ended. So one that
    is open before the coordinators are asked and still is after that, and that none of them will end, is hanging.

    `older_than` is as for `judge`. Raises NoBrokerError and what else `MetadataRequest` raises. All else that fails is
    in `gaps`.
    """
    asked = _Search()
    metadata: ClusterMetadata = yield Question(None, MetadataRequest(topics=None))
    raise_for(metadata.error, "Metadata")
    leaders = dict(_leaders(metadata, topics, asked.gaps))
    open_ones = yield from open_transactions(leaders, asked.gaps)
    if not open_ones:
        return Found((), tuple(asked.gaps))
    coordinated = yield from _coordinated(metadata, {each.producer_id for each in open_ones}, asked)
    concerned = {each.partition: leaders[each.partition] for each in open_ones}
    failed: list[Gap] = []
    still_open = {each.identity for each in (yield from open_transactions(concerned, failed))}
    asked.gaps += failed
    gap = "; ".join([*asked.not_told, *map(str, failed)]) or None
    judged = (
        judge(each, coordinated, gap=gap, older_than=older_than)
        for each in open_ones
        if failed or each.identity in still_open
    )
    return Found(tuple(sorted(judged, key=lambda each: each.transaction.identity)), tuple(asked.gaps))


def open_transactions(leaders: Leaders, gaps: list[Gap]) -> Questions[list[OpenTransaction]]:
    """Ask the leaders of partitions which transactions are open there; note who does not answer."""
    found: list[OpenTransaction] = []
    for leader, partitions in _by_leader(leaders):
        try:
            told: DescribedProducers = yield Question(leader, DescribeProducersRequest(partitions=partitions))
        except ReplicationError as error:
            gaps.append(Gap(f"what broker {leader} leads", str(error)))
            continue
        for partition in partitions:
            found += _open_in(partition, leader, told.partitions.get(partition, _NOT_TOLD), gaps)
    return found


def _open_in(
    partition: TopicPartition, leader: int, described: DescribedPartition, gaps: list[Gap]
) -> Iterator[OpenTransaction]:
    if described.error is not ErrorCode.NONE and described.error not in _DELETED:
        gaps.append(Gap(str(partition), str(error_for(described.error, described.error_message or ""))))
    for producer in described.producers:
        if producer.transaction_first_offset >= 0:
            yield OpenTransaction.of(partition, leader, producer)


def _leaders(
    metadata: ClusterMetadata, topics: Callable[[str], bool], gaps: list[Gap]
) -> Iterator[tuple[TopicPartition, int]]:
    for name, topic in metadata.topics.items():
        if not topics(name):
            continue
        if topic.error is not ErrorCode.NONE:
            gaps.append(Gap(name, str(error_for(topic.error))))
        for number, partition in topic.partitions.items():
            if partition.leader_id in metadata.brokers:
                yield TopicPartition(name, number), partition.leader_id
            else:
                gaps.append(Gap(f"{name}-{number}", "it has no leader"))


def _by_leader(leaders: Leaders) -> Iterator[tuple[int, tuple[TopicPartition, ...]]]:
    led: dict[int, list[TopicPartition]] = defaultdict(list)
    for partition, leader in leaders.items():
        led[leader].append(partition)
    for leader, partitions in sorted(led.items()):
        yield from ((leader, batch) for batch in _batches(partitions))


def _batches(partitions: Sequence[TopicPartition]) -> Iterator[tuple[TopicPartition, ...]]:
    rest = iter(partitions)
    while batch := tuple(islice(rest, PARTITIONS_AT_ONCE)):
        yield batch


def _coordinated(
    metadata: ClusterMetadata, producer_ids: Iterable[int], asked: _Search
) -> Questions[list[DescribedTransaction]]:
    """Ask all coordinators for the transactions of these producers."""
    known: list[DescribedTransaction] = []
    state = metadata.topics.get(TRANSACTION_STATE)
    for number, partition in state.partitions.items() if state else ():
        if partition.leader_id not in metadata.brokers:
            asked.not_told.append(f"{TRANSACTION_STATE}-{number} has no leader")
    for broker in metadata.brokers:
        try:
            known += yield from _known_to(broker, tuple(sorted(producer_ids)))
        except ReplicationError as error:
            asked.not_told.append(f"broker {broker}: {error}")
    asked.gaps += [Gap("coordinators", each) for each in asked.not_told]
    return known


def _known_to(broker: int, producer_ids: tuple[int, ...]) -> Questions[tuple[DescribedTransaction, ...]]:
    """Ask one coordinator. Raises ReplicationError where it does not answer."""
    listed: ListedTransactions = yield Question(broker, ListTransactionsRequest(producer_ids=producer_ids))
    raise_for(listed.error, "ListTransactions")
    if not listed.transactions:
        return ()
    ids = tuple(each.transactional_id for each in listed.transactions)
    told: DescribedTransactions = yield Question(broker, DescribeTransactionsRequest(transactional_ids=ids))
    for each in told.transactions:
        raise_for(each.error, f"DescribeTransactions: {each.transactional_id}")
    return told.transactions
