"""The requests that are put to a real broker and to ours, by name, in the order in which they are asked."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from replication.wire.encoding.kio_messages import request_class, request_classes

CREATE, DELETE, ENLARGE, ALTER, REPLACE, ELECT, REASSIGN, REASSIGNING = 19, 20, 37, 44, 33, 43, 45, 46
TOPIC, BROKER, GROUP = 2, 4, 32
SET, UNSET, APPEND, SUBTRACT = range(4)
ABSENT = 9
"""A broker that nobody has registered."""
NO_ID = UUID(int=0)
TIMEOUT = timedelta(seconds=30)


def asked(key: int, version: int, **fields: Any) -> Any:
    """A request of kio's, of those fields that the version has."""
    return request_class(key, version)(**_known(request_class(key, version), {"timeout": TIMEOUT, **fields}))


def part(key: int, version: int, kind: str, **fields: Any) -> Any:
    """A part of a request, of those fields that the version has."""
    found = getattr(request_classes(key, version), kind)
    return found(**_known(found, fields))


def _known(kind: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in kind.__dataclass_fields__ if name in fields}


def topic(
    name: str,
    partitions: int = 1,
    factor: int = 1,
    *,
    assignments: Mapping[int, tuple[int, ...]] | None = None,
    version: int = 7,
    **configs: str | None,
) -> Any:
    """A topic to create; in the names of settings dots are underscores."""
    return part(
        CREATE,
        version,
        "CreatableTopic",
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=tuple(
            part(CREATE, version, "CreatableReplicaAssignment", partition_index=number, broker_ids=replicas)
            for number, replicas in (assignments or {}).items()
        ),
        configs=tuple(
            part(CREATE, version, "CreatableTopicConfig", name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ),
    )


def valued(setting: str, value: str) -> Any:
    """A topic to create with one setting."""
    configs: dict[str, Any] = {setting.replace(".", "_"): value}
    return topic("valued", **configs)


def create(*topics: Any, version: int = 7, validate_only: bool = False) -> Any:
    """CreateTopics."""
    return asked(CREATE, version, topics=topics, validate_only=validate_only)


def delete(*topics: str | UUID | tuple[str | None, UUID], version: int = 6) -> Any:
    """DeleteTopics, by name, by id, or by both."""
    pairs = [
        each if isinstance(each, tuple) else (None, each) if isinstance(each, UUID) else (each, NO_ID)
        for each in topics
    ]
    if version < 6:
        return asked(DELETE, version, topic_names=tuple(name for name, _ in pairs))
    states = (part(DELETE, version, "DeleteTopicState", name=name, topic_id=id_) for name, id_ in pairs)
    return asked(DELETE, version, topics=tuple(states))


def more(name: str, count: int, *assignments: tuple[int, ...], version: int = 3) -> Any:
    """A topic to enlarge."""
    given = tuple(part(ENLARGE, version, "CreatePartitionsAssignment", broker_ids=each) for each in assignments)
    return part(ENLARGE, version, "CreatePartitionsTopic", name=name, count=count, assignments=given or None)


def enlarge(*topics: Any, version: int = 3, validate_only: bool = False) -> Any:
    """CreatePartitions."""
    return asked(ENLARGE, version, topics=topics, validate_only=validate_only)


def change(name: str, operation: int, value: str | None = None) -> Any:
    """What becomes of one setting."""
    return part(ALTER, 1, "AlterableConfig", name=name, config_operation=operation, value=value)


def resource(kind: int, name: str, *changes: Any) -> Any:
    """Whose settings change."""
    return part(ALTER, 1, "AlterConfigsResource", resource_type=kind, resource_name=name, configs=changes)


def alter(*resources: Any, validate_only: bool = False) -> Any:
    """IncrementalAlterConfigs."""
    return asked(ALTER, 1, resources=resources, validate_only=validate_only)


def replaced(kind: int, name: str, **configs: str | None) -> Any:
    """All that is set for a resource; in the names of settings dots are underscores."""
    values = tuple(
        part(REPLACE, 2, "AlterableConfig", name=key.replace("_", "."), value=value) for key, value in configs.items()
    )
    return part(REPLACE, 2, "AlterConfigsResource", resource_type=kind, resource_name=name, configs=values)


def replace(*resources: Any, validate_only: bool = False) -> Any:
    """AlterConfigs."""
    return asked(REPLACE, 2, resources=resources, validate_only=validate_only)


def elect(kind: int, partitions: Mapping[str, tuple[int, ...]] | None, version: int = 2) -> Any:
    """ElectLeaders."""
    topics = (
        None
        if partitions is None
        else tuple(
            part(ELECT, version, "TopicPartitions", topic=name, partitions=numbers)
            for name, numbers in partitions.items()
        )
    )
    return asked(ELECT, version, election_type=kind, topic_partitions=topics)


def reassign(
    partitions: Mapping[tuple[str, int], tuple[int, ...] | None], *, version: int = 1, another_factor: bool = True
) -> Any:
    """AlterPartitionReassignments."""
    by_topic: dict[str, list[Any]] = {}
    for (name, number), replicas in partitions.items():
        moved = part(REASSIGN, version, "ReassignablePartition", partition_index=number, replicas=replicas)
        by_topic.setdefault(name, []).append(moved)
    topics = tuple(
        part(REASSIGN, version, "ReassignableTopic", name=name, partitions=tuple(moved))
        for name, moved in by_topic.items()
    )
    return asked(REASSIGN, version, allow_replication_factor_change=another_factor, topics=topics)


def reassigning(partitions: Mapping[str, tuple[int, ...]] | None) -> Any:
    """ListPartitionReassignments."""
    topics = (
        None
        if partitions is None
        else tuple(
            part(REASSIGNING, 0, "ListPartitionReassignmentsTopics", name=name, partition_indexes=numbers)
            for name, numbers in partitions.items()
        )
    )
    return asked(REASSIGNING, 0, topics=topics)


def requests(id_of: Callable[[str], UUID]) -> Iterator[tuple[str, Any]]:
    """All of them, by name; `id_of` gives the id of a topic."""
    yield from _creations()
    yield from _enlargements()
    yield from _changes()
    yield from _replacements()
    yield from _of_leaders()
    yield from _deletions(id_of("by-id"))


def _creations() -> Iterator[tuple[str, Any]]:
    yield "made", create(topic("made", 3, retention_ms="5", cleanup_policy="compact,delete"))
    yield "made with defaults", create(topic("defaults", -1, -1))
    for version in range(2, 7):
        yield f"made in {version}", create(topic(f"in-{version}", version=version), version=version)
    yield "only validated", create(topic("validated", 2), validate_only=True)
    yield "assigned", create(topic("assigned", -1, -1, assignments={0: (1,), 1: (1,)}))
    yield "there already", create(topic("made"))
    yield "named twice", create(topic("twice"), topic("twice"), topic("once"))
    for name in ("", ".", "a b", "x" * 250, "__cluster_metadata", "in.2", "in_2"):
        yield f"name {name:.9}", create(topic(name))
    for partitions, factor in ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 2), (10_001, 1)):
        yield f"{partitions} partitions {factor} times", create(topic("counts", partitions, factor))
    yield "too many", create(topic("many", 6_000), topic("more", 6_000))
    wrong: tuple[dict[int, tuple[int, ...]], ...] = (
        {0: ()},
        {0: (ABSENT,)},
        {0: (1, 1)},
        {1: (1,)},
        {0: (1,), 1: (1, ABSENT)},
    )
    for assignments in wrong:
        yield f"assigned {assignments}", create(topic("wrong", -1, -1, assignments=assignments))
    yield "assigned and counted", create(topic("wrong", 2, -1, assignments={0: (1,)}))
    yield "assigned and replicated", create(topic("wrong", -1, 1, assignments={0: (1,)}))
    yield "set to nothing", create(topic("wrong", retention_ms=None, segment_ms=None))
    yield "set to an unknown", create(topic("wrong", no_such="1"))
    for name, values in VALUES.items():
        for value in values:
            yield f"{name}={value}", create(valued(name, value), validate_only=True)
    yield "lags that conflict", create(topic("lags", min_compaction_lag_ms="5", max_compaction_lag_ms="4"))
    yield "by-id", create(topic("by-id"))


