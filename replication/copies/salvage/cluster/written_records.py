"""Which records an earlier run has written already: read from the target, where they say where they are from."""

import time
from collections.abc import Iterator
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from replication.copies.salvage.cluster.connection import Connection
from replication.copies.salvage.cluster.errors import ClusterError
from replication.copies.salvage.cluster.target_cluster import TargetCluster
from replication.copies.salvage.held.provenance import HEADER, Provenance

_NO_MORE: Final = "_PARTITION_EOF"
_HARMLESS: Final = frozenset({_NO_MORE, "GROUP_AUTHORIZATION_FAILED"})
"""The group is not used."""
_AT_ONCE: Final = 10_000
_PATIENCE: Final = 90.0
"""Seconds to wait for open transactions. One of a run that was killed is none: the next one ends it first."""


class WrittenRecords:
    """Reads partitions of the target, committed records only. Close it after use."""

    def __init__(self, connection: Connection, cluster: TargetCluster, patience: float = _PATIENCE) -> None:
        self._connection = connection
        self._cluster = cluster
        self._patience = patience
        self._consumer = Consumer(
            connection.settings(
                group_id="epochlog-salvage",  # the client wants one; nothing is committed to it
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                enable_partition_eof=True,
                isolation_level="read_committed",
            )
        )

    def provenances(self, topic: str, partition: int, since: int | None) -> Iterator[Provenance]:
        """Yield what the headers say of all records from a time on, in milliseconds, up to now.

        Salvaged records keep their time: none that is as new is left out. Raises ClusterError, also where a
        transaction stays open before the end.
        """
        start = self._cluster.first_offset(topic, partition, since)
        if start is None:
            return
        end = self._cluster.end_offset(topic, partition, committed=False)
        if start >= end:
            return
        self._wait_until_decided(topic, partition, end)
        self._consumer.assign([TopicPartition(topic, partition, start)])
        try:
            for message in self._messages(f"{topic}-{partition}", end):
                headers: Any = message.headers() or ()
                yield from filter(None, (Provenance.parse(value) for key, value in headers if key == HEADER))
        finally:
            self._consumer.unassign()

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def _messages(self, place: str, end: int) -> Iterator[Message]:
        quiet_since = time.monotonic()
        while True:
            messages = self._consumer.consume(_AT_ONCE, 1.0)
            if messages:
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > self._connection.timeout:
                raise ClusterError(
                    f"{place}: its records cannot be read: no answer; run this again once it has a leader"
                )
            for message in messages:
                error = message.error()
                if error is None:
                    yield message
                elif error.name() not in _HARMLESS:
                    raise self._connection.error(f"{place}: its records cannot be read", KafkaException(error))
                if _position_after(message) >= end:
                    return

    def _wait_until_decided(self, topic: str, partition: int, end: int) -> None:
        """Wait until no transaction is open before `end`: what follows an open one, nobody gets yet."""
        deadline = time.monotonic() + self._patience
        while (decided := self._cluster.end_offset(topic, partition, committed=True)) < end:
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"{topic}-{partition}: a transaction has been open since offset {decided}, so that what follows "
                    "cannot be read; wait for its end, or end it if it hangs (epochlog transactions); then run this "
                    "again. One of a run of salvage that was killed ends within 5 minutes, or with the next run that "
                    "is no dry run"
                )
            time.sleep(0.5)


def _position_after(message: Message) -> int:
    """Return how far a consumer is that got this: a record, the news that there are no more, or an error."""
    error, offset = message.error(), message.offset()
    if offset is None or (error is not None and error.name() != _NO_MORE):
        return -1
    return offset if error else offset + 1
