"""A broker that coordinates no transactions sends producers on, and has none to list."""

from pathlib import Path
from typing import Any

import pytest

from logstore import TopicPartition
from replication.cluster.node.coordinators.transactions_elsewhere import (
    ADD_OFFSETS_TO_TXN,
    END_TXN,
    TXN_OFFSET_COMMIT,
    transactions_elsewhere,
)
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, TransactionPartitions
from replication.wire.messages.apis import api_with
from replication.wire.messages.describe_transactions import DescribeTransactionsRequest
from replication.wire.messages.list_transactions import ListedTransactions, ListTransactionsRequest
from tests.replication.cluster.broker.authorization.random_questions import kio_request
from tests.replication.cluster.broker.requests.small_broker import call
from tests.replication.cluster.node.remote_cluster import RemoteCluster

ORDERS = TopicPartition("orders", 0)
ELSEWHERE = ErrorCode.NOT_COORDINATOR
PRODUCER: dict[str, Any] = {"transactional_id": "billing", "producer_id": 7, "producer_epoch": 0}
VERSIONS = {ADD_OFFSETS_TO_TXN: range(5), END_TXN: range(6), TXN_OFFSET_COMMIT: range(6)}


def answered(key: int, version: int, request: Any) -> Any:
    """An answer as it is read from its bytes."""
    api, served = api_with(key), transactions_elsewhere()[key]
    assert api is not None
    assert version in served.versions
    return api.response.read(api.response.write(served.answer(request, call(version)), version), version)


@pytest.mark.parametrize("version", VERSIONS[ADD_OFFSETS_TO_TXN])
def test_offsets_are_added_elsewhere(version: int) -> None:
    request = kio_request(ADD_OFFSETS_TO_TXN, version, {**PRODUCER, "group_id": "readers"})
    assert answered(ADD_OFFSETS_TO_TXN, version, request).error_code == ELSEWHERE


@pytest.mark.parametrize("version", VERSIONS[END_TXN])
def test_transactions_end_elsewhere(version: int) -> None:
    request = kio_request(END_TXN, version, {**PRODUCER, "committed": True})
    assert answered(END_TXN, version, request).error_code == ELSEWHERE


@pytest.mark.parametrize("version", VERSIONS[TXN_OFFSET_COMMIT])
def test_offsets_are_committed_elsewhere(version: int) -> None:
    partition = {"partition_index": 3, "committed_offset": 8, "committed_leader_epoch": 1, "committed_metadata": None}
    group = {"group_id": "readers", "generation_id": 1, "member_id": "m", "group_instance_id": None}
    topics = [{"name": "orders", "partitions": [partition]}]
    request = kio_request(TXN_OFFSET_COMMIT, version, {**PRODUCER, **group, "topics": topics})
    (topic,) = answered(TXN_OFFSET_COMMIT, version, request).topics
    assert [(topic.name, each.partition_index, each.error_code) for each in topic.partitions] == [
        ("orders", 3, ELSEWHERE)
    ]


def test_brokers_and_administrators_are_told_so_too(tmp_path: Path) -> None:
    with (
        RemoteCluster(tmp_path, 1, coordinates_groups=False, starts_without_coordinators=True) as cluster,
        Connection.open(cluster.brokers[1].node.address) as connection,
    ):
        asked = TransactionPartitions("billing", 7, 0, (ORDERS,))
        added = connection.ask(AddPartitionsToTxnRequest(transactions=(asked,)))
        described = connection.ask(DescribeTransactionsRequest(transactional_ids=("billing",)))
        listed = connection.ask(ListTransactionsRequest(states=("Ongoing", "Forgotten")))
    assert added.results == {"billing": {ORDERS: ELSEWHERE}}
    assert [(each.transactional_id, each.error) for each in described.transactions] == [("billing", ELSEWHERE)]
    assert listed == ListedTransactions(unknown_states=("Forgotten",))
