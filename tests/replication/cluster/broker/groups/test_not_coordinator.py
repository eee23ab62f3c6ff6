"""What a broker answers that coordinates no group: who asks is to look for the coordinator elsewhere."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import pytest

from logstore import TopicPartition
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.requests.group_apis import group_apis
from replication.records.coordinator_records.offset_commit import OffsetCommit
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import PartitionRecord, TopicRecord
from replication.wire.encoding.kio_messages import read, served_versions, write
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call, Caller
from tests.replication.cluster.broker.authorization.random_questions import kio_request
from tests.replication.cluster.broker.groups.steps import (
    COMMIT,
    DELETE,
    DELETE_OFFSETS,
    DESCRIBE,
    FETCH,
    HEARTBEAT,
    JOIN,
    LEAVE,
    LIST,
    OTHER_ID,
    SYNC,
    TOPIC,
)

GROUP: Final = "billing"
MEMBER: Final[dict[str, Any]] = {"group_id": GROUP, "member_id": "m", "group_instance_id": None, "generation_id": 1}
FOR_PARTITION: Final[dict[str, Any]] = {"name": TOPIC, "topic_id": OTHER_ID}
COMMITTED: Final = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": -1, "committed_metadata": ""}
LEAVING: Final = {"member_id": "m", "group_instance_id": None, "reason": None}
HALF_A_MINUTE: Final = timedelta(seconds=30)
PROTOCOL: Final[dict[str, Any]] = {"protocol_type": "consumer", "protocol_name": "range"}
ASKED: Final[dict[int, dict[str, Any]]] = {
    COMMIT: {
        **MEMBER,
        "generation_id_or_member_epoch": -1,
        "retention_time": HALF_A_MINUTE,
        "topics": [{**FOR_PARTITION, "partitions": [COMMITTED]}],
    },
    FETCH: {"require_stable": False},
    JOIN: {
        **MEMBER,
        **PROTOCOL,
        "session_timeout": HALF_A_MINUTE,
        "rebalance_timeout": HALF_A_MINUTE,
        "protocols": [{"name": "range", "metadata": b""}],
        "reason": None,
    },
    SYNC: {**MEMBER, **PROTOCOL, "assignments": []},
    HEARTBEAT: MEMBER,
    LEAVE: {**MEMBER, "members": [LEAVING]},
    DESCRIBE: {"groups": (GROUP,), "include_authorized_operations": True},
    DELETE: {"groups_names": (GROUP,)},
    DELETE_OFFSETS: {"group_id": GROUP, "topics": [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]},
    LIST: {"states_filter": (), "types_filter": ()},
}


def asked(key: int, version: int) -> dict[str, Any]:
    """What a client asks that takes this broker for the coordinator."""
    if key != FETCH:
        return ASKED[key]
    fetched = {"group_id": GROUP, "topics": [{**FOR_PARTITION, "partition_indexes": (0,)}]}
    of_groups = {"groups": [{**fetched, "member_id": None, "member_epoch": -1}]}
    return ASKED[FETCH] | (fetched if version < 8 else of_groups)


def every_version() -> Iterator[tuple[int, int]]:
    for key in ASKED:
        yield from ((key, version) for version in served_versions(key) or ())


def errors(answer: Any) -> set[ErrorCode]:
    """All error codes of an answer that say anything."""
    if isinstance(answer, tuple):
        return set().union(*map(errors, answer))
    fields = getattr(answer, "__dataclass_fields__", {})
    own = {ErrorCode(answer.error_code)} if "error_code" in fields else set()
    return own.union(*(errors(getattr(answer, name)) for name in fields)) - {ErrorCode.NONE}


@pytest.fixture
def coordinator() -> GroupCoordinator:
    return GroupCoordinator(coordinates=lambda group_id: group_id != GROUP)


def answered(coordinator: GroupCoordinator, key: int, version: int) -> Any:
    """Pass on what is asked, as it comes over a connection, and return the answer as it is sent."""
    image = ClusterImage()
    image.replay(TopicRecord(name=TOPIC, topic_id=OTHER_ID))
    replicas: dict[str, Any] = {"replicas": (1,), "isr": (1,), "leader": 1, "leader_epoch": 0, "partition_epoch": 0}
    image.replay(PartitionRecord(partition_id=0, topic_id=OTHER_ID, **replicas))
    apis = group_apis(coordinator, image=lambda: image, endpoint=lambda _, __: None)
    request = kio_request(key, version, asked(key, version))
    answer: Any = apis[key].answer(read(type(request), write(request)), Call(version, Caller("127.0.0.1")))
    return read(type(answer), write(answer))


@pytest.mark.parametrize(("key", "version"), [each for each in every_version() if each[0] != LIST])
def test_it_says_so_of_the_group_and_of_each_of_its_partitions(
    coordinator: GroupCoordinator, key: int, version: int
) -> None:
    assert errors(answered(coordinator, key, version)) == {ErrorCode.NOT_COORDINATOR}
    assert coordinator.groups() == []


@pytest.mark.parametrize("version", served_versions(LIST) or ())
def test_it_lists_no_group(coordinator: GroupCoordinator, version: int) -> None:
    for key, others in every_version():
        if key != LIST:
            answered(coordinator, key, others)
    answer = answered(coordinator, LIST, version)
    assert (answer.error_code, answer.groups) == (ErrorCode.NONE, ())


def test_a_group_that_is_its_own_is_as_ever(coordinator: GroupCoordinator) -> None:
    partition = TopicPartition(TOPIC, 0)
    assert coordinator.commit("own", {partition: OffsetCommit(offset=5)}) == {partition: ErrorCode.NONE}
    assert coordinator.committed("own")[partition].offset == 5
