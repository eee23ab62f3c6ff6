"""Where the nodes of a ZooKeeper-era cluster lie and what they hold: JSON as Kafka writes it (Kafka: ZkData)."""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.base.int32 import INT32, parse_int32
from replication.cluster.controller.classic.errors import MalformedNodeError
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.records.metadata.partition import LeaderRecoveryState
from replication.wire.messages.broker_registration import Listener, SecurityProtocol

CONTROLLER: Final = "/controller"
CONTROLLER_EPOCH: Final = "/controller_epoch"
BROKER_IDS: Final = "/brokers/ids"
TOPICS: Final = "/brokers/topics"
TOPIC_CONFIGS: Final = "/config/topics"
DELETE_TOPICS: Final = "/admin/delete_topics"
REASSIGN_PARTITIONS: Final = "/admin/reassign_partitions"
PREFERRED_ELECTION: Final = "/admin/preferred_replica_election"
ISR_CHANGES: Final = "/isr_change_notification"
ISR_CHANGE_PREFIX: Final = f"{ISR_CHANGES}/isr_change_"

PRODUCER_IDS: Final = "/latest_producer_id_block"
_ENDPOINT: Final = re.compile(r"([^:/]+)://(?:\[([^\]]*)\]|([^:]*)):(\d+)")
"""Such as PLAINTEXT://broker-1:9092."""

Assignments: TypeAlias = Mapping[int, ReplicaAssignment]
"""A topic's replicas by partition."""
_SINCE_REASSIGNMENTS: Final = 2
"""The first version of a topic's node that says which replicas come and go."""
_SINCE_TOPIC_IDS: Final = 3


def topic_path(topic: str) -> str:
    """Where the replicas of a topic's partitions stand."""
    return f"{TOPICS}/{topic}"


def state_path(partition: TopicPartition) -> str:
    """Where a partition's leader and ISR stand."""
    return f"{TOPICS}/{partition.topic}/partitions/{partition.partition}/state"


def encode_state(state: LeaderAndIsr) -> bytes:
    """Write a partition's leader and ISR."""
    fields: dict[str, Any] = {
        "controller_epoch": state.controller_epoch,
        "leader": state.leader,
        "version": 1,
        "leader_epoch": state.leader_epoch,
        "isr": state.isr,
    }
    if state.recovery_state is not LeaderRecoveryState.RECOVERED:
        fields["leader_recovery_state"] = int(state.recovery_state)
    return _encode(fields)


