"""A standalone cluster of Spark on loopback: one master and one worker, each a process of its own."""

import os
import re
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyspark

from replication.copies.audit.spark.sessions.java import find_java

HOME: Final = Path(pyspark.__file__).parent
CLASSES: Final = "org.apache.spark.deploy"
START_SECONDS: Final = 120
STOP_SECONDS: Final = 30


class StandaloneCluster:
    """Starts both, on ports that the system gives, and ends them."""

    def __init__(self, directory: Path) -> None:
        """Work below `directory`, which need not exist."""
        self.directory = directory
        self.address = ""
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.directory.mkdir(parents=True, exist_ok=True)
        anywhere = ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        try:
            self.address = self._start(f"{CLASSES}.master.Master", anywhere, r"Starting Spark master at (\S+)")
            own = ["--cores", "2", "--memory", "2g", "--work-dir", str(self.directory / "work"), self.address]
            self._start(f"{CLASSES}.worker.Worker", [*anywhere, *own], r"Successfully registered with master (\S+)")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _start(self, daemon: str, arguments: list[str], ready: str) -> str:
        """Start a daemon, and return what it tells when it is ready."""
        log = self.directory / f"{daemon}.log"
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [str(HOME / "bin/spark-class"), daemon, *arguments], stdout=output, stderr=output, env=_environment()
            )
        self._processes.append(process)
        give_up = time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < give_up:
            if told := re.search(ready, log.read_text(errors="replace")):
                return told[1]
            time.sleep(0.1)
        raise RuntimeError(f"{daemon} did not start:\n{log.read_text(errors='replace')[-3000:]}")

    def _end(self) -> None:
        """End the worker, which ends its executors, and then the master."""
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _environment() -> Mapping[str, str]:
    """A small Java that starts soon; what applications are started with is not for the daemons."""
    own = {
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    return {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))} | own
