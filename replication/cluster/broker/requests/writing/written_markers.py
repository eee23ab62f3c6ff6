"""Answers WriteTxnMarkers: the ends of transactions, as their coordinators ask (KIP-98, KIP-890)."""

import time
from typing import Final

from logstore import TopicPartition
from logstore.append.encoding import encode_end_transaction
from logstore.batch.control import ControlType, EndTransactionMarker
from logstore.clock import now_ms
from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.cluster.broker.requests.writing.append_refusal import APPEND_ERRORS, append_error
from replication.cluster.broker.requests.writing.awaited_append import AwaitedAppend
from replication.cluster.broker.requests.writing.pending_outcomes import PendingOutcomes
from replication.wire.error_code import ErrorCode
from replication.wire.messages.write_txn_markers import (
    TransactionMarker,
    WriteTxnMarkersRequest,
    WrittenTxnMarkers,
)
from replication.wire.server.call import Call

TIMEOUT_SECONDS: Final = 30.0
"""How long the replicas in sync may take to have the markers (Kafka: request.timeout.ms)."""
_LAST_VERSION: Final = 2
_NEEDED: Final = (Operation.ALTER, Operation.CLUSTER_ACTION)
"""One of these."""


class WrittenMarkers:
    """Appends markers to what is led here (Kafka: KafkaApis.handleWriteTxnMarkersRequest)."""

    def __init__(self, lookup: PartitionLookup, permissions: PermissionsOf = unlimited) -> None:
        """Look the partitions up here, for whoever may act for the cluster, or change it."""
        self._lookup = lookup
        self._permissions = permissions

    def answer(self, request: WriteTxnMarkersRequest, call: Call) -> WrittenTxnMarkers | PendingOutcomes:
        """Append all; return the answer, or what waits for the replicas."""
        permissions = self._permissions(call.caller)
        if not any(permissions.may(each, ResourceType.CLUSTER) for each in _NEEDED):
            return _denied(request)
        work = _MarkerWork(self._lookup)
        for marker in request.markers:
            for partition in marker.partitions:
                work.append(marker, partition)
        if not work.awaited:
            return work.response()
        pending = PendingOutcomes(work, self._lookup, work.awaited, time.monotonic() + TIMEOUT_SECONDS)
        return pending.answer() or pending


class _MarkerWork:
    """One request's markers."""

    def __init__(self, lookup: PartitionLookup) -> None:
        self.awaited: list[AwaitedAppend] = []
        self._lookup = lookup
        self._results: dict[int, dict[TopicPartition, ErrorCode]] = {}

    def append(self, marker: TransactionMarker, partition: TopicPartition) -> None:
        """Append a marker to one partition."""
        results = self._results.setdefault(marker.producer_id, {})
        hosted = self._lookup.copy(partition)
        if hosted is None or hosted.led is None:
            # Whoever has a copy and does not lead says so; all else is unknown to a coordinator.
            is_here = hosted is not None
            results[partition] = ErrorCode.NOT_LEADER_OR_FOLLOWER if is_here else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return
        try:
            info = hosted.guards.append_marker(
                hosted.led,
                _encoded(marker),
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                transaction_version=min(max(0, marker.transaction_version), _LAST_VERSION),
            )
        except (*APPEND_ERRORS, ValueError) as error:  # no producer has such an id or epoch
            results[partition] = append_error(error)
            return
        results[partition] = ErrorCode.NONE
        self.awaited.append(AwaitedAppend(marker.producer_id, partition, hosted, hosted.led, info.last_offset + 1))

    def settle(self, awaited: AwaitedAppend, error: ErrorCode) -> None:
        """Note the result of a marker that was waited for."""
        if error is not ErrorCode.NONE:
            self._results[awaited.key][awaited.partition] = error

    def response(self) -> WrittenTxnMarkers:
        """Return the answer as it is by now."""
        return WrittenTxnMarkers(results=self._results)


def _denied(request: WriteTxnMarkersRequest) -> WrittenTxnMarkers:
    results: dict[int, dict[TopicPartition, ErrorCode]] = {}
    for marker in request.markers:
        denied = dict.fromkeys(marker.partitions, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        results.setdefault(marker.producer_id, {}).update(denied)
    return WrittenTxnMarkers(results=results)


def _encoded(marker: TransactionMarker) -> bytearray:
    kind = ControlType.COMMIT if marker.is_commit else ControlType.ABORT
    end = EndTransactionMarker(kind, 0, marker.coordinator_epoch)
    return encode_end_transaction(end, marker.producer_id, marker.producer_epoch, now_ms())