def decode_state(path: str, data: bytes, version: int) -> LeaderAndIsr:
    """Read a partition's leader and ISR; `version` is the node's. Raises MalformedNodeError."""
    fields = _decode(path, data)
    try:
        return LeaderAndIsr(
            leader=_int32(fields["leader"]),
            isr=_ids(fields["isr"]),
            leader_epoch=_int32(fields["leader_epoch"]),
            controller_epoch=_int32(fields["controller_epoch"]),
            recovery_state=LeaderRecoveryState(_int32(fields.get("leader_recovery_state", 0))),
            version=version,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedNodeError(path, f"not a partition's state: {error!r}") from error


def encode_assignments(assignments: Assignments, topic_id: UUID | None = None) -> bytes:
    """Write the replicas of a topic's partitions, and its id where it has one."""
    if topic_id is None:
        return _encode({"version": 2, **_assigned(assignments)})
    return _encode({"version": _SINCE_TOPIC_IDS, "topic_id": _in_base64(topic_id), **_assigned(assignments)})


def changed_assignments(path: str, data: bytes, assignments: Assignments) -> bytes:
    """Write other replicas into a topic's node; what else it has is kept, such as its id. Raises MalformedNodeError."""
    fields = _decode(path, data)
    version = fields.get("version")
    is_old = type(version) is not int or version < _SINCE_REASSIGNMENTS
    return _encode({**fields, "version": _SINCE_REASSIGNMENTS if is_old else version, **_assigned(assignments)})


def named_topic(path: str, data: bytes, topic_id: UUID) -> bytes:
    """Write an id into a topic's node; what else it has is kept. Raises MalformedNodeError."""
    return _encode({**_decode(path, data), "version": _SINCE_TOPIC_IDS, "topic_id": _in_base64(topic_id)})


def _in_base64(topic_id: UUID) -> str:
    return urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def _assigned(assignments: Assignments) -> dict[str, Any]:
    return {
        "partitions": {str(number): each.replicas for number, each in assignments.items()},
        "adding_replicas": {str(number): each.adding for number, each in assignments.items() if each.adding},
        "removing_replicas": {str(number): each.removing for number, each in assignments.items() if each.removing},
    }


def decode_topic_id(path: str, data: bytes) -> UUID | None:
    """Read a topic's id; None where it has none, as before Kafka 2.8. Raises MalformedNodeError."""
    named = _decode(path, data).get("topic_id")
    try:
        return None if named is None else UUID(bytes=urlsafe_b64decode(f"{named}=="))
    except (TypeError, ValueError) as error:
        raise MalformedNodeError(path, f"not a topic's id: {error!r}") from error


def decode_assignments(path: str, data: bytes) -> dict[int, ReplicaAssignment]:
    """Read the replicas of a topic's partitions, of version 1 too. Raises MalformedNodeError."""
    fields = _decode(path, data)
    adding, removing = fields.get("adding_replicas", {}), fields.get("removing_replicas", {})
    try:
        return {
            _numbered(number): ReplicaAssignment(
                _ids(replicas), _ids(adding.get(number, ())), _ids(removing.get(number, ()))
            )
            for number, replicas in fields["partitions"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedNodeError(path, f"not a topic's replicas: {error!r}") from error


def encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    """Write a list of partitions, as a preferred election and an ISR change name them."""
    return _encode({"version": 1, "partitions": [each._asdict() for each in partitions]})


def decode_partitions(path: str, data: bytes) -> list[TopicPartition]:
    """Read a list of partitions. Raises MalformedNodeError."""
    fields = _decode(path, data)
    try:
        return [_partition(each) for each in fields["partitions"]]
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedNodeError(path, f"not a list of partitions: {error!r}") from error


def encode_reassignments(targets: Mapping[TopicPartition, Iterable[int]]) -> bytes:
    """Write where partitions are to move."""
    wanted = [{**each._asdict(), "replicas": [*replicas]} for each, replicas in targets.items()]
    return _encode({"version": 1, "partitions": wanted})


def decode_reassignments(path: str, data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
    """Read where partitions are to move. Raises MalformedNodeError."""
    fields = _decode(path, data)
    try:
        return {_partition(each): _ids(each["replicas"]) for each in fields["partitions"]}
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedNodeError(path, f"not a list of reassignments: {error!r}") from error


def encode_controller(broker_id: int) -> bytes:
    """Write who the controller is."""
    return _encode({"version": 1, "brokerid": broker_id})


def decode_controller(path: str, data: bytes) -> int:
    """Read who the controller is. Raises MalformedNodeError."""
    fields = _decode(path, data)
    try:
        return _int32(fields["brokerid"])
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedNodeError(path, f"not a controller's registration: {error!r}") from error


def encode_config(config: Mapping[str, str]) -> bytes:
    """Write a topic's settings."""
    return _encode({"version": 1, "config": dict(config)})


def decode_config(path: str, data: bytes) -> dict[str, str]:
    """Read a topic's settings. Raises MalformedNodeError."""
    config = _decode(path, data).get("config", {})
    if not isinstance(config, dict) or not all(isinstance(value, str) for value in config.values()):
        raise MalformedNodeError(path, "not a topic's settings, which are texts")
    return config


def encode_broker(broker: RegisteredBroker, timestamp: int) -> bytes:
    """Write a broker's registration; the time is in milliseconds since 1970 UTC."""
    first = broker.listeners[0]
    return _encode(
        {
            "listener_security_protocol_map": {each.name: each.security_protocol.name for each in broker.listeners},
            "endpoints": [f"{each.name}://{_in_url(each.host)}:{each.port}" for each in broker.listeners],
            "rack": broker.rack,
            "jmx_port": -1,
            "features": {},
            "host": first.host,
            "timestamp": str(timestamp),
            "port": first.port,
            "version": 5,
        }
    )


def decode_broker(path: str, data: bytes, epoch: int) -> RegisteredBroker:
    """Read a broker's registration, of which `epoch` is the transaction. Raises MalformedNodeError."""
    fields = _decode(path, data)
    try:
        protocols = fields.get("listener_security_protocol_map", {})
        listeners = tuple(_listener(each, protocols) for each in fields.get("endpoints", ()))
        return RegisteredBroker(epoch, listeners, fields.get("rack"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise MalformedNodeError(path, f"not a broker's registration: {error!r}") from error


def encode_producer_ids(broker_id: int, first: int, count: int) -> bytes:
    """Write which ids were given to a broker last, for its producers."""
    block = {"block_start": str(first), "block_end": str(first + count - 1)}
    return _encode({"version": 1, "broker": broker_id, **block})


def decode_producer_ids(path: str, data: bytes) -> int:
    """Return the last id that was given to any broker. Raises MalformedNodeError."""
    fields = _decode(path, data)
    try:
        return int(fields["block_end"])
    except (KeyError, TypeError, ValueError) as error:
        raise MalformedNodeError(path, f"not a block of producer ids: {error!r}") from error


def _listener(endpoint: str, protocols: Mapping[str, str]) -> Listener:
    match = _ENDPOINT.fullmatch(endpoint)
    if match is None:
        raise ValueError(f"{endpoint!r:.80} is not an endpoint")
    name, bracketed, plain, port = match.groups()
    return Listener(name, bracketed or plain, int(port), SecurityProtocol[protocols.get(name, name)])


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _encode(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _decode(path: str, data: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedNodeError(path, f"not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise MalformedNodeError(path, "not a JSON object")
    return fields


def _partition(fields: Mapping[str, Any]) -> TopicPartition:
    topic = fields["topic"]
    if not isinstance(topic, str):
        raise TypeError(f"the name of a topic is {topic!r:.60}")
    return TopicPartition(topic, _int32(fields["partition"]))


def _ids(values: Iterable[Any]) -> tuple[int, ...]:
    return tuple(map(_int32, values))


def _int32(value: object) -> int:
    """Return a number as Kafka writes it; what Python could make one of, such as 1e999 or true, is none."""
    if type(value) is not int or value not in INT32:
        raise TypeError(f"{value!r:.60} is not an int32")
    return value


def _numbered(name: str) -> int:
    number = parse_int32(name)
    if number is None:
        raise ValueError(f"{name!r:.60} is not the number of a partition")
    return number
