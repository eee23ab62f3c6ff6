"""Reads replicas from one broker: the thin shell around `RangeFetch`, with a connection, a clock and a pace."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Event
from typing import Final, TypeVar
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.base.errors import ReplicationError
from replication.cluster.network_audit.errors import ReplicaMovedError, ReplicaUnreadError, ThrottledError
from replication.cluster.network_audit.pace import Pace
from replication.cluster.network_audit.range_fetch import MAX_BYTES, MOVED, FetchedPiece, RangeFetch
from replication.cluster.network_audit.replica_bounds import SeenEnds
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.errors import ConnectionClosedError, MalformedResponseError, UnsupportedVersionError
from replication.wire.messages.fetch import API_KEY as FETCH
from replication.wire.messages.fetch import VERSIONS as FETCH_VERSIONS
from replication.wire.messages.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    ListedOffset,
    ListOffsetsRequest,
    OffsetQuestion,
)
from replication.wire.messages.replica_id import DEBUGGER
from replication.wire.messages.request import Request

AnswerT = TypeVar("AnswerT")

SMALLEST_FETCH: Final = 64 << 10
FROM_FOLLOWERS: Final = 11
"""The first version of Fetch that followers answer to consumers (Kafka 2.4)."""


class BrokerReader:
    """Reads from one broker, one request at a time; once it cannot be reached, that holds until `forget_failure`."""

    def __init__(self, name: str, connect: Callable[[], Connection], bytes_per_second: int | None = None) -> None:
        """Read from the broker `name`, which `connect` reaches, no faster than `bytes_per_second`."""
        self.name = name
        self._connect = connect
        self._pace = Pace(bytes_per_second)
        self._max_bytes = min(MAX_BYTES, max(SMALLEST_FETCH, bytes_per_second or MAX_BYTES))
        self._failure: str | None = None
        self._ended = Event()

    def end(self) -> None:
        """End what is read, and waited for, in another thread."""
        self._ended.set()

    def forget_failure(self) -> None:
        """Try again to reach a broker that could not be reached."""
        self._failure = None

    def ends(self, partition: TopicPartition, leader_epoch: int, topic_id: UUID | None) -> SeenEnds:
        """Ask where a replica starts, and how far consumers may read it.

        Raises ReplicaMovedError and ReplicaUnreadError.
        """
        start = self._start(partition)
        # The first batch comes along, whatever its size, and does not count.
        probe = RangeFetch(partition, start, start, leader_epoch, topic_id, max_bytes=1)
        while probe.high_watermark < 0:
            for _ in self.fetch_once(probe):
                pass
        return SeenEnds(start, probe.high_watermark)

    def read(self, fetch: RangeFetch) -> Iterator[FetchedPiece]:
        """Fetch a range. Raises ReplicaMovedError and ReplicaUnreadError."""
        fetch.max_bytes = self._max_bytes
        while not fetch.is_done:
            yield from self.fetch_once(fetch)

    def led_ends(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, SeenEnds]:
        """Ask a leader, as a consumer does, where its partitions start and end; those it does not answer are left out.

        Raises ReplicaUnreadError.
        """
        starts, ends = dict(self._led(partitions, EARLIEST)), dict(self._led(partitions, LATEST))
        return {each: SeenEnds(start, ends[each]) for each, start in starts.items() if each in ends}

    def _led(self, partitions: Sequence[TopicPartition], where: int) -> Iterator[tuple[TopicPartition, int]]:
        if not partitions:
            return
        asked = ListOffsetsRequest(partitions=dict.fromkeys(partitions, OffsetQuestion(where)))
        for each, told in self._ask(asked).partitions.items():
            if told.error is ErrorCode.NONE and told.offset >= 0:
                yield each, told.offset

    def fetch_once(self, fetch: RangeFetch) -> Iterator[FetchedPiece]:
        """Send one request. Raises ReplicaMovedError and ReplicaUnreadError."""
        response = self._ask(fetch.request)
        size = sum(len(told.records) for told in response.partitions.values())
        try:
            yield from fetch.take(response)
        except ThrottledError as error:
            self._failure = str(error)
            raise
        pause = self._pace.pause(now=time.monotonic(), size=size, throttle_time_ms=response.throttle_time_ms)
        if self._ended.wait(pause):
            raise ReplicaUnreadError("reading was ended")

    def _start(self, partition: TopicPartition) -> int:
        """Ask where a replica starts on the broker's own disks; what is in remote storage is the same for all."""
        try:
            told = self._listed(partition, EARLIEST_LOCAL)
        except UnsupportedVersionError:
            told = self._listed(partition, EARLIEST)
        if told.error in MOVED:
            raise ReplicaMovedError(f"the broker answers {told.error.name} where its log starts")
        if told.error is not ErrorCode.NONE or told.offset < 0:
            why = told.error.name if told.error is not ErrorCode.NONE else f"offset {told.offset}"
            raise ReplicaUnreadError(f"asked where its log starts the broker answers {why}")
        return told.offset

    def _listed(self, partition: TopicPartition, where: int) -> ListedOffset:
        # As a consumer only the leader would answer.
        request = ListOffsetsRequest(partitions={partition: OffsetQuestion(where)}, replica_id=DEBUGGER)
        response = self._ask(request)
        try:
            return response.partitions[partition]
        except KeyError:
            raise ReplicaUnreadError("the broker answers ListOffsets without the partition") from None

    def _ask(self, request: Request[AnswerT]) -> AnswerT:
        """Send a request over a connection that is open, or opened again where the broker has closed it."""
        if self._failure is not None:
            raise ReplicaUnreadError(self._failure)
        try:
            try:
                return self._connected().ask(request)
            except ConnectionClosedError:
                return self._connected().ask(request)
        except (UnsupportedVersionError, ReplicaUnreadError):
            raise
        except MalformedResponseError as error:
            raise ReplicaUnreadError(str(error)) from error
        except (ReplicationError, OSError) as error:
            self._failure = str(error)
            raise ReplicaUnreadError(self._failure) from error

    def _connected(self) -> Connection:
        connection = self._connect()
        version = connection.versions.highest(FETCH, "Fetch", FETCH_VERSIONS)
        if version < FROM_FOLLOWERS:
            raise ReplicaUnreadError(
                f"{connection.address} answers Fetch up to version {version}: followers answer consumers from version "
                f"{FROM_FOLLOWERS} on (Kafka 2.4)"
            )
        return connection
