"""A real ZooKeeper server on loopback, on a port that the system gives."""

import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.oracle.broker import free_port
from tests.oracle.java import QUICK_START
from tests.oracle.kafka import zookeeper_classpath

START_SECONDS = 120
TICK_MS = 500


class ZooKeeperServer:
    """with ZooKeeperServer(tmp_path) as server: ...  # server.address"""

    def __init__(self, directory: Path) -> None:
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self.ensemble = ",".join([self.address] * 3)
        """Its address three times. A server that is just starting may take a connection and never answer; clients wait
        then for their session's length divided by the number of servers, and no longer."""
        self._output = directory / "zookeeper.out"
        self._properties = directory / "zookeeper.properties"
        self._properties.write_text(
            f"tickTime={TICK_MS}\ndataDir={directory / 'zookeeper'}\nclientPort={port}\n"
            "clientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\n"
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, with what its directory holds."""
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = ["java", *QUICK_START, "-Xmx512m", "-cp", zookeeper_classpath(), main, str(self._properties)]
        with open(self._output, "ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise OSError(f"ZooKeeper did not start: {self._output.read_text()[-2_000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        """Whether it serves: it answers `srvr`, and not only accepts connections."""
        host, port = self.address.split(":")
        try:
            with socket.create_connection((host, int(port)), 1) as connection:
                connection.sendall(b"srvr")
                return b"Zookeeper version" in connection.recv(4096)
        except OSError:
            return False
