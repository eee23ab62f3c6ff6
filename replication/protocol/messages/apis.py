"""What can be asked: one entry for each kind of request, with its API, its versions and its two translations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from replication.protocol.messages import (
    broker_heartbeat,
    broker_registration,
    describe_cluster,
    describe_configs,
    describe_quorum,
    describe_topic_partitions,
    elect_leaders,
    fetch,
    fetch_snapshot,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_for_leader_epoch,
)
from replication.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.protocol.messages.broker_registration import BrokerRegistrationRequest
from replication.protocol.messages.describe_cluster import DescribeClusterRequest
from replication.protocol.messages.describe_configs import DescribeConfigsRequest
from replication.protocol.messages.describe_quorum import DescribeQuorumRequest
from replication.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from replication.protocol.messages.elect_leaders import ElectLeadersRequest
from replication.protocol.messages.fetch import FetchRequest, FetchResponse
from replication.protocol.messages.fetch_bytes import write_fetch
from replication.protocol.messages.fetch_snapshot import FetchSnapshotRequest
from replication.protocol.messages.list_offsets import ListOffsetsRequest
from replication.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from replication.protocol.messages.metadata import MetadataRequest
from replication.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from replication.protocol.messages.request import Request
from replication.protocol.wire.schema import RequestPayload, request_classes, write


@dataclass(frozen=True, slots=True)
class Api:
    """How one kind of request is asked and answered."""

    key: int
    name: str
    versions: Callable[[Any], range]
    """Returns the versions that can carry a request."""
    write: Callable[[Any, int], bytes]
    """Returns a request as bytes, in a version."""
    decode: Callable[[Any, Any], Any]
    """Returns the answer to a request, given in kio's terms."""

    def request_class(self, version: int) -> type[RequestPayload]:
        """Return kio's class of the request, from which its header and its answer follow."""
        found: type[RequestPayload] = getattr(request_classes(self.key, version), f"{self.name}Request")
        return found


def api_of(request: Request[Any] | RequestPayload) -> Api:
    """Return the API of a request of ours, or of one in kio's terms, which is answered in kio's terms."""
    return _OURS.get(type(request)) or _kio_api(request)


def _kio_api(request: Any) -> Api:
    """Return the API of a request that is of one version and needs no translation."""
    version: int = request.__version__
    return Api(
        request.__api_key__,
        type(request).__name__.removesuffix("Request"),
        lambda _: range(version, version + 1),
        lambda request, _: write(request),
        lambda _, answer: answer,
    )


def _decode_fetch(request: FetchRequest, answer: Any) -> FetchResponse:
    return fetch.decode_fetch(answer, {topic_id: topic for topic, topic_id in request.topic_ids.items()})


def _api(
    key: int,
    name: str,
    versions: range | Callable[[Any], range],
    encode: Callable[[Any, Any], Any],
    decode: Callable[[Any], Any],
) -> Api:
    """Return an API whose answers speak for themselves; `versions` may depend on the request."""
    return Api(
        key,
        name,
        versions if callable(versions) else lambda _: versions,
        lambda request, version: write(encode(request, request_classes(key, version))),
        lambda _, answer: decode(answer),
    )


_OURS: Final[Mapping[type, Api]] = {
    FetchRequest: Api(fetch.API_KEY, "Fetch", fetch.fetch_versions, write_fetch, _decode_fetch),
    OffsetForLeaderEpochRequest: _api(
        offset_for_leader_epoch.API_KEY,
        "OffsetForLeaderEpoch",
        offset_for_leader_epoch.VERSIONS,
        offset_for_leader_epoch.encode_offset_for_leader_epoch,
        offset_for_leader_epoch.decode_offset_for_leader_epoch,
    ),
    ListOffsetsRequest: _api(
        list_offsets.API_KEY,
        "ListOffsets",
        list_offsets.list_offsets_versions,
        list_offsets.encode_list_offsets,
        list_offsets.decode_list_offsets,
    ),
    MetadataRequest: _api(
        metadata.API_KEY, "Metadata", metadata.VERSIONS, metadata.encode_metadata, metadata.decode_metadata
    ),
    DescribeClusterRequest: _api(
        describe_cluster.API_KEY,
        "DescribeCluster",
        describe_cluster.VERSIONS,
        describe_cluster.encode_describe_cluster,
        describe_cluster.decode_describe_cluster,
    ),
    DescribeConfigsRequest: _api(
        describe_configs.API_KEY,
        "DescribeConfigs",
        describe_configs.VERSIONS,
        describe_configs.encode_describe_configs,
        describe_configs.decode_describe_configs,
    ),
    DescribeQuorumRequest: _api(
        describe_quorum.API_KEY,
        "DescribeQuorum",
        describe_quorum.VERSIONS,
        describe_quorum.encode_describe_quorum,
        describe_quorum.decode_describe_quorum,
    ),
    DescribeTopicPartitionsRequest: _api(
        describe_topic_partitions.API_KEY,
        "DescribeTopicPartitions",
        describe_topic_partitions.VERSIONS,
        describe_topic_partitions.encode_describe_topic_partitions,
        describe_topic_partitions.decode_describe_topic_partitions,
    ),
    ListPartitionReassignmentsRequest: _api(
        list_partition_reassignments.API_KEY,
        "ListPartitionReassignments",
        list_partition_reassignments.VERSIONS,
        list_partition_reassignments.encode_list_partition_reassignments,
        list_partition_reassignments.decode_list_partition_reassignments,
    ),
    ElectLeadersRequest: _api(
        elect_leaders.API_KEY,
        "ElectLeaders",
        elect_leaders.elect_leaders_versions,
        elect_leaders.encode_elect_leaders,
        elect_leaders.decode_elect_leaders,
    ),
    BrokerHeartbeatRequest: _api(
        broker_heartbeat.API_KEY,
        "BrokerHeartbeat",
        broker_heartbeat.VERSIONS,
        broker_heartbeat.encode_broker_heartbeat,
        broker_heartbeat.decode_broker_heartbeat,
    ),
    BrokerRegistrationRequest: _api(
        broker_registration.API_KEY,
        "BrokerRegistration",
        broker_registration.VERSIONS,
        broker_registration.encode_broker_registration,
        broker_registration.decode_broker_registration,
    ),
    FetchSnapshotRequest: _api(
        fetch_snapshot.API_KEY,
        "FetchSnapshot",
        fetch_snapshot.VERSIONS,
        fetch_snapshot.encode_fetch_snapshot,
        fetch_snapshot.decode_fetch_snapshot,
    ),
}
