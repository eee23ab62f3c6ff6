"""What is asked of and told about transactions: DescribeProducers, ListTransactions, DescribeTransactions,
AddPartitionsToTxn and WriteTxnMarkers, in every version.
"""

import random
from typing import Any

import pytest

from logstore import TopicPartition
from replication.wire.encoding.kio_messages import response_class
from replication.wire.messages import (
    add_partitions_to_txn,
    describe_producers,
    describe_transactions,
    list_transactions,
    write_txn_markers,
)
from replication.wire.messages.add_partitions_to_txn import (
    AddedPartitionsToTxn,
    AddPartitionsToTxnRequest,
    TransactionPartitions,
    add_partitions_versions,
)
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
    ListTransactionsRequest,
    list_transactions_versions,
)
from replication.wire.messages.write_txn_markers import (
    TransactionMarker,
    WriteTxnMarkersRequest,
    WrittenTxnMarkers,
    write_txn_markers_versions,
)
from tests.campaign import run_seed
from tests.replication.wire.by_kio import received, sent_request, sent_response
from tests.replication.wire.instances import instance

ONE, TWO, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 7), TopicPartition("payments", 3)


def answers(api_key: int, version: int) -> Any:
    rng = random.Random(f"{run_seed()} {api_key} {version}")
    return (instance(response_class(api_key, version), rng, items=3) for _ in range(40))


def test_the_producers_of_partitions_are_asked_for_and_told() -> None:
    sent = sent_request(describe_producers.REQUEST, DescribeProducersRequest(partitions=(ONE, OTHER, TWO)), 61, 0)
    assert [(topic.name, topic.partition_indexes) for topic in sent.topics] == [("orders", (0, 7)), ("payments", (3,))]
    for answer in answers(61, 0):
        told: DescribedProducers = received(describe_producers.RESPONSE, answer)
        assert told.partitions == {
            TopicPartition(topic.name, each.partition_index): DescribedPartition(
                each.error_code,
                each.error_message,
                tuple(
                    ActiveProducer(
                        producer.producer_id,
                        producer.producer_epoch,
                        producer.last_sequence,
                        producer.last_timestamp,
                        producer.coordinator_epoch,
                        producer.current_txn_start_offset,
                    )
                    for producer in each.active_producers
                ),
            )
            for topic in answer.topics
            for each in topic.partitions
        }
        assert received(describe_producers.RESPONSE, sent_response(describe_producers.RESPONSE, told, 61, 0)) == told


@pytest.mark.parametrize("version", list_transactions.VERSIONS)
def test_the_transactions_of_producers_are_asked_for_and_told(version: int) -> None:
    request = ListTransactionsRequest(states=("Ongoing",), producer_ids=(7, 2**40))
    sent = sent_request(list_transactions.REQUEST, request, 66, version)
    assert (sent.state_filters, sent.producer_id_filters) == (("Ongoing",), (7, 2**40))
    for answer in answers(66, version):
        told = received(list_transactions.RESPONSE, answer)
        assert (told.error, told.unknown_states) == (answer.error_code, answer.unknown_state_filters)
        assert told.transactions == tuple(
            ListedTransaction(each.transactional_id, each.producer_id, each.transaction_state)
            for each in answer.transaction_states
        )


def test_what_only_later_versions_can_ask_is_asked_in_those() -> None:
    assert list_transactions_versions(ListTransactionsRequest()) == range(3)
    assert list_transactions_versions(ListTransactionsRequest(longer_than_ms=5)) == range(1, 3)
    asks_by_name = ListTransactionsRequest(longer_than_ms=5, transactional_id_pattern="pay.*")
    assert list_transactions_versions(asks_by_name) == range(2, 3)
    sent = sent_request(list_transactions.REQUEST, asks_by_name, 66, 2)
    assert (sent.duration_filter, sent.transactional_id_pattern) == (5, "pay.*")
    marker = TransactionMarker(7, 1, False, (ONE,))
    assert write_txn_markers_versions(WriteTxnMarkersRequest(markers=(marker,))) == range(1, 3)
    newer = WriteTxnMarkersRequest(markers=(marker, marker._replace(transaction_version=2)))
    assert write_txn_markers_versions(newer) == range(2, 3)


