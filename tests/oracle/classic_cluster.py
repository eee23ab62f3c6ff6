"""Real brokers of Kafka 3.9.2 in ZooKeeper mode, each of which may be the controller, on loopback.

with ZooKeeperServer(directory) as zookeeper, ClassicBrokers(directory, zookeeper.address) as brokers:
    brokers.start(1)
    brokers.kill(1)
"""

import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.oracle.broker import free_port
from tests.oracle.java import SILENT
from tests.oracle.kafka import classpath, kafka_options
from tests.oracle.release import KAFKA_3_9

SECONDS_TO_STOP = 180
IDS = (1, 2, 3)


class ClassicBrokers:
    """None runs yet; the log directory of each is `directory/broker-N`."""

    def __init__(self, directory: Path, zookeeper: str, session_ms: int) -> None:
        """`zookeeper` may have a chroot behind it."""
        self._directory = directory
        self._zookeeper = zookeeper
        self._session_ms = session_ms
        self._ports = {broker_id: free_port() for broker_id in IDS}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for broker_id in [*self._processes]:
            self.kill(broker_id)

    def address(self, broker_id: int) -> str:
        return f"127.0.0.1:{self._ports[broker_id]}"

    @property
    def bootstrap(self) -> str:
        return ",".join(map(self.address, IDS))

    def start(self, *broker_ids: int) -> None:
        """Start brokers, without waiting until they are there."""
        for broker_id in broker_ids:
            with open(self._directory / f"broker-{broker_id}.out", "ab") as output:
                self._processes[broker_id] = subprocess.Popen(
                    self._command(broker_id), stdout=output, stderr=subprocess.STDOUT
                )

    def kill(self, broker_id: int) -> None:
        """End one as a crash would."""
        process = self._processes.pop(broker_id)
        process.kill()
        process.wait(SECONDS_TO_STOP)

    def stop(self, broker_id: int) -> None:
        """Shut one down in order."""
        process = self._processes.pop(broker_id)
        process.terminate()
        process.wait(SECONDS_TO_STOP)

    def pause(self, broker_ids: Iterable[int]) -> None:
        """Let them stand still, their connections open."""
        for broker_id in broker_ids:
            self._processes[broker_id].send_signal(signal.SIGSTOP)

    def resume(self, broker_ids: Iterable[int]) -> None:
        """Let them go on."""
        for broker_id in broker_ids:
            self._processes[broker_id].send_signal(signal.SIGCONT)

    def _command(self, broker_id: int) -> list[str]:
        properties = self._directory / f"broker-{broker_id}.properties"
        properties.write_text(
            f"broker.id={broker_id}\nlisteners=PLAINTEXT://{self.address(broker_id)}\n"
            f"log.dirs={self._directory / f'broker-{broker_id}'}\nzookeeper.connect={self._zookeeper}\n"
            f"zookeeper.session.timeout.ms={self._session_ms}\nreplica.lag.time.max.ms=3000\n"
            "offsets.topic.num.partitions=1\noffsets.topic.replication.factor=3\n"
            "group.initial.rebalance.delay.ms=0\nauto.leader.rebalance.enable=false\n"
            "log.index.size.max.bytes=65536\nlog.cleaner.dedupe.buffer.size=2097152\n"
        )
        options = [*kafka_options(KAFKA_3_9), "-Xmx400m", SILENT, "-cp", classpath(KAFKA_3_9)]
        return ["java", *options, "kafka.Kafka", str(properties)]
