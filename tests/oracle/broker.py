"""A real broker, controller included, in one process, on ports that the system gives."""

import os
import socket
import subprocess
import time
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.oracle.java import SILENT
from tests.oracle.kafka import classpath, kafka_options
from tests.oracle.release import KafkaRelease

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
START_SECONDS = 300
_RESERVED: Final[deque[int]] = deque(maxlen=128)
"""The descriptors of the ports that were asked for last."""


class Broker:
    """Node 1 of a cluster of its own; `root` is its log.dirs, the controller's log lies beside it or in it.

    with Broker(tmp_path, release) as broker:
        ...  # broker.address, broker.root
    """

    def __init__(
        self, directory: Path, release: KafkaRelease, options: Sequence[str] = (), *, is_apart: bool = True
    ) -> None:
        """Format the directory on first use. `options` are Java's; unless `is_apart`, `root` has the metadata too."""
        self.release = release
        self._options = options
        self.root = directory / "logs"
        self._output = directory / "broker.out"
        self._properties = directory / "broker.properties"
        port, controller_port = free_port(), free_port()
        self.address = f"127.0.0.1:{port}"
        self._properties.write_text(
            f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller_port}\n"
            f"listeners=PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{controller_port}\n"
            f"advertised.listeners=PLAINTEXT://{self.address}\ncontroller.listener.names=CONTROLLER\n"
            f"log.dirs={self.root}\nmetadata.log.dir={directory / 'metadata' if is_apart else self.root}\n"
            "offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n"
            "transaction.state.log.min.isr=1\nlog.index.size.max.bytes=65536\n"
            "log.message.timestamp.before.max.ms=9223372036854775807\nlog.retention.ms=-1\n"
        )
        if not self.root.exists():
            arguments = ["format", "-t", CLUSTER, "-c", self._properties]
            subprocess.run([*java(release), "kafka.tools.StorageTool", *arguments], check=True, capture_output=True)

    def __enter__(self) -> Self:
        with open(self._output, "ab") as output:
            command = [*java(self.release, *self._options), "kafka.Kafka", self._properties]
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._end()
                raise OSError(f"the broker did not start: {self._output.read_text()[-2_000:]}")
            time.sleep(0.2)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(60)
        finally:
            self._end()

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        host, port = self.address.split(":")
        try:
            socket.create_connection((host, int(port)), 1).close()
        except OSError:
            return False
        return True

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def free_port() -> int:
    """Return a port that nobody has, nor is given by the system until much later.

    It is bound, which keeps others from it, and takes a listener all the same, as whoever listens sets SO_REUSEADDR
    (Java does by itself). Merely let go, it is another client's or server's before a broker has started, now and then.
    """
    with closing(socket.socket()) as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        port: int = reserved.getsockname()[1]
        if len(_RESERVED) == _RESERVED.maxlen:
            os.close(_RESERVED.popleft())
        _RESERVED.append(reserved.detach())
        return port


def java(release: KafkaRelease, *options: str) -> list[str]:
    """The beginning of a command that runs one of Kafka's programs."""
    return ["java", *kafka_options(release), "-Xmx512m", *options, SILENT, "-cp", classpath(release)]