VALUES: Mapping[str, tuple[str, ...]] = {
    "cleanup.policy": ("compact", " compact , delete ", "", "none", "compact,none"),
    "compression.gzip.level": ("-1", "9", "0", "10"),
    "compression.lz4.level": ("1", "18"),
    "compression.type": ("zstd", " zstd", "none"),
    "compression.zstd.level": ("-131072", "23"),
    "delete.retention.ms": ("0", "-1"),
    "flush.messages": ("1", "0"),
    "follower.replication.throttled.replicas": ("*", "0:1,1:1", "0"),
    "index.interval.bytes": ("0", "-1"),
    "leader.replication.throttled.replicas": ("", "0:1:2", "*,*"),
    "local.retention.ms": ("-2", "-3"),
    "max.compaction.lag.ms": ("1", "0"),
    "max.message.bytes": ("0", "2147483648"),
    "message.timestamp.type": ("LogAppendTime", "logappendtime"),
    "min.cleanable.dirty.ratio": ("1", "1.5", "-1", "x", ".5"),
    "min.insync.replicas": ("2", " 2 ", "0", "-1", ""),
    "preallocate": ("TRUE", "yes"),
    "remote.storage.enable": ("false", "true"),
    "retention.bytes": ("-5", "1e3"),
    "retention.ms": ("+5", "-2", "9223372036854775808", "abc"),
    "segment.bytes": ("1048576", "1048575"),
    "segment.index.bytes": ("4", "3"),
    "segment.ms": ("1", "0"),
    "unclean.leader.election.enable": ("true", "1"),
}


