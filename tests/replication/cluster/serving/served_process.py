"""`epochlog serve` as a process of its own, and what it holds."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from replication.wire.addresses import Address
from tests.replication.cli.schemas import validate_output

SECONDS = 120


class ServedProcess:
    """Serves copies on a free port, or is a broker there; it has answered nothing yet."""

    def __init__(
        self,
        *arguments: object,
        prefix: tuple[str, ...] = (),
        errors: IO[str] | None = None,
        port: int = 0,
        is_broker: bool = False,
    ) -> None:
        """Give it these arguments; what stands in `prefix` starts it, and what it complains of goes to `errors`."""
        kind = ["--create"] if is_broker else ["--read-only"]
        words = ["serve", *kind, "--listen", f"127.0.0.1:{port}", "--json", *map(str, arguments)]
        command = [*prefix, sys.executable, "-m", "replication.cli", *words]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert self._process.stdout is not None
        told = self._process.stdout.readline()
        assert told, f"it ended with {self._process.wait(SECONDS)}"
        validate_output("serve", told)
        self.told: dict[str, Any] = json.loads(told)
        host, _, port = self.told["bootstrap"].partition(",")[0].rpartition(":")
        self.address = Address(host, int(port))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._process:
            self._process.terminate()
            status = self._process.wait(SECONDS)
        assert kind is not None or status == 0

    def wait(self, seconds: float) -> int:
        """Return the status with which it has ended of itself."""
        with self._process:
            return self._process.wait(seconds)

    def end(self, number: signal.Signals) -> int:
        """Send it a signal, and return the status with which it has ended."""
        with self._process:
            self._process.send_signal(number)
            return self._process.wait(SECONDS)

    @property
    def resident_bytes(self) -> int:
        """The memory that it has."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) << 10

    @property
    def descriptor_count(self) -> int:
        """How many files and sockets it has open."""
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))  # noqa: PTH208  only their number counts

    @property
    def thread_count(self) -> int:
        """How many threads it has."""
        return len(os.listdir(f"/proc/{self._process.pid}/task"))  # noqa: PTH208  only their number counts
