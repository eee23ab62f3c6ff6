"""Requests of ours, as Hypothesis makes them."""

from uuid import UUID

from hypothesis import strategies as st

from logstore import TopicPartition
from replication.protocol.fetch import FetchPartition, FetchRequest
from replication.protocol.list_offsets import ListOffsetsRequest, OffsetQuestion
from replication.protocol.metadata import MetadataRequest
from replication.protocol.offset_for_leader_epoch import EpochQuestion, OffsetForLeaderEpochRequest

TOPIC_IDS = {name: UUID(int=number + 1) for number, name in enumerate(("orders", "payments", "a.b-c_d", "x" * 249))}

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
partitions = st.builds(TopicPartition, st.sampled_from(sorted(TOPIC_IDS)), st.integers(0, 2**31 - 1))


fetch_requests = st.builds(
    FetchRequest,
    partitions=st.dictionaries(partitions, st.builds(FetchPartition, int64, int32, int32, int32, int64)),
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
)
epoch_requests = st.builds(
    OffsetForLeaderEpochRequest,
    partitions=st.dictionaries(partitions, st.builds(EpochQuestion, int32, int32)),
    replica_id=int32,
)
list_offsets_requests = st.builds(
    ListOffsetsRequest,
    partitions=st.dictionaries(partitions, st.builds(OffsetQuestion, int64, int32)),
    replica_id=int32,
    isolation_level=st.integers(0, 1),
)
metadata_requests = st.builds(
    MetadataRequest, topics=st.none() | st.lists(st.sampled_from(sorted(TOPIC_IDS)), unique=True).map(tuple)
)