def _enlargements() -> Iterator[tuple[str, Any]]:
    yield "enlarged", enlarge(more("made", 5))
    yield "enlarged in 0", enlarge(more("made", 6, version=0), version=0)
    yield "enlarged and assigned", enlarge(more("made", 7, (1,)))
    yield "only validated to be enlarged", enlarge(more("made", 9), validate_only=True)
    yield "as large", enlarge(more("made", 7))
    yield "smaller", enlarge(more("made", 2))
    yield "none to enlarge", enlarge(more("unknown", 2))
    yield "enlarged twice", enlarge(more("made", 8), more("made", 9), more("assigned", 3))
    yield "other assignments than partitions", enlarge(more("made", 9, (1,)))
    yield "assigned to an absent one", enlarge(more("made", 8, (ABSENT,)))
    yield "assigned to more", enlarge(more("made", 8, (1, 1)))


def _changes() -> Iterator[tuple[str, Any]]:
    yield "set", alter(resource(TOPIC, "made", change("retention.ms", SET, "7"), change("segment.ms", SET, "8")))
    yield "set in vain", alter(resource(TOPIC, "made", change("retention.ms", SET, "7")))
    yield (
        "set, wrongly",
        alter(resource(TOPIC, "made", change("retention.ms", SET, "x"), change("segment.ms", SET, "9"))),
    )
    yield "set, unknown", alter(resource(TOPIC, "made", change("no.such", SET, "x")))
    yield (
        "only validated to be set",
        alter(resource(TOPIC, "made", change("retention.ms", SET, "99")), validate_only=True),
    )
    yield "deleted", alter(resource(TOPIC, "made", change("segment.ms", UNSET)))
    yield "deleted, unknown", alter(resource(TOPIC, "made", change("no.such", UNSET)))
    yield "appended", alter(resource(TOPIC, "made", change("cleanup.policy", APPEND, "delete,compact")))
    yield "subtracted", alter(resource(TOPIC, "made", change("cleanup.policy", SUBTRACT, "delete")))
    yield "appended to the default", alter(resource(TOPIC, "assigned", change("cleanup.policy", APPEND, "compact")))
    yield "appended, wrongly", alter(resource(TOPIC, "made", change("cleanup.policy", APPEND, "none")))
    yield "appended to no list", alter(resource(TOPIC, "made", change("retention.ms", APPEND, "5")))
    yield "subtracted from no list", alter(resource(TOPIC, "made", change("retention.ms", SUBTRACT, "5")))
    yield "set to null", alter(resource(TOPIC, "made", change("retention.ms", SET), change("segment.ms", APPEND)))
    yield (
        "set twice",
        alter(resource(TOPIC, "made", change("retention.ms", SET, "5"), change("retention.ms", SET, "6"))),
    )
    yield (
        "resource twice",
        alter(
            resource(TOPIC, "made", change("retention.ms", SET, "5")),
            resource(TOPIC, "made", change("segment.ms", SET, "5")),
        ),
    )
    yield "nothing", alter(resource(TOPIC, "made"))
    yield "conflicting lags", alter(resource(TOPIC, "made", change("max.compaction.lag.ms", SET, "5")))
    yield "conflicting lags, one by one", alter(resource(TOPIC, "made", change("min.compaction.lag.ms", SET, "6")))
    yield "in sync", alter(resource(TOPIC, "made", change("min.insync.replicas", SET, "2")))
    yield "unknown topic", alter(resource(TOPIC, "unknown", change("retention.ms", SET, "5")))
    yield "unknown topic, wrongly", alter(resource(TOPIC, "unknown", change("retention.ms", SET, "x")))
    yield "no name", alter(resource(TOPIC, "", change("retention.ms", SET, "5")))
    yield "no topic's name", alter(resource(TOPIC, "a b", change("retention.ms", SET, "5")))
    yield "unknown type", alter(resource(77, "made", change("retention.ms", SET, "5")))
    yield (
        "two at once",
        alter(
            resource(TOPIC, "made", change("retention.ms", SET, "6")),
            resource(TOPIC, "unknown", change("retention.ms", SET, "6")),
        ),
    )
    for name in ("1", ""):
        yield f"of brokers {name!r}", alter(resource(BROKER, name, change("log.retention.ms", SET, "5000")))
        yield f"of brokers {name!r} again", alter(resource(BROKER, name, change("log.retention.ms", SET, "5000")))
        yield f"of brokers {name!r}, wrongly", alter(resource(BROKER, name, change("log.segment.bytes", SET, "x")))
        yield f"of brokers {name!r}, too small", alter(resource(BROKER, name, change("log.segment.bytes", SET, "5")))
        yield (
            f"of brokers {name!r}, listed",
            alter(resource(BROKER, name, change("log.cleanup.policy", APPEND, "compact"))),
        )
        yield f"of brokers {name!r}, no list", alter(resource(BROKER, name, change("log.segment.bytes", APPEND, "5")))
        yield f"of brokers {name!r}, fixed", alter(resource(BROKER, name, change("num.partitions", SET, "5")))
        yield f"of brokers {name!r}, node", alter(resource(BROKER, name, change("node.id", SET, "5")))
        yield f"of brokers {name!r}, unknown", alter(resource(BROKER, name, change("no.such", SET, "5")))
        yield f"of brokers {name!r}, unknown list", alter(resource(BROKER, name, change("no.such", APPEND, "5")))
        yield f"of brokers {name!r}, in sync", alter(resource(BROKER, name, change("min.insync.replicas", SET, "1")))
        yield f"of brokers {name!r}, not in sync", alter(resource(BROKER, name, change("min.insync.replicas", UNSET)))
        yield f"of brokers {name!r}, forgotten", alter(resource(BROKER, name, change("log.retention.ms", UNSET)))
    for name in ("2", "x", "-1", "99999999999"):
        yield f"of broker {name}", alter(resource(BROKER, name, change("log.retention.ms", SET, "5000")))


