"""A producer that goes on whatever happens to the brokers."""

import time
from dataclasses import dataclass, field
from random import Random
from threading import Event, Thread
from typing import Final

from logstore import Record, TopicPartition
from logstore.append.encoding import encode
from logstore.batch.batch_template import BatchTemplate
from replication.base.errors import ReplicationError
from replication.records.metadata.records import NO_LEADER
from replication.testing import Cluster
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.produce import ProduceRequest

MOST_RECORDS: Final = 5
"""In one batch."""
_SETTINGS = ClientSettings(connect_timeout_ms=1_000, request_timeout_ms=3_000)


def value_of(partition: TopicPartition, number: int) -> bytes:
    """Return what is written as the n-th record of a partition."""
    return b"%d of %d" % (number, partition.partition)


@dataclass
class Writer:
    """An idempotent producer of one partition that sends each batch until it is acknowledged by all in sync."""

    cluster: Cluster
    partition: TopicPartition
    random: Random
    stopped: Event = field(default_factory=Event)
    acknowledged: int = 0
    """How many records."""
    refusals: set[str] = field(default_factory=set)
    error: BaseException | None = None
    _thread: Thread | None = None
    _connection: Connection | None = None
    _broker: int = NO_LEADER

    def start(self) -> None:
        """Write, in a thread of its own."""
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write no more; the last batch may be unacknowledged then, and there or not."""
        self.stopped.set()
        if self._thread is not None:
            self._thread.join(60)
            assert not self._thread.is_alive(), f"the writer of {self.partition} does not end"

    def _run(self) -> None:
        try:
            while not self.stopped.is_set():
                self._write(self.random.randint(1, MOST_RECORDS))
        except BaseException as error:
            self.error = error
            raise
        finally:
            self._hang_up()

    def _write(self, count: int) -> None:
        first = self.acknowledged
        template = BatchTemplate(producer_id=900 + self.partition.partition, producer_epoch=0, base_sequence=first)
        records = [Record.of(value_of(self.partition, number)) for number in range(first, first + count)]
        data = bytes(encode(records, template)[0])
        while True:
            error = self._send(data)
            if error is ErrorCode.NONE:
                self.acknowledged += count
                return
            self.refusals.add("no answer" if error is None else error.name)
            if self.stopped.is_set():
                return
            time.sleep(0.02)

    def _send(self, data: bytes) -> ErrorCode | None:
        try:
            leader = self.cluster.leader(*self.partition)
            if self._connection is None or leader != self._broker:
                self._hang_up()
                if leader == NO_LEADER:
                    return None
                self._broker = leader
                self._connection = Connection.open(self.cluster.address(leader), _SETTINGS)
            answer = self._connection.ask(ProduceRequest(partitions={self.partition: data}, timeout_ms=1_000))
            return answer.partitions[self.partition].error
        except (OSError, ReplicationError):
            self._hang_up()
            return None

    def _hang_up(self) -> None:
        connection, self._connection, self._broker = self._connection, None, NO_LEADER
        if connection is not None:
            connection.close()
