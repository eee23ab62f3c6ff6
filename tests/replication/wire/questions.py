"""One request of each kind of ours, by API key, and the versions that can carry it."""

from typing import Any
from uuid import UUID

from logstore import TopicPartition
from replication.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, TransactionPartitions
from replication.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from replication.wire.messages.alter_partition import AlterPartitionRequest
from replication.wire.messages.api_versions import ApiVersionsRequest
from replication.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest
from replication.wire.messages.classic.controlled_shutdown import ControlledShutdownRequest
from replication.wire.messages.classic.leader_and_isr import LeaderAndIsrRequest
from replication.wire.messages.classic.stop_replica import StopReplicaRequest
from replication.wire.messages.classic.update_metadata import UpdateMetadataRequest
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from replication.wire.messages.describe_configs import DescribeConfigsRequest
from replication.wire.messages.describe_producers import DescribeProducersRequest
from replication.wire.messages.describe_quorum import DescribeQuorumRequest
from replication.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from replication.wire.messages.describe_transactions import DescribeTransactionsRequest
from replication.wire.messages.elect_leaders import ElectionType, ElectLeadersRequest
from replication.wire.messages.fetch import FetchPartition, FetchRequest, SnapshotId
from replication.wire.messages.fetch_snapshot import FetchSnapshotRequest
from replication.wire.messages.list_offsets import ListOffsetsRequest
from replication.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from replication.wire.messages.list_transactions import ListTransactionsRequest
from replication.wire.messages.metadata import MetadataRequest
from replication.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from replication.wire.messages.produce import ProduceRequest
from replication.wire.messages.write_txn_markers import WriteTxnMarkersRequest
from tests.replication.wire.strategies import TOPIC_IDS

_ORDERS = {TopicPartition("orders", 0): FetchPartition(0, 100)}
QUESTIONS: dict[int, tuple[Any, range]] = {
    0: (ProduceRequest(partitions={TopicPartition("orders", 0): b""}, topic_ids=TOPIC_IDS), range(3, 14)),
    1: (FetchRequest(partitions=_ORDERS, topic_ids=TOPIC_IDS), range(4, 19)),
    2: (ListOffsetsRequest(partitions={}), range(1, 12)),
    3: (MetadataRequest(topics=None), range(4, 14)),
    4: (LeaderAndIsrRequest(controller_id=1, controller_epoch=1, partitions={}), range(1, 8)),
    5: (StopReplicaRequest(controller_id=1, controller_epoch=1, partitions={}), range(5)),
    6: (UpdateMetadataRequest(controller_id=1, controller_epoch=1, partitions={}, live_brokers=()), range(4, 9)),
    7: (ControlledShutdownRequest(broker_id=1, broker_epoch=0), range(1, 4)),
    18: (ApiVersionsRequest(client_software_name="epochlog", client_software_version="1.0"), range(5)),
    23: (OffsetForLeaderEpochRequest(partitions={}), range(5)),
    27: (WriteTxnMarkersRequest(markers=()), range(1, 3)),
    32: (DescribeConfigsRequest.of_topics(("orders",), ("retention.ms",)), range(1, 5)),
    43: (ElectLeadersRequest(election_type=ElectionType.PREFERRED, partitions=None), range(3)),
    46: (ListPartitionReassignmentsRequest(), range(1)),
    55: (DescribeQuorumRequest(), range(3)),
    59: (
        FetchSnapshotRequest(
            partition=TopicPartition("orders", 0),
            snapshot_id=SnapshotId(1, 0),
            position=0,
            max_bytes=100,
            current_leader_epoch=0,
            replica_id=1,
        ),
        range(2),
    ),
    56: (AlterPartitionRequest(broker_id=1, broker_epoch=0, changes=()), range(2, 4)),
    67: (AllocateProducerIdsRequest(broker_id=1, broker_epoch=0), range(1)),
    73: (AssignReplicasToDirsRequest(broker_id=1, broker_epoch=0, replicas=()), range(1)),
    62: (BrokerRegistrationRequest(broker_id=1, cluster_id="", incarnation_id=UUID(int=1), listeners=()), range(5)),
    63: (
        BrokerHeartbeatRequest(
            broker_id=1, broker_epoch=0, current_metadata_offset=0, want_fence=True, want_shut_down=False
        ),
        range(3),
    ),
    60: (DescribeClusterRequest(), range(3)),
    61: (DescribeProducersRequest(partitions=(TopicPartition("orders", 0),)), range(1)),
    24: (
        AddPartitionsToTxnRequest(
            transactions=(TransactionPartitions("payments", 7, 0, (TopicPartition("orders", 0),)),)
        ),
        range(6),
    ),
    65: (DescribeTransactionsRequest(transactional_ids=("payments",)), range(1)),
    66: (ListTransactionsRequest(), range(3)),
    75: (DescribeTopicPartitionsRequest(), range(1)),
}
