"""A random history of a cluster: brokers die, lose what they have not flushed, are cut off, and come back."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Thread

from logstore import Log, Record, TopicPartition
from logstore.append.encoding import encode
from logstore.batch.batch_template import BatchTemplate
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify.finding import Severity
from logstore.verify.verify import verify_root
from replication.errors import ReplicationError
from replication.metadata.records import NO_LEADER
from replication.protocol.client.client_settings import ClientSettings
from replication.protocol.client.connection import Connection
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.produce import ProduceRequest
from replication.testing import CONTROLLER, Cluster

TOPIC, BROKERS = "history", (1, 2, 3)
PARTITIONS = 2
_COMMAND = "repeat it by HISTORY_SEED={} pytest tests/replication/testing/test_cluster_history.py"
_SETTINGS = ClientSettings(connect_timeout_ms=1_000, request_timeout_ms=3_000)


@dataclass
class Writer:
    """An idempotent producer of one partition that sends each batch until it is acknowledged by all in sync."""

    cluster: Cluster
    partition: TopicPartition
    stopped: Event = field(default_factory=Event)
    acknowledged: list[bytes] = field(default_factory=list)
    refusals: set[str] = field(default_factory=set)
    error: BaseException | None = None
    _connection: Connection | None = None
    _broker: int = NO_LEADER

    def run(self) -> None:
        try:
            while not self.stopped.is_set():
                self._write(len(self.acknowledged))
        except BaseException as error:
            self.error = error
            raise
        finally:
            self._hang_up()

    def _write(self, number: int) -> None:
        value = b"%d of %d" % (number, self.partition.partition)
        template = BatchTemplate(
            producer_id=900 + self.partition.partition, producer_epoch=0, base_sequence=number % (1 << 31)
        )
        data = bytes(encode([Record.of(value)], template)[0])
        while True:
            error = self._send(data)
            if error is ErrorCode.NONE:
                self.acknowledged.append(value)
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


class History:
    """What happens to a cluster by a seed; `steps` says what did."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self._cluster = cluster
        self._random = Random(seed)
        self.steps: list[str] = []
        self._down: set[int] = set()

    def happen(self, count: int) -> None:
        """Let so many things happen, each after a moment."""
        for _ in range(count):
            step = self._random.choice(
                [self._stop, self._kill, self._lose, self._start, self._start, self._cut, self._heal]
            )
            described = step()
            if described:
                self.steps.append(described)
            time.sleep(self._random.uniform(0.02, 0.4))

    def settle(self) -> None:
        """Let all brokers run and reach each other, and wait until all replicas are in sync."""
        self._cluster.links.heal()
        for broker in sorted(self._down):
            self._cluster.start(broker)
        self._down.clear()
        for number in range(PARTITIONS):
            self._cluster.wait_for_leader(TOPIC, number, seconds=60)
            self._cluster.wait_for_isr(TOPIC, number, size=len(BROKERS), seconds=60)

    def _up(self) -> list[int]:
        return [broker for broker in BROKERS if broker not in self._down]

    def _stop(self) -> str:
        if len(self._up()) < 2:
            return ""
        broker = self._random.choice(self._up())
        self._cluster.stop(broker)
        self._down.add(broker)
        return f"stop {broker}"

    def _kill(self) -> str:
        if not self._up():
            return ""
        broker = self._random.choice(self._up())
        self._cluster.kill(broker)
        self._down.add(broker)
        return f"kill {broker}"

    def _lose(self) -> str:
        """Kill a broker and take what it has not flushed, where two others have all of it.

        Two that lose their pages at once may both have been the only ones that had a record.
        """
        isrs = [self._cluster.partition(TOPIC, number).isr for number in range(PARTITIONS)]
        if self._down or any(len(isr) < len(BROKERS) for isr in isrs):
            return ""
        broker = self._random.choice(BROKERS)
        lost = self._cluster.kill(broker, lose_unflushed=True)
        self._cluster.links.mend(broker, CONTROLLER)
        self._cluster.start(broker)
        self._await_in_sync()
        return f"kill {broker}, {lost} bytes lost, and start it"

    def _await_in_sync(self) -> None:
        self._cluster.links.heal()
        for number in range(PARTITIONS):
            self._cluster.wait_for_isr(TOPIC, number, size=len(BROKERS), seconds=60)

    def _start(self) -> str:
        if not self._down:
            return ""
        broker = self._random.choice(sorted(self._down))
        self._cluster.links.mend(broker, CONTROLLER)  # nobody starts without
        self._cluster.start(broker)
        self._down.discard(broker)
        return f"start {broker}"

    def _cut(self) -> str:
        one, other = self._random.sample([*BROKERS, CONTROLLER], 2)
        self._cluster.links.cut(one, other)
        return f"cut {one} from {other}"

    def _heal(self) -> str:
        self._cluster.links.heal()
        return "heal"


