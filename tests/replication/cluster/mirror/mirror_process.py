"""`epochlog mirror` as a process of its own, which can be killed and started again."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.data.replicas import PROJECT
from tests.replication.cli.schemas import validate

SECONDS = 300


@dataclass
class MirrorProcess:
    """Follows topics into `log_dir`; what it prints is kept over all its lives in `log_dir` with `.out` added."""

    bootstrap: str
    topics: tuple[str, ...]
    log_dir: Path
    options: tuple[object, ...] = ()
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def output(self) -> Path:
        return self.log_dir.with_name(f"{self.log_dir.name}.out")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def command(self) -> list[str]:
        topics = [word for topic in self.topics for word in ("--topics", topic)]
        words = ["mirror", "--bootstrap", self.bootstrap, *topics, "--output", self.log_dir, "--json", *self.options]
        return [sys.executable, "-m", "replication.cli", *map(str, words)]

    def start(self) -> None:
        with open(self.output, "ab") as output:
            self._process = subprocess.Popen(self.command(), cwd=PROJECT, stdout=output, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        """End it as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(SECONDS)

    def stop(self) -> int:
        """Ask it to end, and return its exit status."""
        assert self._process is not None
        self._process.terminate()
        return self._process.wait(SECONDS)

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def run_once(self) -> int:
        """Follow until caught up, and return the exit status."""
        with open(self.output, "ab") as output:
            done = subprocess.run(
                [*self.command(), "--once"],
                cwd=PROJECT,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=SECONDS,
            )
        return done.returncode

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.is_running():
            self.kill()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """What it has told so far, of one kind; a line that a kill cut off is left out."""
        found = []
        for line in self.output.read_text().splitlines():
            try:
                document = json.loads(line)
            except ValueError:
                continue
            validate("mirror", document)
            # An error is an object, too, and no event.
            if document.get("event") == kind:
                found.append(document)
        return found

    def said(self) -> str:
        return self.output.read_text(errors="replace")[-4_000:]


def wait_until(condition: Callable[[], bool], what: Callable[[], str], seconds: float = SECONDS) -> None:
    """Ask ten times a second until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"it never came true: {what()}")
        time.sleep(0.1)
