"""The nodes' JSON is Kafka's, and what is not is told by its path."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.errors import MalformedNodeError
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.store import nodes
from replication.records.metadata.partition import LeaderRecoveryState
from replication.wire.messages.broker_registration import Listener, SecurityProtocol

ids = st.integers(0, 2**31 - 1)
id_lists = st.lists(ids, unique=True, max_size=5).map(tuple)
states = st.builds(LeaderAndIsr, ids | st.just(-1), id_lists, ids, ids, st.sampled_from(LeaderRecoveryState), ids)
partitions = st.builds(TopicPartition, st.text(min_size=1), ids)

FIELDS = ("partitions", "leader", "isr", "leader_epoch", "controller_epoch", "brokerid", "config")
ALL_FIELDS = (
    *FIELDS,
    "topic",
    "partition",
    "replicas",
    "adding_replicas",
    "removing_replicas",
    "leader_recovery_state",
    "0",
)
READERS: dict[str, Callable[[str, bytes], Any]] = {
    "state": lambda path, data: nodes.decode_state(path, data, 0),
    "assignments": nodes.decode_assignments,
    "partitions": nodes.decode_partitions,
    "reassignments": nodes.decode_reassignments,
    "controller": nodes.decode_controller,
    "config": nodes.decode_config,
}


def test_a_state_is_as_kafka_writes_it() -> None:
    state = LeaderAndIsr(2, (1, 2), leader_epoch=11, controller_epoch=253, version=7)
    assert json.loads(nodes.encode_state(state)) == {
        "controller_epoch": 253,
        "leader": 2,
        "version": 1,
        "leader_epoch": 11,
        "isr": [1, 2],
    }


def test_replicas_are_as_kafka_writes_them() -> None:
    assert json.loads(nodes.encode_assignments({0: ReplicaAssignment((2, 1, 3))})) == {
        "version": 2,
        "partitions": {"0": [2, 1, 3]},
        "adding_replicas": {},
        "removing_replicas": {},
    }


def test_replicas_of_version_1_are_read() -> None:
    data = b'{"version":1,"partitions":{"0":[2,1]}}'
    assert nodes.decode_assignments("/t", data) == {0: ReplicaAssignment((2, 1))}


@given(states)
def test_a_state_is_read_as_written(state: LeaderAndIsr) -> None:
    assert nodes.decode_state("/t", nodes.encode_state(state), state.version) == state


@given(st.dictionaries(ids, st.builds(ReplicaAssignment, id_lists, id_lists, id_lists)))
def test_replicas_are_read_as_written(assignments: dict[int, ReplicaAssignment]) -> None:
    assert nodes.decode_assignments("/t", nodes.encode_assignments(assignments)) == assignments


@given(st.lists(partitions), st.dictionaries(partitions, id_lists))
def test_requests_are_read_as_written(
    asked: list[TopicPartition], targets: dict[TopicPartition, tuple[int, ...]]
) -> None:
    assert nodes.decode_partitions("/t", nodes.encode_partitions(asked)) == asked
    assert nodes.decode_reassignments("/t", nodes.encode_reassignments(targets)) == targets


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("data", [b"", b"no json", b"[]", b"\xff"])
def test_what_is_no_object_is_told_with_its_path(reader: Callable[[str, bytes], Any], data: bytes) -> None:
    with pytest.raises(MalformedNodeError, match=r"/some/node: not (a )?JSON"):
        reader("/some/node", data)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.just(10**400) | st.text()
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(ALL_FIELDS), inner, max_size=4),
)


@given(st.dictionaries(st.sampled_from(ALL_FIELDS), anything))
def test_an_object_with_other_fields_raises_nothing_else(fields: dict[str, Any]) -> None:
    for reader in READERS.values():
        with suppress(MalformedNodeError):
            reader("/some/node", json.dumps(fields).encode())


WRONG_NUMBERS = ("1e999", "-1e999", "NaN", "1.5", "true", '"1"', "2147483648", "9" * 5_000, "null", "[]")
NUMBERED = {
    "state": b'{"leader":%s,"isr":[1],"leader_epoch":0,"controller_epoch":0}',
    "assignments": b'{"partitions":{"0":[%s]}}',
    "partitions": b'{"partitions":[{"topic":"a","partition":%s}]}',
    "reassignments": b'{"partitions":[{"topic":"a","partition":0,"replicas":[%s]}]}',
    "controller": b'{"brokerid":%s}',
}


@pytest.mark.parametrize("name", NUMBERED)
@pytest.mark.parametrize("number", WRONG_NUMBERS, ids=lambda number: number[:12])
def test_a_number_that_kafka_does_not_write_is_told_with_its_path(name: str, number: str) -> None:
    assert READERS[name]("/some/node", NUMBERED[name] % b"7")
    with pytest.raises(MalformedNodeError, match="/some/node: not ") as refused:
        READERS[name]("/some/node", NUMBERED[name] % number.encode())
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("number", ["9" * 5_000, "1.0", "", "-", "2147483648"], ids=lambda number: number[:12])
def test_a_partition_without_a_number_is_told_with_its_path(number: str) -> None:
    with pytest.raises(MalformedNodeError, match="/some/node: not a topic's replicas"):
        nodes.decode_assignments("/some/node", json.dumps({"partitions": {number: [1]}}).encode())


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"config":', b"}")], ids=["lists", "objects"])
def test_what_is_nested_too_deeply_is_told_with_its_path(
    reader: Callable[[str, bytes], Any], opening: bytes, closing: bytes
) -> None:
    with pytest.raises(MalformedNodeError, match="/some/node: not "):
        reader("/some/node", opening * 100_000 + b"1" + closing * 100_000)


def test_a_registration_is_read_as_kafka_writes_it() -> None:
    data = (
        b'{"features":{},"listener_security_protocol_map":{"INSIDE":"PLAINTEXT","OUT":"SASL_SSL"},'
        b'"endpoints":["INSIDE://broker-1:9092","OUT://[2001:db8::1]:9093"],"jmx_port":-1,"port":9092,'
        b'"host":"broker-1","version":5,"timestamp":"1","rack":"r1"}'
    )
    assert nodes.decode_broker("/brokers/ids/1", data, 77) == RegisteredBroker(
        77,
        (
            Listener("INSIDE", "broker-1", 9092, SecurityProtocol.PLAINTEXT),
            Listener("OUT", "2001:db8::1", 9093, SecurityProtocol.SASL_SSL),
        ),
        "r1",
    )


def test_a_registration_is_read_as_it_was_written() -> None:
    written = RegisteredBroker(
        5, (Listener("PLAINTEXT", "host", 1), Listener("SSL", "::1", 2, SecurityProtocol.SSL)), None
    )
    assert nodes.decode_broker("/b", nodes.encode_broker(written, 17), 5) == written
    assert json.loads(nodes.encode_broker(written, 17))["timestamp"] == "17"


@pytest.mark.parametrize("data", [b"[]", b'{"endpoints":["host:1"]}', b'{"endpoints":["X://h:1"]}', b'{"endpoints":7}'])
def test_what_is_no_registration(data: bytes) -> None:
    with pytest.raises(MalformedNodeError, match="/b"):
        nodes.decode_broker("/b", data, 0)


def test_what_else_a_topics_node_has_is_kept_when_its_replicas_are_written() -> None:
    topic_id = UUID(int=2**127 + 9)
    before = {**json.loads(nodes.encode_assignments({0: ReplicaAssignment((1,))}, topic_id)), "later": [1]}
    after = nodes.changed_assignments("/t", json.dumps(before).encode(), {0: ReplicaAssignment((1, 2), (2,), ())})
    assert nodes.decode_topic_id("/t", after) == topic_id
    assert nodes.decode_assignments("/t", after) == {0: ReplicaAssignment((1, 2), (2,))}
    assert json.loads(after)["later"] == [1]
    assert json.loads(after)["version"] == 3


def test_a_topic_of_version_1_gets_the_one_that_has_reassignments() -> None:
    before = b'{"version":1,"partitions":{"0":[1]}}'
    after = nodes.changed_assignments("/t", before, {0: ReplicaAssignment((1, 2), (2,))})
    assert json.loads(after) == {
        "version": 2,
        "partitions": {"0": [1, 2]},
        "adding_replicas": {"0": [2]},
        "removing_replicas": {},
    }
    assert nodes.decode_topic_id("/t", after) is None


@pytest.mark.parametrize("data", [b'{"topic_id":7}', b'{"topic_id":"short"}', b"{"])
def test_what_is_no_topic_id(data: bytes) -> None:
    with pytest.raises(MalformedNodeError, match="/t"):
        nodes.decode_topic_id("/t", data)


def test_the_last_producer_id_is_read_as_it_was_written() -> None:
    assert nodes.decode_producer_ids("/p", nodes.encode_producer_ids(3, 5_000, 1_000)) == 5_999
    with pytest.raises(MalformedNodeError, match="/p"):
        nodes.decode_producer_ids("/p", b"{}")
