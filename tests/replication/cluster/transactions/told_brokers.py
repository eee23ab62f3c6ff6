"""A cluster of two brokers that answers about transactions without a socket, as a test describes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from logstore import TopicPartition
from replication.base.errors import ReplicationError
from replication.cluster.transactions.search import Questions
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_producers import (
    ActiveProducer,
    DescribedPartition,
    DescribedProducers,
    DescribeProducersRequest,
)
from replication.wire.messages.describe_transactions import (
    DescribedTransaction,
    DescribedTransactions,
    DescribeTransactionsRequest,
)
from replication.wire.messages.list_transactions import (
    ListedTransaction,
    ListedTransactions,
    ListTransactionsRequest,
)
from replication.wire.messages.metadata import Broker, ClusterMetadata, PartitionMetadata, TopicMetadata
from replication.wire.messages.write_txn_markers import WriteTxnMarkersRequest, WrittenTxnMarkers

T = TypeVar("T")
ONE, TWO = 1, 2


@dataclass
class ToldBrokers:
    """`orders-0` is led by broker 1, `orders-1` by broker 2, which is the only coordinator."""

    producers: dict[TopicPartition, tuple[ActiveProducer, ...]] = field(default_factory=dict)
    coordinated: tuple[DescribedTransaction, ...] = ()
    errors: Mapping[type, ErrorCode] = field(default_factory=dict)
    """What a kind of request is refused with."""
    fails: Mapping[tuple[int, type], ReplicationError] = field(default_factory=dict)
    """What a kind of request to a broker ends with instead of an answer."""
    leaders: Mapping[str, tuple[int, ...]] = field(
        default_factory=lambda: {"orders": (ONE, TWO), "__transaction_state": (TWO,)}
    )
    ends: dict[int, dict[TopicPartition, tuple[ActiveProducer, ...]]] = field(default_factory=dict)
    """What becomes of `producers` before the request of this number, from 0 on."""
    asked: list[tuple[int | None, Any]] = field(default_factory=list)

    def answered(self, questions: Questions[T]) -> T:
        """Answer all questions."""
        try:
            question = next(questions)
            while True:
                failure = self.fails.get((question.broker or 0, type(question.request)))
                self.producers |= self.ends.get(len(self.asked), {})
                self.asked.append((question.broker, question.request))
                question = questions.throw(failure) if failure else questions.send(self._answer(*question))
        except StopIteration as end:
            result: T = end.value
            return result

    def _answer(self, broker: int | None, request: Any) -> Any:
        error = self.errors.get(type(request), ErrorCode.NONE)
        match request:
            case DescribeProducersRequest():
                assert all(self.leaders[each.topic][each.partition] == broker for each in request.partitions)
                return DescribedProducers(
                    partitions={
                        each: DescribedPartition(error, None, () if error else self.producers.get(each, ()))
                        for each in request.partitions
                    }
                )
            case ListTransactionsRequest():
                listed = [
                    ListedTransaction(each.transactional_id, each.producer_id, each.state)
                    for each in self.coordinated
                    if each.producer_id in request.producer_ids
                ]
                return ListedTransactions(error=error, transactions=tuple(listed) if broker == TWO else ())
            case DescribeTransactionsRequest():
                assert broker == TWO
                known = (each for each in self.coordinated if each.transactional_id in request.transactional_ids)
                return DescribedTransactions(transactions=tuple(each._replace(error=error) for each in known))
            case WriteTxnMarkersRequest():
                return self._end(request, error)
        return self._metadata()

    def _end(self, request: WriteTxnMarkersRequest, error: ErrorCode) -> WrittenTxnMarkers:
        results: dict[int, dict[TopicPartition, ErrorCode]] = {}
        for marker in request.markers:
            for partition in marker.partitions:
                results.setdefault(marker.producer_id, {})[partition] = error
                if not error:
                    self.producers[partition] = tuple(
                        each._replace(transaction_first_offset=-1) if each.producer_id == marker.producer_id else each
                        for each in self.producers[partition]
                    )
        return WrittenTxnMarkers(results=results)

    def _metadata(self) -> ClusterMetadata:
        return ClusterMetadata(
            cluster_id="c",
            controller_id=ONE,
            brokers={each: Broker(each, "host", each) for each in (ONE, TWO)},
            topics={
                name: TopicMetadata(
                    partitions={
                        number: PartitionMetadata(ErrorCode.NONE, leader) for number, leader in enumerate(leaders)
                    }
                )
                for name, leaders in self.leaders.items()
            },
        )