def test_what_coordinators_know_is_asked_for_and_told() -> None:
    request = DescribeTransactionsRequest(transactional_ids=("payments", "orders"))
    sent = sent_request(describe_transactions.REQUEST, request, 65, 0)
    assert sent.transactional_ids == ("payments", "orders")
    for answer in answers(65, 0):
        told: DescribedTransactions = received(describe_transactions.RESPONSE, answer)
        for transaction, theirs in zip(told.transactions, answer.transaction_states, strict=True):
            assert transaction == DescribedTransaction(
                theirs.error_code,
                theirs.transactional_id,
                theirs.transaction_state,
                transaction.timeout_ms,
                transaction.start,
                theirs.producer_id,
                theirs.producer_epoch,
                frozenset(TopicPartition(topic.topic, index) for topic in theirs.topics for index in topic.partitions),
            )
        assert (
            received(describe_transactions.RESPONSE, sent_response(describe_transactions.RESPONSE, told, 65, 0)) == told
        )


@pytest.mark.parametrize("version", write_txn_markers.VERSIONS)
def test_markers_are_asked_for_and_what_became_of_them_is_told(version: int) -> None:
    request = WriteTxnMarkersRequest(
        markers=(TransactionMarker(7, 3, False, (ONE, OTHER), 5), TransactionMarker(8, 0, True, (TWO,)))
    )
    sent = sent_request(write_txn_markers.REQUEST, request, 27, version)
    assert [
        (
            each.producer_id,
            each.producer_epoch,
            each.transaction_result,
            each.coordinator_epoch,
            [(topic.name, topic.partition_indexes) for topic in each.topics],
        )
        for each in sent.markers
    ] == [(7, 3, False, 5, [("orders", (0,)), ("payments", (3,))]), (8, 0, True, 0, [("orders", (7,))])]
    for answer in answers(27, version):
        told: WrittenTxnMarkers = received(write_txn_markers.RESPONSE, answer)
        assert {
            (producer_id, partition): error
            for producer_id, results in told.results.items()
            for partition, error in results.items()
        } == {
            (marker.producer_id, TopicPartition(topic.name, each.partition_index)): each.error_code
            for marker in answer.markers
            for topic in marker.topics
            for each in topic.partitions
        }
        again = sent_response(write_txn_markers.RESPONSE, told, 27, version)
        assert received(write_txn_markers.RESPONSE, again) == told


@pytest.mark.parametrize("version", add_partitions_to_txn.BROKER_VERSIONS)
def test_brokers_ask_about_the_partitions_of_many_transactions(version: int) -> None:
    request = AddPartitionsToTxnRequest(
        transactions=(
            TransactionPartitions("billing", 7, 3, (ONE, OTHER, TWO)),
            TransactionPartitions("shipping", 8, 0, (TWO,), verify_only=True),
        )
    )
    assert add_partitions_versions(request) == range(4, 6)
    sent = sent_request(add_partitions_to_txn.REQUEST, request, 24, version)
    assert [
        (
            each.transactional_id,
            each.producer_id,
            each.producer_epoch,
            each.verify_only,
            [(topic.name, topic.partitions) for topic in each.topics],
        )
        for each in sent.transactions
    ] == [
        ("billing", 7, 3, False, [("orders", (0, 7)), ("payments", (3,))]),
        ("shipping", 8, 0, True, [("orders", (7,))]),
    ]
    for answer in answers(24, version):
        told: AddedPartitionsToTxn = received(add_partitions_to_txn.RESPONSE, answer)
        assert told.error == answer.error_code
        every = answer.results_by_transaction
        assert told.results == {each.transactional_id: results_of(each.topic_results) for each in every}


@pytest.mark.parametrize("version", range(4))
def test_clients_ask_about_those_of_their_own(version: int) -> None:
    asked = TransactionPartitions("billing", 7, 3, (ONE, OTHER))
    request = AddPartitionsToTxnRequest(transactions=(asked,))
    assert add_partitions_versions(request) == range(6)
    looked_up = AddPartitionsToTxnRequest(transactions=(asked._replace(verify_only=True),))
    assert add_partitions_versions(looked_up) == range(4, 6)
    sent = sent_request(add_partitions_to_txn.REQUEST, request, 24, version)
    assert (sent.v3_and_below_transactional_id, sent.v3_and_below_producer_id) == ("billing", 7)
    assert [(topic.name, topic.partitions) for topic in sent.v3_and_below_topics] == [
        ("orders", (0,)),
        ("payments", (3,)),
    ]
    assert received(add_partitions_to_txn.REQUEST, sent) == request
    for answer in answers(24, version):
        told: AddedPartitionsToTxn = received(add_partitions_to_txn.RESPONSE, answer)
        assert told.results == {"": results_of(answer.results_by_topic_v3_and_below)}


def results_of(topics: Any) -> dict[TopicPartition, Any]:
    return {
        TopicPartition(topic.name, each.partition_index): each.partition_error_code
        for topic in topics
        for each in topic.results_by_partition
    }
