"""All APIs: those with messages of our own, and those with kio's."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from replication.records.codec.fields import Data
from replication.wire.encoding.kio_messages import RequestPayload
from replication.wire.messages import (
    add_partitions_to_txn,
    allocate_producer_ids,
    alter_partition,
    api_versions,
    assign_replicas_to_dirs,
    broker_heartbeat,
    broker_registration,
    describe_cluster,
    describe_configs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    elect_leaders,
    fetch,
    fetch_form,
    fetch_snapshot,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_for_leader_epoch,
    produce,
    write_txn_markers,
)
from replication.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from replication.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from replication.wire.messages.alter_partition import AlterPartitionRequest
from replication.wire.messages.api import Api
from replication.wire.messages.api_versions import ApiVersionsRequest
from replication.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest
from replication.wire.messages.classic import controlled_shutdown, leader_and_isr, stop_replica, update_metadata
from replication.wire.messages.classic.controlled_shutdown import ControlledShutdownRequest
from replication.wire.messages.classic.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from replication.wire.messages.classic.stop_replica import StopReplicaRequest
from replication.wire.messages.classic.update_metadata import UpdateMetadataRequest
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from replication.wire.messages.describe_configs import DescribeConfigsRequest
from replication.wire.messages.describe_producers import DescribeProducersRequest
from replication.wire.messages.describe_quorum import DescribeQuorumRequest
from replication.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from replication.wire.messages.describe_transactions import DescribeTransactionsRequest
from replication.wire.messages.elect_leaders import ElectLeadersRequest
from replication.wire.messages.fetch import FetchRequest, FetchResponse
from replication.wire.messages.fetch_snapshot import FetchSnapshotRequest
from replication.wire.messages.form import Form
from replication.wire.messages.kio_apis import kio_api
from replication.wire.messages.list_offsets import ListOffsetsRequest
from replication.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from replication.wire.messages.list_transactions import ListTransactionsRequest
from replication.wire.messages.metadata import MetadataRequest
from replication.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from replication.wire.messages.produce import ProduceRequest
from replication.wire.messages.request import Request
from replication.wire.messages.write_txn_markers import WriteTxnMarkersRequest


def api_of(request: Request[Any] | RequestPayload) -> Api:
    """Return the API of a request of ours, or of one of kio's, which is answered in kio's terms."""
    ours = _OURS.get(type(request))
    if ours is not None:
        return ours
    theirs = kio_api(request.__api_key__)  # type: ignore[union-attr]  # it is not one of ours
    assert theirs is not None  # noqa: S101 - kio has the API of each of its requests
    return theirs


def api_with(key: int) -> Api | None:
    """Return the API with a key, with messages of ours where there are any; None where nobody has them."""
    return _BY_KEY.get(key) or kio_api(key)


def _read_fetch_answer(request: FetchRequest, data: Data, version: int) -> FetchResponse:
    return fetch_form.read_response(data, version, {topic_id: topic for topic, topic_id in request.topic_ids.items()})


def _read_leader_and_isr_answer(request: LeaderAndIsrRequest, data: Data, version: int) -> LeaderAndIsrResponse:
    answer = leader_and_isr.RESPONSE.read(data, version)
    return leader_and_isr.named(answer, {topic_id: topic for topic, topic_id in request.topic_ids.items()})


def _api(module: Any, versions: Callable[[Any], range] | None = None) -> Api:
    """Return an API of ours; `versions` only where not every request can be carried by all that are served."""
    served: range = getattr(module, "SERVED", module.VERSIONS)
    response: Form[Any] = module.RESPONSE
    return Api(
        key=module.API_KEY,
        name=module.REQUEST.name.removesuffix("Request"),
        served=served,
        versions=versions or (lambda _: served),
        flexible_since=module.REQUEST.flexible_since,
        request=module.REQUEST,
        response=response,
        read_answer=lambda _, data, version: response.read(data, version),
    )


_OURS: Final[Mapping[type, Api]] = {
    ProduceRequest: _api(produce, produce.produce_versions),
    FetchRequest: replace(_api(fetch_form, fetch.fetch_versions), read_answer=_read_fetch_answer),
    ListOffsetsRequest: _api(list_offsets, list_offsets.list_offsets_versions),
    MetadataRequest: _api(metadata, metadata.metadata_versions),
    ElectLeadersRequest: _api(elect_leaders, elect_leaders.elect_leaders_versions),
    OffsetForLeaderEpochRequest: _api(offset_for_leader_epoch),
    DescribeClusterRequest: _api(describe_cluster),
    DescribeConfigsRequest: _api(describe_configs),
    DescribeQuorumRequest: _api(describe_quorum),
    DescribeTopicPartitionsRequest: _api(describe_topic_partitions),
    ListPartitionReassignmentsRequest: _api(list_partition_reassignments),
    DescribeProducersRequest: _api(describe_producers),
    ListTransactionsRequest: _api(list_transactions, list_transactions.list_transactions_versions),
    DescribeTransactionsRequest: _api(describe_transactions),
    AddPartitionsToTxnRequest: _api(add_partitions_to_txn, add_partitions_to_txn.add_partitions_versions),
    WriteTxnMarkersRequest: _api(write_txn_markers, write_txn_markers.write_txn_markers_versions),
    BrokerHeartbeatRequest: _api(broker_heartbeat),
    BrokerRegistrationRequest: _api(broker_registration),
    AlterPartitionRequest: _api(alter_partition),
    AssignReplicasToDirsRequest: _api(assign_replicas_to_dirs),
    AllocateProducerIdsRequest: _api(allocate_producer_ids),
    FetchSnapshotRequest: _api(fetch_snapshot),
    LeaderAndIsrRequest: replace(_api(leader_and_isr), read_answer=_read_leader_and_isr_answer),
    StopReplicaRequest: _api(stop_replica, stop_replica.stop_replica_versions),
    UpdateMetadataRequest: _api(update_metadata),
    ControlledShutdownRequest: _api(controlled_shutdown),
    ApiVersionsRequest: _api(api_versions, api_versions.api_versions_versions),
}
_BY_KEY: Final[Mapping[int, Api]] = {api.key: api for api in _OURS.values()}
