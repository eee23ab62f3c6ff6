"""Requests of ours, as Hypothesis makes them."""

from uuid import UUID

from hypothesis import strategies as st

from logstore import TopicPartition
from replication.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from replication.wire.messages.alter_partition import AlterPartitionRequest, InSyncReplica, IsrChange
from replication.wire.messages.api_versions import SERVED, ApiVersionsRequest
from replication.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest, PlacedReplica
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from replication.wire.messages.broker_registration import BrokerRegistrationRequest, Listener, SecurityProtocol
from replication.wire.messages.elect_leaders import ElectionType, ElectLeadersRequest
from replication.wire.messages.fetch import FetchPartition, FetchRequest, SnapshotId
from replication.wire.messages.fetch_snapshot import FetchSnapshotRequest
from replication.wire.messages.list_offsets import ListOffsetsRequest, OffsetQuestion
from replication.wire.messages.metadata import MetadataRequest
from replication.wire.messages.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest
from replication.wire.messages.produce import ProduceRequest

TOPIC_IDS = {name: UUID(int=number + 1) for number, name in enumerate(("orders", "payments", "a.b-c_d", "x" * 249))}

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
uint16 = st.integers(0, 2**16 - 1)
uuids = st.uuids().filter(lambda value: value.int > 0)
partitions = st.builds(TopicPartition, st.sampled_from(sorted(TOPIC_IDS)), st.integers(0, 2**31 - 1))


fetch_requests = st.builds(
    FetchRequest,
    partitions=st.dictionaries(partitions, st.builds(FetchPartition, int64, int32, int32, int32, int64, uuids, int64)),
    forgotten=st.sets(partitions),
    topic_ids=st.just(TOPIC_IDS),
    replica_id=int32,
    replica_epoch=int64,
    max_wait_ms=st.integers(0, 2**31 - 1),
    min_bytes=int32,
    max_bytes=int32,
    session_id=int32,
    session_epoch=int32,
    isolation_level=st.integers(0, 1),
    rack_id=st.sampled_from(["", "rack-1"]),
    cluster_id=st.none() | st.sampled_from(["", "MkU3OEVBNTcwNTJENDM2Qg"]),
)
epoch_requests = st.builds(
    OffsetForLeaderEpochRequest,
    partitions=st.dictionaries(partitions, st.builds(EpochQuestion, int32, int32)),
    replica_id=int32,
)
produce_requests = st.builds(
    ProduceRequest,
    partitions=st.dictionaries(partitions, st.none() | st.binary(max_size=40)),
    acks=st.sampled_from([-1, 0, 1]),
    timeout_ms=st.integers(0, 2**31 - 1),
    transactional_id=st.none() | st.text(max_size=20),
    topic_ids=st.just(TOPIC_IDS),
)
list_offsets_requests = st.builds(
    ListOffsetsRequest,
    partitions=st.dictionaries(partitions, st.builds(OffsetQuestion, int64, int32)),
    replica_id=int32,
    isolation_level=st.integers(0, 1),
    timeout_ms=st.integers(0, 2**31 - 1),
)
metadata_requests = st.builds(
    MetadataRequest, topics=st.none() | st.lists(st.sampled_from(sorted(TOPIC_IDS)), unique=True).map(tuple)
)
broker_registration_requests = st.builds(
    BrokerRegistrationRequest,
    broker_id=int32,
    cluster_id=st.text(max_size=30),
    incarnation_id=uuids,
    listeners=st.lists(
        st.builds(
            Listener,
            st.sampled_from(["PLAINTEXT", "INSIDE"]),
            st.text(max_size=20),
            uint16,
            st.sampled_from(SecurityProtocol),
        ),
        max_size=3,
    ).map(tuple),
    features=st.dictionaries(
        st.sampled_from(["metadata.version", "kraft.version", "group.version"]),
        st.builds(range, st.integers(0, 30), st.integers(31, 40)),
    ),
    rack=st.none() | st.text(max_size=10),
    is_migrating_zk_broker=st.booleans(),
    log_dirs=st.lists(uuids, max_size=3).map(tuple),
    previous_broker_epoch=int64,
)
broker_heartbeat_requests = st.builds(
    BrokerHeartbeatRequest,
    broker_id=int32,
    broker_epoch=int64,
    current_metadata_offset=int64,
    want_fence=st.booleans(),
    want_shut_down=st.booleans(),
    offline_log_dirs=st.lists(uuids, max_size=3).map(tuple),
    cordoned_log_dirs=st.none() | st.lists(uuids, max_size=3).map(tuple),
)
alter_partition_requests = st.builds(
    AlterPartitionRequest,
    broker_id=int32,
    broker_epoch=int64,
    changes=st.lists(
        st.builds(
            IsrChange,
            st.sampled_from(sorted(TOPIC_IDS.values())),
            int32,
            int32,
            int32,
            st.lists(st.builds(InSyncReplica, int32, int64), max_size=3).map(tuple),
            st.integers(-128, 127),
        ),
        max_size=4,
    ).map(tuple),
)
assign_replicas_requests = st.builds(
    AssignReplicasToDirsRequest,
    broker_id=int32,
    broker_epoch=int64,
    replicas=st.lists(
        st.builds(PlacedReplica, st.sampled_from([UUID(int=8), UUID(int=9)]), uuids, int32), max_size=4
    ).map(tuple),
)
allocate_producer_ids_requests = st.builds(AllocateProducerIdsRequest, broker_id=int32, broker_epoch=int64)
fetch_snapshot_requests = st.builds(
    FetchSnapshotRequest,
    partition=partitions,
    snapshot_id=st.builds(SnapshotId, int64, int32),
    position=int64,
    max_bytes=int32,
    current_leader_epoch=int32,
    replica_id=int32,
    cluster_id=st.none() | st.text(max_size=30),
)
elect_leaders_requests = st.builds(
    ElectLeadersRequest,
    election_type=st.sampled_from([ElectionType.PREFERRED, ElectionType.UNCLEAN]),
    partitions=st.none() | st.lists(partitions, unique=True, max_size=5).map(tuple),
    timeout_ms=st.integers(0, 2**31 - 1),
)
api_versions_requests = st.builds(
    ApiVersionsRequest,
    client_software_name=st.text(max_size=30),
    client_software_version=st.text(max_size=10),
    cluster_id=st.none() | st.text(max_size=30),
    node_id=int32,
    asked_in=st.just(SERVED),
)