def run_history(directory: Path, seed: int, steps: int) -> tuple[int, list[str]]:
    """Run a history and check it; return how many records were acknowledged and what happened.

    Raises AssertionError with the history in it.
    """
    with Cluster(3, directory=directory, session_timeout_ms=900, replica_lag_time_max_ms=600) as cluster:
        cluster.create_topic(TOPIC, partitions=PARTITIONS, replication_factor=3, configs={"min.insync.replicas": "2"})
        history = History(cluster, seed)
        writers = [Writer(cluster, TopicPartition(TOPIC, number)) for number in range(PARTITIONS)]
        threads = [Thread(target=writer.run, daemon=True) for writer in writers]
        for thread in threads:
            thread.start()
        try:
            history.happen(steps)
            history.settle()
        finally:
            for writer in writers:
                writer.stopped.set()
            for thread in threads:
                thread.join(60)
        told = f"{_COMMAND.format(seed)}: {'; '.join(history.steps)}"
        for writer in writers:
            assert writer.error is None, f"{writer.error!r}; {told}"
            _check(cluster, writer, told)
        for broker in BROKERS:
            cluster.stop(broker)
    for broker in BROKERS:
        root = OfflineLogDirectory.open(directory / f"broker-{broker}")
        findings = [each for each in verify_root(root, records=True) if each.severity is Severity.ERROR]
        assert not findings, f"broker {broker}: {findings}; {told}"
    return sum(len(writer.acknowledged) for writer in writers), history.steps


def _check(cluster: Cluster, writer: Writer, told: str) -> None:
    topic, number = writer.partition
    cluster.wait_until(
        lambda: len({cluster.log(broker, topic, number).high_watermark for broker in BROKERS}) == 1,
        "all replicas know the same high watermark",
    )
    logs = [cluster.log(broker, topic, number) for broker in BROKERS]
    contents = [_bytes(log) for log in logs]
    assert contents[0] == contents[1] == contents[2], f"replicas of {writer.partition} differ; {told}"
    # A leader that has written nothing yet is known to itself alone.
    epochs = {
        tuple(each for each in log.epochs.history.entries if each.start_offset < log.log_end_offset) for log in logs
    }
    assert len(epochs) == 1, f"epoch histories of {writer.partition} differ: {epochs}; {told}"
    values = [record.value for record in logs[0].read(0, 1 << 30).records()]
    count = len(writer.acknowledged)
    assert values[:count] == writer.acknowledged, f"acknowledged records of {writer.partition} are lost; {told}"
    assert len(values) <= count + 1, f"records of {writer.partition} are there twice; {told}"


def _bytes(log: Log) -> bytes:
    return b"".join(_pieces(log))


def _pieces(log: Log) -> Iterator[bytes]:
    offset = log.log_start_offset
    while view := log.read(offset, 1 << 20):
        yield bytes(view.data)
        offset = list(view.batches())[-1].last_offset + 1
