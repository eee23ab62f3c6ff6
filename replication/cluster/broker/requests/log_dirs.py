"""Answers DescribeLogDirs: which partitions lie where, and how large they are (KIP-113, KIP-827)."""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

from logstore import TopicPartition
from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.partitions.future_replica import FutureReplica
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.wire.encoding.kio_messages import response_classes
from replication.wire.error_code import ErrorCode
from replication.wire.messages.by_topic import by_topic
from replication.wire.server.call import Call

API_KEY: Final = 35
VERSIONS: Final = range(1, 6)
_SINCE_ERROR: Final = 3
_SINCE_SPACE: Final = 4
_SINCE_CORDONED: Final = 5
_NO_SPACE: Final = {"total_bytes": -1, "usable_bytes": -1}
"""Kafka: UNKNOWN_VOLUME_BYTES."""


class RootStates(NamedTuple):
    """What sets some roots apart from others, by their paths."""

    offline: Collection[str] = ()
    """Their disks have failed."""
    cordoned: Collection[str] = ()
    """No new replicas are placed there (cordoned.log.dirs)."""


class LogDirs:
    """Describes the entries of log.dirs (Kafka: ReplicaManager.describeLogDirs)."""

    def __init__(
        self,
        partitions: HostedPartitions,
        roots: Sequence[str],
        permissions: PermissionsOf = unlimited,
        futures: Callable[[], Iterable[FutureReplica]] = tuple,
        states: Callable[[], RootStates] = RootStates,
    ) -> None:
        """Describe these roots, also those that hold nothing, and copies that are being made in them.

        `permissions` say who may describe the cluster, `states` which of the roots are not as they should be.
        """
        self._states = states
        self._futures = futures
        self._partitions = partitions
        self._roots = roots
        self._permissions = permissions

    def answer(self, request: Any, call: Call) -> Any:
        """Answer for the partitions that are asked about, or for all; in kio's terms."""
        classes = response_classes(API_KEY, call.version)
        if not self._permissions(call.caller).may(Operation.DESCRIBE, ResourceType.CLUSTER):
            return _answer(classes, call.version, (), ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        asked = None
        if request.topics is not None:
            asked = {TopicPartition(each.topic, index) for each in request.topics for index in each.partitions}
        by_root: dict[str, list[tuple[TopicPartition, _Described]]] = defaultdict(list)
        for partition, hosted in tuple(self._partitions.items()):
            if asked is None or partition in asked:
                by_root[hosted.root].append((partition, _described(hosted)))
        for future in self._futures():
            if asked is None or future.partition in asked:
                told = _Described(future.size, future.offset_lag, is_future=True)
                by_root[future.root].append((future.partition, told))
        roots, states = dict.fromkeys((*self._roots, *by_root)), self._states()
        results = tuple(_result(classes, root, by_root.get(root, ()), states, call.version) for root in roots)
        return _answer(classes, call.version, results)


def _answer(classes: Any, version: int, results: tuple[Any, ...], error: ErrorCode = ErrorCode.NONE) -> Any:
    told = {"error_code": error} if version >= _SINCE_ERROR else {}
    return classes.DescribeLogDirsResponse(throttle_time=timedelta(), results=results, **told)


class _Described(NamedTuple):
    """A log, or the copy of one."""

    size: int
    offset_lag: int
    is_future: bool


def _described(hosted: HostedPartition) -> _Described:
    log = hosted.log
    return _Described(log.size, max(0, log.high_watermark - log.log_end_offset), is_future=False)


def _result(
    classes: Any, root: str, held: Iterable[tuple[TopicPartition, _Described]], states: RootStates, version: int
) -> Any:
    is_offline = root in states.offline
    topics = tuple(
        classes.DescribeLogDirsTopic(name=topic, partitions=tuple(_partition(classes, *each) for each in entries))
        for topic, entries in by_topic(held).items()
    )
    more: dict[str, Any] = {}
    if version >= _SINCE_SPACE:
        more |= _NO_SPACE if is_offline else _space(root)
    if version >= _SINCE_CORDONED:
        more["is_cordoned"] = root in states.cordoned and not is_offline
    error = ErrorCode.KAFKA_STORAGE_ERROR if is_offline else ErrorCode.NONE
    return classes.DescribeLogDirsResult(error_code=error, log_dir=root, topics=() if is_offline else topics, **more)


def _partition(classes: Any, index: int, told: _Described) -> Any:
    return classes.DescribeLogDirsPartition(
        partition_index=index, partition_size=told.size, offset_lag=told.offset_lag, is_future_key=told.is_future
    )


def _space(root: str) -> dict[str, int]:
    """Return the size of the file system that holds a root; -1 where it does not report it."""
    try:
        space = os.statvfs(root)
    except OSError:
        return _NO_SPACE
    return {"total_bytes": space.f_frsize * space.f_blocks, "usable_bytes": space.f_frsize * space.f_bavail}