def _replacements() -> Iterator[tuple[str, Any]]:
    yield "replaced", replace(replaced(TOPIC, "made", retention_ms="11"))
    yield "replaced by nothing", replace(replaced(TOPIC, "made"))
    yield "replaced, wrongly", replace(replaced(TOPIC, "made", retention_ms="x"))
    yield "replaced, unknown", replace(replaced(TOPIC, "made", no_such="x"))
    yield "replaced by null", replace(replaced(TOPIC, "made", retention_ms=None))
    yield "only validated to be replaced", replace(replaced(TOPIC, "made", retention_ms="12"), validate_only=True)
    yield "replaced of none", replace(replaced(TOPIC, "unknown", retention_ms="11"))
    yield "replaced of what", replace(replaced(77, "made", retention_ms="11"))
    yield "replaced of a broker", replace(replaced(BROKER, "1", log_retention_ms="11"))
    yield "replaced of all brokers, no longer in sync", replace(replaced(BROKER, "", log_retention_ms="11"))
    yield "replaced of another broker", replace(replaced(BROKER, "2", log_retention_ms="11"))
    yield "replaced of a broker, wrongly", replace(replaced(BROKER, "1", log_segment_bytes="x"))


def _of_leaders() -> Iterator[tuple[str, Any]]:
    for version in range(3):
        yield f"preferred in {version}", elect(0, {"made": (0, 1), "unknown": (0,)}, version)
    yield "unclean", elect(1, {"made": (0,)})
    yield "every preferred", elect(0, None)
    yield "every unclean", elect(1, None)
    yield "of no kind", elect(7, {"made": (0,)})
    yield "elected twice", elect(0, {"made": (0, 0)})
    for version in range(2):
        yield f"moved in {version}", reassign({("made", 0): (1,)}, version=version)
    yield "moved to nobody", reassign({("made", 0): ()})
    yield "moved to an absent one", reassign({("made", 0): (ABSENT,), ("made", 1): (1,)})
    yield "moved to one twice", reassign({("made", 0): (1, 1)}, another_factor=False)
    yield "moved of none", reassign({("unknown", 0): (1,), ("made", 77): (1,)})
    yield "not moved back", reassign({("made", 0): None, ("unknown", 0): None})
    yield "moving", reassigning(None)
    yield "moving of some", reassigning({"made": (0, 77), "unknown": (0,)})


def _deletions(created: UUID) -> Iterator[tuple[str, Any]]:
    for version in range(1, 6):
        yield f"deleted in {version}", delete(f"in-{version + 1}", version=version)
    yield "gone", delete("in-2", version=5)
    yield "deleted by id", delete(created)
    yield "gone by id", delete(created)
    yield "deleted by name", delete("defaults")
    yield "deleted twice", delete("made", "made", "assigned")
    yield "deleted by null", delete((None, NO_ID))
    yield "deleted by both", delete(("made", UUID(int=5)))
    yield "id twice", delete(UUID(int=5), UUID(int=5))
    yield "no topic to delete", delete("a b")
